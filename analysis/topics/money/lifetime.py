"""What clusters cost over their years: price, energy, maintenance, licences, with the ranges of all inputs.

Every quantity here is a ratio of functions that are linear in each input, and so is largest and smallest at
corners: with every input at an end of its range. Corners are all worked out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.curves.curves import Curve
from analysis.runs.frames import Piece, with_ends
from analysis.runs.lifetime import Lifetime
from analysis.runs.settings import NodePrice, Settings
from analysis.statistics import Floats, Integers
from analysis.topics.money.economics import Tariff, interval

HOURS_A_YEAR = 8760
NODE_PRICE = "node_price"
_OF_A_JOB = ("job_cost", "job_kWh", "job_CO2_kg")
JOB_COLUMNS = tuple(f"{name}{end}" for name in ("lifetime_cost", *_OF_A_JOB) for end in ("", "_low", "_high"))
"""Columns about a lifetime of the table ``value``."""


def interconnect_price(interconnect: str) -> str:
    """Name of an interconnect's price among the inputs."""
    return f"{interconnect}: price"


@dataclass(frozen=True, eq=False)
class Inputs:
    """Everything that is assumed about clusters over some interconnects.

    Attributes
    ----------
    ends : mapping of str to array (3,)
        Value, least and most of each input, by its name. Of the price of an interconnect, which depends on
        the number of nodes, 0 where it has no range and 0, -1, 1 where it has one.
    """

    lifetime: Lifetime
    tariffs: Mapping[str, Tariff]
    ends: Mapping[str, Floats]

    @classmethod
    def of(
        cls, lifetime: Lifetime, node: NodePrice, offered: Mapping[str, Tariff], interconnects: Sequence[str]
    ) -> Inputs:
        """Gather the inputs that matter to some interconnects."""
        ends = {NODE_PRICE: np.array(node.prices)}
        for name, one in lifetime.assumed():
            if name.partition(": ")[0] in interconnects or ": " not in name:
                ends[name] = np.array([one.value, *one.ends])
        for name in interconnects:
            _, low, high = offered[name].prices
            ends[interconnect_price(name)] = np.array([0.0, -1.0, 1.0]) * np.any(low < high)
        return cls(lifetime, {name: offered[name] for name in interconnects}, ends)

    @property
    def ranged(self) -> list[str]:
        """Names of the inputs that have a range."""
        return [name for name, (_, low, high) in self.ends.items() if low < high]

    def corners(self) -> dict[str, Integers]:
        """Which of its `ends` each input has at each corner, arrays (corners,); the first has the values."""
        ways = [(1, 2) if name in self.ranged else (0,) for name in self.ends]
        rows = np.array([[0] * len(ways), *product(*ways)])
        return dict(zip(self.ends, rows.T, strict=True))

    def alone(self) -> dict[str, Integers]:
        """As `corners`: the values, then each of `ranged` in turn at its least and its most."""
        index = {name: np.zeros(1 + 2 * len(self.ranged), np.int64) for name in self.ends}
        for number, name in enumerate(self.ranged):
            index[name][1 + 2 * number : 3 + 2 * number] = (1, 2)
        return index

    def at(self, index: Mapping[str, Integers]) -> dict[str, Running]:
        """What clusters cost to run over each interconnect, at some choices of the inputs."""
        chosen = {name: self.ends[name][which] for name, which in index.items()}
        years, used = chosen["years"], chosen["utilisation"]

        def of(name: str, lacking: float = 0.0) -> Floats:
            return chosen.get(name, np.full(len(years), lacking))

        def watts(owner: str) -> tuple[Floats, Floats]:
            """Average power, and power when all nodes compute, with the building's."""
            low, high = of(f"{owner}idle_watts"), of(f"{owner}loaded_watts")
            return (used * high + (1 - used) * low) * of("pue", 1.0), high * of("pue", 1.0)

        average, loaded = watts("node_")
        found = {}
        for name, tariff in self.tariffs.items():
            of_port, loaded_port = watts(f"{name}: ")
            found[name] = Running(
                tariff=tariff,
                price_end=index[interconnect_price(name)],
                years=years,
                hours=years * HOURS_A_YEAR * used,
                node_price=chosen[NODE_PRICE],
                maintenance=of("maintenance_percent") / 100,
                maintenance_per_node=of("maintenance_per_node"),
                licence=of("licence_per_process") + of("licence_per_core"),
                energy_price=of("energy_price"),
                CO2_kg_per_kWh=of("CO2_kg_per_kWh"),
                kilowatts=np.stack([loaded, loaded_port]) / 1000,
                energy_a_year=np.stack([average, of_port]) * HOURS_A_YEAR / 1000,
            )
        return found


