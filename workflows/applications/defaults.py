"""What most applications do alike: functions of `workflows.domain.Application` for modules to take over."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workflows.applications import application, tools
from workflows.domain import Case, Work
from workflows.launch.last_words import telling_line


def prepare(case: Case, processes: int, folder: Path, base: Path | None) -> None:
    """Write the input files; nothing depends on the process count."""
    tools.write_inputs(application(case.application).inputs(case), folder)


def stage(case: Case, prepared: Path, folder: Path) -> None:
    """Fill `folder` with links to what is prepared."""
    tools.require_empty(folder)
    tools.link_contents(prepared, folder)


def environment(case: Case) -> dict[str, str]:
    """Environment of every rank: what the case says."""
    return case.settings["environment"]


def work(prepared: Path, details: Mapping[str, Any]) -> Work | None:
    """None: what the program does has no amount of its own."""
    return None


def timed_part() -> tuple[str, ...]:
    """Nothing: the whole run is traced."""
    return ()


def untimed(prepared: Path) -> dict[str, float]:
    """Nothing: writing inputs takes no time."""
    return {}


def explain(errors: str) -> str | None:
    """Line of standard error that names what went wrong."""
    return telling_line(errors)
