"""From repetitions to block times to points: the medians everything else stands on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple
from zlib import crc32

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.bootstrap import Floats, median_draws, median_interval
from analysis.records import TableError
from analysis.settings import Settings

GROUP = ["case", "site", "place", "processes", "oversubscription"]
"""What shares blocks: `place` is one for runs on a site's machine, another for each foreign kind."""
POINT = [*GROUP, "kind", "interconnect", "nodes"]
BANDS = ["seconds_low", "seconds_high"]


class Sample(NamedTuple):
    """Block times of a point: block numbers, increasing, and seconds."""

    blocks: NDArray[np.int64]
    seconds: Floats


@dataclass(frozen=True)
class CasePoints:
    """The points of one case.

    Attributes
    ----------
    case : str
    table : dict of arrays (points,)
        Columns of `point_table`.
    samples : list of Sample
        Block times of each point.
    draws : list of array (scenarios, B)
        Bootstrap draws of each point's median time. A simulated point has no blocks to draw from:
        its scenarios are the two ends of its band, one value each. NaN where there is nothing.
    """

    case: str
    table: dict[str, NDArray]
    samples: list[Sample]
    draws: list[Floats]


def block_times(runs: pd.DataFrame) -> pd.DataFrame:
    """Median of the valid repetitions of each point in each block.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.records.complete_runs` gives it.

    Returns
    -------
    DataFrame
        `POINT`, ``cores, block, seconds`` (and the band's ends, if any), sorted by these. An empty
        `interconnect` is a serial run, an empty `site` the only one; `nodes` 0 is unknown.
    """
    valid = runs[runs["valid"]]
    foreign = valid["kind"].isin(["simulated", "published"])
    keyed = valid.assign(
        place=valid["kind"].where(foreign, "here"),
        site=valid["site"].fillna(""),
        interconnect=valid["interconnect"].fillna(""),
        nodes=valid["nodes"].fillna(0),
    )
    keys = [*POINT, "cores", "block"]
    numbers = ["processes", "oversubscription", "nodes", "cores", "block"]
    keyed[numbers] = keyed[numbers].astype("int64")
    values = [name for name in ("seconds", *BANDS) if name in keyed]
    grouped = keyed.groupby(keys, sort=True, observed=True)[values]
    return grouped.median().reset_index()


def point_table(times: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Median time of each point with its order-statistic interval.

    Parameters
    ----------
    times : DataFrame
        As `block_times` gives it.
    level : float

    Returns
    -------
    DataFrame
        `POINT`, ``cores, n, seconds, seconds_low, seconds_high, coverage`` and ``first, last``: the
        rows of `times` the point is made of. A simulated point has its band and neither n nor
        coverage.

    Raises
    ------
    TableError
        If a point has two core counts.
    """
    new = (times[POINT] != times[POINT].shift()).any(axis=1).to_numpy()
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(times))
    table = times.loc[first, [*POINT, "cores"]].reset_index(drop=True)
    other_cores = ~new & (times["cores"] != times["cores"].shift()).to_numpy()
    if other_cores.any():
        row = times.iloc[other_cores.argmax()]
        where = f"case '{row.case}', interconnect '{row.interconnect}', {row.processes} processes"
        raise TableError("two core counts for one point", where, column="cores")
    n = last - first
    seconds = times["seconds"].to_numpy()
    columns = {name: np.full(len(table), np.nan) for name in ("n", "seconds", *BANDS, "coverage")}
    columns["n"][:] = n
    for size in np.unique(n):
        points = np.flatnonzero(n == size)
        samples = seconds[first[points][:, None] + np.arange(size)]
        columns["seconds"][points] = np.median(samples, axis=1)
        low, high, coverage = median_interval(samples, level)
        columns["seconds_low"][points], columns["seconds_high"][points] = low, high
        columns["coverage"][points] = coverage
    simulated = (table["kind"] == "simulated").to_numpy()
    for name in ("n", *BANDS, "coverage"):
        columns[name][simulated] = np.nan
    for name in (name for name in BANDS if name in times):
        ends = times[name].groupby(np.cumsum(new)).median().to_numpy()
        columns[name][simulated] = ends[simulated]
    return table.assign(**columns, first=first, last=last)


def cases(runs: pd.DataFrame, settings: Settings) -> Iterator[CasePoints]:
    """The points of each case in turn, with their bootstrap draws.

    The draws of a group depend on the seed, the case, the site, the place, the process count and the
    level alone: a study that grows by other groups keeps those it had.
    """
    times = block_times(runs)
    points = point_table(times, settings.level)
    blocks, seconds = times["block"].to_numpy(), times["seconds"].to_numpy()
    columns = {name: points[name].to_numpy() for name in points}
    starts = np.flatnonzero(points["case"] != points["case"].shift())
    for start, stop in pairwise([*starts, len(points)]):
        table = {name: column[start:stop] for name, column in columns.items()}
        rows = map(slice, table["first"], table["last"])
        samples = [Sample(blocks[row], seconds[row]) for row in rows]
        yield CasePoints(table["case"][0], table, samples, _case_draws(table, samples, settings))


def _case_draws(table: dict[str, NDArray], samples: list[Sample], settings: Settings) -> list[Floats]:
    draws: list[Floats] = []
    keys = list(zip(*(table[name] for name in GROUP), strict=True))
    for key, members in groupby(range(len(keys)), keys.__getitem__):
        numbers = list(members)
        if table["kind"][numbers[0]] == "simulated":
            draws += list(np.stack([table[name][numbers] for name in BANDS], axis=1)[..., None])
        else:
            parts = [str(part) for part in key if part != ""]
            rng = np.random.default_rng([settings.seed, *(crc32(part.encode()) for part in parts)])
            medians = median_draws(_matrix([samples[number] for number in numbers]), settings.draws, rng)
            draws += list(medians[:, None])
    return draws


def _matrix(samples: list[Sample]) -> Floats:
    """Times (points, blocks) of one group, NaN where a point has no such block."""
    first = samples[0].blocks
    if all(np.array_equal(sample.blocks, first) for sample in samples):
        return np.stack([sample.seconds for sample in samples])
    blocks = np.unique(np.concatenate([sample.blocks for sample in samples]))
    times = np.full((len(samples), len(blocks)), np.nan)
    for row, sample in zip(times, samples, strict=True):
        row[np.searchsorted(blocks, sample.blocks)] = sample.seconds
    return times