@dataclass(frozen=True, eq=False, kw_only=True)
class Running:
    """What clusters over one interconnect cost to buy and to run, at some choices of the inputs.

    Attributes
    ----------
    price_end : array (choices,)
        Which end of the range of the interconnect's price.
    years, node_price, energy_price, ... : arrays (choices,)
        As in `Lifetime`; `maintenance` is a share of the price a year.
    hours : array (choices,)
        In which the nodes compute, over all years.
    kilowatts, energy_a_year : arrays (2, choices)
        kW, and kWh a year, of a node and of its share of the interconnect, which a node alone lacks.
    """

    tariff: Tariff
    price_end: Integers
    years: Floats
    hours: Floats
    node_price: Floats
    maintenance: Floats
    maintenance_per_node: Floats
    licence: Floats
    energy_price: Floats
    CO2_kg_per_kWh: Floats
    kilowatts: Floats
    energy_a_year: Floats

    def purchase(self, nodes: ArrayLike) -> Floats:
        """Price of nodes and interconnect."""
        nodes = np.asarray(nodes, float)
        own = np.moveaxis(self.tariff.at(nodes)[self.price_end], 0, -1)
        return nodes[..., None] * (self.node_price + own)

    def _of_nodes(self, nodes: ArrayLike, rates: Floats) -> Floats:
        nodes = np.asarray(nodes, float)[..., None]
        return nodes * (rates[0] + (nodes > 1) * rates[1])

    def kilowatts_of(self, nodes: ArrayLike) -> Floats:
        """Power when all nodes compute."""
        return self._of_nodes(nodes, self.kilowatts)

    def energy_of(self, nodes: ArrayLike) -> Floats:
        """Energy over all years in kWh."""
        return self._of_nodes(nodes, self.energy_a_year) * self.years

    def parts(self, nodes: ArrayLike, licences: ArrayLike) -> dict[str, Floats]:
        """What is paid over all years, by what for."""
        nodes, licences = np.asarray(nodes, float), np.asarray(licences, float)
        purchase = self.purchase(nodes)
        maintenance = purchase * self.maintenance + nodes[..., None] * self.maintenance_per_node
        return {
            "purchase": purchase,
            "energy": self.energy_of(nodes) * self.energy_price,
            "maintenance": maintenance * self.years,
            "licences": licences[..., None] * self.licence * self.years,
        }

    def cost(self, nodes: ArrayLike, licences: ArrayLike) -> Floats:
        """All that is paid over all years."""
        return sum(self.parts(nodes, licences).values())


def span(values: Floats) -> tuple[Floats, Floats]:
    """Least and most of a quantity (..., corners), NaN where its inputs have no range."""
    low, high = values.min(axis=-1), values.max(axis=-1)
    alike = np.isclose(low, high, rtol=1e-12, atol=0.0)  # but for rounding
    return np.where(alike, np.nan, low), np.where(alike, np.nan, high)


def ranged(name: str, values: Floats) -> Piece:
    """Columns of a quantity (..., corners), the first being the values of the inputs, and of its range."""
    return with_ends(name, values[..., 0], *span(values))


