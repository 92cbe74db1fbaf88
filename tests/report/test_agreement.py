"""Published differences compared with those of a study: equal or opposite directions."""

import pandas as pd
import pytest
from report_parts import cells

from analysis.presentation.content import Content
from analysis.runs.facts import Facts
from analysis.topics.published.agreement import agreement_blocks

INTERCONNECTS = {name: {"title": name.capitalize(), "kind": "simulated"} for name in ("slow", "swift")}
FACTS = Facts.of({"cases": {"duct": {"title": "The duct"}}, "interconnects": INTERCONNECTS})


def figures(case, improvement, average, **peaks):
    """Peaks of a case by interconnect, and the improvement of swift over slow."""
    point = {"case": case, "oversubscription": 1}
    rows = [point | {"interconnect": name, "peak_processes": at} for name, at in peaks.items()]
    sides = {"baseline_interconnect": "slow", "interconnect": "swift"}
    row = point | sides | {"improvement_percent": improvement, "average_percent": average}
    return {"peaks": pd.DataFrame(rows), "improvement": pd.DataFrame([row])}


PUBLISHED = figures("theirs", 77.0, -3.0, slow=8, swift=16, elsewhere=24)


def content(swift_peak, improvement, average):
    ours = figures("duct", improvement, average, slow=4, swift=swift_peak)
    return Content(pd.DataFrame(), ours, FACTS, [])


def blocks(*ours):
    return agreement_blocks(PUBLISHED, {"theirs": ["duct"]}, content(*ours))


def test_directions_are_compared_not_sizes():
    paragraph, table = blocks(32, 5.0, 40.0)
    assert table["groups"][0]["title"] == "The duct, counterpart of theirs"
    assert cells(table) == [
        ["Peak: Swift against Slow (processes)", "16 against 8", "32 against 4", "the same"],
        ["Swift, at the peak of Slow", "+77 %", "+5 %", "the same"],
        ["Swift, averaged up to the peak of Slow", "-3 %", "+40 %", "another"],
    ]
    assert "repeats 3\xa0published comparisons of interconnects" in paragraph["text"]
    assert "is the same in 2 and another in 1 of these comparisons." in paragraph["text"]
    assert "shows no difference" not in paragraph["text"]


@pytest.mark.parametrize(("peak", "verdict"), [(8, "the same"), (4, "no difference here"), (2, "another")])
def test_a_peak_that_does_not_move_has_no_direction(peak, verdict):
    _, table = blocks(peak, 5.0, 40.0)
    assert cells(table)[0][-1] == verdict


def test_unknown_interconnects_are_not_compared():
    _, table = blocks(32, 5.0, None)
    assert len(cells(table)) == 2
    assert agreement_blocks(PUBLISHED, {}, content(32, 5.0, 40.0)) == []
