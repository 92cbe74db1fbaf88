"""Studies with known times in the form that the report gets: runs, tables and facts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
from made_tables import make_tables

from analysis.pipeline import Request, make_all_tables
from analysis.runs.facts import Facts
from analysis.runs.runs import complete_runs
from analysis.runs.settings import Settings

INTERCONNECTS = {
    "gigabit": ("Gigabit Ethernet (emulated)", "emulated", 0.30),
    "loopback": ("TCP loopback", "measured", 0.10),
    "shared_memory": ("Shared memory", "measured", 0.02),
}
"""Title, kind and seconds of communication per process."""
CASES = {"elbow": ("Duct elbow", 4.0), "cavity": ("Lid-driven cavity", 2.0)}
"""Title and serial seconds."""
FACTORS = (0.99, 1.01, 1.0, 0.98, 1.02, 1.0, 0.995, 1.005, 0.985, 1.015, 1.0, 1.0)


def make_runs(
    blocks: int = 12,
    levels: tuple[int, ...] = (1, 2),
    counts: tuple[int, ...] = (1, 2, 4),
    cases: tuple[str, ...] = tuple(CASES),
    interconnects: tuple[str, ...] = tuple(INTERCONNECTS),
    serial: bool = True,
    weak: bool = False,
) -> pd.DataFrame:
    """Runs table; the time of a point is work / cores + communication, times a factor of the block.

    In weak scaling the work grows with the cores.
    """
    rows: list[dict[str, Any]] = []
    for block in range(1, blocks + 1):
        for case in cases:
            points = [(None, 1, 1)] if serial else []
            points += [
                (name, count, level)
                for count in counts
                for level in levels
                for name in interconnects
                if count > 1 and count % level == 0
            ]
            for place, (name, count, level) in enumerate(points):
                cost = INTERCONNECTS[name][2] * count if name else 0.0
                ideal = CASES[case][1] * (1 if weak else level / count) + cost
                rows.append(
                    {
                        "study": "synthetic",
                        "case": case,
                        "application": "openfoam",
                        "interconnect": name,
                        "kind": INTERCONNECTS[name][1] if name else "measured",
                        "nodes": 2 if name == "gigabit" else 1,
                        "processes": count,
                        "cores": count // level,
                        "oversubscription": level,
                        "block": block,
                        "repetition": block,
                        "attempt": 1,
                        "seconds": ideal * FACTORS[(block + place) % len(FACTORS)],
                        "valid": True,
                        "reason": None,
                        "noise": 0.01,
                        "started": f"2026-01-01T{block + place // 60:02d}:{place % 60:02d}:{list(CASES).index(case):02d}+00:00",
                        "record": f"records/{len(rows)}.json",
                    }
                )
    return pd.DataFrame(rows)


def make_facts(runs: pd.DataFrame, **study: Any) -> Facts:
    """Facts as a study writes them, for the cases and interconnects of a runs table."""
    interconnects = [name for name in INTERCONNECTS if (runs["interconnect"] == name).any()]
    about = {
        "study": {
            "name": "synthetic",
            "title": "A synthetic study",
            "question": "What is an interconnect worth?",
            "blocks": int(runs["block"].max()),
            "seed": 1,
            "baselines": interconnects[:1],
            "inside_nodes": [name for name in ("loopback", "shared_memory") if name in interconnects],
            "compare_kinds": [["measured", "emulated"]],
            "file": "config/studies/synthetic.yaml",
            **study,
        },
        "cases": {
            name: {
                "title": CASES[name][0],
                "application": "openfoam",
                "size": "32k",
                "description": f"Description of {name}.",
                "stands_for": f"What {name} stands for.",
                "answer": {
                    "quantity": "pressure_drop",
                    "unit": "m2/s2",
                    "tolerance": 5e-3,
                    "reference": 117.273,
                },
            }
            for name in CASES
            if (runs["case"] == name).any()
        },
        "interconnects": {
            name: {
                "title": INTERCONNECTS[name][0],
                "kind": INTERCONNECTS[name][1],
                "description": f"What {name} is.",
            }
            for name in interconnects
        },
        "left_out": [{"what": "infiniband", "reason": "there is no such device here"}],
        "machine": {
            "host": "node1",
            "cpu": "A CPU",
            "cores": 2,
            "memory_GB": 25.2,
            "kernel": "6.1.0",
            "os": "Debian GNU/Linux 12",
            "governor": None,
            "mpi": "mpirun (Open MPI) 4.1.4",
            "applications": {"openfoam": "1912"},
        },
        "runs": {"planned": len(runs), "recorded": len(runs), "invalid": 0},
        "made": "2026-01-02T03:04:05+00:00",
        "version": "0.1.0",
    }
    return Facts.of(about)


def make_whole_study(runs: pd.DataFrame, **study: Any) -> tuple[pd.DataFrame, dict[str, pd.DataFrame], Facts]:
    """Runs, facts, and every table that applies: also those of models, quality and precision."""
    facts, complete = make_facts(runs, **study), complete_runs(runs)
    request = Request(make_settings(facts))
    return complete, make_all_tables(complete, request), facts


def make_settings(facts: Facts) -> Settings:
    """Settings that a study of these facts is analysed with."""
    return replace(facts.all_settings(), draws=200, seed=0)


def make_study(
    runs: pd.DataFrame | None = None, **study: Any
) -> tuple[pd.DataFrame, dict[str, pd.DataFrame], Facts]:
    """Runs, tables and facts of a study; `study` replaces keys of the facts' study."""
    raw = make_runs() if runs is None else runs
    facts = make_facts(raw, **study)
    complete = complete_runs(raw)
    return complete, make_tables(complete, make_settings(facts)), facts
