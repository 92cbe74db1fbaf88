"""How good the measurements are, in plain sentences: from the tables of quality to text."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.presentation import formats
from analysis.presentation.formats import counted, listed
from analysis.presentation.labels import Labels
from analysis.presentation.sentences import processes
from analysis.runs.frames import Line, percent_interval
from analysis.runs.runs import timed_rows
from analysis.topics.quality.tables import FEWEST, OUTLIER_RULE, POINT, of_unknown_order, points_of

DISTURBED_CORES = 0.2
"""Cores that other programs keep busy, on average, above which a repetition is called disturbed."""
COARSE = 5e-3
"""Share of a time from which on its rounding is stated."""
MOST = 4
"""Points that a sentence names."""


def count_disturbed(runs: pd.DataFrame) -> tuple[int, int]:
    """Count the valid runs that other programs disturbed, and those of which ``foreign_cores`` is known."""
    if "foreign_cores" not in runs:
        return 0, 0
    busy = runs.loc[runs["valid"], "foreign_cores"].dropna()
    return int((busy > DISTURBED_CORES).sum()), len(busy)


def disturbed_sentences(runs: pd.DataFrame) -> list[str]:
    """Say how many valid repetitions were disturbed by other programs, where ``foreign_cores`` is known."""
    disturbed, observed = count_disturbed(runs)
    if not disturbed:
        return []
    verb = "was" if disturbed == 1 else "were"
    return [
        f"{counted(disturbed, 'valid repetition')} of {formats.whole(observed)} {verb} disturbed: other "
        f"programs kept more than {DISTURBED_CORES} cores busy meanwhile. They count like the others; "
        "column foreign_cores of runs.csv shows them."
    ]


def outlier_sentences(repetitions: pd.DataFrame, runs: pd.DataFrame, labels: Labels) -> list[str]:
    """Say how many repetitions are outliers by the named rule, and which are the farthest."""
    valid = repetitions[repetitions["valid"]]
    points = valid.groupby(POINT, dropna=False)["seconds"].transform("size")
    judged, outliers = valid[points >= FEWEST], valid[valid["outlier"]]
    if judged.empty:
        return [f"Outliers are not flagged: that takes {counted(FEWEST, 'repetition')} of a point."]
    of_all = f"of {counted(len(judged), 'valid repetition')}"
    if outliers.empty:
        return [f"None {of_all} is an outlier by {OUTLIER_RULE}."]
    far = outliers.loc[(outliers["relative_seconds"] - 1).abs().nlargest(MOST).index].to_dict("records")
    named = listed(
        f"{_point(row, labels)}, block {row['block']} "
        f"({formats.percent(100 * (row['relative_seconds'] - 1), signed=True)})"
        for row in far
    )
    verb = "is an outlier" if len(outliers) == 1 else "are outliers"
    said = f"{formats.whole(len(outliers))} {of_all} {verb} by {OUTLIER_RULE}; all stay in the estimates."
    which = f" {'The farthest' if len(outliers) > len(far) else 'In time'}: {named}."
    return [said + which + _disturbed_outliers(outliers, runs)]


def _disturbed_outliers(outliers: pd.DataFrame, runs: pd.DataFrame) -> str:
    """Say how many outliers were disturbed, where that is known of all of them."""
    if "foreign_cores" not in runs or outliers["record"].isna().any():
        return ""
    busy = runs.drop_duplicates("record").set_index("record")["foreign_cores"].reindex(outliers["record"])
    if busy.isna().any():
        return ""
    disturbed = int((busy > DISTURBED_CORES).sum())
    count = formats.whole(disturbed) if disturbed else "none"
    return f" Of the outliers, {count} {'was' if disturbed < 2 else 'were'} disturbed."


def drift_sentences(drift: pd.DataFrame, labels: Labels) -> list[str]:
    """Say which points became slower or faster from their first to their last block."""
    tested = drift[drift["p_adjusted"].notna()]
    if tested.empty:
        return [f"Drift is not told: that takes {counted(FEWEST, 'block')} of a point."]
    test = "Kendall's test of the order, p after Holm's correction"
    ordered = tested.loc[tested["drift_percent"].abs().sort_values(ascending=False).index]
    moved = ordered[ordered["distinguishable"]]
    if moved.empty:
        first = ordered.iloc[0].to_dict()
        return [
            f"No drift can be told in {counted(len(tested), 'point')} from the first block to the last "
            f"({test}); the largest change is that of {_point(first, labels)} ({_change(first)})."
        ]
    named = [f"{_point(row, labels)} ({_change(row)})" for row in moved.head(MOST).to_dict("records")]
    verb = "drifts" if len(moved) == 1 else "drift"
    return [
        f"{formats.whole(len(moved))} of {counted(len(tested), 'point')} {verb} from the first block to the "
        f"last ({test}): {listed(named)}{_more(moved, 'drift')}."
    ]


def _more(rows: pd.DataFrame, table: str) -> str:
    """Say where the rows are that a sentence does not name."""
    return f", and {formats.whole(len(rows) - MOST)} more in tables/{table}.csv" if len(rows) > MOST else ""


def _change(row: Line) -> str:
    value = formats.bracketed_percent(*percent_interval(row, "drift"))
    return f"{value}{formats.THIN}%, {formats.p_value(row['p_adjusted'])}"


def order_sentences(runs: pd.DataFrame) -> list[str]:
    """Count the points of imported runs whose order is unknown or follows the rows of a file."""
    timed = timed_rows(runs).reset_index(drop=True)
    point = points_of(timed)
    many = np.bincount(point)[point] >= FEWEST
    unknown, by_row = of_unknown_order(timed, point), timed["order_from"].str.startswith("row", na=False)
    found = []
    if number := len(np.unique(point[many & unknown])):
        found.append(
            f"Order of the runs unknown at {counted(number, 'point')}: drift, and dependence on earlier "
            "runs, are not judged there."
        )
    if number := len(np.unique(point[many & by_row & ~unknown])):
        found.append(
            f"At {counted(number, 'point')} the runs are taken in the order of the rows of their file."
        )
    return found


def rounding_sentences(runs: pd.DataFrame) -> list[str]:
    """State the step to which imported times are rounded, if the step exceeds `COARSE` of a time."""
    if "resolution_seconds" not in runs:
        return []
    timed = timed_rows(runs)
    steps = timed["resolution_seconds"]
    coarse = steps[steps > COARSE * timed["seconds"]]
    if coarse.empty:
        return []
    step = f"{formats.exact(coarse.max())}{formats.THIN}s"
    return [
        f"The times of {counted(len(coarse), 'run')} are rounded to steps of up to {step}. No interval is "
        "narrower than half a step on either side, and no difference within the rounding is called faster or "
        "slower."
    ]


def spread_sentences(variability: pd.DataFrame, labels: Labels) -> list[str]:
    """Say how much times vary from run to run over each interconnect, and where that differs."""
    known = variability[variability["spread_percent"].notna()]
    if known.empty:
        return ["Run-to-run variability is not told: that takes two blocks of a point."]
    medians = known.groupby(["interconnect", "kind"], dropna=False)["spread_percent"].median()
    rows = labels.in_order(medians.reset_index(), "interconnect", "kind").itertuples(index=False, name=None)
    spreads = listed(
        f"{labels.interconnect(name, kind)} {formats.percent(value, places=1)}" for name, kind, value in rows
    )
    return [
        "Run-to-run spread of the block times (standard deviation from the median absolute deviation, median "
        f"over the points): {spreads}.",
        *_spread_tests(known, labels),
    ]


def stopped_sentences(variability: pd.DataFrame) -> list[str]:
    """Say of how many points nothing of this is told, since runs were stopped at their time limit."""
    stopped = int(variability["seconds"].isna().sum())
    if not stopped:
        return []
    return [
        f"Spread and drift of {counted(stopped, 'point')} are not told, since runs were stopped at their "
        "time limit; tables/censored.csv has what is known."
    ]


def _spread_tests(known: pd.DataFrame, labels: Labels) -> list[str]:
    tested = known[known["p_adjusted"].notna()]
    untested = known["p_adjusted"].isna() & known["baseline_spread_percent"].notna() & (known["blocks"] > 1)
    number = int(untested.sum())
    verb = "is" if number == 1 else "are"
    dependent = [
        f"{counted(number, 'spread')} {verb} not tested against that of the baseline, since blocks credibly "
        "depend on the ones before."
    ] * (number > 0)
    if tested.empty:
        return dependent or ["Spreads are not compared: that takes two blocks in common with the baseline."]
    test = (
        "signed ranks of absolute deviations, signs where these are plainly asymmetric, p after Holm's "
        "correction"
    )
    differing = tested[tested["distinguishable"]]
    if differing.empty:
        return [
            f"In none of {counted(len(tested), 'comparison')} can the spread be told apart from that of the "
            f"baseline ({test}).",
            *dependent,
        ]
    first = differing.sort_values("p_adjusted", kind="stable").head(MOST)
    named = [f"{_point(row, labels)} ({_spreads(row, labels)})" for row in first.to_dict("records")]
    return [
        f"In {formats.whole(len(differing))} of {counted(len(tested), 'comparison')} the spread differs from "
        f"that of the baseline ({test}): {listed(named)}{_more(differing, 'variability')}.",
        *dependent,
    ]


def dependence_sentences(variability: pd.DataFrame, labels: Labels) -> list[str]:
    """Say which ratios to the baseline are widened for their dependent blocks, and what these are worth."""
    known = variability[variability["lag_one_correlation"].notna()]
    if known.empty:
        return []
    dependent = known[known["effective_blocks"] < known["blocks"].astype(float)]
    ratios = counted(len(known), "ratio")
    if dependent.empty:
        return [f"None of {ratios} to the baseline is widened for blocks that depend on the ones before."]
    first = dependent.sort_values("effective_blocks", kind="stable").head(MOST).to_dict("records")
    named = [
        f"{_point(row, labels)} (lag-one correlation {formats.fixed(row['lag_one_correlation'], 2)}, "
        f"{formats.whole(row['blocks'])} blocks worth {formats.number(row['effective_blocks'], 2)})"
        for row in first
    ]
    verb, their = ("is", "its") if len(dependent) == 1 else ("are", "their")
    return [
        f"{formats.whole(len(dependent))} of {ratios} to the baseline {verb} widened, since {their} blocks "
        f"may depend on the ones before: {listed(named)}{_more(dependent, 'variability')}. Where whole "
        "sweeps credibly do, fewer are drawn, so that derived intervals are wider."
    ]


def unpaired_dependence_sentences(improvement: pd.DataFrame) -> list[str]:
    """Count the unpaired comparisons that are widened because imported times depend on earlier times."""
    number = int((~improvement["paired"] & improvement["lag_one_correlation"].notna()).sum())
    verb = "is" if number == 1 else "are"
    return [
        f"{counted(number, 'unpaired comparison')} {verb} widened, since imported times depend on "
        "earlier times."
    ] * (number > 0)


def _spreads(row: Line, labels: Labels) -> str:
    own, other = (formats.percent(row[f"{whose}spread_percent"], places=1) for whose in ("", "baseline_"))
    baseline = labels.interconnect(row["baseline_interconnect"], row["kind"])
    return f"{own} against {other} of {baseline}, {formats.p_value(row['p_adjusted'])}"


def with_interval(precision: pd.DataFrame) -> pd.DataFrame:
    """Comparisons of the table ``precision`` that have an interval; a time compared with itself has none."""
    return precision[precision["half_width_percent"] > 0]


def precision_sentences(precision: pd.DataFrame) -> list[str]:
    """Say how many improvements have an interval as narrow as wanted, and what the others take."""
    known = with_interval(precision)
    if known.empty:
        return ["No improvement has an interval: that takes more blocks."] if len(precision) else []
    target = f"±{formats.number(known['target_percent'].iloc[0], 2)} percentage points"
    wide = known[~known["reached"]]
    all_of = f"{formats.whole(len(known) - len(wide))} of {counted(len(known), 'improvement')}"
    if wide.empty:
        if len(known) == 1:
            return [f"The interval of the one improvement is no wider than {target}."]
        return [f"No interval of {counted(len(known), 'improvement')} is wider than {target}."]
    wanted = formats.spanned(*(formats.whole(wide["blocks_wanted"].agg(end)) for end in ("min", "max")))
    have = sorted({int(blocks) for blocks in wide["blocks"].dropna()})
    now = f" where they have {listed(map(formats.whole, have), 'or')}" if have else ""
    return [
        f"The interval of {all_of} is no wider than {target}. The others would take about {wanted} "
        f"blocks{now}: an interval narrows with the square root of the blocks, in the long run."
    ]


def _point(row: Line, labels: Labels) -> str:
    text = f"{labels.case(row['case'])}, {labels.interconnect(row['interconnect'], row['kind'])}"
    if row["processes"] > 1:
        text += f", {processes(row['processes'])}"
    return text if row["oversubscription"] == 1 else f"{text} at oversubscription {row['oversubscription']}"
