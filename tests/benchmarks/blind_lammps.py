"""Predict a published Lennard-Jones melt on nodes of JURECA from traces made here.

    .venv/bin/python tests/benchmarks/blind_lammps.py trace FOLDER
    .venv/bin/python tests/benchmarks/blind_lammps.py predict FOLDER
    .venv/bin/python tests/benchmarks/blind_lammps.py compare

``trace`` traces 100 steps on each count, each rank alone on a core. ``predict`` replays them on a model of EDR
InfiniBand, with what `blind_predictions` assumes of messages inside a node. Of the published figures it reads the time
of 48 processes on one node: cores get the speed at which the replay takes that time. It writes
docs/predictions/lammps_lj.csv: processes, nodes, host_speed (of a core there with two processes, relative to one here),
seconds (of 100 steps), speedup (over one node). ``compare`` writes the published ones beside it, into
docs/predictions/lammps_lj_compared.csv. Counts are those with 48 processes a node: on fewer, cores carry one and two.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.benchmarks.blind_predictions import Replays, model_of, speed_for  # noqa: E402
from workflows.applications import application  # noqa: E402
from workflows.applications.base import Steps  # noqa: E402
from workflows.study.cases import load_case  # noqa: E402
from workflows.study.interconnects import load_interconnect  # noqa: E402
from workflows.tracing import request as trace_request  # noqa: E402
from workflows.tracing.capture import capture  # noqa: E402
from workflows.tracing.request import CARRIER, TraceRequest  # noqa: E402

PUBLISHED = ROOT / "analysis/published/lammps_lj_jureca.csv"
PREDICTED = ROOT / "docs/predictions/lammps_lj.csv"
COMPARED = ROOT / "docs/predictions/lammps_lj_compared.csv"
CASE = "lj_coordination"
A_NODE, STEPS = 48, 100
COUNTS = (48, 96, 144, 192, 240)
TIME_LIMIT_SECONDS = 1800


def trace(folder: Path) -> None:
    """Trace the case on each count, unless that is done."""
    application("lammps").steps = Steps(("end of step",), "steps", 0)
    trace_request.SKIPPED_STEPS = 0
    case, joins = (
        load_case(f"{CASE}-32k", Path(__file__).parent / "cases"),
        load_interconnect(CARRIER, ROOT / "config/interconnects"),
    )
    with tempfile.TemporaryDirectory() as scratch:
        for count in COUNTS:
            target, prepared = folder / CASE / f"processes-{count}", Path(scratch, str(count))
            if not target.exists():
                application(case.application).prepare(case, count, prepared, None)
                made = capture(
                    TraceRequest(case, count, prepared, joins, TIME_LIMIT_SECONDS, STEPS, repeats=3), target
                )
                print(made.summary(), flush=True)


def predict(folder: Path) -> None:
    """Write what is predicted of each count."""
    published = pd.read_csv(PUBLISHED).set_index("processes")
    replays, model = Replays(folder), model_of("jureca", A_NODE)
    speed = speed_for(replays, CASE, A_NODE, model, published.loc[A_NODE, "seconds"] / STEPS)
    seconds = [STEPS * replays.seconds(CASE, count, A_NODE, model, speed) for count in COUNTS]
    rows = {"processes": COUNTS, "nodes": [count // A_NODE for count in COUNTS], "host_speed": speed}
    table = pd.DataFrame(rows | {"seconds": seconds, "speedup": [seconds[0] / time for time in seconds]})
    table.round(5).to_csv(PREDICTED, index=False)
    print(table)


def compare() -> None:
    """Write the published runs beside what was predicted."""
    measured = pd.read_csv(PUBLISHED).set_index("processes")["seconds"]
    table = pd.read_csv(PREDICTED)
    table["measured_seconds"] = measured.loc[table["processes"]].to_numpy()
    table["measured_speedup"] = measured.loc[A_NODE] / table["measured_seconds"]
    table["error_percent"] = 100 * (table["speedup"] / table["measured_speedup"] - 1)
    table.round(4).to_csv(COMPARED, index=False)
    print(table)


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("trace", "predict"):
        commands.add_parser(name).add_argument("folder", type=Path)
    commands.add_parser("compare")
    arguments = parser.parse_args()
    {"trace": trace, "predict": predict}[arguments.command](
        arguments.folder
    ) if "folder" in arguments else compare()


if __name__ == "__main__":
    main()
