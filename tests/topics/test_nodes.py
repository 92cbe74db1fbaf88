"""A slow node is found, by hand and in studies that change the nodes of points between blocks."""

import numpy as np
import pandas as pd
import pytest
from drawn import drawn
from report_parts import blocks, cells, part, sentences_of
from synthetic_study import make_runs, make_whole_study

from analysis.report import make_report
from analysis.runs.runs import NODE_NAMES, complete_runs
from analysis.runs.settings import Settings
from analysis.topics.nodes import (
    Blocks,
    make_nodes,
    node_effects,
    node_figures,
    node_sentences,
    stopped_sentences,
)
from tests.benchmarks.slow_node import NODES, TRIALS, blocks_by_power, flagged_nodes, runs_of


def by_hand(logs, used):
    return node_effects(Blocks(np.zeros(len(logs), int), np.array(logs), np.array(used, bool)), 0.05)


def test_the_effect_of_a_node_is_the_difference_of_means():
    """Six blocks on one of two nodes; as far apart as any 3 of 6, of which there are 20, in either direction."""
    first = [1, 1, 1, 0, 0, 0]
    effects = by_hand([0.1, 0.2, 0.3, 0.0, -0.1, 0.1], [first, [1 - used for used in first]])
    assert effects.slower == pytest.approx([0.2, -0.2])
    # Sums of squares 0.02 and 0.02 about their means, 4 degrees of freedom; t at 1 - 0.05 / 2 / 2 is 3.4954.
    half = 3.4954 * np.sqrt(0.04 / 4 * (1 / 3 + 1 / 3))
    assert effects.high - effects.slower == pytest.approx([half, half], rel=1e-4)
    assert effects.p_value[0] == effects.p_value[1] == pytest.approx(4 / 20, abs=0.03)


def test_nodes_used_always_or_never_are_not_estimated():
    effects = by_hand([0.1, 0.2, 0.0, 0.1], [[1, 1, 1, 1], [1, 0, 1, 0]])
    assert np.isnan(effects.slower).tolist() == [True, False]
    assert np.isnan(by_hand([0.0, 0.0, 0.0, 0.0], [[1, 0, 1, 0]]).slower).all()


def test_a_node_throttled_by_a_fifth_is_found_in_as_many_blocks_as_the_test_needs():
    """A node of 80 % takes 1.25 times as long."""
    scatter = 0.1
    needed = blocks_by_power(1 / 0.8, scatter)
    assert needed == 14
    flagged = [flagged_nodes(runs_of(needed, seed, 1 / 0.8, scatter)) for seed in range(20)]
    assert sum(names == [f"n{seed % NODES}"] for seed, names in enumerate(flagged)) >= 15
    assert not any(set(names) - {f"n{seed % NODES}"} for seed, names in enumerate(flagged))


@pytest.mark.slow
def test_equal_nodes_are_not_flagged():
    assert not any(flagged_nodes(runs_of(8, seed, 1.0, 0.05)) for seed in range(TRIALS))


def test_too_few_orders_of_the_blocks_flag_no_node():
    """On five nodes the slow one is drawn in 1, 2 and 3 of 5 blocks: of 500 orders one is so, for each node."""
    assert blocks_by_power(1 / 0.8, 0.01) == 7
    assert flagged_nodes(runs_of(5, 0, 1 / 0.8, 0.001)) == []
    assert flagged_nodes(runs_of(7, 0, 1 / 0.8, 0.001)) == ["n0"]


def test_two_slow_nodes_are_flagged_in_turn():
    runs = runs_of(15, 0, 1.25, 0.02)
    also = runs[NODE_NAMES].str.contains("n3") & ~runs[NODE_NAMES].str.contains("n0")
    assert sorted(flagged_nodes(runs.assign(seconds=runs["seconds"].mask(also, 1.15 * runs["seconds"])))) == [
        "n0",
        "n3",
    ]


