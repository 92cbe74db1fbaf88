"""From the records of a study to its runs table and the facts that its report states."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import accumulate
from typing import Any

import pandas as pd

from analysis.importers import read_foreign
from analysis.records import TableError
from workflows.design import LeftOut
from workflows.domain import InputError
from workflows.plan import Plan
from workflows.prepare import compare_answer
from workflows.records import Record, point_of, read_all

VERSION = "0.1.0"
EARLIER_INPUTS = "made with an earlier version of the case's or the interconnect's files"


def collect(plan: Plan) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Gather what a study ran and what it imports.

    Returns
    -------
    pandas.DataFrame
        The runs table: see `runs_table`. Imported rows follow, without a record.
    dict
        See `facts`.

    Raises
    ------
    InputError
        A damaged record or import, or nothing at all: one line.
    """
    ran, records = runs_table(plan)
    imported, unread = imported_runs(plan)
    parts = [table for table in (ran, imported) if len(table)]
    if not parts:
        raise InputError(f"{plan.study.file}: there is no run to report")
    runs = pd.concat(parts, ignore_index=True)
    runs = runs.reindex(columns=list(dict.fromkeys([*_row({}, ""), *runs])))
    return runs, facts(plan, runs, records, unread)


def imported_runs(plan: Plan) -> tuple[pd.DataFrame, list[LeftOut]]:
    """Read the files of foreign results that a study names.

    Returns
    -------
    pandas.DataFrame
        Columns of the runs table, as far as the files have them.
    list of LeftOut
        What could not be read, and why.

    Raises
    ------
    InputError
        A file that cannot be read or is damaged: one line.
    """
    tables, unread, blocks = [], [], 0
    for file in plan.study.imports:
        try:
            found = read_foreign(file)
        except TableError as error:
            raise InputError(str(error)) from None
        runs = found.runs.dropna(axis="columns", how="all")
        # Blocks of two files were not run together, whatever their numbers.
        tables.append(runs.assign(study=plan.study.name, block=runs["block"] + blocks))
        blocks += int(runs["block"].max()) if len(runs) else 0
        unread += [LeftOut(f"in {file}", line) for line in found.unread]
    return (pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()), unread


def runs_table(plan: Plan) -> tuple[pd.DataFrame, list[Record]]:
    """Gather the records of a study's points.

    Returns
    -------
    pandas.DataFrame
        One row a repetition, every attempt a row of its own. The columns of the contract, then the
        other times (seconds), CPUs kept busy or stolen by others, and the answer.
    list of Record
        The records, in the order of the rows.

    Raises
    ------
    InputError
        A damaged record: one line with the file.
    """
    records, rows = [], []
    for path, record in read_all(plan.results):
        point = point_of(record)
        if not plan.asks_for(point):
            continue
        row = _row(record, str(path.relative_to(plan.results)))
        reason = EARLIER_INPUTS if record["inputs"] != plan.inputs(point) else _judge(plan, record)
        row["valid"], row["reason"] = reason is None, reason
        records.append(record)
        rows.append(row)
    for row, block in zip(rows, block_numbers(records), strict=True):
        row["block"] = block
    columns = list(_row({}, "")) if not rows else None
    table = pd.DataFrame(rows, columns=columns).astype({"interconnect": "str", "reason": "str"})
    return table, records


def block_numbers(records: Sequence[Record]) -> list[int]:
    """Number the blocks so that equal numbers mean runs that were planned together, back to back.

    When a study grows by an interconnect, or one is changed, its block 1 was not run beside the others'
    block 1. It then gets the first number after the blocks that the others had. A further attempt is a
    block of its own too.

    Parameters
    ----------
    records : sequence of Record

    Returns
    -------
    list of int
        One number a record, from 1 in every group of case, processes and oversubscription.
    """
    last: dict[tuple, dict[tuple, int]] = {}
    for record in sorted(records, key=lambda record: record["started"]):
        plans = last.setdefault(_group_key(record), {})
        plans[_together(record)] = max(plans.get(_together(record), 0), record["block"])
    offsets = {
        group: dict(zip(plans, accumulate(plans.values(), initial=0), strict=False))
        for group, plans in last.items()
    }
    return [record["block"] + offsets[_group_key(record)][_together(record)] for record in records]


