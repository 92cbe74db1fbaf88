import dataclasses
import json
import re
import shutil
from math import prod
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused import refusal
from stamped_logs import stamped

from workflows.applications import application
from workflows.applications.openfoam import factors_by_area
from workflows.domain import InputError, Line

openfoam = application("openfoam")

LOGS = Path(__file__).parents[1] / "logs/openfoam"
PREPARED = """\
0.1 nProcs : 1
0.2 Starting time loop
0.3 Time = 0.1
0.3 Courant Number mean: 0.1 max: 0.3
0.4 smoothSolver:  Solving for Ux, Initial residual = 1, Final residual = 1e-9, No Iterations 4
0.5 DICPCG:  Solving for p, Initial residual = 1, Final residual = 1e-3, No Iterations 10
0.5 time step continuity errors : sum local = 1e-4, global = 0, cumulative = 0
0.6 DICPCG:  Solving for p, Initial residual = 0.5, Final residual = 1e-7, No Iterations 20
0.6 time step continuity errors : sum local = 1e-7, global = 0, cumulative = 0
1.0 ExecutionTime = 0.5 s  ClockTime = 1 s
1.1 Time = 0.2
1.1 Courant Number mean: 0.1 max: 0.5
1.2 smoothSolver:  Solving for Ux, Initial residual = 0.25, Final residual = 1e-9, No Iterations 3
1.3 DICPCG:  Solving for p, Initial residual = 0.125, Final residual = 1e-3, No Iterations 5
1.3 time step continuity errors : sum local = 2e-8, global = 0, cumulative = 0
1.4 DICPCG:  Solving for p, Initial residual = 0.0625, Final residual = 1e-7, No Iterations 6
1.4 time step continuity errors : sum local = 3e-9, global = 0, cumulative = 0
1.5 ExecutionTime = 0.9 s  ClockTime = 1 s
1.6 Time = 0.3
1.6 Courant Number mean: 0.1 max: 0.4
1.8 smoothSolver:  Solving for Ux, Initial residual = 0.01, Final residual = 1e-9, No Iterations 2
1.9 DICPCG:  Solving for p, Initial residual = 0.02, Final residual = 1e-7, No Iterations 7
2.0 time step continuity errors : sum local = 4e-9, global = 0, cumulative = 0
3.0 ExecutionTime = 1.3 s  ClockTime = 3 s
3.4     volAverage(region0) of magSqr(U) = 0.25
3.5 End
"""


@pytest.fixture
def three_steps(case):
    cavity = case("cavity-smoke")
    return dataclasses.replace(cavity, parameters=cavity.parameters | {"iterations": 3})


