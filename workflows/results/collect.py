"""The runs table of a study, made from its records and imports."""

from __future__ import annotations

import bisect
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import accumulate, chain
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from analysis.importers.sacct import read_jobs
from analysis.runs.columns import validated
from analysis.runs.facts import Facts
from analysis.runs.runs import (
    ENDS_OF_COMPUTING,
    INTERRUPTED,
    LOSS,
    NODE_NAMES,
    OUTDATED,
    PREPARE_SECONDS,
    RECORDED,
    TableError,
    complete_runs,
)
from analysis.runs.side_tables import DETAILS
from workflows.applications import application
from workflows.applications.tools import TIME_UNSURE
from workflows.domain import InputError, counted
from workflows.measure.allocation import NOT_ALONE
from workflows.measure.answers import Expected, compare_answer, read_expected
from workflows.measure.attestation import contradiction
from workflows.paths import PARAMETER, StudyPaths
from workflows.plan.plan import Plan
from workflows.plan.record import Record, SimulatedRecord
from workflows.plan.records import Rerun, read_all, read_requests, read_simulated, with_withdrawals
from workflows.results.details import make_details
from workflows.results.facts import facts
from workflows.study.asked import Asked
from workflows.study.imports import check_imported_names, check_pairs, check_references, imports_of

_CHANGED = {"interconnect": "the interconnect", "cluster": "the site file"}
"""Names of inputs of a run, by the keys of `Record.inputs`, in the reason why it is outdated."""
_MOST_FILES = 3
"""Largest number of edited files that a reason names."""
_IDENTITY = (
    "study case application interconnect kind nodes processes cores oversubscription block repetition attempt"
)
_TIMES = ("startup_seconds", "output_seconds", "wall_seconds", "cpu_seconds")
_NOISE = ("foreign_cores", "stolen_cores", "idle_wait_seconds")
NOISE_REASONS = (NOT_ALONE, TIME_UNSURE)
"""Beginnings of the reasons why runs are invalid that other programs disturbed."""
JOBS_PER_QUERY = 5_000
"""Largest number of jobs in a query of the accounting; the length of a command line is limited."""
_COLUMNS = {
    **{name: attrgetter(name) for name in (*_IDENTITY.split(), "seconds", "valid", "reason")},
    "noise": attrgetter("noise.pressure_share"),
    "started": attrgetter("started"),
    "record": None,
    **{name: attrgetter(f"times.{name}") for name in _TIMES},
    **{name: attrgetter(f"noise.{name}") for name in _NOISE},
    "answer": attrgetter("answer_value"),
    **{name: attrgetter(name) for name in ("speed_probe_seconds", "energy_joules", "energy_source")},
    "censored": None,
    **dict.fromkeys((LOSS, "work", "work_unit", "size", "site", "origin")),
    "threads": attrgetter("threads"),
    "probe_latency_us": attrgetter("probe_latency_us"),
    "world_verified": attrgetter("world_verified"),
}
"""Columns of a row in order, each with the function that reads it from a record. None: set elsewhere."""


Key = tuple[object, ...]


class Collected(NamedTuple):
    """Everything that the analysis of a study needs.

    Attributes
    ----------
    runs : DataFrame
        The runs table; see `runs_table`. The column ``origin`` is ``run`` for runs of the study, ``replay``
        for simulated points and ``import`` for imported runs. The column ``record`` of an imported run names
        its line in the imported file, if the format has lines.
    complete : DataFrame
        The runs table for the analysis; see `analysis.runs.runs.complete_runs`.
    details : dict of str to DataFrame
        Side tables; see `analysis.runs.side_tables.DETAILS`.
    facts : Facts
    published : dict of str to DataFrame
        Imported figures without times of runs; see `analysis.importers.merge_derived`.
    """

    runs: pd.DataFrame
    complete: pd.DataFrame
    details: dict[str, pd.DataFrame]
    facts: Facts
    published: dict[str, pd.DataFrame]


