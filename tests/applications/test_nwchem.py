import dataclasses
from pathlib import Path

import pytest
from disturbed import undisturbed_run
from hypothesis import given
from hypothesis import strategies as st
from refused import refusal
from stamped_logs import stamped

from workflows.applications import application
from workflows.domain import InputError, Point
from workflows.launch.execution import Execution
from workflows.measure.answers import compare_answer
from workflows.measure.running import problem_of
from workflows.paths import INTERCONNECTS
from workflows.study.interconnects import load_interconnect

nwchem = application("nwchem")

LOGS = Path(__file__).parents[1] / "logs/nwchem"
BY_HAND = """\
0.3     nwchem branch   = 7.0.2
0.3     ga revision     = 5.8.0
0.3     status          = startup
0.3     nproc           =        2
0.4                                 NWChem Input Module
0.5                                  NWChem SCF Module
2.0          Total SCF energy =    -75.997519292000
2.5  Task  times  cpu:        1.9s     wall:        2.0s
2.5                                 NWChem Input Module
2.6       create   destroy   get      put      acc     scatter   gather  read&inc
2.6 calls:  365      364     1801     1.1e+04  1137        0        0      527
2.6 number of processes/call 0.00e+00 0.00e+00 0.00e+00 0.00e+00 0.00e+00
2.6 bytes total:             9.79e+05 6.50e+05 1.72e+05 0.00e+00 0.00e+00 4.22e+03
2.9  Total times  cpu:        1.9s     wall:        2.1s
"""


@pytest.fixture(scope="module")
def scf(case):
    return case("water_scf-smoke")


class TestReadByHand:
    def test_times_energy_and_communication(self, scf):
        reading = nwchem.read(scf, 2, stamped(BY_HAND))
        assert reading.problem is None
        assert reading.startup_seconds == pytest.approx(0.5)
        assert reading.seconds == pytest.approx(2.0)
        assert reading.output_seconds == pytest.approx(0.4)
        assert reading.answer == -75.997519292
        assert reading.details["cpu_seconds_of_rank_0"] == 1.9
        assert reading.details["printed_seconds"] == 2.0
        calls = reading.details["global_array_calls"]
        assert (calls["create"], calls["destroy"], calls["put"], calls["read&inc"]) == (365, 364, 11000, 527)
        sizes = reading.details["global_array_bytes"]
        assert (sizes["get"], sizes["put"], sizes["acc"], sizes["read&inc"]) == (979e3, 650e3, 172e3, 4220)
        assert nwchem.version(stamped(BY_HAND)) == "7.0.2 (Global Arrays 5.8.0)"

    @pytest.mark.parametrize(
        ("old", "new", "problem"),
        [
            ("= startup", "= restart", "not a fresh start: status is restart"),
            ("=        2", "=        1", "not a fresh start: nproc is 1, not 2"),
            ("2.9  Total times", "2.9  Tot", "incomplete: no 'Total times'"),
            ("Task  times", "Task", "incomplete: no 'Total times' after the task"),
            ("        2.0s", "        3.0s", "time unsure: 2.0 s by the arrival of the lines, 3.0 s"),
            ("-75.99", "NaN -75.99", "no energy printed, or no finite number"),
            ("-75.99", "75.99", "diverged: energy 75.9975 outside -100000 to 0 Ha"),
            ("Total SCF", "Total DFT", "no energy printed"),
        ],
    )
    def test_runs_that_do_not_count(self, scf, old, new, problem):
        assert old in BY_HAND
        assert nwchem.read(scf, 2, stamped(BY_HAND.replace(old, new))).problem.startswith(problem)

    @pytest.mark.parametrize(("printed", "unsure"), [(2.3, False), (1.7, False), (2.5, True), (1.5, True)])
    def test_the_stamps_must_agree_with_the_printed_time_within_its_resolution(self, scf, printed, unsure):
        lines = stamped(BY_HAND.replace("wall:        2.0s", f"wall:        {printed}s"))
        assert bool(nwchem.read(scf, 2, lines).problem) == unsure


