"""Whether the network with the best figures makes the fastest runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.formats import listed
from analysis.presentation.labels import Labels
from analysis.runs.frames import rows_like
from analysis.topics.fastest.sentences import fastest_run

QUANTITIES = {"latency_us": "µs", "peak_Mbps": "Mbit/s"}
"""Network figures and their units as they are printed."""


def network_figures(published: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Find the latency and the bandwidth of each interconnect in tables of published figures.

    Parameters
    ----------
    published : mapping of str to DataFrame
        Read are ``network_summary`` and, for interconnects that have another name there, ``network_names``.

    Returns
    -------
    DataFrame
        By interconnect, ``latency_us_low, latency_us_high, peak_Mbps_low, peak_Mbps_high``: the range over
        all published rows that may mean it. What was not published is missing.
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
    low, high = (formats.exact(figures.loc[interconnect, f"{quantity}_{end}"]) for end in ("low", "high"))
    return formats.spanned(low, high)


def network_sentences(
    scaling: pd.DataFrame, won: pd.DataFrame, figures: pd.DataFrame, labels: Labels
) -> list[str]:
    """Say whether the lowest latency or the highest bandwidth makes the fastest runs of a case.

    Parameters
    ----------
    scaling : DataFrame
        Rows of one case. Only published rows are compared with published network figures.
    won : DataFrame
        Rows of `analysis.topics.fastest.sentences.winners` of the case.
    figures : DataFrame
        See `network_figures`.

    Returns
    -------
    list of str
        Nothing where fewer than two interconnects have both figures.
    """
    rows = scaling[~scaling["serial"] & (scaling["kind"] == "published")]
    figures = figures.dropna()
    figures = figures[figures.index.isin(rows["interconnect"])]
    if len(figures) < 2:
        return []
    lowest = list(figures.index[figures["latency_us_low"] <= figures["latency_us_high"].min()])
    highest = list(figures.index[figures["peak_Mbps_high"] >= figures["peak_Mbps_low"].max()])
    best = rows.loc[rows["seconds"].idxmin()]
    named = list(dict.fromkeys([*lowest, *highest]))
    return [
        f"Lowest latency: {_holders(lowest, figures, 'latency_us', labels)}; "
        f"highest bandwidth: {_holders(highest, figures, 'peak_Mbps', labels)}.",
        f"The fastest run takes {fastest_run(rows, labels)}{_verdict(best['interconnect'], named, figures)}"
        f"{_doubt(best, named, won, labels)}.",
        _records(named, rows, won, labels),
    ]


_POINT = ["oversubscription", "processes_per_node", "threads", "processes"]


def _figure(figures: pd.DataFrame, interconnect: str, quantity: str) -> str:
    return f"{span(figures, interconnect, quantity)}{formats.THIN}{QUANTITIES[quantity]}"


def _holders(names: Sequence[str], figures: pd.DataFrame, quantity: str, labels: Labels) -> str:
    return listed(
        (f"{labels.interconnect(name, 'published')}, {_figure(figures, name, quantity)}" for name in names),
        "or",
    )


def _verdict(best: str, named: Sequence[str], figures: pd.DataFrame) -> str:
    if best not in figures.index:
        return ", whose network figures are not known"
    known = listed(_figure(figures, best, quantity) for quantity in QUANTITIES)
    if best in named:
        return f", with {known}"
    return f", with {known}: the fastest network does not make the fastest run"


def _doubt(best: pd.Series, named: Sequence[str], won: pd.DataFrame, labels: Labels) -> str:
    """Name the best networks that may make the fastest run too."""
    there = rows_like(won, best, _POINT)
    may_be = [name for name in named if name != best["interconnect"] and name in {*there["alike"].explode()}]
    names = listed(labels.interconnect(name, "published") for name in may_be)
    return f" ({names} cannot be told apart from it)" if names else ""


def _records(names: Sequence[str], rows: pd.DataFrame, won: pd.DataFrame, labels: Labels) -> str:
    """Count the points at which an interconnect is the fastest of those that ran there."""
    counts = []
    for name in names:
        ran = won.merge(rows.loc[rows["interconnect"] == name, _POINT], on=_POINT)
        first = sum(name in equal for equal in ran["equal"]) or "none"
        counts.append(f"{labels.interconnect(name, 'published')} is fastest at {first} of {len(ran)}")
    return f"Of the points that each shares with others, {listed(counts)}."
