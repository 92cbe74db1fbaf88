"""Rules by which computing centres judge a scaling table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import jsonschema

from analysis.errors import TableError
from analysis.yaml_files import read_yaml

QUANTITIES = ("speedup_per_doubling", "incremental_efficiency", "efficiency")
"""What a rule may ask a minimum of."""

_RULE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "title", "quantity", "limits", "source"],
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z][a-z0-9_]*$"},
        "title": {"type": "string", "minLength": 1},
        "quantity": {"enum": list(QUANTITIES)},
        "limits": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["at_least"],
                "properties": {
                    "at_least": {"type": "number", "exclusiveMinimum": 0},
                    "up_to_cores": {"type": "integer", "minimum": 1},
                },
            },
        },
        "source": {"type": "string", "minLength": 1},
        "note": {"type": "string", "minLength": 1},
    },
}


@dataclass(frozen=True)
class Limit:
    """A minimum, and the largest number of cores that it is for (None: any)."""

    at_least: float
    up_to_cores: int | None = None


@dataclass(frozen=True)
class Rule:
    """What a computing centre asks of a scaling table.

    Attributes
    ----------
    name, title, source, note : str
    quantity : str
        One of `QUANTITIES`.
    limits : tuple of Limit
        By increasing number of cores.
    """

    name: str
    title: str
    quantity: str
    limits: tuple[Limit, ...]
    source: str
    note: str = ""

    def at_least(self, cores: int) -> float:
        """Minimum at a number of cores; NaN where the rule says nothing."""
        fitting = (one for one in self.limits if one.up_to_cores is None or cores <= one.up_to_cores)
        return next((one.at_least for one in fitting), math.nan)


def read_rule(path: str | Path) -> Rule:
    """Read a rule.

    Parameters
    ----------
    path : path of a YAML file
        docs/proposal.md describes its keys.

    Raises
    ------
    TableError
        In one line with file, key and what is allowed.
    """
    path = Path(path)
    data = read_yaml(path)
    fault = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(_RULE).iter_errors(data))
    if fault is not None:
        key = fault.json_path.removeprefix("$").removeprefix(".")
        raise TableError(" ".join(fault.message.split()), str(path), f"key '{key}'" if key else "")
    limits = tuple(Limit(**limit) for limit in data.pop("limits"))
    bounds = [math.inf if limit.up_to_cores is None else limit.up_to_cores for limit in limits]
    if bounds != sorted(set(bounds)):
        raise TableError(
            "up_to_cores must increase, and only the last may lack it", str(path), "key 'limits'"
        )
    return Rule(limits=limits, **data)
