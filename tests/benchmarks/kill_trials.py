"""Kill studies at random moments, continue, and count runs that were lost, duplicated or disturbed.

    python tests/benchmarks/kill_trials.py machine [kills [seed [minutes]]]       a study on this machine
    python tests/benchmarks/kill_trials.py jobs [kills [seed [minutes]]]          in jobs of a small Slurm, as root
    python tests/benchmarks/kill_trials.py allocation [kills [seed [minutes]]]    in one allocation of it, as root

Every kill is a SIGKILL, of processes that belong together: a Snakemake with all that it started or alone, the program
that measures, all of a job on one node, slurmd, slurmctld. What has ended is started again, the study grown by some
blocks, so that there is always something to do. After so many minutes no more is killed. The program that is run does
nothing but to write, every 2 ms, what time it is: so it is known when each of its processes was there, also of runs
that have no record. A strike waits up to 20 s for what it is to hit.

A slurmctld that is killed forgets its last seconds: jobs that ended in them run for it, until nodes register anew, and
jobs that it began in them are begun again, which drains their nodes and holds them. An operator is played that ends this.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import psutil

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests/slurm")]

from cluster_folders import ClusterFolder  # noqa: E402

from tests.benchmarks.costs import cost  # noqa: E402
from tests.slurm.small_slurm import SmallSlurm, small_slurm  # noqa: E402
from tests.study_files import timed_case  # noqa: E402
from workflows.launch.emulation import occupants  # noqa: E402
from workflows.plan.records import TRIES  # noqa: E402

NAME, NODES, GROWTH = "killed", 2, 6
STRIKE_SECONDS, LINGER_SECONDS = 20.0, 2.0
LAUNCHED_SECONDS = 20  # in which a node has begun a job that it was given
PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    return at.tv_sec + 1e-9 * at.tv_nsec;
}
int main(int argc, char **argv)
{
    char host[256], name[512];
    double begun = now();
    gethostname(host, sizeof host);
    snprintf(name, sizeof name, "BEATS/%s %d %.6f", host, (int)getpid(), begun);
    FILE *file = fopen(name, "w");
    MPI_Init(&argc, &argv);
    for (double at = begun; at < begun + 0.1; at = now()) {
        rewind(file);
        fprintf(file, "%.6f", at);
        fflush(file);
        usleep(2000);
    }
    puts("took 0.1 s");
    return MPI_Finalize();
}
"""
STUDY = """
name: NAME
cases_folder: cases
cases: [clock]
interconnects: [INTERCONNECTS]
processes: [1, 2]
blocks: BLOCKS
limits: {run_seconds: 60, idle_seconds: 0, core_hours: 100}
report_while_running: false
"""
TARGET = f"results/{NAME}/runs.csv"


class Beats(NamedTuple):
    """When a process of the program was there, in seconds since 1970."""

    host: str
    process: int
    first: float
    last: float


class Counts(NamedTuple):
    """What came of a study."""

    records: int
    valid: int
    interrupted: int
    given_up: int
    missing: int
    twice: int
    contaminated: int


def read_beats(folder: Path) -> list[Beats]:
    """Read what the processes wrote; one that wrote no beat was there for a moment."""
    beats = []
    for file in folder.iterdir():
        host, process, first = file.name.split(" ")
        beats.append(Beats(host, int(process), float(first), float(file.read_text() or first)))
    return beats


def contaminated(run_beats: Collection[Beats], beats: Iterable[Beats], whole_machine: bool) -> bool:
    """Whether another process ran at the same time as a run, on one of its hosts or, if requested, on any host."""
    first, last = min(beat.first for beat in run_beats), max(beat.last for beat in run_beats)
    hosts = {beat.host for beat in run_beats}
    others = (beat for beat in beats if beat not in run_beats and (whole_machine or beat.host in hosts))
    return any(beat.first <= last and beat.last >= first for beat in others)


def beats_of(record: Mapping[str, Any], beats: Iterable[Beats]) -> list[Beats]:
    """Give those of the processes of a run."""
    ranks = {(rank["host"], rank["process"]) for rank in record["placement"]}
    begun = datetime.fromisoformat(record["started"]).timestamp()
    ended = begun + record["times"]["wall_seconds"]
    return [beat for beat in beats if beat[:2] in ranks and begun - 0.01 <= beat.first <= ended]


