"""Small runs tables whose results can be worked by hand."""

from pathlib import Path

import pandas as pd

from analysis.curves.curves import all_curves, ranking
from analysis.runs.runs import complete_runs

ROOT = Path(__file__).parents[1]
FACTORS = (0.9, 0.95, 1.0, 1.0, 1.05, 1.1)  # of the six blocks; the median is 1


def rows(case, interconnect, times, blocks=FACTORS, kind="measured", oversubscription=1, **more):
    """One row a block; `times` maps process counts to median seconds."""
    return [
        {
            "case": case,
            "interconnect": interconnect,
            "kind": kind,
            "processes": processes,
            "oversubscription": oversubscription,
            "block": block,
            "seconds": seconds * factor,
            **more,
        }
        for processes, seconds in times.items()
        for block, factor in enumerate(blocks)
    ]


def unplaced(*groups):
    """Complete runs; on unknown nodes where a row does not say."""
    return complete_runs(pd.DataFrame([row for group in groups for row in group]))


def runs_table(*groups):
    """Complete runs; on as many nodes as processes where a row does not say."""
    return unplaced({"nodes": row["processes"], **row} for group in groups for row in group)


def curves(runs, settings):
    """Curves of the only case."""
    (curve_of_case,) = all_curves(runs, ranking(runs), settings)
    return curve_of_case


def fluent():
    """Serial 110 s; 24, 20 and 16 processes reach 10 s, a speedup of 11. Two processors a node."""
    more = {"blocks": (1,), "nodes": None}
    return (
        rows("fl5m2", None, {1: 110.0}, **more),
        rows("fl5m2", "gigabit", {8: 110 / 6.5, 16: 110 / 9, 24: 10.0, 32: 110 / 10.5}, **more),
        rows("fl5m2", "rdma_gigabit", {8: 110 / 6.5, 16: 110 / 10, 24: 110 / 12}, **more),
        rows("fl5m2", "infiniband", {8: 110 / 7, 16: 10.0, 24: 110 / 14}, **more),
    )
