"""Assumptions about the lifetime of a cluster: power, prices and licences, each with its range."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from analysis.runs.json_parts import JsonPart, each


@dataclass(frozen=True)
class Assumed(JsonPart, converters={"range": tuple}, optional={"range", "year", "source"}):
    """A number that is assumed instead of measured, with its range.

    Attributes
    ----------
    range : pair of float or None
        Smallest and largest possible value; None without a range.
    year : int or None
        Year of the number.
    """

    value: float
    range: tuple[float, float] | None = None
    year: int | None = None
    source: str | None = None

    @classmethod
    def of(cls, data: float | Mapping[str, Any]) -> Self:
        """Make the assumption from a number, or from a section of keys.

        If the section has only a range, the value is the middle of the range.
        """
        given: dict[str, Any] = dict(data) if isinstance(data, Mapping) else {"value": data}
        if "value" not in given and "range" not in given:
            raise ValueError("needs a value or a range")
        if "value" not in given:
            low, high = given["range"]
            given["value"] = (low + high) / 2
        return super().of(given)

    def __post_init__(self) -> None:
        """Raise `ValueError` for impossible values."""
        low, high = self.ends
        if low > high:
            raise ValueError(f"range: {low:g} to {high:g}; the least first")
        if not low <= self.value <= high:
            raise ValueError(f"range: {low:g} to {high:g} does not hold {self.value:g}")

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return self.range or (self.value, self.value)


@dataclass(frozen=True)
class Port(JsonPart, converters=dict.fromkeys(("idle_watts", "loaded_watts"), Assumed.of)):
    """Power per node of an interconnect: adapter and switch ports."""

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
_BOUNDS: dict[str, tuple[float, float, str]] = {
    "years": (0, math.inf, "above 0"),
    "node_loaded_watts": (0, math.inf, "above 0"),
    "utilisation": (0, 1, "above 0, at most 1"),
}
"""Bounds of numbers: above the first, at most the second, and both in words."""
_ONE_OF = (("maintenance_percent", "maintenance_per_node"), ("licence_per_process", "licence_per_core"))


@dataclass(frozen=True, kw_only=True)
class Lifetime(
    JsonPart, converters={**dict.fromkeys(_NUMBERS, Assumed.of), "ports": each(Port.of)}, optional=_NUMBERS
):
    """Running costs and power of a cluster. Items that are None are not counted.

    Attributes
    ----------
    utilisation : Assumed
        Share of time in which nodes compute; otherwise they are idle.
    ports : mapping of interconnect to Port
        Power per node of each interconnect; other interconnects draw no power.
    pue : Assumed or None
        Power usage effectiveness: power of the building divided by power of nodes and interconnect.
    maintenance_percent, maintenance_per_node : Assumed or None
        Maintenance per year: percent of the price of nodes and interconnect, or money per node.
    licence_per_process, licence_per_core : Assumed or None
        Money per year for each process that runs, or for each core in use.
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
        """Make the lifetime from the content of a file; an error names the key."""
        ports = data.get("ports", {})
        numbers = {key: number for key, number in data.items() if key != "ports"}
        numbers |= {
            f"ports.{name}.{way}": watts for name, port in ports.items() for way, watts in port.items()
        }
        for key, number in numbers.items():
            _check(key, number)
        return super().of(data)

    def __post_init__(self) -> None:
        """Raise `ValueError` for impossible values."""
        for name, (above, highest, allowed) in _BOUNDS.items():
            number = getattr(self, name)
            if number is None:
                continue
            least, most = number.ends
            if least <= above or most > highest:
                raise ValueError(f"{name}: {least if least <= above else most:g}; {allowed}")
        if self.pue and self.pue.ends[0] < 1:
            raise ValueError(f"pue: {self.pue.ends[0]:g}; 1 or more")
        for first, second in _ONE_OF:
            if getattr(self, first) and getattr(self, second):
                raise ValueError(f"{second}: does not belong here, since {first} is given")
        self._check_watts()

    def _check_watts(self) -> None:
        """Raise `ValueError` if the power of a node is missing, or if idle power exceeds loaded power."""
        idle_watts, loaded_watts = self.node_idle_watts, self.node_loaded_watts
        uses_of_power = (self.pue, self.energy_price, self.CO2_kg_per_kWh, self.ports)
        if any((idle_watts, loaded_watts, *uses_of_power)):
            for name in ("node_idle_watts", "node_loaded_watts"):
                if getattr(self, name) is None:
                    raise ValueError(f"{name}: missing, since power is counted")
        pairs = {f"ports.{name}.": (port.idle_watts, port.loaded_watts) for name, port in self.ports.items()}
        if idle_watts and loaded_watts:
            pairs["node_"] = idle_watts, loaded_watts
        for prefix, (idle, loaded) in pairs.items():
            for less, more in zip((idle.value, *idle.ends), (loaded.value, *loaded.ends), strict=True):
                if less > more:
                    raise ValueError(f"{prefix}idle_watts: {less:g}; at most {prefix}loaded_watts, {more:g}")

    @property
    def licensed(self) -> bool:
        """Whether licences are counted."""
        return bool(self.licence_per_process or self.licence_per_core)

    def licences(self, processes: Any, cores: Any) -> Any:
        """Return how many licences a run needs: one per core if priced per core, else one per process."""
        return cores if self.licence_per_core else processes

    def assumed(self) -> Iterator[tuple[str, Assumed]]:
        """Yield the name and value of every number; for ports the name is ``NAME: loaded_watts``."""
        for name in _NUMBERS:
            if (number := getattr(self, name)) is not None:
                yield name, number
        for interconnect, port in self.ports.items():
            for way in ("idle_watts", "loaded_watts"):
                yield f"{interconnect}: {way}", getattr(port, way)


def _check(name: str, given: Any) -> None:
    """Raise `ValueError` with the name of a number if the number or its range is impossible."""
    if isinstance(given, int | float | Mapping):
        try:
            Assumed.of(given)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
