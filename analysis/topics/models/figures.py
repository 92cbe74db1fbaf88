"""Figures of scaling models: the average of all models of a curve, with the points of the runs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from analysis.presentation import formats, style
from analysis.presentation.axes import count_axis, log_axis
from analysis.presentation.curve_panels import ideal_of, speedup_of
from analysis.presentation.drawing import Drawing, file_stem, new_drawing, point_text, shortened
from analysis.presentation.labels import Labels
from analysis.presentation.marks import Point, draw_points
from analysis.presentation.style import FigureLabels
from analysis.runs.frames import CURVE, Line, as_lines, interval, rows_like
from analysis.topics.models.sentences import compared_models, model_title
from analysis.topics.models.tables import AVERAGE

COLUMNS = 4
MOST_PANELS = 16
PANEL_HEIGHT = 1.5
PANEL_WIDTH = 2.2
LEGEND_HEIGHT = 0.5
BAND_OPACITY = 0.22


def model_figures(tables: Mapping[str, pd.DataFrame], labels: FigureLabels) -> list[Drawing]:
    """Draw the speedup of each curve as run, and as predicted by the average of its models.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        With ``models``, ``model_curves`` and ``scaling``.

    Returns
    -------
    list of Drawing
        One figure per case, in the study's order, with a panel for each curve of `compared_models`.
    """
    best_models = compared_models(tables["models"])
    return [_figure(case, rows, tables, labels) for case, rows in labels.by_case(best_models)]


def _figure(
    case: str, best_models: pd.DataFrame, tables: Mapping[str, pd.DataFrame], labels: FigureLabels
) -> Drawing:
    """Draw the figure of a case from the best model of each of its curves."""
    lines = labels.lines(best_models, "oversubscription", "interconnect")
    shown = lines[:MOST_PANELS]
    several_levels = best_models["oversubscription"].nunique() > 1
    rows = math.ceil(len(shown) / COLUMNS)
    columns = math.ceil(len(shown) / rows)
    height, width = rows * PANEL_HEIGHT + LEGEND_HEIGHT, min(style.WIDTH, PANEL_WIDTH * max(columns, 2))
    names = formats.listed(labels.curve(line) for line in shown)
    alt = f"{labels.speedup.capitalize()} of {labels.case(case)} by fitted models, over {names}."
    caption = _caption(case, len(lines), shown, labels)
    with new_drawing(file_stem("models", case), "models", height, caption, alt, case, width) as drawing:
        titles = ("Processes", speedup_of(labels).title)
        grid = drawing.panels(len(shown), columns, titles, sharex=True, sharey=True)
        points, predictions = [], []
        for axes, line in zip(grid, shown, strict=True):
            points.append(_points(line, tables["scaling"]))
            fitted = rows_like(tables["model_curves"], line | {"model": AVERAGE}, [*CURVE, "model"])
            predictions.append(fitted.sort_values("processes"))
            _draw_panel(axes, line, points[-1], predictions[-1], drawing, labels)
            title = labels.curve(line, several_levels)
            axes.set_title(
                f"{shortened(title, 24 if columns > 3 else 34)}\nbest: {model_title(line['model'])}"
            )
        _finish(grid[0], pd.concat(points), pd.concat(predictions), style.WIDTH / max(columns, 3) - 0.4)
        _add_legend(drawing, any(curve["speedup_low"].notna().any() for curve in predictions), columns)
    return drawing


def _points(line: Line, scaling: pd.DataFrame) -> pd.DataFrame:
    """Select the points of a curve that its models are fitted to.

    The serial run belongs to them only at oversubscription 1.
    """
    rows = rows_like(scaling, line)
    return rows[(rows["oversubscription"] == 1) | ~rows["serial"]].sort_values("processes")


def _draw_panel(
    axes: Axes,
    line: Line,
    points: pd.DataFrame,
    predictions: pd.DataFrame,
    drawing: Drawing,
    labels: FigureLabels,
) -> None:
    """Draw a curve: the ideal, the predictions inside and beyond the runs with their band, and the points.

    Parameters
    ----------
    line : mapping
        Row of the curve's best model in the table ``models``.
    points : DataFrame
        Rows of the table ``scaling`` that the models are fitted to.
    predictions : DataFrame
        Rows of the table ``model_curves`` of the average, by process count.
    """
    interconnect, name = line["interconnect"], labels.curve(line)
    look = labels.look(interconnect, line["processes_per_node"])
    for x, y in ideal_of(points, speedup_of(labels)):
        axes.plot(x, y, color=style.IDEAL, linewidth=0.8, zorder=1)
    inside, beyond = predictions[~predictions["extrapolated"]], predictions[predictions["extrapolated"]]
    beyond = pd.concat([inside.tail(1), beyond])  # starts where the line inside the runs ends
    for curve, dashes in ((inside, "-"), (beyond, style.EXTRAPOLATED)):
        counts, last = curve["processes"].astype(float), as_lines(curve.tail(1))[0]
        lows, highs = curve["speedup_low"], curve["speedup_high"]
        if lows.notna().any():
            band = axes.fill_between(
                counts, lows, highs, color=look.colour, alpha=BAND_OPACITY, linewidth=0, zorder=1.5
            )
            drawing.mark(band, interconnect)
        (drawn,) = axes.plot(counts, curve["speedup"], color=look.colour, linestyle=dashes, zorder=2)
        text = point_text(labels, last, name, _prediction_text(last, line, labels))
        drawing.mark(drawn, interconnect, text)
    dots = []
    for point in as_lines(points):
        value, low, high = interval(point, "speedup")
        text = f"{labels.speedup} {formats.bracketed(value, low, high)}"
        text = point_text(labels, point, name, text)
        dots.append(Point(point["processes"], value, look, interconnect, text, low, high))
    draw_points(drawing, axes, dots, hollow=True, size=3.4)


def _prediction_text(point: Line, line: Line, labels: Labels) -> str:
    value = formats.bracketed(*interval(point, "speedup"))
    error = formats.percent(line["held_out_percent"])
    best = f"best {model_title(line['model'])}, held-out error {error}"
    return f"{labels.speedup} {value} by the average of the models; {best}"


def _finish(axes: Axes, points: pd.DataFrame, predictions: pd.DataFrame, inches: float) -> None:
    """Scale the shared axes of the panels to show all points and predictions."""
    count_axis(axes, [*points["processes"], int(predictions["processes"].max())], inches)
    columns = ["speedup", "speedup_low", "speedup_high"]
    values = np.concatenate([table[columns].to_numpy(float).ravel() for table in (points, predictions)])
    log_axis(axes, values[np.isfinite(values)], base=2)


def _add_legend(drawing: Drawing, banded: bool, columns: int) -> None:
    """Add a legend of the lines and points; `banded` adds the band."""
    handles = [
        Line2D([], [], color=style.INK, marker="o", markersize=3.4, linestyle="none"),
        Line2D([], [], color=style.INK),
        Line2D([], [], color=style.INK, linestyle=style.EXTRAPOLATED),
        *([Patch(facecolor=style.INK, alpha=BAND_OPACITY, linewidth=0)] if banded else []),
        Line2D([], [], color=style.IDEAL, linewidth=0.8),
    ]
    texts = [
        "Result",
        "Average of the models",
        "Beyond the results",
        *(["Its band"] if banded else []),
        "Ideal",
    ]
    drawing.figure.legend(handles, texts, loc="outside lower center", ncols=len(texts) if columns > 2 else 2)


def _caption(case: str, curves: int, shown: list[dict[Hashable, Any]], labels: Labels) -> str:
    """Explain the lines of a figure, and state how many of the case's curves it shows."""
    factors = {formats.plain(round(line["predicted_to"] / line["fitted_to"], 1)) for line in shown}
    simulated = [line["kind"] == "simulated" for line in shown]
    points = "a median of runs or a simulated value" if any(simulated) else "the median of its runs"
    sentences = [
        f"{labels.case(case)}: {labels.speedup} against processes. Each point is "
        f"{f'a simulated {labels.speedup}' if all(simulated) else points}. "
        "Lines show the predictions, which are weighted averages over the models. Shaded areas are "
        f"{labels.intervals(pd.DataFrame(shown))}.",
        "Dashed lines are predictions above the largest count of the points. Dashed lines end at "
        f"{formats.listed(sorted(factors), 'or')} times the largest count.",
    ]
    if len(shown) < curves:
        sentences.append(
            f"The figure shows {len(shown)} of {curves} curves. File tables/model_curves.csv has all curves."
        )
    return " ".join(sentences)
