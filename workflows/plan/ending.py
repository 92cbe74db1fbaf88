"""The beginning and the end of a study under Snakemake: what is said, and what is kept of a good end."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from snakemake.common import NOTHING_TO_BE_DONE_MSG
from snakemake.logging import get_event, logger
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent

from workflows.applications import application
from workflows.domain import Case
from workflows.errors import one_line_errors
from workflows.paths import ROOT, StudyPaths
from workflows.plan.announce import announce, announcement, tell_done
from workflows.plan.files import beside
from workflows.plan.finished import CLOCK_SECONDS, STAMP, changed_at, given, made
from workflows.plan.jobs import check_requests, in_jobs
from workflows.plan.machine import end_scripts_at_sigterm, hold_study, keep_to_owner
from workflows.plan.plan import Plan, blocks_until_now
from workflows.study.asked import Asked

LONGEST_NAME = 200  # of a file; longer texts are descriptions


def begin(plan: Plan, workflow: Any) -> None:
    """Announce a study (see `announce`), and listen to what Snakemake says of it: see `_Snakemake`.

    In a job, nothing is said; there as here, what is made is its owner's (see `keep_to_owner`). Snakemake's
    `workflow` knows where it is, and whether the run is dry.
    """
    keep_to_owner()
    if not workflow.is_main_process:
        return
    _ = plan.asked.case_digests  # what cannot be read of a case is told before anything else
    announce(plan)
    _begun[plan.paths.results] = _Begun.now(plan)
    logger.addFilter(_mark_progress)
    logger.addHandler(_Snakemake(plan, workflow))


def end(plan: Plan) -> None:
    """Say where the results of a study are; keep that for the next time, if the study is done.

    Raises
    ------
    SystemExit
        See `workflows.plan.announce.tell_done`. Nothing is kept then.
    """
    drop_partial(plan.paths)
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


def start(plan: Plan, config: Mapping[str, Any]) -> int:
    """Keep others from the study before its first job, and ask whether its jobs will be taken.

    See `hold_study` and `check_requests`. From now on the study is not finished. `config` is Snakemake's.
    """
    held = hold_study(plan.paths.results)
    (plan.paths.results / STAMP).unlink(missing_ok=True)
    end_scripts_at_sigterm()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy would start a thread a core in each script
    check_requests(plan, config)
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


def drop_partial(paths: StudyPaths) -> None:
    """Remove the report of an unfinished study: Snakemake would take ``report.html`` for a whole one."""
    if paths.report.is_symlink():
        paths.report.unlink()
    if paths.partial.exists():
        shutil.rmtree(paths.partial)


class _Snakemake(logging.Handler):
    """Does what is to be done when Snakemake says something: it calls nothing of ours then.

    Before it looks which files are there, a partial report is removed; where it finds nothing to do, the end
    is said; and where a job begins, its message is shown, on a terminal as one live line.
    """

    def __init__(self, plan: Plan, workflow: Any) -> None:
        super().__init__()
        self.plan, self.workflow = plan, workflow

    def emit(self, record: logging.LogRecord) -> None:
        said, runs = record.getMessage(), self.workflow.executor_plugin and not self.workflow.dryrun
        if said == _LOOKS and runs and self.plan.paths.partial.exists():
            with one_line_errors():
                held = hold_study(self.plan.paths.results)
            drop_partial(self.plan.paths)
            os.close(held)
        elif said == NOTHING_TO_BE_DONE_MSG and runs:
            end(self.plan)
        elif said.startswith(_INTERRUPTED):
            logger.setLevel(logging.CRITICAL)  # that jobs then fail is no news
        elif get_event(record) == LogEvent.JOB_INFO and runs and not in_jobs(self.plan):
            self._show(self.workflow.get_rule(record.rule_name).docstring, record.wildcards)

    def _show(self, what: str | None, wildcards: Mapping[str, str]) -> None:
        if what:
            text = what.strip('"').format(wildcards=SimpleNamespace(**wildcards))
            before, after = ("\r\033[K", " …") if sys.stderr.isatty() else ("", "\n")
            print(before + text, end=after, file=sys.stderr, flush=True)


_LOOKS = "Building DAG of jobs..."
_INTERRUPTED = "Terminating processes on user request"
_BETWEEN_JOBS = (
    "Select jobs to execute...",
    "Execute ",
    "Warning: the following output files of rule report",
)
"""How lines begin that Snakemake writes between jobs; of the last, a partial report is the reason."""


def _mark_progress(record: logging.LogRecord) -> bool:
    """Make Snakemake's lines between jobs part of what ``quiet: progress`` leaves out."""
    if record.getMessage().startswith(_BETWEEN_JOBS):
        record.quietness = Quietness.PROGRESS
    return True


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