def _in_use(lifetime: Lifetime, columns: Mapping[str, object]) -> dict[str, object]:
    """Leave out what nothing is known of."""
    needed = {"kilowatts": "node_loaded_watts", "kWh": "node_loaded_watts", "CO2": "CO2_kg_per_kWh"}
    lacking = {part for part, name in needed.items() if getattr(lifetime, name) is None}
    return {name: value for name, value in columns.items() if not any(part in name for part in lacking)}


def cost_columns(
    lifetime: Lifetime, node: NodePrice, offered: Mapping[str, Tariff], costs: pd.DataFrame
) -> pd.DataFrame:
    """Columns of tables about whole clusters, of which each core runs a process.

    Parameters
    ----------
    offered : mapping of interconnect to Tariff
    costs : DataFrame
        With columns ``interconnect`` and ``nodes``.

    Returns
    -------
    DataFrame
        Of the index of `costs`: ``lifetime_years, lifetime_cost``, the shares of its parts in percent,
        ``kilowatts, lifetime_kWh, lifetime_CO2_kg``, with their ranges.
    """
    tables = []
    for name, rows in costs.groupby("interconnect", sort=False):
        inputs = Inputs.of(lifetime, node, offered, [str(name)])
        running = inputs.at(inputs.corners())[str(name)]
        nodes = rows["nodes"].to_numpy(float)
        cores = nodes * (node.cores or 1)
        parts, energy = running.parts(nodes, cores), running.energy_of(nodes)
        whole = running.cost(nodes, cores)
        columns = {
            "lifetime_years": lifetime.years.value,
            **ranged("lifetime_cost", whole),
            **{f"{part}_percent": 100 * (paid / whole)[:, 0] for part, paid in parts.items()},
            **ranged("kilowatts", running.kilowatts_of(nodes)),
            **ranged("lifetime_kWh", energy),
            **ranged("lifetime_CO2_kg", energy * running.CO2_kg_per_kWh),
        }
        tables.append(pd.DataFrame(_in_use(lifetime, columns), index=rows.index))
    return pd.concat(tables).reindex(costs.index)


def job_columns(
    lifetime: Lifetime,
    node: NodePrice,
    offered: Mapping[str, Tariff],
    settings: Settings,
    curve: Curve,
    nodes: Floats,
) -> pd.DataFrame:
    """What the machine of each point of a curve costs over its years, and each job, one after another.

    A job bears its share of everything, idle hours too: whole cost x seconds / seconds in which the nodes
    compute. Its interval joins that of the time with the ranges of the inputs; of points whose time was not
    drawn it is that of the ranges alone.

    Parameters
    ----------
    nodes : array (points,)

    Returns
    -------
    DataFrame
        ``lifetime_cost, job_cost, job_kWh, job_CO2_kg``, with their ranges and intervals, one row a point.
    """
    name = curve.interconnect
    inputs = Inputs.of(lifetime, node, offered, [name])
    running = inputs.at(inputs.corners())[name]
    cost = running.cost(nodes, lifetime.licences(curve.processes, curve.table["cores"]))
    energy = running.energy_of(nodes)
    times, seconds = curve.draws, curve.table["seconds"][:, None]
    undrawn = np.isnan(times).any(axis=(1, 2))
    columns: dict[str, object] = dict(ranged("lifetime_cost", cost))
    amounts = dict(zip(_OF_A_JOB, (cost, energy, energy * running.CO2_kg_per_kWh), strict=True))
    for quantity, whole in _in_use(lifetime, amounts).items():
        a_second = whole / running.hours / 3600
        drawn = [end[:, None, None] * times for end in (a_second.min(axis=-1), a_second.max(axis=-1))]
        ends = interval(np.concatenate(drawn, axis=1), settings.level)
        alone = span(a_second * seconds)
        low, high = (np.where(undrawn, *pair) for pair in zip(alone, ends, strict=True))
        columns |= with_ends(quantity, a_second[:, 0] * seconds[:, 0], low, high)
    return pd.DataFrame(columns)
