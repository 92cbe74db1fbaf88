"""What a large study costs on a cluster before any job: dry run and cutting into jobs.

    .venv/bin/python tests/benchmarks/cluster_scale.py [points ...]

Prints, for each number of points: jobs, CPU seconds and peak memory of the dry run, and seconds of making the
plan and of cutting it into jobs. Needs no Slurm: the cluster file says what its nodes are.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from workflows.jobs import parts  # noqa: E402
from workflows.plan import make_plan  # noqa: E402

CASES = "[faulty, faulty-crashes, faulty-killed, faulty-wrong, faulty-cut]"
LEVELS = (1, 2, 4, 8)
SITE = "nodes: 10000\ncores_per_node: 1\nmemory_per_node_MB: 1000000\njoined_by: emulated_gigabit\n"


def write_study(folder: Path, points: int) -> Path:
    """Write a study of about so many points and its cluster file."""
    counts = list(range(16, 16 + 8 * (points // (5 * len(LEVELS))), 8))
    study = folder / "scale.yaml"
    study.write_text(
        f"name: scale\ncases_folder: {ROOT / 'tests/cases'}\ncases: {CASES}\ninterconnects: [emulated_gigabit]\n"
        f"processes: {counts}\noversubscription: {list(LEVELS)}\nblocks: 1\nlimits: {{core_hours: 100000000}}\n"
    )
    (folder / "site.yaml").write_text(SITE)
    return study


def main() -> None:
    """Measure each number of points given."""
    for wanted in map(int, sys.argv[1:] or ("1000", "10000")):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            study, site = write_study(folder, wanted), folder / "site.yaml"
            begun = time.process_time()
            plan = make_plan(study, {"cluster": str(site)})
            planned = time.process_time()
            jobs = len(parts(plan))
            cut = time.process_time()
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [
                sys.executable,
                "-m",
                "snakemake",
                "--profile",
                "cluster",
                "--dry-run",
                "--quiet",
                "all",
            ]
            command += [
                "--directory",
                name,
                "--snakefile",
                str(ROOT / "Snakefile"),
                "--configfile",
                str(study),
            ]
            command += ["--config", f"cluster={site}", "--", "results/scale/runs.csv"]
            subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=600)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(
                f"{len(plan.points)} points, {jobs} measuring jobs: dry run {cpu:.1f} s CPU, "
                f"{after.ru_maxrss / 1024:.0f} MB; plan {planned - begun:.2f} s, cut {cut - planned:.2f} s"
            )


if __name__ == "__main__":
    main()
