"""Data servers in simulated time: hand-worked messages and turns, and a case from its serial time to its record."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_link import simulated_link

from workflows.applications import application
from workflows.domain import InputError, Point
from workflows.paths import CASES, STUDIES
from workflows.plan import files
from workflows.plan.announce import announcement
from workflows.plan.plan import make_plan
from workflows.replay import servers
from workflows.replay.points import PROGRAMS, replay_study
from workflows.results.collect import simulated_table
from workflows.simulation import programs
from workflows.simulation.model import make_model
from workflows.study.cases import load_case
from workflows.traffic.cases import has_array, needs_trace

mpi4py = application("mpi4py")

EXACT = servers.CoreSharing(change=0.0, look=0.0, nap=1e-4, spread=0.0)
"""Turns of 4 ms, naps of 0.1 ms, and nothing else takes time."""

REQUEST, BLOCK = 24, 8000
GET = (1e-6 + REQUEST * 1e-9) + (1e-6 + BLOCK * 1e-9)
ACCUMULATE = (1e-6 + REQUEST * 1e-9) + 1e-6 + BLOCK * 1e-9 + 1e-6


@pytest.fixture(scope="module")
def carry(tmp_path_factory):
    """Carry out tasks on blocks of 8000 bytes, processes with their servers on nodes of two cores."""
    program = programs.build(servers.SOURCE, PROGRAMS)

    def carry(name, processes, level=1, nodes=1, tasks=1, task_seconds=1e-3, scheduler=EXACT, limit=65_536):
        link = simulated_link(eager_limit_bytes=limit)
        model = make_model(link, tmp_path_factory.mktemp("model"))
        case = load_case(f"data_servers-smoke{name}", CASES)
        case = replace(case, parameters={"blocks": 4, "block_doubles": 1000, "tasks": tasks, "products": 1})
        each = case.option.servers_per_process if case.option else 0
        cores = processes * (1 + each) // level
        point = Point(case.name, "mine", processes, level, nodes, cores, servers_per_process=each)
        return servers.carry_out(program, model, case, point, task_seconds, scheduler)

    return carry


def median(outcome, operation):
    return next(row["operation_seconds_p50"] for row in outcome["rows"] if row["operation"] == operation)


@pytest.mark.parametrize("way", ["-polling", "-yielding"])
def test_a_process_and_its_server_with_a_core_for_each(carry, way):
    outcome = carry(way, 1, tasks=3)
    assert outcome["seconds"] == pytest.approx(3 * (2 * GET + 1e-3 + ACCUMULATE), rel=1e-3)
    assert median(outcome, "get") == pytest.approx(GET, rel=1e-3)
    assert {row["operation"]: row["calls"] for row in outcome["rows"]} == {
        "get": 10,
        "put": 4,
        "accumulate": 3,
    }
    assert outcome["servers"] == 1 and outcome["waiting"] == "receive"
    assert outcome["busy_share"] == pytest.approx({"processes": 1.0, "servers": 1.0}, rel=1e-3)


def test_a_block_above_the_eager_limit_takes_the_time_of_the_model(carry):
    assert median(carry("-polling", 1, limit=1000), "get") == pytest.approx(GET, rel=1e-3)


def test_a_server_that_sleeps_takes_a_request_with_one_probe_and_finds_it_with_the_next(carry):
    """Answered, probed in vain, napped, taken, napped, found: two naps from an answer to the next."""
    outcome = carry("-sleeping", 1, tasks=20)
    assert median(outcome, "get") == pytest.approx(2 * EXACT.nap, rel=0.01)
    assert outcome["waiting"] == "sleep" and outcome["busy_share"]["servers"] < 0.2


def test_polling_on_a_shared_core_waits_for_the_turns_of_both(carry):
    """Asked at the beginning of a turn, polled for 4 ms, answered in the server's 4 ms: two turns for a get."""
    outcome = carry("-polling", 1, level=2, tasks=9)
    assert median(outcome, "get") == pytest.approx(2 * EXACT.turn, rel=0.01)
    # an accumulate begins 1 ms after the turn did
    assert median(outcome, "accumulate") == pytest.approx(2 * EXACT.turn - 1e-3, rel=0.01)
    assert outcome["busy_share"] == pytest.approx({"processes": 0.5, "servers": 0.5}, abs=0.05)
    other = carry("-polling", 1, level=2, tasks=9, scheduler=replace(EXACT, turn=1e-2))
    assert median(other, "get") == pytest.approx(2e-2, rel=0.01)


