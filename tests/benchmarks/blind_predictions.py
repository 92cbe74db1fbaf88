"""Predict the published channel flow of eight clusters from traces made here.

    .venv/bin/python tests/benchmarks/blind_predictions.py trace channel-3000k 10,20,40 FOLDER [--prepared FOLDER]
    .venv/bin/python tests/benchmarks/blind_predictions.py predict FOLDER
    .venv/bin/python tests/benchmarks/blind_predictions.py compare

``trace`` traces the second step on each count, each rank alone on a core, and keeps the pressure iterations of
every step. A solve by conjugate gradients is cut off after 70 iterations: round-off may double their number, and they
are all alike. ``predict`` repeats 40 of these in the trace until the step has 238, and replays the traces on the model
of each site's interconnect. Of the published figures it reads the times on one node and nothing else: a site's cores
get the speed at which the replay on one node takes that time. It writes docs/predictions/channel_3m.csv. Columns:

- ``site``, ``build``, ``case``, ``interconnect``: as published; ``model``: of config/interconnects
- ``processes``, ``nodes``; ``host_speed``: of a core there, relative to one here
- ``pressure_iterations``: of the traced step
- ``seconds``: a step as traced; ``equal_seconds``: with as many pressure iterations as the site's trace on one node
- ``speedup``, ``equal_speedup``: over one node

``compare`` holds them against the published runs: docs/predictions/channel_3m_compared.csv has their medians beside,
and the errors of each, in percent; ``measured_equal_speedup`` is of the time with as many pressure iterations as the
site made on one node.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import math
import re
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from workflows.applications import application  # noqa: E402
from workflows.domain import Case, Line  # noqa: E402
from workflows.replay.points import PROGRAMS, unpack  # noqa: E402
from workflows.simulation import programs, replayer  # noqa: E402
from workflows.simulation.model import InterconnectModel, Knot, make_model  # noqa: E402
from workflows.simulation.platform import platform_xml  # noqa: E402
from workflows.simulation.replayer import replay  # noqa: E402
from workflows.study.cases import load_case  # noqa: E402
from workflows.study.interconnects import load_interconnect  # noqa: E402
from workflows.tracing import recording  # noqa: E402
from workflows.tracing import request as trace_request  # noqa: E402
from workflows.tracing.capture import capture  # noqa: E402
from workflows.tracing.request import CARRIER, TraceRequest  # noqa: E402
from workflows.tracing.trace import Trace, read_trace  # noqa: E402

PUBLISHED = ROOT / "analysis/published/channel_strong_scaling.csv"
ITERATIONS_PUBLISHED = ROOT / "docs/predictions/channel_pressure_iterations.csv"
PREDICTED = ROOT / "docs/predictions/channel_3m.csv"
COMPARED = ROOT / "docs/predictions/channel_3m_compared.csv"
INTERCONNECTS = ROOT / "config/interconnects"
MODELS = {
    "focus_a": "infiniband_qdr",
    "focus_c": "gigabit_ethernet",
    "focus_d": "infiniband_fdr",
    "aws_c4_8xlarge": "ethernet_10_cloud_tcp",
    "azure_a9": "infiniband_qdr_azure",
    "knsc": "infiniband_fdr",
    "reedbush_u": "infiniband_100",
    "oakleaf_fx": "tofu",
    "jureca": "infiniband_100",
}
CASES = {"channel_3m_pcg_dic": "channel", "channel_3m_gamg_dic": "channel_gamg"}
INSIDE_LATENCY_US, INSIDE_MBPS = 0.5, 3000.0
"""Of a message inside a node, as the model infiniband_qdr assumes it: two sites have the same nodes."""
ITERATIONS = "pressure_iterations.json"
TIME_LIMIT_SECONDS = 3600
SKIPPED_STEPS, MOST_ITERATIONS = 0, 70
REPEATED_ITERATIONS, REDUCTIONS_AN_ITERATION, REDUCTIONS_BEHIND = 40, 3, 20
REPETITIONS = {"channel": 4}
"""How often that many iterations of conjugate gradients are repeated; so many reductions are left behind them."""
OTHER_WORK = {"channel": 40, "channel_gamg": 6}
"""Work of a step outside the pressure solver, in pressure iterations: from serial times at 24k and 374k cells."""
TIMES_AGREE = 1e-3


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    tracing = commands.add_parser("trace")
    tracing.add_argument("case")
    tracing.add_argument("processes", type=lambda text: [int(count) for count in text.split(",")])
    tracing.add_argument("folder", type=Path)
    tracing.add_argument(
        "--prepared", type=Path, help="holds a folder 1 with the mesh, and 40 cut for 40 processes"
    )
    tracing.add_argument("--repeats", type=int, default=1, help="how often each rank runs alone")
    commands.add_parser("predict").add_argument("folder", type=Path)
    commands.add_parser("compare")
    arguments = parser.parse_args()
    if arguments.command == "compare":
        compare()
    elif arguments.command == "trace":
        with tempfile.TemporaryDirectory() as scratch:
            trace(
                load_case(arguments.case, ROOT / "cases"),
                arguments.processes,
                arguments.folder,
                arguments.prepared or Path(scratch),
                arguments.repeats,
            )
    else:
        predict(arguments.folder)


def limit_iterations(prepared: Path) -> None:
    """Let the pressure have no more than `MOST_ITERATIONS`."""
    file = prepared / "system/fvSolution"
    text = file.read_text()
    file.unlink()  # of a decomposition a link
    file.write_text(re.sub(r"(\bp\b[^}]*maxIter) \d+", rf"\1 {MOST_ITERATIONS}", text))


def trace(case: Case, counts: Iterable[int], folder: Path, prepared: Path, repeats: int) -> None:
    """Trace a step of a case on each count, unless that is done."""
    app, base, trace_request.SKIPPED_STEPS = application(case.application), prepared / "1", SKIPPED_STEPS
    for count in counts:
        target = folder / case.name.partition("-")[0] / f"processes-{count}"
        if (target / ITERATIONS).exists():
            continue
        for missing, parent in ((base, None), (prepared / str(count), base)):
            if not (missing / "prepared.json").exists():
                app.prepare(case, 1 if parent is None else count, missing, parent)
                limit_iterations(missing)
        request = TraceRequest(
            case,
            count,
            prepared / str(count),
            load_interconnect(CARRIER, INTERCONNECTS),
            TIME_LIMIT_SECONDS,
            traced_steps=1,
            repeats=repeats,
        )
        printed: list[Line] = []
        with keeping_output(printed):
            made = capture(request, target)
        (target / ITERATIONS).write_text(json.dumps(iterations_by_step(printed)) + "\n")
        print(made.summary(), iterations_by_step(printed), flush=True)


class keeping_output:  # noqa: N801
    """While this lasts, the output of traced runs is added to a list."""

    def __init__(self, printed: list[Line]) -> None:
        self.printed, self.run = printed, recording.run

    def __enter__(self) -> None:
        def run(*arguments, **keywords):
            done = self.run(*arguments, **keywords)
            self.printed += done.execution.lines
            return done

        recording.run = run

    def __exit__(self, *_: object) -> None:
        recording.run = self.run


def iterations_by_step(lines: Iterable[Line]) -> list[int]:
    """Count the pressure's iterations in each time step."""
    steps: list[int] = []
    for line in lines:
        if re.match(r"Time = \S", line.text):
            steps.append(0)
        elif match := re.search(r"Solving for p,.*No Iterations (\d+)", line.text):
            steps[-1] += int(match[1])
    return steps


