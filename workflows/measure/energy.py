"""Energy of a run: the meters of its machines, and the joules from their readings.

A rank of each machine reads the meters (``workflows/launch/metered``): when its program begins, at intervals,
and when the program has ended. On a machine without meters, nothing is started.
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
"""Interval of readings. A counter of RAPL wraps after at least 65 kJ, which is two minutes at 500 W."""
POWER_SECONDS = 1
ACCOUNT_SECONDS = 10.0
"""Maximum delay of the scheduler's accounting after a step."""
IPMI = "ipmi"
"""Value of `Meter.files` with which `PROGRAM` asks the node's BMC for its power (DCMI) and reads no file."""
IPMI_SECONDS = 10.0
"""Interval of readings, each of which takes ipmitool about 0.1 s."""
_IPMI_DEVICES = ("ipmi0", "ipmi/0", "ipmidev/0")
_UPDATE_SECONDS = 0.001
"""Update interval of RAPL (Intel SDM 3B, 15.10; Linux, Documentation/hwmon/amd_energy.rst)."""
_COUNTING = {"amd_energy": "Esocket", "aem1": "", "aem2": ""}
"""Chips of hwmon that count a whole node or its sockets, with the beginning of the counters' labels."""


@dataclass(frozen=True)
class Meter:
    """Meter of the energy of a machine, or of a step of a scheduler.

    Attributes
    ----------
    source : str
        Name of the meter and of the parts that it covers, for the record.
    files : tuple of str
        Files with microjoules, or with microwatts if `power`; `IPMI` for a BMC. Empty for a scheduler.
    ranges : tuple of int or None
        Value in microjoules at which the counter of each file wraps to 0; None if it never wraps.
    power : bool
        Whether the files hold the power instead of the energy.
    resolution_joules : float or None
        Smallest step of the counter, if known.
    update_seconds : float or None
        Interval at which the meter updates its value, if known.
    problem : str or None
        Why the meter cannot be read.
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
        """Return the words before a rank's command that read the meter; empty if it cannot be read."""
        if self.problem:
            return []
        interval = max(POWER_SECONDS, self.update_seconds or 0) if self.power else COUNTER_SECONDS
        return [str(PROGRAM), str(readings), f"{interval:g}", " ".join(self.files) or os.devnull]

    def energy(self, joules: float | None, problem: str | None = None) -> Energy:
        """Return the part of a record that describes the energy."""
        return Energy(joules, self.source, self.resolution_joules, self.update_seconds, problem)


def meter_of(nodes: Sequence[JobNode], root: Path = SYSTEM) -> Meter | None:
    """Return the first meter that exists, in the order scheduler, RAPL, hwmon, IPMI; None without any.

    Parameters
    ----------
    nodes : sequence of JobNode
        Nodes of the job, or empty outside a job. All nodes are assumed to have the meters of the first node,
        on which this process runs.
    root : Path
        Folder in which the kernel shows its meters. Its devices are in ``../dev``.
    """
    return (_of_scheduler(nodes[0].scheduler) if nodes else None) or _of_machine(root)


@cache
def _of_machine(root: Path) -> Meter | None:
    """Return the first meter of this machine that can be read; else the first meter, with its problem."""
    unreadable: list[Meter] = []
    for meter in _meters(root):
        if not meter.problem:
            return meter
        unreadable.append(meter)
    return unreadable[0] if unreadable else None


def _meters(root: Path) -> Iterator[Meter]:
    """Yield the meters of a machine. A BMC comes last, because asking it takes time."""
    if rapl := _rapl(root / "class/powercap"):
        yield rapl
    yield from _hwmon(root / "class/hwmon")
    if ipmi := _ipmi(root.parent / "dev"):
        yield ipmi


@cache
def _of_scheduler(scheduler: Scheduler) -> Meter | None:
    """Return the meter with which the scheduler counts the energy of each step; None if it counts none."""
    if counter := scheduler.energy_counter():
        return Meter(
            counter.name, resolution_joules=1, update_seconds=counter.update_seconds, scheduler=scheduler
        )
    return None


