"""Replay the simulated points of a study."""

from pathlib import Path

from workflows.plan import make_plan, one_line_errors
from workflows.simulation.study import replay_study

with one_line_errors():
    plan = make_plan(Path(snakemake.params.study), snakemake.config)
    replay_study(plan, snakemake.threads, Path(snakemake.output.simulated))