class Replays:
    """Replays of the traces in a folder, at any speed of a core; the results are kept in the same folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.program = folder, programs.build(replayer.SOURCE, PROGRAMS)
        self.kept = folder / "replays.json"

    def counts(self, case: str) -> list[int]:
        """Process counts that are traced."""
        folders = self.folder.glob(f"{case}/processes-*/{ITERATIONS}")
        return sorted(int(path.parent.name.partition("-")[2]) for path in folders)

    def iterations(self, case: str, processes: int) -> int:
        """Pressure iterations of the traced step, including the repeated ones."""
        traced = json.loads((self._of(case, processes) / ITERATIONS).read_text())[-1]
        return traced + REPETITIONS.get(case, 0) * REPEATED_ITERATIONS

    def seconds(
        self, case: str, processes: int, per_node: int, model: InterconnectModel, speed: float
    ) -> float:
        """Replay a trace with cores of a speed; of one step."""
        platform = platform_xml(model, math.ceil(processes / per_node), speed)
        key = f"{case} {processes} {hashlib.sha256(platform.encode()).hexdigest()[:16]}"
        kept = json.loads(self.kept.read_text()) if self.kept.exists() else {}
        if key not in kept:
            kept = {key: self._replayed(case, processes, per_node, platform)}
            kept |= json.loads(self.kept.read_text()) if self.kept.exists() else {}
            self.kept.write_text(json.dumps(kept, indent=1) + "\n")
        return kept[key]

    def _replayed(self, case: str, processes: int, per_node: int, platform: str) -> float:
        made: Trace = read_trace(self._of(case, processes))
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            unpack(made, folder)
            for file in folder.glob("rank-*.txt"):
                file.write_text(lengthened(file.read_text(), REPETITIONS.get(case, 0)))
            (folder / "platform.xml").write_text(platform)
            factors, where = made.factors("corrected"), str(made.folder)
            outcome = replay(self.program, folder / "platform.xml", folder, factors, per_node, where)
        return outcome.seconds / made.steps

    def _of(self, case: str, processes: int) -> Path:
        return self.folder / case / f"processes-{processes}"


def lengthened(actions: str, times: int) -> str:
    """Repeat iterations near the end of a rank's trace; a reduction ends each third of an iteration on every rank."""
    if not times:
        return actions
    lines = actions.splitlines(keepends=True)
    reductions = [number for number, line in enumerate(lines) if line.split()[1] == "allreduce"]
    last = reductions[-1 - REDUCTIONS_BEHIND]
    first = reductions[-1 - REDUCTIONS_BEHIND - REPEATED_ITERATIONS * REDUCTIONS_AN_ITERATION]
    return "".join([*lines[: last + 1], *times * lines[first + 1 : last + 1], *lines[last + 1 :]])


