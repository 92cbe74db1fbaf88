"""Patterns of traffic against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused import refusal

from workflows.domain import InputError
from workflows.traffic.patterns import PATTERNS, PERMUTATIONS, Pattern, io_nodes, jobs_of, permutation

POWERS = st.integers(1, 12).map(lambda bits: 1 << bits)


def bits_of(number, count):
    return format(number, f"0{count}b")


# The definitions of the source, on addresses written a(n-1) ... a1 a0.
BY_DEFINITION = {
    "bit_reversal": lambda a: a[::-1],
    "butterfly": lambda a: a[-1] + a[1:-1] + a[0] if len(a) > 1 else a,
    "complement": lambda a: a.translate(str.maketrans("01", "10")),
    "transpose": lambda a: a[len(a) - len(a) // 2 :] + a[: len(a) - len(a) // 2],
    "shuffle": lambda a: a[1:] + a[0],
    "neighbor": lambda a: a[:-1] + ("0" if a[-1] == "1" else "1"),
}


@given(st.sampled_from(sorted(PERMUTATIONS)), POWERS)
def test_every_permutation_is_one_and_moves_the_bits_as_defined(name, processes):
    destinations = permutation(name, processes)
    assert sorted(destinations) == list(range(processes))
    count = processes.bit_length() - 1
    expected = [int(BY_DEFINITION[name](bits_of(process, count)), 2) for process in range(processes)]
    assert destinations.tolist() == expected


@given(st.sampled_from(["bit_reversal", "butterfly", "complement", "neighbor"]), POWERS)
def test_involutions(name, processes):
    destinations_of = permutation(name, processes)
    assert (destinations_of[destinations_of] == np.arange(processes)).all()


@given(st.integers(1, 6))
def test_transpose_of_a_square_is_its_own_inverse_and_transposes(half):
    processes = 4**half
    destinations_of = permutation("transpose", processes)
    assert (destinations_of[destinations_of] == np.arange(processes)).all()
    square = np.arange(processes).reshape(2**half, 2**half)
    assert (destinations_of.reshape(square.shape) == square.T).all()


def test_transpose_of_an_odd_power_is_rectangular():
    # 32 processes: 8 rows of 4
    destinations_of = permutation("transpose", 32)
    oblong = np.empty(32, int)
    oblong[destinations_of] = np.arange(32)
    assert (oblong.reshape(4, 8) == np.arange(32).reshape(8, 4).T).all()


@given(st.integers(1, 12))
def test_as_many_shuffles_as_there_are_bits_lead_back(bits):
    place = np.arange(1 << bits)
    for _ in range(bits):
        place = permutation("shuffle", 1 << bits)[place]
    assert (place == np.arange(1 << bits)).all()


def test_palindromes_keep_silent_under_bit_reversal():
    (job,) = jobs_of(Pattern("bit_reversal"), 16)
    silent = sorted(set(range(16)) - set(job.clients))
    assert [bits_of(process, 4) for process in silent] == ["0000", "0110", "1001", "1111"]


def test_io_nodes_of_the_source():
    # figure 7: 64 processes, 8 I/O nodes, at the upper end or one in eight
    assert io_nodes(Pattern("multiple_hot_spots"), 64).tolist() == list(range(56, 64))
    spread = Pattern("multiple_hot_spots", io_mapping="distributed")
    assert io_nodes(spread, 64).tolist() == list(range(0, 64, 8))


def test_shared_io_nodes_are_clients_and_dedicated_ones_are_not():
    (shared,) = jobs_of(Pattern("multiple_hot_spots"), 64)
    (dedicated,) = jobs_of(Pattern("multiple_hot_spots", application_mapping="dedicated"), 64)
    assert shared.clients.tolist() == list(range(64))
    assert dedicated.clients.tolist() == list(range(56))


@pytest.mark.parametrize("mapping", ["clustered", "distributed"])
@pytest.mark.parametrize("application", ["shared", "dedicated"])
def test_deterministic_clients_keep_one_remote_server_and_load_is_even(mapping, application):
    pattern = Pattern("multiple_hot_spots", None, "deterministic", mapping, application)
    (job,) = jobs_of(pattern, 64)
    assert job.fixed and (job.clients != job.targets).all()
    counts = np.bincount(job.targets, minlength=64)[io_nodes(pattern, 64)]
    assert counts.sum() == len(job.clients) and counts.max() - counts.min() <= 2


def test_hot_spot_is_everybody_to_one():
    (job,) = jobs_of(Pattern("hot_spot"), 5)
    assert (job.clients.tolist(), job.targets.tolist()) == ([1, 2, 3, 4], [0, 0, 0, 0])


@pytest.mark.parametrize(
    ("mapping", "application", "compute", "io"),
    [
        ("clustered_io", "shared", (0, 32), (32, 64)),
        ("clustered_io", "dedicated", (0, 28), (28, 56)),
        ("clustered_compute", "shared", (32, 64), (0, 32)),
        ("clustered_compute", "dedicated", (28, 56), (0, 28)),
    ],
)
def test_combined_jobs_of_the_source(mapping, application, compute, io):
    # figure 8
    jobs = jobs_of(Pattern("combined", io_mapping=mapping, application_mapping=application), 64)
    assert [job.name for job in jobs] == ["compute", "io"]
    assert [job.clients.tolist() for job in jobs] == [list(range(*compute)), list(range(*io))]
    assert jobs[0].targets.tolist() == jobs[0].clients.tolist()
    assert jobs[1].targets.tolist() == list(range(56, 64))


@pytest.mark.parametrize("processes", [16, 32, 64])
@pytest.mark.parametrize("application", ["shared", "dedicated"])
@pytest.mark.parametrize("mapping", ["clustered_io", "clustered_compute", "distributed"])
def test_combined_jobs_have_the_same_size_and_no_process_in_common(processes, application, mapping):
    pattern = Pattern("combined", io_mapping=mapping, application_mapping=application)
    compute, io = jobs_of(pattern, processes)
    assert len(compute.clients) == len(io.clients)
    assert not set(compute.clients) & set(io.clients)
    if application == "dedicated":
        assert not set(io.targets) & (set(compute.clients) | set(io.clients))


@given(st.sampled_from(PATTERNS), st.sampled_from([8, 16, 32, 64]))
def test_nobody_has_only_itself_to_send_to(name, processes):
    mapping = "distributed" if name in ("combined", "multiple_hot_spots") else "clustered"
    jobs = jobs_of(Pattern(name, io_mapping=mapping), processes)
    assert jobs and all(len(job.clients) for job in jobs)
    for job in jobs:
        for rank, client in enumerate(job.clients):
            targets = job.targets[rank : rank + 1] if job.fixed else job.targets
            assert set(targets) - {client}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Pattern("tornado"), "pattern: tornado: must be one of uniform, bit_reversal,"),
        (lambda: jobs_of(Pattern("shuffle"), 48), "processes: 48: shuffle needs a power of two"),
        (lambda: jobs_of(Pattern("neighbor"), 5), "processes: 5: neighbor needs an even number"),
        (lambda: jobs_of(Pattern("uniform"), 1), "processes: 1: a pattern of traffic needs 2 or more"),
        (lambda: jobs_of(Pattern("multiple_hot_spots", 8), 8), "io_nodes: 8: must be from 1 to 7 of 8 processes"),
        (lambda: jobs_of(Pattern("combined", io_mapping="distributed"), 2), "combined leaves 1 to a job"),
        (lambda: Pattern("combined"), "io_mapping of combined: clustered: must be one of clustered_io"),
        (lambda: Pattern("multiple_hot_spots", destinations="fixed"), "destinations: fixed: must be one of random"),
    ],
)  # fmt: skip
def test_impossible_patterns_are_reported_in_one_line(make, message):
    assert message in refusal(InputError, make)


@pytest.mark.parametrize("name", ["bit_reversal", "butterfly", "shuffle", "transpose"])
def test_an_address_of_one_bit_has_nothing_to_swap(name):
    with pytest.raises(InputError, match=f"^processes: 2: too few, {name} would send nothing$"):
        jobs_of(Pattern(name), 2)
    assert jobs_of(Pattern(name), 4)