def test_one_node_unknown_nodes_and_interim_reports_have_no_section():
    runs = runs_of(8, 0, 1.25, 0.02)
    assert make_nodes(runs, Settings())
    assert not make_nodes(runs.assign(**{NODE_NAMES: "n1"}), Settings())
    assert not make_nodes(runs.drop(columns=NODE_NAMES), Settings())
    assert not make_nodes(runs.assign(**{NODE_NAMES: pd.Series(pd.NA, runs.index, dtype="str")}), Settings())
    assert not make_nodes(runs, Settings(unfinished=True))


def test_points_with_stopped_runs_are_left_out_and_counted(three):
    """A slow node with stopped runs would look fast from its completed runs only."""
    beyond = three["node_names"].eq("n2") & three["processes"].eq(2) & three["block"].lt(6)
    whole, runs = complete_runs(three), complete_runs(three.assign(censored=beyond))
    assert not make_nodes(runs[runs["processes"] == 2].reset_index(drop=True), Settings())
    (with_stopped,), (alone,) = (
        make_nodes(compared.reset_index(drop=True), Settings()).values()
        for compared in (runs, whole[whole["processes"] == 1])
    )
    assert with_stopped[["node", "slower_percent"]].equals(alone[["node", "slower_percent"]])
    (sentence,) = stopped_sentences(runs)
    assert sentence.startswith("1\u00a0point is left out")
    assert not stopped_sentences(whole)


def test_numbers_of_threads_are_points_of_their_own():
    """Points of one and of two threads, on other nodes in each block, have equal processes and nodes."""
    single, two = runs_of(15, 0, 1.0, 0.02), runs_of(15, 1, 1.0, 0.02)
    both = pd.concat([single, two.assign(threads=2, cores=2 * two["cores"], seconds=two["seconds"] / 1.9)])
    (alone,), (mixed,) = (
        make_nodes(runs.reset_index(drop=True), Settings()).values() for runs in (single, both)
    )
    widths = [(table["slower_high"] - table["slower_low"]).max() for table in (alone, mixed)]
    assert widths[1] < widths[0]


@pytest.fixture
def three():
    """Runs of a case, each block on one of three nodes in turn."""
    runs = make_runs(12, levels=(1,), counts=(1, 2), cases=("elbow",), interconnects=("gigabit",))
    return runs.assign(node_names=runs["block"].astype(int).mod(3).add(1).astype("str").radd("n"))


def reported(runs):
    """Section of the report, and the figure in it."""
    study = make_whole_study(runs)
    (drawing,) = drawn(study, node_figures, "nodes")
    return part(make_report(*study, [drawing.entry()]), "nodes"), drawing


def test_the_report_names_the_node_for_the_operators(three):
    seconds = three["seconds"].mask(three["node_names"] == "n2", 1.25 * three["seconds"])
    section, drawing = reported(three.assign(seconds=seconds))
    (line,) = sentences_of(section).splitlines()
    assert line.startswith("Node n2 is slow: its runs take 2") and line.endswith(
        "Report the node to the operators."
    )
    assert "for all 3 nodes together" in line
    (figure,), (table,) = blocks(section, "figure"), blocks(section, "table")
    assert figure["name"] == "nodes" and cells(table)[0][0] == "n2"
    assert sum(mark.text.startswith("n") for mark in drawing.marks.values()) == 3


def test_the_report_states_that_no_node_is_slow(three):
    section, _ = reported(three)
    assert sentences_of(section).startswith("None of 3 nodes is significantly slow. No node is more than ")


@pytest.mark.parametrize(("slow", "first"), [(True, "Node n2 is slow"), (False, "None of 3")])
def test_the_report_names_nodes_without_enough_runs(slow, first):
    columns = ["node", "slower_percent", "slower_low", "slower_high", "p_value", "slow"]
    rows = [("n1", 0.5, -1, 2, 0.9, False), ("n2", 25, 20, 30, 0.001, slow), ("n3", 0, -1, 1, 1.0, False)]
    table = pd.DataFrame([*rows, ("n4", *[np.nan] * 4, False)], columns=columns)
    first_sentence, last = node_sentences(table, "95 %")
    assert first_sentence.startswith(first) and last == "There are too few comparable runs to judge n4."