def made(records: Iterable[Mapping[str, Any]], interrupted: bool = False) -> Counter[tuple[Any, ...]]:
    """Count the records of each repetition: completed ones, or interrupted attempts."""
    keys = ("case", "interconnect", "processes", "oversubscription", "block")
    chosen = (record for record in records if record.get("interrupted", False) == interrupted)
    return Counter(tuple(record[key] for key in keys) for record in chosen)


def count(
    records: Sequence[Mapping[str, Any]], beats: Collection[Beats], repetitions: int, whole_machine: bool
) -> Counts:
    """Count what is wrong with the records of a study that was to make so many repetitions."""
    whole = [record for record in records if not record.get("interrupted")]
    timed_runs, broken = made(records), made(records, interrupted=True)
    given_up = [key for key, number in broken.items() if number == TRIES and key not in timed_runs]
    timed = [(record, beats_of(record, beats)) for record in whole if record["seconds"] is not None]
    if any(len(run_beats) != len(record["placement"]) for record, run_beats in timed):
        raise SystemExit("a run was recorded whose processes told no time")
    return Counts(
        records=len(records),
        valid=sum(record["valid"] for record in records),
        interrupted=len(records) - len(whole),
        given_up=len(given_up),
        missing=repetitions - len(timed_runs) - len(given_up),
        twice=timed_runs.total() - len(timed_runs),
        contaminated=sum(contaminated(run_beats, beats, whole_machine) for _, run_beats in timed),
    )


class Killed:
    """A study on this machine that is killed and goes on.

    Attributes
    ----------
    blocks : int
        Of the study, as it is now.
    share : float
        Of the time that it takes from its first start to its first record, what lies between two kills at most.
    """

    interconnects = ("shared_memory", "emulated_gigabit")
    points, share = 3, 1.5
    whole_machine = True

    def __init__(self, folder: Path, dice: random.Random) -> None:
        self.folder, self.dice, self.blocks = folder, dice, 0
        self.study = folder / f"{NAME}.yaml"
        self.process: subprocess.Popen | None = None
        source, program = folder / "clock.c", folder / "clock"
        self.beats = folder / "beats"
        self.beats.mkdir()
        source.write_text(PROGRAM.replace("BEATS", str(self.beats)))
        cost(["mpicc.openmpi", "-O2", source, "-o", program])
        timed_case(folder / "cases", "clock", str(program), serial_seconds=0.1)

    def files(self) -> dict[Path, bytes]:
        """Records as they are now."""
        return {file: file.read_bytes() for file in self.folder.glob("results/*/records/**/*.json")}

    def go_on(self, grows: bool = True) -> None:
        """Start the study, grown by some blocks, where it does not run."""
        if self.process and self.process.poll() is None:
            return
        blocks = {int(file.name.split("-")[1]) for file in self.files()}
        self.blocks = max(self.blocks, max(blocks, default=0) + GROWTH) if grows else self.blocks
        text = STUDY.replace("NAME", NAME).replace("BLOCKS", f"{self.blocks}")
        self.study.write_text(text.replace("INTERCONNECTS", ", ".join(self.interconnects)))
        self.process = self.start()

    def start(self) -> subprocess.Popen:
        """Start it."""
        argv = [
            sys.executable,
            "-m",
            "snakemake",
            "--directory",
            str(self.folder),
            "--snakefile",
            str(ROOT / "Snakefile"),
        ]
        return self._popen([*argv, "--configfile", str(self.study), "--", TARGET])

    def _popen(self, argv: Sequence[str]) -> subprocess.Popen:
        with (self.folder / "out").open("a") as out:
            return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    @property
    def victims(self) -> dict[str, Callable[[], Iterable[int] | None]]:
        """What can be killed, by its name."""
        return {
            "Snakemake and all of its": lambda: [self.process.pid, *_below(self.process.pid)],
            "Snakemake alone": lambda: [self.process.pid],
            "what measures": lambda: _below(self.process.pid, "measure.py"),
        }

    def strike(self) -> tuple[str, int]:
        """Kill something; give its name, and how many processes that was."""
        name = self.dice.choice(list(self.victims))
        return name, strike(self.victims[name], self.dice)

    def finish(self) -> None:
        """Let the study run to its end."""
        for _ in range(5):
            self.go_on(grows=False)
            if self.wait(1800) == 0:
                return
        raise SystemExit(self.description())

    def wait(self, seconds: float) -> int:
        """Wait for its end."""
        return self.process.wait(seconds)

    def description(self) -> str:
        """Give the end of what it printed."""
        return (self.folder / "out").read_text()[-3000:]


