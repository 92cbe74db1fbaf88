"""Replay the simulated points of a study."""

from pathlib import Path

from workflows.errors import one_line_errors
from workflows.launch.emulation import usable_cores
from workflows.plan.plan import make_plan
from workflows.replay.points import replay_study

with one_line_errors():
    plan = make_plan(Path(snakemake.params.study), snakemake.config)
    plan.asked.check_unchanged(snakemake.params.asked)
    # On a cluster Snakemake counts the cores of the machine where it was started.
    threads = len(usable_cores()) if plan.here.cluster else snakemake.threads
    replay_study(plan, threads)
