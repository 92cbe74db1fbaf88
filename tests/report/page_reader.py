"""A reader of an HTML page: actions in a browser, and the visible result."""

import json
from contextlib import contextmanager

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.actions.pointer_input import PointerInput
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.by import By


class Reader:
    """What a reader does with a page and sees of it."""

    def __init__(self, driver, page):
        self.driver = driver
        driver.get(page.as_uri())

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def element(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def seen(self, selector):
        """Number of elements that take room on the page."""
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].filter((e) => e.getClientRects().length).length",
            selector,
        )

    def centre(self, element):
        """Place of an element on the screen, brought there first."""
        self.run("arguments[0].scrollIntoView({ block: 'center', inline: 'center' })", element)
        # That the page was scrolled, which hides values, is told before a frame is drawn.
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        box = self.run("return arguments[0].getBoundingClientRect().toJSON()", element)
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def pointer(self, kind="mouse"):
        device = PointerInput(kind, kind)
        return ActionBuilder(self.driver, mouse=device, duration=0), device

    def point_at(self, element):
        x, y = self.centre(element)
        actions, mouse = self.pointer()
        mouse.create_pointer_move(x=round(x), y=round(y))
        actions.perform()

    def press(self, *keys):
        ActionChains(self.driver, duration=0).send_keys(*keys).perform()

    def wheel(self, element, up, *modifiers):
        """Turn the wheel over an element, with keys held."""
        self.centre(element)
        turn = ActionChains(self.driver, duration=0)
        for key in modifiers:
            turn.key_down(key)
        turn.scroll_from_origin(ScrollOrigin.from_element(element), 0, -up)
        for key in modifiers:
            turn.key_up(key)
        turn.perform()

    def open_details(self):
        self.run("for (const one of document.querySelectorAll('details')) one.open = true")

    @property
    def tip(self):
        """Values that are shown, or None."""
        return self.run(
            "const tip = document.getElementById('tip'); return tip.hidden ? null : tip.textContent"
        )

    def tick(self, value):
        """Tick or untick a filter."""
        self.element(f'#filters input[value="{value}"]').click()

    def view(self, svg):
        """Width of what is seen of a figure, and its left and upper edge, in its own units."""
        return self.run("const { width, x, y } = arguments[0].viewBox.baseVal; return [width, x, y]", svg)

    def button(self, svg, label):
        figure = self.run("return arguments[0].closest('figure')", svg)
        return figure.find_element(By.CSS_SELECTOR, f'button[aria-label="{label}"]')


@contextmanager
def opened(browser, page):
    """A page, just opened; in the end nothing may have gone wrong in it, nor been asked for."""
    for log in ("browser", "performance"):
        browser.get_log(log)
    yield Reader(browser, page)
    errors = [entry["message"] for entry in browser.get_log("browser")]
    assert [message for message in errors if not message.startswith("chrome://")] == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    requests = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    # The browser's own first tab asks for parts of itself, by chrome:// and chrome-untrusted://.
    others = [request for request in requests if not request["documentURL"].startswith("chrome")]
    assert {request["request"]["url"] for request in others} == {page.as_uri()}
    assert browser.execute_script("return navigator.onLine") is False
