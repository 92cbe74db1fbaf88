"""From a study to its simulated points, and from its traces to their records."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from analysis.runs.runs import ENDS_OF_COMPUTING, complete_runs
from analysis.topics.traffic.tables import make_traffic_tables
from workflows.domain import InputError
from workflows.paths import ROOT
from workflows.plan import files
from workflows.plan.announce import announcement
from workflows.plan.plan import make_plan
from workflows.replay import points as study
from workflows.replay.points import replay_study
from workflows.results.collect import simulated_table
from workflows.results.details import make_details
from workflows.results.facts import facts
from workflows.simulation.replayer import replay
from workflows.study.imports import imports_of
from workflows.tracing.capture import CORUN
from workflows.tracing.trace import Trace, write_rank

ELBOW = ROOT / "config/studies/simulated_elbow.yaml"
QSNET = ROOT / "config/studies/simulated_qsnet.yaml"
TWO = {"interconnects": ["gigabit_ethernet", "infiniband"], "processes": [1, 4]}


@pytest.fixture
def slower():
    """Slowdown of simultaneous ranks in traces, which a test changes."""
    return dict.fromkeys(CORUN)


@pytest.fixture
def traced(monkeypatch, tmp_path, slower):
    """The elbow on 1 and 4 processes over two interconnects, with traces by hand: 4 ms of work, one message."""
    monkeypatch.chdir(tmp_path)
    plan = make_plan(ELBOW, TWO)
    for processes in (1, 4):
        folder = Path(plan.paths.trace("elbow_segregated-smoke", processes))
        folder.mkdir(parents=True)
        for rank in range(processes):
            messages = {0: [f"{rank} send 2 0 10000"], 2: [f"{rank} recv 0 0 10000"]} if processes > 1 else {}
            lines = [f"{rank} compute {4_000_000 // processes}", *messages.get(rank, [])]
            write_rank(folder, rank, lines)

    def read(folder):
        processes = int(folder.name.rpartition("-")[2])
        factors = [0.5 if processes > 1 else 1.0] * processes
        ends = {"corrected_factor": factors, "low_factor": factors, "high_factor": [1.0] * processes}
        return Trace(folder, processes, 2, 20, {"timing": "together", **ends, **slower})

    monkeypatch.setattr(study, "read_trace", read)
    return plan


def test_a_study_of_simulated_interconnects_measures_nothing():
    plan = make_plan(ELBOW)
    assert not plan.design.points and not plan.design.repetitions and len(plan.design.simulated) == 1 + 4 * 3
    assert len(files.traces(plan)) == 5 and files.prepared(plan.design.points) == []
    nodes = {point.processes: point.nodes for point in plan.design.simulated}
    assert nodes == {1: 1, 2: 1, 4: 2, 8: 4, 16: 8}
    assert "simulated: 13 points, replayed from 5 traces" in announcement(plan)
    assert "interconnects: simulated (models): gigabit_ethernet, infiniband" in announcement(plan)


def test_measured_interconnects_have_their_serial_run_in_a_simulated_study():
    names = ["shared_memory", "gigabit_ethernet", "infiniband"]
    plan = make_plan(ELBOW, {"interconnects": names, "processes": [1, 2]})
    assert [point.interconnect for point in plan.design.points] == [None, "shared_memory"]
    assert [point.interconnect for point in plan.design.simulated] == [None, "gigabit_ethernet", "infiniband"]


def test_oversubscription_is_not_simulated():
    plan = make_plan(ELBOW, {"oversubscription": [1, 2]})
    (left,) = plan.design.left_out
    assert "a simulated interconnect has a core for each thread" in left.reason


def test_records_hold_the_time_of_the_timed_steps_and_its_band(traced):
    """1 ms of work a rank, halved by the correction; the message takes 31 + 88.9 µs. Times ten: 20 of 2 steps."""
    replay_study(traced, 2)
    times = simulated_table(traced)[0].set_index(["interconnect", "processes"])
    slow = times.loc[("gigabit_ethernet", 4)]
    assert slow["seconds"] == slow["seconds_low"] == pytest.approx(10 * (0.5e-3 + 31e-6 + 10000 / 112.5e6))
    assert slow["seconds_high"] - slow["seconds"] == pytest.approx(10 * 0.5e-3)
    assert times.loc[("infiniband", 4), "seconds"] < slow["seconds"]
    serial = times[times.index.get_level_values("processes") == 1]
    assert serial["seconds"].tolist() == pytest.approx([0.04])
    fit = pd.read_csv(traced.paths.fit("infiniband"))
    assert list(fit) == ["bytes", "given_us", "simulated_us", "error_percent", "left_out_percent"]
    file = traced.paths.simulated / "elbow_segregated-smoke/gigabit_ethernet/processes-4.json"
    record = json.loads(file.read_text())
    assert record["details"]["transfer_seconds"][2] == pytest.approx(10 * (31e-6 + 10000 / 112.5e6))
    ends = [slow["seconds_low"]] * 2 + [slow["seconds_high"]] * 2  # the model is one curve, without a range
    assert slow[list(ENDS_OF_COMPUTING)].tolist() == ends


def test_a_stopped_study_keeps_its_replays(traced, monkeypatch):
    """Each comes to the same, and none is made twice; what was kept is gone in the end."""
    replay_study(traced, 1)
    whole = simulated_table(traced)[0]["seconds"]
    shutil.rmtree(traced.paths.simulated)
    made, stop_at = [], 3

    def counting(*arguments):
        if len(made) == stop_at:
            raise KeyboardInterrupt
        made.append(arguments[-1])
        return replay(*arguments)

    monkeypatch.setattr(study, "replay", counting)
    with pytest.raises(KeyboardInterrupt):
        replay_study(traced, 1)
    assert not traced.paths.simulated.exists()
    before, stop_at = len(made), None
    replay_study(traced, 1)
    first_replays = len(made)
    assert simulated_table(traced)[0]["seconds"].equals(whole)
    replay_study(traced, 1)
    assert (
        before == 3
        and len(made) - first_replays == first_replays
        and not traced.paths.simulated.with_name(".replays").exists()
    )


def computing(plan):
    """Replay, and give what four ranks compute in a tenth of the steps, with both ends of its band."""
    replay_study(plan, 2)
    row = simulated_table(plan)[0].set_index(["interconnect", "processes"]).loc[("gigabit_ethernet", 4)]
    message = 31e-6 + 10000 / 112.5e6
    return [row[name] / 10 - message for name in ("seconds_low", "seconds", "seconds_high")]


def test_slowdown_on_a_node_is_as_traced_or_as_given_by_the_study(traced, slower):
    """Two a node compute for 0.5 ms at once; 1 ms at the upper end of the band."""
    slower.update(zip(CORUN, (20.0, 10.0, 40.0), strict=True), timing="alone")
    assert computing(traced) == pytest.approx([0.55e-3, 0.6e-3, 1.4e-3])
    traced.asked.study.simulation["corun_percent"] = 0
    assert computing(traced)[1] == pytest.approx(0.5e-3)


def test_ranks_on_nodes_that_are_one_machine_all_slow_each_other_down(traced, slower):
    """Each of four ranks runs with three others on any node: 60 %, and 30 and 120 at the ends."""
    slower.update(zip(CORUN, (20.0, 10.0, 40.0), strict=True), timing="alone")
    traced.asked.interconnects["gigabit_ethernet"].simulate["one_machine"] = True
    assert computing(traced) == pytest.approx([0.65e-3, 0.8e-3, 2.2e-3])


def test_processes_of_several_threads_have_a_core_for_each(monkeypatch, tmp_path):
    """Nodes of two cores: 2 x 2 are on two of them. 2 ms of work by two threads, and a message over the wire."""
    monkeypatch.chdir(tmp_path)
    varied = {"threads": [1, 2], "processes": [1, 2], "cases": ["matrix_product-smoke"]}
    plan = make_plan(ELBOW, TWO | varied)
    over = [point for point in plan.design.simulated if point.interconnect != "infiniband"]
    counts = [(point.processes, point.threads, point.nodes, point.cores) for point in over]
    assert counts == [(1, 1, 1, 1), (1, 2, 1, 2), (2, 1, 1, 2), (2, 2, 2, 4)]
    folders = {plan.paths.trace("matrix_product-smoke", p, t): (p, t) for p, t, *_ in counts}
    assert (
        {folder.name for folder in folders}
        == {
            "processes-1",
            "processes-1-threads-2",
            "processes-2",
            "processes-2-threads-2",
        }
        == {plan.paths.trace(*key).name for key in files.traces(plan)}
    )
    for folder, (processes, threads) in folders.items():
        folder.mkdir(parents=True)
        ends = [["send 1 0 10000"], ["recv 0 0 10000"]] if processes > 1 else [[]]
        for rank, lines in enumerate(ends):
            work = f"compute {4_000_000 // processes // threads}"
            write_rank(folder, rank, [f"{rank} {line}" for line in (work, *lines)])

    def read(folder):
        processes, threads = folders[folder]
        factors = dict.fromkeys(("corrected_factor", "low_factor", "high_factor"), [1.0] * processes)
        about = {"timing": "alone", "threads": threads, **factors, **dict.fromkeys(CORUN, 0.0)}
        return Trace(folder, processes, 1, 1, about)

    monkeypatch.setattr(study, "read_trace", read)
    replay_study(plan, 2)
    times, records = simulated_table(plan)
    seconds = times[times["interconnect"] != "infiniband"].set_index(["processes", "threads"])["seconds"]
    wire = 31e-6 + 10000 / 112.5e6
    assert seconds[1, 1] == pytest.approx(4e-3) and seconds[1, 2] == pytest.approx(2e-3)
    assert seconds[2, 2] == pytest.approx(1e-3 + wire) and 2e-3 < seconds[2, 1] < 2e-3 + wire
    assert {record.threads for record in records} == {1, 2}


def test_slowdown_of_threaded_ranks_follows_from_one_thread(tmp_path):
    """Of 10 % a busy core: 1.3 for four threads of two ranks against 1.1 for two threads of one, 18.2 % longer."""

    def trace(threads, percent):
        about = {"timing": "alone", "threads": threads} | dict.fromkeys(CORUN, percent)
        return Trace(tmp_path, 2, 1, 1, about)

    single, two = trace(1, 10.0), trace(2, None)
    assert study.corun_percent(two, single, None, "high") == pytest.approx(100 * (1.3 / 1.1 - 1))
    assert study.corun_percent(trace(2, 7.0), single, None, "low") == 7.0
    assert study.corun_percent(two, None, None, "low") == 0.0
    assert study.corun_percent(two, single, 3.0, "low") == 3.0


def test_the_band_reaches_from_the_fastest_cores_to_the_slowest(traced, slower):
    """0.5 ms of computing on cores of speed 1, 0.4 ms at 1.25, and at 0.8 the trace's upper end, 1 ms, takes 1.25 ms."""
    slower.update(zip(CORUN, (0.0, 0.0, 0.0), strict=True), timing="alone")
    traced.asked.study.simulation["host_speed_range"] = [0.8, 1.25]
    assert computing(traced) == pytest.approx([0.4e-3, 0.5e-3, 1.25e-3])


