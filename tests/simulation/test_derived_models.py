"""From the output of benchmarks to a model: changes of protocol, overhead, bandwidth and assumptions."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as strategies
from refused import refusal
from simulated_link import SIMULATE, simulated_link

from analysis.importers.results import CURVES, write_table
from workflows.domain import InputError
from workflows.paths import INTERCONNECTS, ROOT
from workflows.simulation.curve import read_curve
from workflows.simulation.derive import at_rate, derive
from workflows.simulation.model import ENDS, make_model
from workflows.simulation.protocols import Change, changes_of_protocol, eager_limit
from workflows.study.interconnects import load_interconnect

JUMPS = {
    "efa_hpc6a": {65536: True, 131072: False},
    "ethernet_100_tcp": {32768: True},
    "ethernet_cloud_tcp": {32768: True},
    "infiniband": {32: True, 1024: True},
    "infiniband_100": {128: True, 131072: False},
    "infiniband_200": {128: True, 2048: True},
    "infiniband_4x_pcix": {1024: True},
    "quadrics_elan4": {32: True, 256: False},
    "slingshot_11": {64: True, 4096: True},
}
"""Of published curves, by eye: the largest size before a jump, and whether a message takes longer after it."""

EAGER = {"infiniband_100": None, "ethernet_100_tcp": 32768, "ethernet_cloud_tcp": 32768}
"""Where the eager limit in the model's file is not what the curve shows: known from the MPI library, or assumed."""

SIZES = [0, *(2**power for power in range(23))]


@pytest.mark.parametrize("name", JUMPS)
def test_changes_of_protocol_of_published_curves_are_found(name):
    simulate = load_interconnect(name, INTERCONNECTS).simulate
    curve = read_curve(simulate, ROOT, name)
    changes = changes_of_protocol(curve.bytes, curve.microseconds)
    assert {change.bytes: change.rise for change in changes} == JUMPS[name]
    assert eager_limit(changes) == EAGER.get(name, simulate["eager_limit_bytes"])


def jumping(size: int) -> float:
    return 2 + size / 1000 + (5 if size > 4096 else 0)


def test_a_change_of_protocol_lies_between_close_sizes():
    sizes = sorted({0, *(2**power + more for power in range(3, 20) for more in (-3, 0, 3))})
    assert changes_of_protocol(sizes, [jumping(size) for size in sizes]) == [Change(4096, rise=True)]


def test_one_slow_message_is_no_eager_limit():
    times = [jumping(size) * (1.5 if size == 65536 else 1) for size in SIZES]
    changes = changes_of_protocol(SIZES, times)
    assert [change for change in changes if change.rise] == [Change(4096, rise=True)]
    assert eager_limit(changes) == 4096


def benchmarks(pingpong, stream=None, both_ways=None, sizes=SIZES):
    """What OSU would print: microseconds of a message, of an interval of a stream, MB/s both ways."""
    rows = [{"benchmark": "osu_latency", "bytes": size, "latency_us": pingpong(size)} for size in sizes]
    for benchmark, rate in (
        ("osu_bandwidth", stream and (lambda size: size / stream(size))),
        ("osu_bi_directional_bandwidth", both_ways),
    ):
        if rate:
            rows += [
                {"benchmark": benchmark, "bytes": size, "bandwidth_MBps": rate(size)}
                for size in sizes
                if size
            ]
    frame = pd.DataFrame(rows).reindex(columns=list(CURVES.columns))
    return CURVES.validate(frame.assign(interconnect="mine", kind="published"))


