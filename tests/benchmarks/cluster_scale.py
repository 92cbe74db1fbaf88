"""What a study costs on a cluster beside its runs. Figures of docs/figures.md.

    python tests/benchmarks/cluster_scale.py dry-run [points ...]     of four interconnects, and of one; needs no Slurm
    python tests/benchmarks/cluster_scale.py finished [points]        a study of which everything is there
    python tests/benchmarks/cluster_scale.py repetitions              200 in one allocation, as root

The last one starts the Slurm of the tests.
"""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.benchmarks.bare import bare, write_bare  # noqa: E402
from tests.benchmarks.figures import Cost, Figure, cost, side_by_side  # noqa: E402
from tests.benchmarks.peers import bare_snakemake, finished_bare  # noqa: E402
from tests.slurm.small_slurm import small_slurm  # noqa: E402
from workflows.measure.measure import measure_study  # noqa: E402
from workflows.measure.prepare import prepare  # noqa: E402
from workflows.plan import files  # noqa: E402
from workflows.plan.jobs import batches  # noqa: E402
from workflows.plan.plan import Plan, make_plan  # noqa: E402
from workflows.results.target import stopping_by_records  # noqa: E402

LEVELS = (1, 2, 4, 8)
BARE = "bare Snakemake, jobs and files of the same shape"
DRY = ("--dry-run", "--quiet", "all")
INTERCONNECTS = ["ucx_verbs", "ipoib", "ucx_tcp", "libfabric_tcp"]
SITE = "nodes: 10000\ncores_per_node: 1\nmemory_per_node_MB: 1000000\n"
MANY = f"""
name: scale
cases_folder: {ROOT / "tests/cases"}
cases: [faulty, faulty-crashes, faulty-killed, faulty-wrong, faulty-cut]
interconnects: INTERCONNECTS
processes: PROCESSES
oversubscription: {list(LEVELS)}
blocks: 1
limits: {{core_hours: 100000000}}
"""
REPETITIONS = f"""
name: scale
cases_folder: {ROOT / "tests/cases"}
cases: [faulty]
interconnects: [emulated_gigabit]
processes: [1, 2]
blocks: 100
limits: {{run_seconds: 60, idle_seconds: 0}}
"""


def snakemake(folder: Path, *options: str) -> list[str]:
    """Make Snakemake run the study in a folder up to its runs table, with the cluster file there."""
    command = [sys.executable, "-m", "snakemake", "--profile", "cluster", "--directory", str(folder)]
    command += ["--snakefile", str(ROOT / "Snakefile"), "--configfile", str(folder / "scale.yaml")]
    return [*command, "--config", f"cluster={folder / 'site.yaml'}", *options, "--", "results/scale/runs.csv"]


def write_study(folder: Path, text: str, site: str) -> Plan:
    """Write a study and its cluster file, and read them."""
    (folder / "scale.yaml").write_text(text)
    (folder / "site.yaml").write_text(site)
    return make_plan(folder / "scale.yaml", {"cluster": str(folder / "site.yaml")})


