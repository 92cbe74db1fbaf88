"""What runs take in energy, counted or by a model of a node, and what speed costs in it.

A curve is either counted or modelled at all of its points, and a row says which.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.decisions.economics import interval, nodes_of
from analysis.decisions.money import Market
from analysis.estimates import metrics
from analysis.estimates.curves import Curve, all_curves
from analysis.runs.groups import Floats
from analysis.runs.runs import valid_rows
from analysis.runs.settings import Settings
from analysis.tables.frames import Piece, with_ends

COUNTED, MODEL = "counted", "model"
IMPORTED = "imported"
"""Source of energy of which an import does not say who counted it."""
_CURVE = ["case", "interconnect", "kind", "oversubscription", "threads"]
Counted = Mapping[tuple[object, ...], list[Piece]]
"""Rows of the curves that have counted energy, by the columns `_CURVE`."""


@dataclass(frozen=True, eq=False)
class Energies:
    """Energy of the points of a curve.

    Attributes
    ----------
    joules, greenup : arrays (points,)
    ends : pair of arrays (points,)
        Of the interval of `joules`.
    draws, greenup_draws, times, speedups : arrays (points, scenarios, B)
        Draws of the energy, of the greenup, of the time and of the speedup, drawn together.
    reference : float
        Energy of the run that speedup refers to.
    reference_draws : array (scenarios, B)
    """

    joules: Floats
    ends: tuple[Floats, Floats]
    draws: Floats
    greenup: Floats
    greenup_draws: Floats
    times: Floats
    speedups: Floats
    reference: float
    reference_draws: Floats


def speedup_per_extra_joule(speedup: ArrayLike, joules: ArrayLike, reference_joules: ArrayLike) -> Floats:
    """(S - 1) / (E - E0): what each joule more than the reference's buys.

    Infinite where a run is faster and takes no joule more; NaN where it is slower and takes none more, as
    nothing is bought then, and for the reference itself.
    """
    gain = np.asarray(speedup, float) - 1
    extra = np.asarray(joules, float) - np.asarray(reference_joules, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(extra > 0, gain / extra, np.where(gain > 0, np.inf, np.nan))


def counted_energy(runs: pd.DataFrame, ranked: dict[str, list[str]], settings: Settings) -> Counted:
    """Rows of table ``energy`` of the runs whose energy was counted.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.runs.runs.read_runs` gives it.
    ranked : dict
        As `analysis.estimates.curves.ranking` gives it.
    """
    if "energy_joules" not in runs or not (runs["energy_joules"] > 0).any():
        return {}
    own = valid_rows(runs[runs["energy_joules"] > 0])
    told = own["energy_source"].astype(object).fillna(IMPORTED) if "energy_source" in own else IMPORTED
    of_serial = own["interconnect"].fillna("")
    sources = own.assign(source=told).groupby(["case", of_serial])["source"].unique()
    curves = (all_curves(own, ranked, settings, name) for name in ("seconds", "energy_joules"))
    found: dict[tuple[object, ...], list[Piece]] = {}
    for of_case in zip(*curves, strict=True):
        for times, energy in zip(*of_case, strict=True):
            key = tuple(times.names[name] for name in _CURVE)
            table = energy.table
            energies = Energies(
                table["seconds"],
                (table["seconds_low"], table["seconds_high"]),
                energy.draws,
                energy.speedup,
                energy.speedup_draws,
                times.draws,
                times.speedup_draws,
                energy.reference.seconds,
                energy.reference.draws,
            )
            names = [times.interconnect] if times.own.all() else ["", times.interconnect]
            source = "; ".join(dict.fromkeys(one for name in names for one in sources[times.case, name]))
            about = {"basis": COUNTED, "source": source, "coverage": table["coverage"]}
            found.setdefault(key, []).append(_rows(times, energies, settings) | about)
    return found


def energy_pieces(
    curves: Iterable[Curve], counted: Counted, market: Market | None, settings: Settings
) -> Iterator[Piece]:
    """Rows of table ``energy``: the counted ones of these curves, else those of the study's model, if any."""
    told = set()
    for curve in curves:
        key = tuple(curve.names[name] for name in _CURVE)
        if key not in counted:
            if market and market.lifetime and market.lifetime.node_loaded_watts:
                yield from _modelled(curve, market, settings)
        elif key not in told:
            told.add(key)
            yield from counted[key]


@dataclass(frozen=True, eq=False)
class NodeModel:
    """Watts of the study's node, arrays (1 + corners,): their values, then with each at an end of its range.

    Attributes
    ----------
    ports : mapping of interconnect to array
        Power of a node's share of it, where that is given.
    cores : int or None
        Cores of a node; None takes all of it to compute.
    """

    idle: Floats
    loaded: Floats
    ports: Mapping[str, Floats]
    cores: int | None

    @classmethod
    def of(cls, market: Market, interconnects: Iterable[str]) -> NodeModel:
        """Take what a study says of nodes and of some interconnects."""
        lifetime = market.lifetime
        ports = {name: lifetime.ports[name].loaded_watts for name in interconnects if name in lifetime.ports}
        given = [lifetime.node_idle_watts, lifetime.node_loaded_watts, *ports.values()]
        corners = product(*(one.ends for one in given)) if any(one.range for one in given) else ()
        idle, loaded, *others = np.array([[one.value for one in given], *corners]).T
        return cls(idle, loaded, dict(zip(ports, others, strict=True)), market.node.cores)

    def watts(self, interconnect: str, nodes: ArrayLike, cores: ArrayLike) -> Floats:
        """Power of nodes of which some cores compute, array (points, 1 + corners).

        n (idle + (loaded - idle) cores / cores of the n nodes + port), the port only beside another node.

        Parameters
        ----------
        nodes, cores : arrays (points,)
        """
        nodes, cores = np.asarray(nodes, float)[:, None], np.asarray(cores, float)[:, None]
        busy = np.minimum(cores / (nodes * self.cores), 1) if self.cores else 1.0
        own = self.idle + (self.loaded - self.idle) * busy
        return nodes * (own + (nodes > 1) * self.ports.get(interconnect, 0.0))


def _modelled(curve: Curve, market: Market, settings: Settings) -> Iterator[Piece]:
    reference, nodes = curve.reference, nodes_of(curve, market.node.cores)
    of_reference = reference.nodes or (-(-reference.cores // market.node.cores) if market.node.cores else 0)
    if np.isnan(nodes).any() or not of_reference:
        return
    model = NodeModel.of(market, {curve.interconnect, reference.interconnect})
    watts = model.watts(curve.interconnect, nodes, curve.table["cores"])
    base = model.watts(reference.interconnect, [of_reference], [reference.cores])
    times, first, speedups = curve.draws, reference.draws, curve.speedup_draws
    if np.isnan(times).any() and watts.shape[1] > 1:  # one sample: the ranges alone
        times, first = curve.table["seconds"][:, None, None], np.array([[reference.seconds]])
        speedups = curve.speedup[:, None, None]

    def at_corners(draws: Floats, factors: Floats) -> Floats:
        joined = draws[..., :, None, :] * factors[..., None, :, None]
        return joined.reshape(*draws.shape[:-2], -1, draws.shape[-1])

    draws, base_draws = at_corners(times, watts), at_corners(first, base[0])
    joules, base_joules = watts[:, 0] * curve.table["seconds"], base[0, 0] * reference.seconds
    ones = np.ones_like(watts)
    work = curve.table["cores"] / reference.cores if settings.scaling == "weak" else np.ones(len(joules))
    energies = Energies(
        joules,
        interval(draws, settings.level),
        draws,
        metrics.speedup(joules, base_joules) * work,
        metrics.speedup(draws, base_draws) * work[:, None, None],
        at_corners(times, ones),
        at_corners(speedups, ones),
        base_joules,
        base_draws,
    )
    rows = _rows(curve, energies, settings)
    lacking = None if curve.interconnect in model.ports else f"without the ports of {curve.interconnect}"
    notes = [
        "; ".join(filter(None, (note, lacking if count > 1 else None))) or None
        for note, count in zip(rows["note"], nodes, strict=True)
    ]
    source = "idle and loaded watts of the study's economics"
    about = {
        "nodes": nodes,
        "basis": MODEL,
        "source": source,
        "n": np.full(len(joules), np.nan),
        "note": np.array(notes, object),
    }
    yield rows | about | {"coverage": np.full(len(joules), np.nan)}


def _rows(curve: Curve, energies: Energies, settings: Settings) -> dict[str, object]:
    """Columns that rows of both bases have."""
    level, seconds = settings.level, curve.table["seconds"]
    bought = speedup_per_extra_joule(curve.speedup, energies.joules, energies.reference)
    of_draws = speedup_per_extra_joule(energies.speedups, energies.draws, energies.reference_draws)
    if settings.scaling == "weak":  # the reference does other work
        bought, of_draws = np.full_like(bought, np.nan), np.full_like(of_draws, np.nan)
    ends = (np.where(np.isfinite(end), end, np.nan) for end in interval(of_draws, level))
    finite = np.where(np.isfinite(bought), bought, np.nan)
    nodes = curve.table["nodes"]
    return {
        **curve.names,
        "nodes": np.where(nodes == 0, np.nan, nodes),
        "processes": curve.processes,
        "cores": curve.table["cores"],
        "serial": ~curve.own,
        "n": curve.table["n"],
        **with_ends("energy_joules", energies.joules, *energies.ends),
        "reference_joules": energies.reference,
        **with_ends("greenup", energies.greenup, *interval(energies.greenup_draws, level)),
        **with_ends(
            "energy_delay_joule_seconds",
            energies.joules * seconds,
            *interval(energies.draws * energies.times, level),
        ),
        **with_ends("speedup", curve.speedup, *interval(energies.speedups, level)),
        **with_ends("speedup_per_extra_joule", finite, *ends),
        "note": np.array(
            ["faster without a joule more" if np.isinf(one) else None for one in bought], object
        ),
    }
