"""What the tests of the report share: a study, drawn, put together and printed once."""

import shutil

import pytest
from needs import need, need_success
from page_reader import opened
from programs import write_program
from report_files import print_study
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from synthetic_study import make_runs, make_study

from analysis.pipeline import draw_figures
from analysis.report import make_report

ALONE = ["unshare", "--user", "--map-root-user", "--net"]
"""Runs a program with no network at all, not even the machine's own: the driver talks to it by a pipe."""
OPTIONS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe",
    "--disable-background-networking", "--disable-component-update", "--window-size=1200,900",
]  # fmt: skip


@pytest.fixture(scope="session")
def study():
    """Two cases, three interconnects of two kinds, two levels, twelve blocks, one invalid repetition."""
    runs = make_runs()
    bad = (runs["case"] == "elbow") & (runs["interconnect"] == "gigabit") & (runs["block"] == 3)
    runs.loc[runs.index[bad & (runs["processes"] == 4)][0], ["valid", "reason"]] = [False, "stopped at 120 s"]
    return make_study(runs)


@pytest.fixture(scope="session")
def drawings(study):
    drawn = draw_figures(*study)
    assert len(drawn) == 11
    return drawn


@pytest.fixture(scope="session")
def report(study, drawings):
    made = make_report(*study, [drawing.entry() for drawing in drawings])
    assert any(
        block["type"] == "table" and block["groups"]
        for section in made["sections"]
        for block in section["blocks"]
    )
    return made


@pytest.fixture(scope="session")
def printed(study, tmp_path_factory):
    """Folder with the study's tables, figures, report.json, report.pdf and report.html."""
    return print_study(tmp_path_factory.mktemp("synthetic"), *study)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Chromium in a network namespace of its own, driven through Debian's chromedriver."""
    need("chromium", "chromedriver")
    need_success(*ALONE, "true")
    folder = tmp_path_factory.mktemp("browser")
    alone = folder / "chromium"
    write_program(alone, f'#!/bin/sh\nexec {" ".join(ALONE)} chromium "$@"\n')
    options = webdriver.ChromeOptions()
    options.binary_location = str(alone)
    for option in [*OPTIONS, f"--user-data-dir={folder / 'profile'}"]:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(240)  # on a busy machine axe takes longer than the usual 30 s
    yield driver
    driver.quit()


@pytest.fixture
def reader(browser, printed):
    """The synthetic study's page, just opened."""
    with opened(browser, printed / "report.html") as reader:
        yield reader
