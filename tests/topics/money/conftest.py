"""Fixtures of the tests about money, turnaround and proposals."""

import pytest
from small_runs import ROOT, curves, fluent, rows, runs_table

from analysis.runs.settings import Settings
from analysis.topics.prices.books import read_book
from analysis.topics.prices.parts import read_parts


@pytest.fixture(scope="session")
def ames():
    return read_book(ROOT / "config/prices/ames_2004.csv")


@pytest.fixture(scope="session")
def sandia():
    return read_book(ROOT / "config/prices/sandia_2004.csv")


@pytest.fixture(scope="session")
def parts():
    return read_parts(ROOT / "config/prices/parts/sandia_2004.csv")


@pytest.fixture
def settings():
    return Settings(draws=400, baselines=("gigabit",), target_speedups=(11,))


@pytest.fixture
def fluent_runs():
    """fl5m2 as far as it is published: speedup 11 on 24, about 20 and 16 processes, one sample each."""
    return runs_table(*fluent())


@pytest.fixture
def fluent_curves(fluent_runs, settings):
    return curves(fluent_runs, settings)


@pytest.fixture
def steady_runs():
    """Six blocks each; medians are whole numbers."""
    return runs_table(
        rows("duct", None, {1: 12.0}, nodes=1),
        rows("duct", "gigabit", {2: 8.0, 4: 6.0, 8: 8.0}),
        rows("duct", "infiniband", {2: 6.0, 4: 4.0, 8: 3.0}),
    )
