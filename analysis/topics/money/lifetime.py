"""The cost of clusters over their years: price, energy, maintenance and licences, with their ranges.

An input is an assumption, such as the price of a node, with its range. A choice sets every input to its value
or to an end of its range. A corner is a choice with every input at an end. Every quantity in this module is a
ratio of functions that are linear in each input, so that its minimum and maximum are at corners. All corners
are computed.
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
from analysis.topics.money.market import Tariff, interval_of_draws

HOURS_PER_YEAR = 8760
NODE_PRICE = "node_price"
"""Name of the price of a node among the inputs."""


def price_input(interconnect: str) -> str:
    """Return the name of an interconnect's price among the inputs."""
    return f"{interconnect}: price"


@dataclass(frozen=True, eq=False)
class Inputs:
    """All assumptions about clusters with some interconnects.

    Attributes
    ----------
    ends : mapping of str to array (3,)
        Value, minimum and maximum of each input by its name. The price of an interconnect depends on the
        number of nodes; its array is 0, -1, 1 if the price has a range, else 0, 0, 0.
    """

    lifetime: Lifetime
    tariffs: Mapping[str, Tariff]
    ends: Mapping[str, Floats]

    @classmethod
    def of(
        cls, lifetime: Lifetime, node: NodePrice, tariffs: Mapping[str, Tariff], interconnects: Sequence[str]
    ) -> Inputs:
        """Gather the inputs of clusters with the given interconnects."""
        ends = {NODE_PRICE: np.array(node.prices)}
        for name, assumed in lifetime.assumed():
            port_owner, colon, _ = name.partition(": ")
            if not colon or port_owner in interconnects:
                ends[name] = np.array([assumed.value, *assumed.ends])
        for name in interconnects:
            _, low, high = tariffs[name].prices
            ends[price_input(name)] = np.array([0.0, -1.0, 1.0]) * np.any(low < high)
        return cls(lifetime, {name: tariffs[name] for name in interconnects}, ends)

    @property
    def ranged(self) -> list[str]:
        """Names of the inputs that have a range."""
        return [name for name, (_, low, high) in self.ends.items() if low < high]

    def corners(self) -> dict[str, Integers]:
        """Return the index into `ends` of each input in each choice, arrays (1 + corners,).

        The first choice has all inputs at their values; the other choices are the corners.
        """
        positions = [(1, 2) if name in self.ranged else (0,) for name in self.ends]
        choices = np.array([[0] * len(positions), *product(*positions)])
        return dict(zip(self.ends, choices.T, strict=True))

    def one_at_a_time(self) -> dict[str, Integers]:
        """Return the index into `ends` of each input in each choice, arrays (1 + 2 × ranged inputs,).

        The first choice has all inputs at their values. Two choices follow for each of `ranged`: this input
        is at its minimum, then at its maximum, and all others are at their values.
        """
        index = {name: np.zeros(1 + 2 * len(self.ranged), np.int64) for name in self.ends}
        for number, name in enumerate(self.ranged):
            index[name][1 + 2 * number : 3 + 2 * number] = (1, 2)
        return index

    def at(self, index: Mapping[str, Integers]) -> dict[str, ClusterCosts]:
        """Return the costs of clusters with each interconnect.

        Parameters
        ----------
        index : mapping of str to array (choices,)
            Index into `ends` of each input: see `corners`.
        """
        chosen = {name: self.ends[name][positions] for name, positions in index.items()}
        years, used = chosen["years"], chosen["utilisation"]

        def values(name: str, default: float = 0.0) -> Floats:
            return chosen.get(name, np.full(len(years), default))

        def watts(prefix: str) -> tuple[Floats, Floats]:
            """Return the average power and the power under load, both multiplied by the PUE."""
            idle, loaded = values(f"{prefix}idle_watts"), values(f"{prefix}loaded_watts")
            pue = values("pue", 1.0)
            return (used * loaded + (1 - used) * idle) * pue, loaded * pue

        node_watts, loaded_node_watts = watts("node_")
        costs = {}
        for name, tariff in self.tariffs.items():
            port_watts, loaded_port_watts = watts(f"{name}: ")
            costs[name] = ClusterCosts(
                tariff=tariff,
                price_end=index[price_input(name)],
                years=years,
                hours=years * HOURS_PER_YEAR * used,
                node_price=chosen[NODE_PRICE],
                maintenance=values("maintenance_percent") / 100,
                maintenance_per_node=values("maintenance_per_node"),
                licence=values("licence_per_process") + values("licence_per_core"),
                energy_price=values("energy_price"),
                CO2_kg_per_kWh=values("CO2_kg_per_kWh"),
                kilowatts=np.stack([loaded_node_watts, loaded_port_watts]) / 1000,
                energy_per_year=np.stack([node_watts, port_watts]) * HOURS_PER_YEAR / 1000,
            )
        return costs


