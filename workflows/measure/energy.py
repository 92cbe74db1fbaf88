"""What a run's machines counted of its energy: which meters there are, and what their readings come to.

One rank of each machine reads them (``workflows/launch/metered``) when its program begins, now and then, and
when it has ended. Nothing is started where nothing counts.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path

from workflows.domain import Energy, InputError
from workflows.jobs.scheduler import Scheduler
from workflows.launch.cluster_launch import JobNode

PROGRAM = Path(__file__).parents[1].resolve() / "launch" / "metered"
SYSTEM = Path("/sys")
COUNTER_SECONDS = 30
"""Between two readings: a counter of RAPL begins again after 65 kJ or more, two minutes at 500 W."""
POWER_SECONDS = 1
ACCOUNT_SECONDS = 10.0
"""For which Slurm's accounting may lag behind a step."""
IPMI = "ipmi"
"""Stands for a file of microwatts: `PROGRAM` then asks the node's BMC, by DCMI."""
IPMI_SECONDS = 10.0
"""Between two readings, each of which takes ipmitool some 0.1 s."""
_IPMI_DEVICES = ("ipmi0", "ipmi/0", "ipmidev/0")
_UPDATE_SECONDS = 0.001
"""Of RAPL, by powercap or amd_energy (Intel SDM 3B, 15.10; Linux, Documentation/hwmon/amd_energy.rst)."""
_COUNTING = {"amd_energy": "Esocket", "aem1": "", "aem2": ""}
"""Chips of hwmon that count all of a node or of its sockets: how the labels of such counters begin."""


@dataclass(frozen=True)
class Meter:
    """What counts the energy of a machine.

    Attributes
    ----------
    source : str
        What it is and what it covers, for the record.
    files : tuple of str
        Of microjoules, or of microwatts where it is `power`; `IPMI` for a BMC, and none for Slurm, are asked.
    ranges : tuple of int or None
        Of each file, where it begins again; None where it does not.
    update_seconds : float or None
        How often it moves, if that is known.
    problem : str or None
        Why it cannot be read.
    scheduler : Scheduler or None
        Scheduler that counts the energy of each step; None for meters of a machine.
    """

    source: str
    files: tuple[str, ...] = ()
    ranges: tuple[int | None, ...] = ()
    power: bool = False
    resolution_joules: float | None = None
    update_seconds: float | None = None
    problem: str | None = None
    scheduler: Scheduler | None = None

    def prefix(self, readings: Path) -> list[str]:
        """Give what a rank's command begins with to be read into a folder; nothing if it cannot be read."""
        if self.problem:
            return []
        every = max(POWER_SECONDS, self.update_seconds or 0) if self.power else COUNTER_SECONDS
        return [str(PROGRAM), str(readings), f"{every:g}", " ".join(self.files) or os.devnull]

    def energy(self, joules: float | None, problem: str | None = None) -> Energy:
        """Give what a record says."""
        return Energy(joules, self.source, self.resolution_joules, self.update_seconds, problem)


def meter_of(nodes: Sequence[JobNode], root: Path = SYSTEM) -> Meter | None:
    """Find what counts energy: Slurm, RAPL, hwmon or IPMI, the first of these; None where nothing does.

    Parameters
    ----------
    nodes : sequence of JobNode
        Those of the job, all taken to have what this one, the first, has; none elsewhere.
    root : Path
        Where the kernel shows its meters; its devices are in ``dev`` beside that.
    """
    return (_of_scheduler(nodes[0].scheduler) if nodes else None) or _of_machine(root)


@cache
def _of_machine(root: Path) -> Meter | None:
    first = None
    for meter in _meters(root):
        if not meter.problem:
            return meter
        first = first or meter
    return first


def _meters(root: Path) -> Iterator[Meter]:
    """Give what there is; a BMC comes last, since to ask it takes a moment."""
    if rapl := _rapl(root / "class/powercap"):
        yield rapl
    yield from _hwmon(root / "class/hwmon")
    if ipmi := _ipmi(root.parent / "dev"):
        yield ipmi


@cache
def _of_scheduler(scheduler: Scheduler) -> Meter | None:
    """Return the scheduler's own count of each step; None without one."""
    if counter := scheduler.energy_counter():
        return Meter(
            counter.name, resolution_joules=1, update_seconds=counter.update_seconds, scheduler=scheduler
        )
    return None


def _rapl(folder: Path) -> Meter | None:
    """Packages, and memory, which is in no package; what is a part of a package is not counted twice.

    ``psys`` holds the packages, where there is one, and zones of ``intel-rapl-mmio`` are the packages again.
    """
    zones = [(zone, _text(zone / "name") or "") for zone in sorted(folder.glob("intel-rapl:*"))]
    zones = [(zone, name) for zone, name in zones if name.startswith("package-") or name == "dram"]
    if not zones:
        return None
    names = [name if name != "dram" else f"dram-{zone.name.split(':')[1]}" for zone, name in zones]
    ranges = (_text(zone / "max_energy_range_uj") for zone, _ in zones)
    return _readable(
        Meter(
            source=f"RAPL: {', '.join(names)}",
            files=tuple(str(zone / "energy_uj") for zone, _ in zones),
            ranges=tuple(int(text) if text else None for text in ranges),
            resolution_joules=1e-6,
            update_seconds=_UPDATE_SECONDS,
        )
    )


