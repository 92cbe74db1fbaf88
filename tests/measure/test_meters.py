"""Energy of a run on a played sysfs tree, from readings worked by hand, and during a real run."""

import json
import subprocess
from functools import partial

import pytest
from programs import write_program
from study_files import study_file
from test_speed import STUDY

from workflows.domain import Energy
from workflows.jobs import slurm
from workflows.launch.cluster_launch import JobNode
from workflows.measure import energy
from workflows.measure import measure as measuring
from workflows.measure.energy import PROGRAM, Meter, energy_of, meter_of
from workflows.measure.prepare import prepare, reference_answer
from workflows.plan.plan import make_plan
from workflows.plan.records import read_record
from workflows.results.collect import collect

RANGE = 262_143_328_850  # µJ, of a Xeon's package
COUNTER = Meter("RAPL: package-0", ("/a",), (RANGE,), False, 1e-6, 0.001)
TWO = Meter("RAPL: package-0, package-1", ("/a", "/b"), (RANGE, RANGE))
POWER = Meter("hwmon: power_meter", ("/p",), (None,), True, None, 1.0)


def tree(root, files):
    """A played sysfs: contents by path."""
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{content}\n")
    return root


def zone(name, label, counted=1000):
    """A zone of powercap."""
    at = f"class/powercap/{name}"
    return {f"{at}/name": label, f"{at}/energy_uj": counted, f"{at}/max_energy_range_uj": RANGE}


def names(meter, root):
    return [file.removeprefix(f"{root}/class/") for file in meter.files]


def test_packages_and_memory_are_summed_and_no_part_twice(tmp_path):
    zones = {
        **zone("intel-rapl:0", "package-0"),
        **zone("intel-rapl:0:0", "core"),
        **zone("intel-rapl:0:1", "dram"),
        **zone("intel-rapl:1", "package-1"),
        **zone("intel-rapl:2", "psys"),
        **zone("intel-rapl-mmio:0", "package-0"),
    }
    meter = meter_of((), tree(tmp_path, zones))
    assert meter.source == "RAPL: package-0, dram-0, package-1" and meter.ranges == (RANGE,) * 3
    zones = [file.split("/")[1] for file in names(meter, tmp_path)]
    assert zones == ["intel-rapl:0", "intel-rapl:0:1", "intel-rapl:1"]


def test_counters_of_hwmon_cover_sockets_and_no_core_twice(tmp_path):
    chip = "class/hwmon/hwmon3"
    files = {f"{chip}/name": "amd_energy", "class/hwmon/hwmon0/name": "nvme"}
    files |= {"class/hwmon/hwmon0/energy1_input": 5}
    for number, label in enumerate(("Ecore000", "Ecore001", "Esocket0"), 1):
        files |= {f"{chip}/energy{number}_input": 7, f"{chip}/energy{number}_label": label}
    meter = meter_of((), tree(tmp_path, files))
    assert meter.source == "hwmon: amd_energy" and names(meter, tmp_path) == ["hwmon/hwmon3/energy3_input"]


def test_acpi_power_is_read_as_often_as_it_changes(tmp_path):
    device = "class/hwmon/hwmon1/device"
    files = {f"{device}/name": "power_meter", f"{device}/power1_average": 250_000_000}
    meter = meter_of((), tree(tmp_path, files | {f"{device}/power1_average_interval": 4000}))
    assert meter.power and meter.update_seconds == 4
    assert meter.prefix(tmp_path)[1:3] == [str(tmp_path), "4"]


def test_an_unreadable_meter_is_reported_and_the_next_one_is_used(tmp_path, monkeypatch):
    root = tree(tmp_path, zone("intel-rapl:0", "package-0"))
    monkeypatch.setattr(energy.os, "access", lambda file, _: "powercap" not in file)
    closed = meter_of((), root)
    counter = f"{root}/class/powercap/intel-rapl:0/energy_uj"
    assert closed.prefix(tmp_path) == []
    assert energy_of(closed, [], 1) == Energy(None, "RAPL: package-0", problem=f"{counter}: may not be read")
    other = tmp_path / "other"
    chip = {"class/hwmon/hwmon0/name": "aem1", "class/hwmon/hwmon0/energy1_input": 5}
    assert meter_of((), tree(other, zone("intel-rapl:0", "package-0") | chip)).source == "hwmon: aem1"


def test_nothing_counts(tmp_path):
    assert meter_of((), tmp_path) is None
    assert meter_of((), tree(tmp_path / "gpu", {"class/hwmon/hwmon0/name": "amdgpu"})) is None


def test_joules_by_hand():
    assert energy_of(COUNTER, [".\n10 5000000\n12 8500000\n"], 1) == Energy(3.5, COUNTER.source, 1e-6, 0.001)
    both = [".\n10 1000000 0\n12 3000000 4000000\n", ".\n7 0 0\n9 1000000 2000000\n"]  # 2 + 4, 1 + 2
    assert energy_of(TWO, both, 2).joules == 9


