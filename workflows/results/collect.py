"""From the records of a study to its runs table, and what it imports."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import accumulate, chain
from operator import attrgetter
from typing import Any, NamedTuple

import pandas as pd

from analysis.importers.sacct import read_jobs
from analysis.runs.columns import validated
from analysis.runs.facts import Facts
from analysis.runs.runs import (
    ENDS_OF_COMPUTING,
    NODE_NAMES,
    PREPARE_SECONDS,
    RECORDED,
    TableError,
    complete_runs,
)
from analysis.runs.side_tables import DETAILS
from analysis.topics.core_hours import INTERRUPTED, LOSS
from workflows.applications import application
from workflows.applications.tools import TIME_UNSURE
from workflows.domain import InputError
from workflows.measure.allocation import NOT_ALONE
from workflows.measure.answers import Expected, compare_answer, read_expected
from workflows.measure.attestation import contradiction
from workflows.paths import StudyPaths
from workflows.plan.plan import Plan
from workflows.plan.record import Record
from workflows.plan.records import read_all, read_simulated
from workflows.results.details import make_details
from workflows.results.facts import facts
from workflows.study.asked import Asked
from workflows.study.imports import check_imported_names, check_pairs, check_references, read_imports

EARLIER_INPUTS = "made with an earlier version of the case's or the interconnect's files, or elsewhere"
_SAME = (
    "study case application interconnect kind nodes processes cores oversubscription block repetition attempt"
)
_TIMES = ("startup_seconds", "output_seconds", "wall_seconds", "cpu_seconds")
_NOISE = ("foreign_cores", "stolen_cores", "idle_wait_seconds")
OF_OTHERS = (NOT_ALONE, TIME_UNSURE)
"""Beginnings of reasons that are somebody else's doing."""
JOBS_ASKED = 5_000
"""Jobs that accounting is asked about at once, as many as a command line holds."""
_COLUMNS = {
    **{name: attrgetter(name) for name in (*_SAME.split(), "seconds", "valid", "reason")},
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
}
"""Of a row, in order: what reads it off a record; None for what is not in a record."""


class Collected(NamedTuple):
    """What a study comes to.

    Attributes
    ----------
    runs : DataFrame
        The runs table: see `runs_table`. ``origin`` is ``run`` for runs of the study, ``replay`` for
        simulated points and ``import`` for imported runs; the record of the latter is the line that they
        were read from, where their format has lines.
    complete : DataFrame
        The same as the analysis takes it: see `analysis.runs.runs.complete_runs`.
    details : dict of str to DataFrame
        Side tables: see `analysis.runs.side_tables.DETAILS`.
    facts : Facts
    published : dict of str to DataFrame
        Imported figures without a time of a run: see `analysis.importers.merge_derived`.
    """

    runs: pd.DataFrame
    complete: pd.DataFrame
    details: dict[str, pd.DataFrame]
    facts: Facts
    published: dict[str, pd.DataFrame]


def collect(plan: Plan) -> Collected:
    """Gather what a study ran and what it imports.

    Raises
    ------
    InputError
        A damaged record or import, or nothing at all: one line.
    """
    ran, records = runs_table(plan)
    simulated, replayed = simulated_table(plan)
    study = plan.asked.study
    imports = read_imports(study.imports, study.import_sites, study.import_mappings, study.import_formats)
    imported = imports.runs.assign(study=study.name, origin="import")
    ran = pd.concat([ran, simulated], ignore_index=True) if len(simulated) else ran
    if len(ran) and len(imported):  # blocks of an import were not run together with ours
        imported["block"] += ran["block"].max()
    tables = [table for table in (ran, imported) if len(table)] or [ran]
    if not len(tables[0]) and not imports.published:
        raise InputError(f"{study.file}: there is no run to report")
    runs = pd.concat(tables, ignore_index=True)
    runs = runs.reindex(columns=list(dict.fromkeys([*_COLUMNS, *runs])))
    if study.imports:
        origins = [*((plan.paths.results / name, None) for name in ran["record"]), *imports.origins]
        check_references(runs, origins)
        check_pairs(runs, study.compare_sites, str(study.file))
        check_imported_names(study, imports)
    try:
        complete = complete_runs(runs, str(plan.paths.runs), may_be_empty=True)
    except TableError as error:
        raise InputError(str(error)) from None
    details = make_details(study, plan.paths, runs, [*records, *replayed]) | {"jobs": _jobs(plan, records)}
    return Collected(runs, complete, details, facts(plan, runs, records, imports.unread), imports.published)


def runs_table(plan: Plan) -> tuple[pd.DataFrame, list[Record]]:
    """Gather the records of a study's points.

    Returns
    -------
    pandas.DataFrame
        One row a repetition, every attempt a row of its own. The columns of the contract, then the
        other times (seconds), CPUs kept busy or stolen by others, the answer, the work of a valid run, and
        a column for each part of the main loop, each step of the preparation of a valid run, and each field
        that is solved for.
    list of Record
        The records, in the order of the rows.

    Raises
    ------
    InputError
        A damaged record: one line with the file.
    """
    asked, paths = plan.asked, plan.paths
    records, rows = [], []
    expected_of = cache(lambda case: read_expected(paths.expected(case)))
    for path, record in read_all(paths):
        point = record.point
        if not asked.asks_for(point):
            continue
        row = _row(record, str(path.relative_to(paths.results)), "run")
        row |= {"case": asked.study.case_of(point.case), "size": asked.cases[point.case].size}
        earlier = record.inputs != plan.design.inputs(point)
        reason = EARLIER_INPUTS if earlier else _judge(asked, record, expected_of(point.case))
        row["valid"], row["reason"], row["site"] = reason is None, reason, asked.study.site
        row["censored"] = bool(record.exit and record.exit.timed_out) and not earlier
        if row["censored"]:
            row["seconds"] = record.exit.time_limit_seconds
        row[LOSS] = loss(record, reason)
        row |= _in_job(record) | _parts(record)
        if reason is None:
            row |= _work(paths, record) | _untimed(paths, record)
        records.append(record)
        rows.append(row)
    for row, block in zip(rows, block_numbers(records), strict=True):
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
    known = {*submitted, *(record.cluster.job for record in records if record.cluster)}
    numbers = sorted(known) if cluster and not cluster.is_elsewhere else []
    parts = (numbers[start : start + JOBS_ASKED] for start in range(0, len(numbers), JOBS_ASKED))
    told = filter(None, (cluster.scheduler.accounts(part) for part in parts if cluster))
    rows = [row for text in told for row in read_jobs(text, "sacct")]
    return validated(DETAILS["jobs"], pd.DataFrame(rows))


