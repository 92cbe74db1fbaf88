"""Cases made from inputs of users: ``cases: [{path: ~/run/pitzDaily}]``.

Nodeworth copies the input into the folder of the study's results, where the copy is a case like any other
with a case.yaml. The user's files are only read.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import json
import math
import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
from ruamel.yaml import YAML

from analysis.runs.settings import SIZE_OF_USERS
from workflows.applications import application, names
from workflows.applications.base import Adopted, Application
from workflows.domain import Case, InputError, Point, short_digest
from workflows.inputs import nearest
from workflows.launch.execution import execute
from workflows.launch.launch import launch_ranks
from workflows.study.cases import load_case
from workflows.study.inline import Existing

STAMP = ".made-from"
"""File in the copy: the state of the user's files and the keys of the study that it was made from."""

_LONGEST_SECONDS = 10
"""Rough time of a serial run, unless the study states the steps."""
_LEAST_STEPS = 10
_TRIALS = (5, 50)
"""Steps of the trial run, and of a second trial run if the first takes less than `_SHORT_SECONDS`."""
_SHORT_SECONDS = 0.5
_SERIAL_MB = 100


def application_of(path: Path, where: str) -> str:
    """Return the name of the application that runs an input of a user; `where` begins messages.

    Raises
    ------
    InputError
        The input is missing, or no application runs it: one line, with the only subfolder that would run.
    """
    if not path.exists():
        near = nearest(path.name, [file.name for file in path.parent.glob("*")])
        raise InputError(f"{where}: no such file or folder{near}")
    if accepting := _accepting(path):
        return accepting[0]
    accepted = ", ".join(text for name in names() if (text := application(name).adopted))
    inner = [folder for folder in path.iterdir() if _accepting(folder)] if path.is_dir() else []
    hint = f", did you mean {str(inner[0])!r}?" if len(inner) == 1 else ""
    raise InputError(f"{where}: is none of the inputs that run as they are{hint}: {accepted}")


def _accepting(path: Path) -> list[str]:
    return [name for name in names() if application(name).adopts(path)]


def scratch_copies(cases: Path) -> Path:
    """Return a temporary folder with links to the files in `cases`, for `make_case` in a dry run."""
    scratch = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, scratch)
    if not cases.exists():
        return scratch
    return Path(shutil.copytree(cases, scratch / "cases", copy_function=_link))


def _link(target: str, link: str) -> None:
    Path(link).symlink_to(Path(target).absolute())


def make_case(
    given: Existing, cases: Path, run_here: bool, limit_seconds: float, where: str | None = None
) -> bool:
    """Make the copy of a user's input in ``<cases>/<application>/<name>``, unless it is there.

    Return whether a trial run or the study states the time of the case; else the time is a rough guess.

    Parameters
    ----------
    run_here : bool
        Whether programs may run here: they make the mesh, and a trial run measures time and memory.
    limit_seconds : float
        Time limit of the trial run.
    where : str, optional
        What names the input, for messages; by default the key of the study file.

    Raises
    ------
    InputError
        The input is missing or cannot be run: one line.
    """
    where = where or f"{given.file}: cases: path: {given.path}"
    accepting = application_of(given.path, where)
    app = application(accepting)
    with _errors_at(where, given.path):
        files = app.input_files(given.path)
    folder = cases / accepting / given.name
    stamp = _stamp(given, files)
    with _alone(cases):
        earlier = _earlier(folder)
        if earlier.get("stamp") == stamp:
            return bool(earlier.get("is_timed", run_here))
        with tempfile.TemporaryDirectory(dir=cases) as scratch:
            # load_case expects <application>/<case>.
            copy = Path(scratch) / accepting / given.name
            for name, path in files.items():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy / name)
            steps = given.steps or earlier.get("steps")
            try:
                steps, each = _complete(app, accepting, given, copy, steps, run_here, limit_seconds, where)
            except RuntimeError as error:
                line = str(error)
                for shown in (str(copy.absolute()), str(copy)):
                    line = line.replace(shown, str(given.path))
                raise InputError(f"{where}: {line}") from None
            is_timed = run_here or given.serial_seconds is not None
            kept = {"stamp": stamp, "steps": steps, "step_seconds": each, "is_timed": is_timed}
            (copy / STAMP).write_text(json.dumps(kept))
            shutil.rmtree(folder, ignore_errors=True)
            folder.parent.mkdir(parents=True, exist_ok=True)
            copy.rename(folder)
    return is_timed


