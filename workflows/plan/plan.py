"""A study made ready to run: what is asked, what can be done here, what is run, and where it goes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workflows.domain import InputError, Repetition
from workflows.jobs.cluster import check_cluster, on_cluster, read_cluster
from workflows.launch.cluster_launch import check_launcher
from workflows.paths import RESULTS, ROOT, StudyPaths
from workflows.plan.design import Design, design
from workflows.plan.here import Here, look
from workflows.plan.records import attempts, read_requests, record_files, recorded_block, wanted
from workflows.study.asked import Asked, read_asked
from workflows.study.study import Study


@dataclass(frozen=True)
class Plan:
    """A study that is about to run: what is asked, what can be done here, what is run, and where it goes."""

    design: Design
    paths: StudyPaths

    @property
    def asked(self) -> Asked:
        """What the study asks for."""
        return self.design.asked

    @property
    def here(self) -> Here:
        """What can be done of it here."""
        return self.design.here

    def missing(self, repetitions: Sequence[Repetition]) -> list[tuple[Repetition, int]]:
        """List what is still to be run of some repetitions, in order, with the number of the attempt."""
        requests, missing = read_requests(self.paths), []
        for repetition in repetitions:
            made = attempts(self.paths, repetition)
            if wanted(repetition, made, self.design.inputs(repetition.point), requests):
                missing.append((repetition, len(made) + 1))
        return missing


def make_plan(
    file: Path,
    overrides: Mapping[str, Any] | None = None,
    has_program: Callable[[str], object] = shutil.which,
) -> Plan:
    """Read a study, look what can be done of it here, and choose what is run.

    The study is given as to `read_asked`; `has_program` says whether a program is there, by its name.

    Raises
    ------
    InputError
        One line for a study that is wrong, or of which nothing can be run here.
    """
    asked = read_asked(file, overrides)
    study, cluster = asked.study, None
    if study.cluster:
        cluster = read_cluster(ROOT / study.cluster)
        check_cluster(cluster, asked.interconnects)
        check_launcher(cluster)
        interconnects = {
            name: on_cluster(interconnect, cluster) for name, interconnect in asked.interconnects.items()
        }
        asked = replace(asked, interconnects=interconnects)
    here, paths = look(asked, cluster, has_program), StudyPaths(RESULTS / study.name)
    chosen = design(asked, here, blocks_until_now(study, paths))
    nothing = not (chosen.points or chosen.simulated or study.imports)
    if nothing and not paths.records.exists():
        reasons = "; ".join(f"{left_out.what}: {left_out.reason}" for left_out in chosen.left_out)
        raise InputError(f"{study.file}: nothing of this study can be run here: {reasons}")
    return Plan(chosen, paths)


def blocks_until_now(study: Study, paths: StudyPaths) -> int:
    """Blocks that a study names, or has added by itself: the highest of which something is recorded."""
    if study.until is None:
        return study.blocks
    numbers = (recorded_block(path) for path in record_files(paths))
    return max(study.blocks, min(max(numbers, default=0), study.until.max_blocks))
