"""What can be done here, on this machine or on the cluster where runs are made."""

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
from workflows.launch.page_cache import cannot_drop
from workflows.launch.placement import cannot_place
from workflows.paths import ROOT
from workflows.simulation.programs import cannot_simulate
from workflows.study.asked import Asked
from workflows.study.interconnects import curve_file

KEPT = ROOT / ".cache/usable"
"""By interconnect, the state of the machine on which it could be used."""
_NAMESPACES = [f"/proc/self/ns/{kind}" for kind in ("mnt", "net", "pid", "user")]
"""Another container is another machine; a kernel may lack some."""
_INSTALLED = ("/etc/ld.so.cache", "/var/lib/dpkg/status", "/var/lib/rpm", sys.prefix)
_KERNEL = (
    "/proc/sys/kernel/random/boot_id",
    "/proc/sys/user/max_net_namespaces",
    "/proc/sys/user/max_uts_namespaces",
    "/proc/self/uid_map",
)
_RIGHTS = ("Uid:", "Gid:", "Groups:", "CapEff:", "CapBnd:", "NoNewPrivs:", "Seccomp:", "Cpus_allowed_list:")
_What = TypeVar("_What")


@dataclass(frozen=True)
class Here:
    """What can be done of a study here. What is not named can be.

    Attributes
    ----------
    cluster : Cluster or None
        On which the runs are made; None for this machine.
    missing_programs : mapping of str to str
        By case, which of its programs are not there, or that the page cache cannot be dropped.
    unavailable : mapping of str to str
        By interconnect, why it cannot be used.
    unsuited : mapping
        Why a case cannot run over an interconnect, by the names of the two; serially, by its name and None.
    unthreaded : mapping
        Why its processes have one thread only over an interconnect, where the study asks for more.
    traced_cores : int or None
        Cores that the threads of a traced rank can have; None where no threads are traced.
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
    """Find out what can be done of a study here.

    Parameters
    ----------
    asked : Asked
        With its interconnects as they are on the cluster.
    has_program : callable
        Whether a program is there, by its name.
    """
    joined = asked.interconnects
    missing = _reasons(
        (name, _missing_programs(case, has_program, *joined.values()) or _cannot_drop(case, cluster))
        for name, case in asked.cases.items()
    )
    unavailable = _reasons(
        (name, unavailable_on(joined[name], cluster) if cluster else unavailable_now(joined[name]))
        for name in joined
    )
    launched = [joined[name] for name in joined if not (name in unavailable or joined[name].simulate)]
    unsuited = _reasons(
        ((name, over and over.name), _unsuited(case, over, has_program))
        for name, case in asked.measured.items()
        if name not in missing
        for over in (None, *launched)
    )
    several = max(asked.study.threads, default=1) > 1
    unthreaded = _reasons(
        ((name, over), _unthreaded(case, joined[over]))
        for name, case in (asked.cases if several else {}).items()
        if name not in missing
        for over in joined
        if over not in unavailable
    )
    cores = None
    if several and any(interconnect.simulate for interconnect in joined.values()):
        cores = cluster.nodes_of(None).cores if cluster else len(usable_cores())
    return Here(cluster, missing, unavailable, unsuited, unthreaded, cores)


def unavailable_now(interconnect: Interconnect, kept: Path = KEPT) -> str | None:
    """Give what `unavailable` gives, without trying again what could be used on this machine as it is now.

    To try emulated nodes is to build them, and each process that plans would do it. Only that something can
    be used is kept: a reason why it cannot be may have passed.

    What is known is in the folder `kept`; it need not be possible to write there.
    """
    if interconnect.simulate:
        return unavailable(interconnect)
    known, state = kept / interconnect.name, _state(interconnect)
    with contextlib.suppress(OSError):
        if known.read_bytes() == state.encode():
            return None
    reason = unavailable(interconnect)
    if reason is None:
        with contextlib.suppress(OSError):
            kept.mkdir(parents=True, exist_ok=True)
            known.write_text(state)
    return reason


def _state(interconnect: Interconnect) -> str:
    """Digest of an interconnect's file and of all on this machine that decides whether it can be used."""
    library = library_of(interconnect)
    programs = (*library.programs, *TOOLS, *(PROGRAMS if interconnect.emulate else ()))
    inside = [os.readlink(name) for name in _NAMESPACES if os.path.lexists(name)]  # noqa: PTH115 - no file behind
    modules = (__file__, inspect.getfile(type(library)), emulation.__file__)
    ours = [Path(module).stat().st_mtime_ns for module in modules]
    prefixes = ("LD_", *library.environment_prefixes)
    environment = sorted(item for item in os.environ.items() if item[0].startswith(prefixes))
    content = [interconnect, ours, inside, environment, _machine_state(programs)]
    return hashlib.sha256(repr(content).encode(errors="surrogateescape")).hexdigest()


