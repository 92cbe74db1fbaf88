"""What most applications do alike: functions of `workflows.domain.Application` for modules to take over."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workflows.applications import tools
from workflows.domain import Case, Work
from workflows.launch.last_words import telling_line


def stage(case: Case, prepared: Path, folder: Path) -> None:
    """Fill `folder` with links to what is prepared."""
    tools.require_empty(folder)
    tools.link_contents(prepared, folder)


def work(prepared: Path, details: Mapping[str, Any]) -> Work | None:
    """None: what the program does has no amount of its own."""
    return None


def untimed(prepared: Path) -> dict[str, float]:
    """Nothing: writing inputs takes no time."""
    return {}


def explain(errors: str) -> str | None:
    """Line of standard error that names what went wrong."""
    return telling_line(errors)
