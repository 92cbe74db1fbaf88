"""The attester: a small library that measures the interconnect inside a run.

Ranks preload it. When the program initialises MPI, the attester exchanges the messages of a short ping-pong,
and writes the result to a file.
"""

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
from workflows.launch.programs import run_compiler
from workflows.paths import BUILT

SOURCE = Path(__file__).parent / "attester"
ATTESTERS = BUILT / ".attesters"
"""Folder of built attesters, which all nodes must see."""

ALONE = "alone"
"""Program that only initialises MPI."""

THREADS = "threads.so"
"""Library to preload that reports where the threads of a rank ran."""

IN_RUN = "in the run"
BESIDE = "beside the run, once a block"

_WRITTEN = "attested.json"
_OPTIONS = ("-O2", "-Wall", "-Wextra")


@dataclass(frozen=True, kw_only=True)
class Probe:
    """Result of the ping-pong that attests an interconnect; None stands for unknown values.

    The schema of a record describes the attributes (``probe``).

    Attributes
    ----------
    hosts, cores : sequence of str
        Host and cores of each of the two `ranks`.
    """

    way: str | None = None
    ranks: Sequence[int]
    hosts: Sequence[str]
    cores: Sequence[str]
    transports: Sequence[str] = ()
    problem: str | None = None
    library: str | None = None
    seconds: float | None = None
    attempts: int | None = None
    latency_us: float | None = None
    bandwidth_MBps: float | None = None  # noqa: N815

    def as_json(self) -> dict[str, Any]:
        """Return the part of a record that describes the probe."""
        return {key: value for key, value in vars(self).items() if value is not None or key == "problem"}


def build(library: str) -> Path:
    """Return the attester for an MPI library, built unless it exists in `ATTESTERS`.

    Returns
    -------
    Path
        Folder with ``preload.so``, ``attest.so``, `THREADS` and the program `ALONE`.

    Raises
    ------
    InputError
        The attester cannot be built or preloaded: one line.
    """
    folder = _build_once(library)
    if isinstance(folder, InputError):
        raise InputError(str(folder))
    return folder


@functools.cache
def _build_once(library: str) -> Path | InputError:
    """Build the attester, or return the error of a failed build; the result of this process is cached."""
    try:
        return _build_if_missing(library)
    except InputError as error:
        return error


def _build_if_missing(library: str) -> Path:
    compiler = MPI_LIBRARIES[library].compiler()
    if compiler is None:
        raise InputError(f"no mpicc.{library} (Debian: {MPI_LIBRARIES[library].compiler_package})")
    if set(" :") & set(str(ATTESTERS)):
        raise InputError(f"{ATTESTERS}: what lies there cannot be preloaded, for the blank or colon in it")
    command = run_compiler([compiler, "-show"])
    sources = b"".join(file.read_bytes() for file in sorted(SOURCE.glob("*.c")))
    system = f"{os.confstr('CS_GNU_LIBC_VERSION')} {platform.machine()}"  # an image may differ from its host
    folder = ATTESTERS / short_digest(f"{command}{system}".encode() + sources)
    if not folder.exists():
        _build(compiler, command, folder)
    return folder


def _build(compiler: str, command: str, folder: Path) -> None:
    draft = folder.with_suffix(f".{os.getpid()}")
    try:
        draft.mkdir(parents=True)
    except OSError as error:
        raise InputError(f"{draft}: {error.strerror}") from None
    # The attester is not linked to MPI: it calls the functions of the MPI library that the program loads.
    unlinked = [word for word in shlex.split(command) if not word.startswith(("-l", "-L", "-Wl,"))]
    library = [*unlinked, *_OPTIONS, "-fPIC", "-shared"]
    try:
        for name, argv in (
            ("preload.so", [*library, str(SOURCE / "preload.c"), "-ldl"]),
            (THREADS, [*library, str(SOURCE / "threads.c"), "-ldl"]),
            ("attest.so", [*library, str(SOURCE / "attest.c"), "-lm", "-ldl"]),
            (ALONE, [compiler, *_OPTIONS, str(SOURCE / "alone.c")]),
        ):
            run_compiler([*argv, "-o", str(draft / name)], product="the attester")
        if not folder.exists():
            draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def cannot_attest(case: Case, interconnect: Interconnect) -> str | None:
    """Return why the runs of a case cannot attest an interconnect; None if they can."""
    if case.application == "command" and "seconds" not in case.settings["read"]:
        return "the whole run is timed"
    try:
        build(interconnect.launch["mpi"])
    except InputError as error:
        return str(error)
    return None


