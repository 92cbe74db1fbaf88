"""Program that writes a partial report. `workflows.results.partial` starts it in a separate process."""

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
from workflows.plan.plan import Plan, make_plan
from workflows.report.report import write_report
from workflows.results.collect import collect


def write_partial(plan: Plan, seconds_left: float | None) -> str | None:
    """Write tables, figures and a report of the records so far.

    Parameters
    ----------
    seconds_left : float or None
        Expected remaining time of the study, for the report; None if unknown.

    Returns
    -------
    str or None
        Line for the user. None if all runs were recorded meanwhile: the complete report then follows.
    """
    start = time.time()
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
    write_report(runs, read_tables(tables), facts, read_published(published), draft, png=False)
    if paths.listed_records.exists() and paths.listed_records.stat().st_mtime > start:
        return None
    shutil.rmtree(paths.partial, ignore_errors=True)
    draft.rename(paths.partial)
    return f"interim report of {study.blocks_recorded} of {study.blocks} blocks: {paths.interim_report}"


if __name__ == "__main__":
    request = json.load(sys.stdin)
    with one_line_errors(TableError):
        requested = make_plan(Path(request["study"]), request["config"])
        if not request["simulated"]:
            requested = replace(requested, design=replace(requested.design, simulated=()))
        print(write_partial(requested, request["seconds_left"]) or "", end="")