class TestReadByHand:
    def test_times(self, three_steps):
        reading = openfoam.read(three_steps, 1, stamped(PREPARED))
        assert reading.problem is None
        assert reading.startup_seconds == pytest.approx(0.3)  # to the first "Time ="
        assert reading.seconds == pytest.approx(2.0)  # from the end of the first step to that of the third
        assert reading.output_seconds == pytest.approx(0.5)
        assert reading.answer == 0.25

    def test_details(self, three_steps):
        assert openfoam.read(three_steps, 1, stamped(PREPARED)).details == {
            "iterations": 3,
            "first_iteration_seconds": 0.7,
            "iteration_seconds": [0.5, 1.5],
            # Steps 2 and 3, from line to line: Ux 0.1 + 0.2, p 0.1 + 0.1 + 0.1, the rest 0.2 + 0.1 + 0.1 + 1.0
            "loop_seconds": {"U": pytest.approx(0.3), "p": pytest.approx(0.3), "other": pytest.approx(1.4)},
            "cpu_seconds_of_rank_0": 1.3,
            "initial_residuals": {"Ux": 0.01, "p": 0.02},
            "linear_iterations": {"Ux": 9, "p": 48},
            "solver_iterations": {"Ux": 3, "p": 16},
            "continuity_error": 4e-9,
            "recent_continuity_error": 1e-7,  # of all three iterations
            "largest_courant": 0.5,
        }

    @pytest.mark.parametrize(
        ("old", "new", "problem"),
        [
            ("nProcs : 1", "nProcs : 2", "ran on 2 processes, not 1"),
            ("3.5 End\n", "", "incomplete: no 'End' after the last iteration"),
            ("max: 0.5", "max: 1.5", "diverged: Courant number 1.5 above 1"),
            ("max: 0.5", "max: nan", "diverged: Courant number is not there or no finite number"),
            ("local = 4e-9", "local = 4e-3", "diverged: continuity error 0.004 above 1e-06"),
            ("= 0.02", "= -nan", "diverged: residual of p is not there or no finite number"),
            ("= 0.25\n3.5", "= inf\n3.5", "no mean_square_velocity printed, or no finite number"),
            ("= 0.25\n3.5", "= -7e36\n3.5", "diverged: mean_square_velocity -7e+36 outside 0 to 1 m2/s2"),
            ("= 3 s", "= 5 s", "time unsure: 2.0 s by the arrival of the lines, 3.0 to 5.0 s by OpenFOAM"),
            ("= 3 s", "= x s", "time unsure: no number in OpenFOAM's ExecutionTime or ClockTime"),
            ("ExecutionTime = 1.3", "Execution", "incomplete: 2 of 3 iterations"),
            ("Time = 0.1\n", "\n", "incomplete: 0 of 3 iterations"),
        ],
    )
    def test_runs_that_do_not_count(self, three_steps, old, new, problem):
        assert old in PREPARED
        assert openfoam.read(three_steps, 1, stamped(PREPARED.replace(old, new))).problem == problem

    @pytest.mark.parametrize(("clock", "unsure"), [(3, False), (4, False), (5, True), (2, False), (1, True)])
    def test_the_stamps_must_agree_with_a_clock_of_whole_seconds(self, three_steps, clock, unsure):
        # Two seconds by the stamps; the clock passed from 1 to this, which is within a second of it.
        lines = stamped(PREPARED.replace("ClockTime = 3", f"ClockTime = {clock}"))
        assert bool(openfoam.read(three_steps, 1, lines).problem) == unsure

    @pytest.mark.parametrize(("cpu", "unsure"), [(2.5, False), (3.3, True), (4.3, False)])
    def test_a_run_is_not_faster_than_the_processor(self, three_steps, cpu, unsure):
        # From 0.5 to 3.3 s are 2.8 s of CPU, in 2 s by the stamps. 3.8 s do not fit into the clock's 2 s either:
        # they are those of more than one thread.
        lines = stamped(PREPARED.replace("ExecutionTime = 1.3", f"ExecutionTime = {cpu}"))
        assert bool(openfoam.read(three_steps, 1, lines).problem) == unsure

    def test_residual_limits(self, three_steps):
        strict = three_steps.settings["read"] | {"residuals": {"p": 0.01, "k": 1}}
        case = dataclasses.replace(three_steps, settings=three_steps.settings | {"read": strict})
        assert openfoam.read(case, 1, stamped(PREPARED)).problem == "diverged: residual of p 0.02 above 0.01"
        strict["residuals"]["p"] = 1
        assert "residual of k is not there" in openfoam.read(case, 1, stamped(PREPARED)).problem

    def test_a_parallel_run_prints_its_end(self, three_steps):
        parallel = PREPARED.replace("nProcs : 1", "nProcs : 2")
        assert "Finalising" in openfoam.read(three_steps, 2, stamped(parallel)).problem
        ended = parallel + "3.6 Finalising parallel run\n"
        assert openfoam.read(three_steps, 2, stamped(ended)).problem is None

    def test_an_answer_from_before_the_end_is_ignored(self, three_steps):
        early = PREPARED.replace("3.4     volAverage", "3.4     other").replace(
            "1.6 Time = 0.3", "1.6     volAverage(region0) of magSqr(U) = 0.3\n1.6 Time = 0.3"
        )
        assert openfoam.read(three_steps, 1, stamped(early)).answer is None