def environment(point: Point, interconnect: Interconnect, scratch: Path) -> dict[str, str]:
    """Return the environment variables that make the ranks of a run attest its interconnect.

    Parameters
    ----------
    scratch : Path
        Folder for the result, which all nodes share.

    Raises
    ------
    InputError
        See `build`.
    """
    attester = build(interconnect.launch["mpi"])
    is_judged = point.nodes > 1 or not interconnect.joins_nodes
    ranges = (interconnect.attest or {}) if is_judged else {}
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
    """The MPI_COMM_WORLD of a program: its number of processes, and the version that its library reports."""

    processes: int
    library: str


def world_environment(library: str) -> dict[str, str]:
    """Return the variables that make ranks write the files of `read_worlds`; empty without an attester."""
    try:
        return {"NODEWORTH_PRELOAD": f"{build(library)}/preload.so"}
    except InputError:
        return {}


def read_worlds(scratch: Path) -> list[World]:
    """Read the worlds that the programs of a run initialised, from the folder where its ranks write."""
    lines = [line for file in sorted(scratch.glob("*.world")) for line in file.read_text().splitlines()]
    fields = (line.partition(" ") for line in lines)
    return [World(int(processes), " ".join(library.split())) for processes, _, library in fields]


def check_worlds(
    worlds: Sequence[World], processes: int, interconnect: Interconnect, copies: int | None = None
) -> str | None:
    """Check that the started ranks formed a single run, and not several smaller runs of the program.

    This happens if the program uses another MPI library than the launcher.

    Parameters
    ----------
    worlds : sequence of World
        Worlds that the ranks reported. The largest world decides.
    processes : int
        Number of started ranks.
    copies : int or None
        How many times the output holds everything that a run prints. It decides if no world was reported.

    Returns
    -------
    str or None
        One line if the ranks formed several runs.
    """
    largest = max(worlds, key=lambda world: world.processes, default=None)
    expected = f"instead of one run of {processes} processes"
    if largest is None and processes == copies:
        return (
            f"{copies} singletons {expected}: all that the case reads is there {copies} times, and Nodeworth "
            "saw no process initialise MPI. A right program prints on one process only"
        )
    if largest is None or largest.processes >= processes:
        return None
    count, size = processes // largest.processes, largest.processes
    runs = f"{count} singletons" if size == 1 else f"{count} runs of {size} processes"
    named = f"interconnect {interconnect.name} names {library_of(interconnect).title} (launch.mpi)"
    return f"{runs} {expected}: the program uses {largest.library}, but {named}"


def thread_environment(library: str) -> dict[str, str]:
    """Return the variables that make ranks bind their threads and report their cores.

    See ``workflows/launch/rank``. If the library cannot be built, ranks report nothing, and
    `workflows.launch.placement.check_threads` fails.
    """
    try:
        return {"NODEWORTH_THREADS": str(build(library) / THREADS)}
    except InputError:
        return {"NODEWORTH_THREADS": ""}


def read_probe(
    scratch: Path, placement: Sequence[Mapping[str, Any]], transports: Sequence[str]
) -> Probe | None:
    """Read the result of the attester from the folder that `environment` was given.

    Parameters
    ----------
    placement : sequence of mapping
        Hosts and cores on which the ranks were started.
    transports : sequence of str
        Transports that the MPI library reports.

    Returns
    -------
    Probe or None
        None if no program initialised MPI. The probe has a problem if a rank moved to other cores before MPI
        was initialised.
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


def moved(before: Sequence[Sequence[str]], after: Sequence[Sequence[str]], text: str) -> str | None:
    """Return one line for the first rank that moved to another host or to other cores; None if none moved.

    Parameters
    ----------
    before, after : sequence of (str, str)
        Host and cores of each rank.
    text : str
        Format of the line. It receives the rank, its cores and host before, and its cores and host after.
    """
    if len(after) != len(before):
        return f"{len(after)} of its {len(before)} ranks were there"
    for rank, ((host, cores), (new_host, new_cores)) in enumerate(zip(before, after, strict=True)):
        if host != new_host or not set(core_numbers(new_cores)) <= set(core_numbers(cores)):
            return text.format(rank, cores, host, new_cores, new_host)
    return None
