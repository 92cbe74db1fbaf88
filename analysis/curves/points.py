"""Points: medians of block times, their intervals and bootstrap draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple
from zlib import crc32

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.runs.groups import Groups, coded, combined, labelled, rectangles, runs_of
from analysis.runs.runs import ENDS_OF_COMPUTING, UNKNOWN_ORDER, TableError, timed_rows
from analysis.runs.settings import Settings
from analysis.statistics import Floats, Integers
from analysis.statistics.bootstrap import FEWEST, FEWEST_ALONE, median_draws, median_interval
from analysis.statistics.dependence import (
    LEAST,
    MANY,
    PooledCorrelation,
    effective_blocks,
    pooled_correlation,
)

PLACE = ["case", "site", "machine"]
"""Columns that are equal for all runs of a sweep.

`machine` is ``here`` for runs on a site's machine, else the kind of the runs."""
GROUP = [*PLACE, "processes", "oversubscription"]
"""Columns that are equal for all runs of a block."""
POINT = [*GROUP, "kind", "interconnect", "nodes", "threads"]
BANDS = ["seconds_low", "seconds_high"]
_BAND_COLUMNS = (*BANDS, *ENDS_OF_COMPUTING)
_TEXTS = ("case", "site", "machine", "kind", "interconnect")
DITHERED = 4
"""Width of an interval, in rounding steps, from which on rounding is only one more source of noise."""
FEWEST_DRAWS = 500
"""Fewest bootstrap draws of each corner of the rounding, if the study has as many."""
MORE_DRAWS = 4
"""Draws of all corners of the rounding together, as a multiple of the draws of the study."""


class Sample(NamedTuple):
    """Block times of a point.

    Attributes
    ----------
    blocks : array (blocks,)
        Block numbers, increasing.
    seconds : array (blocks,)
        Median time of each block; the lower bound for a stopped block.
    sweeps : array (blocks,)
        Sweep of each block; empty if the sweeps do not matter.
    longest : array (blocks,) or None
        Upper bounds of the times, infinite for a stopped block; None if no block was stopped.
    starts : array (2, blocks) or None
        Start of the first and of the last run of each block, in seconds; NaN if a start is unknown.
    order_from : str
        Evidence for the order of the runs, as in the runs table; empty for runs of Nodeworth itself.
    half_step : float
        Half the step, in seconds, to which times were rounded; 0 without rounding.
    pooled : PooledCorrelation or None
        Correlation of the case's imported runs with earlier runs, for a point of `LEAST` to `MANY` runs.
        None for runs of Nodeworth itself, and for runs of unknown order.
    """

    blocks: Integers
    seconds: Floats
    sweeps: Integers = np.empty(0, np.int64)
    longest: Floats | None = None
    starts: Floats | None = None
    order_from: str = ""
    half_step: float = 0.0
    pooled: PooledCorrelation | None = None

    @property
    def stopped(self) -> bool:
        """Whether a block was stopped at its time limit."""
        return self.longest is not None

    @property
    def at_most(self) -> Floats:
        """Upper bounds of the block times."""
        return self.seconds if self.longest is None else self.longest

    @property
    def ordered(self) -> bool:
        """Whether the order of the runs is known."""
        return not self.order_from.startswith(UNKNOWN_ORDER)

    @property
    def forbids_verdict(self) -> bool:
        """Whether the runs depend on each other, and are too few to show how much."""
        return self.pooled is not None and self.pooled.forbids_verdict

    @property
    def rounding(self) -> float:
        """Half the step of the rounding as a share of the median time."""
        return self.half_step / float(np.median(self.seconds)) if self.half_step else 0.0

    def at(self, positions: Integers) -> Sample:
        """Restrict the sample to some of its blocks, without sweeps."""
        longest, starts = (
            None if times is None else times[..., positions] for times in (self.longest, self.starts)
        )
        blocks, seconds = self.blocks[positions], self.seconds[positions]
        return self._replace(
            blocks=blocks, seconds=seconds, sweeps=np.empty(0, np.int64), longest=longest, starts=starts
        )


def block_logs(samples: Sequence[Sample]) -> tuple[Integers, Floats]:
    """Return all blocks of several points, increasing, and log times (points, blocks) with NaN if missing."""
    blocks = np.unique(np.concatenate([sample.blocks for sample in samples]))
    logs = np.full((len(samples), len(blocks)), np.nan)
    for row, sample in zip(logs, samples, strict=True):
        row[np.searchsorted(blocks, sample.blocks)] = np.log(sample.seconds)
    return blocks, logs


