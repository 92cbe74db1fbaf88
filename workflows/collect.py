"""From the records of a study to its runs table and the facts that its report states."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import pandas as pd

from workflows import provenance
from workflows.plan import Plan
from workflows.records import Record, read_all

VERSION = "0.1.0"
EARLIER_INPUTS = "made with an earlier version of the case's or the interconnect's files"


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
    for point, path, record in read_all(plan.results, plan.points):
        row = _row(record, str(path.relative_to(plan.results)))
        if record["inputs"] != plan.inputs(point):
            row["valid"], row["reason"] = False, EARLIER_INPUTS
        records.append(record)
        rows.append(row)
    for row, block in zip(rows, block_numbers(records), strict=True):
        row["block"] = block
    columns = list(_row({}, "")) if not rows else None
    table = pd.DataFrame(rows, columns=columns).astype({"interconnect": "str", "reason": "str"})
    return table, records


def block_numbers(records: Iterable[Record]) -> list[int]:
    """Number the blocks so that equal numbers mean runs that were planned together.

    When a study grows by an interconnect, the new one's block 1 was not run beside the old ones' block
    1. It then gets the first number after the blocks that the old ones had.

    Parameters
    ----------
    records : iterable of Record

    Returns
    -------
    list of int
        One number a record, from 1 in every group of case, processes and oversubscription.
    """
    records = list(records)
    last: dict[tuple, dict[tuple, int]] = {}
    for record in sorted(records, key=lambda record: record["started"]):
        plans = last.setdefault(_group_key(record), {})
        companions = tuple(record["companions"])
        plans[companions] = max(plans.get(companions, 0), record["block"])
    offsets: dict[tuple, dict[tuple, int]] = {}
    for group, plans in last.items():
        offset = 0
        for companions, blocks in plans.items():
            offsets.setdefault(group, {})[companions] = offset
            offset += blocks
    return [record["block"] + offsets[_group_key(record)][tuple(record["companions"])] for record in records]


def facts(plan: Plan, runs: pd.DataFrame, records: list[Record]) -> dict[str, Any]:
    """What a report states besides numbers: study, cases, interconnects, machine, versions."""
    study = plan.study
    machine = records[-1]["machine"] if records else provenance.machine()
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
        "left_out": [asdict(one) for one in plan.left_out],
        "machine": machine | {"mpi": provenance.mpi_version(), "applications": _versions(records)},
        "runs": {
            "planned": len(plan.repetitions),
            "recorded": len(runs),
            "invalid": int((~runs["valid"]).sum()),
        },
        "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "version": VERSION,
    }


def baselines(plan: Plan, runs: pd.DataFrame) -> list[str]:
    """Baselines of a study: those it names, and the first that ran of each kind that has none."""
    ran = [name for name in plan.interconnects if name in set(runs["interconnect"].dropna())]
    chosen = {name: plan.interconnects[name].kind for name in plan.study.baselines if name in ran}
    for name in ran:
        if plan.interconnects[name].kind not in chosen.values():
            chosen[name] = plan.interconnects[name].kind
    return list(chosen)


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
    case, reference = plan.cases[name], json.loads(plan.reference_file(name).read_text())
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
