"""What a study assumes about the years that a cluster runs: power, prices, licences, each with its range."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from analysis.runs.json_parts import JsonPart, each


@dataclass(frozen=True)
class Assumed(JsonPart, made={"range": tuple}, optional={"range", "year", "source"}):
    """A number that is not measured, with the range in which it is known.

    Attributes
    ----------
    range : pair of float or None
        Its least and its most; None where it has no range.
    year : int or None
        When it held.
    """

    value: float
    range: tuple[float, float] | None = None
    year: int | None = None
    source: str | None = None

    @classmethod
    def of(cls, data: float | Mapping[str, Any]) -> Self:
        """Take a number alone, or a section with it; a missing value is the middle of its range."""
        given = dict(data) if isinstance(data, Mapping) else {"value": data}
        if "value" not in given and "range" not in given:
            raise ValueError("needs a value or a range")
        return super().of({"value": sum(given.get("range", ())) / 2} | given)

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        low, high = self.ends
        if low > high:
            raise ValueError(f"range: {low:g} to {high:g}; the least first")
        if not low <= self.value <= high:
            raise ValueError(f"range: {low:g} to {high:g} does not hold {self.value:g}")

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the most that it may be."""
        return self.range or (self.value, self.value)


@dataclass(frozen=True)
class Port(JsonPart, made=dict.fromkeys(("idle_watts", "loaded_watts"), Assumed.of)):
    """Power of a node's share of an interconnect: adapter, and ports of switches."""

    idle_watts: Assumed
    loaded_watts: Assumed


_NUMBERS = (
    "years",
    "utilisation",
    "node_idle_watts",
    "node_loaded_watts",
    "pue",
    "energy_price",
    "maintenance_percent",
    "maintenance_per_node",
    "licence_per_process",
    "licence_per_core",
    "CO2_kg_per_kWh",
)
_BOUNDS = {
    "years": (0, math.inf, "above 0"),
    "node_loaded_watts": (0, math.inf, "above 0"),
    "utilisation": (0, 1, "above 0, at most 1"),
}
_ONE_OF = (("maintenance_percent", "maintenance_per_node"), ("licence_per_process", "licence_per_core"))


@dataclass(frozen=True, kw_only=True)
class Lifetime(
    JsonPart, made={**dict.fromkeys(_NUMBERS, Assumed.of), "ports": each(Port.of)}, optional=_NUMBERS
):
    """What happens to a cluster after it is bought. None is not counted.

    Attributes
    ----------
    utilisation : Assumed
        Share of the time that nodes compute; else they are idle.
    ports : mapping of interconnect to Port
        Without any, no interconnect draws power.
    pue : Assumed or None
        Power of the building over that of nodes and interconnect; None counts these alone.
    maintenance_percent, maintenance_per_node : Assumed or None
        A year: of the price of nodes and interconnect, or money a node.
    licence_per_process, licence_per_core : Assumed or None
        Money a year for each process that runs, or for each core that it runs on.
    """

    years: Assumed
    utilisation: Assumed
    node_idle_watts: Assumed | None = None
    node_loaded_watts: Assumed | None = None
    ports: Mapping[str, Port] = field(default_factory=dict)
    pue: Assumed | None = None
    energy_price: Assumed | None = None
    maintenance_percent: Assumed | None = None
    maintenance_per_node: Assumed | None = None
    licence_per_process: Assumed | None = None
    licence_per_core: Assumed | None = None
    CO2_kg_per_kWh: Assumed | None = None

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """Take what a file holds; an error names the key."""
        for key, given in data.items():
            ports = given.items() if key == "ports" else ()
            of_ports = {f"ports.{name}.{way}": watts for name, port in ports for way, watts in port.items()}
            for name, one in (of_ports or {key: given}).items():
                _check(name, one)
        return super().of(data)

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        for name, (low, high, allowed) in _BOUNDS.items():
            least, most = getattr(self, name).ends if getattr(self, name) else (high, high)
            if not (low < least and most <= high):
                raise ValueError(f"{name}: {least if least <= low else most:g}; {allowed}")
        if self.pue and self.pue.ends[0] < 1:
            raise ValueError(f"pue: {self.pue.ends[0]:g}; 1 or more")
        for one, other in _ONE_OF:
            if getattr(self, one) and getattr(self, other):
                raise ValueError(f"{other}: does not belong here, since {one} is given")
        watts = [self.node_idle_watts, self.node_loaded_watts]
        for name in ("node_idle_watts", "node_loaded_watts"):
            needed = any(watts) or self.pue or self.energy_price or self.CO2_kg_per_kWh or self.ports
            if needed and getattr(self, name) is None:
                raise ValueError(f"{name}: missing, since power is counted")
        of_ports = {f"ports.{name}.": (one.idle_watts, one.loaded_watts) for name, one in self.ports.items()}
        for owner, (idle, loaded) in (of_ports | ({"node_": watts} if all(watts) else {})).items():
            for less, more in zip((idle.value, *idle.ends), (loaded.value, *loaded.ends), strict=True):
                if less > more:
                    raise ValueError(f"{owner}idle_watts: {less:g}; at most {owner}loaded_watts, {more:g}")

    @property
    def licensed(self) -> bool:
        """Whether licences are counted."""
        return bool(self.licence_per_process or self.licence_per_core)

    def licences(self, processes: Any, cores: Any) -> Any:
        """Licences for so many processes on so many cores, in the type of these."""
        return cores if self.licence_per_core else processes

    def assumed(self) -> Iterator[tuple[str, Assumed]]:
        """Every number that is given, by its name: of ports, ``NAME: loaded_watts``."""
        for name in _NUMBERS:
            if (one := getattr(self, name)) is not None:
                yield name, one
        for interconnect, port in self.ports.items():
            for way in ("idle_watts", "loaded_watts"):
                yield f"{interconnect}: {way}", getattr(port, way)


def _check(name: str, given: Any) -> None:
    if isinstance(given, int | float | Mapping):
        try:
            Assumed.of(given)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