def roundings(samples: Sequence[Sample]) -> Floats:
    """Return half the rounding step as a share of each point's time, array (points,)."""
    return np.array([sample.rounding for sample in samples])


@dataclass(frozen=True)
class CasePoints:
    """Points of one case.

    Attributes
    ----------
    table : dict of arrays (points,)
        Columns of `point_table`.
    samples : list of Sample
        Block times of each point.
    draws : list of array (scenarios, B)
        Bootstrap draws of each point's median time. A measured point has one scenario, or the scenarios of
        `corners` if any times are rounded coarsely. A simulated point has no blocks to draw from, so it has
        the scenarios of `corners` and B = 1. All NaN if a point has no draws, as with a stopped run.
    """

    case: str
    table: dict[str, NDArray]
    samples: list[Sample]
    draws: list[Floats]


def block_times(runs: pd.DataFrame, quantity: str = "seconds") -> tuple[dict[str, NDArray], Integers]:
    """Compute the median of the repetitions of each point in each block.

    Repetitions count if they are valid or were stopped at their time limit.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.runs.runs.complete_runs` returns it.
    quantity : str
        Column that replaces ``seconds``: ``energy_joules``, which every row must have.

    Returns
    -------
    times : dict of arrays (times,)
        Sorted by point and block:

        - `POINT`, ``cores``, ``block``: an empty `interconnect` is a serial run, an empty `site` is the only
          site, `nodes` 0 is unknown.
        - ``seconds``, ``at_most``: bounds of the median, which differ if runs were stopped. ``paces`` is the
          time for any quantity. The ends of the band follow, if there are any.
        - ``sweep``: times with equal `PLACE` and ``sweep`` were recorded together.
        - ``order_from``, ``first_start``, ``last_start``, ``half_step``: as in `Sample`. ``half_step`` is 0
          for any quantity other than time; ``pace_half_step`` is the value for the paces.
    point : array (times,)
        Index of the point of each time.
    """
    timed = timed_rows(runs)
    elsewhere = timed["kind"].isin(["simulated", "published"])
    timed = timed.assign(machine=timed["kind"].where(elsewhere, "here"))
    keys = [*POINT, "cores", "block"]
    codes = {name: labelled(timed[name], "" if name in _TEXTS else 0) for name in keys}
    groups = Groups.of(*(codes[name][0] for name in keys))
    times = {name: labels[row_codes[groups.rows]] for name, (row_codes, labels) in codes.items()}
    times["paces"] = times["seconds"] = groups.median(timed["seconds"].to_numpy())
    if quantity != "seconds":
        times["seconds"] = groups.median(timed[quantity].to_numpy())
    times["at_most"] = times["seconds"]
    if "censored" in timed and timed["censored"].any():
        times["at_most"] = groups.median(timed["seconds"].mask(timed["censored"], np.inf).to_numpy())
    times["sweep"] = _sweeps(timed, groups, [codes[name][0] for name in PLACE], times["block"])
    order_from, labels = labelled(timed["order_from"], "")
    times["order_from"] = labels[order_from[groups.rows]]
    times["first_start"], times["last_start"] = _starts(timed, groups)
    times["pace_half_step"] = np.zeros(len(groups.first))
    if "resolution_seconds" in timed and len(timed):
        steps = timed["resolution_seconds"].where(timed["kind"] != "simulated").fillna(0).to_numpy(float)
        times["pace_half_step"] = np.maximum.reduceat(steps[groups.order], groups.first) / 2
    times["half_step"] = times["pace_half_step"] * (quantity == "seconds")
    for name in (name for name in _BAND_COLUMNS if name in timed):
        times[name] = timed[name].groupby(groups.number).median().to_numpy()
    point_codes = combined([codes[name][0][groups.rows] for name in POINT])
    return times, np.cumsum(np.diff(point_codes, prepend=point_codes[:1]) != 0)


