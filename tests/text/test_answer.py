"""Page one in words: whole processes, nodes, and no direction where there is none."""

import re

import pandas as pd
import pytest
from report_parts import plain
from small_runs import rows, runs_table
from synthetic_study import make_runs, make_study

from analysis.estimates.headline import contests, direction, nodes_of, whole
from analysis.estimates.scaling import make_tables
from analysis.runs.facts import Facts
from analysis.runs.settings import Settings
from analysis.text import answer
from analysis.text.labels import Labels

LABELS = Labels(Facts())
SLOW = {1: 100.0, 2: 52.0, 4: 28.0, 8: 16.0, 16: 12.0, 32: 14.0}
SWIFT = {1: 100.0, 2: 50.0, 4: 25.0, 8: 12.5, 16: 6.3, 32: 3.2}


@pytest.fixture(scope="module")
def duct():
    """Two processes a node; the slow one stops at 16 processes with a speedup of 8 1/3."""
    groups = [
        {"nodes": -(-row["processes"] // 2), **row}
        for name, times in (("gigabit_ethernet", SLOW), ("infiniband", SWIFT))
        for row in rows("duct", name, times, blocks=(1.0,), kind="published")
    ]
    runs = runs_table(groups)
    return runs, make_tables(runs, Settings(baselines=("gigabit_ethernet",)))


def test_a_count_between_two_counts_takes_whole_processes():
    assert [whole(count) for count in (5.01, 5.0, 5 + 1e-12)] == [6, 5, 5]


def test_nodes_are_those_of_full_ones_and_unknown_on_one_node():
    known = pd.DataFrame({"processes": [1, 4, 8], "nodes": pd.array([1, 2, 4], "Int64")})
    assert [nodes_of(known, count) for count in (1, 5, 8)] == [1, 3, 4]
    assert nodes_of(known.assign(nodes=pd.array([1, 1, 1], "Int64")), 4) is None
    assert nodes_of(known.assign(nodes=pd.array([None] * 3, "Int64")), 4) is None


class TestDuct:
    """The speedup of 100/12 lies at 8 + 8 (8.333 - 8) / (15.873 - 8) = 8.34 processes: 9, on 5 nodes."""

    def test_the_worth_in_whole_processes_and_nodes(self, duct):
        said = plain(answer.worth(contests(duct[1], []), LABELS))
        assert said == (
            "What it is worth: in duct, 16 processes (8 nodes) over GigE (pub) do what 9 processes (5 nodes) do over "
            "InfiniBand (pub): worth 7 processes, 3 nodes."
        )

    def test_where_more_processes_stop_paying(self, duct):
        found = contests(duct[1], [])
        assert plain(answer.how_far(found, LABELS)) == (
            "How far it scales: in duct, over GigE (pub) more than 16 processes bring nothing (speedup 8.33); over "
            "InfiniBand (pub) speedup still rises at 32 processes, the most that was run (speedup 31.2)."
        )
        assert plain(answer.what_is_seen(found[0], LABELS)) == "GigE (pub) stops at 16 processes"

    @pytest.mark.parametrize(("seconds", "nearly"), [(13.0, "; 8 processes reach 92 % of it"), (13.5, "")])
    def test_fewer_processes_that_do_nearly_as_much_are_named(self, seconds, nearly):
        runs = runs_table(rows("duct", "gigabit_ethernet", {**SLOW, 8: seconds}, blocks=(1.0,)))
        said = plain(answer.how_far(contests(make_tables(runs, Settings()), []), LABELS))
        assert f"more than 16 processes bring nothing (speedup 8.33{nearly})" in said

    def test_one_run_each_is_said_with_the_direction(self, duct):
        found = contests(duct[1], [])
        assert plain(answer.which_is_faster(found, Facts(), LABELS)) == (
            "Which is faster: InfiniBand (pub) is 90 % faster than GigE (pub) at 16 processes (one run each)."
        )
        assert "chance is not ruled out" in answer.how_sure(duct[0], duct[1], found, Facts())


@pytest.fixture(scope="module")
def study():
    """Three blocks of two cases: too few for any test of the table."""
    return make_study(make_runs(3, levels=(1,)), compare_kinds=[])


class TestUntold:
    def test_no_direction_and_no_number(self, study):
        _, tables, facts = study
        said = plain(answer.which_is_faster(contests(tables, []), facts, Labels(facts)))
        assert said.startswith("Which is faster: nothing is faster or slower than") and "%" not in said
        assert "3 blocks are too few to tell" in said
        assert "cannot be told" in answer.worth(contests(tables, []), Labels(facts))

    def test_what_would_settle_it(self, study):
        runs, tables, facts = study
        precision = tables["improvement"].assign(blocks_wanted=9, target_percent=5.0)
        said = plain(answer.how_sure(runs, {**tables, "precision": precision}, contests(tables, []), facts))
        needed = int(tables["improvement"]["blocks_needed"].max())
        assert needed > 3
        assert f"{needed - 3} more blocks, about 2 minutes, could tell the first of them" in said
        assert said.endswith(f"(./run-study config/studies/synthetic.yaml --config blocks={needed}).")

    def test_what_cannot_be_told_is_named(self, study):
        runs, tables, facts = study
        said = plain(answer.how_sure(runs, tables, contests(tables, []), facts))
        names = re.search(r"cannot be told yet \((.*)\)\.$", said).group(1)
        first = tables["improvement"].iloc[0]
        labels = Labels(facts)
        assert labels.compared(first) in names and f"in {labels.case(first['case'])}" in names

    def test_only_the_first_of_many_are_named(self):
        line = {"case": "duct", "baseline_interconnect": "a", "interconnect": "b", "kind": "measured",
                "oversubscription": 2, "processes_per_node": None}  # fmt: skip
        assert answer._named([line] * 5, LABELS) == "b, b and b against a in duct, 2 processes a core; 2 more"

    def test_a_verdict_without_a_test_tells_nothing(self):
        for verdict in ("untestable with 8 blocks", "not distinguishable", None):
            assert direction({"verdict": verdict, "note": None}) is None
        assert direction({"verdict": "slower over the whole band"}) == "slower"
        assert direction({"verdict": "faster", "note": "the medians of the times say the opposite"}) is None
