"""The applications: one module each, with the schema of its case files in workflows/schemas.

A module provides the functions of `workflows.domain.Application`.
"""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import cast

from workflows import inputs
from workflows.domain import Application


@cache
def names() -> tuple[str, ...]:
    """Names of the applications: the modules that have a schema ``case_<name>.yaml``."""
    modules = sorted(module.stem for module in Path(__file__).parent.glob("*.py"))
    return tuple(name for name in modules if (inputs.SCHEMAS / f"case_{name}.yaml").is_file())


@cache
def application(name: str, where: str = "application") -> Application:
    """Return the module of an application; `where` says which file and key hold its name, for the message.

    Raises
    ------
    InputError
        There is no such application; the line names those that there are.
    """
    inputs.choose(name, names(), "application", where)
    return cast(Application, importlib.import_module(f"{__name__}.{name}"))
