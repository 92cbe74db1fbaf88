"""Figures of one kind, for tests that need no others."""

from collections.abc import Callable

from analysis.presentation.drawing import Drawing, drawable
from analysis.presentation.style import FigureLabels
from analysis.topics.network.curves import interconnects_of


def drawn(study: tuple, figures: Callable[..., list[Drawing]], *names: str) -> list[Drawing]:
    """Figures of one kind of a study, from the tables of these names, or from all."""
    runs, tables, facts = study
    labels = FigureLabels.of(drawable(facts), interconnects_of(runs, tables))
    return figures(*([tables[name] for name in names] or [tables]), labels)
