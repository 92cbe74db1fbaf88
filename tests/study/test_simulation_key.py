"""Replays of a study in addition to its measurements: their cases and process counts."""

import pytest
from refused import refusal
from study_files import study_file as write

from workflows.domain import InputError, Point
from workflows.plan import design, files
from workflows.plan.design import expected_simulation
from workflows.plan.plan import make_plan
from workflows.study.study import check_simulation, read_study

STUDY = """
name: mine
cases: [cavity-4k]
interconnects: [shared_memory, gigabit_ethernet]
processes: [1, 2]
oversubscription: [1, 2]
exclude: [{processes: 16}, {processes: 2, oversubscription: 2}]
simulation:
  cases: [elbow_segregated-smoke]
  processes: [1, 16, 8]
"""
PROCESSOR = "  processor: {name: Old, linpack_100_Mflops: 1000, stream_triad_MBps: 4000, source: a table}\n"


def test_replays_have_their_own_cases_and_counts(tmp_path):
    plan = make_plan(write(tmp_path, STUDY))
    assert {point.case for point in plan.design.points} == {"cavity-4k"}
    assert {(point.case, point.processes) for point in plan.design.simulated} == {
        ("elbow_segregated-smoke", 1),
        ("elbow_segregated-smoke", 8),  # 16 is excluded
    }
    assert {point.oversubscription for point in plan.design.simulated} == {1}
    assert sorted(plan.asked.cases) == ["cavity-4k", "elbow_segregated-smoke"]
    assert not any("simulated interconnect" in entry.reason for entry in plan.design.left_out)


def test_a_measured_run_of_a_replayed_case_does_not_count(tmp_path):
    plan = make_plan(write(tmp_path, STUDY))
    assert plan.asked.asks_for(Point("cavity-4k", "shared_memory", 2, 1, 1, 2))
    assert not plan.asked.asks_for(Point("elbow_segregated-smoke", "shared_memory", 2, 1, 1, 2))


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("cavity-4k]", "cavity]\nscale: 0.1", "simulation.cases: does not belong here, since scale chooses"),
        ("simulation:\n", "simulation:\n  host_speed: 0.2\n  host_speed_range: [0.13, 0.17]\n",
         "simulation.host_speed_range: 0.13 to 0.17 does not hold host_speed, 0.2"),
        ("simulation:\n", f"simulation:\n  host_speed: 0.2\n{PROCESSOR}",
         "simulation.host_speed: does not belong here, since simulation.processor sets the speed of cores"),
        ("simulation:\n", f"simulation:\n{PROCESSOR.replace(', source: a table', '')}",
         "simulation.processor.source: missing"),
        ("elbow_segregated-smoke", "elbow_segregatd", "simulation.cases[0]: no case 'elbow_segregatd'"),
        (", gigabit_ethernet", "", "simulation.cases: no interconnect of the study is simulated"),
        ("shared_memory, ", "", "simulation.cases: nothing is measured here; write it as cases"),
        ("processes: 16", "processes: 64", "exclude[0].processes: 64 is not in this study (1, 2, 8, 16)"),
    ],
)  # fmt: skip
def test_one_line_for_keys_that_do_not_fit(tmp_path, old, new, line):
    assert line in refusal(InputError, make_plan, write(tmp_path, STUDY.replace(old, new)))


def test_another_range_of_speeds_is_replayed_without_new_runs(tmp_path):
    plain = make_plan(write(tmp_path, STUDY)).design
    given = "simulation:\n  host_speed_range: [0.9, 1.1]\n"
    ranged = make_plan(write(tmp_path, STUDY.replace("simulation:\n", given))).design
    assert ranged.replay_digest != plain.replay_digest and ranged.digest == plain.digest


def test_another_processor_is_replayed_and_measures_the_core_speed(tmp_path):
    plain = make_plan(write(tmp_path, STUDY))
    derived = make_plan(write(tmp_path, STUDY.replace("simulation:\n", f"simulation:\n{PROCESSOR}")))
    assert derived.design.replay_digest != plain.design.replay_digest
    assert not files.needs_processor(plain) and files.needs_processor(derived)


def test_without_them_the_study_itself_is_replayed(tmp_path):
    study = read_study(write(tmp_path, STUDY.partition("simulation")[0]))
    assert study.replayed is study
    check_simulation(study, {"shared_memory": "measured"})


def test_tracing_is_counted_once_and_replaying_once_an_interconnect(monkeypatch):
    monkeypatch.setattr(design, "TRACING_SECONDS", 100)
    monkeypatch.setattr(design, "TRACING_SECONDS_OF_RANK", 1)
    monkeypatch.setattr(design, "REPLAYING_SECONDS", 0.5)
    points = [Point("duct", None, 1, 1, 1, 1)]
    points += [Point("duct", name, 8, 1, 4, 8) for name in ("slow", "swift")]
    assert expected_simulation(points) == 2 * 100 + 9 + 8