class TestReadRealLogs:
    @pytest.mark.parametrize(
        ("name", "log", "processes"),
        [
            ("elbow_segregated-smoke", "elbow_serial", 1),
            ("elbow_segregated-smoke", "elbow_parallel", 2),
            ("cavity-smoke", "cavity_serial", 1),
            ("cavity-smoke", "cavity_parallel", 4),
            ("elbow_coupled-smoke", "elbow_coupled_parallel", 2),
            ("rotor-smoke", "rotor_serial", 1),
            ("fighter-smoke", "fighter_parallel", 2),
            ("burner-smoke", "burner_serial", 1),
            ("coal_boiler-smoke", "coal_boiler_parallel", 2),
        ],
    )
    def test_good_runs(self, case, real_log, name, log, processes):
        smoke, lines = case(name), real_log("openfoam", log)
        reading = openfoam.read(smoke, processes, lines)
        assert reading.problem is None
        assert reading.answer == pytest.approx(smoke.answer.golden, rel=smoke.answer.tolerance)
        iterations = smoke.parameters["iterations"]
        assert reading.details["iterations"] == iterations
        gaps = reading.details["iteration_seconds"]
        assert len(gaps) == iterations - 1
        assert reading.seconds == pytest.approx(sum(gaps), abs=1e-6 * iterations)
        assert sum(reading.details["loop_seconds"].values()) == pytest.approx(reading.seconds, abs=1e-4)
        parts = reading.startup_seconds + reading.details["first_iteration_seconds"] + reading.seconds
        assert parts + reading.output_seconds == pytest.approx(lines[-1].seconds)
        assert openfoam.version(lines) == "OPENFOAM=1912 patch=200626"

    @pytest.mark.parametrize(
        ("name", "log", "processes", "problem"),
        [
            ("elbow_segregated-smoke", "elbow_killed", 2, "incomplete: 42 of 60 iterations"),
            ("elbow_segregated-smoke", "elbow_cut_off", 1, "incomplete: 39 of 60 iterations"),
            ("elbow_segregated-smoke", "elbow_no_scheme", 2, "incomplete: 0 of 60 iterations"),
            ("elbow_segregated-smoke", "elbow_diverged", 1, "diverged: continuity error 7.79e+30 above 0.01"),
            ("elbow_segregated-smoke", "elbow_nan", 1, "diverged: continuity error is not there"),
            ("cavity-smoke", "cavity_fast_lid", 1, "diverged: Courant number 26 above 1"),
            ("sedan-smoke", "sedan_diverged", 1, "diverged: continuity error 6.05e+30 above 0.1"),
            ("fighter-smoke", "fighter_long_steps", 1, "diverged: Courant number 0.928 above 0.5"),
            ("rotor-smoke", "rotor_hot", 1, "diverged: min(T) 49.25 outside 150 to 500"),
            ("cavity-smoke", "cavity_parallel", 2, "ran on 4 processes, not 2"),
            ("cavity-smoke", "elbow_serial", 1, "incomplete: 60 of 20 iterations"),
        ],
    )
    def test_bad_runs(self, case, real_log, name, log, processes, problem):
        reading = openfoam.read(case(name), processes, real_log("openfoam", log))
        assert reading.problem.startswith(problem)
        if problem.startswith("incomplete"):
            assert reading.seconds is None

    def test_a_coupled_solver_counts_the_iterations_of_each_component(self, case, real_log):
        lines = real_log("openfoam", "elbow_coupled_parallel")
        details = openfoam.read(case("elbow_coupled-smoke"), 2, lines).details
        assert {"Ux", "Uy", "Uz", "p"} < set(details["linear_iterations"])
        printed = [line.text for line in lines if "Solving for Ux" in line.text]
        counts = [int(text.partition("No Iterations (")[2].partition(" ")[0]) for text in printed]
        assert details["linear_iterations"]["Ux"] == sum(counts) > 0

    def test_an_explicit_solver_has_a_courant_number_and_no_continuity_error(self, case, real_log):
        details = openfoam.read(case("fighter-smoke"), 2, real_log("openfoam", "fighter_parallel")).details
        assert details["continuity_error"] is None
        assert details["largest_courant"] == pytest.approx(0.232, abs=0.001)

    def test_a_range_that_is_not_printed_is_no_proof(self, case, real_log):
        rotor = case("rotor-smoke")
        read = rotor.settings["read"] | {"ranges": {"T": [150, 500], "rho": [0, 10]}}
        rotor = dataclasses.replace(rotor, settings=rotor.settings | {"read": read})
        problem = openfoam.read(rotor, 1, real_log("openfoam", "rotor_serial")).problem
        assert problem == "diverged: min(rho) is not there or no finite number"

    def test_a_diverged_run_that_exits_0_still_has_its_absurd_answer(self, case, real_log):
        reading = openfoam.read(case("elbow_segregated-smoke"), 1, real_log("openfoam", "elbow_diverged"))
        assert reading.answer < -1e60

    def test_the_reason_is_in_standard_error(self):
        errors = (LOGS / "elbow_no_scheme.err").read_text()
        assert openfoam.explain(errors).startswith(
            "FOAM FATAL IO ERROR: Entry 'div(phi,k)' not found in dictionary"
        )
        assert openfoam.explain("mpirun noticed that process rank 1 exited on signal 9") is None

    @given(data=st.data())
    def test_a_log_cut_anywhere_before_its_end_never_counts(self, case, real_log, data):
        logs = [("cavity-smoke", "cavity_parallel", 4), ("elbow_segregated-smoke", "elbow_serial", 1)]
        name, log, processes = data.draw(st.sampled_from(logs))
        lines = real_log("openfoam", log)
        last = next(place for place, line in reversed(list(enumerate(lines))) if line.text.strip())
        cut = list(lines[: data.draw(st.integers(0, last))])
        if cut and data.draw(st.booleans()):
            cut[-1] = Line(cut[-1].seconds, cut[-1].text[: data.draw(st.integers(0, len(cut[-1].text)))])
        assert openfoam.read(case(name), processes, cut).problem


