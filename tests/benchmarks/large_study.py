"""What a study of a program that does nothing costs on a small Slurm, and what is left when it is killed; as root.

    python tests/benchmarks/large_study.py BLOCKS POINTS [POINTS ...]

Of each number of points (a multiple of 8): in jobs, in one allocation, and the same runs by bare Snakemake and by a
loop of sbatch. A case has 8 points, 2 interconnects of 4 process counts on the core of a node, and one job prepares it;
a measuring job makes so many blocks of a count over both interconnects: with 1 block, two runs. From two numbers of
points a line is drawn to 10,000. At last the largest study is made once more in both ways: Snakemake is killed, then,
after it has gone on, a job is cancelled or put back into the queue, at random moments.

CPU time is that of all that is typed and of the jobs' scripts. What `srun` takes in them is told apart; the steps that
it starts are children of Slurm. Requests are those that the controller counts (`sdiag`), its nodes' own among them.
Memory is that of the largest process that is typed, of an allocation that of the largest in its job, steps apart.
"""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.benchmarks.figures import Cost, cost, telling_cost  # noqa: E402
from tests.benchmarks.kill_trials import made  # noqa: E402
from tests.slurm.small_slurm import SmallSlurm, small_slurm  # noqa: E402

NAME = "large"
NETWORKS = ("first", "second")
COUNTS = (2, 3, 4, 5)
OF_CASE = len(NETWORKS) * len(COUNTS)
FAR = 10_000
NETWORK = """
name: NAME
kind: measured
title: NAME
description: The memory of a node, of which nothing is attested.
launch: {mpi: openmpi, mca: {btl: "self,vader"}}
"""
CASE = """
application: command
title: Nothing
description: A program that does nothing.
stands_for: Nothing; it shows what the rest takes.
size: none
sizes: {none: {parameters: {}, serial_seconds: 0.01, memory_MB: 1}}
settings: {program: [echo, took 0.001 s], read: {seconds: 'took (\\S+) s'}}
"""
STUDY = f"""
name: {NAME}
cases_folder: cases
cases: CASES
interconnects_folder: networks
interconnects: {list(NETWORKS)}
processes: {list(COUNTS)}
oversubscription: {list(COUNTS)}
blocks: BLOCKS
limits: {{run_seconds: 60, idle_seconds: 0, core_hours: 1000}}
report_while_running: false
"""
SITE = "joined_by: emulated_gigabit\nminutes: 60\nblocks_per_job: BLOCKS\n"
STEP = "srun --mpi=pmix --ntasks=$tasks --overcommit --overlap echo took 0.001 s; "
BARE = """
rule all:
    input: [f"out/{n}" for n in range(JOBS)]

rule run:
    output: "out/{n}"
    resources: tasks=1, nodes=1, mem_mb=500, runtime=20
    shell: "(tasks=$((2 + {wildcards.n} % 4)); STEPS cut -d ' ' -f 14,15 /proc/$PPID/stat; times) > {output}"
"""
OF_SLURM = (
    *("--workflow-profile", "none", "--executor", "slurm", "--jobs", "100", "--latency-wait", "30"),
    *("--slurm-status-command", "squeue", "--slurm-no-account", "--slurm-keep-successful-logs"),
    *("--slurm-init-seconds-before-status-checks", "5"),
)
SNAKEMAKE = [sys.executable, str(Path(__file__).with_name("timed_jobs.py"))]
TARGET = f"results/{NAME}/runs.csv"
TIMES = re.compile(r"^(\d+)m([\d.]+)s (\d+)m([\d.]+)s$", re.MULTILINE)
TICKS = re.compile(r"^(\d+) (\d+)$", re.MULTILINE)


class Taken(NamedTuple):
    """CPU seconds of each job of a way, `srun` included, and of `srun`; the memory is that of the largest process."""

    typed_seconds: float
    memory_bytes: float
    measuring: list[float]
    preparing: list[float]
    srun_seconds: float


