"""The fastest interconnect of each point, compared with the fastest network."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_tables import make_tables
from report_parts import blocks, cells, part

from analysis.importers import read_published
from analysis.presentation.labels import Labels
from analysis.report import make_report
from analysis.runs.facts import Facts
from analysis.runs.runs import complete_runs, read_runs
from analysis.runs.settings import Settings
from analysis.topics.fastest.best_network import network_figures, network_sentences
from analysis.topics.fastest.section import winners_table
from analysis.topics.fastest.tables import winners

PUBLISHED = Path(__file__).parents[2] / "analysis/published"
LABELS = Labels(Facts())


def plain(sentences):
    return [sentence.replace("\u202f", " ").replace("\u00a0", " ") for sentence in sentences]


def tables(blocks=(1.0,), compare_kinds=(), kinds=None, **times):
    """Tables of one case: times of each interconnect by process count, on a node a process."""
    rows = [
        {"case": "duct", "interconnect": name, "processes": count, "nodes": count}
        | {"seconds": seconds * blocks[block], "block": block, "kind": (kinds or {}).get(name, "published")}
        for name, by_count in times.items()
        for count, seconds in by_count.items()
        for block in range(len(blocks))
    ]
    settings = Settings(study="own", compare_kinds=compare_kinds, draws=100)
    return make_tables(complete_runs(pd.DataFrame(rows)), settings)


def figures(**networks):
    """Network figures: latency in microseconds and bandwidth in Mbit/s."""
    rows = [
        {"interconnect": name, "api": None, "latency_us": us, "latency_us_high": None, "peak_Mbps": rate}
        for name, (us, rate) in networks.items()
    ]
    return network_figures({"network_summary": pd.DataFrame(rows).assign(note=None, source="own.csv")})


@pytest.fixture(scope="module")
def gamess():
    runs = read_runs(PUBLISHED / "gamess.csv")
    tables = make_tables(runs, Settings(study="gamess", baselines=("gigabit_ethernet",)))
    return runs, tables, read_published(PUBLISHED)


class TestGamess:
    """Table 1 of the paper, by hand."""

    def test_the_fastest_at_each_node_count_and_level(self, gamess):
        won = winners(gamess[1]["fastest"])
        fastest = won.set_index(["oversubscription", "nodes"])[
            ["interconnect", "seconds", "next_interconnect"]
        ]
        assert {place: tuple(row) for place, row in zip(fastest.index, fastest.to_numpy(), strict=True)} == {
            (1, 2): ("infiniband_mpi", 3006, "myrinet_mpi"),
            (1, 4): ("infiniband_mpi", 1727, "myrinet_mpi"),
            (2, 2): ("myrinet_tcp", 1924, "gigabit_ethernet"),
            (2, 4): ("myrinet_tcp", 1279, "infiniband_mpi"),
        }
        last = won.iloc[-1]
        assert last["lead_percent"] == pytest.approx(100 * (1319 / 1279 - 1))
        assert last["spread_percent"] == pytest.approx(100 * (1559 / 1279 - 1))
        assert won["interconnects"].tolist() == [5, 5, 5, 5]

    def test_timings_are_similar_unless_the_cpus_are_overloaded(self, gamess):
        """Slowest over fastest: 3062/3006 to 1852/1727 at level 1, 1559/1279 to 2785/1924 at level 2."""
        spreads = winners(gamess[1]["fastest"]).groupby("oversubscription")["spread_percent"]
        ends = spreads.agg(["min", "max"]).to_numpy().ravel()
        assert ends == pytest.approx([1.86, 7.24, 21.9, 44.75], rel=0.01)

    def test_runs_on_one_node_do_not_compete(self, gamess):
        assert gamess[1]["fastest"]["nodes"].min() == 2

    def test_the_fastest_network_does_not_make_the_fastest_run(self, gamess):
        rows, published = gamess[1]["scaling"], gamess[2]
        sentences = network_sentences(rows, winners(gamess[1]["fastest"]), network_figures(published), LABELS)
        assert plain(sentences) == [
            "Lowest published latency: Quadrics MPI (pub) with 2 to 3 µs. Highest published bandwidth: InfiniBand "
            "MPI (pub) with 5900 to 6750 Mbit/s or Quadrics MPI (pub) with 6370 Mbit/s.",
            "The fastest run takes 1279 s over Myrinet TCP (pub) on 8 processes and 4 nodes, at oversubscription "
            "2. The published figures of this network are 27 to 30 µs and 1880 to 3500 Mbit/s. The fastest "
            "network does not make the fastest run.",
            "Quadrics MPI (pub) is the fastest at none of 4 points with several interconnects. InfiniBand MPI "
            "(pub) is the fastest at 2 of 4 points with several interconnects.",
        ]

    def test_the_report_states_it_with_reference_and_without_intervals(self, gamess):
        runs, tables, published = gamess
        report = make_report(runs, tables, Facts.of({"study": {"name": "gamess"}}), [], published)
        (text,) = plain([json.dumps(report["sections"], ensure_ascii=False)])
        assert "The fastest network does not make the fastest run." in text
        assert (
            "relative to GigE (pub) with 1 process. The time of this reference is 5823 s. No serial" in text
        )
        assert "a single run of one side, so chance may explain the difference" in text
        runs_table, networks = blocks(part(report, "fastest"), "table")
        levels = [f"gamess, oversubscription {level}" for level in (1, 2)]
        assert [group["title"] for group in runs_table["groups"]] == levels
        assert runs_table["groups"][1]["rows"][1]["cells"] == [
            *("4", "8", "Myrinet TCP (pub)", "1279", "InfiniBand MPI (pub)"),
            *("+3.1", "+22", "5"),
        ]
        assert ["GigE (pub)", "31 to 90", "900 to 940"] in cells(networks)


class TestNetworks:
    def test_names_that_stand_for_several_networks_have_ranges(self, gamess):
        ranges = network_figures(gamess[2])
        assert ranges.loc["myrinet_mpi"].tolist() == [6, 7, 1880, 3750]
        assert ranges.loc["gigabit_ethernet"].tolist() == [31, 90, 900, 940]

    def test_the_fastest_network_may_make_the_fastest_run(self):
        made = tables(swift={2: 4, 4: 2}, slow={2: 5, 4: 3})
        rows, won = made["scaling"], winners(made["fastest"])
        sentences = network_sentences(rows, won, figures(swift=(2, 9000), slow=(30, 900)), LABELS)
        assert plain(sentences)[1] == (
            "The fastest run takes 2.00 s over swift (pub) on 4 processes and 4 nodes. The published figures of "
            "this network are 2 µs and 9000 Mbit/s."
        )
        assert plain(sentences)[2].endswith(
            "swift (pub) is the fastest at 2 of 2 points with several interconnects."
        )

    def test_an_indistinguishable_run_refutes_no_network(self):
        """Swift has the better network and takes 0.1 % longer, 2 % more and 2 % less in turn."""
        runs = [
            {"case": "duct", "interconnect": name, "processes": 2, "block": block, "seconds": seconds}
            for block, noise in enumerate(NOISE)
            for name, seconds in (
                ("slow", 4 * noise),
                ("swift", 4.004 * noise * (1.02 if block % 2 else 0.98)),
            )
        ]
        made = make_tables(complete_runs(pd.DataFrame(runs)), Settings(draws=100))
        rows, won = made["scaling"], winners(made["fastest"])
        sentences = network_sentences(rows, won, figures(swift=(2, 9000), slow=(30, 900)), LABELS)
        assert plain(sentences)[1].endswith("The fastest run over swift (pub) may be equally fast.")
        assert won["candidates"].map(sorted).tolist() == [["slow", "swift"]]

    def test_one_network_with_both_figures_is_no_comparison(self):
        made = tables(swift={2: 4}, slow={2: 5})
        rows, won = made["scaling"], winners(made["fastest"])
        two_figures = figures(swift=(2, 9000), slow=(None, 900))
        assert network_sentences(rows, won, two_figures, LABELS) == []
        assert network_sentences(rows, won, network_figures({}), LABELS) == []

    def test_published_figures_do_not_rate_measured_runs(self):
        made = tables(swift={2: 4}, slow={2: 5})
        rows, won = made["scaling"].assign(kind="measured"), winners(made["fastest"])
        two_figures = figures(swift=(2, 9000), slow=(30, 900))
        assert network_sentences(rows, won, two_figures, LABELS) == []


NOISE = (0.9, 1.1, 0.95, 1.05, 1.0, 1.02, 0.98, 1.2)
"""Of a whole block: the times of two interconnects overlap, their ratio does not change."""


class TestWinners:
    def test_kinds_that_are_not_compared_do_not_compete(self):
        kinds = {"slow": "emulated", "swift": "measured"}
        assert "fastest" not in tables(kinds=kinds, swift={2: 4}, slow={2: 5})
        declared = (("emulated", "measured"),)
        (won,) = winners(
            tables(kinds=kinds, compare_kinds=declared, swift={2: 4}, slow={2: 5})["fastest"]
        ).to_dict("records")
        assert (won["interconnect"], won["compared_kinds"]) == ("swift", "measured/emulated")

    def test_overlapping_times_can_have_a_significant_ratio(self):
        """Each block takes 2 % longer over near: the times of both are 10 % apart from block to block."""
        made = tables(NOISE, swift={2: 4.0}, near={2: 4.08}, slow={2: 9.0})
        rows = made["scaling"].set_index("interconnect")
        assert rows.loc["near", "seconds_low"] < rows.loc["swift", "seconds_high"]
        (won,) = winners(made["fastest"]).to_dict("records")
        assert won["rivals"] == 0 and won["interconnect"] == "swift"
        assert [won[f"lead_{end}"] for end in ("percent", "low", "high")] == pytest.approx([2, 2, 2])
        assert [won[f"spread_{end}"] for end in ("percent", "low", "high")] == pytest.approx([125, 125, 125])

    def test_interconnects_that_alternate_may_both_be_fastest(self):
        """Near takes 2 % more and 2 % less in turn, and is 0.1 % behind in the median."""
        runs = [
            {
                "case": "duct",
                "interconnect": name,
                "processes": 2,
                "kind": "measured",
                "block": block,
                "seconds": seconds,
            }
            for block, noise in enumerate(NOISE)
            for name, seconds in (
                ("swift", 4 * noise),
                ("near", 4.004 * noise * (1.02 if block % 2 else 0.98)),
            )
        ]
        made = make_tables(complete_runs(pd.DataFrame(runs)), Settings(draws=100))["fastest"]
        assert winners(made)["rivals"].tolist() == [1]
        assert made["longer_low"].max() < 0 < made["longer_high"].max()

    def test_one_figure_each_is_not_tested(self):
        won = winners(tables(swift={2: 4}, near={2: 4.1}, slow={2: 9})["fastest"])
        assert won["rivals"].isna().all() and won["lead_low"].isna().all()
        assert won["lead_percent"].tolist() == pytest.approx([2.5])

    def test_of_equal_interconnects_none_is_the_only_winner(self):
        made = tables(NOISE[:3], first={2: 4}, second={2: 4}, slow={2: 5})
        won = winners(made["fastest"])
        assert won["rivals"].tolist() == [1] and won["candidates"].tolist() == [("first", "second")]
        (line,) = cells(winners_table(won, LABELS))
        ratios = "Nodeworth divides times of single runs by each other"
        captions = [winners_table(won, LABELS, several_runs)["caption"] for several_runs in (True, False)]
        assert [ratios in caption for caption in captions] == [True, False]
        assert "first (pub) ≈" in line
        two_figures = figures(first=(2, 900), second=(30, 9000))
        sentences = plain(network_sentences(made["scaling"], won, two_figures, LABELS))
        assert sentences[2].endswith(
            "first (pub) is the fastest at 1 of 1 point with several interconnects. second (pub) is the fastest at "
            "1 of 1 point with several interconnects."
        )

    def test_bands_of_simulated_times_hold_the_ratio(self):
        """4 [3, 5] against 6 [5.5, 7]: 50 %, from 5.5/5 to 7/3; only the first can be the least."""
        rows = [
            {"case": "duct", "interconnect": name, "processes": 2, "kind": "simulated", "seconds": seconds}
            | {"seconds_low": low, "seconds_high": high}
            for name, seconds, low, high in (("swift", 4, 3, 5), ("slow", 6, 5.5, 7))
        ]
        made = make_tables(complete_runs(pd.DataFrame(rows)), Settings(draws=100))["fastest"]
        last = made.iloc[-1]
        assert last[["longer_percent", "longer_low", "longer_high"]].tolist() == pytest.approx(
            [50, 10, 400 / 3]
        )
        assert made["may_be_fastest"].tolist() == [True, False]


def test_chance_names_one_of_two_equal_interconnects_in_a_twentieth_of_the_counts():
    """1,000 counts at which two interconnects are equal, with eight blocks each."""
    noise = np.exp(0.03 * np.random.default_rng(7).standard_normal((2, 1000, 8)))
    interconnect, case, block = (index.ravel() for index in np.indices(noise.shape))
    runs = {
        "case": pd.Series(case).map("case{:04}".format),
        "interconnect": np.array(["a", "b"])[interconnect],
        "kind": "measured",
        "processes": 4,
        "nodes": 4,
        "block": block,
        "seconds": noise.ravel(),
    }
    fastest = make_tables(complete_runs(pd.DataFrame(runs)), Settings(draws=100))["fastest"]
    won = winners(fastest)
    assert won["rivals"].eq(0).mean() < 0.065
    caption = winners_table(won.head(40), LABELS)["caption"]
    assert "fast, this would happen at up to 5\u202f% of the tested counts." in caption
