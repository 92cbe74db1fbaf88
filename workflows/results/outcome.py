"""Which runs of a study count."""

from __future__ import annotations

import pandas as pd

from analysis.runs.facts import Counts


def outcome(runs: pd.DataFrame, planned: int) -> Counts:
    """Count runs, and sum up which do not count.

    Parameters
    ----------
    runs : DataFrame
        The runs table; see `workflows.results.collect.runs_table`.
    planned : int
        How many repetitions of its own the study plans.
    """
    valid = runs["valid"].astype(bool)
    reasons = runs.loc[~valid, "reason"].value_counts()
    any_valid = valid.groupby(runs["interconnect"], sort=False).any()
    of = runs["origin"].value_counts()
    return Counts(
        planned=planned + len(runs) - int(of.get("run", 0)),
        recorded=len(runs),
        simulated=int(of.get("replay", 0)),
        imported=int(of.get("import", 0)),
        invalid=int((~valid).sum()),
        reason=str(reasons.index[0]) if len(reasons) else None,
        reason_runs=int(reasons.iloc[0]) if len(reasons) else 0,
        lost=[str(name) for name in any_valid.index[~any_valid]],
    )