def collect(plan: Plan) -> Collected:
    """Collect the records and imports of a study.

    Raises
    ------
    InputError
        If a record or import is damaged, or if there is none.
    """
    recorded, records = runs_table(plan)
    simulated, replayed = simulated_table(plan)
    study = plan.asked.study
    imports = imports_of(study)
    imported = imports.runs.assign(study=study.name, origin="import")
    if len(simulated):
        recorded = pd.concat([recorded, simulated], ignore_index=True)
    if len(recorded) and len(imported):  # imported blocks were not run together with blocks of the study
        imported["block"] += recorded["block"].max()
    tables = [table for table in (recorded, imported) if len(table)] or [recorded]
    if not len(tables[0]) and not imports.published:
        raise InputError(f"{study.file}: there is no run to report")
    runs = pd.concat(tables, ignore_index=True)
    runs = runs.reindex(columns=list(dict.fromkeys([*_COLUMNS, *runs])))
    if study.imported_files:
        recorded_origins = [(plan.paths.results / name, None) for name in recorded["record"]]
        check_references(runs, [*recorded_origins, *imports.origins])
        check_pairs(runs, study.compare_sites, str(study.file))
        check_imported_names(study, imports)
    try:
        complete = complete_runs(runs, str(plan.paths.runs), may_be_empty=True)
    except TableError as error:
        raise InputError(str(error)) from None
    details = make_details(study, plan.paths, runs, [*records, *replayed]) | {"jobs": _jobs(plan, records)}
    return Collected(runs, complete, details, facts(plan, runs, records, imports), imports.published)


def runs_table(plan: Plan) -> tuple[pd.DataFrame, list[Record]]:
    """Make the rows of the recorded runs of a study.

    Returns
    -------
    DataFrame
        One row for each attempt of each repetition. First come the columns of the file contract. Then come
        the other times in seconds, the cores that other programs used, the answer, and the work of a valid
        run. Last come columns for each part of the main loop, each step of preparation, and each solved
        field.
    list of Record
        Records in the order of the rows.

    Raises
    ------
    InputError
        If a record is damaged; one line with the file.
    """
    asked, paths = plan.asked, plan.paths
    records, rows = [], []
    expected_of = cache(lambda case: read_expected(paths.expected(case)))
    sources = {name: given.path for name, given in plan.asked.study.existing.items()}
    edited = cache(partial(edited_files, paths, sources))
    for path, record in read_all(paths):
        point = record.point
        if not asked.asks_for(point):
            continue
        row = _row(record, str(path.relative_to(paths.results)), "run")
        row |= {"case": asked.study.case_of(point.case), "size": asked.cases[point.case].size}
        outdated = _outdated(record, plan.design.inputs(point), edited)
        reason = outdated or _judge(asked, record, expected_of(point.case))
        row["valid"], row["reason"], row["site"] = reason is None, reason, asked.study.site
        row["censored"] = False
        if record.exit and record.exit.timed_out and not outdated:
            row["censored"], row["seconds"] = True, record.exit.time_limit_seconds
        row[LOSS] = OUTDATED if outdated else loss(record, reason)
        row |= _job_columns(record) | _detail_columns(record)
        if reason is None:
            row |= _work_columns(paths, record) | _preparation_columns(paths, record)
        records.append(record)
        rows.append(row)
    requests = with_withdrawals(read_requests(paths))
    for row, block in zip(rows, block_numbers(records, requests), strict=True):
        row["block"] = block
    columns = list(_COLUMNS) if not rows else None
    table = pd.DataFrame(rows, columns=columns).astype(
        dict.fromkeys(("interconnect", "reason", "work_unit", LOSS), "str")
    )
    return table, records


def _jobs(plan: Plan, records: Sequence[Record]) -> pd.DataFrame:
    """Return the accounting of the jobs of a study, a side table; empty if the scheduler has none."""
    cluster = plan.here.cluster
    file = plan.paths.submitted
    submitted = file.read_text().split() if file.exists() else ()
    jobs = {*submitted, *(record.cluster.job for record in records if record.cluster)}
    numbers, rows = sorted(jobs), []
    if cluster and not cluster.is_elsewhere:
        for start in range(0, len(numbers), JOBS_PER_QUERY):
            if output := cluster.scheduler.accounts(numbers[start : start + JOBS_PER_QUERY]):
                rows += read_jobs(output, "sacct")
    return validated(DETAILS["jobs"], pd.DataFrame(rows))