class TestFactors:
    def test_a_long_duct_is_cut_across(self):
        assert factors_by_area(4, (4, 1, 1))[0] == (4, 1, 1)
        assert factors_by_area(4, (1, 1, 4))[0] == (1, 1, 4)

    def test_a_cube_is_cut_into_cubes(self):
        assert factors_by_area(8, (1, 1, 1))[0] == (2, 2, 2)

    def test_areas_by_hand(self):
        # Volume 6; cuts across x, y and z have areas 2, 3 and 6: (2,1,1) 2, (1,2,1) 3, (1,1,2) 6.
        assert factors_by_area(2, (3, 2, 1)) == [(2, 1, 1), (1, 2, 1), (1, 1, 2)]

    @given(st.integers(1, 200), st.tuples(*[st.floats(0.01, 100)] * 3))
    def test_every_way_is_there_once(self, processes, extent):
        ways = factors_by_area(processes, extent)
        assert len(set(ways)) == len(ways)
        assert all(prod(way) == processes for way in ways)
        assert {(processes, 1, 1), (1, processes, 1), (1, 1, processes)} <= set(ways)


class TestInputs:
    def entries(self, case):
        control = openfoam.inputs(case)["system/controlDict"].decode()
        return dict(re.findall(r"^(\w+) (.+);$", control, re.M))

    @pytest.mark.parametrize(("name", "end", "step"), [("cavity", 0.75, 0.0125), ("elbow_segregated", 80, 1)])
    def test_nothing_is_written_adapted_or_read_again_in_a_timed_run(self, case, name, end, step):
        entries = self.entries(case(name))
        assert (float(entries["endTime"]), float(entries["deltaT"])) == (end, step)
        assert int(entries["writeInterval"]) > case(name).parameters["iterations"]
        assert entries["runTimeModifiable"] == "false"
        assert entries["adjustTimeStep"] == "no"
        assert entries["startFrom"] == "startTime"

    def test_parameters_are_there_to_be_included(self, case):
        assert b"cells_across 20;" in openfoam.inputs(case("elbow_segregated"))["system/parameters"]

    def test_a_case_with_its_own_control_dictionary_is_refused(self, case, tmp_path):
        (tmp_path / "system").mkdir()
        (tmp_path / "system/controlDict").touch()
        copied = dataclasses.replace(case("cavity"), folder=tmp_path)
        with pytest.raises(InputError, match="system/controlDict: not for the case"):
            openfoam.inputs(copied)

    def test_an_environment_that_is_set_is_left_alone(self, case, monkeypatch):
        monkeypatch.delenv("WM_PROJECT_DIR", raising=False)
        assert openfoam.environment(case("cavity")) == {"WM_PROJECT_DIR": "/usr/share/openfoam"}
        monkeypatch.setenv("WM_PROJECT_DIR", "/opt/openfoam")
        assert openfoam.environment(case("cavity")) == {}

    def test_programs_and_commands(self, case):
        elbow = case("elbow_segregated")
        assert openfoam.programs(elbow) == ["blockMesh", "checkMesh", "decomposePar", "simpleFoam"]
        assert openfoam.command(elbow, 1) == ["simpleFoam"]
        assert openfoam.command(elbow, 2) == ["simpleFoam", "-parallel"]


