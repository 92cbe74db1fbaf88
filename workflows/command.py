"""What ``./run-study`` does once everything is installed: find the study, start Snakemake."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from workflows.again import WHAT, ask_again
from workflows.domain import InputError
from workflows.plan import ROOT, make_plan, one_line_errors
from workflows.study import read_study

DEFAULT = Path("config/studies/laptop.yaml")


def main(arguments: list[str]) -> None:
    """Run a study.

    Parameters
    ----------
    arguments : list of str
        The folder in which the user typed the command, then what was typed.
    """
    here, rest = Path(arguments[0]), arguments[1:]
    again = None
    if rest[:1] == ["--again"]:
        if len(rest) < 2:
            raise InputError(f"--again: say what: {WHAT}")
        again, rest = rest[1], rest[2:]
    if rest and not rest[0].startswith("-") and rest[0].endswith((".yaml", ".yml")):
        file, rest = _study_file(rest[0], here), rest[1:]
    else:
        file = DEFAULT
    read_study(file)  # says what is wrong with the file in one line, before Snakemake reads it
    if again:
        ask_again(make_plan(file), again)
    snakemake = str(Path(sys.executable).with_name("snakemake"))
    os.execv(snakemake, [snakemake, "--configfile", str(file), *rest])


def _study_file(given: str, here: Path) -> Path:
    for file in (here / given, ROOT / given):
        if file.exists():
            return file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
    known = ", ".join(
        sorted(str(file.relative_to(ROOT)) for file in (ROOT / "config/studies").glob("*.yaml"))
    )
    raise InputError(f"{given}: no such study file; there are {known}")


if __name__ == "__main__":
    with one_line_errors():
        main(sys.argv[1:])
