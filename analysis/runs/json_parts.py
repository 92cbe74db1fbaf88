"""Parts of a JSON file as dataclasses, whose attributes are its keys."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ClassVar, Self


@dataclass(frozen=True)
class JsonPart:
    """Part of a file, written in the order of its attributes.

    A class of it says with ``made`` what makes the values that are no plain data, by key, and with
    ``optional`` which keys are written only if they have a value.

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
        """Note what is said of the keys, beside what is said of those of a class above."""
        cls._made = {**cls._made, **(made or {})}
        cls._optional = {*cls._optional, *optional}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """Take a part from what a file holds, which has been checked."""
        given = {key: make(data[key]) for key, make in cls._made.items() if data.get(key) is not None}
        return cls(**{**data, **given}, absent=frozenset(one.name for one in cls.parts()) - data.keys())

    def as_json(self) -> dict[str, Any]:
        """Give what its file holds."""
        return {one.name: _plain(getattr(self, one.name)) for one in self.parts() if not self._lacks(one)}

    def _lacks(self, one: Field) -> bool:
        value = getattr(self, one.name)
        if one.name in self.absent:
            return value == (one.default if one.default_factory is MISSING else one.default_factory())
        return value is None and one.name in self._optional

    @classmethod
    def parts(cls) -> list[Field]:
        """Give the fields of all keys that it may have, in order."""
        return [one for one in fields(cls) if one.name != "absent"]


def each(make: Callable[[Any], Any]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Make every value of a section of the file."""
    return lambda section: {name: make(one) for name, one in section.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, JsonPart):
        return value.as_json()
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
