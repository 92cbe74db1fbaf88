"""Rules by which computing centres judge a scaling table."""

from __future__ import annotations

import math
from pathlib import Path

import jsonschema

from analysis.runs.errors import TableError
from analysis.runs.settings import Limit, Rule
from analysis.runs.yaml_files import read_yaml

QUANTITIES = ("speedup_per_doubling", "incremental_efficiency", "efficiency")
"""Quantities for which a rule may set a minimum."""

SCHEMA = {
    "title": "Rule for a proposal",
    "description": "The minimum that a computing centre requires of a scaling table.",
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "title", "quantity", "limits", "source"],
    "properties": {
        "name": {
            "description": "Name of the rule, equal to the name of its file.",
            "type": "string",
            "pattern": "^[a-z][a-z0-9_]*$",
        },
        "title": {"description": "The requirement in a few words.", "type": "string", "minLength": 1},
        "quantity": {"description": "The quantity that has to reach the minimum.", "enum": list(QUANTITIES)},
        "limits": {
            "description": "Minima by rising number of cores. There is no verdict above the last limit.",
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["at_least"],
                "properties": {
                    "at_least": {"description": "The minimum.", "type": "number", "exclusiveMinimum": 0},
                    "up_to_cores": {
                        "description": "Largest number of cores. The last limit may omit it.",
                        "type": "integer",
                        "minimum": 1,
                    },
                },
            },
        },
        "source": {
            "description": "Document in which the centre states the rule.",
            "type": "string",
            "minLength": 1,
        },
        "note": {"description": "Note below the table.", "type": "string", "minLength": 1},
    },
}
"""Schema of a rule's file. docs/reference/proposal.md is generated from it."""


def read_rule(path: str | Path) -> Rule:
    """Read the rule of a computing centre from a YAML file, and check it.

    Parameters
    ----------
    path : path of a YAML file
        Its keys are described by `SCHEMA`.

    Raises
    ------
    TableError
        If the file is wrong. The message is one line with file, key and allowed values.
    """
    path = Path(path)
    data = read_yaml(path)
    fault = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(SCHEMA).iter_errors(data))
    if fault is not None:
        key = fault.json_path.removeprefix("$").removeprefix(".")
        raise TableError(" ".join(fault.message.split()), str(path), f"key '{key}'" if key else "")
    assert isinstance(data, dict)  # as the schema requires
    rule = Rule(**{**data, "limits": tuple(Limit(**limit) for limit in data["limits"])})
    bounds = [math.inf if limit.up_to_cores is None else limit.up_to_cores for limit in rule.limits]
    if bounds != sorted(set(bounds)):
        raise TableError(
            "up_to_cores must increase, and only the last may lack it", str(path), "key 'limits'"
        )
    return rule
