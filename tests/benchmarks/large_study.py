"""What a study of serial points of a program that does nothing costs on a small Slurm, as root.

    python tests/benchmarks/large_study.py BLOCKS POINTS ...

Of each number of points: in jobs of so many blocks, in one allocation, and the same runs by bare Snakemake and by a
loop of sbatch. CPU time is that of all that is typed and of the jobs' scripts, `srun` included; the steps that it starts
are children of Slurm. Requests are those that the controller counts (`sdiag`), its nodes' own among them.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.benchmarks.figures import Cost, cost  # noqa: E402
from tests.slurm.small_slurm import SmallSlurm, small_slurm  # noqa: E402

NAME = "large"
CASE = """
application: command
title: Nothing
description: A program that does nothing.
stands_for: Nothing; it shows what the rest takes.
size: none
sizes: {none: {parameters: {}, serial_seconds: 0.01, memory_MB: 1}}
settings: {program: [echo, took 0.001 s], read: {seconds: 'took (\\S+) s'}}
"""
STUDY = """
name: NAME
cases_folder: cases
cases: CASES
interconnects: [emulated_gigabit]
processes: [1]
blocks: BLOCKS
limits: {run_seconds: 60, idle_seconds: 0, core_hours: 1000}
report_while_running: false
"""
SITE = "joined_by: emulated_gigabit\nminutes: 60\nblocks_per_job: BLOCKS\n"
STEP = "srun --mpi=pmix --ntasks=1 --overlap echo took 0.001 s; "
BARE = """
rule all:
    input: [f"out/{n}" for n in range(POINTS)]

rule run:
    output: "out/{n}"
    resources: tasks=1, nodes=1, mem_mb=500, runtime=20
    shell: "(STEPS) > {output}"