@contextlib.contextmanager
def _errors_at(where: str, path: Path) -> Iterator[None]:
    """Replace the path at the start of a message about an input by `where`."""
    try:
        yield
    except InputError as error:
        line = str(error).removeprefix(f"{path}: ").removeprefix(f"{path}/")
        raise InputError(f"{where}: {line}") from None


def _complete(
    app: Application,
    name: str,
    given: Existing,
    copy: Path,
    steps: int | None,
    run_here: bool,
    limit_seconds: float,
    where: str,
) -> tuple[int | None, float | None]:
    """Complete the copy and write its case.yaml.

    Returns
    -------
    int or None
        Number of steps.
    float or None
        Seconds of a step, or of a run without steps, in the trial run; None without a trial run.
    """
    with _errors_at(where, given.path):
        adopted = app.adopt(given.path, copy, given.run_scripts, run_here)
    if given.steps and adopted.steps_key is None:
        raise InputError(f"{where}: remove steps: this input has no number of steps")
    if adopted.steps_key and not (steps or adopted.steps):
        raise InputError(
            f"{where}: the input states no number of steps, or too few to be timed{_keys_of_steps(app)}; "
            "state it with --steps, or with steps in the study"
        )
    for remark in adopted.remarks:
        print(f"case {given.name}: {remark}", file=sys.stderr)
    seconds, memory = adopted.serial_seconds, adopted.memory_MB
    _write_case(name, given, copy, adopted, steps or adopted.steps, seconds, memory)
    if run_here:
        print(
            f"case {given.name}: short serial runs measure time and memory of {given.path} "
            f"(at most {limit_seconds:g} s each)",
            file=sys.stderr,
        )
        case = load_case(given.name, copy.parents[1])
        startup, each, memory = _trial(app, case, adopted, limit_seconds)
    else:
        startup, each = 0.0, seconds / (adopted.steps or 1)
    if adopted.steps and steps is None:
        fitting = max(_round(_LONGEST_SECONDS / each), _LEAST_STEPS)
        steps = min(adopted.steps, fitting)
    seconds = given.serial_seconds or startup + each * (steps or 1)
    memory = given.memory_MB or memory
    if run_here and steps:
        needs = f"about {seconds:.3g} s and {memory:.0f} MB serially"
        is_other = adopted.steps is not None and adopted.steps != steps
        number = f"{steps} steps per run" + (f" (its files ask for {adopted.steps})" if is_other else "")
        print(f"case {given.name}: {number}, {needs}", file=sys.stderr)
    _write_case(name, given, copy, adopted, steps, seconds, memory)
    return steps, each if run_here else None


def _keys_of_steps(app: Application) -> str:
    """Return, in brackets, where an input states its number of steps; empty if that is unknown."""
    return f" ({app.keys_of_steps})" if app.keys_of_steps else ""


def _trial(
    app: Application, case: Case, adopted: Adopted, limit_seconds: float
) -> tuple[float, float, float]:
    """Run a case serially with more and more steps, until they take long enough to be timed.

    Returns
    -------
    float
        Seconds before and after the steps.
    float
        Seconds of a step, or of the whole run without steps; without the delays of `running_share`.
    float
        Memory in MB.
    """
    step_counts = _TRIALS if adopted.steps_key else (1,)
    for steps in step_counts:
        key = {adopted.steps_key: steps} if adopted.steps_key else {}
        short = replace(case, parameters=case.parameters | key)
        with tempfile.TemporaryDirectory(dir=_memory_folder()) as name:
            scratch = Path(name)
            app.prepare(short, 1, scratch / "prepared", None)
            (scratch / "run").mkdir()
            app.stage(short, scratch / "prepared", scratch / "run")
            point = Point(case.name, None, 1, 1, nodes=1, cores=1)
            environment = {"OMP_NUM_THREADS": "1"} | app.environment(short)
            launch = launch_ranks(point, None, (), app.command(short, 1), environment, scratch)
            idle_before = _idle_seconds()
            done = execute(launch.argv, launch.env, scratch / "run", limit_seconds)
            idle = _idle_seconds() - idle_before
        reading = app.read(short, 1, done.lines)
        if done.timed_out:
            raise RuntimeError(
                f"the trial run of {steps} steps takes longer than {limit_seconds:g} s (limits.run_seconds)"
            )
        if done.exit_status or done.signal or reading.problem:
            reason = (
                app.explain(done.errors)
                or reading.problem
                or done.signal
                or f"exit status {done.exit_status}"
            )
            reason = reason.replace(f"{scratch / 'run'}/", "")
            raise RuntimeError(f"the trial run failed: {reason}")
        seconds = (reading.seconds or 0.0) * running_share(done.wall_seconds, done.cpu_seconds, idle)
        if seconds >= _SHORT_SECONDS:
            break
    timed = steps - (app.steps.untimed if app.steps else 0)
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    startup = done.wall_seconds - (reading.seconds or 0.0)
    return startup, max(seconds, 1e-3) / timed, max(memory, _SERIAL_MB)