def _sweeps(timed: pd.DataFrame, groups: Groups, place: list[Integers], block: Integers) -> Integers:
    """Return the sweep of each block time: its block number, unless it was recorded at another time.

    The times of a place are sorted by their start. If the block number then falls by two or more, a later
    recording begins, for example of counts that were added to the study.
    """
    if not timed["started"].notna().any():
        return block
    started = pd.to_datetime(timed["started"].iloc[groups.rows], errors="coerce", utc=True, format="ISO8601")
    has_start = started.notna().to_numpy()
    place_codes = combined([codes[groups.rows] for codes in place])
    order = np.lexsort((block, started.to_numpy(), place_codes))
    order = order[has_start[order]]
    restarts = (np.diff(block[order]) < -1) & (np.diff(place_codes[order]) == 0)
    later = np.concatenate([[0], np.cumsum(restarts)]) if len(order) else order
    sweep = block.copy()
    sweep[order] += (later + 1) * (block.max(initial=0) + 1)
    return sweep


def _starts(timed: pd.DataFrame, groups: Groups) -> Floats:
    """Return the first and last start of each block time, array (2, times), in seconds; NaN if unknown.

    Starts matter for imported runs only, since Nodeworth itself runs interconnects in turns.
    """
    if timed["order_from"].isna().all():
        return np.full((2, len(groups.first)), np.nan)
    started = pd.to_datetime(timed["started"], errors="coerce", utc=True, format="ISO8601")
    seconds = ((started - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1)).to_numpy(float)[groups.order]
    return np.stack([end.reduceat(seconds, groups.first) for end in (np.minimum, np.maximum)])


def point_table(times: dict[str, NDArray], point: Integers, confidence: float) -> dict[str, NDArray]:
    """Compute the median time of each point with its order-statistic interval.

    Parameters
    ----------
    times, point
        As `block_times` returns them.
    confidence : float
        Nominal coverage of the intervals.

    Returns
    -------
    dict of arrays (points,)
        - `POINT`, ``cores``, ``n``, ``seconds``, ``seconds_low``, ``seconds_high``, ``coverage``. A simulated
          point has its band and neither n nor coverage. A median or end beyond a time limit is NaN.
        - ``censored``: number of stopped blocks.
        - `ENDS_OF_COMPUTING`, ``order_from`` and ``half_step``: as in the runs table and in `Sample`.
        - ``first``: position of the point's first block time.
        - ``coarse``: whether the point has draws and an interval of fewer than `DITHERED` rounding steps.

    Raises
    ------
    TableError
        If a point has two core counts.
    """
    first, n = runs_of(point)
    table = {name: times[name][first] for name in [*POINT, "cores"]}
    other_cores = times["cores"] != np.repeat(table["cores"], n)
    if other_cores.any():
        row = {name: times[name][other_cores.argmax()] for name in ("case", "interconnect", "processes")}
        where = f"case '{row['case']}', interconnect '{row['interconnect']}', {row['processes']} processes"
        raise TableError("two core counts for one point", where, column="cores")
    columns = {name: np.full(len(first), np.nan) for name in ("n", "seconds", *_BAND_COLUMNS, "coverage")}
    columns["n"][:] = n
    for points, rows in rectangles(first, n):
        samples = times["seconds"][rows]
        columns["seconds"][points] = np.median(samples, axis=1)
        _, effective, _ = effective_blocks(np.log(samples))
        low, high, coverage = median_interval(samples, confidence, effective)
        columns["seconds_low"][points], columns["seconds_high"][points] = low, high
        columns["coverage"][points] = coverage
    columns["censored"] = np.zeros(len(first), np.int64)
    stopped = times["at_most"] != times["seconds"]
    for number in np.unique(point[stopped]):
        blocks = slice(first[number], first[number] + n[number])
        at_most = times["at_most"][blocks]
        high = median_interval(at_most[None], confidence)[1][0]
        columns["seconds_high"][number] = high if np.isfinite(high) else np.nan
        if np.median(at_most) != columns["seconds"][number]:
            columns["seconds"][number] = np.nan
        columns["censored"][number] = stopped[blocks].sum()
    columns |= _rounding(times, first, n, confidence)
    half, seconds = columns["half_step"], columns["seconds"]
    rounded = (half > 0) & ~np.isnan(seconds)
    columns["seconds_low"][rounded] = np.minimum(columns["seconds_low"], seconds - half)[rounded]
    columns["seconds_high"][rounded] = np.maximum(columns["seconds_high"], seconds + half)[rounded]
    order_from = times["order_from"][first]
    differs = times["order_from"] != np.repeat(order_from, n)
    has_several = np.bincount(np.repeat(np.arange(len(n)), n), differs, len(n)) > 0
    columns["order_from"] = np.where(has_several, UNKNOWN_ORDER, order_from)
    simulated = table["kind"] == "simulated"
    for name in ("n", *BANDS, "coverage"):
        columns[name][simulated] = np.nan
    for name in (name for name in _BAND_COLUMNS if name in times):
        ends = pd.Series(times[name]).groupby(point).median().to_numpy()
        columns[name][simulated] = ends[simulated]
    return table | columns | {"first": first}


