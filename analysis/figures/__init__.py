"""Figures of a study: one per case, an overview, comparisons, and the order of execution.

Every interconnect has one colour and marker in all of them; its kind decides the line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.figures.drawing import Drawing, drawable, save
from analysis.figures.improvement import improvement_figures
from analysis.figures.order import order_figure
from analysis.figures.oversubscription import oversubscription_figures
from analysis.figures.scaling import overview_figure, scaling_figures
from analysis.figures.style import looks
from analysis.labels import Labels

__all__ = ["Drawing", "draw_figures", "save"]


def draw_figures(
    runs: pd.DataFrame, tables: Mapping[str, pd.DataFrame], facts: Mapping[str, Any]
) -> list[Drawing]:
    """Draw all figures of a study that its data carry.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.records.read_runs` gives it.
    tables : mapping of str to DataFrame
        As `analysis.tables.make_tables` gives it.
    facts : mapping
        What is known of the study besides: its cases, its interconnects in their order, its settings.

    Returns
    -------
    list of Drawing
        Names are unique. A topic that has no data has no figure.
    """
    labels = Labels(drawable(facts))
    appearance = looks(labels.order(), runs["interconnect"].dropna().unique())
    return [
        *overview_figure(tables["scaling"], labels, appearance),
        *scaling_figures(tables["scaling"], labels, appearance),
        *improvement_figures(tables["improvement"], labels, appearance),
        *oversubscription_figures(tables["oversubscription"], tables["scaling"], labels, appearance),
        *order_figure(runs, labels, appearance),
    ]
