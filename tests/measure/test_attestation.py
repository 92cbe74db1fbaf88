"""The short ping-pong of a repetition: its ranks, contradictions to the file, and real ones."""

import re
from contextlib import ExitStack
from dataclasses import replace

import pytest

from workflows.domain import Interconnect, Point
from workflows.launch.attesters import Probe
from workflows.launch.emulation import emulated_nodes
from workflows.measure import attestation
from workflows.measure.attestation import attest, contradiction, pair_of, probe
from workflows.paths import INTERCONNECTS
from workflows.plan.here import unavailable
from workflows.study.interconnects import load_interconnect

ATTESTED = {"latency_us": [4, 40], "bandwidth_MBps": [900, 1250]}
LAUNCH = {"mpi": "openmpi", "mca": {"btl": "self,tcp"}}
TEN = Interconnect("ten_gigabit", "measured", "Ten", LAUNCH, None, 2, 1, attest=ATTESTED)
POINT = Point("case", "ten", 2, 1, 2, 2)


def placed(places: str) -> list[dict]:
    """Ranks by ``host:cores``."""
    parted = enumerate(place.split(":") for place in places.split())
    return [{"rank": rank, "host": host, "cores": cores} for rank, (host, cores) in parted]


def probed(latency: float, bandwidth: float, places: str = "a:0 b:0", **more: object) -> Probe:
    hosts, cores = ([rank[key] for rank in placed(places)] for key in ("host", "cores"))
    where = {"ranks": [0, 1], "hosts": hosts, "cores": cores}
    return Probe(**where, latency_us=latency, bandwidth_MBps=bandwidth, **more)


@pytest.mark.parametrize(
    ("places", "pair"),
    [
        ("a:0 a:1", (0, 1)),
        ("a:0 a:0 b:0 b:0", (0, 3)),  # the other node, although rank 1 is nearer
        ("a:0 b:0 a:1", (0, 1)),  # the other node, although the last rank is not on it
        ("a:0 a:1 a:0", (0, 1)),  # no other node: another core
        ("a:0 a:0", (0, 1)),
    ],
)
def test_the_probe_is_between_ranks_that_are_as_far_apart_as_can_be(places, pair):
    assert pair_of(placed(places)) == pair


def test_values_in_the_ranges_contradict_nothing():
    assert contradiction(probed(4, 1250), TEN) is None


@pytest.mark.parametrize(
    ("latency", "bandwidth"),
    [(6.4, 118), (3.9, 1000), (41, 1000), (6.4, 1251)],
    ids=["slow", "near", "far", "fast"],
)
def test_a_contradiction_names_measured_and_attested_values(latency, bandwidth):
    assert contradiction(probed(latency, bandwidth), TEN) == (
        f"the probe between ranks 0 and 1 contradicts ten_gigabit: latency {latency:g} µs (attested 4 to 40), "
        f"bandwidth {bandwidth:g} MB/s (attested 900 to 1250)"
    )


def test_a_file_may_attest_one_of_the_two():
    latency_only = replace(TEN, attest={"latency_us": [0.5, 5]})
    assert contradiction(probed(2, 1), latency_only) is None
    message = contradiction(probed(9, 118), latency_only)
    assert message.endswith("latency 9 µs (attested 0.5 to 5), bandwidth 118 MB/s")


def test_a_probe_that_failed_attests_nothing():
    message = contradiction(probed(0, 0, problem="stopped at its time limit of 30 s"), TEN)
    assert message == "the probe of ten_gigabit did not succeed: stopped at its time limit of 30 s"


def test_ranks_that_take_turns_on_one_core_are_not_judged():
    inside = replace(TEN, nodes=1)
    assert contradiction(probed(900, 5, "a:0 a:0"), inside) is None
    assert contradiction(probed(900, 5, "a:0 a:1"), inside) is not None


def test_ranks_on_one_node_attest_no_interconnect_between_nodes():
    fast = probed(0.3, 15000, "a:0 a:1")
    assert contradiction(fast, TEN) is None
    assert contradiction(fast, replace(TEN, nodes=1, place="cluster")) is None
    assert contradiction(fast, replace(TEN, nodes=1)) is not None


