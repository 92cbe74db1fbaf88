"""How much of a parallel efficiency the linear solver's iterations account for."""

from __future__ import annotations

import pandas as pd

from analysis.runs.columns import (
    COUNT,
    NUMBER,
    OF_A_POINT,
    POSITIVE,
    table_schemas,
    validated,
    with_interval,
)
from analysis.topics.parts_of_time.tables import MAIN_LOOP

SOLVER_WORK = table_schemas(
    solver_efficiency=dict(
        **OF_A_POINT,
        reference_processes=COUNT,
        efficiency=POSITIVE,
        **with_interval("implementation_efficiency", POSITIVE),
        algorithmic_loss_percent=NUMBER,
        algorithmic_efficiency=POSITIVE,
    )
)
"""Schema of the table of this module by its name."""
_COUNTS = ["case", "processes", "reference_processes"]
_PART = ["case", "processes", "part"]


def make_solver_efficiency(
    parts: pd.DataFrame, iterations: pd.DataFrame, scaling: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """Make the table ``solver_efficiency``: efficiencies as an algorithmic part times all others.

    Returns
    -------
    dict of DataFrame
        By its name, a row a point above the reference's process count, of the kinds that recorded iterations.
        Points of which these or the parts of the main loop are missing are left out.
    """
    if iterations.empty or scaling.empty:
        return {}
    points = scaling.merge(iterations[["case", "kind"]].drop_duplicates())
    points = points[points["processes"] > points["reference_processes"]]
    loop = parts[parts["stage"] == MAIN_LOOP]
    algorithmic = algorithmic_efficiency(iterations, loop, points[_COUNTS].drop_duplicates())
    found = points.merge(algorithmic, on=_COUNTS)
    for end in ("", "_low", "_high"):
        found[f"implementation_efficiency{end}"] = found[f"efficiency{end}"] / found["algorithmic_efficiency"]
    lost, added = (1 / found[name] - 1 for name in ("efficiency", "algorithmic_efficiency"))
    found["algorithmic_loss_percent"] = (100 * added / lost).where(lost > 0)
    return {name: validated(schema, found) for name, schema in SOLVER_WORK.items()}


def algorithmic_efficiency(
    iterations: pd.DataFrame, shares: pd.DataFrame, counts: pd.DataFrame
) -> pd.DataFrame:
    """Find what the iterations of the linear solver alone would leave of the efficiency.

    1 / (1 + sum over fields of s (n(p) / n(p0) - 1)), with the iterations n of a field and its share s of the
    main loop at the reference. For a solver that takes all of the time it is n(p0) / n(p), the algorithmic
    efficiency of Gropp, Kaushik, Keyes and Smith, High-performance parallel implicit CFD, Parallel Computing
    27 (2001) 337; the efficiency over it is the implementation efficiency. A field's share holds the assembly
    of its equation, so the effect of iterations is rather over- than understated.

    Parameters
    ----------
    iterations : DataFrame
        With ``case, processes, field, iterations``; several rows of a field give their median.
    shares : DataFrame
        With ``case, processes, part, share``: components of a vector are one part, without x, y, z.
    counts : DataFrame
        With ``case, processes, reference_processes``.

    Returns
    -------
    DataFrame
        `counts` with ``algorithmic_efficiency``, those alone of which iterations and shares are known.
    """
    solved = iterations.groupby(["case", "processes", "field"], as_index=False)["iterations"].median()
    share = shares.groupby(_PART, as_index=False)["share"].median()
    timed = pd.MultiIndex.from_frame(share[["case", "part"]].drop_duplicates())
    own = pd.MultiIndex.from_frame(solved[["case", "field"]]).isin(timed)
    solved["part"] = solved["field"].where(own, solved["field"].str[:-1])
    work = solved.groupby(_PART, as_index=False)["iterations"].sum()
    reference = work.merge(share, on=_PART).rename(
        columns={"processes": "reference_processes", "iterations": "reference_iterations"}
    )
    both = counts.merge(work, on=["case", "processes"]).merge(
        reference, on=["case", "reference_processes", "part"]
    )
    both = both[both["reference_iterations"] > 0]
    added = both["share"] * (both["iterations"] / both["reference_iterations"] - 1)
    total = added.groupby([both[name] for name in _COUNTS]).sum()
    return (1 / (1 + total)).rename("algorithmic_efficiency").reset_index()
