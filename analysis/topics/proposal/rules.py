"""Rules by which computing centres judge a scaling table."""

from __future__ import annotations

import math
from pathlib import Path

import jsonschema

from analysis.runs.errors import TableError
from analysis.runs.settings import Limit, Rule
from analysis.runs.yaml_files import read_yaml

QUANTITIES = ("speedup_per_doubling", "incremental_efficiency", "efficiency")
"""What a rule may ask a minimum of."""

SCHEMA = {
    "title": "Rule for a proposal",
    "description": "What a computing centre asks of a scaling table.",
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "title", "quantity", "limits", "source"],
    "properties": {
        "name": {
            "description": "Name of the rule; the file is called the same.",
            "type": "string",
            "pattern": "^[a-z][a-z0-9_]*$",
        },
        "title": {"description": "What is asked, in a few words.", "type": "string", "minLength": 1},
        "quantity": {"description": "What has to reach the minimum.", "enum": list(QUANTITIES)},
        "limits": {
            "description": "Minima by number of cores, rising. Above the last limit there is no verdict.",
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["at_least"],
                "properties": {
                    "at_least": {"description": "The minimum.", "type": "number", "exclusiveMinimum": 0},
                    "up_to_cores": {
                        "description": "Largest number of cores; the last limit may leave it out.",
                        "type": "integer",
                        "minimum": 1,
                    },
                },
            },
        },
        "source": {"description": "Where the centre says so.", "type": "string", "minLength": 1},
        "note": {"description": "Shown below the table.", "type": "string", "minLength": 1},
    },
}
"""Schema of a rule's file, from which docs/reference/proposal.md is made."""


def read_rule(path: str | Path) -> Rule:
    """Read a rule.

    Parameters
    ----------
    path : path of a YAML file
        As `SCHEMA` says.

    Raises
    ------
    TableError
        In one line with file, key and what is allowed.
    """
    path = Path(path)
    data = read_yaml(path)
    fault = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(SCHEMA).iter_errors(data))
    if fault is not None:
        key = fault.json_path.removeprefix("$").removeprefix(".")
        raise TableError(" ".join(fault.message.split()), str(path), f"key '{key}'" if key else "")
    rule = Rule(**data | {"limits": tuple(Limit(**limit) for limit in data["limits"])})
    bounds = [math.inf if limit.up_to_cores is None else limit.up_to_cores for limit in rule.limits]
    if bounds != sorted(set(bounds)):
        raise TableError(
            "up_to_cores must increase, and only the last may lack it", str(path), "key 'limits'"
        )
    return rule
