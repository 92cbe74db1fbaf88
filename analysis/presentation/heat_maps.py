"""Heat maps of matrices of ranks, and colour bars."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, Normalize

from analysis.presentation import style
from analysis.presentation.axes import fixed_ticks
from analysis.presentation.drawing import Drawing

NAMED_RANKS = 8
"""Most ranks that an axis labels."""


def draw_matrix(
    axes: Axes,
    values: np.ndarray,
    colours: Colormap,
    norm: Normalize,
    texts: np.ndarray | None = None,
    font_size: float = 7,
) -> None:
    """Draw a square matrix of ranks as a heat map. Missing values stay white.

    Parameters
    ----------
    values, texts : array of shape (ranks, ranks)
        Values to colour, and texts of the cells.
    font_size : float
        Font size of the texts in points.
    """
    titles = {"xlabel": axes.get_xlabel(), "ylabel": axes.get_ylabel()}
    step = math.ceil(len(values) / NAMED_RANKS)
    sns.heatmap(
        values, cmap=colours, norm=norm, annot=texts, fmt="", cbar=False, square=True, xticklabels=step,
        yticklabels=step, annot_kws={"fontsize": font_size, "color": style.INK}, rasterized=True, ax=axes,
    )  # fmt: skip
    axes.set(**titles)  # sns.heatmap removes the axis titles
    axes.tick_params(length=0, labelrotation=0)
    axes.grid(False)


def add_colour_bar(
    drawing: Drawing,
    panels: Sequence[Axes],
    colours: Colormap,
    norm: Normalize,
    title: str,
    ticks: Mapping[float, str] | None = None,
) -> None:
    """Add a colour bar below the panels, with labelled ticks if `ticks` are given."""
    bar = drawing.figure.colorbar(
        ScalarMappable(norm, colours), ax=list(panels), location="bottom", aspect=60, shrink=0.6
    )
    bar.set_label(title)
    bar.outline.set_linewidth(style.RC["axes.linewidth"])
    if ticks:
        fixed_ticks(bar.ax.xaxis, list(ticks), list(ticks.values()))
