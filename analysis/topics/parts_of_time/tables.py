"""Tables on the parts of the time: stages of a run, its main loop, solver iterations and communication."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import pandas as pd

from analysis.runs.columns import (
    COUNT,
    NUMBER,
    POINT_COLUMNS,
    SHARE,
    TEXT,
    described,
    table_schema,
    table_schemas,
    validated,
)
from analysis.runs.runs import GLOBAL_ARRAYS, LOOP_SECONDS, PREPARE_SECONDS, SOLVER_ITERATIONS, valid_rows
from analysis.topics.quality.tables import POINT

PREPARATION, RUN, MAIN_LOOP = "preparation", "run", "main loop"
STAGES = (PREPARATION, RUN, MAIN_LOOP)
RUN_PARTS = ("start-up", "main loop", "output", "rest")
PART_TABLES = table_schemas(
    table_schema(
        "parts",
        "One row per point and part of its time.",
        **POINT_COLUMNS,
        stage=described(TEXT, "`preparation` (which no time includes), `run`, or `main loop`."),
        part=described(TEXT, "Name of the part."),
        n=described(COUNT, "Repetitions."),
        seconds=described(NUMBER, "Median over the repetitions."),
        share=described(SHARE, "Share of the run or of the main loop; empty for the preparation."),
    ),
    table_schema(
        "solver_iterations",
        "One row per point and field of OpenFOAM.",
        **POINT_COLUMNS,
        field=described(TEXT, "Name of the field."),
        n=described(COUNT, "Repetitions."),
        iterations=described(NUMBER, "Iterations of the linear solver per time step."),
        relative=described(NUMBER, "Iterations / iterations at `reference_processes`."),
        reference_processes=described(COUNT, "Smallest process count of the case."),
    ),
    table_schema(
        "communication",
        "One row per point and operation of the Global Arrays, for rank 0 of one run.",
        **POINT_COLUMNS,
        operation=described(TEXT, "Name of the operation."),
        n=described(COUNT, "Repetitions."),
        calls=described(NUMBER, "Calls; median over the repetitions."),
        bytes=described(NUMBER, "Bytes moved; empty if the operation moves none."),
        remote_bytes=described(NUMBER, "Bytes to other processes."),
    ),
)
"""Schemas of the tables of this module, by name."""


def make_part_tables(runs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Make the tables ``parts``, ``solver_iterations`` and ``communication`` from the valid repetitions.

    Parameters
    ----------
    runs : DataFrame
        The runs table. Without the columns of parts, the tables are empty.
    """
    valid = valid_rows(runs)
    tables = {
        "parts": _parts(valid),
        "solver_iterations": _iterations(valid),
        "communication": _communication(valid),
    }
    return {name: validated(schema, tables[name]) for name, schema in PART_TABLES.items()}


def at_extremes(table: pd.DataFrame) -> pd.DataFrame:
    """Select the rows of each case at its smallest and its largest process count.

    Both counts are at the lowest oversubscription at which they were run. The two levels differ if data
    servers share the cores of processes, but not the core of the serial run.

    Parameters
    ----------
    table : DataFrame
        Columns ``case, oversubscription, processes``.
    """
    at_smallest = _at_extreme(table, "processes", "min")
    at_larger = _at_extreme(table.drop(at_smallest.index), "oversubscription", "min")
    at_largest = _at_extreme(at_larger, "processes", "max")
    return pd.concat([_at_extreme(at_smallest, "oversubscription", "min"), at_largest]).sort_index()


def _at_extreme(table: pd.DataFrame, column: str, extreme: Literal["min", "max"]) -> pd.DataFrame:
    """Select the rows in which a column has the smallest or the largest value of the case."""
    return table[table[column] == table.groupby("case")[column].transform(extreme)]


def _parts(valid: pd.DataFrame) -> pd.DataFrame:
    """Compute the medians of all parts of each point, stage by stage."""
    stages = [
        _medians(valid, PREPARATION, _columns_after(valid, PREPARE_SECONDS), None),
        _medians(valid, RUN, _run_parts(valid), valid.get("wall_seconds")),
        _medians(valid, MAIN_LOOP, _columns_after(valid, LOOP_SECONDS), valid["seconds"]),
    ]
    table = pd.concat(stages, ignore_index=True)
    table["order"] = table["stage"].map(STAGES.index)
    return table.sort_values([*POINT, "order"], kind="stable").drop(columns="order").reset_index(drop=True)