def test_without_a_probe_or_without_ranges_nothing_is_judged():
    assert contradiction(None, TEN) is None  # a record of an earlier version, or of a run that failed
    assert contradiction(probed(900, 5), None) is None
    assert contradiction(probed(900, 5), replace(TEN, attest={})) is None


def test_nothing_is_probed_unless_the_file_asks_for_it(monkeypatch):
    monkeypatch.setattr(attestation, "probe", lambda *_: pytest.fail("probed"))
    assert attest(POINT, replace(TEN, attest=None), (), placed("a:0 b:0")) is None


@pytest.mark.parametrize(
    ("rates", "attempts", "contradicts"), [([1200], 1, False), ([700, 1200], 2, False), ([118] * 9, 3, True)]
)
def test_a_disturbed_probe_is_made_again_and_a_real_contradiction_stays(
    monkeypatch, rates, attempts, contradicts
):
    left = iter(rates)
    monkeypatch.setattr(attestation, "probe", lambda *_: probed(6, next(left)))
    last = attest(POINT, TEN, (), placed("a:0 b:0"))
    assert last.attempts == attempts
    assert (contradiction(last, TEN) is not None) == contradicts


@pytest.fixture
def place():
    """Give an interconnect of the project with its nodes, and the placement of two ranks on it."""
    with ExitStack() as stack:

        def place(name: str, **emulate: int):
            interconnect = load_interconnect(name, INTERCONNECTS)
            if interconnect.emulate:
                interconnect = replace(interconnect, emulate=interconnect.emulate | emulate)
            if reason := unavailable(interconnect):
                pytest.fail(f"{name}: {reason}")
            nodes = stack.enter_context(emulated_nodes(interconnect.emulate)) if interconnect.emulate else ()
            point = Point("case", name, 2, 1, interconnect.nodes, 2)
            first = probe(point, interconnect, nodes, placed("nowhere:0 nowhere:1"))
            pattern = r"rank 0 was on core (\S+) of (\S+), in the run on core 0 of nowhere"
            match = re.fullmatch(pattern, first.problem)
            assert match, first.problem
            host, second = (nodes[0].name, nodes[1].name) if nodes else (match[2], match[2])
            cores = [str(node.cores[0]) for node in nodes] or ["0", "1"]
            return point, interconnect, nodes, placed(f"{host}:{cores[0]} {second}:{cores[1]}")

        yield place


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize(
    "name",
    [
        *(
            "emulated_gigabit",
            "emulated_gigabit_mtu9000",
            "emulated_ten_gigabit",
            "emulated_ten_gigabit_mtu1500",
        ),
        *("emulated_ten_gigabit_mpich", "tcp_loopback", "tcp_loopback_mpich"),
        *("shared_memory", "shared_memory_mpich"),
    ],
)
def test_every_interconnect_of_this_machine_passes_its_attestation(place, name):
    point, interconnect, nodes, placement = place(name)
    attested = attest(point, interconnect, nodes, placement)
    assert contradiction(attested, interconnect) is None
    assert attested.library.startswith("MPICH" if name.endswith("mpich") else "Open MPI")
    assert attested.hosts == [rank["host"] for rank in placement]
    assert 0 < attested.seconds < attestation.TIME_LIMIT_SECONDS


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize(
    ("name", "like", "emulate"),
    [
        ("emulated_ten_gigabit", "emulated_ten_gigabit", {"rate_mbps": 1000}),  # a tenth of the rate
        ("tcp_loopback", "shared_memory", {}),
        ("shared_memory", "tcp_loopback", {}),
        ("tcp_loopback", "emulated_ten_gigabit", {}),
    ],
)
def test_a_mislabelled_interconnect_is_found_out(place, name, like, emulate):
    point, interconnect, nodes, placement = place(name, **emulate)
    label = load_interconnect(like, INTERCONNECTS)
    mislabelled = replace(interconnect, name=like, attest=label.attest)
    message = contradiction(attest(point, mislabelled, nodes, placement), mislabelled)
    assert re.fullmatch(
        rf"the probe between ranks 0 and 1 contradicts {like}: latency \S+ µs \(attested \S+ to \S+\), "
        r"bandwidth \S+ MB/s \(attested \S+ to \S+\)",
        message,
    ), message
