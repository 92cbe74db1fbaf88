"""Figures of congestion matrices: loads of links and switches of trees, and waiting times of packets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.patches import Rectangle

from analysis.presentation import style
from analysis.presentation.drawing import Drawing, file_stem, new_drawing
from analysis.presentation.heat_maps import add_colour_bar
from analysis.runs.frames import Tables, as_lines, is_missing
from analysis.topics.congestion.tables import topology_of
from analysis.topics.congestion.topology import Tree

SHADES = sns.blend_palette([style.PAPER, style.COLOURS[0]], as_cmap=True)
DARK = 0.55
"""Share above which numbers are white."""
NUMBERED_LINKS = 64
"""Most links side by side for which cells have numbers."""
MOST_COLUMNS = 1024
"""Most columns of a level; more links share columns with their neighbours."""
STRIPS = {"above": 1.45, "switch": 0.8, "below": 1.45}
"""Strips of a level of switches with their heights, from the top. The unit is `UNIT_INCHES`."""
GAP = 0.6
"""Space between two levels, in the same unit."""
NUMBER_POINTS = 7
UNIT_INCHES = 0.16
TITLE_INCHES = 0.3
FOOT_INCHES = 0.55
PAGE_INCHES = 7.8
"""Largest height of a figure of several matrices."""


class Quantity(NamedTuple):
    """Meaning of the numbers of a matrix.

    Attributes
    ----------
    value, share : str
        Columns with the quantity, and with its share of the most loaded link or switch.
    scale : str
        Title of the colour bar.
    value_text : str
        Format of the value of a switch.
    title : str
        Format of the highest value of a link.
    caption : str
        Format of the caption, with the tree and its nodes.
    """

    value: str
    share: str
    scale: str
    value_text: str
    title: str
    caption: str


LOAD = Quantity(
    "load",
    "share",
    "Route load (% of the most loaded link, or switch)",
    "route load {:.3g}",
    "most loaded link into a switch {:.3g} × its bandwidth",
    "Route load of {}, {} nodes: the bytes that routes carry over each link and switch. No waiting time was "
    "measured.",
)
WAIT = Quantity(
    "wait_packet_times",
    "wait_share",
    "Waiting (% of the link, or switch, with the longest total wait)",
    "a packet waits {:.3g} packet times",
    "a packet from the slowest link waits {:.3g} packet times",
    "Waiting times of {}, {} nodes, calculated with infinite queues at 90 % of each pattern's bound. The "
    "waiting time of a link is the total time that its packets wait at the switch for the next link.",
)


def congestion_figure(
    tree: Tree, matrices: Mapping[str, pd.DataFrame], about: str, quantity: Quantity = LOAD
) -> Drawing:
    """Draw congestion matrices of a tree, one below the other.

    Parameters
    ----------
    matrices : mapping of str to DataFrame
        By title of the panel: see `analysis.topics.congestion.loads.congestion_matrix`.
    about : str
        Tree and routing in a few words, for the caption and the name of the file.
    """
    rows = [(level, side) for level in range(tree.levels, 0, -1) for side in STRIPS]
    rows = [row for row in rows if row != (tree.levels, "above")]
    tops, height = _tops(rows)
    inches = (height * UNIT_INCHES + TITLE_INCHES) * len(matrices) + FOOT_INCHES
    stem, caption = file_stem("congestion", about), _caption(tree, about, quantity)
    with new_drawing(stem, "congestion", inches, caption) as drawing:
        grid = drawing.panels(len(matrices), 1)
        for axes, (title, matrix) in zip(grid, matrices.items(), strict=True):
            for row in rows:
                _draw_strip(axes, drawing, tree, matrix, row, tops[row], quantity)
            _set_axes(axes, title, matrix, tops, height, quantity)
        add_colour_bar(drawing, grid, SHADES, Normalize(0, 100), quantity.scale)
    return drawing


def matrix_figures(tables: Tables, requested: Mapping[str, Any]) -> list[Drawing]:
    """Draw the congestion matrices of a study: for each tree, pages of its loads, then of its waits.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        Tables of the study; without ``congestion_matrix``, nothing is drawn.
    requested : mapping
        Section ``congestion`` of the study's facts, whose ``topologies`` describe the trees.
    """
    if "congestion_matrix" not in tables:
        return []
    table, drawings = tables["congestion_matrix"], []
    for title in table["topology"].unique():
        tree, rows = topology_of(requested["topologies"][title]), table[table["topology"] == title]
        if not isinstance(tree, Tree):
            raise TypeError(f"{title}: congestion matrices are of trees")
        matrices = {
            pattern.replace("_", " "): rows[rows["pattern"] == pattern]
            for pattern in rows["pattern"].unique()
        }
        matrix_inches = tree.levels * sum(STRIPS.values()) * UNIT_INCHES + TITLE_INCHES
        per_page = max(1, int(PAGE_INCHES / matrix_inches))
        about = f"the {title}, {rows['routing'].iloc[0]} routing"
        for quantity, stem in ((LOAD, "congestion"), (WAIT, "congestion-waits")):
            for first in range(0, len(matrices), per_page):
                page = dict(list(matrices.items())[first : first + per_page])
                drawing = congestion_figure(tree, page, about, quantity)
                drawing.name = file_stem(*stem.split("-"), title)
                drawings.append(drawing)
    return drawings


def _tops(rows: list[tuple[int, str]]) -> tuple[dict[tuple[int, str], float], float]:
    """Return the top edge of every strip, measured downwards, and the height of all strips."""
    tops: dict[tuple[int, str], float] = {}
    top = 0.0
    for row in rows:
        tops[row] = top
        top += STRIPS[row[1]] + (GAP if row[1] == "below" else 0)
    return tops, top - GAP


def _draw_strip(
    axes: Axes,
    drawing: Drawing,
    tree: Tree,
    matrix: pd.DataFrame,
    row: tuple[int, str],
    top: float,
    quantity: Quantity,
) -> None:
    """Draw a strip of a level: its links from above, its switches, or its links from below."""
    level, side = row
    loads = matrix[(matrix["level"] == level) & (matrix["side"] == side)].sort_values(["switch", "port"])
    bottom = top + STRIPS[side]
    shares = loads[quantity.share].to_numpy(float)
    axes.imshow(
        _thinned(shares)[None, :],
        cmap=SHADES,
        norm=Normalize(0, 1),
        extent=(0, 1, bottom, top),
        aspect="auto",
        interpolation="nearest",
    )
    width = 1 / len(loads)
    if _has_numbers(tree):
        for index, share in enumerate(shares):
            axes.text(
                (index + 0.5) * width,
                (top + bottom) / 2,
                f"{100 * share:.0f}",
                rotation=0 if side == "switch" else 90,
                fontsize=NUMBER_POINTS,
                color=style.PAPER if share > DARK else style.INK,
                ha="center",
                va="center",
            )
    if side == "switch":
        _outline(axes, drawing, tree, loads, top, quantity)


def _outline(
    axes: Axes, drawing: Drawing, tree: Tree, switches: pd.DataFrame, top: float, quantity: Quantity
) -> None:
    """Frame every switch of a level with its links, or the whole level if it has too many switches."""
    level = int(switches["level"].iloc[0])
    above = 0 if level == tree.levels else STRIPS["above"]
    height = above + STRIPS["switch"] + STRIPS["below"]
    lines = as_lines(switches) if _has_numbers(tree) else []
    frames = max(1, len(lines))
    for index in range(frames):
        frame = Rectangle(
            (index / frames, top - above),
            1 / frames,
            height,
            facecolor="none",
            edgecolor=style.INK,
            linewidth=0.6,
            clip_on=False,
        )
        axes.add_patch(frame)
        if lines:
            switch = lines[index]
            is_empty = is_missing(switch[quantity.value])
            value = "no packet passes" if is_empty else quantity.value_text.format(switch[quantity.value])
            share = f"{100 * switch[quantity.share]:.0f} % of the most loaded switch"
            drawing.mark(frame, text=f"Level {level}, switch {switch['switch']}: {value}, {share}")


def _set_axes(
    axes: Axes,
    title: str,
    matrix: pd.DataFrame,
    tops: Mapping[tuple[int, str], float],
    height: float,
    quantity: Quantity,
) -> None:
    """Set the limits of a panel, name its strips, and state the highest value of a link in its title."""
    names = {"above": "from above", "below": "from below"}
    ticks = [top + STRIPS[side] / 2 for (_, side), top in tops.items()]
    axes.set_yticks(ticks, [names.get(side, f"level {level}, switch") for level, side in tops])
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.set_xlim(0, 1)
    axes.set_ylim(height, 0)
    links = matrix[matrix["side"] != "switch"]
    axes.set_title(f"{title}: {quantity.title.format(links[quantity.value].max())}")


def _has_numbers(tree: Tree) -> bool:
    """Return whether the cells of a tree are wide enough for numbers."""
    return max(tree.nodes, tree.down[-1] * tree.switches()[-1]) <= NUMBERED_LINKS


def _thinned(shares: np.ndarray) -> np.ndarray:
    """Reduce shares to at most `MOST_COLUMNS` values, each the maximum of a group of neighbours.

    All groups have the same size; the last share is repeated to fill the last group.
    """
    group_size = math.ceil(len(shares) / MOST_COLUMNS)
    filled = np.pad(shares, (0, -len(shares) % group_size), mode="edge")
    return filled.reshape(-1, group_size).max(axis=1)


def _caption(tree: Tree, about: str, quantity: Quantity) -> str:
    """Explain the rows, blocks and numbers of the matrices."""
    sentences = [
        f"{quantity.caption.format(about, tree.nodes)} Each row is a level of switches. Each box is a "
        "switch. The top of a box shows the links from the level above. The bottom shows the links from the "
        "level or the nodes below. Top and bottom are in percent of the most loaded link. The middle shows "
        "the sum of both in percent of the most loaded switch. Links from the first level to the nodes are "
        "not shown."
    ]
    if tree.nodes > MOST_COLUMNS:
        sentences.append(
            "Neighbouring links share a column. The column shows the most loaded of these links."
        )
    return " ".join(sentences)
