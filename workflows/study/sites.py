"""Results of another site, or of this one at another time, as an import brings them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from workflows.domain import InputError
from workflows.paths import FACTS
from workflows.study.study import Study

_PARTS = ("cases", "interconnects", "machine", "study")


def at_site(runs: pd.DataFrame, file: Path, site: str | None) -> pd.DataFrame:
    """Say of imported runs where they were made and where their records lie.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.importers.read_foreign` gives them.
    file : Path
        What they were read from.
    site : str or None
        None for a file that tells its sites itself, or has none.

    Raises
    ------
    InputError
        If the study gives a site to a file that tells sites itself.
    """
    if site and "site" in runs and runs["site"].notna().any():
        told = ", ".join(sorted(runs["site"].dropna().unique()))
        raise InputError(f"{file}: site: {site!r} is given, but the file tells its sites itself ({told})")
    if "record" in runs:
        folder = file.parent
        runs = runs.assign(record=runs["record"].map(lambda name: _beside(folder, name), na_action="ignore"))
    return runs.assign(site=site) if site else runs


def _beside(folder: Path, name: str) -> str:
    """A record that lies beside the file it was listed in gets the way to it."""
    return str(folder / name) if (folder / name).is_file() else name


def known_facts(study: Study) -> dict[str, dict[str, Any]]:
    """What the studies that were imported know about themselves.

    Returns
    -------
    dict
        ``cases`` and ``interconnects`` as in the facts of a study, of all imported studies, the first one's
        where several have one; ``sites``, by site: ``file, made, version, machine``.

    Raises
    ------
    InputError
        If the facts beside an imported file are not those of a study.
    """
    known: dict[str, dict[str, Any]] = {"cases": {}, "interconnects": {}, "sites": {}}
    for file in study.imports:
        facts = read_facts(file.parent / FACTS)
        for part in ("cases", "interconnects"):
            known[part] = facts.get(part, {}) | known[part]
        if site := study.import_sites.get(file):
            about = {key: facts.get(key) for key in ("made", "version", "machine")}
            known["sites"][site] = {"file": str(file)} | about
    return known


def read_facts(file: Path) -> dict[str, Any]:
    """Read what a study wrote about itself: nothing where there is no such file.

    Raises
    ------
    InputError
        If it is something else.
    """
    if not file.exists():
        return {}
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{file}: is no JSON: {error}") from None
    if not isinstance(facts, dict) or not all(isinstance(facts.get(part), dict) for part in _PARTS):
        raise InputError(f"{file}: is not what a study wrote; it has no {', '.join(_PARTS)}")
    return facts
