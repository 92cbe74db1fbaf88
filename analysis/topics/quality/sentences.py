"""Sentences on the quality of the measurements."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from analysis.presentation import formats
from analysis.presentation.formats import counted, listed
from analysis.presentation.labels import Labels
from analysis.presentation.sentences import processes
from analysis.runs.frames import Line, percent_interval
from analysis.runs.runs import DISTURBED_CORES, timed_rows
from analysis.runs.settings import SHORT_SECONDS_OF_USERS, SIZE_OF_USERS
from analysis.topics.quality.tables import (
    FEWEST,
    OUTLIER_RULE,
    POINT,
    has_unknown_order,
    points_of,
    run_names,
)

MOST_TIMES = 10
"""Ratio of the blocks that an interval needs to the present blocks, beyond which blocks are no remedy."""
COARSE = 5e-3
"""Share of a time above which the report states the step of its rounding."""
MOST = 4
"""Largest number of points that a sentence names."""


def count_disturbed(runs: pd.DataFrame) -> tuple[int, int]:
    """Count the valid runs that other programs disturbed, and the valid runs with ``foreign_cores``."""
    if "foreign_cores" not in runs:
        return 0, 0
    foreign_cores = runs.loc[runs["valid"], "foreign_cores"].dropna()
    return int((foreign_cores > DISTURBED_CORES).sum()), len(foreign_cores)


def mostly_disturbed(runs: pd.DataFrame) -> bool:
    """Return whether other programs disturbed at least half of the valid runs with ``foreign_cores``."""
    disturbed, observed = count_disturbed(runs)
    return observed > 0 and 2 * disturbed >= observed


def disturbed_sentences(runs: pd.DataFrame) -> list[str]:
    """State how many of the valid repetitions with ``foreign_cores`` other programs disturbed."""
    disturbed, observed = count_disturbed(runs)
    if not disturbed:
        return []
    return [
        f"Other programs disturbed {formats.whole(disturbed)} of {counted(observed, 'valid run')}: they kept "
        f"more than {DISTURBED_CORES} cores busy at the same time. Disturbed runs count like all others. "
        "Column foreign_cores of runs.csv shows them."
    ]


SHORT_SECONDS = 1.0
"""Time of the main loop of a ready case, in seconds, below which effects of the start decide much of it."""


def short_sentences(runs: pd.DataFrame) -> list[str]:
    """Name the cases whose main loop is too short.

    A user's input or command is too short if a measured run takes less than `SHORT_SECONDS_OF_USERS`.
    Another case is too short if every measured run takes less than `SHORT_SECONDS`. Benchmarks and traffic
    (application mpi4py) are left out: they time many repeated messages.
    """
    if "origin" not in runs:
        return []
    is_timed = runs["valid"] & (runs["origin"] == "run") & (runs["application"] != "mpi4py")
    is_of_user = runs["application"] == "command"
    if "size" in runs:
        is_of_user |= runs["size"] == SIZE_OF_USERS
    sentences = []
    times = runs[is_timed & is_of_user].groupby("case", sort=False)["seconds"].agg(["min", "max"])
    short = times[times["min"] < SHORT_SECONDS_OF_USERS]
    if not short.empty:
        spans = [
            f"runs of {case} take {formats.spanned(*(formats.number(time, 2) for time in times))} s"
            for case, *times in short.itertuples(name=None)
        ]
        sentences.append(
            f"Start-up and noise matter in short runs: {listed(spans)}. State more steps (--steps N) or a "
            "larger input, so that runs take at least 10 s."
        )
    longest = runs[is_timed & ~is_of_user].groupby("case", sort=False)["seconds"].max()
    short_cases = longest.index[longest < SHORT_SECONDS]
    if len(short_cases):
        sentences.append(
            f"The main loop of {listed(short_cases)} takes less than {SHORT_SECONDS:g} s. Times this short "
            "mostly show effects of the start: let the case make more steps (--steps, or a larger size)."
        )
    return sentences


def world_sentences(runs: pd.DataFrame) -> list[str]:
    """Count the valid runs of which nothing shows that their processes formed one parallel run."""
    if "world_verified" not in runs:
        return []
    verified = runs.loc[runs["valid"], "world_verified"].dropna().astype(bool)
    unverified = int((~verified).sum())
    if not unverified:
        return []
    return [
        f"World size not verified: nothing shows that the processes of {counted(unverified, 'valid run')} of "
        f"{formats.whole(len(verified))} formed one parallel run. If the program prints its number of "
        "processes, the pattern read.processes verifies the size."
    ]


SMALL_SHARE = 0.05
"""Share of the wall time of a run below which its time needs a remark."""
OPPOSITE = 0.1
"""Relative change between two process counts above which a time counts as risen or fallen."""


def printed_time_sentences(runs: pd.DataFrame) -> list[str]:
    """Name the cases whose times do not fit the wall times of their runs.

    The times of most runs of a case are below `SMALL_SHARE` of the wall time; or from one process count to
    the next, time and wall time change by more than `OPPOSITE` in opposite directions.
    """
    if "origin" not in runs or "wall_seconds" not in runs:
        return []
    is_timed = runs["valid"] & (runs["origin"] == "run") & (runs["application"] != "mpi4py")
    timed = runs[is_timed & runs["wall_seconds"].notna()]
    shares = (timed["seconds"] / timed["wall_seconds"]).groupby(timed["case"], sort=False).median()
    sentences = []
    if small := list(shares.index[shares < SMALL_SHARE]):
        sentences.append(
            f"The time of {listed(small)} is less than {100 * SMALL_SHARE:g} % of the wall time of most "
            "runs. Check that the pattern reads the time of the whole main loop, and its unit."
        )
    opposite = [str(case) for case, rows in timed.groupby("case", sort=False) if _is_opposite(rows)]
    if opposite:
        sentences.append(
            f"The time of {listed(opposite)} rises from one process count to the next where the wall time of "
            "the runs falls, or the reverse. Check that the program prints the wall time of its main loop, "
            "not a sum over processes."
        )
    return sentences


def _is_opposite(rows: pd.DataFrame) -> bool:
    """Whether time and wall time change in opposite directions on any curve; the serial run begins each."""
    serial = rows["interconnect"].isna()
    settings = [name for name in ("oversubscription", "threads") if name in rows]
    for _, curve in rows[~serial].groupby(["interconnect", *settings], dropna=False):
        parts = curve if 1 in set(curve["processes"]) else pd.concat([rows[serial], curve])
        times = parts.groupby("processes")[["seconds", "wall_seconds"]].median()
        changes = (times / times.shift() - 1).dropna()
        rises, falls = changes > OPPOSITE, changes < -OPPOSITE
        is_opposite = (rises["seconds"] & falls["wall_seconds"]) | (falls["seconds"] & rises["wall_seconds"])
        if is_opposite.any():
            return True
    return False


def outlier_sentences(repetitions: pd.DataFrame, runs: pd.DataFrame, labels: Labels) -> list[str]:
    """State how many repetitions are outliers by `OUTLIER_RULE`, and name the most extreme outliers."""
    valid = repetitions[repetitions["valid"]]
    points = valid.groupby(POINT, dropna=False)["seconds"].transform("size")
    judged, outliers = valid[points >= FEWEST], valid[valid["outlier"]]
    if judged.empty:
        return [f"Outliers are not flagged, since no point has {counted(FEWEST, 'run')}."]
    total = f"of {counted(len(judged), 'valid run')}"
    if outliers.empty:
        return [f"None {total} is an outlier by {OUTLIER_RULE}."]
    outliers = outliers.assign(name=run_names(repetitions))
    farthest = outliers.loc[(outliers["relative_seconds"] - 1).abs().nlargest(MOST).index].to_dict("records")
    descriptions = "; ".join(
        f"{point_name(row, labels)}, {row['name']} "
        f"({formats.percent(100 * (row['relative_seconds'] - 1), signed=True)})"
        for row in farthest
    )
    verb = "is an outlier" if len(outliers) == 1 else "are outliers"
    text = f"{formats.whole(len(outliers))} {total} {verb} by {OUTLIER_RULE}. Estimates include outliers."
    text += (
        f" {'The most extreme outliers' if len(outliers) > len(farthest) else 'Outliers'}: {descriptions}."
    )
    return [text + _disturbed_outliers_sentence(outliers, runs)]


def _disturbed_outliers_sentence(outliers: pd.DataFrame, runs: pd.DataFrame) -> str:
    """State how many outliers other programs disturbed; empty unless that is known for every outlier."""
    if "foreign_cores" not in runs or outliers["record"].isna().any():
        return ""
    foreign_cores = runs.drop_duplicates("record").set_index("record")["foreign_cores"]
    foreign_cores = foreign_cores.reindex(outliers["record"])
    if foreign_cores.isna().any():
        return ""
    disturbed = int((foreign_cores > DISTURBED_CORES).sum())
    return f" Other programs disturbed {formats.whole(disturbed) if disturbed else 'none'} of the outliers."


def drift_sentences(drift: pd.DataFrame, labels: Labels) -> list[str]:
    """Name the points that became slower or faster from their first to their last block."""
    tested = drift[drift["p_adjusted"].notna()]
    if tested.empty:
        return [f"Drift is not judged: this needs at least {counted(FEWEST, 'block')} of a point."]
    most_blocks = int(tested["n"].max())
    smallest_p = 2 / math.factorial(min(most_blocks, 20))
    if len(tested) * smallest_p > 1 - labels.facts.settings.level:
        points = counted(len(tested), "point")
        return [
            f"The runs cannot show drift. With at most {counted(most_blocks, 'block')} at {points}, even "
            "steadily rising times are not significant in Kendall's test after Holm's correction."
        ]
    test = "Kendall's test with Holm's correction"
    ordered = tested.loc[tested["drift_percent"].abs().sort_values(ascending=False).index]
    moved = ordered[ordered["distinguishable"]]
    if moved.empty:
        first = ordered.iloc[0].to_dict()
        return [
            f"No point drifts distinguishably from the first block to the last ({test}, "
            f"{counted(len(tested), 'point')}). The largest change is {_change(first)}, at "
            f"{point_name(first, labels)}."
        ]
    named = [f"{point_name(row, labels)} ({_change(row)})" for row in moved.head(MOST).to_dict("records")]
    verb = "drifts" if len(moved) == 1 else "drift"
    return [
        f"{formats.whole(len(moved))} of {counted(len(tested), 'point')} {verb} from the first block to the "
        f"last ({test}): {listed(named)}{_more(moved, 'drift')}."
    ]


def _more(rows: pd.DataFrame, table: str) -> str:
    """Refer to the table with the rows that a sentence does not name."""
    return f", and {formats.whole(len(rows) - MOST)} more in tables/{table}.csv" if len(rows) > MOST else ""


def _change(row: Line) -> str:
    value = formats.bracketed_percent(*percent_interval(row, "drift"))
    return f"{value}{formats.THIN}%, {formats.p_value(row['p_adjusted'])}"


def order_sentences(runs: pd.DataFrame) -> list[str]:
    """Count the points of imported runs whose order is unknown, or is the order of rows in a file."""
    timed = timed_rows(runs).reset_index(drop=True)
    point = points_of(timed)
    has_several_runs = np.bincount(point)[point] >= FEWEST
    is_unknown = has_unknown_order(timed, point)
    is_by_row = timed["order_from"].str.startswith("row", na=False)
    sentences = []
    if number := len(np.unique(point[has_several_runs & is_unknown])):
        sentences.append(
            f"The order of the runs is unknown at {counted(number, 'point')}. Nodeworth does not judge drift "
            "or dependence on earlier runs there."
        )
    if number := len(np.unique(point[has_several_runs & is_by_row & ~is_unknown])):
        sentences.append(
            f"At {counted(number, 'point')}, Nodeworth takes the order of the rows in the file as the order "
            "of the runs."
        )
    return sentences


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
    """Compare the run-to-run variation of the interconnects."""
    with_spread = variability[variability["spread_percent"].notna()]
    if with_spread.empty:
        return ["The run-to-run spread is unknown, since no point has two blocks."]
    medians = with_spread.groupby(["interconnect", "kind"], dropna=False)["spread_percent"].median()
    rows = labels.in_order(medians.reset_index(), "interconnect", "kind").itertuples(index=False, name=None)
    spreads = listed(
        f"{labels.interconnect(name, kind)} {formats.percent(value, places=1)}" for name, kind, value in rows
    )
    return [
        f"The run-to-run spread of the block times is: {spreads}. Each spread is the median over points of "
        "the standard deviation, which Nodeworth estimates from the median absolute deviation.",
        *_spread_tests(with_spread, labels),
    ]


def stopped_sentences(variability: pd.DataFrame) -> list[str]:
    """Count the points without spread and drift, because runs were stopped at their time limit."""
    stopped = int(variability["seconds"].isna().sum())
    if not stopped:
        return []
    return [
        f"Spread and drift of {counted(stopped, 'point')} are unknown, since runs were stopped at their "
        "time limit; see tables/censored.csv."
    ]


def _spread_tests(with_spread: pd.DataFrame, labels: Labels) -> list[str]:
    tested = with_spread[with_spread["p_adjusted"].notna()]
    is_untested = with_spread["p_adjusted"].isna() & with_spread["baseline_spread_percent"].notna()
    number = int((is_untested & (with_spread["blocks"] > 1)).sum())
    dependent = []
    if number > 0:
        verb = "is" if number == 1 else "are"
        dependent.append(
            f"{counted(number, 'spread')} {verb} not compared with the spread of the baseline, since blocks "
            "credibly depend on earlier blocks."
        )
    if tested.empty:
        return dependent or [
            "Nodeworth does not compare spreads. This needs two blocks in which an interconnect and its "
            "baseline ran on the same number of processes."
        ]
    test = (
        "signed-rank test of absolute deviations, or sign test if they are clearly asymmetric, with Holm's "
        "correction"
    )
    differing = tested[tested["distinguishable"]]
    if differing.empty:
        return [
            f"No spread is distinguishable from the spread of the baseline in "
            f"{counted(len(tested), 'comparison')} ({test}).",
            *dependent,
        ]
    first = differing.sort_values("p_adjusted", kind="stable").head(MOST)
    named = [f"{point_name(row, labels)} ({_spreads(row, labels)})" for row in first.to_dict("records")]
    return [
        f"The spread differs from the spread of the baseline in {formats.whole(len(differing))} of "
        f"{counted(len(tested), 'comparison')} ({test}): {listed(named)}{_more(differing, 'variability')}.",
        *dependent,
    ]


def dependence_sentences(variability: pd.DataFrame, labels: Labels) -> list[str]:
    """Name the ratios to the baseline that have wider intervals because of dependent blocks."""
    judged = variability[variability["lag_one_correlation"].notna()]
    if judged.empty:
        return []
    dependent = judged[judged["effective_blocks"] < judged["blocks"].astype(float)]
    ratios = counted(len(judged), "ratio")
    if dependent.empty:
        return [f"None of {ratios} to the baseline has a wider interval because of dependent blocks."]
    first = dependent.sort_values("effective_blocks", kind="stable").head(MOST).to_dict("records")
    named = [
        f"{point_name(row, labels)} (lag-one correlation {formats.fixed(row['lag_one_correlation'], 2)}, "
        f"{formats.whole(row['blocks'])} blocks equal {formats.number(row['effective_blocks'], 2)} "
        "independent blocks)"
        for row in first
    ]
    verb, their = ("has a wider interval", "its")
    if len(dependent) > 1:
        verb, their = ("have wider intervals", "their")
    return [
        f"{formats.whole(len(dependent))} of {ratios} to the baseline {verb}, since {their} blocks may "
        f"depend on earlier blocks: {listed(named)}{_more(dependent, 'variability')}. If whole sweeps "
        "credibly depend on earlier sweeps, the bootstrap draws fewer sweeps. Derived intervals are then "
        "wider."
    ]


def unpaired_dependence_sentences(improvement: pd.DataFrame) -> list[str]:
    """Count unpaired comparisons with wider intervals because imported times depend on earlier times."""
    number = int((~improvement["paired"] & improvement["lag_one_correlation"].notna()).sum())
    if number == 0:
        return []
    verb = "has a wider interval" if number == 1 else "have wider intervals"
    return [f"{counted(number, 'unpaired comparison')} {verb}, since imported times depend on earlier times."]


def _spreads(row: Line, labels: Labels) -> str:
    spread, of_baseline = (
        formats.percent(row[f"{prefix}spread_percent"], places=1) for prefix in ("", "baseline_")
    )
    baseline = labels.interconnect(row["baseline_interconnect"], row["kind"])
    return f"{spread} against {of_baseline} of {baseline}, {formats.p_value(row['p_adjusted'])}"


def with_interval(precision: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of ``precision`` with an interval; a time compared with itself has none."""
    return precision[precision["half_width_percent"] > 0]


