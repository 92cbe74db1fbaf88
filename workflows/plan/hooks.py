"""Hooks of the Snakefile: after Snakemake has read a study, before its first job, and at its end."""

from __future__ import annotations

import datetime
import json
import os
import re
import shutil
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from workflows.domain import FAILED, WITHDRAW, InputError, Repetition, counted
from workflows.inputs import choose, nearest
from workflows.paths import ROOT, StudyPaths
from workflows.plan.announce import announce, closing_lines, print_results
from workflows.plan.jobs import check_requests
from workflows.plan.machine import end_scripts_at_sigterm, hold_study, keep_to_owner, note_interruption
from workflows.plan.plan import Plan
from workflows.plan.record import Record
from workflows.plan.records import (
    Rerun,
    attempts,
    read_requests,
    record_files,
    recorded_block,
    request_names,
)

_runs: list[StudyRun] = []


def begin_run(plan: Plan, workflow: Any, again: str | None = None) -> StudyRun:
    """Announce the study that Snakemake has read in this process, and record a request to repeat runs.

    Parameters
    ----------
    workflow : snakemake.workflow.Workflow
    again : str or None
        Runs to repeat, in the form of `FORM`.
    """
    folders = [str(ROOT / "envs/interrupts"), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, folders))  # for the scripts of Snakemake
    run = StudyRun(plan, workflow)
    run.announce(None if again is None else str(again))
    _runs.append(run)
    return run


def end_runs_without_jobs() -> None:
    """Print the path of the results of each study in this process that Snakemake found complete."""
    for run in _runs:
        run.end_without_jobs()


def refused_target(message: str) -> str | None:
    """Return one line with the files that can be made, if Snakemake's message refuses a target."""
    if not (refused := re.search(r"No rule to produce (.+?) \(if ", message)):
        return None
    rules = [rule for run in _runs for rule in run.workflow.rules]
    outputs = sorted({text for rule in rules for text in map(str, rule.output) if "{" not in text})
    names = [rule.name for rule in rules]
    return (
        f"nodeworth: no rule makes {refused[1]!r}{nearest(refused[1], [*names, *outputs])}; "
        f"rules: {', '.join(names)}; files: {', '.join(outputs)}"
    )


class StudyRun:
    """A study that Snakemake runs in this process: what happens before its first job and at its end."""

    def __init__(self, plan: Plan, workflow: Any) -> None:
        self.plan, self.workflow = plan, workflow
        self.has_started = False

    def announce(self, again: str | None = None) -> None:
        """Print what the study is about to do, and record what is to be run `again`.

        A dry run records nothing; its plan holds the request. In a job of a cluster, do nothing. From now on,
        only the owner may change the files of this process.

        Raises
        ------
        InputError
            See `reruns` and `workflows.plan.announce.announce`.
        """
        keep_to_owner()
        if not self.workflow.is_main_process:
            return
        plan = self.plan
        _ = plan.asked.case_digests  # report an unreadable case before anything else
        requested = replace(plan, requested=() if again is None else reruns(plan, again))
        is_dry_run = self.workflow.output_settings.dryrun
        announce(requested, is_dry_run)
        note_interruption()
        if is_dry_run:
            self.plan = requested
        else:
            record_requests(requested)

    def start(self) -> None:
        """Keep other processes from the study, and ask the scheduler whether it would take the jobs.

        Raises
        ------
        InputError
            See `hold_study` and `check_requests`.
        """
        self.has_started = True
        self.lock = hold_study(self.plan.paths.results)
        end_scripts_at_sigterm()
        check_requests(self.plan)

    def end(self) -> None:
        """Replace the interim report by a link to the report, and print where the results are.

        Raises
        ------
        SystemExit
            See `workflows.plan.announce.print_results`.
        """
        drop_interim_report(self.plan.paths)
        print_results(self.plan.paths)
        for line in closing_lines(self.plan.paths):
            print(line, file=sys.stderr)

    def end_without_jobs(self) -> None:
        """Print the path of the results if Snakemake was to run the study and found nothing to do."""
        was_to_run = self.workflow.executor_plugin and not self.workflow.output_settings.dryrun
        if was_to_run and not self.has_started and self.plan.paths.facts.exists():
            print_results(self.plan.paths)


def drop_interim_report(paths: StudyPaths) -> None:
    """Remove the report of an unfinished study. A link leads an open page of it to the report."""
    if paths.partial.exists():
        shutil.rmtree(paths.partial)
        paths.partial.mkdir()
        paths.interim_report.symlink_to(Path("..") / paths.report.name)


