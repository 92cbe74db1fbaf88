"""Figure of the fit of an interconnect's model to its ping-pong."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.presentation import style
from analysis.presentation.axes import log_axis
from analysis.presentation.drawing import Drawing, file_stem, new_drawing
from analysis.presentation.size_axes import positions, size_axis

HEIGHT = 2.7
LEAST_PERCENT = 0.1
"""Smallest error that is drawn at its value; smaller errors are drawn here."""


def draw_model_fit(fit: pd.DataFrame, name: str, title: str, changes: Sequence[int]) -> Drawing:
    """Draw given times, times of the model, and errors of the model against the message size.

    Parameters
    ----------
    fit : DataFrame
        ``bytes, given_us, simulated_us, error_percent, left_out_percent``, by increasing size.
    changes : sequence of int
        Largest size before each change of protocol. A line marks each change.
    """
    caption = f"{title}: one-way time of a message, given and from the model; errors of the model."
    with new_drawing(file_stem("model", name), "model", HEIGHT, caption) as drawing:
        times, errors = drawing.panels(2, 2, ("Message size", ""), sharex=True)
        x = positions(fit["bytes"])
        given, modelled, left_out = style.COLOURS[:3]
        times.plot(x, fit["given_us"], "o", color=given, markersize=3.5)
        times.plot(x, fit["simulated_us"], color=modelled, linewidth=1)
        log_axis(times, [*fit["given_us"], *fit["simulated_us"]])
        times.set_ylabel("One-way time (µs)")
        shown = fit[["error_percent", "left_out_percent"]].abs().clip(lower=LEAST_PERCENT)
        for column, colour, marker in zip(shown, (modelled, left_out), "s^", strict=True):
            errors.plot(x, shown[column], marker, color=colour, markersize=3.5)
        log_axis(errors, [LEAST_PERCENT, 10, *shown.max().dropna()])
        errors.set_ylabel("Error (%)")
        for axes in (times, errors):
            for change in changes:
                axes.axvline(
                    change * 2**0.5, color=style.IDEAL, linewidth=0.7, linestyle=(0, (3, 2)), zorder=1
                )
        size_axis(times, fit["bytes"])
        handles = [*times.get_lines()[:2], *errors.get_lines()[:2]]
        if changes:
            handles.append(times.get_lines()[2])
        texts = ["Given", "Model", "Its error", "Its error at a point left out", "Change of protocol"]
        drawing.figure.legend(handles, texts[: len(handles)], loc="outside lower center", ncols=5)
    return drawing
