"""Does the network with the best published figures make the fastest runs?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.formats import counted, listed
from analysis.presentation.labels import Labels
from analysis.presentation.sentences import processes
from analysis.runs.frames import Line, as_float, as_lines, is_missing, rows_like

QUANTITIES = {"latency_us": "µs", "peak_Mbps": "Mbit/s"}
"""Published network figures and their units."""


def network_figures(published: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Look up the latency and bandwidth of each interconnect in tables of published figures.

    Parameters
    ----------
    published : mapping of str to DataFrame
        Tables ``network_summary`` and, if interconnects have other names in it, ``network_names``.

    Returns
    -------
    DataFrame
        By interconnect, ``latency_us_low, latency_us_high, peak_Mbps_low, peak_Mbps_high``: the range over
        all published rows that may mean the interconnect. Unpublished figures are missing.
    """
    summary = published.get("network_summary")
    if summary is None:
        return pd.DataFrame(
            columns=[f"{quantity}_{end}" for quantity in QUANTITIES for end in ("low", "high")], dtype=float
        )
    figures = summary.drop(columns="source")
    if "network_names" in published:
        names = published["network_names"].drop(columns="source")
        named = names.merge(figures.rename(columns={"interconnect": "network"}), on=["network", "api"])
        figures = pd.concat([figures[~figures["interconnect"].isin(named["interconnect"])], named])
    figures = figures.assign(latency_us_high=figures["latency_us_high"].fillna(figures["latency_us"]))
    return figures.groupby("interconnect").agg(
        latency_us_low=("latency_us", "min"),
        latency_us_high=("latency_us_high", "max"),
        peak_Mbps_low=("peak_Mbps", "min"),
        peak_Mbps_high=("peak_Mbps", "max"),
    )


def span(figures: pd.DataFrame, interconnect: str, quantity: str) -> str:
    """Write a network figure without its unit: ``6370`` or ``27 to 30``."""
    low, high = (as_float(figures[f"{quantity}_{end}"].at[interconnect]) for end in ("low", "high"))
    return formats.spanned(formats.exact(low), formats.exact(high))


def network_sentences(
    scaling: pd.DataFrame, won: pd.DataFrame, figures: pd.DataFrame, labels: Labels
) -> list[str]:
    """Say whether the lowest latency or the highest bandwidth makes the fastest runs of a case.

    Parameters
    ----------
    scaling : DataFrame
        Rows of one case. Only published rows are compared with published network figures.
    won : DataFrame
        Rows of the case from `analysis.topics.fastest.tables.winners`.
    figures : DataFrame
        See `network_figures`.

    Returns
    -------
    list of str
        Empty if fewer than two interconnects have both figures.
    """
    rows = scaling[~scaling["serial"] & (scaling["kind"] == "published")]
    figures = figures.dropna()
    figures = figures[figures.index.isin(rows["interconnect"])]
    if len(figures) < 2:
        return []
    lowest = list(figures.index[figures["latency_us_low"] <= figures["latency_us_high"].min()])
    highest = list(figures.index[figures["peak_Mbps_high"] >= figures["peak_Mbps_low"].max()])
    best = as_lines(rows.nsmallest(1, "seconds"))[0]
    named = list(dict.fromkeys([*lowest, *highest]))
    return [
        f"Lowest published latency: {_holders(lowest, figures, 'latency_us', labels)}. Highest published "
        f"bandwidth: {_holders(highest, figures, 'peak_Mbps', labels)}.",
        f"The fastest run takes {_run(best, rows, labels)}. {_verdict(best['interconnect'], named, figures)}"
        f"{_doubt(best, named, won, labels)}",
        _records(named, rows, won, labels),
    ]


_POINT = ["oversubscription", "processes_per_node", "threads", "processes"]


def _figure(figures: pd.DataFrame, interconnect: str, quantity: str) -> str:
    return f"{span(figures, interconnect, quantity)}{formats.THIN}{QUANTITIES[quantity]}"


def _holders(names: Sequence[str], figures: pd.DataFrame, quantity: str, labels: Labels) -> str:
    return listed(
        (
            (f"{labels.interconnect(name, 'published')} with {_figure(figures, name, quantity)}")
            for name in names
        ),
        "or",
    )


def _run(line: Line, rows: pd.DataFrame, labels: Labels) -> str:
    """Write the time of a run with its processes, nodes, oversubscription and interconnect."""
    nodes = "" if is_missing(line["nodes"]) else f" and {counted(line['nodes'], 'node')}"
    several_levels = rows["oversubscription"].nunique() > 1
    level = f", at oversubscription {line['oversubscription']}" if several_levels else ""
    return (
        f"{formats.seconds(line['seconds'])} over {labels.curve(line)} on "
        f"{processes(line['processes'])}{nodes}{level}"
    )


def _verdict(best: str, named: Sequence[str], figures: pd.DataFrame) -> str:
    """Say whether the fastest interconnect is among those with the best network figures."""
    if best not in figures.index:
        return "The published figures of this network are unknown."
    best_figures = listed(_figure(figures, best, quantity) for quantity in QUANTITIES)
    text = f"The published figures of this network are {best_figures}."
    return text if best in named else f"{text} The fastest network does not make the fastest run."


def _doubt(best: Line, named: Sequence[str], won: pd.DataFrame, labels: Labels) -> str:
    """Name the best networks that may also make the fastest run."""
    candidates = {*rows_like(won, best, _POINT)["candidates"].explode()} - {best["interconnect"]}
    names = listed(labels.interconnect(name, "published") for name in named if name in candidates)
    return f" The fastest run over {names} may be equally fast." if names else ""


def _records(names: Sequence[str], rows: pd.DataFrame, won: pd.DataFrame, labels: Labels) -> str:
    """Count the points at which each interconnect is the fastest among those that ran."""
    counts = []
    for name in names:
        shared = won.merge(rows.loc[rows["interconnect"] == name, _POINT], on=_POINT)
        first = sum(name in equal for equal in shared["equal"]) or "none"
        points = f"{counted(len(shared), 'point')} with several interconnects"
        counts.append(f"{labels.interconnect(name, 'published')} is the fastest at {first} of {points}.")
    return " ".join(counts)
