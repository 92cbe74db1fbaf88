"""Figures of what the interconnects can do."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from analysis.figures.drawing import Drawing
from analysis.figures.network_curves import collective_figures, curve_figures, variability_figures
from analysis.figures.network_pairs import availability_figures, matrix_figures, pairs_figures
from analysis.figures.style import FigureLabels


def network_figures(tables: Mapping[str, pd.DataFrame], labels: FigureLabels) -> list[Drawing]:
    """Draw every figure of network benchmarks that the tables carry.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        Those of `analysis.networks.tables.NETWORK_TABLES` that the study has.
    labels : FigureLabels

    Returns
    -------
    list of Drawing
        Their topics are ``network``, in the order of the report.
    """
    if "network" not in tables:
        return []
    network = tables["network"]
    drawings = curve_figures(network, labels) + matrix_figures(network, labels)
    for name, draw in (("network_pairs", pairs_figures), ("network_availability", availability_figures)):
        drawings += draw(tables[name], labels) if name in tables else []
    return [
        *drawings,
        *collective_figures(network, labels),
        *variability_figures(network, labels),
    ]
