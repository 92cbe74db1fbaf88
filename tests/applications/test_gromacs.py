import dataclasses
import shutil

import pytest
from refused import refusal

from workflows.applications import application
from workflows.domain import InputError
from workflows.measure.answers import compare_answer
from workflows.paths import ROOT

gromacs = application("gromacs")


@pytest.fixture(scope="module")
def water(case):
    return case("water_box-smoke")


def read(case, real_log, log, processes=1, threads=1, **parameters):
    changed = dataclasses.replace(case, parameters=case.parameters | parameters)
    return gromacs.read(changed, processes, list(real_log("gromacs", log)), threads)


class TestGoodRuns:
    @pytest.mark.parametrize(
        ("log", "processes", "threads"),
        [("water_serial", 1, 1), ("water_parallel", 2, 1), ("water_threads", 1, 2)],
    )
    def test_a_run_has_its_time_and_the_golden_answer(self, water, real_log, log, processes, threads):
        reading = read(water, real_log, log, processes, threads)
        assert reading.problem is None
        golden = {"value": water.answer.golden, "source": "golden"}
        assert compare_answer(water, reading.answer, golden)[1] is None
        assert reading.startup_seconds > 0
        assert reading.output_seconds >= 0

    def test_seconds_parts_and_rates_come_from_the_log(self, water, real_log, tmp_path):
        reading = read(water, real_log, "water_parallel", 2)
        text = "\n".join(line.text for line in real_log("gromacs", "water_parallel"))
        assert f" {reading.printed} " in text and reading.seconds == float(reading.printed)
        details = reading.details
        assert {"Force", "PME mesh", "Comm. coord.", "Rest"} <= set(details["loop_seconds"])
        assert sum(details["loop_seconds"].values()) == pytest.approx(reading.seconds, abs=0.01)
        assert (details["atoms"], details["steps"], details["simulated_ps"]) == (5184, 100, 0.2)
        work = gromacs.work(tmp_path, details)
        # GROMACS also counts the step at time 0, so its rate is one percent higher.
        assert work.amount / reading.seconds * 86.4 * 1.01 == pytest.approx(details["ns_per_day"], rel=1e-3)

    def test_the_version(self, real_log):
        assert gromacs.version(list(real_log("gromacs", "water_serial"))) == "2022.5-Debian_2022.5_2"


class TestBadRuns:
    def test_another_count_of_processes_or_threads(self, water, real_log):
        assert read(water, real_log, "water_serial", 2).problem == "ran on 1 process, not 2"
        assert read(water, real_log, "water_threads", 1, 4).problem == "ran with 2 threads a process, not 4"

    @pytest.mark.parametrize(
        ("log", "processes", "steps", "problem"),
        [
            ("water_long_steps", 2, 100, "diverged: Temperature at step 0 is not there or no finite number"),
            ("water_killed", 2, 20000, "incomplete: 150 of 20000 steps"),
            # A stopped GROMACS ends in order and prints a time.
            ("water_cut_off", 1, 20000, "incomplete: 410 of 20000 steps"),
        ],
    )
    def test_a_crashed_or_stopped_run(self, water, real_log, log, processes, steps, problem):
        assert read(water, real_log, log, processes, steps=steps).problem == problem

    def test_another_cutoff_gives_another_answer(self, water, real_log):
        reading = read(water, real_log, "water_cutoff")
        assert reading.problem is None
        golden = {"value": water.answer.golden, "source": "golden"}
        assert "differs from the golden" in compare_answer(water, reading.answer, golden)[1]

    def test_a_fatal_error_is_one_line(self, water, real_log):
        reason = (
            "GROMACS stopped: The number of ranks selected for particle-particle work (13) contains a large"
        )
        assert read(water, real_log, "water_prime_ranks", 13).problem.startswith(reason)
        explained = gromacs.explain((ROOT / "tests/logs/gromacs/water_prime_ranks.err").read_text())
        assert explained.startswith(reason) and explained.endswith("(option -dd) manually.")

    def test_water_that_flies_apart_is_named_on_standard_error(self):
        banner = "              :-) GROMACS - gmx mdrun, 2022.5 (-:\n"
        failed = "step 0: One or more water molecules can not be settled.\nCheck for bad contacts\n"
        assert gromacs.explain(banner + failed) == failed.splitlines()[0]
        assert gromacs.explain(banner + "100 steps,      0.2 ps.\n") is None
        assert gromacs.explain("mpirun: no such host\n") == "mpirun: no such host"


class TestFiles:
    def test_steps_seeds_and_the_number_of_waters_are_written(self, water):
        files = gromacs.inputs(water)
        assert files["grompp.mdp"].decode().endswith("nsteps = 100\ngen-seed = 1\nld-seed = 1\n")
        assert files["topol.top"].decode().endswith("SOL 1728\n")

    def test_nothing_is_tuned_while_it_runs(self, water):
        command = gromacs.command(water, 2, 3)
        assert {"-reprod", "-notunepme"} <= set(command)
        assert command[command.index("-ntomp") + 1] == "3"

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            ("grompp.mdp", "integrator = md\nnsteps = 5\n", "nsteps is not for the case"),
            ("grompp.mdp", "gen_seed = -1\n", "gen-seed is not for the case"),
            ("grompp.mdp", "dt = $step\n", "$step has no value; parameters: boxes_per_side, steps"),
            ("conf.gro", "", "conf.gro and topol.top belong together; one is missing"),
        ],
    )
    def test_a_wrong_input_is_refused(self, water, tmp_path, name, text, message):
        folder = tmp_path / "water"
        shutil.copytree(water.folder, folder)
        (folder / name).write_text(text)
        assert message in refusal(InputError, gromacs.inputs, dataclasses.replace(water, folder=folder))

    def test_a_missing_input_is_refused(self, water, tmp_path):
        message = refusal(InputError, gromacs.inputs, dataclasses.replace(water, folder=tmp_path))
        assert "grompp.mdp: no such file" in message

    def test_a_run_links_its_input_and_prints_its_log(self, water, tmp_path):
        (tmp_path / "prepared").mkdir()
        (tmp_path / "prepared/topol.tpr").touch()
        (tmp_path / "run").mkdir()
        gromacs.stage(water, tmp_path / "prepared", tmp_path / "run")
        assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["md.log", "topol.tpr"]
        assert str((tmp_path / "run/md.log").readlink()) == "/dev/stdout"


@pytest.mark.slow
def test_systems_of_the_user_are_prepared_unchanged(water, tmp_path):
    """A conf.gro and topol.top of the case's folder replace the box of water."""
    gromacs.prepare(water, 1, tmp_path / "made", None)
    folder = tmp_path / "case"
    shutil.copytree(water.folder, folder)
    for name in ("conf.gro", "topol.top"):
        shutil.copy(tmp_path / "made" / name, folder)
    copy = dataclasses.replace(water, folder=folder)
    gromacs.prepare(copy, 1, tmp_path / "1", None)
    gromacs.prepare(copy, 2, tmp_path / "2", tmp_path / "1")
    assert (tmp_path / "2/topol.tpr").samefile(tmp_path / "1/topol.tpr")
    assert not (tmp_path / "1/box.gro").exists()