class Seen(NamedTuple):
    """What a way took of points; jobs are those that measure, but for the ones that prepare."""

    points: float
    jobs: float
    preparing_jobs: float
    typed_seconds: float
    jobs_seconds: float
    srun_seconds: float
    preparing_seconds: float
    memory_bytes: float
    requests: float
    wall_seconds: float

    def row(self, way: str, blocks: int, note: str = "") -> str:
        """Give a row of the table."""
        runs, own = self.points * blocks, self.jobs_seconds - self.srun_seconds
        ours = self.typed_seconds + own + self.preparing_seconds
        cells = [
            f"{self.points:.0f}{note}",
            f"{runs:.0f}",
            way,
            f"{self.jobs:.0f} + {self.preparing_jobs:.0f}",
        ]
        cells += [f"{self.typed_seconds:.1f} s", f"{own:.1f} s", f"{self.preparing_seconds:.1f} s"]
        cells += [f"{1000 * ours / runs:.1f} ms", f"{own / self.jobs:.2f} s"]
        cells += [f"{1000 * self.srun_seconds / runs:.1f} ms", f"{self.memory_bytes / 1e6:.0f} MB"]
        cells += [f"{self.requests / runs:.1f}", f"{self.requests / self.wall_seconds:.1f}"]
        return "|".join(["", *cells, f"{self.wall_seconds:.0f} s", ""])


HEADS = (
    "points|runs|way|jobs: measuring + preparing|CPU: typed|in measuring jobs|in preparing jobs|in all but `srun`, a run"
    "|in a measuring job|`srun`, a run|memory|requests a run|requests a second|wall"
)


def on_the_line(low: Seen, high: Seen, points: float) -> Seen:
    """Draw the line through two numbers of points to a third."""
    times = (points - low.points) / (high.points - low.points)
    return Seen(*(first + times * (second - first) for first, second in zip(low, high, strict=True)))


