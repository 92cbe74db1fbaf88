"""Metadata of an archived study, in the formats that repositories read."""

from __future__ import annotations

import hashlib
import html
import json
import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.runs.facts import Facts
from workflows.study.asked import Asked

PLACEHOLDER = "Family name, Given name"
"""Creator of a study whose creators are unknown."""
ANONYMOUS = "Anonymous"
KEYWORDS = ("scaling study", "interconnect", "MPI", "high-performance computing", "reproducibility")
CONTEXT = "https://w3id.org/ro/crate/1.1/context"
CRATE = "ro-crate-metadata.json"


@dataclass(frozen=True)
class About:
    """Description of an archive.

    Attributes
    ----------
    title, description : str
    creators : tuple of str
        Each as "Family name, Given name".
    keywords : tuple of str
    licence : str
        SPDX identifier.
    version : str
    made : str or None
        Date of the results, ISO 8601; None without results.
    """

    title: str
    description: str
    creators: tuple[str, ...]
    keywords: tuple[str, ...]
    licence: str
    version: str
    made: str | None


def describe(asked: Asked, facts: Facts, citation: Mapping[str, Any], anonymise: bool) -> About:
    """Return the description of a study's archive.

    Parameters
    ----------
    facts : Facts
        Facts of the study; empty if the study has no results yet.
    citation : mapping
        Content of CITATION.cff. Its authors are the creators if the study names no creators.
    anonymise : bool
        Whether to leave out the names of the creators.
    """
    persons = [
        ", ".join(person[key] for key in ("family-names", "given-names") if person.get(key))
        for person in citation.get("authors", [])
        if person.get("family-names")
    ]
    creators = [ANONYMOUS] if anonymise else list(asked.study.creators) or persons or [PLACEHOLDER]
    applications = sorted({case.application for case in asked.cases.values()})
    return About(
        asked.study.title,
        _description(asked, facts, applications),
        tuple(creators),
        (*KEYWORDS, *applications),
        str(citation["license"]),
        facts.made[:10] if facts.made else str(citation["version"]),
        facts.made,
    )


def _description(asked: Asked, facts: Facts, applications: Sequence[str]) -> str:
    """Return the sentences that describe a study: its question, cases, interconnects and runs."""
    cases = ", ".join(about.title or name for name, about in facts.cases.items())
    interconnects = ", ".join(about.title or name for name, about in facts.interconnects.items())
    runs = facts.runs
    sentences = [
        asked.study.question,
        f"Cases: {cases}." if cases else "",
        f"Interconnects: {interconnects}." if interconnects else "",
        f"Applications: {', '.join(applications)}." if applications else "",
        ""
        if runs.recorded is None
        else f"{runs.recorded} repetitions, {runs.invalid} of them invalid and {runs.outdated} outdated.",
        "Records of all runs, tables, figures, report, and the files to run it again with Nodeworth.",
    ]
    return " ".join(filter(None, sentences))


def zenodo(about: About) -> dict[str, Any]:
    """Return the metadata that Zenodo reads from ``.zenodo.json``."""
    return {
        "title": about.title,
        "upload_type": "dataset",
        "description": f"<p>{html.escape(about.description)}</p>",
        "creators": [{"name": name} for name in about.creators],
        "keywords": list(about.keywords),
        "version": about.version,
        "license": about.licence,
    }


def ro_crate(about: About, files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the metadata of an RO-Crate 1.1: the archive, and each file with its size and digest."""
    people = [
        {"@id": f"#creator-{number}", "@type": "Person", "name": name}
        for number, name in enumerate(about.creators, 1)
    ]
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": about.title,
        "description": about.description,
        "keywords": list(about.keywords),
        "version": about.version,
        "license": f"https://spdx.org/licenses/{about.licence}",
        "creator": [{"@id": person["@id"]} for person in people],
        "hasPart": [{"@id": path} for path in files],
    }
    descriptor = {
        "@id": CRATE,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": {"@id": CONTEXT.removesuffix("/context")},
    }
    dated = {"datePublished": about.made} if about.made else {}
    entries = [_entry(path, content) for path, content in files.items()]
    return {"@context": CONTEXT, "@graph": [descriptor, root | dated, *people, *entries]}


def _entry(path: str, content: bytes) -> dict[str, str]:
    kind = mimetypes.guess_type(path)[0]
    digest = hashlib.sha256(content).hexdigest()
    entry = {"@id": path, "@type": "File", "contentSize": str(len(content)), "sha256": digest}
    return entry | ({"encodingFormat": kind} if kind else {})


def readme(about: About, study_file: str, missing: Sequence[str], anonymised: bool) -> str:
    """Return the text of an archive's README.md."""
    lines = [
        f"# {about.title}",
        "",
        about.description,
        "",
        "| what | where |",
        "| --- | --- |",
        "| the report | `results/report.pdf`, `results/report.html` |",
        "| the runs table, one row per repetition, valid or not | `results/runs.csv` |",
        "| side tables of the runs: benchmarks, traces, accounting | `results/details/` |",
        "| estimates with their intervals | `results/tables/` |",
        "| figures | `results/figures/` |",
        "| record and output of each repetition | `results/records/` |",
        "| machine, versions, titles | `results/facts.json` |",
        "| the study, its cases, interconnects, imported files and price books | `study/` |",
        "| Python packages, system programs, versions | `environment/` |",
        "| metadata for repositories | `.zenodo.json`; `ro-crate-metadata.json`, with every file's digest |",
        "",
        "Nodeworth's documentation describes the columns. To run the study again, copy the folders of",
        f"`study/` over those of Nodeworth and type `./run-study config/studies/{study_file}`.",
    ]
    if anonymised:
        lines += ["", "Names of hosts and users are replaced, each name by the same word everywhere."]
    if missing:
        lines += ["", "Missing:", "", *(f"- {name}" for name in missing)]
    return "\n".join([*lines, ""])


def as_json(data: Mapping[str, Any]) -> bytes:
    """Return metadata as JSON, encoded in UTF-8."""
    return (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode()
