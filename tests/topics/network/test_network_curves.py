"""The table of network curves from the details of runs, and the tables made of it."""

import numpy as np
import pandas as pd
import pytest
from runs_with_details import network_of

from analysis.runs.facts import Facts
from analysis.topics.network import curves
from analysis.topics.network.curves import NETWORK, availability, pair_matrix, without_benchmarks
from analysis.topics.network.tables import link_rates, make_network_tables

TIMES = {"seconds_p5": 0.9, "seconds_p25": 0.95, "seconds_p50": 1.0, "seconds_p75": 1.1, "seconds_p95": 2.0,
         "seconds_lowest_rank": 1.0, "seconds_highest_rank": 1.0}  # fmt: skip


def row(size, seconds, moved=None, **labels):
    times = {name: seconds * share for name, share in TIMES.items()}
    return {"bytes": size, "n": 10, "moved_bytes": moved, "busy_share": 1.0, **times, **labels}


def runs_of(*points):
    columns = ("case", "interconnect", "kind", "processes")
    rows = [dict(zip(columns, point, strict=True)) for point in points]
    return pd.DataFrame(rows).assign(oversubscription=1, nodes=1, site=None)


def curves_of(runs, details):
    return curves.network_table(*network_of(runs, details))


def ping_pong(latency, rate, sizes=(0, 1, 1024, 1 << 20)):
    return {"rows": [row(size, 1e-6 * (latency + size / rate), size) for size in sizes]}


TWO = runs_of(("pingpong", "slow", "measured", 2), ("pingpong", "fast", "measured", 2))


def three_runs():
    runs = runs_of(*[("pingpong", "slow", "measured", 2)] * 3).assign(probe_latency_us=[6.0, 7.5, 6.5])
    return curves_of(runs, [{"rows": [row(8, seconds, 8)]} for seconds in (2e-6, 4e-6, 10e-6)])


def test_medians_over_runs_by_hand():
    (medians,) = three_runs().to_dict("records")
    assert (medians["latency_us"], medians["bandwidth_MBps"]) == pytest.approx((4.0, 2.0))
    assert (medians["latency_us_p5"], medians["latency_us_p95"]) == pytest.approx((3.6, 8.0))
    assert (medians["latency_us_lowest_run"], medians["latency_us_highest_run"]) == pytest.approx((2.0, 10.0))
    assert (medians["n"], medians["runs"], medians["benchmark"], medians["probe_latency_us"]) == (
        30,
        3,
        "pingpong",
        6.5,
    )


def test_other_sizes_of_a_case_are_the_same_benchmark():
    table = curves_of(runs_of(("pingpong-smoke", "slow", "measured", 2)), [ping_pong(1, 1)])
    assert set(table["benchmark"]) == {"pingpong"} and set(table["case"]) == {"pingpong-smoke"}


def test_an_exchange_counts_both_directions_and_a_collective_has_no_bandwidth():
    runs = runs_of(("sendrecv", "slow", "measured", 2), ("barrier", "slow", "measured", 2))
    table = curves_of(runs, [{"rows": [row(100, 1e-6, 200)]}, {"rows": [row(None, 1e-6)]}])
    table = table.set_index("benchmark")
    assert table.loc["sendrecv", "bandwidth_MBps"] == pytest.approx(200)
    assert pd.isna(table.loc["barrier", "bytes"]) and pd.isna(table.loc["barrier", "bandwidth_MBps"])


def test_sizes_rise_whatever_the_order_in_the_records():
    details = ping_pong(1, 100)
    table = curves_of(TWO, [{"rows": details["rows"][::-1]}, details])
    assert list(table["bytes"]) == [0, 1, 1024, 1 << 20] * 2


def test_without_a_curve_the_table_is_empty_and_has_its_columns():
    for runs, details in ((TWO.head(0), []), (TWO, [{}, {"rows": []}])):
        table = curves_of(runs, details)
        assert len(table) == 0 and list(table) == list(NETWORK.columns)
        assert make_network_tables(table, {}) == {}


def test_headlines_and_crossings_of_two_interconnects():
    details = [ping_pong(2.0, 100.0), ping_pong(10.0, 1000.0)]
    tables = make_network_tables(curves_of(TWO, details), {"slow": 125.0})
    heads = tables["network_headlines"].set_index("interconnect")
    assert heads.loc["slow", "latency_us"] == pytest.approx(2.0)
    assert heads.loc["slow", "percent_of_link"] == pytest.approx(80, rel=0.01)
    assert pd.isna(heads.loc["fast", "percent_of_link"])
    (crossing,) = tables["network_crossings"].to_dict("records")
    assert (crossing["interconnect"], crossing["other_interconnect"]) == ("fast", "slow")
    assert crossing["from_bytes"] == 1024


