"""Results of another site, or of this site at another time, as an import brings them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.runs.facts import AboutCase, AboutInterconnect, AboutStudy, Facts, Site
from workflows.errors import InputError
from workflows.inputs import check
from workflows.paths import FACTS

if TYPE_CHECKING:  # a job that measures loads no pandas
    import pandas as pd

    from workflows.study.study import SiteGiven, Study


def at_site(runs: pd.DataFrame, file: Path, site: SiteGiven | None) -> pd.DataFrame:
    """Say of imported runs where they were made and where their records lie.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.importers.read_foreign` gives them from `file`.
    site : SiteGiven or None
        None for a file that names its sites itself, or has none.

    Raises
    ------
    InputError
        If the study gives a site to a file that names sites itself, or renames one that is not in it.
    """
    own = sorted(runs["site"].dropna().unique()) if "site" in runs else []
    if own and isinstance(site, str):
        told = ", ".join(own)
        raise InputError(f"{file}: site: {site!r} is given, but the file tells its sites itself ({told})")
    if isinstance(site, Mapping):
        if odd := next((name for name in site if name not in own), None):
            raise InputError(
                f"{file}: site.{odd}: is no site of this file ({', '.join(own) or 'it has none'})"
            )
        runs = runs.assign(site=runs["site"].replace(site))
    if "record" in runs:

        def way_to(name: str) -> str:
            """A record that lies beside the file it was listed in gets the way to it."""
            return str(file.parent / name) if (file.parent / name).is_file() else name

        runs = runs.assign(record=runs["record"].map(way_to, na_action="ignore"))
    return runs.assign(site=site) if isinstance(site, str) else runs


def known_facts(study: Study) -> Facts:
    """What the studies that were imported know about themselves.

    Returns
    -------
    Facts
        ``cases`` and ``interconnects`` of all imported studies, of equal names the first, and ``sites``;
        of ``study``, ``inside_nodes``.

    Raises
    ------
    InputError
        If the facts beside an imported file are not those of a study.
    """
    cases: dict[str, AboutCase] = {}
    interconnects: dict[str, AboutInterconnect] = {}
    sites, inside_nodes = {}, []
    for file in study.imports:
        facts = read_facts(file.parent / FACTS)
        cases, interconnects = {**facts.cases, **cases}, {**facts.interconnects, **interconnects}
        inside_nodes += facts.study.inside_nodes
        if isinstance(site := study.import_sites.get(file), str):
            machine = None if "machine" in facts.absent else facts.machine
            sites[site] = Site(str(file), facts.made, facts.version, machine)
    about = AboutStudy(inside_nodes=inside_nodes)
    return Facts(study=about, cases=cases, interconnects=interconnects, sites=sites)


def read_facts(file: Path) -> Facts:
    """Read what a study wrote about itself: nothing where there is no such file.

    Raises
    ------
    InputError
        If it is something else: one line with the file, and the key, its value and what is allowed.
    """
    if not file.exists():
        return Facts.of({})
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{file}: is no JSON: {error}") from None
    check(data, "facts", file)
    return Facts.of(data)