def test_yielding_on_a_shared_core_answers_at_once(carry):
    outcome = carry("-yielding", 1, level=2, tasks=3)
    assert outcome["seconds"] == pytest.approx(3 * (2 * GET + 1e-3 + ACCUMULATE), rel=1e-3)
    switched = carry("-yielding", 1, level=2, tasks=3, scheduler=replace(EXACT, change=5e-6))
    assert median(switched, "get") == pytest.approx(GET + 2 * 5e-6, rel=1e-3)


def test_two_clients_meet_at_one_server(carry):
    """Both ask the server of block 0 at once: its link carries two blocks, so each has half of it."""
    single, two = (
        carry("-polling", processes, nodes=processes, tasks=processes, scheduler=EXACT, task_seconds=0.1)
        for processes in (1, 2)
    )
    assert max(row["operation_seconds_p95"] for row in two["rows"]) > 1.5 * median(single, "get")
    assert two["seconds"] > 0.1


def test_a_large_block_to_another_node_needs_its_senders_core_again(carry):
    """Its server wakes and asks whether it may send; when it may, the process on that core computes."""
    real = servers.CoreSharing()
    eager, large = (
        carry("-sleeping", 2, 2, 2, tasks=40, task_seconds=3e-3, scheduler=real, limit=limit)
        for limit in (65_536, 1000)
    )
    longest = [max(row["operation_seconds_p95"] for row in outcome["rows"]) for outcome in (eager, large)]
    assert longest[0] < 1e-3 and longest[1] > 2e-3
    assert large["seconds"] > 1.2 * eager["seconds"]


def test_without_servers_a_process_that_computes_answers_late(carry):
    """Two processes, one task: the other one waits for its end and answers; with two, it answers afterwards."""
    outcome = carry("", 2, tasks=1, task_seconds=1e-3)
    assert outcome["seconds"] == pytest.approx(1e-3, rel=0.05)
    assert outcome["servers"] == 0 and outcome["busy_share"]["servers"] is None and outcome["waiting"] is None
    late = carry("", 2, tasks=8, task_seconds=1e-3, scheduler=replace(EXACT, spread=0.3))
    assert max(row["operation_seconds_p95"] for row in late["rows"]) > 1e-4


