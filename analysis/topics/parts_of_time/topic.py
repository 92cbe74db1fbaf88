"""Which parts of a case take the time?"""

from __future__ import annotations

from analysis.presentation.drawing import Drawing
from analysis.runs.frames import Tables
from analysis.topics.parts_of_time.figures import parts_figures
from analysis.topics.parts_of_time.section import parts_of_time
from analysis.topics.parts_of_time.solver_work import SOLVER_WORK, make_solver_efficiency
from analysis.topics.parts_of_time.tables import PART_TABLES, make_part_tables
from analysis.topics.topic import Context, Topic, View


def make_parts_of_time(context: Context) -> Tables:
    """Make the tables on parts of time, solver iterations and communication."""
    tables = make_part_tables(context.runs)
    return tables | make_solver_efficiency(
        tables["parts"], tables["solver_iterations"], context.tables["scaling"]
    )


def draw_parts_of_time(view: View) -> list[Drawing]:
    """Draw the parts of the main loop."""
    return parts_figures(view.tables["parts"], view.labels) if "parts" in view.tables else []


TOPIC = Topic(
    name="parts",
    schemas=PART_TABLES | SOLVER_WORK,
    make=make_parts_of_time,
    by_site=True,
    needs=("scaling",),
    draw=draw_parts_of_time,
    section=parts_of_time,
    in_appendix=True,
    on_screen={"list", "figure", "table"},
)
