"""Processes on one node do not use an interconnect between nodes: no claim is made about it."""

import pytest
from made_tables import make_tables
from report_parts import blocks, cells, part, plain, sentences_of
from small_runs import rows, runs_table

from analysis.curves.outcomes import ONE_NODE
from analysis.presentation.contests import find_contests
from analysis.report import make_report
from analysis.runs.facts import Facts
from analysis.runs.frames import is_missing
from analysis.runs.kinds import ORDER
from analysis.runs.settings import Settings

SLOW = {1: 16.0, 2: 8.4, 4: 4.4, 8: 3.0}
SWIFT = {1: 16.0, 2: 8.0, 4: 4.0, 8: 2.0}


def runs_on(slow_per_node, swift_per_node, kind="measured", names=("slow", "swift")):
    """Two interconnects with so many processes per node."""
    nodes = zip(names, (SLOW, SWIFT), (slow_per_node, swift_per_node), strict=True)
    return runs_table(
        {**row, "nodes": -(-row["processes"] // per_node)}
        for name, times, per_node in nodes
        for row in rows("duct", name, times, kind=kind)
    )


def tables_of(runs, **settings):
    return make_tables(runs, Settings(draws=200, **settings))


@pytest.mark.parametrize("kind", ORDER)
@pytest.mark.parametrize(
    ("per_node", "which"), [((8, 8), ""), ((1, 8), " over swift"), ((8, 1), " over slow")]
)
def test_a_point_that_does_not_use_its_interconnect_is_not_compared(kind, per_node, which):
    """One of both is enough: the other then says nothing about it."""
    tables = tables_of(runs_on(*per_node, kind), baselines=("slow",))
    (line,) = tables["improvement"].to_dict("records")
    assert line["note"] == f"8 processes{which} {ONE_NODE}"
    assert is_missing(line["improvement_percent"]) and is_missing(line["verdict"])
    assert tables["node_equivalent"].empty and "fastest" not in tables


@pytest.mark.parametrize("kind", ORDER)
def test_points_on_several_nodes_are_compared(kind):
    tables = tables_of(runs_on(2, 2, kind), baselines=("slow",))
    (line,) = tables["improvement"].to_dict("records")
    assert line["at_processes"] == 8 and line["improvement_percent"] == pytest.approx(50)
    assert tables["fastest"]["nodes"].min() == 2


def test_transports_inside_a_node_are_compared_on_one():
    runs = runs_on(8, 8, names=("loopback", "memory"))
    tables = tables_of(runs, baselines=("loopback",), inside_nodes=("loopback", "memory"))
    assert tables["improvement"]["verdict"].tolist() == ["faster"]
    assert tables["node_equivalent"]["attainable"].all() and len(tables["fastest"])


def test_a_transport_inside_a_node_is_compared_with_an_interconnect_on_several():
    runs = runs_on(1, 8, names=("network", "memory"))
    tables = tables_of(runs, baselines=("network",), inside_nodes=("memory",))
    assert tables["improvement"]["verdict"].tolist() == ["faster"]


def test_unknown_nodes_are_no_reason():
    runs = runs_on(8, 8).assign(nodes=None).astype({"nodes": "Int64"})
    assert tables_of(runs, baselines=("slow",))["improvement"]["verdict"].tolist() == ["faster"]


def test_node_equivalents_begin_where_messages_cross_the_interconnect():
    """The slow one reaches 16/4.4 with 4, the swift one with 2 + 2 (3.64 - 2)/2 = 3.64; 2 are on one node."""
    equivalent = tables_of(runs_on(2, 2), baselines=("slow",))["node_equivalent"]
    counts = equivalent.set_index("baseline_processes")["equivalent_processes"]
    assert list(counts.index) == [4, 8] and counts[4] == pytest.approx(2 + (16 / 4.4 - 2))
    crowded = tables_of(runs_on(2, 4), baselines=("slow",))["node_equivalent"]
    counts = crowded.set_index("baseline_processes")["equivalent_processes"]
    assert counts.isna().tolist() == [True, False]  # as many as 4 of the swift one are on one node


class TestReport:
    def report(self, *per_node, **about):
        runs = runs_on(*per_node, **about)
        facts = Facts.of({"study": {"baselines": ["slow"], "name": "duct"}})
        return make_report(runs, tables_of(runs, baselines=("slow",)), facts, [])

    def test_page_one_states_it_instead_of_a_percentage(self):
        report = self.report(1, 8)
        text = sentences_of(part(report, "words"))
        reason = f"swift is not compared with slow in duct: 8 processes over swift {ONE_NODE}."
        assert f"Which is faster: {reason}" in text
        assert (
            "Nodes saved: unknown. No interconnects are compared at the best count of their baseline." in text
        )
        assert "% faster" not in text and "saving" not in text
        (table,) = blocks(part(report, "answer"), "table")
        assert {row[0]: row[-1] for row in cells(table)} == {
            "swift": "not compared: one node", "slow": "is the baseline"
        }  # fmt: skip
        assert reason in sentences_of(part(report, "improvement"))
        assert part(report, "equivalents") is None

    def test_other_comparisons_stay(self):
        runs = runs_on(1, 8)
        third = runs_on(1, 1, names=("slow", "third"))
        runs = runs_table(runs.to_dict("records"), third[third["interconnect"] == "third"].to_dict("records"))
        facts = Facts.of({"study": {"baselines": ["slow"], "name": "duct"}})
        report = make_report(runs, tables_of(runs, baselines=("slow",)), facts, [])
        text = sentences_of(part(report, "words"))
        assert (
            "third is 50 % faster than slow at 8 processes, the best count of slow. swift is not compared"
            in text
        )


def report_on_nodes_of_two(slow, swift):
    """The serial run takes 16 s; each node has two processes."""
    runs = runs_table(
        {**row, "nodes": -(-row["processes"] // 2)}
        for name, times in ((None, {1: 16.0}), ("slow", slow), ("swift", swift))
        for row in rows("duct", name, times)
    )
    facts = Facts.of({"study": {"baselines": ["slow"], "names_baseline": True}})
    return make_report(runs, tables_of(runs, baselines=("slow",)), facts, [])


def test_an_equivalent_between_the_serial_run_and_several_nodes_is_no_saving():
    """The slow one is fastest with 4 processes; the swift one is as fast with 2, which are on one node of 2."""
    report = report_on_nodes_of_two(slow={4: 10.0, 8: 11.0}, swift={4: 4.0, 8: 2.5})
    assert plain(report["result"]) == "swift is 150 % faster than slow at 4 processes"
    first, *_ = blocks(part(report, "answer"), "key_figures")[0]["key_figures"]
    why = "2 processes would do, but on one node, where no message uses the interconnect"
    assert (plain(first["value"]), plain(first["note"])) == ("unknown", why)
    assert (
        "Nodes saved in duct: unknown. swift with about 2 processes on 1 node is as fast as slow with 4 "
        "processes on 2 nodes. On one node, no message uses the interconnect."
    ) in sentences_of(part(report, "words"))


def test_the_order_on_several_nodes_is_stated_if_the_baseline_is_fastest_on_one():
    """The slow one is fastest with 2 processes, which are on one node."""
    report = report_on_nodes_of_two(slow={2: 8.0, 4: 10.0, 8: 12.0}, swift={2: 8.0, 4: 5.0, 8: 3.0})
    text = sentences_of(part(report, "answer"))
    assert (
        "On several nodes, swift is faster at 4 and 8 processes: the other interconnect takes 100 % to 300 % longer."
        in text
    )
    assert "No interconnects are compared at the best count of their baseline. Reason: 2 processes" in text


def test_no_title_claims_an_equivalent_of_runs_on_one_node():
    (contest,) = find_contests(tables_of(runs_on(8, 8), baselines=("slow",)), [])
    assert contest.equivalent.empty and contest.targets.empty