@dataclass(frozen=True, eq=False, kw_only=True)
class ClusterCosts:
    """Costs of buying and running clusters with one interconnect, for several choices of the inputs.

    Attributes
    ----------
    price_end : array (choices,)
        Index of the end of the interconnect's price range.
    years, node_price, energy_price, ... : arrays (choices,)
        As in `Lifetime`; `maintenance` is a share of the price per year.
    hours : array (choices,)
        Computing hours over all years.
    kilowatts, energy_per_year : arrays (2, choices)
        kW, and kWh per year, of a node and of its share of the interconnect. A single node has no share.
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
    energy_per_year: Floats

    def purchase(self, nodes: ArrayLike) -> Floats:
        """Return the price of nodes and interconnect, (..., choices)."""
        nodes = np.asarray(nodes, float)
        of_interconnect = np.moveaxis(self.tariff.at(nodes)[self.price_end], 0, -1)
        return nodes[..., None] * (self.node_price + of_interconnect)

    def kilowatts_of(self, nodes: ArrayLike) -> Floats:
        """Return the power under load in kW, (..., choices)."""
        return _over_nodes(nodes, self.kilowatts)

    def energy_of(self, nodes: ArrayLike) -> Floats:
        """Return the energy over all years in kWh, (..., choices)."""
        return _over_nodes(nodes, self.energy_per_year) * self.years

    def parts(self, nodes: ArrayLike, licences: ArrayLike) -> dict[str, Floats]:
        """Return the payments over all years by purpose, each (..., choices)."""
        nodes, licences = np.asarray(nodes, float), np.asarray(licences, float)
        purchase = self.purchase(nodes)
        maintenance = purchase * self.maintenance + nodes[..., None] * self.maintenance_per_node
        return {
            "purchase": purchase,
            "energy": self.energy_of(nodes) * self.energy_price,
            "maintenance": maintenance * self.years,
            "licences": licences[..., None] * self.licence * self.years,
        }

    def total(self, nodes: ArrayLike, licences: ArrayLike) -> Floats:
        """Return all payments over all years, (..., choices)."""
        return np.sum([*self.parts(nodes, licences).values()], axis=0)


def _over_nodes(nodes: ArrayLike, rates: Floats) -> Floats:
    """Sum the rates (2, choices) of nodes and, from two nodes on, of their shares of the interconnect."""
    nodes = np.asarray(nodes, float)[..., None]
    return nodes * (rates[0] + (nodes > 1) * rates[1])


def span(values: Floats) -> tuple[Floats, Floats]:
    """Return minimum and maximum of a quantity (..., corners), NaN if they differ only by rounding."""
    low, high = values.min(axis=-1), values.max(axis=-1)
    equal = np.isclose(low, high, rtol=1e-12, atol=0.0)
    return np.where(equal, np.nan, low), np.where(equal, np.nan, high)


def with_span(name: str, values: Floats) -> Piece:
    """Make the columns of a quantity from its values (..., 1 + corners): first value, minimum and maximum."""
    return with_ends(name, values[..., 0], *span(values))


def _supported(lifetime: Lifetime, columns: Mapping[str, Floats]) -> dict[str, Floats]:
    """Drop columns about power, energy or CO₂ whose inputs the study does not state."""
    inputs = {"kilowatts": "node_loaded_watts", "kWh": "node_loaded_watts", "CO2": "CO2_kg_per_kWh"}
    unknown = [word for word, name in inputs.items() if getattr(lifetime, name) is None]
    return {name: value for name, value in columns.items() if not any(word in name for word in unknown)}


def cost_columns(
    lifetime: Lifetime, node: NodePrice, tariffs: Mapping[str, Tariff], clusters: pd.DataFrame
) -> pd.DataFrame:
    """Compute the lifetime costs of whole clusters with one process per core.

    Parameters
    ----------
    tariffs : mapping of interconnect to Tariff
    clusters : DataFrame
        With columns ``interconnect`` and ``nodes``.

    Returns
    -------
    DataFrame
        With the index of `clusters`: ``lifetime_years, lifetime_cost``, the shares of its parts in percent,
        ``kilowatts, lifetime_kWh, lifetime_CO2_kg``, with their ranges.
    """
    tables = []
    for name, rows in clusters.groupby("interconnect", sort=False):
        interconnect = str(name)
        inputs = Inputs.of(lifetime, node, tariffs, [interconnect])
        costs = inputs.at(inputs.corners())[interconnect]
        nodes = rows["nodes"].to_numpy(float)
        cores = nodes * (node.cores or 1)
        total, energy = costs.total(nodes, cores), costs.energy_of(nodes)
        ranges = {
            "lifetime_cost": total,
            "kilowatts": costs.kilowatts_of(nodes),
            "lifetime_kWh": energy,
            "lifetime_CO2_kg": energy * costs.CO2_kg_per_kWh,
        }
        columns: dict[str, object] = {"lifetime_years": lifetime.years.value}
        for column, values in _supported(lifetime, ranges).items():
            columns |= with_span(column, values)
        for part, paid in costs.parts(nodes, cores).items():
            columns[f"{part}_percent"] = 100 * (paid / total)[:, 0]
        tables.append(pd.DataFrame(columns, index=rows.index))
    return pd.concat(tables).reindex(clusters.index)


def job_columns(
    lifetime: Lifetime,
    node: NodePrice,
    tariffs: Mapping[str, Tariff],
    settings: Settings,
    curve: Curve,
    nodes: Floats,
) -> pd.DataFrame:
    """Compute the lifetime cost of the cluster of each point of a curve, and the cost of each job.

    Jobs run one after another. A job bears its share of all costs, including those of idle hours: total cost
    × seconds of the job / computing seconds of all years. Its interval combines the interval of the time with
    the ranges of the inputs. For a point without draws of the time, the interval covers the ranges only.

    Parameters
    ----------
    nodes : array (points,)

    Returns
    -------
    DataFrame
        ``lifetime_cost, job_cost, job_kWh, job_CO2_kg``, with their ranges and intervals, one row per point.
    """
    interconnect = curve.interconnect
    inputs = Inputs.of(lifetime, node, tariffs, [interconnect])
    costs = inputs.at(inputs.corners())[interconnect]
    total = costs.total(nodes, lifetime.licences(curve.processes, curve.table["cores"]))
    energy = costs.energy_of(nodes)
    amounts = {"job_cost": total, "job_kWh": energy, "job_CO2_kg": energy * costs.CO2_kg_per_kWh}
    seconds = curve.table["seconds"][:, None]
    has_no_draws = np.isnan(curve.draws).any(axis=(1, 2))
    columns = dict(with_span("lifetime_cost", total))
    for name, amount in _supported(lifetime, amounts).items():
        per_second = amount / costs.hours / 3600
        ends = [per_second.min(axis=-1), per_second.max(axis=-1)]
        draws = np.concatenate([end[:, None, None] * curve.draws for end in ends], axis=1)
        drawn_low, drawn_high = interval_of_draws(draws, settings.level)
        low, high = span(per_second * seconds)
        columns |= with_ends(
            name,
            per_second[:, 0] * seconds[:, 0],
            np.where(has_no_draws, low, drawn_low),
            np.where(has_no_draws, high, drawn_high),
        )
    return pd.DataFrame(columns)
