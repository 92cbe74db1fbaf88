"""CPU that the framework takes for one repetition, launcher and application excluded.

    .venv/bin/python tests/benchmarks/overhead.py [repetitions ...]

Runs studies of an MPI program that does nothing through the same rules as any other. What attesting adds inside its
runs is for `attestation.py`. From the CPU time of the whole Snakemake process tree it takes off what the runs
themselves took (mpirun and the program, as their records have it). The difference between two lengths is what a
repetition costs; start-up drops out. Reports while a study runs are left out: they take up to a twentieth of its time.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.benchmarks.figures import Figure, cost, side_by_side  # noqa: E402
from tests.benchmarks.peers import bare_snakemake, by_hand  # noqa: E402
from tests.study_files import timed_case  # noqa: E402
from workflows.domain import Point  # noqa: E402
from workflows.launch.launchers import launch_ranks  # noqa: E402
from workflows.study.interconnects import load_interconnect  # noqa: E402

PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    puts("took 0.001 s");
    return MPI_Finalize();
}
"""
STUDY = """
name: overhead
cases_folder: cases
cases: [nothing]
interconnects: [shared_memory]
processes: [2]
blocks: {blocks}
report_while_running: false
limits: {{idle_seconds: 0, core_hours: 100}}
"""


def build(folder: Path) -> Path:
    """Compile the program that does nothing."""
    source, program = folder / "program.c", folder / "program"
    source.write_text(PROGRAM)
    cost(["mpicc.openmpi", source, "-o", program])
    return program


def cpu_seconds(repetitions: int) -> tuple[float, float]:
    """CPU seconds of a study of so many repetitions, and of its runs alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        timed_case(folder / "cases", "nothing", str(build(folder)))
        (folder / "overhead.yaml").write_text(STUDY.format(blocks=repetitions))
        where = ["--directory", name, "--snakefile", str(ROOT / "Snakefile")]
        target = ["--configfile", folder / "overhead.yaml", "--", "results/overhead/runs.csv"]
        used = cost([Path(sys.executable).with_name("snakemake"), *where, *target])
        records = [json.loads(file.read_text()) for file in folder.glob("results/*/records/**/*.json")]
        if len(records) != repetitions or not all(record["valid"] for record in records):
            raise SystemExit(f"{len(records)} records, not {repetitions} valid ones")
        if any(record["probe"]["way"] != "in the run" for record in records if record["processes"] > 1):
            raise SystemExit("not attested in the runs")
        return used.cpu_seconds, sum(record["times"]["cpu_seconds"] for record in records)


def hand_cpu_seconds(runs: int) -> float:
    """CPU seconds of a loop of bash that starts the program so often, with the launcher's options of a study."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shared_memory = load_interconnect("shared_memory", ROOT / "config/interconnects")
        point = Point("nothing", "shared_memory", 2, 1, nodes=1, cores=2)
        launch = launch_ranks(point, shared_memory, (), [str(build(folder))], {}, folder)
        return by_hand(launch.argv, launch.env, runs).cpu_seconds


def bare_cpu_seconds(jobs: int) -> float:
    """CPU seconds of bare Snakemake for so many jobs."""
    with tempfile.TemporaryDirectory() as name:
        return bare_snakemake(Path(name), jobs).cpu_seconds


def measure(repetitions: int = 300, rounds: int = 2) -> list[Figure]:
    """Give the CPU time of a further repetition, all included, beside the same `mpirun` started by bash.

    What of it is ours comes from the runs' own records: a difference of two medians of some 200 ms says
    nothing of a few ms.
    """

    outside = []

    def ours() -> float:
        (whole, runs), (first, first_runs) = cpu_seconds(repetitions + 1), cpu_seconds(1)
        outside.append(1000 * (whole - runs - (first - first_runs)) / repetitions)
        return 1000 * (whole - first) / repetitions

    def further(total: Callable[[int], float]) -> Callable[[], float]:
        return lambda: 1000 * (total(repetitions + 1) - total(1)) / repetitions

    ways = {"ours": ours, "hand": further(hand_cpu_seconds), "bare": further(bare_cpu_seconds)}
    found, beyond = side_by_side(ways, rounds), median(outside)
    return [
        Figure("attested repetition on two ranks", found["ours"], "ms CPU", None, "bash", found["hand"], 1.2),
        Figure("of it ours", beyond, "ms CPU", None, "a job of bare Snakemake", found["bare"], 1.0),
    ]


def main() -> None:
    """Print the CPU time of each length, and of a repetition between one length and the next."""
    lengths = [int(word) for word in sys.argv[1:]] or [1, 200, 1000]
    before = None
    for length in sorted(lengths):
        whole, runs = cpu_seconds(length)
        seconds = whole - runs
        line = f"{length:5d} repetitions: {seconds:6.2f} s CPU of ours"
        if before:
            line += f", {1000 * (seconds - before[1]) / (length - before[0]):.1f} ms a further repetition"
        print(line, flush=True)
        before = length, seconds


if __name__ == "__main__":
    main()