def test_overhead_and_bandwidth_of_a_link_that_is_known():
    """0.3 µs at each end, 1 µs between them, 10 GB/s one way and 15 both: what LogGP calls o, L and 1/G."""
    made = derive(
        benchmarks(
            lambda size: 1.6 + size / 10_000,
            lambda size: max(0.3, size / 10_000),
            lambda size: min(2 * size / 0.3, 15_000),
        ),
        benchmarks(lambda size: 0.2 + size / 8000),
        cores=16,
        eager=8192,
    )
    overhead = made.simulate["host_overhead"]
    assert overhead["send_us"] == overhead["receive_us"] == pytest.approx(0.3, rel=0.002)
    assert overhead["send_ns_per_byte"] == pytest.approx(0, abs=1e-6)
    assert made.simulate["both_ways_MBps"] == 15_000
    assert made.simulate["node"] == {
        "cores": 16,
        "memory_latency_us": 0.2,
        "memory_MBps": pytest.approx(8000),
    }
    assert made.simulate["eager_limit_bytes"] == 8192 and "switches_bytes" not in made.simulate
    assert "peak_MBps" not in made.simulate["curve"] and not any(
        "assumed to" in sentence for sentence in made.notes
    )


def test_missing_inputs_are_listed_as_assumptions():
    made = derive(benchmarks(lambda size: 1.6 + size / 10_000), None, None, None)
    assert made.simulate["eager_limit_bytes"] == 8192 and "host_overhead" not in made.simulate
    assert made.simulate["assumed"] == ["host_overhead", "both_ways"]
    assert made.notes == [
        "The eager limit is assumed to be 8192 bytes.",
        "A message is assumed to keep processors busy only for copying.",
        "The two directions of the link are assumed not to slow each other.",
        "The band of simulated times covers the extremes of the assumed host_overhead and both_ways.",
        "The parameters of the link hold for one pair of processes on two nodes: osu_latency.",
        "Latency and bandwidth inside a node are assumed.",
        "A node is assumed to have 1 core.",
    ]


def test_many_messages_that_are_faster_than_one_are_the_links_bandwidth():
    made = derive(
        benchmarks(lambda size: 2 + size / 4000, lambda size: max(0.5, size / 10_000)), None, 1, 1024
    )
    assert made.simulate["curve"]["peak_MBps"] == 10_000


SEVERAL_PAIRS = {
    "imb_uniband": "bandwidth_MBps",
    "imb_biband": "bandwidth_MBps",
    "imb_sendrecv": "latency_us",
    "imb_multi_pingpong": "latency_us",
    "osu_multiple_bandwidth_message_rate": "bandwidth_MBps",
    "osu_multi_latency": "latency_us",
}


@pytest.mark.parametrize("processes", [4, 8, 64])
@pytest.mark.parametrize("benchmark", SEVERAL_PAIRS)
def test_several_pairs_of_processes_give_a_link_no_parameter(benchmark, processes):
    one_pair = benchmarks(lambda size: 2 + size / 4000)
    rows = one_pair.assign(benchmark=benchmark, latency_us=np.nan, processes=processes)
    rows[SEVERAL_PAIRS[benchmark]] = 5 + rows["bytes"] / 9000
    alone, with_pairs = (derive(curves, None, 1, 1024) for curves in (one_pair, pd.concat([one_pair, rows])))
    assert with_pairs.simulate == alone.simulate
    assert (
        with_pairs.notes[-1].startswith(("Not used: ", "Not used for the link: "))
        and benchmark in with_pairs.notes[-1]
    )
    only = one_pair.assign(processes=processes, benchmark="imb_pingpong")
    message = refusal(InputError, derive, only, None, 1, 1024)
    assert message.startswith(
        "no ping-pong (osu_latency, imb_pingpong, netpipe, pingpong) between two processes is"
    )
    message = refusal(InputError, derive, one_pair, only, 1, 1024)
    assert message.startswith(
        "--inside: no ping-pong (osu_latency, imb_pingpong, netpipe, pingpong) between two"
    )


def test_our_benchmarks_keep_to_two_processes_of_any_count():
    one_pair = benchmarks(lambda size: 2 + size / 4000).assign(benchmark="pingpong", processes=4)
    imported = one_pair.assign(benchmark="sendrecv", imported_from="imb.txt")
    made = derive(pd.concat([one_pair, imported]), None, 1, 1024)
    assert made.simulate["curve"] == {"benchmark": "pingpong"}