def test_a_counter_that_begins_again_more_than_once():
    """From 1 J below its end to 2 J beyond, and again to 3 J beyond: 262,143.33 J more."""
    readings = f".\n0 {RANGE - 1_000_000}\n30 2000000\n60 {RANGE - 1}\n90 3000000\n"
    assert energy_of(COUNTER, [readings], 1).joules == pytest.approx(1 + RANGE / 1e6 + 3)


def test_power_is_integrated():
    """100 W at the begin, 200 W after 2 s, 300 W at 3 s: 300 J and 250 J. The file need not be in order."""
    assert energy_of(POWER, [".\n0 100000000\n3 300000000\n2 200000000\n"], 1).joules == 550


@pytest.mark.parametrize(
    ("meter", "readings", "machines", "problem"),
    [
        (COUNTER, [".\n0 5\n1 5\n"], 1, "its counters stand still"),
        (COUNTER, [".\n0 5\n"], 1, "its end was not read"),
        (COUNTER, [".\n0 5\n1 9\n"], 2, "1 of 2 machines reported their energy"),
        (COUNTER, [".\n0 -\n1 -\n"], 1, "/a: could not be read on every machine"),
        (Meter("hwmon", ("/a",), (None,)), [".\n0 9\n1 5\n"], 1, "/a: fell from 9 to 5"),
    ],
)
def test_unknown_readings_give_no_energy(meter, readings, machines, problem):
    measured = energy_of(meter, readings, machines)
    assert (measured.joules, measured.problem) == (None, problem)


DCMI = """
    Instantaneous power reading:                   {} Watts
    Minimum during sampling period:                 86 Watts
    Maximum during sampling period:                494 Watts
    Average power reading over sample period:      219 Watts
    IPMI timestamp:                           Mon Nov 23 20:11:02 2026
    Sampling period:                          00000005 Seconds.
    Power reading state is:                   activated

"""
"""What ipmitool prints of a BMC that has DCMI's power management."""


@pytest.fixture
def bmc(tmp_path, monkeypatch):
    """A machine with a BMC and a played ipmitool, which tells other watts at each reading."""

    def make(*texts):
        energy._of_machine.cache_clear()
        tree(tmp_path, {"dev/ipmi0": "", "sys/class/hwmon/hwmon0/name": "nvme"})
        for number, text in enumerate(texts):
            (tmp_path / f"told-{number}").write_text(text)
        (tmp_path / "bin").mkdir()
        count = f"n=$(ls {tmp_path} | grep -c ^asked); : >{tmp_path}/asked-$n; [ $n -lt {len(texts)} ] || n=0"
        script = f'#!/bin/sh\n[ "$*" = "dcmi power reading" ] || exit 1\n{count}; cat {tmp_path}/told-$n\n'
        write_program(tmp_path / "bin/ipmitool", script)
        monkeypatch.setenv("PATH", f"{tmp_path}/bin", prepend=":")
        return meter_of((), tmp_path / "sys")

    return make


def test_a_bmc_is_asked_for_the_power_of_its_node(bmc, tmp_path):
    """Two readings when it is looked for; of the run 214 W at the begin and 226 W at the end."""
    meter = bmc(*(DCMI.format(watts) for watts in (200, 200, 214, 226)))
    assert (meter.source, meter.power, meter.update_seconds) == ("IPMI: DCMI power", True, 10)
    (tmp_path / "readings").mkdir()
    done = subprocess.run([*meter.prefix(tmp_path / "readings"), "sleep", "0.3"])
    [text] = readings(tmp_path)
    (begun, first), (ended, last) = (map(float, line.split()) for line in text.splitlines()[1:])
    assert (done.returncode, first, last) == (0, 214e6, 226e6)
    measured = energy_of(meter, [text], 1)
    assert measured == Energy(pytest.approx(220 * (ended - begun)), "IPMI: DCMI power", None, 10)


@pytest.mark.parametrize(
    "text", ["DCMI request failed because: Invalid command (c1)\n", DCMI.format(0), "", "    Power: 9 W"]
)
def test_a_bmc_without_dcmi_power_is_a_problem(bmc, text):
    assert bmc(text).problem == "ipmitool dcmi power reading: prints no watts"


def test_a_bmc_that_cannot_be_asked_is_a_problem(tmp_path, monkeypatch):
    tree(tmp_path, {"dev/ipmi0": ""})
    monkeypatch.setattr(energy.shutil, "which", lambda _: None)
    needs = f"{tmp_path}/dev/ipmi0: needs the program ipmitool, which is not there"
    assert meter_of((), tmp_path / "sys").problem == needs
    energy._of_machine.cache_clear()
    monkeypatch.setattr(energy.os, "access", lambda *_: False)
    assert meter_of((), tmp_path / "sys").problem == f"{tmp_path}/dev/ipmi0: may not be read"


CONFIG = "AcctGatherEnergyType    = acct_gather_energy/{}\nAcctGatherNodeFreq      = 30 sec\n"
NODES = (JobNode("n1", "srun", "pmix"),)


