"""Table of the expected core hours of a study by case and process count."""

from __future__ import annotations

from workflows.domain import Point
from workflows.plan.design import in_hours, stated_blocks
from workflows.plan.plan import Plan

MOST_ROWS = 10
"""Rows that the table has at most; a last line sums up the other rows."""


def cost_table(plan: Plan) -> list[str]:
    """Return the lines of the table; empty if all runs belong to a single case and process count.

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
    cells = [
        (case, str(processes), str(cost.runs), in_hours(cost.core_hours))
        for (case, processes), cost in rows[:MOST_ROWS]
    ]
    table = [("case", "processes", "runs", design.core_hours_unit), *cells]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join([f"  {row[0]:{widths[0]}}", *map(str.rjust, row[1:], widths[1:])])  # numbers to the right
        for row in table
    ]
    if others := [cost for _, cost in rows[MOST_ROWS:]]:
        runs, hours = sum(cost.runs for cost in others), sum(cost.core_hours for cost in others)
        lines.append(f"  {len(others)} further rows: {runs} runs, {in_hours(hours)} {design.core_hours_unit}")
    return lines