def test_pairs_show_the_messages_of_a_node_and_one_pair_the_bandwidth_of_a_link(tmp_path):
    curves = benchmarks(lambda size: 2 + size / 4000, lambda size: max(0.5, size / 10_000))
    pairs = curves[curves["benchmark"] == "osu_bandwidth"].assign(
        benchmark="osu_multiple_bandwidth_message_rate",
        bandwidth_MBps=lambda of: 2.5 * of["bandwidth_MBps"],
        messages_per_second=lambda of: of["bandwidth_MBps"] / of["bytes"] * 1e6,
    )
    made = derive(pd.concat([curves, pairs]), None, 1, 1024)
    assert made.simulate["curve"]["peak_MBps"] == 10_000
    assert made.notes[-1] == (
        "Not used for the link: osu_multiple_bandwidth_message_rate of an unknown number of processes, because "
        "several pairs of processes ran."
    )
    of_one = derive(pd.concat([curves, pairs.assign(processes=2)]), None, 1, 1024)
    assert of_one.simulate["curve"]["peak_MBps"] == 25_000
    sentence = (
        "A node sends at most 5.00 million messages per second (osu_multiple_bandwidth_message_rate, if its "
        "pairs ran on two nodes)"
    )
    assert (
        made.simulate["messages_per_second"] == 5e6 and f"{sentence}, assumed to be its limit." in made.notes
    )
    # Each alone sends one in 0.5 µs: eight that slow each other, and two that do not.
    of_eight = derive(pd.concat([curves, pairs.assign(processes=16)]), None, 1, 1024)
    assert of_eight.simulate["messages_per_second"] == 5e6 and f"{sentence}." in of_eight.notes
    assert model_of(of_eight, tmp_path).gap_us == pytest.approx(0.2)
    of_two = derive(pd.concat([curves, pairs.assign(processes=4)]), None, 1, 1024)
    assert "messages_per_second" not in of_two.simulate
    assert f"{sentence}; its 2 pairs did not slow each other, so the limit is unknown." in of_two.notes


@pytest.mark.parametrize(("both", "model"), [(9_999, 10_000), (12_000, 12_000), (19_500, None)])
def test_bandwidth_shared_by_both_directions(tmp_path, both, model):
    made = derive(benchmarks(lambda size: 1.6 + size / 9_999.9999, None, lambda size: both), None, 1, 1024)
    both_ways = model_of(made, tmp_path).both_ways_bytes_per_us
    assert both_ways == (model and pytest.approx(model, rel=1e-6))


def test_an_eager_limit_beyond_the_curve_is_refused():
    message = refusal(InputError, derive, benchmarks(lambda size: 1 + size / 1000), None, 1, 1 << 22)
    assert message == "--eager: 4194304: must be below the largest message of osu_latency, 4194304 bytes"


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [([128, 256, 512], "the smallest message has 128 bytes"), ([], "no message has a size")],
)
def test_a_ping_pong_without_small_messages_is_refused(sizes, reason):
    curves = benchmarks(lambda size: 1 + size / 1000, sizes=sizes or [8])
    if not sizes:
        curves["bytes"] = pd.NA
    message = refusal(InputError, derive, curves, None, 1, None)
    assert message == f"osu_latency: {reason}; the latency needs a message of at most 64 bytes"


def model_of(made, folder, end="corrected"):
    write_table(CURVES.validate(made.curve[list(CURVES.columns)]), folder / "mine.csv")
    curve = {**made.simulate["curve"], "file": "mine.csv", "interconnect": "mine"}
    link_keys = {name: SIMULATE[name] for name in ("half_duplex", "hop_us")}
    link = replace(simulated_link(), simulate=link_keys | made.simulate | {"curve": curve})
    return make_model(link, folder, end)