def many(points: int, interconnects: Sequence[str] = INTERCONNECTS) -> str:
    """A study of about so many points; those of its interconnects share jobs."""
    counts = list(range(16, 16 + 8 * (points // (5 * len(interconnects) * len(LEVELS))), 8))
    return MANY.replace("PROCESSES", str(counts)).replace("INTERCONNECTS", str(interconnects))


def dry_run(folder: Path, points: str = "10000") -> None:
    """Time a dry run beside bare Snakemake's, and by themselves making the plan and cutting it into jobs."""
    for interconnects in (INTERCONNECTS, INTERCONNECTS[:1]):
        begun = time.process_time()
        plan = write_study(folder, many(int(points), interconnects), SITE)
        planned = time.process_time()
        jobs = len(batches(plan))
        cut = time.process_time()
        counts = sorted({point.processes for point in plan.design.points})
        write_bare(folder, plan.asked.study.cases, counts, LEVELS)
        ways = {"study": snakemake(folder, *DRY), "bare": bare(folder, *DRY)}
        used = {way: cost(command) for way, command in ways.items()}
        times, memory = (
            used["study"].cpu_seconds / used["bare"].cpu_seconds,
            used["study"].memory_bytes / used["bare"].memory_bytes,
        )
        print(
            f"{len(plan.design.points)} points, {jobs} measuring jobs: dry run {used['study'].cpu_seconds:.1f} s CPU, "
            f"{used['study'].memory_bytes / 1e6:.0f} MB, {times:.2f} and {memory:.2f} times those of bare Snakemake; "
            f"plan {planned - begun:.2f} s, cut {cut - planned:.2f} s"
        )


def finished(folder: Path, points: str = "1000") -> None:
    """Time Snakemake where everything is there."""
    count = make_finished(folder, int(points))
    for _ in range(3):
        used = cost(snakemake(folder))
        print(
            f"{count} points, all there: nothing done in {used.wall_seconds:.1f} s, {used.cpu_seconds:.1f} s CPU, "
            f"{used.memory_bytes / 1e6:.0f} MB"
        )


def make_finished(folder: Path, points: int) -> int:
    """Write a study and files as its runs would have left them, known to Snakemake; give the number of its points."""
    os.chdir(folder)
    plan = write_study(folder, many(points), SITE)
    for one in files.prepared(plan.paths, plan.design.points):
        Path(one).mkdir(parents=True)
    for one in files.expected(plan.paths, plan.design.points):
        Path(one).write_text("{}")
    records = [plan.paths.record(repetition, 1) for repetition in plan.design.repetitions]
    listed = {plan.paths.batch(name): batch for name, batch in batches(plan).items()}
    for file, batch in listed.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{plan.paths.record(one, 1)}\n" for one in batch.repetitions))
    for record in records:
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text("{}")
    (plan.paths.results / "records.txt").write_text("".join(f"{record}\n" for record in records))
    for name, text in {"runs.csv": "", "runs.parquet": "", "facts.json": '{"runs": {}}'}.items():
        (plan.paths.results / name).write_text(text)
    (plan.paths.results / "published").mkdir()
    cost(snakemake(folder, "--touch"))
    return len(plan.design.points)


def measure(points: int = 10_000, finished_points: int = 1_000) -> list[Figure]:
    """Give what a dry run of many jobs and a finished study cost, beside bare Snakemake with as many."""
    with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
        plan = write_study(Path(ours), many(points, INTERCONNECTS[:1]), SITE)
        jobs = len(batches(plan))
        write_bare(
            Path(theirs),
            plan.asked.study.cases,
            sorted({point.processes for point in plan.design.points}),
            LEVELS,
        )
        memory = {}

        def dry(name: str, command: Callable[[], Cost]) -> float:
            used = command()
            memory[name] = used.memory_bytes / 1e6
            return used.cpu_seconds

        ways = {
            "ours": lambda: dry("ours", lambda: cost(snakemake(Path(ours), *DRY))),
            "bare": lambda: dry("bare", lambda: cost(bare(Path(theirs), *DRY))),
        }
        cpu = side_by_side(ways)
    return [
        Figure(f"dry run of {jobs} jobs", cpu["ours"], "s CPU", None, BARE, cpu["bare"], 1.5),
        Figure(f"its memory, {jobs} jobs", memory["ours"], "MB", None, BARE, memory["bare"], 1.5),
        _finished_beside_bare(finished_points),
    ]


def _finished_beside_bare(points: int) -> Figure:
    here = Path.cwd()
    try:
        with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
            count = make_finished(Path(ours), points)
            finished_bare(Path(theirs), count)
            ways = {
                "ours": lambda: cost(snakemake(Path(ours))).cpu_seconds,
                "bare": lambda: bare_snakemake(Path(theirs), count).cpu_seconds,
            }
            cpu = side_by_side(ways)
            return Figure(
                f"the same on a cluster, {count} points", cpu["ours"], "s CPU", None, f"bare Snakemake, {count} files",
                cpu["bare"],
            )  # fmt: skip
    finally:
        os.chdir(here)


def repetitions(folder: Path) -> None:
    """Measure the CPU time that this program takes a repetition, without that of the programs it starts."""
    with small_slurm(nodes=2) as slurm:
        inside = [sys.executable, str(Path(__file__).resolve()), "in-job", str(folder)]
        script = f"cd {ROOT} && {' '.join(inside)}"
        options = ["--wait", "--nodes=2", "--exclusive", "--time=60", f"--output={folder}/out"]
        slurm.run("sbatch", *options, f"--wrap={script}", timeout=1800)
        print((folder / "out").read_text().splitlines()[-1])


def in_job(folder: Path) -> None:
    """Run inside the job of `repetitions`."""
    os.chdir(folder)
    text = f"{REPETITIONS}"
    (folder / "scale.yaml").write_text(text)
    (folder / "site.yaml").write_text("joined_by: emulated_gigabit\n")
    plan = make_plan(folder / "scale.yaml", {"cluster": str(folder / "site.yaml"), "allocation": True})
    for processes in (1, 2):
        prepare(plan.asked.cases["faulty"], processes, plan.paths.prepared("faulty", processes))
    plan.paths.expected("faulty").write_text(json.dumps({"value": 42.0, "source": "serial"}))
    sys.stderr = io.StringIO()
    before, begun = time.process_time(), time.monotonic()
    made = measure_study(plan, io.StringIO(), stopping_by_records)
    cpu, wall = time.process_time() - before, time.monotonic() - begun
    valid = sum(json.loads(path.read_text())["valid"] for path in made)
    print(
        f"{len(made)} repetitions, {valid} of them valid, half of them parallel and probed: "
        f"{1000 * cpu / len(made):.1f} ms CPU of ours and {wall / len(made):.2f} s each"
    )


def main() -> None:
    """Run what is asked for in a folder that is gone afterwards."""
    what, *given = sys.argv[1:] or ["dry-run"]
    if what == "in-job":
        return in_job(Path(*given))
    measures = {"dry-run": dry_run, "finished": finished, "repetitions": repetitions}
    for argument in given or [None]:
        with tempfile.TemporaryDirectory() as name:
            measures[what](Path(name), *([argument] if argument else []))


if __name__ == "__main__":
    main()
