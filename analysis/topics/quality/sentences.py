"""Sentences on the quality of the measurements."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from analysis.presentation import formats
from analysis.presentation.contests import allows_for_correlation
from analysis.presentation.formats import counted, listed
from analysis.presentation.labels import Labels, correction_of
from analysis.presentation.sentences import processes
from analysis.runs.frames import Line, as_float, as_lines, is_missing, percent_interval
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
        f"Other programs disturbed {formats.whole(disturbed)} of {counted(observed, 'valid run')}. These "
        f"programs kept more than {DISTURBED_CORES} cores busy. The results include disturbed runs. Column "
        "foreign_cores of runs.csv shows how many cores other programs used."
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
            f"the timed part of {case} takes {formats.spanned(*(formats.number(time, 2) for time in ends))} s"
            for case, *ends in short.itertuples(name=None)
        ]
        commands = runs.loc[runs["application"] == "command", "case"]
        steps = "" if short.index.isin(commands).all() else "more steps (--steps N) or "
        sentences.append(
            f"Noise matters in short runs: {listed(spans)}. Use {steps}a larger input. The timed part should "
            "take at least 10 s."
        )
    longest = runs[is_timed & ~is_of_user].groupby("case", sort=False)["seconds"].max()
    short_cases = longest.index[longest < SHORT_SECONDS]
    if len(short_cases):
        sentences.append(
            f"The main loop of {listed(short_cases)} takes less than {SHORT_SECONDS:g} s. Such short times "
            "mostly show effects of the start. Use a larger size."
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
        f"World size not verified in {formats.whole(unverified)} of {counted(len(verified), 'valid run')}. "
        "The processes of such a run may not form one parallel run. The pattern read.processes verifies the "
        "size if the program prints its number of processes."
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
            f"The time of {listed(opposite)} and the wall time of the runs change in opposite directions "
            "between two process counts. Check that the program prints the wall time of its main loop. A sum "
            "over processes is not a wall time."
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
        return [
            f"Nodeworth flags outliers only at points with at least {counted(FEWEST, 'run')}. This study has "
            "no such point."
        ]
    total = f"Points with at least {counted(FEWEST, 'run')} have {counted(len(judged), 'valid run')}."
    if outliers.empty:
        return [f"{total} None of these runs is an outlier by {OUTLIER_RULE}."]
    outliers = outliers.assign(name=run_names(repetitions))
    farthest = max(as_lines(outliers), key=lambda line: abs(math.log(line["relative_seconds"])))
    deviation = 100 * (farthest["relative_seconds"] - 1)
    side = f"{formats.percent(abs(deviation))} {'above' if deviation > 0 else 'below'}"
    verb, which = "are outliers", "outlier farthest from its median, by ratio,"
    if len(outliers) == 1:
        verb, which = "is an outlier", "outlier"
    text = (
        f"{total} Of these runs, {formats.whole(len(outliers))} {verb} by {OUTLIER_RULE}. For each point, "
        "Nodeworth takes the quartiles of the logarithms of the times. An outlier lies more than 1.5 "
        "interquartile ranges below the lower or above the upper quartile. Estimates include outliers. The "
        f"{which} is run “{farthest['name']}” of {point_in_words(farthest, labels)}. Its time is {side} the "
        "median of its point."
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
    if len(outliers) == 1:
        return f" Other programs {'disturbed' if disturbed else 'did not disturb'} this run."
    return f" Other programs disturbed {formats.whole(disturbed) if disturbed else 'none'} of the outliers."


def drift_sentences(drift: pd.DataFrame, labels: Labels) -> list[str]:
    """Name the points that became slower or faster from their first to their last block."""
    tested = drift[drift["p_adjusted"].notna()]
    if tested.empty:
        return [
            f"Nodeworth judges drift only at points with at least {counted(FEWEST, 'block')}. This study has "
            "no such point."
        ]
    most_blocks = int(tested["n"].max())
    smallest_p = 2 / math.factorial(min(most_blocks, 20))
    if len(tested) * smallest_p > 1 - labels.facts.settings.level:
        points = counted(len(tested), "point")
        return [
            f"Nodeworth cannot detect drift at {points}, because each point has at most "
            f"{counted(most_blocks, 'block')}. Kendall's test with Holm's correction needs more blocks per "
            "point."
        ]
    test = f"Kendall's test with {correction_of(labels.facts)}"
    ordered = tested.loc[tested["drift_percent"].abs().sort_values(ascending=False).index]
    moved = ordered[ordered["distinguishable"]]
    if moved.empty:
        first = ordered.iloc[0].to_dict()
        return [
            f"Nodeworth tested {counted(len(tested), 'point')} and found no significant drift of the times "
            f"from the first run to the last. The test is {test}. The largest change from the first run "
            f"to the last is at {point_in_words(first, labels)}: {_change(first)}."
        ]
    first = moved.iloc[0].to_dict()
    verb = "drifts" if len(moved) == 1 else "drift"
    return [
        f"{formats.whole(len(moved))} of {counted(len(tested), 'point')} {verb} from the first run to the "
        f"last. The test is {test}. The largest drift is at {point_in_words(first, labels)}: "
        f"{_change(first)}."
        f"{_others_in(moved, 'drift')}"
    ]


def count_drifting(drift: pd.DataFrame) -> tuple[int, int]:
    """Count the points whose times drift, and the tested points."""
    tested = drift[drift["p_adjusted"].notna()]
    return int(tested["distinguishable"].sum()), len(tested)


def _others_in(rows: pd.DataFrame, table: str) -> str:
    """Name the table with all rows if a sentence names only the first of them."""
    return f" File tables/{table}.csv has all points." if len(rows) > 1 else ""


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
            f"The order of the runs is unknown at {counted(number, 'point')}. Nodeworth does not test drift "
            "or dependence on earlier runs at points of unknown order."
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
        f"The times of {counted(len(coarse), 'run')} are rounded to steps of up to {step}. Every interval "
        "has at least half a step on either side. A verdict of “faster” or “slower” requires a difference "
        "larger than the rounding."
    ]


def spread_sentences(variability: pd.DataFrame, labels: Labels) -> list[str]:
    """Compare the run-to-run spread of the interconnects with the spread of their baselines."""
    with_spread = variability[variability["spread_percent"].notna()]
    if with_spread.empty:
        return ["The run-to-run spread is unknown, because no point has two blocks."]
    return _spread_tests(with_spread, labels)


def stopped_sentences(variability: pd.DataFrame) -> list[str]:
    """Count the points without spread and drift, because runs were stopped at their time limit."""
    stopped = int(variability["seconds"].isna().sum())
    if not stopped:
        return []
    return [
        f"Spread and drift of {counted(stopped, 'point')} are unknown, because runs were stopped at their "
        "time limit. File tables/censored.csv lists the points."
    ]


def _spread_tests(with_spread: pd.DataFrame, labels: Labels) -> list[str]:
    tested = with_spread[with_spread["p_adjusted"].notna()]
    is_untested = with_spread["p_adjusted"].isna() & with_spread["baseline_spread_percent"].notna()
    number = int((is_untested & (with_spread["blocks"] > 1)).sum())
    dependent = []
    if number > 0:
        verb = "is" if number == 1 else "are"
        dependent.append(
            f"{counted(number, 'spread')} {verb} not compared with the spread of the baseline, because later "
            "blocks seem to depend on earlier blocks."
        )
    if tested.empty:
        return dependent or [
            "Nodeworth could not test whether the spread of an interconnect differs from the spread of its "
            "baseline. The test needs two interconnects of the same kind, such as measured. Both need runs "
            "at the same count in at least two common blocks."
        ]
    test = (
        f"the signed-rank test of absolute deviations with {correction_of(labels.facts)}. If the differences "
        "of the deviations are clearly asymmetric, the sign test replaces the signed-rank test"
    )
    differing = tested[tested["distinguishable"]]
    if differing.empty:
        return [
            "Nodeworth found no significant difference between the spreads of an interconnect and of its "
            f"baseline in {counted(len(tested), 'comparison')}. The test is {test}.",
            *dependent,
        ]
    first = differing.sort_values("p_adjusted", kind="stable").iloc[0].to_dict()
    return [
        f"The spread differs from the spread of the baseline in {formats.whole(len(differing))} of "
        f"{counted(len(tested), 'comparison')}. The test is {test}. The clearest difference is at "
        f"{point_in_words(first, labels)}: {_spreads(first, labels)}.{_others_in(differing, 'variability')}",
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
        return [f"Nodeworth found no dependence between the blocks of {ratios} to the baseline."]
    first = dependent.sort_values("effective_blocks", kind="stable").iloc[0].to_dict()
    verb, their = ("has a wider interval", "its")
    if len(dependent) > 1:
        verb, their = ("have wider intervals", "their")
    return [
        f"{formats.whole(len(dependent))} of {ratios} to the baseline {verb}, because {their} blocks may "
        f"depend on earlier blocks. The strongest dependence is at {point_in_words(first, labels)}: "
        f"{formats.whole(first['blocks'])} blocks equal {formats.number(first['effective_blocks'], 2)} "
        f"independent blocks.{_others_in(dependent, 'variability')} If whole sweeps depend on earlier "
        "sweeps, the bootstrap draws fewer sweeps. Fewer sweeps widen the intervals of speedups and of all "
        "other quantities derived from times."
    ]


def unpaired_dependence_sentences(improvement: pd.DataFrame) -> list[str]:
    """Count unpaired comparisons with wider intervals because imported times depend on earlier times."""
    widened = [line for line in as_lines(improvement) if allows_for_correlation(line)]
    if not widened:
        return []
    intervals = "interval" if len(widened) == 1 else "intervals"
    least = formats.number(min(as_float(line["effective_blocks"]) for line in widened), 2)
    return [
        f"Successive imported times may be correlated. Nodeworth therefore widens the {intervals} of "
        f"{counted(len(widened), 'unpaired comparison')}. For these intervals, the runs of a point "
        f"count as {least} or more independent runs."
    ]


def _spreads(row: Line, labels: Labels) -> str:
    spread, of_baseline = (
        formats.percent(row[f"{prefix}spread_percent"], places=1) for prefix in ("", "baseline_")
    )
    baseline = labels.interconnect(row["baseline_interconnect"], row["kind"])
    return f"{spread} against {of_baseline} of {baseline}, {formats.p_value(row['p_adjusted'])}"


def with_interval(precision: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of ``precision`` with an interval; a time compared with itself has none."""
    return precision[precision["half_width_percent"] > 0]


