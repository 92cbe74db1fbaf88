"""The applications: one module each, whose ``APPLICATION`` has the interface of `base.Application`.

The schema of its case files, ``workflows/schemas/case_<name>.yaml``, registers a module.
"""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path

from workflows import inputs
from workflows.applications.base import Application
from workflows.paths import SCHEMAS


@cache
def names() -> tuple[str, ...]:
    """Return the names of the applications, sorted: the modules with a schema ``case_<name>.yaml``."""
    modules = sorted(module.stem for module in Path(__file__).parent.glob("*.py"))
    return tuple(name for name in modules if (SCHEMAS / f"case_{name}.yaml").is_file())


@cache
def application(name: str, where: str = "application") -> Application:
    """Return an application.

    Parameters
    ----------
    where : str
        File and key that hold the name, for the message.

    Raises
    ------
    InputError
        The name is unknown; the line lists the known names.
    """
    inputs.choose(name, names(), "application", where)
    plug_in: Application = importlib.import_module(f"{__name__}.{name}").APPLICATION
    return plug_in
