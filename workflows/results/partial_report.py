"""Write a partial report: what `workflows.results.partial` starts in a process of its own.

Drawing takes memory, which the process that measures does not hold while it measures.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

from analysis.importers import read_published, write_derived
from analysis.pipeline import read_tables, write_all_tables
from analysis.runs.runs import TableError
from analysis.runs.side_tables import write_details
from workflows.errors import one_line_errors
from workflows.paths import StudyPaths
from workflows.plan.plan import Plan, make_plan
from workflows.report.report import write_page
from workflows.results.collect import collect


def write_partial(plan: Plan, seconds_left: float | None) -> str | None:
    """Write the report of what is recorded, with its tables and figures, and let ``report.html`` lead to it.

    Returns
    -------
    str or None
        One line: of how many blocks it is, and where. None where the whole report is about to come.
    """
    begun = time.time()
    collected, paths = collect(plan), plan.paths
    runs, study = collected.complete, replace(collected.facts.study, seconds_left=seconds_left)
    facts = replace(collected.facts, study=study)
    draft = paths.partial.with_name(".partial")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    details, published, tables = (draft / name for name in ("details", "published", "tables"))
    write_details(collected.details, details)
    write_derived(collected.published, published)
    (draft / "facts.json").write_text(json.dumps(facts.as_json(), indent=1) + "\n")
    write_all_tables(runs, facts, details, published, tables)
    write_page(runs, read_tables(tables), facts, read_published(published), draft)
    if paths.listed_records.exists() and paths.listed_records.stat().st_mtime > begun:
        return None  # by now all is measured
    _publish(draft, paths)
    return f"report of {study.blocks_recorded} of {study.blocks} blocks: {paths.report}"


def _publish(draft: Path, paths: StudyPaths) -> None:
    shutil.rmtree(paths.partial, ignore_errors=True)
    draft.rename(paths.partial)
    link = paths.partial / ".report.html"
    link.symlink_to(Path(paths.partial.name) / paths.report.name)
    link.replace(paths.report)  # whatever was there


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    with one_line_errors(TableError):
        planned = make_plan(Path(asked["study"]), asked["config"])
        if not asked["simulated"]:
            planned = replace(planned, design=replace(planned.design, simulated=()))
        print(write_partial(planned, asked["seconds_left"]) or "", end="")
