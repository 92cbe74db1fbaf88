"""Benchmarks of the network in mpi4py: staging and starting a case's program, and reading what it prints.

A case's folder holds its program; the parameters of the size are in ``parameters.json``. The modules of ours
that it imports are copied beside it, so that they, and no others, are in the case's digest. A program
prints JSON, an object a line: ``{"started": {...}}`` when all ranks are up, and at the end
``{"finished": {...}}`` with ``seconds`` and ``answer``. What else there is in the two is kept in the record.
"""

from __future__ import annotations

import ast
import functools
import json
import sys
from pathlib import Path
from typing import Any

from workflows.applications import tools
from workflows.applications.defaults import explain, prepare, stage, timed_part, untimed, work  # noqa: F401
from workflows.benchmarks import SERVERS
from workflows.domain import Case, InputError, Line, Reading
from workflows.paths import ROOT

RANKS = {"MPI4PY_RC_THREADS": "0", "PYTHONDONTWRITEBYTECODE": "1"}
"""Environment of all programs: without threads, as ``MPI_Init`` in C, since the locks of a library with
threads cost time at each message; compiled modules are not written into prepared folders."""

_OURS = "workflows"
_PARAMETERS = "parameters.json"


def programs(case: Case) -> list[str]:
    """None but Python, which runs this and has mpi4py."""
    return []


def inputs(case: Case) -> dict[str, bytes]:
    """Files of the case's folder, the parameters of the size, and the modules that the program imports.

    Raises
    ------
    InputError
        The case has no such program, its program is no Python, or it has a file that is written here.
    """
    own, program = tools.case_files(case), case.settings["program"]
    where = case.folder / "case.yaml"
    if program not in own:
        raise InputError(f"{where}: settings.program: there is no {program!r} beside it")
    try:
        modules = _modules(own[program], ROOT)
    except SyntaxError as error:
        raise InputError(f"{case.folder / program}: line {error.lineno}: {error.msg}") from None
    made = modules | {_PARAMETERS: (json.dumps(case.parameters, indent=1) + "\n").encode()}
    if twice := sorted(own.keys() & made.keys()):
        raise InputError(f"{case.folder / twice[0]}: not for the case: it is written for every run")
    return own | made


def command(case: Case, processes: int, threads: int = 1) -> list[str]:
    """Program of one rank, under mpi4py's runner, which aborts all ranks where one raises an exception."""
    return [sys.executable, "-m", "mpi4py", case.settings["program"]]


def environment(case: Case) -> dict[str, str]:
    """Environment of every rank: for a program with data servers, how many there are a process."""
    servers = {SERVERS: str(case.option.servers_per_process)} if case.option else {}
    return RANKS | servers | case.settings["environment"]


def unthreaded(case: Case, program: str) -> str | None:
    """Why a case's program has no threads: only its case.yaml knows of some."""
    return (
        None if case.settings["threads"] else f"{case.settings['program']} has no threads (settings.threads)"
    )


def read(case: Case, processes: int, lines: list[Line], threads: int = 1) -> Reading:
    """Read the output of one run.

    Returns
    -------
    Reading
        ``seconds`` and ``answer`` as the program says; `details` holds all the rest.
    """
    started = _said("started", lines)
    finished = _said("finished", lines)
    if started is None or finished is None:
        missing = "ready" if started is None else "finished"
        return Reading(None, started and started[0], None, None, f"incomplete: never {missing}")
    (startup_seconds, about), (end, rest) = started, finished
    seconds, answer = rest.pop("seconds", None), rest.pop("answer", None)
    problem = None
    if not isinstance(seconds, int | float):
        problem = f"incomplete: no seconds, but {seconds!r}"
    elif case.answer and not isinstance(answer, int | float):
        problem = f"incomplete: no {case.answer.quantity}, but {answer!r}"
    elif case.answer:
        problem = tools.impossible(answer, case.answer)
    return Reading(
        seconds=seconds if isinstance(seconds, int | float) else None,
        startup_seconds=startup_seconds,
        output_seconds=lines[-1].seconds - end,
        answer=answer if isinstance(answer, int | float) else None,
        problem=problem,
        details={"about": about, **rest},
        printed=str(seconds),
    )


def version(lines: list[Line]) -> str | None:
    """Version of mpi4py."""
    started = _said("started", lines)
    return started[1].get("mpi4py") if started else None


def _modules(program: bytes, root: Path) -> dict[str, bytes]:
    """Sources of our modules that a program imports, also through others, by their path from `root`."""
    found: dict[str, bytes] = {}
    waiting = [program]
    while waiting:
        for name in _imported(waiting.pop()):
            path = root / name.replace(".", "/")
            for file in (path.with_suffix(".py"), path / "__init__.py"):
                relative = file.relative_to(root).as_posix()
                if file.is_file() and relative not in found:
                    found[relative] = file.read_bytes()
                    waiting.append(found[relative])
    return found


@functools.cache
def _imported(source: bytes) -> frozenset[str]:
    """Names of our modules that a source may import, with the packages that they are in."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    ours = [name.split(".") for name in names if name.split(".")[0] == _OURS]
    return frozenset(".".join(words[:length]) for words in ours for length in range(1, len(words) + 1))


def _said(what: str, lines: list[Line]) -> tuple[float, dict[str, Any]] | None:
    """Find the last line of a kind; gives when it came and what is in it. A cut-off line is none."""
    start = f'{{"{what}": '
    for line in reversed(lines):
        if line.text.startswith(start):
            try:
                content = json.loads(line.text)[what]
            except ValueError:
                continue
            if isinstance(content, dict):
                return line.seconds, content
    return None