def simulated_table(plan: Plan) -> tuple[pd.DataFrame, list[SimulatedRecord]]:
    """Make the rows of the simulated points of a study, with the band of each time.

    Returns
    -------
    DataFrame
        One row for each simulated point, with the columns of `runs_table`. ``seconds`` comes from a replay
        with corrected compute times. ``seconds_low`` and ``seconds_high`` are the ends of the band, which
        covers this replay and the replay with the recorded compute times. If a trace was replayed, the
        columns `ENDS_OF_COMPUTING` hold the ends of the band due to the uncertainty of computing only.
    list of SimulatedRecord
        Records in the order of the rows.
    """
    asked = plan.asked
    records, rows = [], []
    for path, record in read_simulated(plan.paths) if plan.design.simulated else ():
        row = _row(record, str(path.relative_to(plan.paths.results)), "replay")
        row |= {"case": asked.study.case_of(record.case), "size": asked.cases[record.case].size}
        row["site"] = asked.study.site
        records.append(record)
        row |= {"seconds_low": record.seconds_low, "seconds_high": record.seconds_high}
        ends = (record.details.get(f"{end}_computing_seconds", (None, None)) for end in ("least", "most"))
        rows.append(row | dict(zip(ENDS_OF_COMPUTING, chain(*ends), strict=True)))
    return pd.DataFrame(rows), records


def block_numbers(records: Sequence[Record], requests: Sequence[Rerun]) -> list[int]:
    """Number the blocks so that runs share a number only if they were planned to run back to back.

    If an interconnect is added to a study or changed, its block 1 did not run together with block 1 of the
    others. Its blocks are therefore numbered after all earlier blocks. The same holds for an edited case. A
    request to run something again begins a further pass. The blocks of a pass are numbered after all blocks
    of earlier passes, with the same first number at all process counts, whose blocks form a sweep.

    Parameters
    ----------
    requests : sequence of Rerun
        Requests of the study to run something again.

    Returns
    -------
    list of int
        A number for each record, starting at 1 for each case, number of threads and oversubscription.
    """
    sets = _planned_sets(records, requests)
    # By pass, group and set, in the order of the first run: the largest block number of the set.
    largest: dict[int, dict[Key, dict[Key, int]]] = {}
    for record, planned in sorted(zip(records, sets, strict=True), key=lambda pair: pair[0].started):
        blocks = largest.setdefault(planned.number_of_pass, {}).setdefault(_group_key(record), {})
        blocks[planned] = max(blocks.get(planned, 0), record.block)
    offsets: dict[Key, int] = {}
    before = 0
    for groups in largest.values():
        for group, blocks in groups.items():
            starts = accumulate(blocks.values(), initial=before)
            offsets |= {(group, planned): start for planned, start in zip(blocks, starts, strict=False)}
        before += max(sum(blocks.values()) for blocks in groups.values())
    return [
        record.block + offsets[_group_key(record), planned]
        for record, planned in zip(records, sets, strict=True)
    ]


def _outdated(record: Record, inputs: Mapping[str, str | None], edited: Callable[..., str]) -> str | None:
    """Return what changed after a run, whose current inputs have the digests `inputs`; None if nothing.

    `edited` is `edited_files` of the study.
    """
    changed = [name for key, name in _CHANGED.items() if record.inputs.get(key) != inputs.get(key)]
    if record.inputs.get("case") != inputs["case"]:
        changed.insert(0, edited(record.case, record.inputs.get("case"), inputs["case"]))
    return f"outdated: {' and '.join(changed)} changed after the run" if changed else None


def edited_files(
    paths: StudyPaths, sources: Mapping[str, Path], case: str, before: str | None, now: str
) -> str:
    """Name the files in which two versions of a case, given by their digests, differ.

    Files of the folder of a user's input, which is in `sources`, come before files that Nodeworth made. If
    parameters differ, the result names only these, since some files follow from the parameters.
    """
    versions = [paths.version(case, str(digest)) for digest in (before, now)]
    if not all(file.exists() for file in versions):
        return "the case"
    old, new = (json.loads(file.read_text()) for file in versions)
    names = sorted(name for name in old | new if old.get(name) != new.get(name))
    if source := sources.get(case):
        names.sort(key=lambda name: not (source / name).exists() and not (source / f"{name}.gz").exists())
    parameters = [name for name in names if name.startswith(PARAMETER)]
    if parameters and {*parameters} <= old.keys() & new.keys():
        names = parameters
    if not names:
        return "a setting of the case"
    more = f" and {counted(len(names) - _MOST_FILES, 'other file')}" if len(names) > _MOST_FILES else ""
    return f"{', '.join(names[:_MOST_FILES])}{more} of the case"


