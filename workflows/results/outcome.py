"""Which runs of a study count."""

from __future__ import annotations

from typing import Any

import pandas as pd


def outcome(runs: pd.DataFrame) -> dict[str, Any]:
    """Sum up which runs do not count.

    Parameters
    ----------
    runs : DataFrame
        The runs table; see `workflows.results.collect.runs_table`.

    Returns
    -------
    dict
        ``invalid`` (how many), ``reason`` (the most frequent one; None where all are valid), ``reason_runs``
        (how many have it) and ``lost`` (interconnects of which no run is valid, in the order of the table).
    """
    valid = runs["valid"].astype(bool)
    reasons = runs.loc[~valid, "reason"].value_counts()
    counts = valid.groupby(runs["interconnect"], sort=False).any()
    return {
        "invalid": int((~valid).sum()),
        "reason": str(reasons.index[0]) if len(reasons) else None,
        "reason_runs": int(reasons.iloc[0]) if len(reasons) else 0,
        "lost": [str(name) for name in counts.index[~counts]],
    }
