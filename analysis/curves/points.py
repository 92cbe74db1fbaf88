"""From repetitions to block times to points: the medians everything else stands on."""

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
from analysis.statistics.bootstrap import FEWEST, median_draws, median_interval
from analysis.statistics.dependence import effective_blocks

PLACE = ["case", "site", "machine"]
"""What may share sweeps. `machine` is ``here`` for runs on a site's machine, else the kind of the runs."""
GROUP = [*PLACE, "processes", "oversubscription"]
"""What shares blocks."""
POINT = [*GROUP, "kind", "interconnect", "nodes", "threads"]
BANDS = ["seconds_low", "seconds_high"]
_OF_BANDS = (*BANDS, *ENDS_OF_COMPUTING)
_TEXTS = ("case", "site", "machine", "kind", "interconnect")
DITHERED = 4
"""Steps of the rounding from which on an interval of times holds it: then rounding is one more noise."""
FEWEST_DRAWS = 500
"""Bootstrap draws of each corner of the rounding at least, where the study has so many."""
MORE_DRAWS = 4
"""Times as many draws as a study has that all corners of the rounding have together."""


class Sample(NamedTuple):
    """Block times.

    Attributes
    ----------
    blocks : array (blocks,)
        Their numbers, increasing.
    seconds : array (blocks,)
        Of a block that was stopped, what it took at least.
    sweeps : array (blocks,)
        Of a point, the sweeps that they are of.
    longest : array (blocks,) or None
        What they took at most, infinite where a block was stopped; None where none was.
    starts : array (2, blocks) or None
        When the first and the last run of a block began, in seconds; NaN where some start is unknown.
    order_from : str
        As in the runs table; empty for runs of Nodeworth itself.
    half_step : float
        Half the step, in seconds, to which times were rounded; 0 without rounding.
    """

    blocks: NDArray[np.int64]
    seconds: Floats
    sweeps: NDArray[np.int64] = np.empty(0, np.int64)
    longest: Floats | None = None
    starts: Floats | None = None
    order_from: str = ""
    half_step: float = 0.0

    @property
    def stopped(self) -> bool:
        """Whether a block was stopped at its time limit."""
        return self.longest is not None

    @property
    def at_most(self) -> Floats:
        """What the blocks took at most."""
        return self.seconds if self.longest is None else self.longest

    @property
    def ordered(self) -> bool:
        """Whether the order of the runs is known."""
        return not self.order_from.startswith(UNKNOWN_ORDER)

    @property
    def rounding(self) -> float:
        """Half the step of the rounding as a share of the median time."""
        return self.half_step / float(np.median(self.seconds)) if self.half_step else 0.0

    def at(self, positions: Integers) -> Sample:
        """The sample in some of its blocks alone, without its sweeps."""
        longest, starts = (
            None if times is None else times[..., positions] for times in (self.longest, self.starts)
        )
        blocks, seconds = self.blocks[positions], self.seconds[positions]
        return self._replace(
            blocks=blocks, seconds=seconds, sweeps=np.empty(0, np.int64), longest=longest, starts=starts
        )


def block_logs(samples: Sequence[Sample]) -> tuple[Integers, Floats]:
    """All blocks of several points, increasing, and log times (points, blocks), NaN for what is missing."""
    blocks = np.unique(np.concatenate([sample.blocks for sample in samples]))
    logs = np.full((len(samples), len(blocks)), np.nan)
    for row, sample in zip(logs, samples, strict=True):
        row[np.searchsorted(blocks, sample.blocks)] = np.log(sample.seconds)
    return blocks, logs


def roundings(samples: Sequence[Sample]) -> Floats:
    """Half the step of the rounding as a share of the time of each point, array (points,)."""
    return np.array([sample.rounding for sample in samples])


@dataclass(frozen=True)
class CasePoints:
    """The points of one case.

    Attributes
    ----------
    table : dict of arrays (points,)
        Columns of `point_table`.
    samples : list of Sample
        Block times of each point.
    draws : list of array (scenarios, B)
        Bootstrap draws of each point's median time. A simulated point has no blocks to draw from: its
        scenarios are those of `corners`, one value each. Where times are rounded coarsely, the draws of runs
        have these scenarios too. NaN where there is nothing.
    """

    case: str
    table: dict[str, NDArray]
    samples: list[Sample]
    draws: list[Floats]


