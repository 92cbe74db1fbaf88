import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused import refusal

from workflows.applications import application
from workflows.domain import InputError, Line
from workflows.measure.answers import compare_answer

lammps = application("lammps")


@pytest.fixture(scope="module")
def melt(case):
    return case("lj_melt-smoke")


def read(case, real_log, log, processes=1, threads=1, **parameters):
    longer = dataclasses.replace(case, parameters=case.parameters | parameters)
    return lammps.read(longer, processes, list(real_log("lammps", log)), threads)


class TestGoodRuns:
    @pytest.mark.parametrize(("log", "processes"), [("melt_serial", 1), ("melt_parallel", 2)])
    def test_a_run_has_its_time_and_the_golden_answer(self, melt, real_log, log, processes):
        reading = read(melt, real_log, log, processes)
        assert reading.problem is None
        golden = {"value": melt.answer.golden, "source": "golden"}
        assert compare_answer(melt, reading.answer, golden)[1] is None
        assert 0 < reading.startup_seconds < reading.startup_seconds + reading.seconds
        assert reading.output_seconds >= 0

    def test_seconds_parts_and_work_come_from_the_log(self, melt, real_log, tmp_path):
        reading = read(melt, real_log, "melt_serial")
        text = "\n".join(line.text for line in real_log("lammps", "melt_serial"))
        assert f"Loop time of {reading.seconds:g} on 1 procs for 200 steps with 4000 atoms" in text
        parts = reading.details["loop_seconds"]
        assert set(parts) == {"Pair", "Neigh", "Comm", "Output", "Modify", "Other"}
        assert sum(parts.values()) == pytest.approx(reading.seconds, rel=1e-3)
        assert lammps.work(tmp_path, reading.details).amount == 4000 * 200

    def test_threads_are_counted_and_change_no_answer(self, melt, real_log):
        """ "2 procs" in the loop line of LAMMPS means one process of two threads."""
        reading = read(melt, real_log, "melt_threads", 1, 2)
        assert reading.problem is None and reading.answer == pytest.approx(melt.answer.golden, rel=1e-9)
        assert read(melt, real_log, "melt_threads", 1, 4).problem == "ran with 2 threads a process, not 4"
        assert read(melt, real_log, "melt_serial", 1, 2).problem == "ran with 1 thread a process, not 2"
        assert "-sf omp -pk omp 2" in " ".join(lammps.command(melt, 1, 2))
        assert "omp" not in lammps.command(melt, 1)

    def test_a_build_without_openmp_has_no_threads(self, melt, tmp_path):
        plain, openmp = tmp_path / "plain", tmp_path / "openmp"
        plain.write_bytes(b"N9LAMMPS_NS6FixNVEE")
        openmp.write_bytes(b"N9LAMMPS_NS6FixNVEE N9LAMMPS_NS6FixOMPE")
        assert lammps.unthreaded(melt, str(plain)) == f"{plain} was built without LAMMPS's package OPENMP"
        assert lammps.unthreaded(melt, str(openmp)) is None

    def test_the_version(self, real_log):
        assert lammps.version(real_log("lammps", "melt_serial")) == "29 Sep 2021 - Update 2"


class TestBadRuns:
    @pytest.mark.parametrize(
        ("log", "processes", "steps", "problem"),
        [
            ("melt_lost_atoms", 2, 200, "LAMMPS stopped: Lost atoms: original 4000 current 976"),
            ("melt_no_variable", 2, 200, "LAMMPS stopped: Substitution for illegal variable stepss"),
            ("melt_drift", 1, 200, "diverged: TotEng -4.6318 at step 100 outside -4.63 to -4.61"),
            ("melt_cutoff", 1, 200, "diverged: TotEng -4.56698 at step 100 outside -4.63 to -4.61"),
            ("melt_killed", 2, 20000, "incomplete: 300 of 20000 steps"),
            ("melt_cut_off", 1, 20000, "incomplete: 400 of 20000 steps"),
            ("melt_serial", 1, 300, "incomplete: 200 of 300 steps"),
            ("melt_parallel", 1, 200, "ran on 2 processes, not 1"),
        ],
    )
    def test_each_has_one_reason(self, melt, real_log, log, processes, steps, problem):
        assert read(melt, real_log, log, processes, steps=steps).problem == problem

    def test_a_sound_run_with_another_answer_is_wrong(self, melt, real_log):
        reading = read(melt, real_log, "melt_other_seed")
        assert reading.problem is None
        wrong = compare_answer(melt, reading.answer, {"value": melt.answer.golden, "source": "golden"})[1]
        assert wrong.startswith("potential_energy -5.742357971 differs from the golden answer -5.750092373")

    def test_an_energy_that_is_no_number_has_diverged(self, melt, real_log):
        lines = list(real_log("lammps", "melt_serial"))
        bad = [Line(line.seconds, line.text.replace("-4.6232753268", "-nan")) for line in lines]
        assert bad != lines
        problem = lammps.read(melt, 1, bad).problem
        assert problem == "diverged: TotEng at step 200 is not there or no finite number"

    @given(data=st.data())
    def test_a_log_cut_anywhere_before_its_end_never_counts(self, melt, real_log, data):
        lines = [line for line in real_log("lammps", "melt_parallel") if line.text.strip()]
        cut = lines[: data.draw(st.integers(0, len(lines) - 1))]
        if cut and data.draw(st.booleans()):
            cut[-1] = Line(cut[-1].seconds, cut[-1].text[: data.draw(st.integers(0, len(cut[-1].text)))])
        assert lammps.read(melt, 2, cut).problem


class TestFiles:
    def test_parameters_are_variables(self, melt):
        command = lammps.command(melt, 2)
        assert command[-6:] == ["-var", "cells_across", "10", "-var", "steps", "200"]

    @pytest.mark.parametrize(
        ("text", "message"),
        [("units lj\n", "0 times run"), ("run 1\nrun 2\n", "2 times run")],
    )
    def test_an_input_without_exactly_one_run_is_refused(self, melt, tmp_path, text, message):
        (tmp_path / "input.lmp").write_text(text)
        assert message in refusal(InputError, lammps.inputs, dataclasses.replace(melt, folder=tmp_path))

    def test_a_missing_input_is_refused(self, melt, tmp_path):
        message = refusal(InputError, lammps.inputs, dataclasses.replace(melt, folder=tmp_path))
        assert "input.lmp: no such file" in message

    def test_prepared_and_staged_folders_start_empty(self, melt, tmp_path):
        lammps.prepare(melt, 2, tmp_path / "prepared", None)
        stage = tmp_path / "run"
        stage.mkdir()
        lammps.stage(melt, tmp_path / "prepared", stage)
        assert [path.name for path in stage.iterdir()] == ["input.lmp"]
        with pytest.raises(RuntimeError, match="every run needs a fresh folder"):
            lammps.stage(melt, tmp_path / "prepared", stage)
