"""Published differences beside those of a study: which point the same way."""

import pandas as pd
import pytest

from analysis.report.agreement import agreement_blocks
from analysis.report.content import Content
from analysis.runs.facts import Facts

FACTS = Facts.of(
    {
        "cases": {"duct": {"title": "The duct"}},
        "interconnects": {
            "slow": {"title": "Slow", "kind": "simulated"},
            "swift": {"title": "Swift", "kind": "simulated"},
        },
    }
)
PUBLISHED = {
    "peaks": pd.DataFrame(
        {
            "case": ["theirs"] * 3,
            "interconnect": ["slow", "swift", "elsewhere"],
            "peak_processes": [8, 16, 24],
        }
    ),
    "improvement": pd.DataFrame(
        {
            "case": ["theirs"],
            "baseline_interconnect": ["slow"],
            "interconnect": ["swift"],
            "improvement_percent": [77.0],
            "average_percent": [-3.0],
        }
    ),
}


def content(swift_peak, improvement, average):
    point = {"case": "duct", "oversubscription": 1}
    peaks = [
        point | {"interconnect": name, "peak_processes": at}
        for name, at in (("slow", 4), ("swift", swift_peak))
    ]
    sides = {"baseline_interconnect": "slow", "interconnect": "swift"}
    row = point | sides | {"improvement_percent": improvement, "average_percent": average}
    tables = {"peaks": pd.DataFrame(peaks), "improvement": pd.DataFrame([row])}
    return Content(pd.DataFrame(), tables, FACTS, [])


def blocks(*ours):
    return agreement_blocks(PUBLISHED, {"theirs": ["duct"]}, content(*ours))


def test_directions_are_compared_not_sizes():
    said, table = blocks(32, 5.0, 40.0)
    rows = [one["cells"] for one in table["groups"][0]["rows"]]
    assert table["groups"][0]["title"] == "The duct, beside theirs"
    assert rows == [
        ["Peak: Swift against Slow (processes)", "16 against 8", "32 against 4", "the same"],
        ["Swift, at the peak of Slow", "+77\u202f%", "+5\u202f%", "the same"],
        ["Swift, averaged up to the peak of Slow", "−3\u202f%", "+40\u202f%", "another"],
    ]
    assert "Of 3\xa0published comparisons" in said["text"]
    assert "2 have the same direction here and 1 another; in 0 there is no difference" in said["text"]


@pytest.mark.parametrize(("peak", "verdict"), [(8, "the same"), (4, "no difference here"), (2, "another")])
def test_a_peak_that_does_not_move_has_no_direction(peak, verdict):
    _, table = blocks(peak, 5.0, 40.0)
    assert table["groups"][0]["rows"][0]["cells"][-1] == verdict


def test_what_is_not_known_here_is_not_compared():
    _, table = blocks(32, 5.0, None)
    assert len(table["groups"][0]["rows"]) == 2
    assert agreement_blocks(PUBLISHED, {}, content(32, 5.0, 40.0)) == []
