"""Page one states from which count another interconnect is the faster one, and what a comparison compares."""

import pytest
from made_tables import make_tables
from report_parts import blocks, part, plain
from small_runs import FACTORS, rows, runs_table

from analysis.report import make_report
from analysis.runs.facts import Facts
from analysis.runs.settings import Settings

EARLY = {2: 40.0, 4: 20.0, 8: 10.0, 16: 9.0, 32: 8.0}  # twice as fast up to 8
LATE = {2: 80.0, 4: 40.0, 8: 20.0, 16: 4.5, 32: 4.0}  # twice as fast from 16 on


def paragraphs(curves, factors=FACTORS, compare_by=None, per_node=1, facts=None, other_factors=None):
    """Paragraphs of page one; `factors` are the noise of the first curve, `other_factors` of the others."""
    baseline, *_ = curves
    made = [
        {**line, "nodes": line["processes"], "processes": line["processes"] * per_node}
        for name, times in curves.items()
        for line in rows("duct", name, times, factors if name == baseline else other_factors or factors)
    ]
    runs, settings = runs_table(made), Settings(baselines=(baseline,), draws=200, compare_by=compare_by)
    about = Facts.of({"study": {"baselines": [baseline]}, **(facts or {})})
    report = make_report(runs, make_tables(runs, settings), about, [])
    return [plain(block["text"]) for block in blocks(part(report, "answer"), "paragraph")]


def crossover(*args, **more):
    return [text for text in paragraphs(*args, **more) if text.startswith("Crossover")]


@pytest.mark.parametrize(("unit", "noun"), [("processes", "processes"), ("nodes", "nodes")])
def test_each_side_has_its_counts(unit, noun):
    (text,) = crossover({"early": EARLY, "late": LATE}, compare_by=unit)
    assert text == f"Crossover in duct: early is faster up to 8 {noun}. late is faster from 16 {noun}."


def test_counts_are_nodes_where_nodes_hold_several_processes():
    (text,) = crossover({"early": EARLY, "late": LATE}, compare_by="nodes", per_node=4)
    assert text == "Crossover in duct: early is faster up to 8 nodes. late is faster from 16 nodes."


def test_a_third_interconnect_makes_it_the_fastest():
    third = dict.fromkeys(EARLY, 100.0)
    (text,) = crossover({"early": EARLY, "late": LATE, "third": third})
    assert (
        text
        == "Crossover in duct: early is the fastest up to 8 processes. late is the fastest from 16 processes."
    )


def test_one_run_each_is_stated():
    (text,) = crossover({"early": EARLY, "late": LATE}, factors=(1.0,))
    assert text == (
        "Crossover in duct: early is faster up to 8 processes. late is faster from 16 processes. Each interconnect has one "
        "run per count."
    )


def test_a_difference_on_one_side_only_is_undecided():
    """Medians of `nearly` are 1 % shorter from 16 on, within the noise of 5 %."""
    nearly = {2: 80.0, 4: 40.0, 8: 20.0, 16: 8.9, 32: 7.9}
    (text,) = crossover({"early": EARLY, "nearly": nearly}, other_factors=FACTORS[::-1])
    assert text == (
        "Crossover in duct: undecided. The shortest median time changes from early to nearly between 8 and 16 processes. "
        "Noise may explain the difference on at least one side."
    )


@pytest.mark.parametrize("factors", [(1.0,), FACTORS])
def test_equal_times_at_a_count_are_no_lead(factors):
    """The first of the file would otherwise be the faster one, although both need the same time."""
    same = {2: 80.0, 4: 40.0, 8: 20.0}
    assert crossover({"first": same, "second": {2: 80.0, 4: 30.0, 8: 15.0}}, factors=factors) == []


def test_without_a_change_of_order_there_is_no_crossover():
    assert crossover({"early": EARLY, "slow": {count: 2 * time for count, time in EARLY.items()}}) == []


@pytest.mark.parametrize(
    ("types", "text"),
    [
        (
            ("a", "a", "a"),
            "All compared interconnects ran on the same type of node: a. The data do not show the "
            "cause of a difference in speed between these systems.",
        ),
        (("a", "b", "b"), "The compared systems differ in their nodes. Their software may differ, too."),
        (
            ("a", "a", "b"),
            "late and early ran on the same type of node: a. The data do not show the cause of a difference "
            "in speed between these systems. Every other system that Nodeworth compares with "
            "early ran on a different type of node.",
        ),
        (
            ("a", "a", None),
            "The study does not state the node_type of each interconnect. Different nodes may therefore explain "
            "differences in speed.",
        ),
    ],
)
def test_by_nodes_page_one_states_what_is_compared(types, text):
    curves = {"early": EARLY, "late": LATE, "third": dict.fromkeys(EARLY, 100.0)}
    interconnects = {
        name: {"node_type": node} if node else {} for name, node in zip(curves, types, strict=True)
    }
    made = paragraphs(curves, compare_by="nodes", facts={"interconnects": interconnects})
    assert text in made
    assert not any(line.startswith("Comparison") for line in paragraphs(curves))