def test_perturbed_sizes_make_no_protocol_switch():
    sizes = (0, 1, 2, 4, 13, 16, 19, 29, 32, 35)
    details = ping_pong(1.0, 100.0, sizes)
    for measurement in details["rows"]:
        if measurement["bytes"] in (19, 35):  # not a multiple of 4: slow
            measurement["seconds_p50"] *= 3
    heads = make_network_tables(curves_of(TWO.head(1), [details]), {})["network_headlines"]
    assert heads["switches"].isna().tolist() == [True]


def test_kinds_share_no_crossing():
    runs = TWO.assign(kind=["measured", "emulated"])
    tables = make_network_tables(curves_of(runs, [ping_pong(2.0, 100.0), ping_pong(10.0, 1000.0)]), {})
    assert "network_crossings" not in tables and len(tables["network_headlines"]) == 2


def test_link_rates_are_in_bits_and_may_be_unknown():
    about = {"a": {"link_mbps": 1000}, "b": {"link_mbps": None}, "c": {"title": "C"}}
    assert link_rates(Facts.of({"interconnects": about}), {}) == {"a": 125}


def test_link_rates_of_published_interconnects_come_from_their_figures():
    peaks = pd.DataFrame({"interconnect": ["a", "p"], "link_peak_unidirectional_MBps": [1.0, 1000.0]})
    facts = Facts.of({"interconnects": {"a": {"link_mbps": 1000}}})
    assert link_rates(facts, {"network_peaks": peaks}) == {"a": 125, "p": 1000}


def test_the_matrix_of_pairs_is_symmetric():
    pairs = {(0, 1): 1e-6, (0, 2): 2e-6, (1, 2): 9e-6}
    rows = [row(8, seconds, 8, source=source, target=other) for (source, other), seconds in pairs.items()]
    table = curves_of(runs_of(("pair_matrix", "slow", "measured", 3)), [{"rows": rows}])
    square = pair_matrix(table, "latency_us").to_numpy(float)
    np.testing.assert_allclose(square, [[np.nan, 1, 2], [1, np.nan, 9], [2, 9, np.nan]])


def test_availability_by_hand():
    # The exchange takes 10 µs, work 20 µs, both 24 µs: the processor spends 4 of the 10 µs.
    parts = {"exchange": 10e-6, "work": 20e-6, "exchange_and_work": 24e-6}
    rows = [row(8, seconds, 16, part=part) for part, seconds in parts.items()]
    overlap = availability(curves_of(runs_of(("availability", "slow", "measured", 2)), [{"rows": rows}]))
    (line,) = overlap.to_dict("records")
    assert (line["exchange_us"], line["overhead_us"], line["availability"]) == pytest.approx((10, 4, 0.6))


def test_how_much_longer_an_exchange_takes_after_work():
    times = {64: 15e-6, 0: 8e-6, 8: 9e-6}
    rows = [row(0, seconds, 0, part=f"after_{us}_us") for us, seconds in times.items()]
    runs = runs_of(("after_work", "slow", "measured", 2), ("after_work", "fast", "measured", 2))
    fast = [{**line, "seconds_p50": line["seconds_p50"] / 4} for line in rows]
    after_work = make_network_tables(curves_of(runs, [{"rows": rows}, {"rows": fast}]), {})[
        "network_after_work"
    ]
    slow, fast = (after_work[after_work["interconnect"] == name] for name in ("slow", "fast"))
    assert list(slow["work_us"]) == [8, 64] == list(fast["work_us"])
    assert list(slow["longer_us"]) == pytest.approx([1, 7])
    assert list(fast["longer_us"]) == pytest.approx([0.25, 1.75])


def test_simultaneous_pairs_are_compared_with_a_single_pair():
    # One pair moves 100 MB/s, two together 120: each 60, six tenths of what one has alone.
    rows = [row(1000, 1e-5, 1000, pairs=1), row(1000, 2e-3 / 120, 2000, pairs=2)]
    table = curves_of(runs_of(("simultaneous_pairs", "slow", "measured", 4)), [{"rows": rows}])
    pairs = make_network_tables(table, {})["network_pairs"].set_index("pairs")
    assert list(pairs["bandwidth_MBps"]) == pytest.approx([100, 120])
    assert list(pairs["share_of_alone"]) == pytest.approx([1, 0.6])


def test_spreads_by_hand():
    (spread,) = curves.spreads(three_runs()).to_dict("records")
    assert spread["between_percent"] == pytest.approx(200)  # 10 - 2, of 4
    assert spread["within_percent"] == pytest.approx(100)  # the 95th percentile is twice the median
    assert curves.spreads(curves_of(TWO, [ping_pong(1, 1)] * 2)).empty  # each was run once


def test_benchmarks_have_no_place_among_the_estimates():
    tables = make_network_tables(curves_of(TWO, [ping_pong(1, 1)] * 2), {})
    peaks = pd.DataFrame({"case": ["pingpong", "cavity"], "peak_processes": [2, 4]})
    kept = without_benchmarks({**tables, "peaks": peaks})
    assert list(kept["peaks"]["case"]) == ["cavity"] and len(kept["network"]) == 8
    assert len(without_benchmarks({"peaks": peaks})["peaks"]) == 2