def predict(folder: Path) -> None:
    """Write what is predicted of every site, case and count that is traced."""
    published = pd.read_csv(PUBLISHED)
    one_node = published[published["nodes"] == 1]
    targets = published.groupby(["site", "build", "case", "interconnect", "processes"], as_index=False)[
        "nodes"
    ].first()
    replays, rows = Replays(folder), []
    for (site, build, case, interconnect), group in targets.groupby(
        ["site", "build", "case", "interconnect"]
    ):
        here, ours = group.set_index("processes")["nodes"], CASES[case]
        per_node = int(here.index[here == 1][0])
        counts = [count for count in replays.counts(ours) if count in here.index]
        if per_node not in counts:
            continue
        model = model_of(site, per_node)
        runs = one_node[
            (one_node["site"] == site) & (one_node["build"] == build) & (one_node["case"] == case)
        ]
        speed = speed_for(replays, ours, per_node, model, float(runs["seconds"].median()))
        equal = replays.iterations(ours, per_node) + OTHER_WORK[ours]
        for count in counts:
            seconds = replays.seconds(ours, count, per_node, model, speed)
            made = replays.iterations(ours, count)
            rows.append(
                {
                    "site": site,
                    "build": build,
                    "case": case,
                    "interconnect": interconnect,
                    "model": MODELS[site],
                    "processes": count,
                    "nodes": here[count],
                    "host_speed": speed,
                    "pressure_iterations": made,
                    "seconds": seconds,
                    "equal_seconds": seconds * equal / (made + OTHER_WORK[ours]),
                }
            )
            print(rows[-1], flush=True)
    table = pd.DataFrame(rows)
    series = table.groupby(["site", "build", "case"])
    for name, taken in (("speedup", "seconds"), ("equal_speedup", "equal_seconds")):
        table[name] = series[taken].transform("first") / table[taken]
    PREDICTED.parent.mkdir(exist_ok=True)
    table.round(5).to_csv(PREDICTED, index=False)