def _rounding(
    times: dict[str, NDArray], first: Integers, n: Integers, confidence: float
) -> dict[str, NDArray]:
    """Return the columns ``half_step`` and ``coarse`` of `point_table`."""
    if not times["pace_half_step"].any():
        return {"half_step": np.zeros(len(first)), "coarse": np.zeros(len(first), bool)}
    half, pace_half = (np.maximum.reduceat(times[name], first) for name in ("half_step", "pace_half_step"))
    coarse = (pace_half > 0) & (n >= FEWEST)
    for points, rows in rectangles(first, n):
        low, high, _ = median_interval(times["paces"][rows], confidence)
        coarse[points] &= high - low < DITHERED * 2 * pace_half[points]
    return {"half_step": half, "coarse": coarse}


def cases(runs: pd.DataFrame, settings: Settings, quantity: str = "seconds") -> Iterator[CasePoints]:
    """Yield the points of each case with their bootstrap draws.

    Any `quantity` has the same draws of sweeps as the time of the same rows.

    The draws depend on the seed, the case, the site, the machine and the sweeps, so a study that grows by
    another case keeps its draws. A point with a stopped run has no draws. A point whose median is beyond the
    time limit is skipped.
    """
    times, point = block_times(runs, quantity)
    points = point_table(times, point, settings.level)
    if (unknown := np.isnan(points["seconds"])).any():
        kept = ~unknown[point]
        times = {name: column[kept] for name, column in times.items()}
        point = np.unique(point[kept], return_inverse=True)[1]
        points = point_table(times, point, settings.level)
    bounds = [*points["first"].tolist(), len(point)]
    starts, _ = runs_of(points["case"])
    ends = corners(points)
    at_corners = ends * points["half_step"][:, None] if points["coarse"].any() else None
    imported = bool((points["order_from"] != "").any())
    for start, stop in pairwise([*starts, len(points["case"])]):
        table = {name: column[start:stop] for name, column in points.items()}
        rows = [slice(*row) for row in pairwise(bounds[start : stop + 1])]
        samples = [Sample(times["block"][row], times["seconds"][row], times["sweep"][row]) for row in rows]
        for number, row in enumerate(rows if imported else ()):
            samples[number] = samples[number]._replace(
                starts=np.stack([times["first_start"][row], times["last_start"][row]]),
                order_from=str(table["order_from"][number]),
                half_step=float(table["half_step"][number]),
            )
        for number in np.flatnonzero(table["censored"]).tolist():
            samples[number] = samples[number]._replace(longest=times["at_most"][rows[number]])
        if imported:
            samples = _with_pooled_correlation(samples, table["kind"] == "simulated")
        paces = samples
        if quantity != "seconds":
            paces = [
                sample._replace(seconds=times["paces"][row])
                for sample, row in zip(samples, rows, strict=True)
            ]
        offsets = None if at_corners is None else at_corners[start:stop]
        draws = _case_draws(table, samples, paces, ends[start:stop], offsets, settings)
        yield CasePoints(table["case"][0], table, samples, draws)


def _with_pooled_correlation(samples: Sequence[Sample], is_simulated: NDArray[np.bool_]) -> list[Sample]:
    """Add the correlation of imported runs with earlier runs, where their order is known, to a case."""
    in_order = [
        bool(sample.order_from) and sample.ordered and not sample.stopped and not simulated
        for sample, simulated in zip(samples, is_simulated, strict=True)
    ]
    pooled = pooled_correlation(
        [np.log(sample.seconds) for sample, has_order in zip(samples, in_order, strict=True) if has_order]
    )
    return [
        sample._replace(pooled=pooled) if has_order and LEAST <= len(sample.blocks) < MANY else sample
        for sample, has_order in zip(samples, in_order, strict=True)
    ]