def simulated_table(plan: Plan) -> tuple[pd.DataFrame, list[Record]]:
    """Gather what a study replayed: as `runs_table`, with the band of each time.

    ``seconds`` is replayed with corrected compute times, ``seconds_low`` and ``seconds_high`` are the lowest
    and the highest of that and of what the compute times as they were taken give. Where a trace was replayed,
    `ENDS_OF_COMPUTING` have its ends apart from those of the interconnect.
    """
    records, rows, asked = [], [], plan.asked
    for path, record in read_simulated(plan.paths) if plan.design.simulated else ():
        row = _row(record, str(path.relative_to(plan.paths.results)), "replay")
        row |= {"case": asked.study.case_of(record.case), "size": asked.cases[record.case].size}
        row["site"] = asked.study.site
        records.append(record)
        row |= {"seconds_low": record.seconds_low, "seconds_high": record.seconds_high}
        ends = (record.details.get(f"{end}_computing_seconds", (None, None)) for end in ("least", "most"))
        rows.append(row | dict(zip(ENDS_OF_COMPUTING, chain(*ends), strict=True)))
    return pd.DataFrame(rows), records


def block_numbers(records: Sequence[Record]) -> list[int]:
    """Number the blocks so that equal numbers mean runs that were planned together, back to back.

    When an interconnect is added to a study or changed, its block 1 was not run beside the others' block 1.
    It then gets the first number after the blocks that the others had. A further attempt is a block of its
    own too.

    Returns
    -------
    list of int
        One number a record, from 1 in every group of case, threads that compute, and oversubscription.
    """
    last: dict[tuple, dict[tuple, int]] = {}
    for record in sorted(records, key=attrgetter("started")):
        plans = last.setdefault(_group_key(record), {})
        plans[_together(record)] = max(plans.get(_together(record), 0), record.block)
    offsets = {
        group: dict(zip(plans, accumulate(plans.values(), initial=0), strict=False))
        for group, plans in last.items()
    }
    return [record.block + offsets[_group_key(record)][_together(record)] for record in records]


def _judge(asked: Asked, record: Record, expected: Expected) -> str | None:
    """Judge a record by attested ranges, answer and tolerance as they are now; None for a sound run."""
    interconnect = asked.interconnects.get(record.interconnect)
    return (
        record.problem
        or contradiction(record.probe, interconnect)
        or compare_answer(asked.cases[record.case], record.answer_value, expected)[1]
    )


def _row(record: Record, path: str, origin: str) -> dict[str, Any]:
    read = {name: read(record) if read else None for name, read in _COLUMNS.items()}
    return read | {"record": path, "origin": origin}


def _work(paths: StudyPaths, record: Record) -> dict[str, Any]:
    """Work of a valid run, which was made with the input files that are prepared now."""
    prepared = paths.prepared(record.case, record.processes)
    done = application(record.application).work(prepared, record.details)
    return {"work": done.amount, "work_unit": done.unit} if done else {}


def loss(record: Record, reason: str | None) -> str | None:
    """Say in a word what a run that does not count for a `reason` was lost to; None for one that counts."""
    if reason is None:
        return None
    if record.interrupted:
        return INTERRUPTED
    if record.exit and record.exit.timed_out:
        return "stopped"
    if record.exit and (record.exit.signal or record.exit.status):
        return "failed"
    return "noise" if reason.startswith(OF_OTHERS) else "invalid"


def _in_job(record: Record) -> dict[str, str]:
    """Job and nodes of a run on a cluster; an interrupted one has no nodes that are known to be its own."""
    if record.cluster is None:
        return {}
    names = " ".join(sorted({rank["host"] for rank in record.placement}))
    return {"job": record.cluster.job, **({NODE_NAMES: names} if names else {})}


def _parts(record: Record) -> dict[str, float]:
    """Time of the parts of the main loop, iterations of the linear solver, communication: a column each."""
    details, found = record.details, {}
    for prefix in RECORDED:
        found |= {prefix + name: value for name, value in details.get(prefix.removesuffix("."), {}).items()}
    return found


def _untimed(paths: StudyPaths, record: Record) -> dict[str, float]:
    """Time of each step of preparing a point, a column each; the input files are those prepared now."""
    app, found = application(record.application), {}
    for processes in {1, record.processes}:
        found |= app.untimed(paths.prepared(record.case, processes))
    return {PREPARE_SECONDS + name: seconds for name, seconds in found.items()}


def _group_key(record: Record) -> tuple:
    return record.case, record.point.computing, record.oversubscription


def _together(record: Record) -> tuple:
    return record.attempt, tuple(sorted(record.companions.items()))