def test_a_processor_of_two_benchmarks_gives_the_band_and_its_middle(traced, slower):
    """Half and an eighth of the figures here: 0.25 of the speed, 0.125 to 0.5. So 0.5 ms take 2, and 1 ms 8 at the most."""
    slower.update(zip(CORUN, (0.0, 0.0, 0.0), strict=True), timing="alone")
    here = {"cpu": "This one", "linpack_100_Mflops": 8000.0, "stream_triad_MBps": 32000.0}
    traced.paths.processor.write_text(json.dumps(here))
    meant = {"name": "Old", "linpack_100_Mflops": 4000, "stream_triad_MBps": 4000, "source": "A table."}
    traced.asked.study.simulation["processor"] = meant
    assert computing(traced) == pytest.approx([1e-3, 2e-3, 8e-3])
    host = (
        facts(traced, complete_runs(simulated_table(traced)[0]), [], imports_of(traced.asked.study))
        .interconnect("gigabit_ethernet")
        .model.host
    )
    assert (host.host_speed, host.host_speed_range) == (0.25, (0.125, 0.5))
    assert (
        host.processor.benchmarks["linpack_100_Mflops"] == (4000, 8000.0)
        and host.processor.traced_on == "This one"
    )


def test_a_replay_that_fails_leaves_nothing(traced):
    folder = traced.paths.trace("elbow_segregated-smoke", 4)
    write_rank(folder, 2, ["2 compute 1000"])
    write_rank(folder, 0, ["0 recv 2 0 8"])
    with pytest.raises(InputError, match=r"processes-4 over gigabit_ethernet: .* deadlock"):
        replay_study(traced, 2)
    assert not traced.paths.simulated.exists()


