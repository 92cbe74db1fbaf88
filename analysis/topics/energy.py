"""How much energy do runs take?

Energy has one of two bases, which each row states: counted by meters, or computed by the study's model of a
node. All points of a curve have the same basis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.curves.curves import Curve, all_curves
from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.labels import Labels
from analysis.presentation.rows import line_table, numbers, texts
from analysis.presentation.sentences import processes
from analysis.runs.columns import (
    COUNT,
    CURVE_COLUMNS,
    MARK,
    NOTE,
    NUMBER,
    POSITIVE,
    SHARE,
    SIZE,
    TEXT,
    described,
    table_schema,
    table_schemas,
    with_descriptions,
    with_interval,
)
from analysis.runs.frames import Line, Piece, Tables, as_lines, interval, stacked, with_ends
from analysis.runs.groups import Floats
from analysis.runs.kinds import comparable_sets
from analysis.runs.lifetime import Lifetime
from analysis.runs.runs import valid_rows
from analysis.runs.settings import Settings
from analysis.topics.money.lifetime import span
from analysis.topics.money.market import interval_of_draws, nodes_of
from analysis.topics.topic import Context, Topic

ENERGY = table_schemas(
    table_schema(
        "energy",
        "One row per point of a curve with counted or modelled energy; each curve has one basis.",
        **CURVE_COLUMNS,
        **SIZE,
        serial=MARK,
        basis=described(TEXT, "`counted` by meters, or `model`: assumed watts × time."),
        source=described(TEXT, "Meter or model; `imported` if an import does not state it."),
        n=described(COUNT, "Blocks; empty for a model."),
        **with_descriptions(
            with_interval("energy_joules", POSITIVE),
            energy_joules="Energy to solution: if counted, of the whole run, the median over the blocks; if "
            "modelled, of the main loop. The ends of a model combine the interval of the time "
            "with all ranges.",
        ),
        coverage=described(SHARE, "Probability that the interval of counted energy covers the median."),
        reference_joules=described(POSITIVE, "Energy *E*₀ of the run that speedup refers to."),
        **with_descriptions(
            with_interval("greenup", POSITIVE),
            greenup="*E*₀ / *E*; in weak scaling times cores / reference cores.",
        ),
        **with_descriptions(
            with_interval("energy_delay_joule_seconds", POSITIVE), energy_delay_joule_seconds="Energy × time."
        ),
        **with_interval("speedup", POSITIVE),
        **with_descriptions(
            with_interval("speedup_per_extra_joule", NUMBER),
            speedup_per_extra_joule="(*S* − 1) / (*E* − *E*₀); empty if no additional energy is "
            "used, and in weak "
            "scaling. An end without bound is empty.",
        ),
        note=NOTE,
    ),
)

COUNTED, MODEL = "counted", "model"
IMPORTED = "imported"
"""Source of counted energy if an import does not name the counter."""
RATIOS = ("greenup", "speedup", "speedup_per_extra_joule")
"""Columns that compare a run with the reference."""
MOST_ROWS = 120
CAPTIONS = {
    COUNTED: (
        "Energy of the whole run on all machines, counted by {}. Values are medians over the blocks. "
        "Brackets contain {}."
    ),
    MODEL: "Energy from a model: {} × the time of the main loop. Brackets contain all ranges and {}.",
}
"""Captions of the table of a basis, with the source and a description of the intervals."""
READING = (
    "Greenup is the energy of the reference / the energy of the run. If the energy of the serial run is "
    "unknown, the reference is the smallest count with known energy. Speedup and greenup have the same "
    "reference. The speedup an extra kJ is – for runs without extra energy. File tables/energy.csv has all "
    "columns."
)

_CURVE = ["case", "interconnect", "kind", "oversubscription", "threads"]
CurveKey = tuple[object, ...]
"""Values of `_CURVE` of a curve."""


class Energies(NamedTuple):
    """Energy of the points of a curve.

    The arrays are (points,) for values and (points, scenarios, B) for draws. For a model they are
    (points, corners); at a corner, every power of the model is at an end of its range.

    Attributes
    ----------
    joules, seconds, speedup : array (points, ...)
    reference : float or array (...)
        Energy of the run that speedup refers to.
    """

    joules: Floats
    seconds: Floats
    speedup: Floats
    reference: Floats | float


def make_energy(context: Context) -> Tables:
    """Make the table ``energy`` from counted energy, or from the study's model of a node."""
    counted = counted_energy(context.runs, context.curves.ranked, context.settings)
    market = context.request.market
    lifetime = market.lifetime if market else None
    rows: list[Piece] = []
    for curves in context.curves.cases:
        written: set[CurveKey] = set()  # curves that differ only in placement share their counted rows
        for curve in curves:
            key = _key(curve)
            if key not in counted:
                if market and lifetime and lifetime.node_loaded_watts:
                    rows += _modelled(curve, lifetime, market.node.cores, context.settings)
            elif key not in written:
                written.add(key)
                rows += counted[key]
    return {"energy": stacked(rows)}


