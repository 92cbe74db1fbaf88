"""Sites of imported results: another machine, or this machine at another time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.runs.facts import AboutCase, AboutInterconnect, AboutStudy, Facts, Site
from workflows.errors import InputError
from workflows.inputs import check
from workflows.paths import FACTS

if TYPE_CHECKING:  # a job that measures loads no pandas
    import pandas as pd

    from workflows.study.study import SiteGiven, Study


def at_site(runs: pd.DataFrame, file: Path, site: SiteGiven | None) -> pd.DataFrame:
    """Add the site to imported runs, and complete the paths of their records.

    Parameters
    ----------
    runs : DataFrame
        Runs that `analysis.importers.read_foreign` read from `file`.
    site : SiteGiven or None
        None if the file names its sites, or has none.

    Raises
    ------
    InputError
        The study states a site for a file that names its sites, or renames a site that is not in the file.
    """
    in_file = sorted(runs["site"].dropna().unique()) if "site" in runs else []
    sites = ", ".join(in_file)
    if in_file and isinstance(site, str):
        raise InputError(f"{file}: site: {site!r} is given, but the file names its sites ({sites})")
    if isinstance(site, Mapping):
        if unknown := next((name for name in site if name not in in_file), None):
            raise InputError(f"{file}: site.{unknown}: is no site of this file ({sites or 'it has none'})")
        runs = runs.assign(site=runs["site"].replace(site))
    if "record" in runs:

        def path_of(name: str) -> str:
            """Return the full path of a record whose path is relative to the folder of `file`."""
            return str(file.parent / name) if (file.parent / name).is_file() else name

        runs = runs.assign(record=runs["record"].map(path_of, na_action="ignore"))
    return runs.assign(site=site) if isinstance(site, str) else runs


def imported_facts(study: Study) -> Facts:
    """Collect the facts of the imported studies.

    Returns
    -------
    Facts
        ``cases``, ``interconnects`` and ``sites`` of all imported studies, and ``study.inside_nodes``. The
        first of several cases or interconnects with the same name counts.

    Raises
    ------
    InputError
        The facts.json next to an imported file is wrong.
    """
    cases: dict[str, AboutCase] = {}
    interconnects: dict[str, AboutInterconnect] = {}
    sites: dict[str, Site] = {}
    inside_nodes: list[str] = []
    for file in study.imports:
        facts = read_facts(file.parent / FACTS)
        cases, interconnects = {**facts.cases, **cases}, {**facts.interconnects, **interconnects}
        inside_nodes += facts.study.inside_nodes
        if isinstance(site := study.import_sites.get(file), str):
            machine = None if "machine" in facts.absent else facts.machine
            sites[site] = Site(str(file), facts.made, facts.version, machine)
    return Facts(
        study=AboutStudy(inside_nodes=inside_nodes), cases=cases, interconnects=interconnects, sites=sites
    )


def read_facts(file: Path) -> Facts:
    """Read the facts of a study; empty if the file is missing.

    Raises
    ------
    InputError
        The file is wrong: one line with file, key, value and allowed values.
    """
    if not file.exists():
        return Facts.of({})
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{file}: is no JSON: {error}") from None
    if isinstance(data, dict):
        data = _with_study_keys(data)
    check(data, "facts", file)
    return Facts.of(data)


def _with_study_keys(data: dict[str, Any]) -> dict[str, Any]:
    """Return facts with ``study_keys``. Earlier versions wrote two of these keys separately; move them."""
    earlier = {key: data[key] for key in ("queue", "congestion") if data.get(key)}
    rest = {key: value for key, value in data.items() if key not in ("queue", "congestion")}
    if not earlier:
        return rest
    name = data.get("study", {}).get("name") or "study"
    return {**rest, "study_keys": {"name": name, **earlier}}