@settings(max_examples=15)
@given(
    st.sampled_from(["", "-polling", "-yielding", "-sleeping"]),
    st.sampled_from([2, 4]),
    st.integers(1, 12),
    st.floats(1e-4, 1e-2),
)
def test_tasks_take_at_least_their_computing_time(carry, way, processes, tasks, task_seconds):
    nodes = processes // 2 if way == "" else processes
    outcome, again = (
        carry(way, processes, nodes=nodes, tasks=tasks, task_seconds=task_seconds) for _ in range(2)
    )
    mine = -(-tasks // processes)
    assert outcome["seconds"] >= mine * task_seconds * (1 - 1e-6)
    assert 0 <= outcome["busy_share"]["processes"] <= 1 + 1e-6
    assert again["rows"] == outcome["rows"] and again["seconds"] == outcome["seconds"]


@given(st.floats(1e-6, 1.0), st.integers(1, 300), st.floats(0.0, 0.5))
def test_computing_times_of_tasks_vary_around_their_mean(task_seconds, tasks, spread):
    drawn = servers.spread_out(task_seconds, tasks, spread)
    assert drawn.mean() == pytest.approx(task_seconds) and (drawn >= 0).all() and len(drawn) == tasks
    assert servers.spread_out(task_seconds, tasks, 0.0) == pytest.approx(task_seconds)


def test_ranks_are_placed_as_a_run_places_them():
    case = load_case("data_servers-smoke-polling", CASES)
    shared = Point(case.name, "mine", 4, 2, nodes=2, cores=4, servers_per_process=1)
    node = [(0, 1), (1, 1), (0, 0), (1, 0)]
    assert servers.ranks_of(case, shared) == [(place, *rank) for place in (0, 1) for rank in node]
    apart = replace(shared, processes=2, oversubscription=1)
    assert servers.ranks_of(case, apart) == [(0, 0, 1), (0, 1, 0), (1, 0, 1), (1, 1, 0)]


def test_how_the_ranks_of_a_case_wait():
    point = Point("any", "mine", 2, 1, nodes=1, cores=2)
    ways = {"": "polling", "-polling": "polling", "-yielding": "yielding", "-sleeping": "sleeping"}
    for name, way in ways.items():
        assert servers.way_to_wait(load_case(f"data_servers{name}", CASES), point) == way
    shared = replace(point, cores=1)
    assert servers.way_to_wait(load_case("data_servers", CASES), shared) == "yielding"


def test_which_cases_have_an_array():
    names = {path.parent.name for path in (CASES / "mpi4py").glob("*/case.yaml")}
    assert {name for name in names if has_array(load_case(name, CASES))} == {"data_servers"}
    assert not needs_trace(load_case("data_servers", CASES))
    assert needs_trace(load_case("elbow_segregated", CASES))


def test_a_serial_run_that_fails_is_reported_in_one_line(tmp_path):
    case = load_case("data_servers-smoke", CASES)
    (tmp_path / "prepared").mkdir()
    with pytest.raises(InputError, match="case data_servers-smoke, serial: its tasks cannot be timed: "):
        servers.time_tasks(case, tmp_path / "prepared", 30.0)


def test_tasks_are_timed_by_the_cpu_time_of_serial_runs(tmp_path):
    case = load_case("data_servers-smoke", CASES)
    mpi4py.prepare(case, 1, tmp_path / "prepared", None)
    seconds = servers.time_tasks(case, tmp_path / "prepared", 60.0)["cpu_seconds"]
    assert len(seconds) == servers.TIMED_RUNS and min(seconds) > 0


def test_a_study_from_serial_times_to_records(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    cases = ["data_servers-smoke-polling", "data_servers-smoke-yielding"]
    overrides = {"cases": cases, "processes": [1, 2], "interconnects": ["gigabit_ethernet"], "exclude": []}
    plan = make_plan(STUDIES / "simulated_gamess.yaml", overrides)
    assert files.traces(plan) == [] and len(files.cases_with_arrays(plan)) == 2 and not plan.design.left_out
    assert "simulated: 6 points of tasks on a distributed array, by serial times" in announcement(plan)
    for file in map(plan.paths.times, files.cases_with_arrays(plan)):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('{"cpu_seconds": [0.011, 0.008, 0.009]}')
    replay_study(plan, 2)
    times = simulated_table(plan)[0].set_index(["case", "processes", "oversubscription"])
    assert len(times) == 6 and times["valid"].all()
    assert (times["seconds_low"] <= times["seconds"]).all()
    assert (times["seconds"] <= times["seconds_high"]).all()
    serial = times.xs(1, level="processes")  # on cores of 0.15 of the speed, or 0.13 to 0.17
    assert serial["seconds"].tolist() == pytest.approx([0.009 / 0.15] * 2)
    assert serial["seconds_low"].tolist() == pytest.approx([0.008 / 0.17] * 2)
    assert serial["seconds_high"].tolist() == pytest.approx([0.011 / 0.13] * 2)
    seconds = times["seconds"]
    polling, yielding = cases
    assert seconds[polling, 2, 2] > 2 * seconds[yielding, 2, 2]
    assert seconds[polling, 2, 1] == pytest.approx(seconds[yielding, 2, 1], rel=0.01)
    assert times["nodes"].to_dict()[polling, 2, 1] == 2 and times["nodes"].to_dict()[polling, 2, 2] == 1
