"""What the tests of the report share: a study, drawn, put together and printed once."""

import pytest
from report_files import print_study
from synthetic_study import make_runs, make_study

from analysis.figures.draw import draw_figures
from analysis.report import make_report


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
    assert len(drawn) == 10
    return drawn


@pytest.fixture(scope="session")
def report(study, drawings):
    made = make_report(*study, [drawing.entry() for drawing in drawings])
    assert any(
        block["type"] == "table" and block["groups"] for one in made["sections"] for block in one["blocks"]
    )
    return made


@pytest.fixture(scope="session")
def printed(study, tmp_path_factory):
    """Folder with the study's tables, figures, report.json, report.pdf and report.html."""
    return print_study(tmp_path_factory.mktemp("synthetic"), *study)
