"""All figures of a study, in their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pandas as pd

from analysis.estimates.sites import told_apart
from analysis.figures import network_pairs
from analysis.figures.answer import answer_figure
from analysis.figures.changes import changes_figures
from analysis.figures.congestion import matrix_figures
from analysis.figures.drawing import Drawing, distinct, drawable
from analysis.figures.improvement import improvement_figures
from analysis.figures.models import model_figures
from analysis.figures.network_curves import collective_figures, curve_figures, variability_figures
from analysis.figures.network_links import link_figures
from analysis.figures.network_transports import transport_figures
from analysis.figures.nodes import node_figures
from analysis.figures.order import order_figure
from analysis.figures.oversubscription import oversubscription_figures
from analysis.figures.parts_of_time import parts_figures
from analysis.figures.prices import price_figures
from analysis.figures.quality import spread_figure
from analysis.figures.scaling import overview_figure, scaling_figures
from analysis.figures.simulated import simulated_figures
from analysis.figures.style import FigureLabels
from analysis.figures.tornado import tornado_figures
from analysis.figures.tradeoff import pareto_figures, turnaround_figures
from analysis.figures.traffic import traffic_figures
from analysis.networks.curves import interconnects_of, without_benchmarks
from analysis.runs.facts import Facts


def draw_figures(runs: pd.DataFrame, tables: Mapping[str, pd.DataFrame], facts: Facts) -> list[Drawing]:
    """Draw all figures of a study that its data carry.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        As `analysis.pipeline.make_all_tables` gives them.
    facts : Facts
        What is known of the study besides: its cases, its interconnects in their order, its settings.

    Returns
    -------
    list of Drawing
        Names are unique. A topic that has no data has no figure.
    """
    runs, tables, facts = told_apart(runs, without_benchmarks(tables), facts)
    labels = FigureLabels.of(drawable(facts), interconnects_of(runs, tables))
    of_first_site = {name.partition("@")[0]: look for name, look in reversed(labels.looks.items())}

    def of(table: str, draw: Callable[[pd.DataFrame, FigureLabels], list[Drawing]]) -> list[Drawing]:
        """Figures of a table that not every study has."""
        return draw(tables[table], labels) if table in tables else []

    drawings = [
        *answer_figure(tables, labels),
        *changes_figures(tables.get("changes"), replace(labels, looks=of_first_site)),
        *overview_figure(tables["scaling"], labels),
        *scaling_figures(tables["scaling"], labels),
        *improvement_figures(tables["improvement"], labels),
        *oversubscription_figures(tables["oversubscription"], tables["scaling"], labels),
        *of("value", pareto_figures),
        *of("tornado", tornado_figures),
        *of("prices", price_figures),
        *of("packing", turnaround_figures),
        *(model_figures(tables, labels) if "models" in tables else []),
        *of("parts", parts_figures),
        *of("variability", spread_figure),
        *of("nodes", node_figures),
        *of("network", curve_figures),
        *of("network", network_pairs.matrix_figures),
        *of("network_pairs", network_pairs.pairs_figures),
        *of("network_availability", network_pairs.availability_figures),
        *of("network", collective_figures),
        *of("network", variability_figures),
        *(link_figures(tables["network_links"]) if "network_links" in tables else []),
        *of("network_transports", transport_figures),
        *traffic_figures(tables, labels),
        *simulated_figures(tables, labels),
        *matrix_figures(tables, facts.congestion),
        *order_figure(runs, labels),
    ]
    return distinct(drawings)