FORM = (
    "failed, none, or case[/interconnect[/processes[/oversubscription[/processes per node][/threads-N]]]] "
    "with serial for the serial run"
)


NOUNS = ("case", "interconnect", "process count", "oversubscription", "placement", "number of threads")
"""Kinds of name in a request, in their order."""


def reruns(plan: Plan, request: str) -> tuple[Rerun, ...]:
    """Return a request that is made now.

    The result is empty if no run has failed that could run again, if no request is left to withdraw, or if
    the same request was interrupted: it then continues.

    Raises
    ------
    InputError
        A part of the request names no point of the study. The line suggests the nearest name.
    """
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
    reruns = (Rerun(request, now, plan.design.blocks),)
    if request == WITHDRAW:
        left = plan.repeats_left
        answer = "no request is open"
        if left:
            answer = (
                f"{counted(left, 'run')} of earlier requests withdrawn; repeated runs that were made stay"
            )
        print(f"again none: {answer}", file=sys.stderr)
        return reruns if left else ()
    if request == FAILED:
        repeats = any(map(partial(_has_failed, plan), plan.design.repetitions))
        if not repeats:
            file = plan.asked.study.file
            has_runs = any(attempts(plan.paths, repetition) for repetition in plan.design.repetitions)
            answer = f"no run of {file} has failed; nothing is repeated"
            if last := _last_failed_block(plan):
                answer = (
                    f"no run of the {counted(plan.design.blocks, 'block')} of {file} has failed; to repeat "
                    f"failed runs of later blocks, add --config blocks={last}"
                )
            if not has_runs:
                answer = f"{file} has no runs yet; the study starts as without --again"
            print(f"again failed: {answer}", file=sys.stderr)
        return reruns if repeats and not _continues(plan, request) else ()
    where = f"{plan.asked.study.file}: again {request}"
    names_of_points = [request_names(point) for point in plan.design.points]
    for index, name in enumerate(request.split("/")):
        allowed = {names[index] for names in names_of_points if len(names) > index}
        if not allowed:
            raise InputError(f"{where}: {name!r} does not belong here; write {FORM}")
        choose(name, allowed if index else {*allowed, FAILED, WITHDRAW}, NOUNS[index], where)
        names_of_points = [names for names in names_of_points if names[index : index + 1] == [name]]
    return () if _continues(plan, request) else reruns


def _continues(plan: Plan, request: str) -> bool:
    """Whether the latest request was the same and some of its runs are missing; print that it continues."""
    latest = next(reversed(read_requests(plan.paths)), None)
    if latest is None or latest.what != request:
        return False
    left = sum(
        bool(_current_records(plan, repetition))
        and latest.is_open(repetition, attempts(plan.paths, repetition), plan.design.inputs(repetition.point))
        for repetition in plan.design.repetitions
    )
    if left:
        since = f"the request of {latest.time[:16]} UTC continues"
        print(f"again {request}: {since}, {counted(left, 'run')} left", file=sys.stderr)
    return left > 0


def _has_failed(plan: Plan, repetition: Repetition) -> bool:
    """Whether a repetition has attempts with the current inputs, and all these attempts are invalid."""
    records = _current_records(plan, repetition)
    return bool(records) and not any(record.valid for record in records)


def _last_failed_block(plan: Plan) -> int:
    """Return the last block with a failed run beyond the blocks that the study asks for; 0 without one."""
    last = max(map(recorded_block, record_files(plan.paths)), default=0)
    points = {repetition.point: repetition for repetition in plan.design.repetitions}
    return max(
        (
            block
            for block in range(plan.design.blocks + 1, last + 1)
            for repetition in points.values()
            if _has_failed(plan, replace(repetition, block=block))
        ),
        default=0,
    )


def _current_records(plan: Plan, repetition: Repetition) -> list[Record]:
    """Return the records of a repetition that were made with the current inputs."""
    inputs = plan.design.inputs(repetition.point)
    return [record for record in attempts(plan.paths, repetition) if record.inputs == inputs]


def record_requests(plan: Plan) -> None:
    """Record the requests of a plan, which the study fulfils even if it is killed and started once more."""
    if not plan.requested:
        return
    file = plan.paths.requests
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as requests:
        requests.writelines(json.dumps(rerun.recorded()) + "\n" for rerun in plan.requested)
