"""Turnaround and throughput by hand: 24 processes one after another, or three at a time on 8."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_tables import finished, make_tables
from report_parts import part, plain, sentences_of
from small_runs import curves, rows, runs_table

from analysis.report import make_report
from analysis.runs.facts import Facts
from analysis.runs.settings import Settings
from analysis.topics.turnaround.advice import fastest_waves
from analysis.topics.turnaround.packing import Queue, packing_columns, ways_of
from analysis.topics.turnaround.topic import turnaround_pieces

SETTINGS = Settings(draws=300)


@pytest.fixture
def queue_runs():
    """110 s serial; speedups 7, 9.8 and 11 on 8, 16 and 24 processes."""
    return runs_table(
        rows("fl5m2", None, {1: 110.0}, nodes=None),
        rows("fl5m2", "gigabit", {8: 110 / 7, 16: 110 / 9.8, 24: 10.0}, nodes=None),
    )


def made(runs, queue, chosen=SETTINGS):
    pieces = turnaround_pieces(curves(runs, chosen), queue, chosen)
    return {name: finished(name, parts) for name, parts in pieces.items()}


def tables(runs, queue, chosen=SETTINGS):
    turnaround = made(runs, queue, chosen)
    return turnaround["packing"].set_index("processes"), turnaround["advice"].set_index("goal")


def test_three_jobs_back_to_back_or_at_once(queue_runs):
    packing, _ = tables(queue_runs, Queue(jobs=3, cores=24))
    assert packing["jobs_at_once"].to_dict() == {1: 24, 8: 3, 16: 1, 24: 1}
    assert packing.loc[24, "makespan_seconds"] == 30
    assert packing.loc[8, "makespan_seconds"] == pytest.approx(110 / 7)  # the parallel jobs complete faster
    assert packing.loc[24, "jobs_per_day"] == 8640
    assert packing.loc[8, "jobs_per_day"] == pytest.approx(3 * 86_400 * 7 / 110)
    assert packing.loc[8, "used_cores"] == 24
    assert packing.loc[16, "used_cores"] == 16


def test_the_interval_of_the_time_equals_the_scaling_table(queue_runs):
    packing, _ = tables(queue_runs, Queue(jobs=3, cores=24))
    scaling = make_tables(queue_runs, SETTINGS)["scaling"].set_index("processes")
    for name in ("seconds", "seconds_low", "seconds_high", "efficiency"):
        assert packing[name].to_dict() == scaling[name].to_dict()


def test_the_front_and_the_marks(queue_runs):
    packing, _ = tables(queue_runs, Queue(jobs=3, cores=24, efficiency=0.75))
    assert packing["pareto"].to_dict() == {1: True, 8: True, 16: False, 24: True}  # 16 leaves 8 cores idle
    assert packing["pareto_share"].to_dict()[8] == 1
    assert packing["least_time"].to_dict() == {1: False, 8: False, 16: False, 24: True}
    assert packing["most_jobs"].to_dict() == {1: True, 8: False, 16: False, 24: False}
    assert packing["least_time_efficient"].to_dict() == {1: False, 8: True, 16: False, 24: False}
    low, rate, high = packing.loc[8, ["jobs_per_day_low", "jobs_per_day", "jobs_per_day_high"]]
    assert low < rate < high


def test_the_advice(queue_runs):
    _, advice = tables(queue_runs, Queue(jobs=4, cores=24))
    assert plain(advice.loc["one user", "advice"]) == "1 job at a time on 24 processes"
    assert advice.loc["queue", "processes"] == 1
    assert advice.loc["shared machine", "processes"] == 8
    # four jobs: three at once on 8 (15.7 s), then the last on 24 (10 s); 40 s one after another
    last = advice.iloc[-1]
    assert last["makespan_seconds"] == pytest.approx(110 / 7 + 10)
    assert plain(last["advice"]) == "3 jobs at once on 8 processes each, then 1 job on 24 processes"
    assert last["makespan_seconds_low"] < last["makespan_seconds"] < last["makespan_seconds_high"]
    assert plain(advice.index[-1]) == "4 jobs"


@pytest.mark.parametrize(
    ("jobs", "words"),
    [(2, "2 jobs at once on 8 processes each"), (6, "6 jobs, 3 at a time, on 8 processes each")],
)
def test_never_more_jobs_at_a_time_than_there_are(queue_runs, jobs, words):
    advice = made(queue_runs, Queue(jobs=jobs, cores=24), SETTINGS)["advice"]
    assert plain(advice["advice"].iloc[-1]) == words


def test_a_single_way_is_no_choice():
    only = runs_table(rows("fl5m2", "gigabit", {64: 10.0}, nodes=None))
    turnaround = made(only, Queue())
    assert turnaround["packing"]["processes"].tolist() == [64] and turnaround["advice"].empty


@pytest.fixture
def placed_runs():
    """16 processes two a node, and one a node, which is a little faster."""
    return runs_table(
        rows("duct", None, {1: 100.0}, nodes=1),
        rows("duct", "gigabit", {16: 10.0}, nodes=8),
        rows("duct", "gigabit", {16: 9.0}, nodes=16),
    )


def test_a_job_alone_on_its_nodes_occupies_them(placed_runs):
    """Two jobs on 8 nodes each end after 10 s; on 16 nodes each, one after the other, after 18 s."""
    turnaround = made(placed_runs, Queue(jobs=2, efficiency=0.5))
    packing = turnaround["packing"].set_index("nodes")
    assert packing["available_cores"].eq(32).all()  # 16 nodes of 2
    assert packing["occupied_cores"].to_dict() == {1: 1, 8: 16, 16: 32}
    assert packing["jobs_at_once"].to_dict() == {1: 32, 8: 2, 16: 1}
    advice = turnaround["advice"].set_index("goal")
    assert advice["processes_per_node"].to_dict()["one user"] == 1
    assert plain(advice.loc["one user", "advice"]) == "1 job at a time on 16 processes (1 per node)"
    assert plain(advice["advice"].iloc[-1]) == "2 jobs at once on 16 processes (2 per node) each"
    assert advice["makespan_seconds"].iloc[-1] == 10


def test_a_spread_job_does_not_fit_a_machine_of_as_many_cores_as_it_has_processes(placed_runs):
    packing = made(placed_runs, Queue(cores=16))["packing"]
    assert packing["nodes"].tolist() == [1, 8]


@pytest.mark.parametrize(("declared", "cores"), [((), 2), ((("measured", "simulated"),), 32)])
def test_the_machine_size_is_the_largest_run_of_compared_kinds(declared, cores):
    """Traces have 32 processes; nobody can run 32 jobs at once on the two cores that measured."""
    runs = runs_table(
        rows("duct", None, {1: 4.0}, nodes=None),
        rows("duct", "loopback", {2: 2.5}, nodes=None),
        rows("duct", "gigabit", {2: 11.0, 32: 2.0}, kind="simulated", nodes=None),
    )
    turnaround = made(runs, Queue(), Settings(draws=100, compare_kinds=declared))
    of_kind = turnaround["packing"].groupby("kind")["available_cores"].unique()
    assert {kind: list(cores) for kind, cores in of_kind.items()} == {"measured": [cores], "simulated": [32]}


def test_counts_of_other_placements_are_named():
    noisy = (0.5, 0.8, 1.0, 1.0, 1.2, 1.5)
    runs = runs_table(
        rows("duct", None, {1: 16.0}, nodes=1),
        rows("duct", "gigabit", {4: 6.0}, noisy, nodes=2),
        rows("duct", "gigabit", {4: 5.9}, noisy[::-1], nodes=4),
    )
    _, advice = tables(runs, Queue(jobs=2))
    assert advice.loc["one user", "as_good"] == "4 (2 per node)"


def test_indistinguishable_counts_are_named():
    noisy, other = (0.5, 0.8, 1.0, 1.0, 1.2, 1.5), (1.2, 0.5, 1.0, 1.5, 0.8, 1.0)
    gigabit = [*rows("duct", "gigabit", {4: 6.0}, noisy), *rows("duct", "gigabit", {8: 5.9}, other)]
    runs = runs_table(rows("duct", None, {1: 16.0}), gigabit)
    packing, advice = tables(runs, Queue(jobs=2))
    assert packing.loc[8, "least_time"]
    assert packing["may_be_least_time"].to_dict() == {1: False, 4: True, 8: True}
    assert advice.loc["one user", "as_good"] == "4"


def test_no_count_is_efficient_enough():
    runs = runs_table(rows("duct", "gigabit", {2: 10.0}), rows("duct", "slow", {2: 30.0, 4: 28.0}))
    chosen = Settings(draws=100, reference_interconnect="gigabit")
    advice = made(runs, Queue(efficiency=0.9), chosen)["advice"]
    slow = advice[(advice["interconnect"] == "slow") & (advice["goal"] == "queue")].iloc[0]
    assert slow["advice"] == "no count reaches an efficiency of 0.9"


def test_one_sample_has_no_interval():
    runs = runs_table(rows("duct", None, {1: 16.0}, (1,)), rows("duct", "gigabit", {4: 6.0}, (1,)))
    packing, _ = tables(runs, Queue())
    assert packing[["jobs_per_day_low", "pareto_share", "may_be_least_time"]].isna().all(axis=None)
    assert packing.loc[4, "least_time"]


def test_oversubscription_levels_are_ways_of_the_same_cores():
    runs = runs_table(
        rows("duct", None, {1: 12.0}),
        rows("duct", "gigabit", {2: 7.0}),
        rows("duct", "gigabit", {4: 6.0}, oversubscription=2),
    )
    packing = made(runs, Queue(jobs=1), SETTINGS)["packing"]
    assert packing["processes"].tolist() == [1, 2, 4]  # the serial run once, although both levels have it
    assert packing["cores"].tolist() == [1, 2, 2]
    assert packing["least_time"].tolist() == [False, False, True]


def test_a_case_by_nodes_is_left_out_and_a_line_says_so():
    """Cores cannot say how many jobs fit: one system has 4 processes per node, the other 2."""
    runs = runs_table(
        {**line, "nodes": line["processes"], "processes": per_node * line["processes"]}
        for name, per_node in (("a", 4), ("b", 2))
        for line in rows("duct", name, {1: 16.0, 2: 8.0, 4: 4.5})
    )
    chosen = Settings(draws=200, compare_by="nodes")
    turnaround = turnaround_pieces(curves(runs, chosen), Queue(), chosen)
    assert turnaround == {"packing": [], "advice": []}
    report = make_report(runs, make_tables(runs, chosen), Facts.of({}), [])
    assert sentences_of(part(report, "turnaround")) == (
        "This section has no results for duct, because Nodeworth compares this case at equal numbers of nodes "
        "instead of cores."
    )


def test_weak_scaling_is_left_out(queue_runs):
    weak = Settings(draws=100, scaling="weak")
    assert made(queue_runs, Queue(), weak)["packing"].empty


@pytest.mark.parametrize("wrong", [{"jobs": 0}, {"cores": 0}, {"efficiency": 0}, {"efficiency": 1.1}])
def test_an_impossible_queue(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Queue(**wrong)


@settings(max_examples=30)
@given(
    times=st.dictionaries(st.integers(1, 64), st.integers(1, 100), min_size=1, max_size=6),
    cores=st.integers(1, 100),
    jobs=st.integers(1, 20),
)
def test_never_more_cores_than_there_are(times, cores, jobs):
    runs = runs_table(rows("duct", "gigabit", times, (1, 1)))
    queue, chosen = Queue(jobs=jobs, cores=cores), Settings(draws=100)
    all_ways = list(ways_of(curves(runs, chosen), queue, chosen))
    assert len(all_ways) == (min(times) <= cores)
    for of_case in all_ways:
        packing = packing_columns(of_case, queue, chosen)
        assert (packing["used_cores"] <= cores).all()
        assert (packing["used_cores"] + packing["cores"] > cores).all()  # no room for one more
        assert set(packing["processes"].tolist()) == {count for count in times if count <= cores}


WAYS = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 6)), min_size=1, max_size=4)


@given(WAYS, st.integers(1, 12))
def test_waves_run_all_jobs_and_no_single_way_is_faster(ways, jobs):
    seconds, at_once = np.array(ways).T
    waves = fastest_waves(seconds, at_once, jobs)
    assert (waves * at_once).sum() >= jobs
    assert (waves * seconds).sum() <= (-(-jobs // at_once) * seconds).min()


@given(WAYS, st.integers(1, 6))
def test_waves_are_the_best_of_all_combinations(ways, jobs):
    seconds, at_once = np.array(ways).T
    combinations = (np.array(waves) for waves in product(range(jobs + 1), repeat=len(ways)))
    best = min((waves * seconds).sum() for waves in combinations if (waves * at_once).sum() >= jobs)
    assert (fastest_waves(seconds, at_once, jobs) * seconds).sum() == best