def block_times(runs: pd.DataFrame, quantity: str = "seconds") -> tuple[dict[str, NDArray], Integers]:
    """Median of the repetitions of each point in each block that are valid or were stopped at their limit.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.runs.runs.complete_runs` gives it.
    quantity : str
        Column that stands for ``seconds``: ``energy_joules``, which every row then has.

    Returns
    -------
    times : dict of arrays (times,)
        `POINT`, ``cores, block, seconds, at_most, sweep`` (and the band's ends, if any), sorted by these.
        ``paces`` are the times themselves, whatever the quantity.
        An empty `interconnect` is a serial run, an empty `site` the only one; `nodes` 0 is unknown. Times of
        one `PLACE` and ``sweep`` were recorded together. Where runs were stopped, the time is between
        ``seconds``, which takes them to have ended at their limit, and ``at_most``. ``order_from``,
        ``first_start``, ``last_start`` and ``half_step`` are those of `Sample`, ``half_step`` 0 for another
        quantity; ``pace_half_step`` is that of the paces.
    point : array (times,)
        Number of the point that each belongs to.
    """
    valid = timed_rows(runs)
    elsewhere = valid["kind"].isin(["simulated", "published"])
    valid = valid.assign(machine=valid["kind"].where(elsewhere, "here"))
    keys = [*POINT, "cores", "block"]
    codes = {name: labelled(valid[name], "" if name in _TEXTS else 0) for name in keys}
    groups = Groups.of(*(codes[name][0] for name in keys))
    times = {name: labels[of_row[groups.rows]] for name, (of_row, labels) in codes.items()}
    times["paces"] = times["seconds"] = groups.median(valid["seconds"].to_numpy())
    if quantity != "seconds":
        times["seconds"] = groups.median(valid[quantity].to_numpy())
    times["at_most"] = times["seconds"]
    if "censored" in valid and valid["censored"].any():
        times["at_most"] = groups.median(valid["seconds"].mask(valid["censored"], np.inf).to_numpy())
    times["sweep"] = _sweeps(valid, groups, [codes[name][0] for name in PLACE], times["block"])
    order_from, labels = labelled(valid["order_from"], "")
    times["order_from"] = labels[order_from[groups.rows]]
    times["first_start"], times["last_start"] = _starts(valid, groups)
    times["pace_half_step"] = np.zeros(len(groups.first))
    if "resolution_seconds" in valid and len(valid):
        steps = valid["resolution_seconds"].where(valid["kind"] != "simulated").fillna(0).to_numpy(float)
        times["pace_half_step"] = np.maximum.reduceat(steps[groups.order], groups.first) / 2
    times["half_step"] = times["pace_half_step"] * (quantity == "seconds")
    for name in (name for name in _OF_BANDS if name in valid):
        times[name] = valid[name].groupby(groups.number).median().to_numpy()
    of_point = combined([codes[name][0][groups.rows] for name in POINT])
    return times, np.cumsum(np.diff(of_point, prepend=of_point[:1]) != 0)


def _sweeps(valid: pd.DataFrame, groups: Groups, place: list[Integers], block: NDArray) -> Integers:
    """Number of the sweep of each block time: its block's, apart for what was recorded at another time.

    Times of a place in order of their start: where the block number falls by two or more, something was
    recorded for itself, as counts are that are added to a study later.
    """
    if not valid["started"].notna().any():
        return block
    started = pd.to_datetime(valid["started"].iloc[groups.rows], errors="coerce", utc=True, format="ISO8601")
    known = started.notna().to_numpy()
    of_place = combined([codes[groups.rows] for codes in place])
    order = np.lexsort((block, started.to_numpy(), of_place))
    order = order[known[order]]
    same = np.diff(of_place[order]) == 0
    later = np.concatenate([[0], np.cumsum((np.diff(block[order]) < -1) & same)]) if len(order) else order
    sweep = block.copy()
    sweep[order] += (later + 1) * (block.max(initial=0) + 1)
    return sweep


def _starts(valid: pd.DataFrame, groups: Groups) -> Floats:
    """First and last start of each block time, array (2, times), in seconds; NaN where some is unknown.

    Without imported runs nothing asks for it: Nodeworth itself runs interconnects in turns.
    """
    if valid["order_from"].isna().all():
        return np.full((2, len(groups.first)), np.nan)
    started = pd.to_datetime(valid["started"], errors="coerce", utc=True, format="ISO8601")
    seconds = ((started - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1)).to_numpy(float)[groups.order]
    return np.stack([end.reduceat(seconds, groups.first) for end in (np.minimum, np.maximum)])