def _machine_state(programs: Iterable[str]) -> list[object]:
    """Give what decides which interconnects this machine has: kernel, rights, packages and programs."""
    files = [shutil.which(program) or program for program in programs]
    return [
        os.uname(),
        [Path(file).read_text() for file in _KERNEL if Path(file).exists()],
        [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(_RIGHTS)],
        [_date(file) for file in (*_INSTALLED, *files)],
    ]


def _date(file: str) -> int | None:
    """When a file was changed, in ns; None if it does not exist."""
    return Path(file).stat().st_mtime_ns if Path(file).exists() else None


def unavailable(interconnect: Interconnect) -> str | None:
    """Why an interconnect cannot be used here, if so; emulated nodes are built and taken down again."""
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
    """Say in one line why an interconnect cannot be used on a cluster."""
    if interconnect.simulate:
        return unavailable(interconnect)
    if interconnect.emulate and not cluster.is_joined_by(interconnect.name):
        return "is emulated on one machine, and runs are made on a cluster"
    nodes = cluster.nodes_of(interconnect.name)
    for what, wanted, there in (
        ("nodes", interconnect.nodes, nodes.number),
        ("cores a node", interconnect.cores_per_node, nodes.cores),
    ):
        if wanted > there:
            return f"has {wanted} {what}, its partition {there}"
    return None


def _no_curve(simulate: dict[str, Any]) -> str | None:
    """Why the curve of a model is not there: another study may still have to measure it."""
    curve = curve_file(simulate)
    if curve is None or is_there(curve):
        return None
    path = Path(simulate["curve"]["file"])
    made_by = f": run the study {path.parts[1]} first" if path.parts[0] == "results" else ""
    return f"there is no {path}{made_by}"


def _reasons(found: Iterable[tuple[_What, str | None]]) -> dict[_What, str]:
    return {what: reason for what, reason in found if reason}


def _cannot_drop(case: Case, cluster: Cluster | None) -> str | None:
    """Why the page cache cannot be dropped for a case that asks for it."""
    if not case.drop_page_cache:
        return None
    elsewhere = "the page cache is dropped on one machine alone, and runs are made on a cluster"
    return elsewhere if cluster else cannot_drop()


def _unsuited(case: Case, over: Interconnect | None, has_program: Callable[[str], object]) -> str | None:
    """Why a case cannot run over an interconnect, or serially (None)."""
    if problem := _missing_programs(case, has_program, over):
        return problem
    if over is None:
        return None
    program = application(case.application).command(case, 2)[0]
    of_build, folders = program_of_build(program, over), over.launch.get("path")
    if folders and not of_build:  # what is found elsewhere is another build than the file says
        return f"launch.path of {over.name}: no program {program} in {', '.join(folders)}"
    return library_mismatch(of_build or program, over)


def _unthreaded(case: Case, over: Interconnect) -> str | None:
    """Why the processes of a case have one thread only over an interconnect."""
    app = application(case.application)
    program = app.command(case, 1)[0]
    return app.unthreaded(case, program_of_build(program, over) or program)


def _missing_programs(
    case: Case, has_program: Callable[[str], object], *builds: Interconnect | None
) -> str | None:
    """Programs of a case that are neither here nor in the folders of any of some interconnects."""
    missing = [
        program
        for program in application(case.application).programs(case)
        if not (has_program(program) or any(program_of_build(program, build) for build in builds))
    ]
    return f"not installed here: {', '.join(missing)}" if missing else None