@pytest.fixture(scope="module")
def prepared(case, tmp_path_factory):
    """Prepare the duct for 1, 2 and 4 processes."""
    folder = tmp_path_factory.mktemp("prepared")
    smoke = case("elbow_segregated-smoke")
    openfoam.prepare(smoke, 1, folder / "1", None)
    for processes in (2, 4):
        openfoam.prepare(smoke, processes, folder / str(processes), folder / "1")
    return folder


@pytest.mark.slow
class TestPrepare:
    """With the real programs."""

    def facts(self, folder):
        return json.loads((folder / "prepared.json").read_text())

    def test_the_mesh_has_the_cells_of_its_size(self, prepared):
        facts = self.facts(prepared / "1")
        assert facts["cells"] == 4 * 6**3
        assert facts["extent_m"] == pytest.approx([0.31, 0.35, 0.1])
        assert set(facts["program_seconds"]) == {"blockMesh", "checkMesh"}

    @pytest.mark.parametrize("processes", [2, 4])
    def test_every_rank_gets_cells(self, prepared, processes):
        facts = self.facts(prepared / str(processes))
        assert prod(facts["factors"]) == processes
        assert sum(facts["cells"]) == 4 * 6**3
        assert max(facts["cells"]) - min(facts["cells"]) <= 1
        assert len(facts["processor_faces"]) == processes and min(facts["processor_faces"]) > 0

    def test_the_cut_with_the_smallest_largest_halo_is_taken(self, prepared):
        # Twice the 36 faces of a section: one cut at a constant x meets the straight part and the bend. A cut
        # at a constant z would have 144.
        assert max(self.facts(prepared / "2")["processor_faces"]) == 72

    def test_staging_links_and_leaves_the_prepared_case_alone(self, case, prepared, tmp_path):
        smoke = case("elbow_segregated-smoke")
        before = sorted(path for path in prepared.rglob("*"))
        openfoam.stage(smoke, prepared / "2", tmp_path)
        staged = {path.name for path in tmp_path.iterdir()}
        assert staged == {"0", "constant", "processor0", "processor1", "system"}
        (tmp_path / "processor0/60").mkdir()  # what a solver might write
        assert sorted(path for path in prepared.rglob("*")) == before
        with pytest.raises(RuntimeError, match="not empty"):
            openfoam.stage(smoke, prepared / "2", tmp_path)

    def broken(self, case, tmp_path, old, new):
        smoke = case("elbow_segregated-smoke")
        shutil.copytree(smoke.folder, tmp_path / "case")
        mesh = tmp_path / "case/system/blockMeshDict"
        text = mesh.read_text()
        assert old in text
        mesh.write_text(text.replace(old, new))
        return dataclasses.replace(smoke, folder=tmp_path / "case")

    def test_a_mesh_that_cannot_be_made_is_one_line_with_openfoams_reason(self, case, tmp_path):
        broken = self.broken(case, tmp_path, "$cells_across", "$cells_acros")
        message = refusal(RuntimeError, openfoam.prepare, broken, 1, tmp_path / "prepared", None)
        assert message.startswith("blockMesh: exit status 1: ") and "cells_acros" in message

    def test_a_bad_mesh_is_refused(self, case, tmp_path):
        broken = self.broken(case, tmp_path, "(1.1 2 0) (0.5 2 0)", "(1.1 2 0) (1.05 0.1 0)")
        message = refusal(RuntimeError, openfoam.prepare, broken, 1, tmp_path / "prepared", None)
        assert message.startswith("checkMesh: the mesh is not good: ")

    def test_a_case_may_bring_its_mesh(self, case, prepared, tmp_path):
        smoke = case("elbow_segregated-smoke")
        shutil.copytree(smoke.folder, tmp_path / "case")
        shutil.copytree(prepared / "1/constant/polyMesh", tmp_path / "case/constant/polyMesh")
        (tmp_path / "case/system/blockMeshDict").unlink()
        brought = dataclasses.replace(smoke, folder=tmp_path / "case", settings=smoke.settings | {"mesh": []})
        openfoam.prepare(brought, 1, tmp_path / "1", None)
        openfoam.prepare(brought, 2, tmp_path / "2", tmp_path / "1")
        for processes in ("1", "2"):
            made, meshed = (self.facts(of / processes) for of in (prepared, tmp_path))
            assert "blockMesh" not in meshed["program_seconds"]
            assert {**made, "program_seconds": 0} == {**meshed, "program_seconds": 0}

    def test_more_processes_than_cells_is_refused(self, case, tmp_path):
        tiny = case("elbow_segregated-smoke")
        tiny = dataclasses.replace(tiny, parameters=tiny.parameters | {"cells_across": 1})
        openfoam.prepare(tiny, 1, tmp_path / "1", None)
        with pytest.raises(RuntimeError, match=r"^decomposePar: "):
            openfoam.prepare(tiny, 16, tmp_path / "16", tmp_path / "1")