def model_of(site: str, cores: int) -> InterconnectModel:
    """Make the model of a site's interconnect for its cores per node; messages inside nodes cost the same at all sites."""
    model = make_model(load_interconnect(MODELS[site], INTERCONNECTS), ROOT)
    inside = (Knot(0, INSIDE_LATENCY_US, 0.0, 0.0, 0.0),)
    return dataclasses.replace(model, cores_per_node=cores, inside=inside, memory_bytes_per_us=INSIDE_MBPS)


def speed_for(replays: Replays, case: str, per_node: int, model: InterconnectModel, seconds: float) -> float:
    """Find the speed of a core at which the replay on one node takes so long."""
    speed = 1.0
    for _ in range(8):
        taken = replays.seconds(case, per_node, per_node, model, speed)
        if abs(taken / seconds - 1) < TIMES_AGREE:
            break
        speed *= taken / seconds  # nearly all of a node's time is computing
    return speed


def compare() -> None:
    """Write the published runs beside what was predicted, and print what the errors come to."""
    key = ["site", "build", "case", "processes"]
    runs = pd.read_csv(PUBLISHED).groupby(key, as_index=False)["seconds"].median()
    runs = runs.merge(pd.read_csv(ITERATIONS_PUBLISHED), on=key).rename(
        columns={"seconds": "measured_seconds"}
    )
    table = pd.read_csv(PREDICTED).merge(runs, on=key).sort_values(key)
    made = table["pressure_iterations_a_step"] + table["case"].map(CASES).map(OTHER_WORK)
    table["measured_equal_seconds"] = (
        table["measured_seconds"] * made.groupby([table[name] for name in key[:3]]).transform("first") / made
    )
    series = table.groupby(key[:3])
    for name in ("measured", "measured_equal"):
        table[f"{name}_speedup"] = series[f"{name}_seconds"].transform("first") / table[f"{name}_seconds"]
    for name, truth in (
        ("speedup", "measured"),
        ("equal_speedup", "measured"),
        ("equal_speedup", "measured_equal"),
    ):
        error = 100 * (table[name] / table[f"{truth}_speedup"] - 1)
        table[f"{name}_against_{truth}_percent"] = error
    table.round(4).to_csv(COMPARED, index=False)
    errors = [column for column in table if column.endswith("_percent")]
    further = table[table["nodes"] > 1]
    print(
        further.set_index(key)[
            ["equal_speedup", "speedup", "measured_speedup", "measured_equal_speedup", *errors]
        ]
        .round(2)
        .to_string()
    )
    print(further[errors].abs().median(), further[errors].median(), sep="\n")
    print(
        further.groupby(["case", "site", "build"])[errors]
        .agg(lambda column: column.abs().median())
        .round(1)
        .to_string()
    )
    print_focus(table)
    print_peaks(table)


def print_focus(table: pd.DataFrame) -> None:
    """Print QDR over Gigabit Ethernet on equal nodes, and the QDR equivalent of each Ethernet count."""
    for case, of_case in table.groupby("case"):
        qdr, gigabit = (
            of_case[of_case["site"] == site].set_index("processes") for site in ("focus_a", "focus_c")
        )
        for column in ("equal_seconds", "seconds", "measured_seconds"):
            for count in gigabit.index:
                gain = 100 * (gigabit.loc[count, column] / qdr.loc[count, column] - 1)
                # linear in the speed, as table node_equivalent has it
                equivalent = np.interp(1 / gigabit.loc[count, column], 1 / qdr[column], qdr.index)
                print(
                    f"{case}, {column}: QDR {gain:+.0f} % on {count} processes, which {equivalent:.1f} on QDR match"
                )


def print_peaks(table: pd.DataFrame) -> None:
    """Print the count of the shortest time, among those that are traced, as predicted and as measured."""
    for name, group in table.groupby(["site", "build", "case"]):
        best = {
            column: int(group.loc[group[column].idxmin(), "processes"])
            for column in ("equal_seconds", "seconds", "measured_seconds")
        }
        print(*name, best, "of", group["processes"].tolist())


if __name__ == "__main__":
    main()
