"""Network benchmarks in mpi4py.

A case's folder holds a Python program; ``parameters.json`` holds the parameters of the size. The project's
modules that the program imports are copied next to it, so the case's digest covers exactly those. The program
prints one JSON object a line: ``{"started": {...}}`` when all ranks run, and at the end ``{"finished":
{...}}`` with ``seconds`` and ``answer``. The record keeps all other values of the two objects.
"""

from __future__ import annotations

import ast
import functools
import json
import sys
from pathlib import Path
from typing import Any

from workflows.applications import tools
from workflows.applications.base import Application
from workflows.benchmarks import SERVERS
from workflows.domain import Case, InputError, Line, Reading
from workflows.paths import ROOT

RANKS = {"MPI4PY_RC_THREADS": "0", "PYTHONDONTWRITEBYTECODE": "1"}
"""Environment of all programs. MPI starts without thread support, as ``MPI_Init`` does in C, because the
locks of a threaded library cost time at each message. Prepared folders stay free of compiled modules."""

_OURS = "workflows"
_PARAMETERS = "parameters.json"


class MPI4Py(Application):
    """Benchmark programs in mpi4py, run by the Python of this project."""

    def programs(self, case: Case) -> list[str]:
        """Return none: the Python that runs this project has mpi4py."""
        return []

    def inputs(self, case: Case) -> dict[str, bytes]:
        """Return the case's files, the parameters of the size, and the modules that the program imports.

        Raises
        ------
        InputError
            The program is missing or not valid Python, or the case has a file that this method makes.
        """
        files, program = tools.case_files(case), case.settings["program"]
        where = case.folder / "case.yaml"
        if program not in files:
            raise InputError(f"{where}: settings.program: there is no {program!r} beside it")
        try:
            modules = _modules(files[program], ROOT)
        except SyntaxError as error:
            raise InputError(f"{case.folder / program}: line {error.lineno}: {error.msg}") from None
        made = modules | {_PARAMETERS: (json.dumps(case.parameters, indent=1) + "\n").encode()}
        if twice := sorted(files.keys() & made.keys()):
            raise InputError(f"{case.folder / twice[0]}: not for the case: it is written for every run")
        return files | made

    def command(self, case: Case, processes: int, threads: int = 1) -> list[str]:
        """Return the command of one rank; mpi4py's runner aborts all ranks when one raises an exception."""
        return [sys.executable, "-m", "mpi4py", case.settings["program"]]

    def environment(self, case: Case) -> dict[str, str]:
        """Return the environment of every rank, with the number of data servers per process."""
        servers = {SERVERS: str(case.option.servers_per_process)} if case.option else {}
        return RANKS | servers | case.settings["environment"]

    def unthreaded(self, case: Case, program: str) -> str | None:
        """Return a reason unless case.yaml declares that the program has threads."""
        if case.settings["threads"]:
            return None
        return f"{case.settings['program']} has no threads (settings.threads)"

    def read(self, case: Case, processes: int, lines: list[Line], threads: int = 1) -> Reading:
        """Read the output of one run.

        Returns
        -------
        Reading
            ``seconds`` and ``answer`` as the program prints them; `details` holds all other values.
        """
        started = _last_object("started", lines)
        finished = _last_object("finished", lines)
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

    def version(self, lines: list[Line]) -> str | None:
        """Return the version of mpi4py."""
        started = _last_object("started", lines)
        return started[1].get("mpi4py") if started else None


APPLICATION = MPI4Py()


def _modules(program: bytes, root: Path) -> dict[str, bytes]:
    """Return the sources of the project's modules that a program imports, directly or indirectly, by path."""
    sources: dict[str, bytes] = {}
    waiting = [program]
    while waiting:
        for name in _imported(waiting.pop()):
            path = root / name.replace(".", "/")
            for file in (path.with_suffix(".py"), path / "__init__.py"):
                relative = file.relative_to(root).as_posix()
                if file.is_file() and relative not in sources:
                    sources[relative] = file.read_bytes()
                    waiting.append(sources[relative])
    return sources


@functools.cache
def _imported(source: bytes) -> frozenset[str]:
    """Return the names of the project's modules that a source imports, with their packages."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    ours = [name.split(".") for name in names if name.split(".")[0] == _OURS]
    return frozenset(".".join(words[:length]) for words in ours for length in range(1, len(words) + 1))


def _last_object(key: str, lines: list[Line]) -> tuple[float, dict[str, Any]] | None:
    """Return the arrival time and the content of the last complete line of the form ``{"<key>": {...}}``."""
    start = f'{{"{key}": '
    for line in reversed(lines):
        if line.text.startswith(start):
            try:
                content = json.loads(line.text)[key]
            except ValueError:
                continue
            if isinstance(content, dict):
                return line.seconds, content
    return None