def write_study(folder: Path, points: int, blocks: int) -> None:
    """Write a study of so many points, and its cluster file."""
    names = [f"nothing{number}" for number in range(points // OF_CASE)]
    for name in names:
        file = folder / "cases/command" / name / "case.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(CASE)
    (folder / "networks").mkdir()
    for name in NETWORKS:
        (folder / f"networks/{name}.yaml").write_text(NETWORK.replace("NAME", name))
    text = STUDY.replace("CASES", str(names)).replace("BLOCKS", str(blocks))
    (folder / "study.yaml").write_text(text)
    (folder / "site.yaml").write_text(SITE.replace("BLOCKS", str(blocks)))


def jobs_command(folder: Path) -> list[str]:
    """Make Snakemake run the study in jobs."""
    argv = [*SNAKEMAKE, "--profile", "cluster", "--slurm-keep-successful-logs", *_where(folder)]
    return [*argv, "--configfile", f"{folder}/study.yaml", *_site(folder), "--", TARGET]


def allocation_command(folder: Path) -> list[str]:
    """Submit the study as one job, which tells in a file `cost` of the study's folder what it took; wait for it."""
    given = [f"{folder}/study.yaml", *_site(folder), *_where(folder), "--", TARGET]
    script = shlex.join(telling_cost(folder / "cost", [ROOT / "cluster/allocation.sh", *given]))
    options = ["--wait", "--nodes=1", "--exclusive", "--time=120", f"--output={folder}/1.log"]
    return ["sbatch", *options, "--open-mode=append", f"--wrap={script}"]


COMMANDS = {"jobs": jobs_command, "allocation": allocation_command}


def _where(folder: Path) -> list[str]:
    return ["--directory", str(folder), "--snakefile", str(ROOT / "Snakefile")]


def _site(folder: Path) -> list[str]:
    return ["--config", f"cluster={folder}/site.yaml"]


def in_jobs(slurm: SmallSlurm, folder: Path, points: int, blocks: int) -> Taken:
    """Run the study in jobs."""
    write_study(folder, points, blocks)
    typed = cost(slurm.on_head(jobs_command(folder)))
    srun = srun_of_records(folder, points * blocks)
    return Taken(typed.cpu_seconds, typed.memory_bytes, *seconds_of_jobs(folder, "rule_measure_batch"), srun)


def in_allocation(slurm: SmallSlurm, folder: Path, points: int, blocks: int) -> Taken:
    """Run the study in one job; what it prepares is a part of that."""
    write_study(folder, points, blocks)
    typed = cost(slurm.on_head(allocation_command(folder)))
    job = Cost(*json.loads((folder / "cost").read_text()))
    srun = srun_of_records(folder, points * blocks)
    return Taken(typed.cpu_seconds, job.memory_bytes, [job.cpu_seconds], [], srun)


def bare(slurm: SmallSlurm, folder: Path, points: int, blocks: int) -> Taken:
    """Run the same steps in as many jobs by a rule of bare Snakemake.

    In a job one starts another one as a step, which is no child of it: its shell tells what its parent has taken.
    """
    jobs = points // len(NETWORKS)
    steps = STEP * blocks * len(NETWORKS)
    (folder / "Snakefile").write_text(BARE.replace("JOBS", str(jobs)).replace("STEPS", steps))
    where = ["--directory", str(folder), "--snakefile", f"{folder}/Snakefile"]
    typed = cost(slurm.on_head([*SNAKEMAKE, *OF_SLURM, *where]))
    (outer, others), shells = seconds_of_jobs(folder, "rule_run"), times_of(folder / "out", "*")
    ticks = [TICKS.findall(file.read_text())[-1] for file in (folder / "out").iterdir()]
    inner = [sum(map(int, two)) / os.sysconf("SC_CLK_TCK") for two in ticks]
    measuring = [one + two + sum(three) for one, two, three in zip(outer, inner, shells, strict=False)]
    srun = sum(children for _, children in shells)
    return Taken(typed.cpu_seconds, typed.memory_bytes, measuring, others, srun)


def loop(slurm: SmallSlurm, folder: Path, points: int, blocks: int) -> Taken:
    """Submit a script of the same steps for each job, and ask every second whether they are done."""
    jobs = points // len(NETWORKS)
    steps = STEP * blocks * len(NETWORKS)
    submit = f'sbatch --exclusive --time=20 --output={folder}/%j.log --wrap="{steps}times"'
    script = f"for job in $(seq {jobs}); do tasks=$((2 + job % 4)); {submit}; done; "
    script += 'while [ -n "$(squeue --noheader)" ]; do sleep 1; done'
    typed, used = cost(slurm.on_head(["bash", "-c", script])), times_of(folder, "*.log")
    srun = sum(children for _, children in used)
    return Taken(typed.cpu_seconds, typed.memory_bytes, list(map(sum, used)), [], srun)


WAYS = {"jobs": in_jobs, "allocation": in_allocation, "bare Snakemake": bare, "loop of sbatch": loop}


def times_of(folder: Path, pattern: str) -> list[tuple[float, float]]:
    """CPU time of each shell below a folder that printed its `times` into a file: its own, that of its children."""
    found = []
    for log in folder.rglob(pattern):
        told = [tuple(map(float, line)) for line in TIMES.findall(log.read_text(errors="replace"))]
        if len(told) == 2:
            found.append(tuple(60 * (line[0] + line[2]) + line[1] + line[3] for line in told))
    return found


def seconds_of_jobs(folder: Path, measuring: str) -> tuple[list[float], list[float]]:
    """CPU time of each job of the rule that measures, and of each other one."""
    logs = folder / ".snakemake/slurm_logs"
    of_rules = {rule.name: [sum(used) for used in times_of(rule, "*.log")] for rule in logs.iterdir()}
    others = (seconds for rule, used in of_rules.items() if rule != measuring for seconds in used)
    return of_rules.get(measuring, []), list(others)


def records_of(folder: Path) -> dict[Path, bytes]:
    """Records as they are now."""
    return {file: file.read_bytes() for file in folder.glob("results/*/records/**/*.json")}


def srun_of_records(folder: Path, runs: int) -> float:
    """CPU time that the runs' records have: of `srun`, since Slurm starts its steps.

    Raises
    ------
    SystemExit
        If there are not as many records.
    """
    records = [json.loads(text) for text in records_of(folder).values()]
    if reasons := [record["reason"] for record in records if not record["valid"]]:
        print(f"{len(reasons)} runs are invalid, as: {reasons[0]}", file=sys.stderr)
    if len(records) != runs:
        raise SystemExit(f"{len(records)} records of {runs} runs")
    return sum(record["times"]["cpu_seconds"] for record in records)


def requests(slurm: SmallSlurm) -> int:
    """Remote procedure calls that the controller has served."""
    told = slurm.ask("sdiag").partition("by message type")[2].partition("by user")[0]
    return sum(map(int, re.findall(r"count:(\d+)", told)))


def measure(way: Callable[..., Taken], slurm: SmallSlurm, points: int, blocks: int) -> Seen:
    """Take one way, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        before, begun = requests(slurm), time.monotonic()
        taken = way(slurm, Path(name), points, blocks)
        slurm.wait_for_jobs()
        wall, asked = time.monotonic() - begun, requests(slurm) - before
    if len(taken.measuring) != (jobs := 1 if way is in_allocation else points // len(NETWORKS)):
        raise SystemExit(f"{len(taken.measuring)} of {jobs} jobs told what they took")
    return Seen(
        *(points, jobs, len(taken.preparing), taken.typed_seconds, sum(taken.measuring), taken.srun_seconds),
        *(sum(taken.preparing), taken.memory_bytes, asked, wall),
    )


def kill(slurm: SmallSlurm, way: str, points: int, blocks: int, dice: random.Random) -> str:
    """Kill Snakemake, go on, end a job, go on; give a row of what came of it.

    Raises
    ------
    SystemExit
        If something was lost, changed, is missing or was made twice, or if nothing was there to be killed.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder, runs = Path(name), points * blocks
        write_study(folder, points, blocks)

        def start() -> subprocess.Popen:
            with (folder / "out").open("a") as out:
                argv = slurm.on_head(COMMANDS[way](folder))
                return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out)

        def said() -> str:
            return (folder / "out").read_text()[-2000:]

        def until(share: float, process: subprocess.Popen) -> dict[Path, bytes]:
            while len(records_of(folder)) < share * runs:
                if process.poll() is not None:
                    raise SystemExit(f"{way}: ended before it was killed: {said()}")
                time.sleep(0.5)
            return records_of(folder)

        shares = sorted(dice.uniform(0.1, 0.6) for _ in range(2))
        process = start()
        first = until(shares[0], process)
        if not kill_snakemake(folder):
            raise SystemExit(f"{way}: no Snakemake was there to be killed")
        process.wait()
        process = start()
        second = until(shares[1], process)
        end_a_job(slurm, way, dice)
        for _ in range(5):
            status = process.wait()
            while slurm.ask("squeue", "--noheader"):
                time.sleep(1)
            if status == 0:
                break
            process = start()
        else:
            raise SystemExit(f"{way}: did not go on: {said()}")
        end = records_of(folder)
    lost = sum(end.get(file) != text for seen in (first, second) for file, text in seen.items())
    records = [json.loads(text) for text in end.values()]
    whole = made(records)
    missing, twice = runs - len(whole), whole.total() - len(whole)
    cells = [points, runs, way, len(first), len(second), len(records), len(records) - whole.total()]
    row = "|".join(["", *map(str, [*cells, lost, missing, twice]), ""])
    if lost or missing or twice:
        raise SystemExit(f"{KILLED_HEADS}\n{row}")
    return row


KILLED_HEADS = (
    "points|runs|way|Snakemake killed at record|a job ended at record|records|of interrupted attempts|lost or changed"
    "|missing|twice"
)


def kill_snakemake(folder: Path) -> int:
    """Kill the Snakemake that runs the study of a folder, and none that a job of it runs; give how many."""
    begins = [["-m", "snakemake"], SNAKEMAKE[1:]]
    killed = 0
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            argv = process.cmdline()
            if str(folder) in argv and any(argv[1 : len(begin) + 1] == begin for begin in begins):
                process.kill()
                killed += 1
    return killed


def end_a_job(slurm: SmallSlurm, way: str, dice: random.Random) -> None:
    """Cancel one of the running jobs that measure; put an allocation back into the queue."""
    ask = ("squeue", "--noheader", "--states=running", "--format=%i %k")
    deadline = time.monotonic() + 60
    while True:
        lines = slurm.ask(*ask).splitlines()
        jobs = [line.split()[0] for line in lines if way == "allocation" or "rule_measure_batch" in line]
        if jobs:
            break
        if time.monotonic() > deadline:
            raise SystemExit(f"{way}: no job was there to be ended")
        time.sleep(0.1)
    slurm.ask(*(["scontrol", "requeue"] if way == "allocation" else ["scancel"]), dice.choice(jobs))


def _table(heads: str) -> None:
    print(f"|{heads}|\n|{'---|' * (heads.count('|') + 1)}", flush=True)


def main() -> None:
    """Print a row for each number of points and way, and of 10,000 points; then what was killed."""
    blocks, *numbers = map(int, sys.argv[1:])
    if not numbers or any(points % OF_CASE for points in numbers):
        raise SystemExit(f"{__doc__.splitlines()[2].strip()}: points are multiples of {OF_CASE}")
    with small_slurm(nodes=2) as slurm:
        _table(HEADS)
        seen: dict[str, list[Seen]] = {way: [] for way in WAYS}
        for points in numbers:
            for name, way in WAYS.items():
                seen[name].append(measure(way, slurm, points, blocks))
                print(seen[name][-1].row(name, blocks), flush=True)
        for name, found in seen.items():
            if len(found) > 1:
                print(on_the_line(found[0], found[-1], FAR).row(name, blocks, " (extrapolated)"))
        print()
        _table(KILLED_HEADS)
        dice = random.Random(1)
        for way in COMMANDS:
            print(kill(slurm, way, numbers[-1], blocks, dice), flush=True)


if __name__ == "__main__":
    try:
        main()
    except (subprocess.SubprocessError, RuntimeError) as error:
        sys.exit(str(error))