def precision_sentences(precision: pd.DataFrame) -> list[str]:
    """State how many improvements have narrow enough intervals, and how many blocks the others need."""
    compared = with_interval(precision)
    if compared.empty:
        return ["No improvement has an interval, since the blocks are too few."] if len(precision) else []
    target = f"±{formats.number(compared['target_percent'].iloc[0], 2)} percentage points"
    wide = compared[~compared["reached"]]
    if wide.empty:
        if len(compared) == 1:
            return [f"The interval of the only improvement is no wider than {target}."]
        return [f"No interval of {counted(len(compared), 'improvement')} is wider than {target}."]
    all_compared = counted(len(compared), "improvement")
    sentences = [
        f"The interval of {formats.whole(len(compared) - len(wide))} of {all_compared} is no wider than "
        f"{target}."
        if len(wide) < len(compared)
        else f"The intervals of all {all_compared} are wider than {target}."
    ]
    beyond = wide["blocks_wanted"] > MOST_TIMES * wide["blocks"]
    if not (within := wide[~beyond]).empty:
        estimates = within["blocks_wanted"]
        needed = formats.spanned(formats.whole(estimates.min()), formats.whole(estimates.max()))
        present = sorted({int(blocks) for blocks in within["blocks"].dropna()})
        instead = f" instead of {listed(map(formats.whole, present), 'or')}" if present else ""
        others = _others(len(wide), len(compared))
        others = counted(len(within), "improvement") if beyond.any() else others
        sentences.append(
            f"{others} would need about {needed} blocks{instead}. The width of an interval shrinks about as "
            "1 / √blocks."
        )
    if number := int(beyond.sum()):
        others = _others(number, len(compared)) if number == len(wide) else counted(number, "improvement")
        sentences.append(
            f"{others} would need more than {MOST_TIMES} times as many blocks. More steps per run or an idle "
            "machine would narrow these intervals instead."
        )
    return [" ".join(sentences)]


def _others(wide: int, compared: int) -> str:
    """Name the intervals that are too wide: all of the compared ones, or the others."""
    if wide == compared:
        return "These improvements"
    return "The other" if wide == 1 else "The others"


def point_name(row: Line, labels: Labels) -> str:
    """Name a point by its case, interconnect and processes."""
    text = f"{labels.case(row['case'])}, {labels.interconnect(row['interconnect'], row['kind'])}"
    if row["processes"] > 1:
        text += f", {processes(row['processes'])}"
    return text if row["oversubscription"] == 1 else f"{text} at oversubscription {row['oversubscription']}"
