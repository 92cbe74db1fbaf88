"""Reasons why parts of a study cannot be run here: on this machine, or on the cluster of the runs."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from workflows.applications import application
from workflows.domain import Case, Interconnect, LeftOut
from workflows.errors import EmulationError
from workflows.inputs import is_there
from workflows.jobs.cluster import Cluster
from workflows.launch import emulation
from workflows.launch.emulation import PROGRAMS, emulated_nodes, usable_cores
from workflows.launch.launch import program_of_build
from workflows.launch.mpi.library import TOOLS
from workflows.launch.mpi.registry import library_mismatch, library_of
from workflows.launch.placement import cannot_place
from workflows.paths import ROOT
from workflows.plan.machine import cannot_drop_page_cache
from workflows.simulation.programs import cannot_simulate
from workflows.study.asked import Asked
from workflows.study.interconnects import curve_file

KEPT = ROOT / ".cache/usable"
"""Folder with a file per interconnect: digest of the machine's state when the interconnect could be used."""
_NAMESPACES = [f"/proc/self/ns/{kind}" for kind in ("mnt", "net", "pid", "user")]
"""Namespaces that distinguish containers; a kernel may lack some."""
_INSTALLED = ("/etc/ld.so.cache", "/var/lib/dpkg/status", "/var/lib/rpm", sys.prefix)
_KERNEL = (
    "/proc/sys/kernel/random/boot_id",
    "/proc/sys/user/max_net_namespaces",
    "/proc/sys/user/max_uts_namespaces",
    "/proc/self/uid_map",
)
_RIGHTS = ("Uid:", "Gid:", "Groups:", "CapEff:", "CapBnd:", "NoNewPrivs:", "Seccomp:", "Cpus_allowed_list:")
_Key = TypeVar("_Key")


@dataclass(frozen=True)
class Here:
    """Reasons why parts of a study cannot be run here. Parts without a reason can be run.

    Attributes
    ----------
    cluster : Cluster or None
        Cluster of the runs; None for this machine.
    missing_programs : mapping of str to str
        Key: case. Reason: its missing programs, or that the page cache cannot be dropped.
    unavailable : mapping of str to str
        Key: interconnect. Reason why the interconnect cannot be used.
    unsuited : mapping
        Key: case and interconnect (None for serial runs). Reason why the case cannot run over it.
    unthreaded : mapping
        Key: case and interconnect. Reason why the processes can have only one thread; empty if the study
        asks for one thread only.
    traced_cores : int or None
        Cores for the threads of a traced rank; None if no threads are traced.
    """

    cluster: Cluster | None
    missing_programs: Mapping[str, str]
    unavailable: Mapping[str, str]
    unsuited: Mapping[tuple[str, str | None], str]
    unthreaded: Mapping[tuple[str, str], str]
    traced_cores: int | None = None

    @property
    def left_out(self) -> list[LeftOut]:
        """Cases and interconnects that cannot be used at all."""
        return [
            *(LeftOut(f"case {name}", reason) for name, reason in self.missing_programs.items()),
            *(LeftOut(f"interconnect {name}", reason) for name, reason in self.unavailable.items()),
        ]


def look(asked: Asked, cluster: Cluster | None, has_program: Callable[[str], object]) -> Here:
    """Find out which parts of a study can be run here.

    Parameters
    ----------
    asked : Asked
        The study, with the cluster's nodes in its interconnects.
    has_program : callable
        Takes the name of a program, and returns whether the program exists.
    """
    interconnects = asked.interconnects
    missing = _reasons(
        (name, _missing_programs(case, has_program, *interconnects.values()) or _cannot_drop(case, cluster))
        for name, case in asked.cases.items()
    )
    unavailable = _reasons(
        (name, unavailable_on(interconnect, cluster) if cluster else unavailable_now(interconnect))
        for name, interconnect in interconnects.items()
    )
    launched = [
        interconnect
        for name, interconnect in interconnects.items()
        if not (name in unavailable or interconnect.simulate)
    ]
    unsuited = _reasons(
        ((name, over.name if over else None), _unsuited(case, over, has_program))
        for name, case in asked.measured.items()
        if name not in missing
        for over in (None, *launched)
    )
    has_threads = max(asked.study.threads, default=1) > 1
    unthreaded = _reasons(
        ((name, over), _unthreaded(case, interconnects[over]))
        for name, case in (asked.cases if has_threads else {}).items()
        if name not in missing
        for over in interconnects
        if over not in unavailable
    )
    cores = None
    if has_threads and any(interconnect.simulate for interconnect in interconnects.values()):
        cores = cluster.nodes_of(None).cores if cluster else len(usable_cores())
    return Here(cluster, missing, unavailable, unsuited, unthreaded, cores)


def unavailable_now(interconnect: Interconnect, kept: Path = KEPT) -> str | None:
    """Return the reason of `unavailable`, but test a usable interconnect only once per state of the machine.

    The test builds emulated nodes, and every process that plans would repeat the test. So the folder `kept`
    keeps a file for each usable interconnect. A reason is not kept, because it may no longer hold next time.
    The folder need not be writable.
    """
    if interconnect.simulate:
        return unavailable(interconnect)
    file, state = kept / interconnect.name, _state(interconnect)
    with contextlib.suppress(OSError):
        if file.read_bytes() == state.encode():
            return None
    reason = unavailable(interconnect)
    if reason is None:
        with contextlib.suppress(OSError):
            kept.mkdir(parents=True, exist_ok=True)
            file.write_text(state)
    return reason


