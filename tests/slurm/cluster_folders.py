"""A folder in which studies are run on a small Slurm as a user runs them."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from disturbed import went_through
from small_slurm import SmallSlurm

from workflows.paths import ROOT

FAULTY = f"""
name: faulty
cases_folder: {ROOT / "tests/cases"}
cases: [CASES]
interconnects: [emulated_gigabit]
processes: PROCESSES
blocks: BLOCKS
limits: {{run_seconds: 120, idle_seconds: 0}}
"""


class ClusterFolder:
    """A study and the site file that it runs with, in a folder of their own."""

    profile = "cluster"
    snakemake = (sys.executable, "-m", "snakemake")
    impatience = (
        *("--nodeworth-slurm-longest-status-interval", "1"),
        *("--nodeworth-slurm-init-seconds-before-status-checks", "1"),
        *("--nodeworth-slurm-explain-after", "5"),
        *("--nodeworth-slurm-resubmit-after", "1"),
    )
    """Options with which the executor asks Slurm every second, and soon explains what waits."""

    def __init__(self, slurm: SmallSlurm, folder: Path) -> None:
        self.slurm, self.folder = slurm, folder
        self.study, self.site = folder / "study.yaml", folder / "site.yaml"
        self.site.write_text("joined_by: emulated_gigabit\nminutes: 30\n")
        self.stopped: dict[str, dict] = {}

    def faulty(self, *faults: str, blocks: int = 1, processes: tuple = (1, 2)) -> "ClusterFolder":
        cases = ", ".join("faulty" if fault == "sound" else f"faulty-{fault}" for fault in faults)
        self.study.write_text(
            FAULTY.replace("CASES", cases)
            .replace("BLOCKS", str(blocks))
            .replace("PROCESSES", str(list(processes)))
        )
        return self

    def command(self, *options: str, target: str = "results/faulty/runs.csv") -> list[str]:
        where = ["--directory", str(self.folder), "--snakefile", str(ROOT / "Snakefile")]
        where += ["--configfile", str(self.study), "--config", f"cluster={self.site}"]
        argv = [*self.snakemake, "--profile", self.profile, *self.impatience, *where, *options, "--", target]
        return self.slurm.on_head(argv)

    def start(self, *options: str, **more: str) -> subprocess.Popen:
        with (self.folder / "out").open("w") as out:
            return subprocess.Popen(
                self.command(*options, **more),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=os.environ | {"NO_COLOR": "1"},
            )

    def finish(self, process: subprocess.Popen, timeout: float = 400) -> str:
        """Wait for a study; give what it printed, its exit status in the last line."""
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            pytest.fail(f"waited {timeout} s in vain\n{self.output()}\n{self.queue()}\n{self.slurm.logs()}")
        finally:
            process.kill()
        return f"{self.output()}exit status {status}"

    def output(self) -> str:
        return (self.folder / "out").read_text()

    def kill(self, process: subprocess.Popen) -> None:
        """Kill a study and all that it started, but not its jobs."""
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):  # has ended meanwhile
                child.kill()
        process.wait(timeout=60)

    def run(self, *options: str, timeout: float = 400, **more: str) -> str:
        return self.finish(self.start(*options, **more), timeout)

    def run_well(self, *options: str, **more: str) -> str:
        return self.went_well(self.start(*options, **more))

    def went_well(self, process: subprocess.Popen) -> str:
        """Wait for a study that goes through, whatever disturbs its runs; give what it printed."""
        output = self.finish(process)
        assert went_through(process.returncode, output), f"{output}\n{self.queue()}\n{self.slurm.logs()}"
        return output

    def allocate(self, *options: str, target: str = "results/faulty/runs.csv", **sbatch: str) -> str:
        """Submit cluster/allocation.sh; give the job's number."""
        given = [f"--{name}={value}" for name, value in sbatch.items()]
        where = ["--directory", str(self.folder), "--snakefile", str(ROOT / "Snakefile")]
        study = [str(self.study), "--config", f"cluster={self.site}", *where, *options, "--", target]
        script = [str(ROOT / "cluster/allocation.sh"), *study]
        return self.slurm.ask("sbatch", "--parsable", f"--output={self.folder}/out", *given, *script)

    def until(self, holds, seconds: float = 500):
        """Wait until something holds; fail after a time."""
        deadline = time.monotonic() + seconds
        while not (result := holds()):
            assert time.monotonic() < deadline, f"waited {seconds} s in vain\n{self.output()}\n{self.queue()}"
            time.sleep(0.2)
        return result

    def until_completed(self, number: str, seconds: float):
        """Wait until a job has ended well: its files are complete."""
        self.until(lambda: f"{number.strip()} COMPLETED" in self.queue(), seconds)

    def queue(self) -> str:
        return self.slurm.ask("squeue", "--states=all", "--format=%A %T %r %N %k")

    def under_way(self) -> list[dict]:
        """Notes of the runs on two processes that are under way, once their ranks are there."""
        unfinished = []
        for notes in self.folder.glob("results/*/measured/**/*.running.json"):
            with contextlib.suppress(FileNotFoundError):  # has ended meanwhile
                note = json.loads(notes.read_text())
                if len(self.ranks(note)) == 2:
                    unfinished.append(note)
        return unfinished

    def ranks(self, note: dict) -> list[str]:
        """Process ids of the ranks of a run that is under way, as its nodes count them."""
        placed = Path(note["scratch"]).glob("*/[01]")
        written = (file.read_text().splitlines() for file in placed)
        return [lines[1] for lines in written if len(lines) == 4]

    def hold(self, note: dict) -> bool:
        """Stop the ranks of a run, so that it does not end of itself; whether they were all there."""
        return self.slurm.run("kill", "-STOP", *self.ranks(note)).returncode == 0

    def held(self, count: int) -> list[dict]:
        """Stop the ranks of each run once they are there; notes of the runs once `count` are stopped."""
        self.stopped |= {note["job"]: note for note in self.under_way() if self.hold(note)}
        return list(self.stopped.values()) if len(self.stopped) == count else []

    def records(self) -> dict[str, dict]:
        """Records by their paths below the study's records."""
        records_by_name = {}
        for path in sorted(self.folder.glob("results/*/records/**/*.json")):
            records_by_name[str(path).partition("/records/")[2].removesuffix(".json")] = json.loads(
                path.read_text()
            )
        return records_by_name
