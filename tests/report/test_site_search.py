"""The search of the documentation's site, opened from a file without a network."""

import sys

import pytest
from programs import printed as output_of
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from workflows.paths import ROOT

pytestmark = pytest.mark.slow


def test_the_search_finds_a_term_in_a_site_that_was_opened_from_a_file(browser, tmp_path):
    output_of(
        sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path, cwd=ROOT
    )
    browser.get(f"file://{tmp_path}/index.html")
    browser.execute_script("document.querySelector('#__search').click()")
    browser.find_element(By.CSS_SELECTOR, ".md-search__input").send_keys("node equivalent")
    results = WebDriverWait(browser, 30).until(
        lambda page: page.find_elements(By.CSS_SELECTOR, ".md-search-result__link")
    )
    assert any("node-equivalent.html" in link.get_attribute("href") for link in results)