def _judge(asked: Asked, record: Record, expected: Expected) -> str | None:
    """Return why a run is invalid, by the current ranges and tolerances; None for a valid run."""
    interconnect = asked.interconnects.get(record.interconnect or "")
    return (
        record.problem
        or contradiction(record.probe, interconnect)
        or compare_answer(asked.cases[record.case], record.answer_value, expected, record.details)[1]
    )


def _row(record: Record, path: str, origin: str) -> dict[str, Any]:
    """Return the row of a record; `path` is the path of its file below the results."""
    row = {name: read(record) if read else None for name, read in _COLUMNS.items()}
    return row | {"record": path, "origin": origin}


def _work_columns(paths: StudyPaths, record: Record) -> dict[str, Any]:
    """Return the columns with the work of a valid run and its unit; empty if the application counts no work.

    The work is counted in the prepared case, which has not changed since a valid run.
    """
    prepared = paths.prepared(record.case, record.processes)
    work = application(record.application).work(prepared, record.details)
    return {"work": work.amount, "work_unit": work.unit} if work else {}


def loss(record: Record, reason: str | None) -> str | None:
    """Return the class (a value of the column `LOSS`) of the reason why a run is invalid; None if valid."""
    if reason is None:
        return None
    if record.interrupted:
        return INTERRUPTED
    if record.exit and record.exit.timed_out:
        return "stopped"
    if record.exit and (record.exit.signal or record.exit.status):
        return "failed"
    return "noise" if reason.startswith(NOISE_REASONS) else "invalid"


def _job_columns(record: Record) -> dict[str, str]:
    """Return the job and the nodes of a run on a cluster. The nodes of an interrupted run are unknown."""
    if record.cluster is None:
        return {}
    names = " ".join(sorted({rank["host"] for rank in record.placement}))
    return {"job": record.cluster.job, **({NODE_NAMES: names} if names else {})}


def _detail_columns(record: Record) -> dict[str, float]:
    """Return the columns for parts of the main loop, solver iterations and communication."""
    return {
        prefix + name: value
        for prefix in RECORDED
        for name, value in record.details.get(prefix.removesuffix("."), {}).items()
    }


def _preparation_columns(paths: StudyPaths, record: Record) -> dict[str, float]:
    """Return a column for each step that prepared the input files of a point, with its time in seconds."""
    app = application(record.application)
    folders = [paths.prepared(record.case, processes) for processes in {1, record.processes}]
    return {
        PREPARE_SECONDS + name: seconds for folder in folders for name, seconds in app.untimed(folder).items()
    }


def _group_key(record: Record) -> Key:
    return record.case, record.point.computing, record.oversubscription


class _PlannedSet(NamedTuple):
    """Key of runs that were planned to run back to back.

    Attributes
    ----------
    number_of_pass : int
        Number of requests to run something again that the study had before the run.
    repeats : int
        Number of earlier runs of the repetition in the pass, with the same version.
    version : tuple
        Digests of the case, the compared interconnects and the cluster.
    """

    number_of_pass: int
    repeats: int
    version: Key


def _planned_sets(records: Sequence[Record], requests: Sequence[Rerun]) -> list[_PlannedSet]:
    """Return the set of each record.

    Runs after an edit of the case belong together, even if only some of its points had been run before. An
    attempt that the end of its job cut off is no run: the next attempt takes its place in the block.
    """
    times = sorted(request.time for request in requests)
    keys = [(bisect.bisect(times, record.started), _version_key(record)) for record in records]
    attempts: dict[Key, list[int]] = {}
    for record, key in zip(records, keys, strict=True):
        numbers = attempts.setdefault((record.point, record.block, *key), [])
        if not record.interrupted:
            bisect.insort(numbers, record.attempt)
    return [
        _PlannedSet(
            number,
            bisect.bisect_left(attempts[record.point, record.block, number, version], record.attempt),
            version,
        )
        for record, (number, version) in zip(records, keys, strict=True)
    ]


def _version_key(record: Record) -> Key:
    companions = tuple(sorted(record.companions.items()))
    return record.inputs.get("case"), companions, record.inputs.get("cluster")