def answering(monkeypatch, plugin, *accounts):
    energy._of_scheduler.cache_clear()
    left, commands = list(accounts), []

    def ask(*command, **_):
        commands.append(command)
        return CONFIG.format(plugin) if command[0] == "scontrol" else left.pop(0)

    monkeypatch.setattr(slurm, "ask", ask)
    monkeypatch.setattr(energy.time, "sleep", lambda _: None)
    return commands


def test_slurm_is_asked_for_the_step_when_its_accounting_has_it(monkeypatch, tmp_path):
    commands = answering(monkeypatch, "ipmi", "", "RUNNING|\n", "COMPLETED|48213\n")
    meter = meter_of(NODES, tree(tmp_path, zone("intel-rapl:0", "package-0")))
    assert energy_of(meter, ["41.3\n0 -\n1 -\n"], 2) == Energy(48213, "Slurm: ipmi", 1, 30)
    assert energy_of(meter, [], 2).problem == "0 of 2 machines reported their energy"
    assert "--jobs=41.3" in commands[-1]


def test_without_a_slurm_step_there_is_no_energy(monkeypatch, tmp_path):
    answering(monkeypatch, "rapl", "")
    measured = energy_of(meter_of(NODES, tmp_path), [""], 1)
    assert (measured.joules, measured.problem) == (None, "the first rank reported no step of Slurm")


@pytest.mark.parametrize("joules", ["0", "", str(2**64 - 2)])
def test_energy_that_slurm_did_not_count_is_missing(monkeypatch, tmp_path, joules):
    answering(monkeypatch, "rapl", f"COMPLETED|{joules}\n")
    measured = energy_of(meter_of(NODES, tmp_path), ["41.3\n"], 1)
    assert measured.joules is None and measured.problem.endswith(f"of step 41.3: {joules or 'empty'}")


def test_slurm_without_a_count_leaves_it_to_the_machine(monkeypatch, tmp_path):
    answering(monkeypatch, "none")
    root = tree(tmp_path, zone("intel-rapl:0", "package-0"))
    assert meter_of(NODES, root).source == "RAPL: package-0"


def metered(tmp_path, *argv):
    meter = Meter("played", (str(tmp_path / "counter"),), (None,))
    (tmp_path / "readings").mkdir(exist_ok=True)
    command = [*meter.prefix(tmp_path / "readings"), *argv]
    return meter, subprocess.run(command, capture_output=True, text=True, timeout=60)


def readings(tmp_path):
    return [file.read_text() for file in (tmp_path / "readings").iterdir()]


def test_energy_of_a_program_differs_from_an_idle_machine(tmp_path):
    (tmp_path / "counter").write_text("1000000\n")
    adds = f"echo 4000000 >{tmp_path}/counter; echo done; exit 3"
    meter, done = metered(tmp_path, "sh", "-c", adds)
    assert (done.returncode, done.stdout) == (3, "done\n")
    assert energy_of(meter, readings(tmp_path), 1).joules == 3
    _, other = metered(tmp_path, "echo", "a second rank of the machine")
    assert other.returncode == 0 and len(readings(tmp_path)) == 1
    assert energy_of(meter, readings(tmp_path), 1).joules == 3


def test_a_signal_that_ends_the_program_is_passed_on(tmp_path):
    _, done = metered(tmp_path, "sh", "-c", "kill -SEGV $$")
    assert done.returncode == -11
    assert "-" in readings(tmp_path)[0]


def test_a_repetition_has_its_energy_on_record_and_in_the_runs_table(tmp_path, monkeypatch):
    """A real run beside which a played counter moves."""
    monkeypatch.chdir(tmp_path)
    root = tree(tmp_path / "sys", zone("intel-rapl:0", "package-0", 1_000_000))
    monkeypatch.setattr(measuring, "meter_of", partial(meter_of, root=root))
    plan = make_plan(study_file(tmp_path, STUDY))
    case = plan.asked.cases["harmonic-smoke"]
    prepare(case, 1, plan.paths.prepared("harmonic-smoke", 1))
    plan.paths.expected("harmonic-smoke").write_text(json.dumps(reference_answer(case, tmp_path, 60)))

    def run(*arguments, **named):
        done = measured(*arguments, **named)
        last = int(done.meter_readings[0].split()[-1])
        assert last == 1_000_000  # nobody moves it: the reading at the end
        return measuring.replace(done, meter_readings=[done.meter_readings[0] + f"1e9 {last + 2_500_000}\n"])

    measured = measuring.run
    monkeypatch.setattr(measuring, "run", run)
    [repetition] = plan.design.repetitions
    record = measuring.measure(plan, repetition, 1, ())
    assert record.valid and str(PROGRAM) in record.command
    assert read_record(plan.paths.record(repetition, 1)).energy == Energy(2.5, "RAPL: package-0", 1e-6, 0.001)
    [row] = collect(plan).complete.to_dict("records")
    assert (row["energy_joules"], row["energy_source"]) == (2.5, "RAPL: package-0")
