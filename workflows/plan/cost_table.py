"""Table of expected core hours by case and process count. On a cluster, it also shows the jobs."""

from __future__ import annotations

from workflows.domain import Point
from workflows.plan.design import in_hours, stated_blocks
from workflows.plan.jobs import batches, in_jobs, request_of
from workflows.plan.plan import Plan

MOST_ROWS = 10
"""Rows that the table has at most; a last line sums up the other rows."""


def cost_table(plan: Plan) -> list[str]:
    """Return the lines of the table; empty if all runs belong to a single case and process count.

    If runs are made in jobs, the table also shows the most nodes and the longest walltime of a row's jobs.

    The rows are in the order of the study. If there are more than `MOST_ROWS`, the most expensive come first.
    """
    design, blocks = plan.design, stated_blocks(plan.asked.study)
    points: dict[tuple[str, int], list[Point]] = {}
    for point in design.points:
        points.setdefault((point.case, point.processes), []).append(point)
    if len(points) < 2:
        return []
    costs = {key: design.cost_of(of_key, blocks) for key, of_key in sorted(points.items())}
    rows = list(costs.items())
    if len(rows) > MOST_ROWS:
        rows = sorted(rows, key=lambda row: -row[1].core_hours)
    requests = _requests(plan)
    cells = [
        (
            case,
            str(processes),
            str(cost.runs),
            *requests.get((case, processes), ()),
            in_hours(cost.core_hours),
        )
        for (case, processes), cost in rows[:MOST_ROWS]
    ]
    of_jobs = ("nodes per job", "walltime (min)") if requests else ()
    table = [("case", "processes", "runs", *of_jobs, design.core_hours_unit), *cells]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join([f"  {row[0]:{widths[0]}}", *map(str.rjust, row[1:], widths[1:])])  # numbers to the right
        for row in table
    ]
    if others := [cost for _, cost in rows[MOST_ROWS:]]:
        runs, hours = sum(cost.runs for cost in others), sum(cost.core_hours for cost in others)
        lines.append(f"  {len(others)} further rows: {runs} runs, {in_hours(hours)} {design.core_hours_unit}")
    return lines


def _requests(plan: Plan) -> dict[tuple[str, int], tuple[str, str]]:
    """Return the largest number of nodes and the longest walltime of the jobs of each case and count."""
    if not in_jobs(plan):
        return {}
    largest: dict[tuple[str, int], tuple[int, int]] = {}
    for batch in batches(plan).values():
        request = request_of(plan, batch)
        for point in batch.points:
            key = (point.case, point.processes)
            nodes, minutes = largest.get(key, (0, 0))
            largest[key] = (max(nodes, request.nodes), max(minutes, request.minutes))
    return {key: (str(nodes), str(minutes)) for key, (nodes, minutes) in largest.items()}
