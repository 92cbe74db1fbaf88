"""Replay the simulated points of a study."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workflows.errors import one_line_errors
from workflows.launch.emulation import usable_cores
from workflows.plan.plan import make_plan
from workflows.replay.points import replay_study

if TYPE_CHECKING:
    from snakemake.script import Snakemake

    snakemake: Snakemake


def replay(study: Path, config: Mapping[str, Any], asked: str, threads: int) -> None:
    """Simulate every simulated point of a study.

    Parameters
    ----------
    study : Path
        Study file.
    config : mapping
        Snakemake's ``config``, which overrides keys of the study.
    asked : str
        Digest of the study when Snakemake read it; the study must not have changed since.
    threads : int
        Number of simulations at the same time. On a cluster Snakemake counts the cores of the machine where
        it was started, so the cores of this node replace it.
    """
    plan = make_plan(study, config)
    plan.asked.check_unchanged(asked)
    replay_study(plan, len(usable_cores()) if plan.here.cluster else threads)


if __name__ == "__main__":
    with one_line_errors():
        params = snakemake.params
        replay(Path(params.study), snakemake.config, params.asked, snakemake.threads)