class KilledJobs(Killed):
    """One in jobs of a small Slurm."""

    interconnects = ("emulated_gigabit",)
    points, share = 2, 0.3
    whole_machine = False

    def __init__(self, folder: Path, dice: random.Random, slurm: SmallSlurm) -> None:
        super().__init__(folder, dice)
        slurm.configure("BatchStartTimeout", f"{LAUNCHED_SECONDS}")
        self.slurm, self.on_cluster = slurm, ClusterFolder(slurm, folder)
        self.on_cluster.study = self.study
        self.on_cluster.site.write_text("joined_by: emulated_gigabit\nminutes: 20\nblocks_per_job: 3\n")

    def start(self) -> subprocess.Popen:
        """Start the Snakemake that submits."""
        return self._popen(self.on_cluster.command(target=TARGET))

    def strike(self) -> tuple[str, int]:
        """Kill something, and start a daemon again that was killed."""
        node = self.dice.choice(self.slurm.nodes)
        match self.dice.choice(["Snakemake", "a job", "slurmd", "slurmctld"]):
            case "Snakemake" as name if isinstance(self.process, subprocess.Popen):
                return name, _kill([self.process.pid, *_below(self.process.pid)])
            case "slurmd" as name:
                self.slurm.stop(node.name, signal.SIGKILL)
                time.sleep(self.dice.uniform(0, 3))
                self._resume()
                self.slurm.start_node(node)
                return name, 1
            case "slurmctld" as name:
                self.slurm.stop(name, signal.SIGKILL)
                time.sleep(self.dice.uniform(0, 3))
                self.slurm.start_controller()
                return name, 1
            case _:
                return "all of a job on a node", strike(self._of_job, self.dice)

    def wait(self, seconds: float) -> int:
        """Wait for its end, and let nodes and jobs come back meanwhile."""
        deadline = time.monotonic() + seconds
        while (status := self.process.poll()) is None:
            if time.monotonic() > deadline:
                raise SystemExit(f"does not end: {self.description()}")
            self._resume()
            time.sleep(5)
        return status

    def go_on(self, grows: bool = True) -> None:
        """Start the study where it does not run, on all nodes."""
        self._resume()
        super().go_on(grows)

    def _resume(self) -> None:
        """Do as an operator: a slurmctld that was killed has forgotten its last seconds.

        What jobs have ended meanwhile, its nodes tell it anew. A job that runs it may have begun again, for which it
        drains the node and holds the job: a node comes back when nothing runs on it any more.
        """
        self.slurm.run("scontrol", "reconfigure")
        busy = {name for name, _ in self._in_jobs()}
        for node in self.slurm.nodes:
            if node.name not in busy:  # refused where it is up
                self.slurm.run("scontrol", "update", f"nodename={node.name}", "state=resume")
        waiting = self.slurm.run("squeue", "--noheader", "--states=pending", "--format=%i|%r").stdout
        for job, reason in (line.split("|") for line in waiting.splitlines()):
            if reason.endswith("held"):
                self.slurm.run("scontrol", "release", job)

    def _of_job(self) -> list[int]:
        """Processes of a job on a node, Slurm's own apart; none where no job runs."""
        pids_by_job = self._in_jobs()
        return self.dice.choice(list(pids_by_job.values())) if pids_by_job else []

    def _in_jobs(self) -> dict[tuple[str, str], list[int]]:
        """Processes of jobs by node and job, Slurm's own apart."""
        pids_by_job = {}
        for node in self.slurm.nodes:
            for pid in occupants([node.net]):
                with suppress(psutil.Error):
                    process = psutil.Process(pid)
                    if process.name() not in ("slurmd", "slurmstepd") and (
                        job := process.environ().get("SLURM_JOB_ID")
                    ):
                        pids_by_job.setdefault((node.name, job), []).append(pid)
        return pids_by_job


class KilledAllocation(KilledJobs):
    """One in an allocation of a small Slurm."""

    share = 0.8

    def start(self) -> _Job:
        """Submit the job."""
        return _Job(self.slurm, self.on_cluster.allocate(nodes=NODES, time=30, target=TARGET))