class TestReadRealLogs:
    @pytest.mark.parametrize(
        ("name", "log", "processes"),
        [
            ("water_scf-smoke", "scf_serial", 1),
            ("water_dft-smoke", "dft_serial", 1),
            ("water_mp2-smoke", "mp2_parallel", 2),
            ("water_ccsd-smoke", "ccsd_parallel", 2),
        ],
    )
    def test_good_runs(self, case, real_log, name, log, processes):
        smoke, lines = case(name), real_log("nwchem", log)
        reading = nwchem.read(smoke, processes, lines)
        assert reading.problem is None
        assert reading.answer == pytest.approx(smoke.answer.golden, rel=smoke.answer.tolerance)
        assert reading.seconds == pytest.approx(reading.details["printed_seconds"], abs=0.1)
        assert reading.startup_seconds + reading.seconds + reading.output_seconds == pytest.approx(
            lines[-1].seconds
        )
        assert reading.details["global_array_calls"]["get"] > 1000
        assert reading.one_sided

    def test_the_version_states_which_build_it_is(self, real_log):
        version = nwchem.version(real_log("nwchem", "ccsd_parallel"))
        assert version == "7.0.2 (Global Arrays 5.8.0, build-openmpi of Mon Mar 20 06:34:13 2023)"

    def test_plane_waves_use_no_global_arrays(self, case, real_log):
        smoke = case("water_pspw-smoke")
        reading = nwchem.read(smoke, 2, real_log("nwchem", "pspw_parallel"))
        assert reading.problem is None
        assert reading.answer == pytest.approx(smoke.answer.golden, rel=smoke.answer.tolerance)
        assert not any(reading.details["global_array_calls"].values())
        assert not reading.one_sided

    @pytest.mark.parametrize(
        ("log", "processes", "iterations"),
        [
            ("dft_serial", 1, {"DFT": 7}),
            ("mp2_parallel", 2, {"Hartree-Fock": 5, "MP2": 0}),
            ("ccsd_parallel", 2, {"Hartree-Fock": 6, "four-index transformation": 0, "coupled cluster": 9}),
            # 60 steps at half of the cutoff, then 30 at all of it.
            ("pspw_parallel", 2, {"plane waves, set-up": 0, "plane waves": 90}),
        ],
    )
    def test_the_parts_of_a_task_fill_it(self, case, real_log, log, processes, iterations):
        task = case(f"water_{log.partition('_')[0]}-smoke")
        reading = nwchem.read(task, processes, real_log("nwchem", log))
        details = reading.details
        assert list(details["loop_seconds"]) == list(iterations)
        assert sum(details["loop_seconds"].values()) == pytest.approx(reading.seconds)
        assert details["iterations_of_parts"] == {part: n for part, n in iterations.items() if n}
        assert details["iteration_seconds"].keys() == details["iterations_of_parts"].keys()
        for part, seconds in details["iteration_seconds"].items():
            assert 0 < seconds * (iterations[part] - 1) < details["loop_seconds"][part]

    def test_remote_traffic_is_counted_separately(self, case, real_log):
        reading = nwchem.read(case("water_ccsd-smoke"), 2, real_log("nwchem", "ccsd_parallel"))
        total, remote = (reading.details[f"global_array_{which}"] for which in ("bytes", "remote_bytes"))
        assert (total["get"], remote["get"]) == (8.48e6, 1.58e6)
        serial = nwchem.read(case("water_scf-smoke"), 1, real_log("nwchem", "scf_serial"))
        assert not any(serial.details["global_array_remote_bytes"].values())

    def test_a_sound_run_with_another_energy_is_wrong(self, case, real_log):
        scf = case("water_scf-smoke")
        reading = nwchem.read(scf, 1, real_log("nwchem", "scf_other_basis"))
        assert reading.problem is None
        comparison, wrong = compare_answer(
            scf, reading.answer, {"value": scf.answer.golden, "source": "golden"}
        )
        assert comparison.relative_difference == pytest.approx(3.0e-4, rel=0.01)
        message = "energy -75.97484109 differs from the golden answer -75.99751929 by 0.0003, allowed 2e-08"
        assert wrong == message

    def test_a_run_does_not_count_whose_right_answer_is_not_known(self, case):
        scf = case("water_scf-smoke")
        given = compare_answer(scf, scf.answer.golden, {"value": None, "source": "none"})
        assert given == (None, "the expected energy is not known: the case cannot be prepared here")

    def test_coupled_cluster_energy_is_from_its_own_step(self, case, real_log):
        reading = nwchem.read(case("water_ccsd-smoke"), 2, real_log("nwchem", "ccsd_parallel"))
        assert reading.answer == pytest.approx(-76.196304, abs=1e-6)  # Hartree-Fock: -75.9975

    @pytest.mark.parametrize(
        ("log", "processes", "problem"),
        [
            ("ccsd_killed", 2, "incomplete: no 'Total times' after the task"),
            ("ccsd_not_converged", 1, "NWChem stopped: ccsd energy failed"),
            ("scf_not_converged", 1, "NWChem stopped: scf energy failed"),
            ("dft_not_converged", 1, "NWChem stopped: dft energy failed"),
            ("basis_unknown", 1, "NWChem stopped: bas_tag_lib: failed opening basis file"),
            ("out_of_memory", 1, "NWChem stopped: guess_dens: ma_push failed"),
            ("ccsd_restarted", 2, "not a fresh start: status is restart, not startup"),
            ("ccsd_stale_scratch", 2, "not a fresh start: Restarting from old vector in ./case.t2"),
            ("ccsd_parallel", 4, "not a fresh start: nproc is 2, not 4"),
        ],
    )
    def test_bad_runs(self, case, real_log, log, processes, problem):
        assert nwchem.read(case("water_ccsd-smoke"), processes, real_log("nwchem", log)).problem == problem

    def test_plane_waves_that_did_not_converge_end_in_order_and_do_not_count(self, case, real_log):
        lines = real_log("nwchem", "pspw_not_converged")
        assert any("Total times" in line.text for line in lines)
        assert nwchem.read(case("water_pspw-smoke"), 1, lines).problem == "not converged"

    def test_running_out_of_memory_is_reported_with_its_exit_status(self, case, real_log):
        lines, errors = real_log("nwchem", "out_of_memory"), (LOGS / "out_of_memory.err").read_text()
        ended = Execution(list(lines), errors, False, 60, None, False, 1.0, 1.0, 0.0, "2026-01-01T00:00:00Z")
        reading = nwchem.read(case("water_ccsd-smoke"), 1, lines)
        assert problem_of(nwchem, ended, reading, 60) == "exit status 60: guess_dens: ma_push failed"

    def test_an_energy_printed_before_a_failure_is_ignored(self, case, real_log):
        lines = real_log("nwchem", "ccsd_not_converged")
        assert any("Total CCSD energy:            -76.19" in line.text for line in lines)
        assert nwchem.read(case("water_ccsd-smoke"), 1, lines).answer is None

    def test_stale_scratch_would_have_faked_a_speedup(self, real_log):
        def iterations(log):
            return sum(line.text.startswith(" g_st2 size:") for line in real_log("nwchem", log))

        assert iterations("ccsd_stale_scratch") < iterations("ccsd_parallel") / 2

    def test_the_reason_is_also_in_standard_error(self):
        assert nwchem.explain((LOGS / "out_of_memory.err").read_text()) == "guess_dens: ma_push failed"
        assert nwchem.explain("[0] ARMCI Warning: Freed 1 leaked allocations") is None
        threads = "The OSC pt2pt component does not support MPI_THREAD_MULTIPLE in this release."
        assert "pt2pt cannot be used with data servers" in nwchem.explain(threads)

    @given(data=st.data())
    def test_a_log_cut_anywhere_before_its_end_never_counts(self, case, real_log, data):
        lines = real_log("nwchem", "ccsd_parallel")
        reading = nwchem.read(case("water_ccsd-smoke"), 2, lines[: data.draw(st.integers(0, len(lines) - 1))])
        assert reading.problem
        assert reading.answer is None