@pytest.mark.slow
def test_patterns_of_traffic_are_carried_out_without_a_trace(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    names = ["quadrics_elan3_adaptive", "quadrics_elan3_packets", "gigabit_ethernet"]
    small = {"cases": ["uniform-smoke", "combined-smoke"], "processes": [8], "interconnects": names}
    plan = make_plan(QSNET, small)
    assert files.traces(plan) == [] and len(plan.design.simulated) == 6 and not plan.design.points
    assert "simulated: 6 points of patterns of traffic, by their schedules" in announcement(plan)
    replay_study(plan, 2)
    times, records = simulated_table(plan)
    assert len(times) == 6 and (times["nodes"] == 8).all() and times["valid"].all()
    assert (times["seconds_low"] == times["seconds"]).all()
    assert (times["seconds_high"] == times["seconds"]).all()
    table = make_traffic_tables(times, make_details(plan.asked.study, plan.paths, times, records))["traffic"]
    assert set(table["kind"]) == {"simulated"} and set(table["interconnect"]) == set(names)
    assert table.loc[table["beside_load"].notna() & (table["job"] == "compute"), "slowdown"].notna().all()
    fastest = table[table["pattern"] == "uniform"].groupby("interconnect")["accepted_MBps"].max()
    packets, fluid = fastest["quadrics_elan3_packets"], fastest["quadrics_elan3_adaptive"]
    assert fastest["gigabit_ethernet"] < 112.5 < packets < fluid < 280
    contention = {record.interconnect: record.details["contention"] for record in records}
    assert contention == dict.fromkeys(names, "fluid") | {"quadrics_elan3_packets": "packets"}


def test_assumptions_of_a_model_widen_the_band(traced):
    folder = Path(traced.paths.trace("elbow_segregated-smoke", 4))
    for rank, message in ((0, "0 send 2 0 8"), (2, "2 recv 0 0 8")):
        write_rank(folder, rank, [message] * 50 + [f"{rank} compute 1000000"])

    def band(*assumed):
        model = traced.asked.interconnects["infiniband"]
        other = replace(model, simulate=model.simulate | {"assumed": list(assumed)})
        asked = replace(traced.asked, interconnects=traced.asked.interconnects | {"infiniband": other})
        plan = replace(traced, design=replace(traced.design, asked=asked))
        replay_study(plan, 1)
        file = plan.paths.simulated / "elbow_segregated-smoke/infiniband/processes-4.json"
        record = json.loads(file.read_text())
        assert record["seconds_low"] <= record["seconds"] <= record["seconds_high"]
        low, high = record["details"]["least_computing_seconds"]
        assert low == record["seconds_low"] and (high > low if assumed else high == low)
        return record["seconds_high"] - record["seconds_low"]

    assert band("host_overhead") > band()
