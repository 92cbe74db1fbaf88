"""Figures of one kind, for tests that look at no other."""

from collections.abc import Callable

from analysis.figures.drawing import Drawing, drawable
from analysis.figures.style import looks
from analysis.networks.curves import interconnects_of
from analysis.text.labels import Labels


def drawn(study: tuple, figures: Callable[..., list[Drawing]], *names: str) -> list[Drawing]:
    """Figures of one kind of a study, from the tables of these names, or from all."""
    runs, tables, facts = study
    labels = Labels(drawable(facts))
    appearance = looks(labels.order(), interconnects_of(runs, tables))
    return figures(*([tables[name] for name in names] or [tables]), labels, appearance)