def _rapl(folder: Path) -> Meter | None:
    """Return a meter of all RAPL counters of packages and of memory (``dram``).

    ``psys``, ``intel-rapl-mmio`` and the parts of a package are left out: they count the same energy again.
    Memory is not part of a package.
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
    """Yield the meters of hwmon: first counters of a node's or its sockets' energy, then ACPI's power."""
    chips = [
        (place, _text(place / "name")) for hwmon in sorted(folder.glob("hwmon*")) for place in _places(hwmon)
    ]
    for place, name in chips:
        if name in _COUNTING:
            label = _COUNTING[name]
            files = [file for file in sorted(place.glob("energy*_input")) if _covers_all(file, label)]
            if not label:
                files = files[:1]  # aem2 counts before and behind the power supply
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
    """Return a meter that asks the node's BMC for the power of the node; try it with a single reading."""
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
        (file,) = Path(readings).iterdir()
        has_watts = file.read_text().split()[-1] != "-"
    return meter if has_watts else replace(meter, problem="ipmitool dcmi power reading: prints no watts")


def _places(hwmon: Path) -> Iterable[Path]:
    """Return the folders of a device that may hold its files: kernels differ in this."""
    return (place for place in (hwmon, hwmon / "device") if (place / "name").exists())


def _covers_all(counter: Path, label: str) -> bool:
    text = _text(counter.with_name(counter.name.replace("input", "label"))) or ""
    return text.startswith(label)


def _readable(meter: Meter) -> Meter:
    """Return the meter, with a problem if this user cannot read it."""
    closed = [file for file in meter.files if not os.access(file, os.R_OK)]
    return Meter(meter.source, problem=f"{closed[0]}: may not be read") if closed else meter


def _text(file: Path) -> str | None:
    with contextlib.suppress(OSError):
        return file.read_text().strip()
    return None


def energy_of(meter: Meter, readings: Sequence[str], machines: int) -> Energy:
    """Return the energy of a run that has ended.

    Parameters
    ----------
    readings : sequence of str
        For each machine, the text that `PROGRAM` wrote on one of its ranks.
    machines : int
        Number of machines of the run.

    Returns
    -------
    Energy
        Sum over the machines, from the start to the end of the rank that reads the meter. If a machine has no
        readings, the joules are None and the problem says why.
    """
    if meter.problem:
        return meter.energy(None, meter.problem)
    expected = max(1, len(readings)) if meter.scheduler else machines  # a scheduler sums over nodes
    if len(readings) != expected:
        return meter.energy(None, f"{len(readings)} of {machines} machines reported their energy")
    try:
        if meter.scheduler:
            return meter.energy(_of_step(meter.scheduler, readings[0].partition("\n")[0]))
        joules = sum(_joules(meter, text.splitlines()[1:]) for text in readings)
    except (ValueError, InputError) as error:
        return meter.energy(None, str(error))
    return meter.energy(joules) if joules > 0 else meter.energy(None, "its counters stand still")


def _joules(meter: Meter, lines: Sequence[str]) -> float:
    """Return the joules that the meter of a machine counted, summed over its files.

    Parameters
    ----------
    lines : sequence of str
        One reading per line: the time in seconds, then the value of each file (``-`` if it was not read).

    Raises
    ------
    ValueError
        A reading is missing, or a counter without a range has fallen.
    """
    rows = sorted((float(seconds), values) for seconds, *values in map(str.split, lines))
    if len(rows) < 2:
        raise ValueError("its end was not read")
    microjoules = 0.0
    for column, (file, range_uj) in enumerate(zip(meter.files, meter.ranges, strict=True)):
        if any(values[column] == "-" for _, values in rows):
            raise ValueError(f"{file}: could not be read on every machine")
        series = [(seconds, int(values[column])) for seconds, values in rows]
        for (start, first), (end, last) in pairwise(series):
            if meter.power:
                microjoules += (end - start) * (first + last) / 2
            elif last >= first:
                microjoules += last - first
            elif range_uj:
                microjoules += last - first + range_uj
            else:
                raise ValueError(f"{file}: fell from {first} to {last}")
    return microjoules / 1e6


def _of_step(scheduler: Scheduler, step: str) -> float:
    """Return the joules of an ended step, ``JOB.STEP``; wait until the accounting has the step."""
    if not step:
        raise InputError(f"the first rank reported no step of {scheduler.title}")
    deadline = time.monotonic() + ACCOUNT_SECONDS
    while (joules := scheduler.step_energy(step)) is None:
        if time.monotonic() > deadline:
            raise InputError(f"step {step} is not in the accounting after {ACCOUNT_SECONDS:g} s")
        time.sleep(0.5)
    return joules