def precision_sentences(precision: pd.DataFrame, has_measured: bool = True) -> list[str]:
    """State how many improvements have narrow enough intervals, and how many blocks the others need.

    Parameters
    ----------
    has_measured : bool
        Whether Nodeworth made runs of the study, so that longer or quieter runs are a remedy.
    """
    compared = with_interval(precision)
    if compared.empty:
        return ["No improvement has an interval, because the blocks are too few."] if len(precision) else []
    target = f"±{formats.number(compared['target_percent'].iloc[0], 2)} percentage points"
    wide = compared[~compared["reached"]]
    accepted = f"The study accepts intervals of up to {target}."
    if wide.empty:
        every = "The interval of 1 improvement is"
        if len(compared) > 1:
            every = f"The intervals of all {counted(len(compared), 'improvement')} are"
        return [f"{accepted} {every} narrow enough."]
    sentences = [
        accepted,
        f"{formats.whole(len(wide))} of {counted(len(compared), 'improvement')} "
        f"{'has a wider interval' if len(wide) == 1 else 'have wider intervals'}.",
    ]
    if wide["blocks_wanted"].notna().any():
        sentences.append(
            "Column blocks_wanted of tables/precision.csv estimates how many blocks would narrow each "
            "interval to this width. The width of an interval shrinks about as 1 / √blocks."
        )
    if number := int((wide["blocks_wanted"] > MOST_TIMES * wide["blocks"]).sum()):
        sentences.append(
            f"For {formats.whole(number)} of these intervals, the estimate is more than {MOST_TIMES} times "
            "the present number of blocks."
        )
        if has_measured:
            sentences.append("More steps per run or an idle machine would also narrow the intervals.")
    return [" ".join(sentences)]


def point_in_words(row: Line, labels: Labels) -> str:
    """Name a point in a sentence."""
    text = f"“{labels.case(row['case'])}”"
    if not is_missing(row["interconnect"]):
        text += f" over {labels.interconnect(row['interconnect'], row['kind'])}"
    text += f" on {processes(row['processes'])}"
    return text if row["oversubscription"] == 1 else f"{text} at oversubscription {row['oversubscription']}"


def point_name(row: Line, labels: Labels) -> str:
    """Name a point by its case, interconnect and processes."""
    text = f"{labels.case(row['case'])}, {labels.interconnect(row['interconnect'], row['kind'])}"
    if row["processes"] > 1:
        text += f", {processes(row['processes'])}"
    return text if row["oversubscription"] == 1 else f"{text} at oversubscription {row['oversubscription']}"