@settings(max_examples=30)
@given(
    latency=strategies.floats(0.5, 50),
    interval=strategies.floats(0.01, 60),
    copied=strategies.floats(0, 0.01),
    limit=strategies.sampled_from([0, 64, 100, 8192, 65536]),
)
def test_processors_are_never_busy_for_longer_than_a_message_takes(
    tmp_path_factory, latency, interval, copied, limit
):
    def message(size):
        return latency + size / 1000 + copied * min(size, limit)

    made = derive(benchmarks(message, lambda size: interval + size / 1000), None, 1, limit)
    model = model_of(made, tmp_path_factory.mktemp("model"))
    assert all(np.array([knot.wait_us for knot in model.between]) >= 0)


def test_without_a_ping_pong_there_is_no_model():
    stream = benchmarks(lambda size: 1.0, lambda size: 1.0).query("benchmark == 'osu_bandwidth'")
    message = refusal(InputError, derive, stream, None, None, None)
    assert message == (
        "no ping-pong (osu_latency, imb_pingpong, netpipe, pingpong) between two processes is among the curves: "
        "osu_bandwidth"
    )


def working(busy, exchange=lambda size: 4 + size / 2000):
    """Rows of our benchmark of availability for exchanges that keep a processor busy for the given time."""
    rows = [
        {"bytes": size, "part": part, "latency_us": time}
        for size in SIZES
        for part, time in (
            ("exchange", exchange(size)),
            ("work", 3 * exchange(size)),
            ("exchange_and_work", 3 * exchange(size) + busy(size)),
        )
    ]
    named = {"benchmark": "availability", "interconnect": "mine", "kind": "measured", "processes": 2}
    return pd.DataFrame(rows).assign(
        **named, **dict.fromkeys(("site", "case", "imported_from", "nodes"), None)
    )


def with_work(busy, stream=None):
    curves = benchmarks(lambda size: 3 + size / 1000 + size / 4000 * (size <= 8192), stream)
    extra = working(busy).assign(oversubscription=1)
    return derive(pd.concat([curves, extra], ignore_index=True), None, 1, 8192)


def test_work_during_an_exchange_gives_the_cost_of_each_message():
    made = with_work(lambda size: 1.2 + 2 * size / 10_000, stream=lambda size: max(0.1, size / 1000))
    overhead = made.simulate["host_overhead"]  # of a message half, and not the stream's 0.1 µs
    assert overhead["send_us"] == overhead["receive_us"] == pytest.approx(0.6, rel=0.01)
    assert overhead["send_ns_per_byte"] == pytest.approx(0.1, rel=0.05)
    assert any(
        "half of the time by which an exchange delays concurrent computing" in sentence
        for sentence in made.notes
    )
    assert made.simulate["assumed"] == ["both_ways"] and not any(
        "Not used" in sentence for sentence in made.notes
    )


@pytest.mark.parametrize(("completed", "longer"), [(7.0, 0.5), (0.1, None)])
def test_extra_time_of_messages_for_one_sided_calls(completed, longer):
    """Completing them takes two of 3 µs at least, or nothing where no message carries them."""
    curves = benchmarks(lambda size: 3 + size / 1000)
    flush = curves.head(1).assign(benchmark="flush", bytes=None, latency_us=completed)
    made = derive(pd.concat([curves, flush], ignore_index=True), None, 1, 8192)
    assert made.simulate.get("one_sided_us") == longer
    assert made.simulate.get("flush_us") == (None if longer else completed)
    assert not any("Not used" in sentence for sentence in made.notes)


@pytest.mark.parametrize(("takes", "expected"), [(56.0, 50), (4.0, None)])
def test_time_of_a_window_in_addition_to_two_barriers(takes, expected):
    curves = benchmarks(lambda size: 3 + size / 1000)
    window = curves.head(1).assign(benchmark="window", bytes=None, latency_us=takes)
    made = derive(pd.concat([curves, window], ignore_index=True), None, 1, 8192)
    assert made.simulate.get("window_us") == expected
    assert not any("Not used" in sentence for sentence in made.notes)


