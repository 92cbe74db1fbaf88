"""Comparison by nodes: the default unit, layouts, references and node equivalents in both directions."""

import numpy as np
import pandas as pd
import pytest

from analysis.pipeline import make_all_tables
from analysis.runs.errors import TableError
from analysis.runs.runs import complete_runs
from analysis.runs.settings import Settings
from analysis.topics.topic import Request

NAMES = ("scaling", "peaks", "improvement", "node_equivalent", "fastest")


def rows(interconnect, per_node, times, threads=1, runs=5):
    return [
        {
            "case": "box",
            "interconnect": interconnect,
            "processes": nodes * per_node,
            "nodes": nodes,
            "threads": threads,
            "cores": nodes * per_node * threads,
            "seconds": seconds * (1 + 0.001 * run),
            "kind": "published",
        }
        for nodes, seconds in times.items()
        for run in range(runs)
    ]


def tables(*parts, **settings):
    runs = complete_runs(pd.DataFrame([row for part in parts for row in part]))
    return make_all_tables(runs, Request(Settings(draws=200, **settings)), NAMES)


FAST = rows("fast", 96, {32: 120.0, 64: 60.0, 128: 40.0})
SLOW = rows("slow", 56, {32: 160.0, 64: 100.0, 128: 80.0})


class TestUnit:
    def test_nodes_if_no_process_counts_are_shared(self):
        made = tables(FAST, SLOW, baselines=("fast",))
        assert all(set(made[name]["unit"]) == {"nodes"} for name in NAMES)

    def test_processes_if_two_process_counts_are_shared(self):
        made = tables(rows("a", 96, {2: 3.0, 4: 2.0}), rows("b", 96, {2: 4.0, 4: 3.0}))
        assert set(made["scaling"]["unit"]) == {"processes"}

    def test_processes_if_neither_unit_shares_two_counts(self):
        made = tables(rows("a", 96, {2: 3.0, 4: 2.0}), rows("b", 56, {3: 4.0, 5: 3.0}))
        assert set(made["scaling"]["unit"]) == {"processes"}

    def test_interconnects_with_one_count_have_no_say(self):
        single = rows("single", 7, {100: 50.0})
        assert set(tables(FAST, SLOW, single, baselines=("fast",))["peaks"]["unit"]) == {"nodes"}

    def test_the_study_may_state_processes(self):
        made = tables(FAST, SLOW, compare_by="processes")
        assert set(made["scaling"]["unit"]) == {"processes"}

    def test_nodes_need_known_nodes(self):
        unknown = [{**row, "nodes": None} for row in SLOW]
        with pytest.raises(TableError, match="compare_by: nodes"):
            tables(FAST, unknown, compare_by="nodes")


class TestByNodes:
    made = tables(FAST, SLOW, baselines=("fast",))

    def test_efficiency_divides_by_nodes(self):
        scaling = self.made["scaling"].set_index(["interconnect", "nodes"])
        # Medians have a factor of 1.002, which ratios cancel: 120 / 80 = 1.5 on four times the nodes.
        assert scaling.loc[("slow", 128), "speedup"] == pytest.approx(1.5)
        assert scaling.loc[("slow", 128), "efficiency"] == pytest.approx(1.5 / 4)
        assert scaling.loc[("slow", 128), "own_speedup"] == pytest.approx(2.0)
        assert scaling.loc[("fast", 32), "reference_nodes"] == 32

    def test_curves_are_compared_at_equal_nodes(self):
        (improvement,) = self.made["improvement"].to_dict("records")
        assert (improvement["at_processes"], improvement["at_processes_other"]) == (128, 128)
        assert improvement["improvement_percent"] == pytest.approx(-50)

    def test_the_faster_baseline_matches_the_best_of_the_other(self):
        equivalent = self.made["node_equivalent"]
        (line,) = equivalent[equivalent["reversed"] & (equivalent["baseline_processes"] == 128)].to_dict(
            "records"
        )
        # Rate 1/80 lies between 1/120 on 32 nodes and 1/60 on 64 nodes, half way.
        assert (line["baseline_interconnect"], line["interconnect"]) == ("slow", "fast")
        assert line["equivalent_processes"] == pytest.approx(48)
        assert line["processes_saved"] == pytest.approx(80)
        assert line["equivalent_low"] <= 48 <= line["equivalent_high"]

    def test_a_slower_baseline_has_no_reversed_rows(self):
        assert not tables(FAST, SLOW, baselines=("slow",))["node_equivalent"]["reversed"].any()

    def test_interconnects_compete_at_equal_nodes(self):
        places = self.made["fastest"].set_index(["nodes", "place"])["interconnect"]
        assert [places[nodes, 1] for nodes in (32, 64, 128)] == ["fast"] * 3


MIXED = [*rows("mixed", 96, {32: 50.0, 64: 30.0}), *rows("mixed", 48, {32: 55.0}, threads=2)]
OTHER = rows("other", 56, {32: 70.0, 64: 45.0}, threads=2)


class TestLayouts:
    def test_the_layout_that_covers_most_node_counts_is_compared(self):
        scaling = tables(MIXED, OTHER)["scaling"]
        compared = scaling[scaling["threads"].isna()]
        assert set(zip(compared["interconnect"], compared["layout"], strict=True)) == {
            ("mixed", "96 x 1"),
            ("other", "56 x 2"),
        }

    def test_a_stated_layout_is_compared(self):
        made = tables(MIXED, OTHER, layouts=(("mixed", "48 x 2"),), compare_by="nodes")
        compared = made["scaling"][made["scaling"]["threads"].isna()]
        assert set(compared.loc[compared["interconnect"] == "mixed", "layout"]) == {"48 x 2"}

    def test_other_layouts_are_points_of_their_own(self):
        scaling = tables(MIXED, OTHER)["scaling"]
        others = scaling[scaling["threads"].notna()]
        assert others[["processes_per_node", "threads"]].to_numpy().tolist() == [[48, 2]]


def test_four_runs_of_an_imported_point_have_an_interval():
    made = tables(rows("fast", 96, {32: 120.0, 64: 60.0}, runs=4), SLOW)
    fast = made["scaling"][made["scaling"]["interconnect"] == "fast"]
    assert np.isfinite(fast["speedup_low"]).all()
