"""What a report says of placements, of sizes that grow, and of a study that went on until a target."""

import pandas as pd
import pytest
from report_parts import blocks, part, plain, said

from analysis.estimates.scaling import make_tables
from analysis.report import make_report
from analysis.runs.facts import Facts
from analysis.runs.runs import complete_runs
from analysis.runs.settings import Settings

PACKED = [4.0, 4.2, 4.1, 4.0, 4.4, 4.3, 4.1]
STUDY = {"name": "own", "blocks": 7, "seed": 1}


def report_of(spread=True, facts=None, most=7):
    """Report of a case on 1 and 2 processes, packed and, a quarter slower, spread over two nodes."""
    times = {(None, 1, 1): [8.0] * 7, ("gigabit", 2, 1): PACKED}
    if spread:
        times["gigabit", 2, 2] = [1.25 * time for time in PACKED]
    names = ["case", "interconnect", "processes", "nodes", "block", "seconds"]
    rows = [
        ("duct", *point, block, time)
        for point, found in times.items()
        for block, time in enumerate(found[:most])
    ]
    runs = complete_runs(pd.DataFrame(rows, columns=names).assign(kind="measured"))
    return make_report(
        runs, make_tables(runs, Settings(draws=500)), Facts.of({"study": STUDY} | (facts or {})), []
    )


def test_packed_and_spread_in_words_and_in_a_table():
    section = part(report_of(), "placement")
    assert "of 1 comparison, 1 slower." in said(section)
    (table,) = blocks(section, "table")
    (group,) = table["groups"]
    cells = [plain(cell) for cell in group["rows"][0]["cells"]]
    assert cells[:5] == ["gigabit", "2", "1 against 2", "5.12", "4.10"]
    assert cells[5].startswith("-20") and cells[-1] == "slower"


@pytest.fixture(scope="module")
def two_interconnects():
    """Swift is faster than gigabit by a tenth packed and by half spread."""
    times = {("gigabit", 1): 1.0, ("gigabit", 2): 1.25, ("swift", 1): 1 / 1.1, ("swift", 2): 1.25 / 1.5}
    rows = [("duct", None, 1, 1, block, 8.0) for block in range(7)]
    rows += [
        ("duct", name, 2, nodes, block, time * factor)
        for (name, nodes), factor in times.items()
        for block, time in enumerate(PACKED)
    ]
    names = ["case", "interconnect", "processes", "nodes", "block", "seconds"]
    runs = complete_runs(pd.DataFrame(rows, columns=names).assign(kind="measured"))
    return make_report(runs, make_tables(runs, Settings(draws=500)), Facts.of({"study": STUDY}), [])


def test_the_fastest_is_that_of_equal_placements(two_interconnects):
    (table,) = blocks(part(two_interconnects, "fastest"), "table")
    (group,) = table["groups"]
    cells = [[plain(cell) for cell in row["cells"]] for row in group["rows"]]
    assert [(row[1], row[2], row[3], row[5], row[6]) for row in cells] == [
        ("2", "1", "swift", "gigabit", "+50.0"),
        ("2", "2", "swift ≈", "gigabit", "+10.0"),
    ]


def test_a_baseline_is_named_with_its_placement(two_interconnects):
    answer = said(part(two_interconnects, "answer"))
    assert "where gigabit with 1 process per node peaks, swift with 1 process per node (+50 %" in answer
    assert "where gigabit with 2 processes per node peaks, swift with 2 processes per node (+10 %" in answer
    (table,) = blocks(part(two_interconnects, "equivalents"), "table")
    assert sorted(group["title"] for group in table["groups"]) == [
        "Worth of gigabit with 1 process per node",
        "Worth of gigabit with 2 processes per node",
    ]


def test_blocks_that_a_test_of_placements_needs_are_told():
    told = said(part(report_of(most=5), "placement"))
    assert "With 5 blocks, none of 1 test of placements can come out as distinguishable" in told
    assert "that takes 6 blocks at least" in told
    assert "With 5 blocks" not in said(part(report_of(), "placement"))


def test_one_placement_is_not_spoken_of():
    assert part(report_of(spread=False), "placement") is None


UNTIL = {
    "interval_percent": 5,
    "max_blocks": 40,
    "least_blocks": 6,
    "limit_core_hours": 2,
    "half_width_percent": 4.2,
    "core_hours": 0.5,
    "reached": True,
    "reason": "the target was reached",
}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({}, "It ended after 7 blocks, since the target was reached; the widest is ±4.2 %."),
        (
            {"reason": "40 blocks are the most that the study allows", "half_width_percent": None},
            "It ended after 7 blocks, since 40 blocks are the most that the study allows; one is still missing.",
        ),
        ({"reason": None}, "It has not ended after 7 blocks; the widest is ±4.2 %."),
    ],
)
def test_the_stopping_rule_is_stated(change, sentence):
    told = said(part(report_of(facts={"study": STUDY | {"until": UNTIL | change}}), "method"))
    assert "no wider than ±5.0 %, for at most 40 blocks and 2.00 core hours" in told
    assert sentence in told


def test_without_a_target_no_rule_is_stated():
    assert "went on" not in said(part(report_of(), "method"))


def test_the_right_answers_of_all_sizes_of_a_weak_study():
    answer = {"quantity": "drag", "unit": "N", "tolerance": 1e-3, "references": {"4k": 1.5, "8k": 1.25}}
    facts = {"study": STUDY | {"scaling": "weak"}, "cases": {"duct": {"title": "Duct", "answer": answer}}}
    assert "0.001 of 1.5 N (4k) and 1.25 N (8k)" in said(part(report_of(facts=facts), "case-1"))
