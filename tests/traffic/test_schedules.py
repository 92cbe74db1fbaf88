"""Schedules: the requested loads, sizes, intervals and destinations, from a seed."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refusal
from scipy import stats

from workflows.domain import InputError
from workflows.study.congestion import mean_flows
from workflows.traffic.patterns import PATTERNS, Pattern, jobs_of
from workflows.traffic.schedule import MESSAGE, Demand, make_schedule, messages_of

LINK = 100e6
"""Bytes/s."""
KINDS = st.sampled_from(["uniform", "exponential"])


def demands(**settings):
    demand = Demand(**{"offered_load": 0.5, "mean_bytes": 10_000, **settings})
    return {"compute": demand, "io": demand}


def pattern_of(name):
    return Pattern(name, io_mapping="distributed" if name == "combined" else "clustered")


def schedule_of(name, processes=16, seconds=0.1, seed=1, **settings):
    return make_schedule(jobs_of(pattern_of(name), processes), demands(**settings), LINK, seconds, seed)


@settings(max_examples=40)
@given(st.sampled_from(PATTERNS), st.sampled_from([8, 16, 32]), KINDS, KINDS, st.integers(0, 2**40))
def test_every_message_is_one_the_pattern_has(name, processes, sizes, intervals, seed):
    jobs = jobs_of(pattern_of(name), processes)
    requested = demands(sizes=sizes, intervals=intervals, write_ratio=0.5)
    schedule = make_schedule(jobs, requested, LINK, 0.01, seed)
    assert schedule.dtype == MESSAGE
    assert (np.diff(schedule["seconds"]) >= 0).all()
    assert ((schedule["seconds"] > 0) & (schedule["seconds"] < 0.01)).all()
    assert (schedule["bytes"] >= 1).all()
    assert (schedule["process"] != schedule["destination"]).all()
    for message in schedule:
        job = jobs[message["job"]]
        (rank,) = np.flatnonzero(job.clients == message["process"])
        assert message["destination"] in (job.targets[rank : rank + 1] if job.fixed else job.targets)


@pytest.mark.parametrize("name", PATTERNS)
def test_the_same_seed_gives_the_same_schedule_and_another_another(name):
    first, again, other = (schedule_of(name, seed=seed) for seed in (7, 7, 8))
    assert (first == again).all()
    assert len(first) != len(other) or (first != other).any()


@pytest.mark.parametrize("intervals", ["uniform", "exponential"])
def test_a_longer_schedule_begins_with_the_shorter(intervals):
    short, long = (schedule_of("uniform", seconds=seconds, intervals=intervals) for seconds in (0.02, 0.5))
    assert (long[: len(short)] == short).all()
    assert long[len(short)]["seconds"] >= 0.02


def test_at_twice_the_load_the_same_messages_come_twice_as_fast():
    slow = schedule_of("uniform", offered_load=0.25, seconds=0.2)
    fast = schedule_of("uniform", offered_load=0.5, seconds=0.1)
    for field in ("process", "destination", "bytes", "write"):
        assert (slow[field] == fast[field]).all()
    assert slow["seconds"] == pytest.approx(2 * fast["seconds"])


def test_a_process_sends_the_same_whoever_else_there_is():
    few, many = schedule_of("hot_spot", 8), schedule_of("hot_spot", 64)
    assert (many[many["process"] < 8] == few).all()


@given(st.sampled_from(PATTERNS), st.integers(0, 15))
def test_a_process_can_make_its_own_messages_alone(name, process):
    jobs, requested = jobs_of(pattern_of(name), 16), demands(write_ratio=0.5)
    everything = make_schedule(jobs, requested, LINK, 0.02, 5)
    alone = messages_of(process, jobs, requested, LINK, 0.02, 5)
    assert (alone == everything[everything["process"] == process]).all()


def test_jobs_draw_independently():
    schedule = schedule_of("combined", 16)
    compute, io = (schedule[schedule["job"] == job]["bytes"] for job in (0, 1))
    assert not set(compute[:5]) <= set(io[:5])


@pytest.mark.parametrize("intervals", ["uniform", "exponential"])
def test_intervals_have_the_distribution_asked_for(intervals):
    schedule = schedule_of("neighbor", 2, seconds=2.0, intervals=intervals)
    mean = 10_000 / (0.5 * LINK)
    times = schedule[schedule["process"] == 0]["seconds"]
    expected = stats.uniform(0, 2 * mean) if intervals == "uniform" else stats.expon(scale=mean)
    assert len(times) > 9000
    assert stats.kstest(np.diff(times), expected.cdf).pvalue > 1e-3


@pytest.mark.parametrize("intervals", ["uniform", "exponential"])
def test_even_a_short_schedule_offers_the_load_on_average(intervals):
    # 2.5 messages a process; without a first interval of its own, a uniform one would offer a seventh less
    schedule = schedule_of("hot_spot", 4001, seconds=0.0005, intervals=intervals)
    counts = np.bincount(schedule["process"], minlength=4001)[1:]
    error = counts.std() / np.sqrt(len(counts))
    assert abs(counts.mean() - 2.5) < 4 * error < 0.15


@pytest.mark.parametrize(
    ("sizes", "deviation"), [("uniform", (19_999**2 - 1) / 12), ("exponential", 10_000 * 9_999)]
)
def test_sizes_have_the_mean_and_the_spread_asked_for(sizes, deviation):
    byte_counts = schedule_of("neighbor", 2, seconds=4.0, sizes=sizes)["bytes"]
    error = np.sqrt(deviation / len(byte_counts))
    assert abs(byte_counts.mean() - 10_000) < 4 * error
    assert byte_counts.var() == pytest.approx(deviation, rel=0.1)
    assert sizes == "exponential" or (byte_counts.min() >= 1 and byte_counts.max() <= 19_999)


def test_uniform_destinations_are_equally_likely():
    schedule = schedule_of("uniform", 8, seconds=1.0)
    for process in range(8):
        sent = schedule["destination"][schedule["process"] == process]
        counts = np.bincount(sent, minlength=8)
        assert counts[process] == 0
        assert stats.chisquare(np.delete(counts, process)).pvalue > 1e-4


@pytest.mark.parametrize("ratio", [0, 0.3, 1])
def test_the_share_of_writes(ratio):
    writes = schedule_of("multiple_hot_spots", 32, seconds=1.0, write_ratio=ratio)["write"]
    error = np.sqrt(ratio * (1 - ratio) / len(writes))
    assert abs(writes.mean() - ratio) <= 4 * error


def test_mean_flows_by_hand():
    # three processes: each sends half of its load to each other one
    flows = mean_flows(jobs_of(Pattern("uniform"), 3), demands(offered_load=0.8))
    ends = {"source": [0, 0, 1, 1, 2, 2], "destination": [1, 2, 0, 2, 0, 1]}
    assert flows.to_dict("list") == ends | {"load": [0.4] * 6}
    # reads come back: a fourth of the traffic is written to process 0
    flows = mean_flows(jobs_of(Pattern("hot_spot"), 2), demands(offered_load=0.8, write_ratio=0.25))
    assert flows.to_numpy().tolist() == [[1, 0, 0.2], [0, 1, pytest.approx(0.6)]]


@given(st.sampled_from(PATTERNS), st.sampled_from([8, 16, 32, 64]), st.floats(0.01, 2), st.floats(0, 1))
def test_mean_flows_sum_to_the_offered_load(name, processes, load, ratio):
    jobs = jobs_of(pattern_of(name), processes)
    flows = mean_flows(jobs, demands(offered_load=load, write_ratio=ratio))
    assert flows["load"].sum() == pytest.approx(load * sum(len(job.clients) for job in jobs))
    assert (flows["source"] != flows["destination"]).all()


@pytest.mark.parametrize("name", PATTERNS)
def test_a_schedule_carries_the_mean_flows(name):
    jobs, requested = jobs_of(pattern_of(name), 8), demands(write_ratio=0.5, sizes="uniform")
    mean = mean_flows(jobs, requested).groupby(["source", "destination"])["load"].sum()
    schedule = make_schedule(jobs, requested, LINK, 20.0, 3)
    ends, back = (schedule["process"], schedule["destination"]), ~schedule["write"]
    pairs = {"source": np.where(back, ends[1], ends[0]), "destination": np.where(back, ends[0], ends[1])}
    sent = pd.DataFrame(pairs).astype(np.int64).assign(load=schedule["bytes"] / (20.0 * LINK))
    loads = sent.groupby(["source", "destination"])["load"].sum()
    assert set(loads.index) == set(mean.index)
    pd.testing.assert_series_equal(loads.sort_index(), mean.sort_index(), rtol=0.1)


def test_the_io_job_of_combined_has_a_load_of_its_own():
    jobs = jobs_of(Pattern("combined", io_mapping="clustered_io", application_mapping="dedicated"), 64)
    requested = {"compute": Demand(0.4, 262_144), "io": Demand(0.1, 1_000_000)}
    flows = mean_flows(jobs, requested)
    assert flows[flows["destination"] >= 56]["load"].sum() == pytest.approx(0.1 * 28)
    assert flows[flows["destination"] < 28]["load"].sum() == pytest.approx(0.4 * 28)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Demand(0, 1), "offered_load: 0: must be above 0"),
        (lambda: Demand(float("nan"), 1), "offered_load: nan: must be above 0"),
        (lambda: Demand(1, 0), "mean_bytes: 0: must be 1 or more"),
        (lambda: Demand(1, 1, write_ratio=1.1), "write_ratio: 1.1: must be from 0 (all reads) to 1 (all writes)"),
        (lambda: Demand(1, 1, sizes="normal"), "sizes: normal: must be one of uniform, exponential"),
        (lambda: schedule_of("uniform", seconds=0), "seconds: 0: must be above 0"),
        (lambda: schedule_of("uniform", seed=-1), "seed: -1: must be 0 or more"),
        (lambda: schedule_of("uniform", mean_bytes=1, seconds=9), "more than 10000000: give fewer seconds"),
        (lambda: make_schedule(jobs_of(Pattern("uniform"), 4), {"io": Demand(1, 1)}, LINK, 1, 1),
         "demands: nothing for the job 'compute' (given: io)"),
    ],
)  # fmt: skip
def test_a_bad_demand_is_reported_in_one_line(make, message):
    assert message in refusal(InputError, make)
