"""The beginning and the end of a study under Snakemake: what is said, and what is kept of a good end."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from snakemake.common import NOTHING_TO_BE_DONE_MSG
from snakemake.logging import logger

from workflows.applications import application
from workflows.domain import Case
from workflows.paths import ROOT
from workflows.plan.announce import announce, announcement, tell_done
from workflows.plan.files import beside
from workflows.plan.finished import CLOCK_SECONDS, STAMP, changed_at, given, made
from workflows.plan.machine import end_scripts_at_sigterm, hold_study, keep_to_owner
from workflows.plan.plan import Plan, blocks_until_now
from workflows.study.asked import Asked

LONGEST_NAME = 200  # of a file; longer texts are descriptions


def begin(plan: Plan, workflow: Any) -> None:
    """Announce a study (see `announce`), and have its end said also where Snakemake finds nothing to do.

    In a job, nothing is said; there as here, what is made is its owner's (see `keep_to_owner`). Snakemake's
    `workflow` knows where it is, and whether the run is dry.
    """
    keep_to_owner()
    if not workflow.is_main_process:
        return
    announce(plan)
    _begun[plan.paths.results] = _Begun.now(plan)
    logger.addHandler(_WhenNothingIsToDo(plan, workflow))


def end(plan: Plan) -> None:
    """Say where the results of a study are; keep that for the next time, if the study is done.

    Raises
    ------
    SystemExit
        See `workflows.plan.announce.tell_done`. Nothing is kept then.
    """
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        tell_done(plan.paths)
    print(said.getvalue(), end="", file=sys.stderr)
    results = plan.paths.results
    begun = _begun.get(results)
    if begun and _asks_for_all(plan) and begun.holds():
        blocks = blocks_until_now(plan.asked.study, plan.paths)
        shown = announcement(replace(plan, design=replace(plan.design, blocks=blocks)))
        time.sleep(CLOCK_SECONDS)  # what is changed from now on has a later date than anything here
        stamp = {
            "study": str(plan.asked.study.file),
            "files": begun.files,
            "programs": begun.programs,
            "given": begun.given,
            "made": made(results),
            "told": [*shown.splitlines(), *said.getvalue().splitlines()],
        }
        (results / STAMP).write_text(json.dumps(stamp, indent=1))


def start(plan: Plan) -> int:
    """Keep others from the study (see `hold_study`) before its first job; from now on it is not finished."""
    held = hold_study(plan.paths.results)
    (plan.paths.results / STAMP).unlink(missing_ok=True)
    end_scripts_at_sigterm()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy would start a thread a core in each script
    return held


@dataclass(frozen=True)
class _Begun:
    """What a study was given when it began: see `workflows.plan.finished.given`."""

    files: list[str]
    programs: list[str]
    given: str
    changed: float

    @classmethod
    def now(cls, plan: Plan) -> _Begun:
        files, programs = _named_files(plan.asked), _named_programs(plan.asked.cases.values())
        return cls(files, programs, given(files, programs), changed_at(files))

    def holds(self) -> bool:
        """Whether all is as it was read: not changed since this Python began, nor since the study did."""
        now = logging.makeLogRecord({})
        python_began = now.created - now.relativeCreated / 1000
        return self.changed < python_began - CLOCK_SECONDS and self.given == given(self.files, self.programs)


_begun: dict[Path, _Begun] = {}


class _WhenNothingIsToDo(logging.Handler):
    """Snakemake calls nothing of ours where it finds nothing to do; it only says so."""

    def __init__(self, plan: Plan, workflow: Any) -> None:
        super().__init__()
        self.plan, self.workflow = plan, workflow

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == NOTHING_TO_BE_DONE_MSG and not self.workflow.dryrun:
            end(self.plan)


def _asks_for_all(plan: Plan) -> bool:
    """Whether the command names a study and no more: no option may have left something out."""
    named = [["--configfile", str(plan.asked.study.file)], []]
    return plan.here.cluster is None and sys.argv[1:] in named and Path.cwd() == ROOT


def _named_programs(cases: Iterable[Case]) -> list[str]:
    """Programs that this project can use, and those of the study's cases."""
    lines = (line.split() for line in (ROOT / "envs/programs.txt").read_text().splitlines())
    ours = {words[0] for words in lines if words and words[0] != "#"}
    of_cases = (application(case.application).programs(case) for case in cases)
    return sorted(ours.union(*of_cases))


def _named_files(asked: Asked) -> list[str]:
    """All that could be a file in a study and in its interconnects, wherever it would be looked for."""
    study = asked.study
    folders = (study.file.parent, ROOT / "config/interconnects", ROOT)
    found = set()
    for text in _texts([asdict(study), *map(asdict, asked.interconnects.values())]):
        if isinstance(text, Path):
            found.add(str(text))
        elif len(text) < LONGEST_NAME and ("/" in text or "." in text[:-1]) and "\n" not in text:
            found |= {str(folder / text) for folder in folders if not (folder / text).is_dir()}
    return sorted(found.union(map(str, beside(study.imports))))


def _texts(value: Any) -> Iterator[str | Path]:
    match value:
        case str() | Path():
            yield value
        case Mapping():
            for key, inner in value.items():
                yield from _texts(key)
                yield from _texts(inner)
        case list() | tuple():
            for inner in value:
                yield from _texts(inner)