"""
OF_SLURM = (
    *("--workflow-profile", "none", "--executor", "slurm", "--jobs", "100", "--latency-wait", "30"),
    *("--slurm-status-command", "squeue", "--slurm-no-account", "--slurm-keep-successful-logs"),
    *("--slurm-init-seconds-before-status-checks", "5"),
)
SNAKEMAKE = [sys.executable, str(Path(__file__).with_name("timed_jobs.py"))]
TARGET = f"results/{NAME}/runs.csv"
TIMES = re.compile(r"(\d+)m([\d.]+)s")


class Seen(NamedTuple):
    """What a way took: of what is typed, of jobs (CPU seconds), and requests to the controller."""

    typed: Cost
    jobs: int
    jobs_seconds: float
    requests: int


def write_study(folder: Path, points: int, blocks: int) -> None:
    """Write a study of so many cases, and its cluster file."""
    names = [f"nothing{number}" for number in range(points)]
    for name in names:
        file = folder / "cases/command" / name / "case.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(CASE)
    text = STUDY.replace("NAME", NAME).replace("CASES", str(names)).replace("BLOCKS", str(blocks))
    (folder / "study.yaml").write_text(text)
    (folder / "site.yaml").write_text(SITE.replace("BLOCKS", str(blocks)))


def in_jobs(slurm: SmallSlurm, folder: Path, points: int, blocks: int) -> Cost:
    """Run the study in jobs."""
    write_study(folder, points, blocks)
    argv = [*SNAKEMAKE, "--profile", "cluster", "--slurm-keep-successful-logs", *_where(folder)]
    return cost(slurm.on_head([*argv, "--configfile", f"{folder}/study.yaml", *_site(folder), "--", TARGET]))


def in_allocation(slurm: SmallSlurm, folder: Path, points: int, blocks: int) -> Cost:
    """Run the study in one job."""
    write_study(folder, points, blocks)
    given = [f"{folder}/study.yaml", *_site(folder), *_where(folder), "--", TARGET]
    script = f"{ROOT}/cluster/allocation.sh {' '.join(given)}; times"
    options = ["--wait", "--nodes=1", "--exclusive", "--time=60", f"--output={folder}/1.log"]
    return cost(slurm.on_head(["sbatch", *options, f"--wrap={script}"]))


def bare(slurm: SmallSlurm, folder: Path, points: int, blocks: int) -> Cost:
    """Run the same steps by rules of bare Snakemake, a job a point."""
    (folder / "Snakefile").write_text(BARE.replace("POINTS", str(points)).replace("STEPS", STEP * blocks))
    where = ["--directory", str(folder), "--snakefile", f"{folder}/Snakefile"]
    return cost(slurm.on_head([*SNAKEMAKE, *OF_SLURM, *where]))


def loop(slurm: SmallSlurm, folder: Path, points: int, blocks: int) -> Cost:
    """Submit a script of the same steps for each point, and ask every second whether they are done."""
    submit = f"sbatch --exclusive --time=20 --output={folder}/%j.log --wrap='{STEP * blocks}times'"
    script = f'for point in $(seq {points}); do {submit}; done; while [ -n "$(squeue --noheader)" ]; do sleep 1; done'
    return cost(slurm.on_head(["bash", "-c", script]))


WAYS = {"jobs": in_jobs, "allocation": in_allocation, "bare Snakemake": bare, "loop of sbatch": loop}


def _where(folder: Path) -> list[str]:
    return ["--directory", str(folder), "--snakefile", str(ROOT / "Snakefile")]


def _site(folder: Path) -> list[str]:
    return ["--config", f"cluster={folder}/site.yaml"]


def requests(slurm: SmallSlurm) -> int:
    """Remote procedure calls that the controller has served."""
    told = slurm.ask("sdiag").partition("by message type")[2].partition("by user")[0]
    return sum(map(int, re.findall(r"count:(\d+)", told)))


def seconds_of_jobs(folder: Path) -> list[float]:
    """CPU time of each job, as its shell printed it: its own and that of its children, user and system."""
    found = []
    for log in folder.rglob("*.log"):
        lines = log.read_text(errors="replace").splitlines()
        times = [float(minutes) * 60 + float(rest) for line in lines for minutes, rest in TIMES.findall(line)]
        found += [sum(times)] if len(times) == 4 else []
    return found


def measure(way: Callable[..., Cost], slurm: SmallSlurm, points: int, blocks: int) -> Seen:
    """Take one way, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        before = requests(slurm)
        typed = way(slurm, Path(name), points, blocks)
        asked, jobs = requests(slurm) - before, seconds_of_jobs(Path(name))
        records = len(list(Path(name).glob("results/*/records/**/*.json")))
        if way in (in_jobs, in_allocation) and records != points * blocks:
            raise SystemExit(f"{records} records of {points * blocks} runs")
        slurm.wait_for_jobs()
        return Seen(typed, len(jobs), sum(jobs), asked)


def main() -> None:
    """Print a row for each number of points and way."""
    heads = "points|runs|way|jobs|CPU typed|in jobs|a run|memory|requests a run|a second|wall"
    print(f"|{heads}|\n|{'---|' * 11}")
    blocks, *numbers = map(int, sys.argv[1:])
    with small_slurm(nodes=2) as slurm:
        for points in numbers:
            for name, way in WAYS.items():
                begun = time.monotonic()
                seen = measure(way, slurm, points, blocks)
                runs, wall = points * blocks, time.monotonic() - begun
                ours = seen.typed.cpu_seconds + seen.jobs_seconds
                row = f"{points}|{runs}|{name}|{seen.jobs}|{seen.typed.cpu_seconds:.1f} s|{seen.jobs_seconds:.1f} s"
                row += f"|{1000 * ours / runs:.0f} ms|{seen.typed.memory_bytes / 1e6:.0f} MB"
                row += f"|{seen.requests / runs:.1f}|{seen.requests / wall:.1f}|{wall:.0f} s"
                print(f"|{row}|", flush=True)


if __name__ == "__main__":
    try:
        main()
    except subprocess.SubprocessError as error:
        sys.exit(str(error))
