"""What a finished study costs that is asked for again: the default one, of cases that run for a moment, and a large one.

The large one is made up: files as runs would have left them, known to Snakemake.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ruamel.yaml import YAML

from tests.benchmarks.figures import ROOT, Figure, cost, side_by_side
from tests.benchmarks.peers import bare_snakemake, finished_bare
from tests.study_files import timed_case
from workflows.plan import files
from workflows.plan.plan import Plan, make_plan

NAME = "clock_finished"
WRITTEN = ["runs.csv", "runs.parquet", "facts.json", "report.json", "report.pdf", "report.html"]
WRITTEN += [f"proposal.{ending}" for ending in ("pdf", "tex", "docx")]
SHAPES = [(192, (1, 2), 1, 1.2, 1.33, 9), (526, (1, 2, 4, 8, 16), 6, 5.0, None, 3)]
"""Of large studies: cases, levels of oversubscription, blocks, limits of the clock, rounds."""


def write_study(file: Path) -> None:
    """Write the default study with its cases at their smallest size, in one block."""
    yaml = YAML()
    shipped = ROOT / "config/studies/laptop.yaml"
    study = yaml.load(shipped.read_text())
    study["import"] = [str(shipped.parent / imported) for imported in study["import"]]
    sizes = {case: f"{case.partition('-')[0]}-smoke" for case in study["cases"]}
    study |= {"name": NAME, "cases": list(sizes.values()), "blocks": 1}
    for part in study["exclude"]:
        part.update({"case": sizes[part["case"]]} if "case" in part else {})
    study["limits"]["idle_seconds"] = 0.1
    yaml.dump(study, file)


def measure() -> list[Figure]:
    """Run the study, ask for it again, and bare Snakemake for as many files that are there."""
    with tempfile.TemporaryDirectory() as name:
        folder, file = Path(name), Path(name) / f"{NAME}.yaml"
        write_study(file)
        jobs = len(make_plan(file).design.points)
        finished_bare(folder, jobs)
        asked = [Path(sys.executable).with_name("snakemake"), "--configfile", file]
        try:
            cost([ROOT / "run-study", file])
            found = side_by_side(
                {
                    "ours": lambda: cost([ROOT / "run-study", file]).cpu_seconds,
                    "snakemake": lambda: cost(asked).cpu_seconds,
                    "bare": lambda: bare_snakemake(folder, jobs).cpu_seconds,
                }
            )
        finally:
            shutil.rmtree(ROOT / "results" / NAME, ignore_errors=True)
    peer = f"bare Snakemake, {jobs} files"
    return [
        Figure("finished default study", found["ours"], "s CPU", 0.8, peer, found["bare"], 1.6),
        Figure("the same, asked of Snakemake", found["snakemake"], "s CPU", None, peer, found["bare"], None),
    ]


def write_made_up(folder: Path, cases: int, levels: Sequence[int], blocks: int) -> Plan:
    """Write a study and all that its runs and reports would have left; give its plan."""
    names = [f"nothing{number}" for number in range(cases)]
    for name in names:
        timed_case(folder / "cases", name, "echo, took 0.001 s")
    file = folder / f"{NAME}.yaml"
    file.write_text(
        f"name: {NAME}\ncases_folder: {folder / 'cases'}\ncases: {names}\ninterconnects: [shared_memory, tcp_loopback]\n"
        f"processes: {[1, *(2 * level for level in levels)]}\noversubscription: {list(levels)}\nblocks: {blocks}\nlimits: {{core_hours: 1000}}\n"
    )
    plan = make_plan(file)
    records = [ROOT / plan.paths.record(repetition, 1) for repetition in plan.design.repetitions]
    logs = [record.with_suffix(".log.gz") for record in records]
    made = [ROOT / plan.paths.results / name for name in (*WRITTEN, "records.txt")]
    for one in [
        *files.prepared(plan.paths, plan.design.points),
        *(plan.paths.results / name for name in ("published", "tables", "figures")),
    ]:
        (ROOT / one).mkdir(parents=True)
    for one in [
        *records,
        *logs,
        *(ROOT / one for one in files.expected(plan.paths, plan.design.points)),
        *made,
    ]:
        one.parent.mkdir(parents=True, exist_ok=True)
        one.write_text("{}")
    (ROOT / plan.paths.results / "records.txt").write_text(
        "".join(f"{one.relative_to(ROOT)}\n" for one in records)
    )
    (ROOT / plan.paths.results / "facts.json").write_text('{"runs": {}}')
    cost([Path(sys.executable).with_name("snakemake"), "--configfile", file, "--touch"])
    return plan


def measure_many() -> list[Figure]:
    """Ask for large studies again, and bare Snakemake for a file a point that is there."""
    found = []
    for cases, levels, blocks, limit, ratio_limit, rounds in SHAPES:
        with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
            try:
                design = write_made_up(Path(ours), cases, levels, blocks).design
                points = len(design.points)
                finished_bare(Path(theirs), points)
                asked = [ROOT / "run-study", Path(ours) / f"{NAME}.yaml"]
                cost(asked)  # Snakemake finds that nothing is to be done
                cpu = side_by_side(
                    {
                        "ours": lambda asked=asked: cost(asked).cpu_seconds,
                        "bare": lambda folder=Path(theirs), points=points: (
                            bare_snakemake(folder, points).cpu_seconds
                        ),
                    },
                    rounds,
                )
            finally:
                shutil.rmtree(ROOT / "results" / NAME, ignore_errors=True)
        of = f"{points} points" if blocks == 1 else f"{points} points, {len(design.repetitions)} repetitions"
        peer = f"bare Snakemake, {points} files"
        found.append(
            Figure(f"finished study of {of}", cpu["ours"], "s CPU", limit, peer, cpu["bare"], ratio_limit)
        )
    return found
