"""What runs take in energy, counted or by a model of a node, and what speed costs in it.

A curve is either counted or modelled at all of its points, and a row says which.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.curves.curves import Curve, all_curves
from analysis.runs.columns import (
    COUNT,
    MARK,
    NOTE,
    NUMBER,
    OF_A_CURVE,
    POSITIVE,
    SHARE,
    SIZE,
    TEXT,
    table_schemas,
    with_interval,
)
from analysis.runs.frames import Piece, with_ends
from analysis.runs.runs import valid_rows
from analysis.runs.settings import Settings
from analysis.statistics import Floats
from analysis.topics.money.economics import interval, nodes_of
from analysis.topics.money.lifetime import span
from analysis.topics.money.market import Market

ENERGY = table_schemas(
    energy=dict(
        **OF_A_CURVE,
        **SIZE,
        serial=MARK,
        basis=TEXT,
        source=TEXT,
        n=COUNT,
        **with_interval("energy_joules", POSITIVE),
        coverage=SHARE,
        reference_joules=POSITIVE,
        **with_interval("greenup", POSITIVE),
        **with_interval("energy_delay_joule_seconds", POSITIVE),
        **with_interval("speedup", POSITIVE),
        **with_interval("speedup_per_extra_joule", NUMBER),
        note=NOTE,
    ),
)

COUNTED, MODEL = "counted", "model"
IMPORTED = "imported"
"""Source of energy of which an import does not say who counted it."""
_CURVE = ["case", "interconnect", "kind", "oversubscription", "threads"]
RATIOS = ("greenup", "speedup", "speedup_per_extra_joule")
"""Columns that hold a run against the reference's."""
Counted = Mapping[tuple[object, ...], list[Piece]]
"""Rows of the curves that have counted energy, by the columns `_CURVE`."""


class Energies(NamedTuple):
    """Energy of a curve's points, arrays (points, ...): their values, draws (scenarios, B) or corners.

    Attributes
    ----------
    reference : array (...)
        Energy of the run that speedup refers to.
    """

    joules: Floats
    seconds: Floats
    speedup: Floats
    reference: Floats | float


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
        As `analysis.curves.curves.ranking` gives it.
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
            point = Energies(
                table["seconds"], times.table["seconds"], times.speedup, energy.reference.seconds
            )
            drawn = Energies(energy.draws, times.draws, times.speedup_draws, energy.reference.draws)
            of_medians = with_ends(
                "energy_joules", *(table[f"seconds{end}"] for end in ("", "_low", "_high"))
            )
            names = [times.interconnect] if times.own.all() else ["", times.interconnect]
            source = "; ".join(dict.fromkeys(one for name in names for one in sources[times.case, name]))
            about = {"basis": COUNTED, "source": source, "coverage": table["coverage"]}
            found.setdefault(key, []).append(_rows(times, point, drawn, settings) | of_medians | about)
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
    seconds, ones = curve.table["seconds"], np.ones_like(watts)

    def at_corners(draws: Floats, factors: Floats) -> Floats:
        """Every scenario at every corner: draws (..., scenarios, B), factors (..., corners)."""
        joined = draws[..., :, None, :] * factors[..., None, :, None]
        return joined.reshape(*draws.shape[:-2], -1, draws.shape[-1])

    point = Energies(watts[:, 0] * seconds, seconds, curve.speedup, base[0, 0] * reference.seconds)
    drawn = Energies(
        at_corners(curve.draws, watts),
        at_corners(curve.draws, ones),
        at_corners(curve.speedup_draws, ones),
        at_corners(reference.draws, base[0]),
    )
    alone = Energies(
        watts * seconds[:, None], seconds[:, None], curve.speedup[:, None], base[0] * reference.seconds
    )
    rows = _rows(curve, point, drawn, settings, alone)
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
        "n": np.full(len(nodes), np.nan),
        "note": np.array(notes, object),
    }
    yield rows | about | {"coverage": np.full(len(nodes), np.nan)}


def _rows(
    curve: Curve, point: Energies, drawn: Energies, settings: Settings, alone: Energies | None = None
) -> Piece:
    """Columns that rows of both bases have.

    Parameters
    ----------
    alone : Energies, optional
        Of the points' values at all corners, whose ranges stand where nothing was drawn.
    """
    weak = settings.scaling == "weak"
    values, of_draws = _measures(point, curve, weak), _measures(drawn, curve, weak)
    ranges = {} if alone is None else {name: span(one) for name, one in _measures(alone, curve, weak).items()}
    undrawn = np.isnan(drawn.seconds).any(axis=(1, 2))
    of_ratios = undrawn | np.isnan(drawn.reference).any()
    columns: dict[str, object] = {}
    for name, value in values.items():
        ends = interval(of_draws[name], settings.level)
        lacking = of_ratios if name in RATIOS else undrawn
        ends = [np.where(lacking, *pair) for pair in zip(ranges.get(name, ends), ends, strict=True)]
        columns |= with_ends(name, *(np.where(np.isfinite(one), one, np.nan) for one in (value, *ends)))
    nodes, free = curve.table["nodes"], np.isinf(values["speedup_per_extra_joule"])
    return {
        **curve.names,
        "nodes": np.where(nodes == 0, np.nan, nodes),
        "processes": curve.processes,
        "cores": curve.table["cores"],
        "serial": ~curve.own,
        "n": curve.table["n"],
        "reference_joules": point.reference,
        **columns,
        "note": np.where(free, np.array("faster without a joule more", object), None),
    }


def _measures(of: Energies, curve: Curve, weak: bool) -> dict[str, Floats]:
    """Columns of the table from energies of a curve."""
    work = curve.table["cores"] / curve.reference.cores if weak else np.ones(len(curve.processes))
    bought = speedup_per_extra_joule(of.speedup, of.joules, of.reference)
    return {
        "energy_joules": of.joules,
        "greenup": of.reference / of.joules * work.reshape(-1, *[1] * (of.joules.ndim - 1)),
        "energy_delay_joule_seconds": of.joules * of.seconds,
        "speedup": of.speedup,
        "speedup_per_extra_joule": np.full_like(bought, np.nan) if weak else bought,  # it does other work
    }
