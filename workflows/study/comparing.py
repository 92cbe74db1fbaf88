"""Write the study for ``./run-study --compare BEFORE AFTER``, which compares the results of two studies."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workflows.domain import InputError
from workflows.paths import FACTS, RESULTS
from workflows.study.imports import check_pairs, read_imports
from workflows.study.sites import read_facts
from workflows.study.written import write_study

RUNS = "runs.csv"
KEPT = ("baselines", "compare_kinds")
"""Keys that the comparison takes from the two studies if they agree."""


def write_comparison(before: Path, after: Path) -> Path:
    """Write a study that compares two folders of results or runs tables.

    Returns
    -------
    Path
        The study file, ``results/compare_<before>_<after>/study.yaml``.

    Raises
    ------
    InputError
        A runs table is missing or damaged, or the two are the same or have no point in common.
    """
    files = [_runs_of(path) for path in (before, after)]
    if files[0].resolve() == files[1].resolve():
        raise InputError(f"--compare: {before} and {after} are the same; name two different results")
    sites = _sites(files)
    imported = read_imports(files, dict(zip(files, sites, strict=True)))
    check_pairs(imported.runs, [(sites[0], sites[1])], "--compare")
    name = re.sub(r"[^a-z0-9_]+", "_", f"compare_{'_'.join(sites)}".lower())
    folder = RESULTS / name
    study = {
        "name": name,
        "title": f"What changed from {sites[0]} to {sites[1]}",
        "import": [
            {"file": os.path.relpath(file, folder), "site": site}
            for file, site in zip(files, sites, strict=True)
        ],
        "compare_sites": sites,
        **_agreed(files),
    }
    return write_study(study)


def _runs_of(path: Path) -> Path:
    file = path / RUNS if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"--compare: {path}: no results of a study are there ({RUNS})")
    return file


def _sites(files: Sequence[Path]) -> list[str]:
    """Return two different names, from the folders of results and as few parent folders as needed."""
    paths = [file.resolve().parent.parts[1:] for file in files]
    for depth in range(1, max(map(len, paths)) + 1):
        names = [re.sub(r"[^A-Za-z0-9_.+-]+", "_", "-".join(path[-depth:])).lstrip("_.+-") for path in paths]
        if names[0] != names[1] and all(names):
            return names
    return ["before", "after"]


def _agreed(files: Sequence[Path]) -> dict[str, Any]:
    """Return the settings of `KEPT` that are the same in both studies."""
    first, second = (read_facts(file.parent / FACTS).study.as_json() for file in files)
    return {key: first[key] for key in KEPT if first.get(key) and first[key] == second.get(key)}