class TestUntimed:
    """Total time of the programs of the preparation."""

    def test_of_a_mesh_and_of_a_decomposition(self, tmp_path):
        file = tmp_path / "prepared.json"
        file.write_text('{"cells": 8, "program_seconds": {"blockMesh": 1.5, "checkMesh": 0.5}}')
        assert openfoam.untimed(tmp_path) == {"mesh": 2.0}
        file.write_text('{"processor_faces": [4, 4], "program_seconds": {"decomposePar": 0.25}}')
        assert openfoam.untimed(tmp_path) == {"decomposition": 0.25}

    def test_unknown_without_the_prepared_folder(self, tmp_path):
        assert openfoam.untimed(tmp_path) == {}


class TestWork:
    """Cells times the iterations that are timed: all but the first."""

    def test_of_a_mesh_and_of_a_decomposition(self, tmp_path):
        for cells in (32_000, [16_000, 16_000]):
            (tmp_path / "prepared.json").write_text(json.dumps({"cells": cells}))
            work = openfoam.work(tmp_path, {"iterations": 80})
            assert (work.amount, work.unit) == (32_000 * 79, "cell iterations")

    def test_unknown_without_the_prepared_mesh_or_a_timed_iteration(self, tmp_path):
        assert openfoam.work(tmp_path, {"iterations": 80}) is None
        (tmp_path / "prepared.json").write_text('{"cells": 8}')
        assert openfoam.work(tmp_path, {"iterations": 1}) is None
