"""What attests an interconnect inside a run: building it, giving it to the ranks, reading what it wrote."""

from __future__ import annotations

import functools
import json
import os
import platform
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflows.domain import Case, InputError, Interconnect, Point, short_digest
from workflows.launch.mpi.registry import MPI_LIBRARIES, library_of
from workflows.launch.placement import core_numbers
from workflows.launch.probes import Probe
from workflows.launch.programs import run_compiler
from workflows.paths import RESULTS, ROOT

SOURCE = Path(__file__).parent / "attester"
BUILT = ROOT / RESULTS / ".attesters"
"""All nodes must see it."""

ALONE = "alone"
"""Program that does nothing but to initialise MPI."""

THREADS = "threads.so"
"""Preloaded, it tells where the threads of a rank ran."""

IN_RUN = "in the run"
BESIDE = "beside the run, once a block"

_WRITTEN = "attested.json"
_OPTIONS = ("-O2", "-Wall", "-Wextra")


def build(library: str) -> Path:
    """Build the attester for an MPI library, unless `BUILT` has it already.

    Returns
    -------
    Path
        Folder with ``preload.so``, ``attest.so``, `THREADS` and the program `ALONE`.

    Raises
    ------
    InputError
        It cannot be built, or not be preloaded: one line.
    """
    built = _built(library)
    if isinstance(built, InputError):
        raise InputError(str(built))
    return built


@functools.cache
def _built(library: str) -> Path | InputError:
    """Build once in this process, and try no more than once."""
    try:
        return _found_or_built(library)
    except InputError as error:
        return error


def _found_or_built(library: str) -> Path:
    compiler = MPI_LIBRARIES[library].compiler()
    if compiler is None:
        raise InputError(f"no mpicc.{library} (Debian: {MPI_LIBRARIES[library].compiler_package})")
    if set(" :") & set(str(BUILT)):
        raise InputError(f"{BUILT}: what lies there cannot be preloaded, for the blank or colon in it")
    command = run_compiler([compiler, "-show"])
    sources = b"".join(file.read_bytes() for file in sorted(SOURCE.glob("*.c")))
    system = f"{os.confstr('CS_GNU_LIBC_VERSION')} {platform.machine()}"  # of an image, perhaps
    made = BUILT / short_digest(f"{command}{system}".encode() + sources)
    if not made.exists():
        _build(compiler, command, made)
    return made


def _build(compiler: str, command: str, made: Path) -> None:
    begun = made.with_suffix(f".{os.getpid()}")
    try:
        begun.mkdir(parents=True)
    except OSError as error:
        raise InputError(f"{begun}: {error.strerror}") from None
    # Bound to no library: it takes the functions of the library that the program uses.
    unbound = [word for word in shlex.split(command) if not word.startswith(("-l", "-L", "-Wl,"))]
    library = [*unbound, *_OPTIONS, "-fPIC", "-shared"]
    try:
        for name, argv in (
            ("preload.so", [*library, str(SOURCE / "preload.c"), "-ldl"]),
            (THREADS, [*library, str(SOURCE / "threads.c"), "-ldl"]),
            ("attest.so", [*library, str(SOURCE / "attest.c"), "-lm", "-ldl"]),
            (ALONE, [compiler, *_OPTIONS, str(SOURCE / "alone.c")]),
        ):
            run_compiler([*argv, "-o", str(begun / name)], product="the attester")
        if not made.exists():
            begun.rename(made)
    finally:
        shutil.rmtree(begun, ignore_errors=True)


def hindrance(case: Case, interconnect: Interconnect) -> str | None:
    """Why the runs of a case cannot attest an interconnect themselves, in one line; None where they can."""
    if case.application == "command" and "seconds" not in case.settings["read"]:
        return "the whole run is timed"
    try:
        build(interconnect.launch["mpi"])
    except InputError as error:
        return str(error)
    return None


def environment(point: Point, interconnect: Interconnect, scratch: Path) -> dict[str, str]:
    """Variables that make the ranks of a run attest its interconnect; all nodes see `scratch`.

    Raises
    ------
    InputError
        See `build`.
    """
    attester = build(interconnect.launch["mpi"])
    judged = point.nodes > 1 or not interconnect.joins_nodes
    ranges = (interconnect.attest or {}) if judged else {}
    slowest = ranges.get("latency_us", [0, float("inf")])[1], ranges.get("bandwidth_MBps", [0])[0]
    return {
        "NODEWORTH_PRELOAD": f"{attester}/preload.so",
        "NODEWORTH_ATTESTER": f"{attester}/attest.so",
        "NODEWORTH_ATTEST": f"{scratch}/{_WRITTEN}",
        "NODEWORTH_ATTEST_SLOWEST": "{:g} {:g}".format(*slowest),
        **library_of(interconnect).reporting(interconnect.launch, scratch),
    }