def running_share(wall_seconds: float, cpu_seconds: float, idle_seconds: float) -> float:
    """Return the share of the wall time of a serial run in which other programs did not delay the run.

    Without the delays, the trial run chooses about as many steps on a busy machine as on an idle machine.
    A run that does not compute is delayed if no core of the machine is idle; else it waits for its files.

    Parameters
    ----------
    idle_seconds : float
        Idle time of all cores of the machine during the run.
    """
    delay = max(wall_seconds - cpu_seconds - idle_seconds, 0.0)
    return 1 - delay / wall_seconds


def _idle_seconds() -> float:
    """Return the idle time of all cores since the machine started, with waits for input and output."""
    times = psutil.cpu_times()
    return float(times.idle + times.iowait)


def _write_case(
    name: str,
    given: Existing,
    copy: Path,
    adopted: Adopted,
    steps: int | None,
    seconds: float,
    memory: float,
) -> None:
    """Write the case.yaml of a copy."""
    remarks = "".join(f" {remark[0].upper()}{remark[1:]}." for remark in adopted.remarks)
    made = (
        f" Each timed run makes {steps} steps. The input asks for {adopted.steps} steps."
        if adopted.steps
        else ""
    )
    changes = (
        f" Nodeworth prepared its copy of the input: {'; '.join(adopted.changes)}." if adopted.changes else ""
    )
    document = {
        "application": name,
        "title": given.name[:60],
        "description": (
            f"{adopted.program} runs {given.path}.{remarks}{made}{changes} Nodeworth compares the results "
            "of each run with the results of the serial run. Consistent results may still be wrong."
        ),
        "stands_for": "an input of the user",
        "size": SIZE_OF_USERS,
        "sizes": {
            SIZE_OF_USERS: {
                "parameters": adopted.parameters | ({adopted.steps_key: steps} if adopted.steps_key else {}),
                "serial_seconds": float(f"{seconds:.3g}"),
                "memory_MB": math.ceil(memory),
            }
        },
        "settings": adopted.settings,
    }
    with (copy / "case.yaml").open("w") as file:
        YAML().dump(document, file)


def _stamp(given: Existing, files: dict[str, Path]) -> str:
    """Return a digest of the names, sizes and times of the user's files, and of the keys of the study."""
    keys = [given.steps, given.run_scripts, str(given.path), given.serial_seconds, given.memory_MB]
    states = [(name, path.stat().st_size, path.stat().st_mtime_ns) for name, path in files.items()]
    return short_digest(repr([keys, states]).encode())


def _earlier(folder: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError):
        earlier: dict[str, Any] = json.loads((folder / STAMP).read_text())
        return earlier
    return {}


def trial_of(case: Case) -> tuple[int | None, float | None]:
    """Return the number of steps of a copy, and the seconds of the timed part in the trial run.

    Either is None if it is not known.
    """
    earlier = _earlier(case.folder)
    steps, each = earlier.get("steps"), earlier.get("step_seconds")
    return steps, None if each is None else each * (steps or 1)


@contextlib.contextmanager
def _alone(cases: Path) -> Iterator[None]:
    """Hold the lock of the folder within the context: no other process makes a copy there meanwhile."""
    cases.mkdir(parents=True, exist_ok=True)
    with (cases / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _memory_folder() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _round(number: float) -> int:
    """Round down to one significant digit."""
    power = 10 ** math.floor(math.log10(max(number, 1)))
    return int(number // power * power)