def _hwmon(folder: Path) -> Iterator[Meter]:
    """Counters of energy of all of a node or its sockets, then the power that ACPI tells of a node."""
    chips = [
        (place, _text(place / "name")) for hwmon in sorted(folder.glob("hwmon*")) for place in _places(hwmon)
    ]
    for place, name in chips:
        if name in _COUNTING:
            label = _COUNTING[name]
            files = [file for file in sorted(place.glob("energy*_input")) if _covers_all(file, label)]
            if not label:
                files = files[:1]  # aem2 has those before and behind the power supply
            if files:
                update = _UPDATE_SECONDS if name == "amd_energy" else None
                ranges = (None,) * len(files)
                meter = Meter(f"hwmon: {name}", tuple(map(str, files)), ranges, False, 1e-6, update)
                yield _readable(meter)
    for place, name in chips:
        files = [file for way in ("average", "input") if (file := place / f"power1_{way}").exists()]
        if name == "power_meter" and files:
            milliseconds = _text(place / "power1_average_interval")
            update = float(milliseconds) / 1000 if milliseconds else None
            yield _readable(Meter("hwmon: power_meter", (str(files[0]),), (None,), True, None, update))


def _ipmi(devices: Path) -> Meter | None:
    """Power of the node as its BMC tells it, in watts; whether it does is tried once."""
    device = next((path for name in _IPMI_DEVICES if (path := devices / name).exists()), None)
    if device is None:
        return None
    meter = Meter("IPMI: DCMI power", (IPMI,), (None,), True, None, IPMI_SECONDS)
    if not os.access(device, os.R_OK | os.W_OK):
        return replace(meter, problem=f"{device}: may not be read")
    if not shutil.which("ipmitool"):
        return replace(meter, problem=f"{device}: needs the program ipmitool, which is not there")
    with tempfile.TemporaryDirectory() as readings:
        subprocess.run([*meter.prefix(Path(readings)), "true"])
        (told,) = Path(readings).iterdir()
        counts = told.read_text().split()[-1] != "-"
    return meter if counts else replace(meter, problem="ipmitool dcmi power reading: tells no watts")


def _places(hwmon: Path) -> Iterable[Path]:
    return (place for place in (hwmon, hwmon / "device") if (place / "name").exists())


def _covers_all(counter: Path, label: str) -> bool:
    told = _text(counter.with_name(counter.name.replace("input", "label"))) or ""
    return told.startswith(label)


def _readable(meter: Meter) -> Meter:
    """Give the meter, with a problem where this user may not read it."""
    closed = [file for file in meter.files if not os.access(file, os.R_OK)]
    return Meter(meter.source, problem=f"{closed[0]}: may not be read") if closed else meter


def _text(file: Path) -> str | None:
    with contextlib.suppress(OSError):
        return file.read_text().strip()
    return None


def energy_of(meter: Meter, readings: Sequence[str], machines: int) -> Energy:
    """Tell the energy of a run that has ended.

    Parameters
    ----------
    readings : sequence of str
        What one of its ranks read on each machine.

    Returns
    -------
    Energy
        Of all machines together, from the first rank's begin to its end on each. No joules and a problem
        where one of them told nothing.
    """
    if meter.problem:
        return meter.energy(None, meter.problem)
    expected = max(1, len(readings)) if meter.scheduler else machines  # a scheduler sums over nodes
    if len(readings) != expected:
        return meter.energy(None, f"{len(readings)} of {machines} machines told their energy")
    try:
        if meter.scheduler:
            return meter.energy(_of_step(meter.scheduler, readings[0].partition("\n")[0]))
        joules = sum(_joules(meter, text.splitlines()[1:]) for text in readings)
    except (ValueError, InputError) as error:
        return meter.energy(None, str(error))
    return meter.energy(joules) if joules > 0 else meter.energy(None, "its counters stand still")


def _joules(meter: Meter, lines: Sequence[str]) -> float:
    """Sum of what the meters of a machine counted; a `ValueError` says what is wrong with their readings."""
    rows = sorted([float(time), *values] for time, *values in map(str.split, lines))
    if len(rows) < 2:
        raise ValueError("its end was not read")
    total = 0.0
    for number, (file, range_uj) in enumerate(zip(meter.files, meter.ranges, strict=True), 1):
        if any(row[number] == "-" for row in rows):
            raise ValueError(f"{file}: could not be read on every machine")
        series = [(row[0], int(row[number])) for row in rows]
        for (began, first), (ended, last) in pairwise(series):
            if meter.power:
                total += (ended - began) * (first + last) / 2
            elif last >= first or range_uj:
                total += last - first if last >= first else last - first + range_uj
            else:
                raise ValueError(f"{file}: fell from {first} to {last}")
    return total / 1e6


def _of_step(scheduler: Scheduler, step: str) -> float:
    """Ask a scheduler for the joules of an ended step, ``JOB.STEP``, until its accounting has it."""
    if not step:
        raise InputError(f"the first rank told no step of {scheduler.title}")
    deadline = time.monotonic() + ACCOUNT_SECONDS
    while (joules := scheduler.step_energy(step)) is None:
        if time.monotonic() > deadline:
            raise InputError(f"step {step} is not in the accounting after {ACCOUNT_SECONDS:g} s")
        time.sleep(0.5)
    return joules