def test_how_much_longer_an_exchange_takes_after_work(tmp_path):
    """Where it seems to take less than at once, or after shorter work, that is noise."""
    curves = benchmarks(lambda size: 3 + size / 1000)
    times = {0: 8.0, 8: 7.9, 16: 9.0, 32: 8.8}
    named = dict.fromkeys(("site", "case", "imported_from", "nodes"), None) | {"oversubscription": 1}
    late = [
        curves.head(1).assign(benchmark="after_work", part=f"after_{us}_us", latency_us=time, **named)
        for us, time in times.items()
    ]
    made = derive(pd.concat([curves, *late], ignore_index=True), None, 1, 8192)
    assert made.simulate["after_work_us"] == [[8, 0], [16, 1], [32, 1]]
    assert "After 32.0 µs of computing, an exchange takes 1.00 µs longer than without." in made.notes
    assert not any("Not used" in sentence for sentence in made.notes)
    runs = pd.concat(late).assign(latency_us_low=lambda of: of["latency_us"] - 0.5, latency_us_high=20.0)
    made = derive(pd.concat([curves, runs], ignore_index=True), None, 1, 8192)
    assert made.simulate["after_work_us"] == [[8, 0, 0, 12], [16, 1, 0.5, 12], [32, 1, 0.5, 12]]
    ends = {end: model_of(made, tmp_path, end).after_work_us for end in ("low", "corrected", "high")}
    assert [times[1] for times in ends.values()] == [(16, 0.5), (16, 1), (16, 12)]


def test_an_adapter_that_does_all_of_it_leaves_the_processor_free():
    made = with_work(lambda size: -0.1)  # noise below nothing
    assert set(made.simulate["host_overhead"].values()) == {0}


def test_a_processor_that_does_all_of_it_is_busy_for_longer_than_a_ping_pong_shows(tmp_path):
    """Of an exchange of 4 µs each message takes 2, though one alone is there after 3: for 1 its sender is busy yet."""
    made = with_work(lambda size: 4 + size / 2000)
    assert made.simulate["host_overhead"]["send_us"] == pytest.approx(2, rel=0.01)
    assert model_of(made, tmp_path).between[0].after_us == pytest.approx(1, rel=0.01)


def shaped(size):
    """A bucket lets 16 KiB pass at 1000 MB/s, the link carries 100."""
    return 8 + (size / 1000 if size <= 16384 else size / 100)


def test_single_messages_faster_than_bursts_wait_in_bursts(tmp_path):
    curves = benchmarks(shaped, both_ways=lambda size: 198)
    busy = working(lambda size: 10.0, exchange=lambda size: max(11, size / 100)).assign(oversubscription=1)
    made = derive(pd.concat([curves, busy], ignore_index=True), None, 1, 65536)
    assert made.simulate["sustained_MBps"] == pytest.approx(100)
    assert made.simulate["host_overhead"]["send_us"] == pytest.approx(5, rel=0.01)
    assert "assumed" not in made.simulate and "half_duplex" not in made.simulate
    model = model_of(made, tmp_path)
    assert model.gap_us_per_byte == pytest.approx(0.01) and model.both_ways_bytes_per_us is None
    assert all(knot.receive_us <= shaped(knot.bytes) for knot in model.between)
    shared = derive(benchmarks(shaped, both_ways=lambda size: 150), None, 1, 65536)
    assert model_of(shared, tmp_path).both_ways_bytes_per_us is None
    assert any("The 150 MB/s of both directions are not used" in sentence for sentence in shared.notes)
    assert not any(
        "sustained_MBps" in derive(benchmarks(of), None, 1, 65536).simulate
        for of in (lambda size: 8 + size / 1000, lambda size: 8 + size / 1000 * (0.9 if size <= 16384 else 1))
    )


