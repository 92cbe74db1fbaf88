"""Sentences on published results. Their interconnects all have the kind ``published``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import KeyFigure, key_figure
from analysis.presentation.formats import counted, listed
from analysis.presentation.labels import DIRECT, Labels
from analysis.presentation.sentences import processes
from analysis.runs.frames import Tables

AVERAGE = "average"
"""Case of the rows of ``improvement`` with the published mean over cases."""


def improvement_sentences(published: Tables, labels: Labels) -> list[str]:
    """Summarise the published improvements of each interconnect over all cases, and quote published means."""
    table = published.get("improvement")
    if table is None:
        return []
    sentences = []
    sides = ["baseline_interconnect", "interconnect"]
    for (baseline, interconnect), rows in table.groupby(sides, sort=False):
        cases, means = rows[rows["case"] != AVERAGE], rows[rows["case"] == AVERAGE]
        if cases.empty:
            continue
        at_peak, average = cases["improvement_percent"], cases["average_percent"]
        spread = partial(_spread, arithmetic=len(means) > 0)
        faster = f"{int((at_peak > 0).sum())} of {counted(len(cases), 'case')}"
        text = f"{_name(interconnect, labels)} is faster than {_name(baseline, labels)} in {faster}"
        text += f". At the compared count, the improvement is {spread(at_peak)}"
        if average.notna().all():
            text += f". Averaged over all counts up to this count, the improvement is {spread(average)}"
        for mean in means.to_dict("records"):
            published_means = (_percent(mean[f"{column}_percent"]) for column in ("improvement", "average"))
            text += f". The published arithmetic means are {listed(published_means)}"
        sentences.append(f"{text}.")
    return sentences


def improvement_title(published: Tables, labels: Labels) -> str:
    """State the largest published improvement over all cases; empty without one."""
    pairs = _improvements(published)
    if not pairs:
        return ""
    pair, percents = max(pairs.items(), key=lambda pair: pair[1].median())
    baseline, interconnect = (labels.interconnect(name, DIRECT) for name in pair)
    faster = f"{int((percents > 0).sum())} of {counted(len(percents), 'case')}"
    return f"{interconnect} is faster than {baseline} in {faster}"


def improvement_figures(published: Tables, labels: Labels) -> list[KeyFigure]:
    """Make a key figure of the improvements of each interconnect: their median and range over the cases."""
    figures = []
    for pair, percents in _improvements(published).items():
        baseline, interconnect = (labels.interconnect(name, DIRECT) for name in pair)
        figures.append(
            key_figure(
                f"Speed, median of {counted(len(percents), 'case')}",
                _percent(percents.median()),
                f"{interconnect} against {baseline}; brackets: lowest and highest case",
                f"[{_percent(percents.min())} to {_percent(percents.max())}]",
                "published",
            )
        )
    return figures


def _improvements(published: Tables) -> dict[tuple[str, str], pd.Series]:
    """Return the published improvements of all cases, percent, by baseline and interconnect."""
    if "improvement" not in published:
        return {}
    cases = published["improvement"][published["improvement"]["case"] != AVERAGE]
    groups = cases.groupby(["baseline_interconnect", "interconnect"], sort=False)["improvement_percent"]
    return {(str(baseline), str(name)): percents for (baseline, name), percents in groups}


def _spread(values: pd.Series, arithmetic: bool) -> str:
    """Write the range of improvements in percent, and their mean.

    The mean is geometric, or arithmetic if the source states an arithmetic mean that it can be checked with.
    """
    if arithmetic:
        name, mean = "arithmetic", values.mean()
    else:
        name, mean = "geometric", 100 * np.expm1(np.log1p(values / 100).mean())
    low, high, mean_text = map(_percent, (values.min(), values.max(), mean))
    return low if low == high else f"{low} to {high}, {name} mean {mean_text}"


def _percent(value: float) -> str:
    return formats.percent(value, signed=True, places=0 if value == round(value) else 1)


def peak_sentences(published: Tables, labels: Labels) -> list[str]:
    """Count the cases in which an interconnect peaks at more processes than its baseline."""
    if not {"peaks", "improvement"} <= set(published):
        return []
    peaks = published["peaks"].pivot(index="case", columns="interconnect", values="peak_processes")
    sentences = []
    pairs = published["improvement"][["baseline_interconnect", "interconnect"]].drop_duplicates()
    for baseline, interconnect in pairs.itertuples(index=False):
        if not {baseline, interconnect} <= set(peaks):
            continue
        both = peaks[[baseline, interconnect]].dropna()
        difference = both[interconnect] - both[baseline]
        cases_with_fewer = list(difference.index[difference < 0])
        fewer = str(len(cases_with_fewer))
        if cases_with_fewer:
            fewer += f" ({listed(map(labels.case, cases_with_fewer))})"
        counts = {
            "at more processes": str(int((difference > 0).sum())),
            "at as many processes": str(int((difference == 0).sum())),
            "at fewer processes": fewer,
        }
        outcomes = [f"{word} in {count}" for word, count in counts.items() if count != "0"]
        sentences.append(
            f"Compared with {_name(baseline, labels)}, the speedup of {_name(interconnect, labels)} peaks "
            f"{listed(outcomes)} of {counted(len(both), 'case')}."
        )
    return sentences


def equivalent_sentences(published: Tables, labels: Labels) -> list[str]:
    """State how many processes reach a published speedup over each interconnect."""
    table = published.get("node_equivalent")
    if table is None:
        return []
    sentences = []
    for _, rows in table.groupby(["case", "target_speedup"], sort=False):
        first = rows.iloc[0]
        needed = listed(_equivalent(row, labels) for row in rows.to_dict("records"))
        speedup = formats.exact(first["target_speedup"])
        sentences.append(f"A speedup of {speedup} in {labels.case(first['case'])} needs {needed}.")
    return sentences


def comparison_sentence(peaks: pd.DataFrame, improvement: pd.DataFrame, labels: Labels) -> str:
    """Compare peaks and improvements of the study with the published values for the same interconnects.

    Parameters
    ----------
    peaks, improvement : DataFrame
        From `analysis.topics.published.agreement.joined`.
    labels : Labels

    Returns
    -------
    str
        Empty if the study and the published results share no interconnect.
    """
    clauses = []
    if len(peaks):
        rows = peaks.assign(same=peaks["peak_processes"] == peaks["peak_processes_published"])
        agreements = (
            f"{labels.interconnect(name, '')} in {int(group['same'].sum())} of {len(group)}"
            for name, group in rows.groupby("interconnect", sort=False)
        )
        clauses.append(f"curves peak at the published count of processes over {listed(agreements)}")
    sides = ["baseline_interconnect", "interconnect"]
    columns = ["improvement_percent", "improvement_percent_published"]
    complete = improvement.reindex(columns=[*sides, *columns]).dropna()
    for names, rows in complete.groupby(sides, sort=False):
        base, other = (labels.interconnect(name, "") for name in names)
        here, published = (_range(rows[column]) for column in columns)
        clauses.append(
            f"the improvement of {other} where {base} peaks is {here} here and {published} in the publication"
        )
    return f"Compared with the published counterparts: {'; '.join(clauses)}." if clauses else ""


def _range(values: pd.Series) -> str:
    ends = [formats.percent(end, signed=True, places=0) for end in (values.min(), values.max())]
    return " to ".join(dict.fromkeys(ends))


def _equivalent(row: Mapping, labels: Labels) -> str:
    saved = f" ({formats.plain(row['processes_saved'])} fewer)" if row["processes_saved"] else ""
    return f"{processes(row['processes'])}{saved} over {_name(row['interconnect'], labels)}"


def _name(interconnect: object, labels: Labels) -> str:
    return labels.interconnect(interconnect, "published")