def point_table(times: dict[str, NDArray], point: Integers, confidence: float) -> dict[str, NDArray]:
    """Median time of each point with its order-statistic interval.

    Parameters
    ----------
    times, point
        As `block_times` gives them.

    Returns
    -------
    dict of arrays (points,)
        `POINT`, ``cores, n, seconds, seconds_low, seconds_high, coverage, censored``, `ENDS_OF_COMPUTING` and
        ``first``: where the point's block times begin. A simulated point has its band and neither n nor
        coverage. ``censored`` is the number of blocks that are not known; a median or end beyond a limit is
        NaN. ``order_from`` and ``half_step`` are those of `Sample`. ``coarse``: whether points with draws
        have an interval of fewer than `DITHERED` steps of the rounding.

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
    columns = {name: np.full(len(first), np.nan) for name in ("n", "seconds", *_OF_BANDS, "coverage")}
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
        rows = slice(first[number], first[number] + n[number])
        at_most = times["at_most"][rows]
        high = median_interval(at_most[None], confidence)[1][0]
        columns["seconds_high"][number] = high if np.isfinite(high) else np.nan
        if np.median(at_most) != columns["seconds"][number]:
            columns["seconds"][number] = np.nan
        columns["censored"][number] = stopped[rows].sum()
    columns |= _rounding(times, first, n, confidence)
    half, seconds = columns["half_step"], columns["seconds"]
    rounded = (half > 0) & ~np.isnan(seconds)
    columns["seconds_low"][rounded] = np.minimum(columns["seconds_low"], seconds - half)[rounded]
    columns["seconds_high"][rounded] = np.maximum(columns["seconds_high"], seconds + half)[rounded]
    order_from = times["order_from"][first]
    differs = times["order_from"] != np.repeat(order_from, n)
    several = np.bincount(np.repeat(np.arange(len(n)), n), differs, len(n)) > 0
    columns["order_from"] = np.where(several, UNKNOWN_ORDER, order_from)
    simulated = table["kind"] == "simulated"
    for name in ("n", *BANDS, "coverage"):
        columns[name][simulated] = np.nan
    for name in (name for name in _OF_BANDS if name in times):
        ends = pd.Series(times[name]).groupby(point).median().to_numpy()
        columns[name][simulated] = ends[simulated]
    return table | columns | {"first": first}


def _rounding(
    times: dict[str, NDArray], first: Integers, n: Integers, confidence: float
) -> dict[str, NDArray]:
    """Columns ``half_step`` and ``coarse`` of `point_table`."""
    if not times["pace_half_step"].any():
        return {"half_step": np.zeros(len(first)), "coarse": np.zeros(len(first), bool)}
    half, pace_half = (np.maximum.reduceat(times[name], first) for name in ("half_step", "pace_half_step"))
    coarse = (pace_half > 0) & (n >= FEWEST)
    for points, rows in rectangles(first, n):
        low, high, _ = median_interval(times["paces"][rows], confidence)
        coarse[points] &= high - low < DITHERED * 2 * pace_half[points]
    return {"half_step": half, "coarse": coarse}


def cases(runs: pd.DataFrame, settings: Settings, quantity: str = "seconds") -> Iterator[CasePoints]:
    """The points of each case in turn, with their bootstrap draws.

    Another `quantity` than the time has the same draws of sweeps as the time of the same rows.

    The draws depend on the seed, the case, the site, the machine and the sweeps that there are: a study that
    grows by another case keeps those it had. A point of which some run was stopped at its time limit has
    none, and one whose median is beyond the limit is left out.
    """
    times, point = block_times(runs, quantity)
    points = point_table(times, point, settings.level)
    if (unknown := np.isnan(points["seconds"])).any():
        known = ~unknown[point]
        times = {name: column[known] for name, column in times.items()}
        point = np.unique(point[known], return_inverse=True)[1]
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
        for number in np.flatnonzero(table["censored"]):
            samples[number] = samples[number]._replace(longest=times["at_most"][rows[number]])
        paces = samples
        if quantity != "seconds":
            own = zip(samples, rows, strict=True)
            paces = [sample._replace(seconds=times["paces"][row]) for sample, row in own]
        offsets = None if at_corners is None else at_corners[start:stop]
        draws = _case_draws(table, samples, paces, ends[start:stop], offsets, settings)
        yield CasePoints(table["case"][0], table, samples, draws)


def corners(table: dict[str, NDArray]) -> NDArray[np.int8]:
    """Scenarios of points with a band, simulated or coarsely rounded: which end of its band each point takes.

    The corners of the band of a quantity that rises or falls with each time: all points at their time, all at
    one end; those of one interconnect, of one process count, of the counts up to one, of one number of nodes
    at one end and the others at the other end. They are the same for all cases, which may be joined.

    Parameters
    ----------
    table : dict of arrays (points,)
        As `point_table` gives it.

    Returns
    -------
    array (points, scenarios)
        -1 the low end, 0 the time itself, 1 the high end; without a column where no point has a band.
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
    """Draws of every point: points of one site and machine share sweeps; simulated ones have their bands.

    How many sweeps are drawn follows from `paces`, the times of `samples` of any quantity. Where some times
    are rounded coarsely, `offsets`, an array (points, scenarios), says by how much each corner of the
    rounding moves them.
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
            rows = median_draws(times, settings.draws, rng, counts, pace)[:, None]
            if offsets is not None:
                several = MORE_DRAWS * settings.draws // offsets.shape[1]
                rows = rows[..., : max(several, FEWEST_DRAWS)] + offsets[numbers][..., None]
        for number, row in zip(numbers, rows, strict=True):
            draws[number] = np.full_like(row, np.nan) if table["censored"][number] else row
    return draws


def _matrix(samples: list[Sample]) -> Floats:
    """Times (points, sweeps) of one place, the sweeps in order, NaN where a point has none."""
    if len({sample.sweeps.tobytes() for sample in samples}) == 1:
        return np.stack([sample.seconds for sample in samples])
    sweeps = np.unique(np.concatenate([sample.sweeps for sample in samples]))
    times = np.full((len(samples), len(sweeps)), np.nan)
    for row, sample in zip(times, samples, strict=True):
        row[np.searchsorted(sweeps, sample.sweeps)] = sample.seconds
    return times