def _state(interconnect: Interconnect) -> str:
    """Return a digest of everything that decides whether an interconnect can be used on this machine.

    It covers the interconnect's file, the modules that test it, namespaces, environment and machine.
    """
    library = library_of(interconnect)
    programs = (*library.programs, *TOOLS, *(PROGRAMS if interconnect.emulate else ()))
    namespaces = [os.readlink(name) for name in _NAMESPACES if os.path.lexists(name)]  # noqa: PTH115 - no file behind
    modules = (__file__, inspect.getfile(type(library)), emulation.__file__)
    module_dates = [Path(module).stat().st_mtime_ns for module in modules]
    prefixes = ("LD_", *library.environment_prefixes)
    environment = sorted(item for item in os.environ.items() if item[0].startswith(prefixes))
    content = [interconnect, module_dates, namespaces, environment, _machine_state(programs)]
    return hashlib.sha256(repr(content).encode(errors="surrogateescape")).hexdigest()


def _machine_state(programs: Iterable[str]) -> list[object]:
    """Return the state of kernel, user rights, packages and programs, on which interconnects depend."""
    files = [shutil.which(program) or program for program in programs]
    return [
        os.uname(),
        [Path(file).read_text() for file in _KERNEL if Path(file).exists()],
        [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(_RIGHTS)],
        [_date(file) for file in (*_INSTALLED, *files)],
    ]


def _date(file: str) -> int | None:
    """Return the time of the last change of a file, in ns; None if it does not exist."""
    return Path(file).stat().st_mtime_ns if Path(file).exists() else None


def unavailable(interconnect: Interconnect) -> str | None:
    """Return why an interconnect cannot be used here, or None.

    The test of an emulated interconnect builds its nodes and removes them again.
    """
    if interconnect.simulate:
        return cannot_simulate() or _no_curve(interconnect.simulate)
    launch, library = interconnect.launch, library_of(interconnect)
    if problem := library.missing_programs() or library.unknown_setting(launch):
        return problem
    if interconnect.emulate:
        try:
            with emulated_nodes(interconnect.emulate):
                return None
        except EmulationError as error:
            return str(error)
    if interconnect.place == "cluster":
        return "is between the nodes of a cluster; see docs/cluster.md"
    if interconnect.nodes > 1:
        return f"is on {interconnect.nodes} nodes, and runs can be started on this machine only"
    if interconnect.cores_per_node > len(usable_cores()):
        return f"needs {interconnect.cores_per_node} cores, {len(usable_cores())} are usable here"
    return cannot_place(launch["placement"], usable_cores()) if "placement" in launch else None


def unavailable_on(interconnect: Interconnect, cluster: Cluster) -> str | None:
    """Return why an interconnect cannot be used on a cluster, or None."""
    if interconnect.simulate:
        return unavailable(interconnect)
    if interconnect.emulate and not cluster.is_joined_by(interconnect.name):
        return "is emulated on one machine, and runs are made on a cluster"
    nodes = cluster.nodes_of(interconnect.name)
    if interconnect.nodes > nodes.number:
        return f"has {interconnect.nodes} nodes, its partition {nodes.number}"
    if interconnect.cores_per_node > nodes.cores:
        return f"has {interconnect.cores_per_node} cores a node, its partition {nodes.cores}"
    return None


def _no_curve(simulate: dict[str, Any]) -> str | None:
    """Return that the measured curve of a model is missing, and which study measures it; else None."""
    curve = curve_file(simulate)
    if curve is None or is_there(curve):
        return None
    path = Path(simulate["curve"]["file"])
    made_by = f": run the study {path.parts[1]} first" if path.parts[0] == "results" else ""
    return f"there is no {path}{made_by}"


def _reasons(entries: Iterable[tuple[_Key, str | None]]) -> dict[_Key, str]:
    """Keep the entries that have a reason."""
    return {key: reason for key, reason in entries if reason}


def _cannot_drop(case: Case, cluster: Cluster | None) -> str | None:
    """Return why the page cache cannot be dropped for a case that asks for it, or None."""
    if not case.drop_page_cache:
        return None
    elsewhere = "the page cache is dropped on one machine alone, and runs are made on a cluster"
    return elsewhere if cluster else cannot_drop_page_cache()


def _unsuited(case: Case, over: Interconnect | None, has_program: Callable[[str], object]) -> str | None:
    """Return why a case cannot run over an interconnect, or serially (None)."""
    if problem := _missing_programs(case, has_program, over):
        return problem
    if over is None:
        return None
    program = application(case.application).command(case, 2)[0]
    of_build, folders = program_of_build(program, over), over.launch.get("path")
    if folders and not of_build:  # a program elsewhere is another build
        return f"launch.path of {over.name}: no program {program} in {', '.join(folders)}"
    return library_mismatch(of_build or program, over)


def _unthreaded(case: Case, over: Interconnect) -> str | None:
    """Return why the processes of a case have only one thread over an interconnect, or None."""
    app = application(case.application)
    program = app.command(case, 1)[0]
    return app.unthreaded(case, program_of_build(program, over) or program)


def _missing_programs(
    case: Case, has_program: Callable[[str], object], *builds: Interconnect | None
) -> str | None:
    """Return which programs of a case are missing, or None.

    A program exists if `has_program` finds it, or if it is in the folder of a build that an interconnect of
    `builds` names.
    """
    missing = [
        program
        for program in application(case.application).programs(case)
        if not (has_program(program) or any(program_of_build(program, build) for build in builds))
    ]
    return f"not installed here: {', '.join(missing)}" if missing else None
