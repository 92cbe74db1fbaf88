"""Where the time goes: parts of a run and its main loop, preparation, solver iterations, communication."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.runs.columns import COUNT, NUMBER, OF_A_POINT, SHARE, TEXT, table_schemas, validated
from analysis.runs.runs import GLOBAL_ARRAYS, LOOP_SECONDS, PREPARE_SECONDS, SOLVER_ITERATIONS, valid_rows
from analysis.topics.quality.tables import POINT

PREPARATION, RUN, MAIN_LOOP = "preparation", "run", "main loop"
STAGES = (PREPARATION, RUN, MAIN_LOOP)
RUN_PARTS = ("start-up", "main loop", "output", "rest")
PART_TABLES = table_schemas(
    parts=dict(**OF_A_POINT, stage=TEXT, part=TEXT, n=COUNT, seconds=NUMBER, share=SHARE),
    solver_iterations=dict(
        **OF_A_POINT, field=TEXT, n=COUNT, iterations=NUMBER, relative=NUMBER, reference_processes=COUNT
    ),
    communication=dict(
        **OF_A_POINT, operation=TEXT, n=COUNT, calls=NUMBER, bytes=NUMBER, remote_bytes=NUMBER
    ),
)
"""Schema of each table of this module by its name."""


def make_part_tables(runs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Make the tables ``parts``, ``solver_iterations`` and ``communication`` from the valid repetitions.

    analysis/topics/columns.yaml says what the columns mean.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.runs.runs.read_runs` gives it. Without the columns of the parts, tables are empty.
    """
    valid = valid_rows(runs)
    tables = {
        "parts": _parts(valid),
        "solver_iterations": _iterations(valid),
        "communication": _communication(valid),
    }
    return {name: validated(schema, tables[name]) for name, schema in PART_TABLES.items()}


def at_extremes(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of each case at its smallest and its largest process count.

    Each is at its lowest oversubscription, which differs between the two where data servers run beside each
    process but not beside the serial run. The largest count is the largest at its oversubscription level.

    Parameters
    ----------
    table : DataFrame
        With ``case, oversubscription, processes``.
    """
    smallest = _of_case(table, "processes", "min")
    few, more = (_of_case(rows, "oversubscription", "min") for rows in (smallest, table.drop(smallest.index)))
    return pd.concat([few, _of_case(more, "processes", "max")]).sort_index()


def _of_case(table: pd.DataFrame, column: str, which: str) -> pd.DataFrame:
    """Rows with the least or the largest value of their case."""
    return table[table[column] == table.groupby("case")[column].transform(which)]


def _parts(valid: pd.DataFrame) -> pd.DataFrame:
    run, loop = _run_parts(valid), _named(valid, LOOP_SECONDS)
    stages = [
        _medians(valid, PREPARATION, _named(valid, PREPARE_SECONDS), None),
        _medians(valid, RUN, run, valid.get("wall_seconds")),
        _medians(valid, MAIN_LOOP, loop, valid["seconds"]),
    ]
    whole = pd.concat(stages, ignore_index=True)
    whole["order"] = whole["stage"].map(STAGES.index)
    return whole.sort_values([*POINT, "order"], kind="stable").drop(columns="order").reset_index(drop=True)


def _run_parts(valid: pd.DataFrame) -> dict[str, pd.Series]:
    """Start-up, main loop, output and the rest of the runs that record their start-up."""
    needed = ("startup_seconds", "output_seconds", "wall_seconds")
    if any(name not in valid for name in needed):
        return {}
    startup, output, wall = (valid[name] for name in needed)
    seconds = valid["seconds"].where(startup.notna())
    rest = (wall - startup - seconds - output).clip(lower=0)
    return dict(zip(RUN_PARTS, (startup, seconds, output, rest), strict=True))


def _named(valid: pd.DataFrame, prefix: str) -> dict[str, pd.Series]:
    return {name.removeprefix(prefix): valid[name] for name in valid if str(name).startswith(prefix)}


def _medians(
    valid: pd.DataFrame, stage: str, parts: Mapping[str, pd.Series], whole: pd.Series | None
) -> pd.DataFrame:
    """Rows of a stage: the median of each part at each point that has it, and its share of the whole."""
    columns = [*POINT, "stage", "part", "n", "seconds", "share"]
    found = []
    for part, seconds in parts.items():
        share = seconds / whole if whole is not None else pd.Series(np.nan, seconds.index)
        timed = valid[POINT].assign(n=seconds, seconds=seconds, share=share)[seconds.notna()]
        medians = timed.groupby(POINT, dropna=False, as_index=False).agg(
            {"n": "size", "seconds": "median", "share": "median"}
        )
        found.append(medians.assign(stage=stage, part=part))
    return pd.concat(found)[columns] if found else pd.DataFrame(columns=columns)


def _communication(valid: pd.DataFrame) -> pd.DataFrame:
    calls, moved, remote = (_named(valid, prefix) for prefix in GLOBAL_ARRAYS)
    if not calls:
        return pd.DataFrame()
    unknown = pd.Series(np.nan, valid.index)
    long = pd.concat(
        [
            valid[POINT].assign(
                operation=name,
                calls=count,
                bytes=moved.get(name, unknown),
                remote_bytes=remote.get(name, unknown),
            )
            for name, count in calls.items()
        ]
    )
    made = long[long["calls"] > 0].groupby([*POINT, "operation"], dropna=False)
    return made.agg(
        n=("calls", "size"),
        calls=("calls", "median"),
        bytes=("bytes", "median"),
        remote_bytes=("remote_bytes", "median"),
    ).reset_index()


def _iterations(valid: pd.DataFrame) -> pd.DataFrame:
    fields = _named(valid, SOLVER_ITERATIONS)
    if not fields:
        return pd.DataFrame()
    long = pd.concat([valid[POINT].assign(field=name, iterations=found) for name, found in fields.items()])
    long = long[long["iterations"].notna()]
    own = long.groupby([*POINT, "field"], dropna=False)["iterations"].agg(n="size", iterations="median")
    table = own.reset_index()
    least = table.groupby(["case", "field"])["processes"].transform("min")
    first = table[table["processes"] == least].groupby(["case", "field"])["iterations"].median()
    reference = first.reindex(pd.MultiIndex.from_frame(table[["case", "field"]])).to_numpy()
    relative = (table["iterations"] / reference).where(reference > 0)
    return table.assign(relative=relative, reference_processes=least)