class _Job:
    """A job, asked like a process."""

    def __init__(self, slurm: SmallSlurm, number: str) -> None:
        self.slurm, self.number = slurm, number

    def poll(self) -> int | None:
        """Give its exit status; None while it is in the queue."""
        shown = self.slurm.ask("scontrol", "show", "job", "--oneliner", self.number)
        state = shown.partition("JobState=")[2].split()[0]
        if state in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "REQUEUED"):
            return None
        return 0 if state == "COMPLETED" else 1


def _below(pid: int, word: str = "") -> list[int]:
    """Give the processes that a process started, those with a word in their command line."""
    with suppress(psutil.Error):
        below = psutil.Process(pid).children(recursive=True)
        return [process.pid for process in below if any(word in part for part in process.cmdline())]
    return []


def strike(victims: Callable[[], Collection[int]], dice: random.Random) -> int:
    """Kill what is there, a random time after it is; wait for it up to `STRIKE_SECONDS`; give how many were hit."""
    deadline = time.monotonic() + STRIKE_SECONDS
    while time.monotonic() < deadline:
        if victims():
            time.sleep(dice.uniform(0, LINGER_SECONDS))
            if killed := _kill(victims()):
                return killed
        time.sleep(0.05)
    return 0


def _kill(pids: Iterable[int]) -> int:
    """Kill processes; give how many had not ended before."""
    killed = 0
    for pid in pids:
        with suppress(psutil.Error):
            process = psutil.Process(pid)
            if process.status() != psutil.STATUS_ZOMBIE:
                process.kill()
                killed += 1
    return killed


def trials(study: Killed, kills: int, minutes: float) -> str:
    """Kill a study so often, for so long at most, let it end, and tell what came of it."""
    struck, missed, seen, lost = Counter(), Counter(), {}, 0
    until_first, processes = None, 0
    begun = time.monotonic()
    while struck.total() < kills and time.monotonic() < begun + 60 * minutes:
        study.go_on()
        if until_first is None:  # let it come to its first record once, to know what moments there are
            while not study.files():
                if study.process.poll() is not None:
                    raise SystemExit(study.description())
                time.sleep(0.1)
            until_first = time.monotonic() - begun
        time.sleep(study.dice.uniform(0, study.share * until_first))
        name, hit = study.strike()
        if not hit:
            missed[name] += 1
            continue
        struck[name] += 1
        processes += hit
        now = study.files()
        lost += sum(now.get(file) != content for file, content in seen.items())
        seen = now
        print(f"{struck.total()}: {name}, {len(seen)} records", file=sys.stderr, flush=True)
    study.finish()
    end = study.files()
    lost += sum(end.get(file) != content for file, content in seen.items())
    records = [json.loads(text) for text in end.values()]
    counts = count(records, read_beats(study.beats), study.points * study.blocks, study.whole_machine)
    kinds, nothing = (
        ", ".join(f"{number} {name}" for name, number in sorted(of.items())) for of in (struck, missed)
    )
    return (
        f"{struck.total()} kills ({kinds}; {processes} processes; at nothing: {nothing or 'none'}) in "
        f"{time.monotonic() - begun:.0f} s: {counts.records} records of "
        f"{study.points * study.blocks} repetitions, {counts.interrupted} of them interrupted, {counts.valid} valid; "
        f"given up after {TRIES} interrupted attempts {counts.given_up}, lost or changed {lost}, missing {counts.missing}, twice {counts.twice}, "
        f"timed beside another run {counts.contaminated}"
    )


def main() -> None:
    """Run the trials of one way, and print their line."""
    way, kills, seed, minutes = (*sys.argv[1:], *("machine", "50", "1", "60")[len(sys.argv) - 1 :])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    dice = random.Random(int(seed))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        if way == "machine":
            study = Killed(folder, dice)
        else:
            ways = {"jobs": KilledJobs, "allocation": KilledAllocation}
            study = ways[way](folder, dice, stack.enter_context(small_slurm(NODES)))
        try:
            print(f"{way}, seed {seed}: {trials(study, int(kills), float(minutes))}")
        finally:
            if isinstance(study.process, subprocess.Popen):
                _kill([study.process.pid, *_below(study.process.pid)])


if __name__ == "__main__":
    main()