def _key(curve: Curve) -> CurveKey:
    return tuple(curve.names[name] for name in _CURVE)


def speedup_per_extra_joule(speedup: ArrayLike, joules: ArrayLike, reference_joules: ArrayLike) -> Floats:
    """Compute (S - 1) / (E - E0), the speedup gained per joule above the reference's energy.

    Infinite for a run that is faster without extra energy. NaN for a run that is slower without extra energy,
    and for the reference itself.
    """
    gain = np.asarray(speedup, float) - 1
    extra = np.asarray(joules, float) - np.asarray(reference_joules, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(extra > 0, gain / extra, np.where(gain > 0, np.inf, np.nan))


def counted_energy(
    runs: pd.DataFrame, ranked: dict[str, list[str]], settings: Settings
) -> dict[CurveKey, list[Piece]]:
    """Make the rows of table ``energy`` for curves whose energy was counted.

    Parameters
    ----------
    runs : DataFrame
        Runs table of one site: see `analysis.runs.runs.read_runs`.
    ranked : dict
        Interconnects of each kind: see `analysis.curves.curves.ranking`.

    Returns
    -------
    dict
        Rows by curve.
    """
    if "energy_joules" not in runs or not (runs["energy_joules"] > 0).any():
        return {}
    counted = valid_rows(runs[runs["energy_joules"] > 0])
    has_meters = "energy_source" in counted
    meters = counted["energy_source"].astype(object).fillna(IMPORTED) if has_meters else IMPORTED
    counted = counted.assign(source=meters)
    interconnect = counted["interconnect"].fillna("")
    sources = counted.groupby(["case", interconnect])["source"].unique()
    time_curves = all_curves(counted, ranked, settings, "seconds")
    energy_curves = all_curves(counted, ranked, settings, "energy_joules")
    rows: dict[CurveKey, list[Piece]] = {}
    for times_of_case, energies_of_case in zip(time_curves, energy_curves, strict=True):
        for times, energy in zip(times_of_case, energies_of_case, strict=True):
            table = energy.table  # its column "seconds" holds joules
            point = Energies(
                table["seconds"], times.table["seconds"], times.speedup, energy.reference.seconds
            )
            drawn = Energies(energy.draws, times.draws, times.speedup_draws, energy.reference.draws)
            names = ["", times.interconnect] if times.is_serial.any() else [times.interconnect]
            sources_of_curve = dict.fromkeys(source for name in names for source in sources[times.case, name])
            piece = {
                **_rows(times, point, drawn, settings),
                **with_ends("energy_joules", *(table[f"seconds{end}"] for end in ("", "_low", "_high"))),
                "basis": COUNTED,
                "source": "; ".join(sources_of_curve),
                "coverage": table["coverage"],
            }
            rows.setdefault(_key(times), []).append(piece)
    return rows


@dataclass(frozen=True, eq=False)
class NodeModel:
    """Power of a node in W, as arrays (1 + corners,).

    The first element has the stated values. The others are corners: every power is at an end of its range.

    Attributes
    ----------
    ports : mapping of str to array
        Power of a node's share of an interconnect, if the study states it.
    cores : int or None
        Cores of a node. If None, all cores of a node compute.
    """

    idle: Floats
    loaded: Floats
    ports: Mapping[str, Floats]
    cores: int | None

    @classmethod
    def of(cls, lifetime: Lifetime, cores: int | None, interconnects: Iterable[str]) -> NodeModel:
        """Make the model from the power that a study states for a node and its interconnect ports.

        Raises
        ------
        ValueError
            If the study does not state the power of a node.
        """
        idle, loaded = lifetime.node_idle_watts, lifetime.node_loaded_watts
        if idle is None or loaded is None:
            raise ValueError("the study states no idle and loaded power of a node")
        ports = {name: lifetime.ports[name].loaded_watts for name in interconnects if name in lifetime.ports}
        powers = [idle, loaded, *ports.values()]
        stated = [power.value for power in powers]
        has_range = any(power.range for power in powers)
        corners = product(*(power.ends for power in powers)) if has_range else ()
        idle_watts, loaded_watts, *port_watts = np.array([stated, *corners]).T  # a row for each power
        return cls(idle_watts, loaded_watts, dict(zip(ports, port_watts, strict=True)), cores)

    def watts(self, interconnect: str, nodes: ArrayLike, cores: ArrayLike) -> Floats:
        """Compute the power of clusters on which some cores compute, array (points, 1 + corners) in W.

        The power is n (idle + (loaded - idle) cores / (n cores of a node) + port). A single node uses no
        port.

        Parameters
        ----------
        interconnect : str
            Interconnect whose ports count, from two nodes on.
        nodes, cores : arrays (points,)
            Number of nodes n, and number of cores that compute.
        """
        nodes, cores = np.asarray(nodes, float)[:, None], np.asarray(cores, float)[:, None]
        busy = np.minimum(cores / (nodes * self.cores), 1) if self.cores else 1.0
        node = self.idle + (self.loaded - self.idle) * busy
        return nodes * (node + (nodes > 1) * self.ports.get(interconnect, 0.0))


def _modelled(
    curve: Curve, lifetime: Lifetime, node_cores: int | None, settings: Settings
) -> Iterator[Piece]:
    """Make the rows of a curve from the model of a node; none if its numbers of nodes are unknown."""
    reference, nodes = curve.reference, nodes_of(curve, node_cores)
    reference_nodes = reference.nodes or (-(-reference.cores // node_cores) if node_cores else 0)
    if np.isnan(nodes).any() or not reference_nodes:
        return
    model = NodeModel.of(lifetime, node_cores, {curve.interconnect, reference.interconnect})
    watts = model.watts(curve.interconnect, nodes, curve.table["cores"])
    reference_watts = model.watts(reference.interconnect, [reference_nodes], [reference.cores])[0]
    seconds, ones = curve.table["seconds"], np.ones_like(watts)

    def at_corners(draws: Floats, factors: Floats) -> Floats:
        """Combine every scenario with every corner: draws (..., scenarios, B), factors (..., corners)."""
        joined = draws[..., :, None, :] * factors[..., None, :, None]
        return joined.reshape(*draws.shape[:-2], -1, draws.shape[-1])

    point = Energies(watts[:, 0] * seconds, seconds, curve.speedup, reference_watts[0] * reference.seconds)
    drawn = Energies(
        at_corners(curve.draws, watts),
        at_corners(curve.draws, ones),
        at_corners(curve.speedup_draws, ones),
        at_corners(reference.draws, reference_watts),
    )
    corners = Energies(
        watts * seconds[:, None],
        seconds[:, None],
        curve.speedup[:, None],
        reference_watts * reference.seconds,
    )
    columns = _rows(curve, point, drawn, settings, corners)
    without_port = None if curve.interconnect in model.ports else f"without the ports of {curve.interconnect}"
    notes = [
        "; ".join(filter(None, (note, without_port if count > 1 else None))) or None
        for note, count in zip(np.asarray(columns["note"], object), nodes, strict=True)
    ]
    yield {
        **columns,
        "nodes": nodes,
        "basis": MODEL,
        "source": "idle and loaded watts of the study's economics",
        "n": np.full(len(nodes), np.nan),
        "note": np.array(notes, object),
        "coverage": np.full(len(nodes), np.nan),
    }


def _rows(
    curve: Curve, point: Energies, drawn: Energies, settings: Settings, corners: Energies | None = None
) -> dict[str, object]:
    """Compute the columns of a curve that both bases share.

    Parameters
    ----------
    point, drawn : Energies
        Values of the points, and their draws.
    corners : Energies, optional
        Values of the points at all corners. The range over the corners replaces the interval of a point
        without draws.
    """
    weak = settings.scaling == "weak"
    values, draws = _measures(point, curve, weak), _measures(drawn, curve, weak)
    at_corners = {} if corners is None else _measures(corners, curve, weak)
    has_no_draws = np.isnan(drawn.seconds).any(axis=(1, 2))
    ratio_has_no_draws = has_no_draws | np.isnan(drawn.reference).any()
    columns: dict[str, object] = {}
    for name, value in values.items():
        low, high = interval_of_draws(draws[name], settings.level)
        if name in at_corners:
            lowest, highest = span(at_corners[name])
            use_range = ratio_has_no_draws if name in RATIOS else has_no_draws
            low, high = np.where(use_range, lowest, low), np.where(use_range, highest, high)
        columns |= with_ends(name, *(np.where(np.isfinite(x), x, np.nan) for x in (value, low, high)))
    nodes = curve.table["nodes"]
    is_faster_for_free = np.isinf(values["speedup_per_extra_joule"])
    return {
        **curve.names,
        "nodes": np.where(nodes == 0, np.nan, nodes),
        "processes": curve.processes,
        "cores": curve.table["cores"],
        "serial": curve.is_serial,
        "n": curve.table["n"],
        "reference_joules": point.reference,
        **columns,
        "note": np.array(
            ["faster without a joule more" if free else None for free in is_faster_for_free], object
        ),
    }


def _measures(energies: Energies, curve: Curve, weak: bool) -> dict[str, Floats]:
    """Compute columns of the table from energies of a curve.

    `speedup_per_extra_joule` is NaN in weak scaling, where extra joules are spent on additional work.
    """
    work = curve.table["cores"] / curve.reference.cores if weak else np.ones(len(curve.processes))
    per_joule = speedup_per_extra_joule(energies.speedup, energies.joules, energies.reference)
    return {
        "energy_joules": energies.joules,
        "greenup": energies.reference / energies.joules * work.reshape(-1, *[1] * (energies.joules.ndim - 1)),
        "energy_delay_joule_seconds": energies.joules * energies.seconds,
        "speedup": energies.speedup,
        "speedup_per_extra_joule": np.full_like(per_joule, np.nan) if weak else per_joule,
    }


def energy_section(content: Content) -> Section | None:
    """Write the section on energy: energy to solution, energy × time, and speedup per extra joule."""
    energy = content.tables.get("energy")
    if energy is None or energy.empty:
        return None
    labels = content.labels
    blocks: list[Block] = []
    for basis, rows in energy.groupby("basis", sort=False):
        source = formats.listed(sorted(set("; ".join(rows["source"]).split("; "))))
        caption = CAPTIONS[str(basis)].format(source, labels.intervals(rows))
        if not content.facts.study.unfinished:
            sentences = [
                _sentence(case_rows[case_rows["kind"].isin(kinds)], labels)
                for _, case_rows in labels.by_case(rows)
                for kinds in comparable_sets(case_rows["kind"], labels.declared)
            ]
            title = "Counted energy" if basis == COUNTED else "Energy by the model"
            blocks.append(bullets(sentences, title))
        blocks.append(_table(rows, caption, labels))
    blocks.append(paragraph(READING))
    return section("energy", "How much energy does a run take?", blocks)


def _sentence(rows: pd.DataFrame, labels: Labels) -> str:
    """Name the point of a case with the least energy and the energy of the fastest point."""
    lines = as_lines(rows)
    least = min(lines, key=lambda line: line["energy_joules"])
    fastest = max(lines, key=lambda line: line["speedup"])
    text = f"{labels.case(least['case'])}: {_point(least, labels)} takes the least energy, {_joules(least)}"
    if fastest is least:
        return f"{text}. This is also the fastest point."
    greenup = formats.bracketed(*interval(fastest, "greenup"))
    return (
        f"{text}. The fastest point, {_point(fastest, labels)}, takes {_joules(fastest)}. The greenup of "
        f"this point is {greenup}."
    )


def _point(line: Line, labels: Labels) -> str:
    if line["serial"]:
        return "the serial run"
    return f"{labels.interconnect(line['interconnect'], line['kind'])} on {processes(line['processes'])}"


def _joules(line: Line) -> str:
    return f"{formats.bracketed(*interval(line, 'energy_joules'))}{formats.THIN}J"


def _table(rows: pd.DataFrame, caption: str, labels: Labels) -> Block:
    """Tabulate energy, greenup and speedup of the points of one basis."""
    rows = rows[~(rows["serial"].astype(bool) & rows.duplicated(["case", "kind", "serial"]))]
    if len(rows) > MOST_ROWS:
        rows = rows[rows["processes"] == rows.groupby("case")["processes"].transform("max")]
        caption += " The table shows only the largest process count."
    several_levels = rows["oversubscription"].nunique() > 1

    def curve(line: Line) -> str:
        if line["serial"]:
            return labels.interconnect(None, line["kind"])
        return labels.curve(line, several_levels)

    def bracketed(name: str, factor: float = 1.0) -> Callable[[Line], str]:
        return lambda line: formats.bracketed(*(factor * value for value in interval(line, name)))

    speedup = labels.speedup.capitalize()
    fields = [
        texts(labels.interconnect_head, curve),
        numbers("Processes", formats.whole, "processes"),
        numbers("Energy (J)", bracketed("energy_joules")),
        numbers("Greenup", bracketed("greenup")),
        numbers("Energy × time (kJ s)", bracketed("energy_delay_joule_seconds", 0.001)),
        numbers(speedup, bracketed("speedup")),
        numbers(f"{speedup} an extra kJ", bracketed("speedup_per_extra_joule", 1000.0)),
    ]
    lines = labels.lines(rows, "case", "oversubscription", "processes", "interconnect")
    return line_table(caption, fields, lines, lambda line: labels.case(line["case"]))


TOPIC = Topic(name="energy", schemas=ENERGY, make=make_energy, by_site=True, section=energy_section)