def facts(plan: Plan, runs: pd.DataFrame, records: list[Record], unread: list[LeftOut]) -> dict[str, Any]:
    """What a report states besides numbers: study, cases, interconnects, machine, versions."""
    study = plan.study
    machine: dict[str, Any] = {}
    if records:
        machine = records[-1]["machine"] | {"mpi": records[-1]["mpi"], "applications": _versions(records)}
    return {
        "study": {
            "name": study.name,
            "title": study.title,
            "question": study.question,
            "blocks": study.blocks,
            "seed": study.seed,
            "baselines": baselines(plan, runs),
            "compare_kinds": [list(pair) for pair in study.compare_kinds],
            "file": str(study.file),
        },
        "cases": {name: _case_facts(plan, name) for name in plan.cases},
        "interconnects": {
            name: {"title": one.title, "kind": one.kind, "description": one.description}
            for name, one in plan.interconnects.items()
        },
        "left_out": [asdict(one) for one in [*plan.left_out, *unread]],
        "machine": machine,
        "runs": {
            "planned": len(plan.repetitions) + len(runs) - len(records),
            "recorded": len(runs),
            "invalid": int((~runs["valid"]).sum()),
        },
        "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "version": VERSION,
    }


def baselines(plan: Plan, runs: pd.DataFrame) -> list[str]:
    """Baselines of a study: those it names, and the first that ran of each kind that has none."""
    ran = runs.dropna(subset="interconnect").drop_duplicates(["interconnect", "kind"])
    order = {name: place for place, name in enumerate(plan.study.interconnects)}
    pairs = sorted(
        zip(ran["interconnect"], ran["kind"], strict=True), key=lambda pair: order.get(pair[0], len(order))
    )
    chosen = {kind: name for name, kind in reversed(pairs)}
    named = {name: kind for name, kind in pairs if name in plan.study.baselines}
    return [*named, *(name for kind, name in chosen.items() if kind not in named.values())]


def _judge(plan: Plan, record: Record) -> str | None:
    """Judge a record by the reference and the tolerance as they are now; None for a sound run."""
    reference = json.loads(plan.reference_file(record["case"]).read_text())
    value = (record["answer"] or {}).get("value")
    return record["problem"] or compare_answer(plan.cases[record["case"]], value, reference)[1]


def _row(record: Record, path: str) -> dict[str, Any]:
    get, times, noise = record.get, record.get("times", {}), record.get("noise", {})
    return {
        "study": get("study"),
        "case": get("case"),
        "application": get("application"),
        "interconnect": get("interconnect"),
        "kind": get("kind"),
        "nodes": get("nodes"),
        "processes": get("processes"),
        "cores": get("cores"),
        "oversubscription": get("oversubscription"),
        "block": get("block"),
        "repetition": get("repetition"),
        "attempt": get("attempt"),
        "seconds": get("seconds"),
        "valid": get("valid"),
        "reason": get("reason"),
        "noise": noise.get("pressure_share"),
        "started": get("started"),
        "record": path,
        "startup_seconds": times.get("startup_seconds"),
        "output_seconds": times.get("output_seconds"),
        "wall_seconds": times.get("wall_seconds"),
        "cpu_seconds": times.get("cpu_seconds"),
        "foreign_cores": noise.get("foreign_cores"),
        "stolen_cores": noise.get("stolen_cores"),
        "idle_wait_seconds": noise.get("idle_wait_seconds"),
        "answer": (get("answer") or {}).get("value"),
    }


def _case_facts(plan: Plan, name: str) -> dict[str, Any]:
    case, file = plan.cases[name], plan.reference_file(name)
    reference = json.loads(file.read_text()) if file.exists() else {"value": None, "source": None}
    return {
        "title": case.title,
        "application": case.application,
        "size": case.size,
        "description": case.description,
        "stands_for": case.stands_for,
        "answer": case.answer
        and {
            "quantity": case.answer.quantity,
            "unit": case.answer.unit,
            "tolerance": case.answer.tolerance,
            "reference": reference["value"],
            "source": reference["source"],
        },
    }


def _versions(records: list[Record]) -> dict[str, str]:
    found = {(record["application"], record["version"]) for record in records if record["version"]}
    return {
        name: ", ".join(sorted(version for other, version in found if other == name)) for name, _ in found
    }


def _group_key(record: Record) -> tuple:
    return record["case"], record["processes"], record["oversubscription"]


def _together(record: Record) -> tuple:
    return record["attempt"], tuple(sorted(record["companions"].items()))
