"""Sections on placements, on growing sizes, and on a study with a target."""

import pytest
from made_tables import make_tables
from report_parts import blocks, cells, part, sentences_of
from small_runs import rows, unplaced

from analysis.report import make_report
from analysis.runs.facts import Facts
from analysis.runs.settings import Settings

PACKED = [4.0, 4.2, 4.1, 4.0, 4.4, 4.3, 4.1]
PACKED_ALONE = {("gigabit", 1): 1.0}
SPREAD = PACKED_ALONE | {("gigabit", 2): 1.25}
"""A quarter slower spread over two nodes."""
STUDY = {"name": "own", "blocks": 7, "seed": 1}


def report_of(factors, facts=None, blocks=7):
    """Report of a case on 1 and 2 processes, by interconnect and nodes: so much longer than packed."""
    groups = [rows("duct", None, {1: 8.0}, [1] * blocks, nodes=1)]
    for (name, nodes), factor in factors.items():
        groups.append(rows("duct", name, {2: factor}, PACKED[:blocks], nodes=nodes))
    runs = unplaced(*groups)
    tables = make_tables(runs, Settings(draws=500, inside_nodes=("gigabit", "swift")))
    return make_report(runs, tables, Facts.of({"study": STUDY} | (facts or {})), [])


def test_packed_and_spread_in_words_and_in_a_table():
    section = part(report_of(SPREAD), "placement")
    assert "Results of 1 comparison: 1 slower." in sentences_of(section)
    (table,) = blocks(section, "table")
    (line,) = cells(table)
    assert line[:5] == ["Gigabit", "2", "1 against 2", "5.12", "4.10"]
    assert line[5].startswith("-20") and line[-1] == "slower"


@pytest.fixture(scope="module")
def two_interconnects():
    """Swift is faster than gigabit by a tenth packed and by half spread."""
    return report_of(SPREAD | {("swift", 1): 1 / 1.1, ("swift", 2): 1.25 / 1.5})


def test_the_fastest_is_among_equal_placements(two_interconnects):
    (table,) = blocks(part(two_interconnects, "fastest"), "table")
    packed, spread = ([row[1], row[2], row[3], row[5], row[6]] for row in cells(table))
    assert packed == ["2", "1", "swift", "Gigabit", "+50 [+50, +50]"]
    assert spread == ["2", "2", "swift", "Gigabit", "+10 [+10, +10]"]


def test_a_baseline_is_named_with_its_placement(two_interconnects):
    assert (
        "than Gigabit with 1 process per node at 2 processes, the best count of Gigabit with 1 process per node"
        in sentences_of(part(two_interconnects, "words"))
    )
    (table,) = blocks(part(two_interconnects, "equivalents"), "table")
    titles = sorted(group["title"].removeprefix("Baseline: Gigabit with ") for group in table["groups"])
    assert titles == ["1 process per node", "2 processes per node"]


def test_blocks_needed_for_a_placement_test_are_stated():
    sentences = sentences_of(part(report_of(SPREAD, blocks=5), "placement"))
    assert "The only test of placements has only 5 blocks" in sentences
    assert "a verdict may need at least 6 blocks" in sentences
    assert "With 5 blocks" not in sentences_of(part(report_of(SPREAD), "placement"))


UNTIL = {"interval_percent": 5, "max_blocks": 40, "least_blocks": 6, "limit_core_hours": 2}
UNTIL |= {"core_hours": 0.5, "reached": True}
MOST = "40 blocks are the most that the study allows"


@pytest.mark.parametrize(
    ("reason", "width", "sentence"),
    [
        (
            "the target was reached",
            4.2,
            "ended after 7 blocks, since the target was reached. The widest interval is ±4.2 %.",
        ),
        (MOST, None, f"The study ended after 7 blocks, since {MOST}. One interval is missing."),
        (None, 4.2, "The study has not ended after 7 blocks. The widest interval is ±4.2 %."),
    ],
)
def test_the_stopping_rule_is_stated(reason, width, sentence):
    until = UNTIL | {"reason": reason, "half_width_percent": width}
    sentences = sentences_of(part(report_of(SPREAD, {"study": STUDY | {"until": until}}), "method"))
    assert "an interval of ±5.0 % or less. " in sentences
    assert "The limits were 40 blocks and 2.00 core hours." in sentences
    assert sentence in sentences


def test_without_a_target_no_rule_is_stated():
    assert "went on" not in sentences_of(part(report_of(SPREAD), "method"))


def test_the_right_answers_of_all_sizes_of_a_weak_study():
    answer = {"quantity": "drag", "unit": "N", "tolerance": 1e-3, "references": {"4k": 1.5, "8k": 1.25}}
    facts = {"study": STUDY | {"scaling": "weak"}, "cases": {"duct": {"title": "Duct", "answer": answer}}}
    assert "1.5 N (4k) and 1.25 N (8k) within a relative tolerance of 0.001." in sentences_of(
        part(report_of(SPREAD, facts), "case-1")
    )
