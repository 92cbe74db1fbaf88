"""Parts of a JSON file as dataclasses, whose attributes are its keys."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ClassVar, Self


@dataclass(frozen=True)
class JsonPart:
    """Part of a file, written in the order of its attributes.

    A subclass names with ``made`` the functions that make values that are no plain data, by key, and with
    ``optional`` the keys that are written only if they have a value.

    Attributes
    ----------
    absent : frozenset of str
        Keys that the file lacks. They have their defaults, and stay away when it is written with these.
    """

    _made: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    _optional: ClassVar[Collection[str]] = ()

    absent: frozenset[str] = field(default=frozenset(), kw_only=True, repr=False, compare=False)

    def __init_subclass__(
        cls, made: Mapping[str, Callable[[Any], Any]] | None = None, optional: Collection[str] = ()
    ) -> None:
        """Add `made` and `optional` to what the parent class has."""
        cls._made = {**cls._made, **(made or {})}
        cls._optional = {*cls._optional, *optional}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """Take a part from what a file holds, which has been checked."""
        given = {key: make(data[key]) for key, make in cls._made.items() if data.get(key) is not None}
        return cls(**{**data, **given}, absent=frozenset(key.name for key in cls.entries()) - data.keys())

    def as_json(self) -> dict[str, Any]:
        """Give what its file holds."""
        return {key.name: _plain(getattr(self, key.name)) for key in self.entries() if not self._lacks(key)}

    def _lacks(self, key: Field) -> bool:
        value = getattr(self, key.name)
        if key.name in self.absent:
            return value == (key.default if key.default_factory is MISSING else key.default_factory())
        return value is None and key.name in self._optional

    @classmethod
    def entries(cls) -> list[Field]:
        """Give the fields of all keys that it may have, in order."""
        return [key for key in fields(cls) if key.name != "absent"]


def each(make: Callable[[Any], Any]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Make every value of a section of the file."""
    return lambda section: {name: make(value) for name, value in section.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, JsonPart):
        return value.as_json()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
