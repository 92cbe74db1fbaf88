"""CPU that the framework takes for one repetition, launcher and application excluded.

    .venv/bin/python tests/benchmarks/overhead.py [repetitions ...]

Runs studies of a program that does nothing through the same rules as any other. From the CPU time of the
whole Snakemake process tree it takes off what the runs themselves took (mpirun and the program, as their
records have it). The difference between two lengths is what a repetition costs; start-up drops out.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CASE = """
application: command
title: Nothing
description: A program that does nothing.
stands_for: Nothing; it shows what the framework itself takes.
size: none
sizes: {none: {parameters: {}, serial_seconds: 0.01, memory_MB: 1}}
settings: {program: [echo, took 0.001 s], read: {seconds: 'took (\\S+) s'}}
"""
STUDY = """
name: overhead
cases_folder: cases
cases: [nothing]
interconnects: [shared_memory]
processes: [2]
blocks: {blocks}
limits: {{idle_seconds: 0, core_hours: 100}}
"""


def cpu_seconds(repetitions: int) -> float:
    """CPU seconds of a study of so many repetitions, less those of its runs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "cases/command/nothing").mkdir(parents=True)
        (folder / "cases/command/nothing/case.yaml").write_text(CASE)
        (folder / "overhead.yaml").write_text(STUDY.format(blocks=repetitions))
        where = ["--directory", name, "--snakefile", str(ROOT / "Snakefile")]
        process = subprocess.Popen(
            [
                *(str(Path(sys.executable).with_name("snakemake")), *where),
                *("--configfile", str(folder / "overhead.yaml"), "--", "results/overhead/runs.csv"),
            ],
            cwd=ROOT,
            stderr=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise SystemExit("the study failed")
        records = [json.loads(file.read_text()) for file in folder.glob("results/*/records/**/*.json")]
        if len(records) != repetitions or not all(record["valid"] for record in records):
            raise SystemExit(f"{len(records)} records, not {repetitions} valid ones")
        return usage.ru_utime + usage.ru_stime - sum(record["times"]["cpu_seconds"] for record in records)


def main() -> None:
    """Print the CPU time of each length, and of a repetition between one length and the next."""
    lengths = [int(word) for word in sys.argv[1:]] or [1, 200, 1000]
    before = None
    for length in sorted(lengths):
        seconds = cpu_seconds(length)
        line = f"{length:5d} repetitions: {seconds:6.2f} s CPU of ours"
        if before:
            line += f", {1000 * (seconds - before[1]) / (length - before[0]):.1f} ms a further repetition"
        print(line, flush=True)
        before = length, seconds


if __name__ == "__main__":
    main()