def corners(table: dict[str, NDArray]) -> NDArray[np.int8]:
    """Return scenarios for points with a band: which end of its band each point takes.

    Simulated and coarsely rounded points have a band. A derived quantity rises or falls with each time, so
    it attains its range at corners of the bands. The scenarios are: all points at their time; all points at
    one end; and one part at one end with the rest at the other end. A part is an interconnect with its level,
    a process count, all counts up to a count, or a number of nodes. All cases have the same scenarios, so
    that cases can be joined.

    Parameters
    ----------
    table : dict of arrays (points,)
        As `point_table` returns it.

    Returns
    -------
    array (points, scenarios)
        -1 for the low end, 0 for the time itself, 1 for the high end; no columns if no point has a band.
    """
    banded = (table["kind"] == "simulated") | table["coarse"]
    if not banded.any():
        return np.empty((len(banded), 0), np.int8)
    levels = combined([coded(pd.Series(table[name]))[0] for name in ("interconnect", "oversubscription")])
    sides = [np.ones(len(banded), bool)]
    for feature in (levels, table["processes"], table["nodes"]):
        sides += [feature == value for value in np.unique(feature[banded])]
    sides += [table["processes"] <= value for value in np.unique(table["processes"][banded])]
    signs = np.unique(np.where(sides, 1, -1), axis=0)
    return np.concatenate([np.zeros_like(signs[:1]), signs, -signs]).T.astype(np.int8)


def _case_draws(
    table: dict[str, NDArray],
    samples: list[Sample],
    paces: list[Sample],
    ends: NDArray[np.int8],
    offsets: Floats | None,
    settings: Settings,
) -> list[Floats]:
    """Return the draws of every point; points of one site and machine share sweeps.

    Parameters
    ----------
    paces : list of Sample
        Times of `samples` of any quantity, from which the number of drawn sweeps follows.
    ends : array (points, scenarios)
        As `corners` returns it; simulated points take these ends of their bands.
    offsets : array (points, scenarios) or None
        Seconds by which each corner of the rounding moves the times, if some are rounded coarsely.
    """
    draws: list[Floats] = [np.empty(0)] * len(samples)
    keys = list(zip(*(table[name].tolist() for name in PLACE), strict=True))
    members: dict[tuple, list[int]] = {}
    for number, key in enumerate(keys):
        members.setdefault(key, []).append(number)
    for key, numbers in members.items():
        if table["kind"][numbers[0]] == "simulated":
            low, high = (table[name][numbers] for name in BANDS)
            middle = np.where(np.isnan(low + high), np.nan, table["seconds"][numbers])
            bands = np.stack([low, middle, high], axis=1)
            rows = np.take_along_axis(bands, ends[numbers] + np.intp(1), axis=1)[..., None]
        else:
            rng = np.random.default_rng([settings.seed, *(crc32(text.encode()) for text in key if text)])
            times = _matrix([samples[number] for number in numbers])
            pace = times if paces is samples else _matrix([paces[number] for number in numbers])
            counts = combined([table[name][numbers] for name in ("processes", "oversubscription", "threads")])
            is_imported = all(samples[number].order_from for number in numbers)
            fewest_alone = FEWEST_ALONE if is_imported else FEWEST
            rows = median_draws(times, settings.draws, rng, counts, pace, fewest_alone)[:, None]
            if offsets is not None:
                draws_per_corner = max(MORE_DRAWS * settings.draws // offsets.shape[1], FEWEST_DRAWS)
                rows = rows[..., :draws_per_corner] + offsets[numbers][..., None]
        for number, row in zip(numbers, rows, strict=True):
            draws[number] = np.full_like(row, np.nan) if table["censored"][number] else row
    return draws


def _matrix(samples: list[Sample]) -> Floats:
    """Return times (points, sweeps) of one place, with the sweeps in order; NaN if a point lacks a sweep."""
    if len({sample.sweeps.tobytes() for sample in samples}) == 1:
        return np.stack([sample.seconds for sample in samples])
    sweeps = np.unique(np.concatenate([sample.sweeps for sample in samples]))
    times = np.full((len(samples), len(sweeps)), np.nan)
    for row, sample in zip(times, samples, strict=True):
        row[np.searchsorted(sweeps, sample.sweeps)] = sample.seconds
    return times
