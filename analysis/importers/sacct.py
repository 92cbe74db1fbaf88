"""Job accounting of Slurm, as ``sacct --parsable2`` prints it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from analysis.importers.importer import Importer
from analysis.importers.lines import whole_lines
from analysis.importers.mapping import Mapping
from analysis.importers.results import Import
from analysis.importers.variables import Recorded, Value, make_runs
from analysis.runs.runs import TableError

NEEDED = ("JobID", "JobName", "State")
_TIMES = ("ElapsedRaw", "Elapsed")
_CPUS = ("AllocCPUS", "NCPUS")
_ENERGIES = ("ConsumedEnergyRaw", "ConsumedEnergy")
DAEMONS = {"orted", "prted", "hydra_bstrap_proxy", "hydra_pmi_proxy", "pmi_proxy"}
"""Names of steps with one process per node that ``mpirun`` uses to start the ranks."""
UNFINISHED = {
    "PENDING",
    "RUNNING",
    "SUSPENDED",
    "REQUEUED",
    "RESIZING",
    "CONFIGURING",
    "COMPLETING",
    "STOPPED",
}
_JOULES = re.compile(r"([\d.]+)([KMGTP]?)")
_PREFIXES = {prefix: 1000.0**power for power, prefix in enumerate(["", *"KMGTP"])}
_NOT_KNOWN = 2.0**63
"""Smallest number that stands for an unknown value in Slurm."""
_ELAPSED = re.compile(r"(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+(?:\.\d+)?)")

Row = dict[str, Value]


@dataclass(frozen=True)
class _Job:
    """Row of a job, its line, and its numbered steps."""

    line: int
    row: Row
    steps: list[Row] = field(default_factory=list)


def begins(line: str) -> bool:
    """Return whether a line is the heading of a table that ``sacct --parsable2`` prints."""
    return "|" in line and bool({"JobID", "JobIDRaw"} & set(line.strip().split("|")))


def parse(text: str, source: str) -> tuple[list[Recorded], list[str]]:
    """Parse a dump, with or without steps, to one run per job that ran and ended.

    Variables are the columns of the job's row, and:

    - ``seconds``: elapsed time of the job; ``step_seconds``: elapsed time of its only numbered step;
    - ``nodes`` of the job; ``cores`` of the only numbered step, else of the job;
    - ``ntasks``: tasks of its steps, if all steps have the same number;
    - ``energy_joules`` of the job, else of its only numbered step.

    Raises
    ------
    TableError
        If a needed column is missing.
    """
    unread: list[str] = []
    rows = _rows(text, source, unread)
    jobs: list[_Job] = []
    for line, row in rows:
        number, _, step = str(row["JobID"]).partition(".")
        if not step:
            jobs.append(_Job(line, row))
        elif not jobs or jobs[-1].row["JobID"] != number:
            unread.append(f"{source}: line {line}: step {row['JobID']} without its job")
        elif step.isdecimal() and row["JobName"] not in DAEMONS:
            jobs[-1].steps.append(row)
    records: list[Recorded] = []
    skipped: Counter[str] = Counter()
    for job in jobs:
        state = _state(job.row)
        if state in UNFINISHED:
            skipped["that have not ended"] += 1
        elif not _elapsed_seconds(job.row):
            skipped["that never ran"] += 1
        elif "+" in str(job.row["JobID"]):
            skipped["that are parts of a heterogeneous job"] += 1
        else:
            records.append(_recorded(job, state, source))
    unread += [f"{source}: jobs {which}: {count}" for which, count in skipped.items()]
    return records, unread


def read_jobs(text: str, source: str) -> list[dict[str, Value]]:
    """Return the accounting of jobs, including running jobs: one row per start of a job.

    Returns
    -------
    list of dict
        ``job, state, cores, seconds, energy_joules``; the energy is None if Slurm did not count it.
    """
    return [
        {
            "job": str(row["JobID"]),
            "state": _state(row),
            "cores": _first(row, _CPUS),
            "seconds": _elapsed_seconds(row),
            "energy_joules": _joules(row),
        }
        for _, row in _rows(text, source, [])
        if "." not in str(row["JobID"])
    ]


def _rows(text: str, source: str, unread: list[str]) -> Iterator[tuple[int, Row]]:
    """Yield the line number and the cells of each row, by column."""
    lines = whole_lines(text, source, unread)
    printed = list(lines)
    headings = ((number, line.strip()) for number, line in printed if begins(line))
    number, heading = next(headings, (1, printed[0][1] if printed else ""))
    closed = heading.endswith("|")  # --parsable
    names = heading.removesuffix("|").split("|")
    needed = (*NEEDED, *([_TIMES[0]] if not set(names).intersection(_TIMES) else []))
    missing = next((name for name in needed if name not in names), None)
    if missing:
        raise TableError(f"is missing (found: {', '.join(names)})", source, f"line {number}", missing)
    for number, line in ((later, line.strip()) for later, line in printed if later > number):
        cells = (line.removesuffix("|") if closed else line).split("|")
        if cells == names:
            continue
        if len(cells) == len(names):
            yield number, {name: cell or None for name, cell in zip(names, cells, strict=True)}
        elif line.strip():
            unread.append(f"{source}: line {number}: {len(cells)} cells where the heading has {len(names)}")


def _recorded(job: _Job, state: str, source: str) -> Recorded:
    """Make the run of a job: see `parse` for its variables."""
    reason = f"Slurm: {state}" if state != "COMPLETED" else ""
    failed_states = [_state(step) for step in job.steps if _state(step) != "COMPLETED"]
    if failed_states and not reason:
        reason = f"Slurm: a step {failed_states[0]}"
    tasks = {step.get("NTasks") for step in job.steps}
    only_step: Row = job.steps[0] if len(job.steps) == 1 else {}
    variables = job.row | {
        "seconds": _elapsed_seconds(job.row),
        "step_seconds": _elapsed_seconds(only_step),
        "nodes": job.row.get("NNodes") or job.row.get("AllocNodes"),
        "cores": _first(only_step, _CPUS) or _first(job.row, _CPUS),
        "ntasks": tasks.pop() if len(tasks) == 1 else None,
        "energy_joules": _joules(job.row) or _joules(only_step),
    }
    return Recorded(
        source,
        f"line {job.line} (job {job.row['JobID']})",
        variables,
        {"seconds": "s", "step_seconds": "s", "energy_joules": "J"},
        reason="" if state == "TIMEOUT" else reason,
        censored=state == "TIMEOUT",
    )


def _state(row: Row) -> str:
    """Return the state without additions, as in ``CANCELLED by 1000``."""
    return str(row["State"] or "").split(" ")[0].rstrip("+")


def _first(row: Row, names: tuple[str, ...]) -> Value:
    return next((row[name] for name in names if row.get(name)), None)


def _elapsed_seconds(row: Row) -> float | None:
    """Return the elapsed seconds of a row: ``1-02:03:04`` (days first) or ``3723``; None if it is empty."""
    text = str(_first(row, _TIMES) or "")
    if text.isdecimal():
        return float(text)
    match = _ELAPSED.fullmatch(text)
    if not match:
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _joules(row: Row) -> float | None:
    """Return the joules of a row from the first energy column."""
    return counted_joules(str(_first(row, _ENERGIES) or ""))


def counted_joules(word: str) -> float | None:
    """Return the joules of ``1.53M`` or ``1530000``; None if Slurm counted nothing, for which it prints 0."""
    match = _JOULES.fullmatch(word)
    joules = float(match[1]) * _PREFIXES[match[2]] if match else 0.0
    return joules if 0 < joules < _NOT_KNOWN else None


def read(text: str, source: str, mapping: Mapping) -> Import:
    """Read a dump of Slurm's accounting: see `Importer`."""
    records, unread = parse(text, source)
    imported = make_runs(records, unread, mapping, source)
    if not {"cores", "threads"} & mapping.fields.keys() and not any(
        job.variables["cores"] for job in records
    ):
        remark = f"{source}: has no {' or '.join(_CPUS)}: each process is taken to have one core"
        return replace(imported, remarks=[remark])
    return imported


IMPORTER = Importer("sacct", lambda text: any(map(begins, text.split("\n"))), read)