def _run_parts(valid: pd.DataFrame) -> dict[str, pd.Series]:
    """Return start-up, main loop, output and the rest of the runs whose whole time is known.

    A start-up or output that a run does not record is part of the rest.
    """
    if "wall_seconds" not in valid:
        return {}
    wall = valid["wall_seconds"]
    startup, output = (valid.get(name, 0 * wall + np.nan) for name in ("startup_seconds", "output_seconds"))
    seconds = valid["seconds"].where(wall.notna()).clip(upper=wall)  # the clocks of both may differ a little
    rest = (wall - startup.fillna(0) - seconds - output.fillna(0)).clip(lower=0)
    return dict(zip(RUN_PARTS, (startup, seconds, output, rest), strict=True))


def _columns_after(valid: pd.DataFrame, prefix: str) -> dict[str, pd.Series]:
    """Return the columns whose names begin with a prefix, by their names without the prefix."""
    return {name.removeprefix(prefix): valid[name] for name in map(str, valid) if name.startswith(prefix)}


def _medians(
    valid: pd.DataFrame, stage: str, parts: Mapping[str, pd.Series], whole: pd.Series | None
) -> pd.DataFrame:
    """Compute the median of each part of a stage at each point, and the median of its share of the whole.

    Programs round their parts, so a part that is the whole may exceed it a little. Its share is then 1.
    """
    columns = [*POINT, "stage", "part", "n", "seconds", "share"]
    tables = []
    for part, seconds in parts.items():
        share = (seconds / whole).clip(upper=1) if whole is not None else pd.Series(np.nan, seconds.index)
        timed = valid[POINT].assign(n=seconds, seconds=seconds, share=share)[seconds.notna()]
        medians = timed.groupby(POINT, dropna=False, as_index=False).agg(
            {"n": "size", "seconds": "median", "share": "median"}
        )
        tables.append(medians.assign(stage=stage, part=part))
    return pd.concat(tables)[columns] if tables else pd.DataFrame(columns=columns)


def _communication(valid: pd.DataFrame) -> pd.DataFrame:
    """Compute the median calls and bytes of each operation on the Global Arrays, by point."""
    calls, all_bytes, remote_bytes = (_columns_after(valid, prefix) for prefix in GLOBAL_ARRAYS)
    if not calls:
        return pd.DataFrame()
    unknown = pd.Series(np.nan, valid.index)
    tables = []
    for operation, number in calls.items():
        amounts = {
            "calls": number,
            "bytes": all_bytes.get(operation, unknown),
            "remote_bytes": remote_bytes.get(operation, unknown),
        }
        tables.append(valid[POINT].assign(operation=operation, **amounts))
    rows = pd.concat(tables)
    groups = rows[rows["calls"] > 0].groupby([*POINT, "operation"], dropna=False)
    return groups.agg(
        n=("calls", "size"),
        calls=("calls", "median"),
        bytes=("bytes", "median"),
        remote_bytes=("remote_bytes", "median"),
    ).reset_index()


def _iterations(valid: pd.DataFrame) -> pd.DataFrame:
    """Compute the median iterations of each field by point, and their ratio to the smallest process count."""
    fields = _columns_after(valid, SOLVER_ITERATIONS)
    if not fields:
        return pd.DataFrame()
    long = pd.concat([valid[POINT].assign(field=name, iterations=values) for name, values in fields.items()])
    long = long[long["iterations"].notna()]
    medians = long.groupby([*POINT, "field"], dropna=False)["iterations"].agg(n="size", iterations="median")
    table = medians.reset_index()
    smallest = table.groupby(["case", "field"])["processes"].transform("min")
    at_smallest = table[table["processes"] == smallest].groupby(["case", "field"])["iterations"].median()
    reference = at_smallest.reindex(pd.MultiIndex.from_frame(table[["case", "field"]])).to_numpy()
    relative = (table["iterations"] / reference).where(reference > 0)
    return table.assign(relative=relative, reference_processes=smallest)
