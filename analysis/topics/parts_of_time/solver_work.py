"""Table ``solver_efficiency``: the efficiency that the iterations of the linear solver alone would leave."""

from __future__ import annotations

import pandas as pd

from analysis.runs.columns import (
    COUNT,
    NUMBER,
    POINT_COLUMNS,
    POSITIVE,
    described,
    table_schema,
    table_schemas,
    validated,
    with_descriptions,
    with_interval,
)
from analysis.topics.parts_of_time.tables import MAIN_LOOP

SOLVER_WORK = table_schemas(
    table_schema(
        "solver_efficiency",
        "One row per point: efficiency = `algorithmic_efficiency` × `implementation_efficiency` "
        "(Gropp, Kaushik, Keyes and Smith, Parallel Computing 27, 2001).",
        **POINT_COLUMNS,
        reference_processes=described(COUNT, "Process count of the reference."),
        efficiency=described(POSITIVE, "As in `scaling`."),
        **with_descriptions(
            with_interval("implementation_efficiency", POSITIVE),
            implementation_efficiency="`efficiency` / `algorithmic_efficiency`: communication, "
            "imbalance, memory.",
        ),
        algorithmic_loss_percent=described(
            NUMBER,
            "Share of the lost time that additional iterations explain: (1/`algorithmic_efficiency` −"
            " 1) / (1/`efficiency` − 1); empty without a loss.",
        ),
        algorithmic_efficiency=described(
            POSITIVE,
            "1 / (1 + Σ *s* (*n(p)*/*n*₀ − 1)), with *n* iterations of a field and its share *s* of "
            "the reference's main loop, assembly included. Values above 1 mean fewer iterations.",
        ),
    )
)
"""Schema of the table, by its name."""
_COUNTS = ["case", "processes", "reference_processes"]
_PART = ["case", "processes", "part"]


def make_solver_efficiency(
    parts: pd.DataFrame, iterations: pd.DataFrame, scaling: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """Factor the efficiency of each point into an algorithmic and an implementation part.

    Parameters
    ----------
    parts, iterations, scaling : DataFrame
        Tables ``parts``, ``solver_iterations`` and ``scaling``.

    Returns
    -------
    dict of DataFrame
        Table ``solver_efficiency`` by its name, with one row per point above the reference's process count.
        Points without iterations or without parts of the main loop are left out.
    """
    if iterations.empty or scaling.empty:
        return {}
    points = scaling.merge(iterations[["case", "kind"]].drop_duplicates())
    points = points[points["processes"] > points["reference_processes"]]
    loop = parts[parts["stage"] == MAIN_LOOP]
    algorithmic = algorithmic_efficiency(iterations, loop, points[_COUNTS].drop_duplicates())
    table = points.merge(algorithmic, on=_COUNTS)
    for end in ("", "_low", "_high"):
        table[f"implementation_efficiency{end}"] = table[f"efficiency{end}"] / table["algorithmic_efficiency"]
    lost_time = 1 / table["efficiency"] - 1
    added_time = 1 / table["algorithmic_efficiency"] - 1
    table["algorithmic_loss_percent"] = (100 * added_time / lost_time).where(lost_time > 0)
    return {name: validated(schema, table) for name, schema in SOLVER_WORK.items()}


def algorithmic_efficiency(
    iterations: pd.DataFrame, shares: pd.DataFrame, counts: pd.DataFrame
) -> pd.DataFrame:
    """Compute the efficiency that a case would have if only the iterations of the linear solver changed.

    The algorithmic efficiency is 1 / (1 + sum over fields of s (n(p) / n(p0) - 1)), with the iterations n of
    a field and its share s of the main loop at the reference. If the solver takes all of the time, it equals
    n(p0) / n(p), as in Gropp, Kaushik, Keyes and Smith, High-performance parallel implicit CFD, Parallel
    Computing 27 (2001) 337. The share of a field includes the assembly of its equation, so the effect of
    iterations is an upper bound.

    Parameters
    ----------
    iterations : DataFrame
        Columns ``case, processes, field, iterations``; the median over rows of a field counts.
    shares : DataFrame
        Columns ``case, processes, part, share``. The components of a vector are one part, without x, y, z.
    counts : DataFrame
        Columns ``case, processes, reference_processes``.

    Returns
    -------
    DataFrame
        `counts` with ``algorithmic_efficiency``, for the rows with known iterations and shares.
    """
    by_field = iterations.groupby(["case", "processes", "field"])["iterations"].median().reset_index()
    share = shares.groupby(_PART)["share"].median().reset_index()
    timed_parts = pd.MultiIndex.from_frame(share[["case", "part"]].drop_duplicates())
    is_part = pd.MultiIndex.from_frame(by_field[["case", "field"]]).isin(timed_parts)
    # Ux, Uy and Uz are fields of the part U.
    by_field["part"] = by_field["field"].where(is_part, by_field["field"].str[:-1])
    by_part = by_field.groupby(_PART)["iterations"].sum().reset_index()
    reference = by_part.merge(share, on=_PART).rename(
        columns={"processes": "reference_processes", "iterations": "reference_iterations"}
    )
    compared = counts.merge(by_part, on=["case", "processes"])
    compared = compared.merge(reference, on=["case", "reference_processes", "part"])
    compared = compared[compared["reference_iterations"] > 0]
    added_time = compared["share"] * (compared["iterations"] / compared["reference_iterations"] - 1)
    total = added_time.groupby([compared[name] for name in _COUNTS]).sum()
    return (1 / (1 + total)).rename("algorithmic_efficiency").reset_index()
