"""Parts of a JSON file as dataclasses, whose attributes are the keys of the file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ClassVar, Self


@dataclass(frozen=True)
class JsonPart:
    """Part of a JSON file; each attribute is a key, and `as_json` writes them in this order.

    A subclass may state ``converters``, functions by key that convert plain data to attributes. It may also
    state ``optional``, the keys that `as_json` leaves out if their value is None.

    Attributes
    ----------
    absent : frozenset of str
        Keys that the file lacks. Their attributes have their defaults; `as_json` leaves out each key whose
        attribute still has its default.
    """

    _converters: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    _optional: ClassVar[Collection[str]] = ()

    absent: frozenset[str] = field(default=frozenset(), kw_only=True, repr=False, compare=False)

    def __init_subclass__(
        cls, converters: Mapping[str, Callable[[Any], Any]] | None = None, optional: Collection[str] = ()
    ) -> None:
        """Add `converters` and `optional` to those of the parent class."""
        cls._converters = {**cls._converters, **(converters or {})}
        cls._optional = {*cls._optional, *optional}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """Make a part from the content of a file, which a schema has checked."""
        converted = {
            key: convert(data[key]) for key, convert in cls._converters.items() if data.get(key) is not None
        }
        keys = frozenset(key.name for key in cls.entries())
        return cls(**{**data, **converted}, absent=keys - data.keys())

    def as_json(self) -> dict[str, Any]:
        """Return the content of the file."""
        written = [key for key in self.entries() if not self._is_left_out(key)]
        return {key.name: _plain(getattr(self, key.name)) for key in written}

    def _is_left_out(self, key: Field[Any]) -> bool:
        """Return whether `as_json` leaves out a key: see `absent` and ``optional``."""
        value = getattr(self, key.name)
        if key.name in self.absent:
            default = key.default if key.default_factory is MISSING else key.default_factory()
            return bool(value == default)
        return value is None and key.name in self._optional

    @classmethod
    def entries(cls) -> list[Field[Any]]:
        """Return the fields of all keys in order."""
        return [key for key in fields(cls) if key.name != "absent"]


def each(make: Callable[[Any], Any]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return a function that applies `make` to every value of a section."""
    return lambda section: {name: make(value) for name, value in section.items()}


def _plain(value: Any) -> Any:
    """Convert parts to mappings, and tuples to lists, as JSON needs them."""
    if isinstance(value, JsonPart):
        return value.as_json()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