def test_a_slower_link_takes_longer_for_each_byte(tmp_path):
    made = at_rate(
        derive(benchmarks(lambda size: 8 + size / 1000, both_ways=lambda _: 1500), None, 1, 65536), 100
    )
    model = model_of(made, tmp_path)
    assert model.curve.microseconds[-1] == pytest.approx(8 + SIZES[-1] / 100)
    assert model.curve.bytes_per_us == pytest.approx(100) and model.both_ways_bytes_per_us == pytest.approx(
        150
    )
    assert made.notes[-1] == "The rate of the link is set to 100 MB/s; 1000 MB/s were measured."
    bursts = derive(benchmarks(shaped), None, 1, 65536)
    slower = at_rate(bursts, 50)
    assert slower.simulate["sustained_MBps"] == 50
    assert model_of(slower, tmp_path).curve.microseconds[-1] == pytest.approx(8 + SIZES[-1] / 50)
    message = refusal(InputError, at_rate, bursts, 125)
    assert message == "--rate: 125: is above the 100 MB/s that the benchmarks show"


def test_an_exchange_goes_into_the_model_and_to_a_slower_link(tmp_path):
    """Both messages take 2 µs and a quarter of the link's time longer than one, which takes 8 µs and 1 ns a byte."""
    rows = [{"benchmark": "sendrecv", "bytes": size, "latency_us": 10 + size / 800} for size in SIZES]
    exchange = pd.DataFrame(rows).assign(interconnect="mine", kind="published")
    alone = benchmarks(lambda size: 8 + size / 1000)
    made = derive(pd.concat([alone, exchange], ignore_index=True), None, 1, 65536)
    assert made.simulate["curve"]["exchange"] == "sendrecv"
    assert "Two messages that meet are delayed as in sendrecv." in made.notes
    for derived in (made, at_rate(made, 100)):
        meets = {knot.bytes: knot.meets_us for knot in model_of(derived, tmp_path).between}
        assert meets[0] == pytest.approx(0, abs=0.02)
        assert meets[1 << 20] == pytest.approx((1 << 20) / 4000, rel=1e-3)
    too_short = exchange[exchange["bytes"] <= 65536]
    made = derive(pd.concat([alone, too_short], ignore_index=True), None, 1, 65536)
    assert "exchange" not in made.simulate["curve"]


def test_a_burst_faster_than_the_link_hides_processor_time():
    curves = benchmarks(lambda size: 8 + size / 1000 * (0.2 if size <= 8192 else 1))
    busy = working(lambda size: 8.0, exchange=lambda size: 10 + size / 1000).assign(oversubscription=1)
    made = derive(pd.concat([curves, busy], ignore_index=True), None, 1, 65536)
    assert "host_overhead" not in made.simulate and made.simulate["assumed"] == ["host_overhead", "both_ways"]
    assert any(
        "only for copying, because small messages pass faster than the link" in sentence
        for sentence in made.notes
    )


def test_assumed_parameters_have_two_ends(tmp_path):
    made = derive(benchmarks(lambda size: 2 + size / 1000), None, 1, 1024)
    assert made.simulate["assumed"] == ["host_overhead", "both_ways"]
    low, high, middle = (model_of(made, tmp_path, end) for end in ENDS)
    assert low.both_ways_bytes_per_us is middle.both_ways_bytes_per_us is None
    assert sum(knot.send_us + knot.receive_us for knot in low.between) == 0
    small = high.between[0]
    assert small.send_us == small.receive_us == pytest.approx(1, rel=0.002)
    assert small.wait_us + small.send_us + small.receive_us == pytest.approx(2)
    assert high.both_ways_bytes_per_us == pytest.approx(1000)


def test_measured_parameters_have_no_ends(tmp_path):
    made = derive(
        benchmarks(lambda size: 2 + size / 1000, lambda size: max(0.5, size / 1000), lambda size: 1990),
        None,
        1,
        64,
    )
    assert "assumed" not in made.simulate
    assert len({repr(model_of(made, tmp_path, end)) for end in ENDS}) == 1