class TestInputs:
    def test_required_keywords_are_written(self, scf):
        text = nwchem.inputs(scf)["input.nw"].decode()
        assert text.startswith('start case\ntitle "water_scf-smoke"\nmemory total 600 mb\n')
        assert "\npermanent_dir .\nscratch_dir .\n" in text
        assert "\nO 0.000000 0.000000 0.000000\n" in text
        assert "* library 6-31g*" in text
        assert "$" not in text

    def test_the_size_makes_the_cluster(self, case):
        def atoms(name):
            text = nwchem.inputs(case(name))["input.nw"].decode()
            geometry = text.partition("geometry")[2].partition("\nend")[0]
            return [line.split()[0] for line in geometry.splitlines()[1:]]

        assert atoms("water_scf-smoke") == ["O", "H", "H"]
        assert atoms("water_scf") == ["O", "H", "H"] * 5

    def test_a_size_can_have_its_own_memory_and_geometry(self, case, scf):
        benzene = nwchem.inputs(case("fullerene-smoke"))["input.nw"].decode()
        assert "\nC 1.397000 0.000000 0.000000\n" in benzene
        more = dataclasses.replace(scf, parameters=scf.parameters | {"memory_limit_MB": 1200})
        assert "memory total 1200 mb\n" in nwchem.inputs(more)["input.nw"].decode()

    def test_a_cage_that_cannot_be_made_is_one_line(self, case):
        cage = case("fullerene-c20")
        odd = dataclasses.replace(cage, parameters=cage.parameters | {"atoms": 70})
        with pytest.raises(InputError, match=r"c20.parameters.atoms: no cage of 70 atoms; there are cages"):
            nwchem.inputs(odd)

    @pytest.fixture
    def case_of_text(self, scf, tmp_path):
        def make(text, **changes):
            (tmp_path / "input.nw").write_text(text)
            return dataclasses.replace(scf, folder=tmp_path, **changes)

        return make

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("restart water\ntask scf\n", "input.nw:1: 'restart' is not for the case"),
            ("basis\nend\nMEMORY 10 gb\ntask scf\n", "input.nw:3: 'memory' is not for the case"),
            ("basis\nend\n", "input.nw: 0 tasks; there must be one"),
            ("task scf\ntask ccsd\n", "input.nw: 2 tasks; there must be one"),
            ("basis\n * library $basiss\nend\ntask scf\n", "$basiss has no value; parameters: basis, waters"),
        ],
    )
    def test_input_that_could_not_be_timed_rightly_is_refused(self, case_of_text, text, problem):
        assert problem in refusal(InputError, nwchem.inputs, case_of_text(text))

    def test_missing_pieces_are_one_line(self, case_of_text, scf, tmp_path):
        without, lost = {"parameters": {}}, {"settings": scf.settings | {"geometry": "missing.xyz"}}
        for changes, problem in (without, "parameters.waters: missing"), (lost, "missing.xyz: no such file"):
            assert problem in refusal(InputError, nwchem.inputs, case_of_text("task scf\n", **changes))
        mine = case_of_text("task scf\n")
        (tmp_path / "input.nw").unlink()
        assert "input.nw: no such file" in refusal(InputError, nwchem.inputs, mine)

    def test_a_geometry_in_xyz_format(self, case_of_text, scf, tmp_path):
        (tmp_path / "helium.xyz").write_text("1\nan atom\nHe 0 0 0\n")
        case = case_of_text("task scf\n", settings=scf.settings | {"geometry": "helium.xyz"})
        assert "noprint\nHe 0 0 0\nend\n" in nwchem.inputs(case)["input.nw"].decode()

    def test_every_run_has_its_own_fresh_folder(self, scf, tmp_path):
        prepared, run = tmp_path / "prepared", tmp_path / "run"
        nwchem.prepare(scf, 1, prepared, None)
        run.mkdir()
        nwchem.stage(scf, prepared, run)
        assert (run / "input.nw").read_bytes() == nwchem.inputs(scf)["input.nw"]
        with pytest.raises(RuntimeError, match="not empty"):
            nwchem.stage(scf, prepared, run)

    def test_one_thread_per_rank_by_default(self, scf):
        assert nwchem.environment(scf) == {"OMP_NUM_THREADS": "1"}
        environment = {"OMP_NUM_THREADS": "2", "ARMCI_PROGRESS_THREAD": "1"}
        two = dataclasses.replace(scf, settings=scf.settings | {"environment": environment})
        assert nwchem.environment(two) == environment


@pytest.mark.slow
@pytest.mark.parametrize("option", ["server_polling", "server_sleeping"])
def test_a_real_run_with_data_servers(case, tmp_path, option):
    served = case(f"water_ccsd-smoke-{option}")
    nwchem.prepare(served, 2, tmp_path, None)
    shared_memory = load_interconnect("shared_memory", INTERCONNECTS)
    # Four that run, on one core.
    point = Point(served.name, shared_memory.name, 2, 4, nodes=1, cores=1, servers_per_process=1)
    done = undisturbed_run(served, point, tmp_path, shared_memory, (), 120)
    assert done.problem is None
    assert done.reading.answer == pytest.approx(served.answer.golden, rel=served.answer.tolerance)
    assert done.launch.env["ARMCI_PROGRESS_THREAD"] == "1"
    assert set(done.one_sided_windows) == {"rdma"}
