"""How well do simulated times predict measured times?"""

from __future__ import annotations

from analysis.topics.topic import Topic
from analysis.topics.validation.section import validation
from analysis.topics.validation.tables import VALIDATION, make_validation

TOPIC = Topic(
    name="validation",
    schemas=VALIDATION,
    make=lambda context: make_validation(context.runs, context.tables["scaling"], context.facts),
    needs=("scaling",),
    section=validation,
)