@dataclass(frozen=True)
class World:
    """The MPI_COMM_WORLD of a program: how many processes it has, and the MPI library by its own account."""

    processes: int
    library: str


def watching(library: str) -> dict[str, str]:
    """Make the ranks of a run write what `read_worlds` reads; empty if the attester cannot be built."""
    try:
        return {"NODEWORTH_PRELOAD": f"{build(library)}/preload.so"}
    except InputError:
        return {}


def read_worlds(scratch: Path) -> list[World]:
    """Read every world that the programs of a run initialised, in the folder where its ranks write."""
    lines = [line for file in sorted(scratch.glob("*.world")) for line in file.read_text().splitlines()]
    parted = (line.partition(" ") for line in lines)
    return [World(int(processes), " ".join(library.split())) for processes, _, library in parted]


def check_worlds(
    worlds: Sequence[World], processes: int, interconnect: Interconnect, copies: int | None = None
) -> str | None:
    """Find out whether a program ran as several smaller runs, by its largest world.

    Parameters
    ----------
    processes : int
        Ranks that were started.
    copies : int or None
        How many times the output holds everything that a run prints. That is the only sign if no program was
        seen to initialise MPI.

    Returns
    -------
    str or None
        One line if the program did.
    """
    largest = max(worlds, key=lambda world: world.processes, default=None)
    wanted = f"instead of one run of {processes} processes"
    if largest is None and processes == copies:
        return (
            f"{copies} singletons {wanted}: all that the case reads is there {copies} times, and Nodeworth "
            "saw no process initialise MPI. A right program prints on one process only"
        )
    if largest is None or largest.processes >= processes:
        return None
    count, size = processes // largest.processes, largest.processes
    runs = f"{count} singletons" if size == 1 else f"{count} runs of {size} processes"
    named = f"interconnect {interconnect.name} names {library_of(interconnect).title} (launch.mpi)"
    return f"{runs} {wanted}: the program uses {largest.library}, but {named}"


def telling_threads(library: str) -> dict[str, str]:
    """Make the ranks of a run bind their threads and tell where these ran: see `workflows/launch/rank`.

    They tell nothing where that cannot be built, and `workflows.launch.launch.check_threads` then says so.
    """
    try:
        return {"NODEWORTH_THREADS": str(build(library) / THREADS)}
    except InputError:
        return {"NODEWORTH_THREADS": ""}


def found(scratch: Path, placement: Sequence[Mapping[str, Any]], transports: Sequence[str]) -> Probe | None:
    """Read what the ranks of a run found, in the folder that `environment` was given.

    Parameters
    ----------
    placement : sequence of mapping
        Where the ranks were started.
    transports : sequence of str
        Those that the MPI library chose, as far as it says.

    Returns
    -------
    Probe or None
        Its problem is that a rank had moved when it had initialised MPI. None where no program was seen to
        initialise MPI.
    """
    file = scratch / _WRITTEN
    if not file.exists():
        return None
    written = json.loads(file.read_text())
    ran_on = written.pop("placement")
    ranks = written.pop("ranks", [0, 0])
    return Probe(
        way=IN_RUN,
        ranks=ranks,
        hosts=[ran_on[rank][0] for rank in ranks],
        cores=[ran_on[rank][1] for rank in ranks],
        transports=list(transports),
        problem=moved(
            [(rank["host"], rank["cores"]) for rank in placement],
            ran_on,
            "rank {} was started on core {} of {}, with MPI initialised it was on core {} of {}",
        ),
        **written,
    )


def moved(were: Sequence[Sequence[str]], are: Sequence[Sequence[str]], text: str) -> str | None:
    """One line for the first rank that is elsewhere than it was, on a host and its cores, or some of them.

    `text` is formatted with the rank, core and host before, core and host after.
    """
    if len(are) != len(were):
        return f"{len(are)} of its {len(were)} ranks were there"
    for rank, ((host, cores), (new_host, new_cores)) in enumerate(zip(were, are, strict=True)):
        if host != new_host or not set(core_numbers(new_cores)) <= set(core_numbers(cores)):
            return text.format(rank, cores, host, new_cores, new_host)
    return None
