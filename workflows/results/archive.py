"""Archive of a study for a repository: ``./run-study --archive [--anonymise] [study file]``."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

from analysis.runs.facts import Facts
from workflows.domain import InputError, counted
from workflows.inputs import read_yaml
from workflows.paths import ROOT, StudyPaths
from workflows.plan.machine import hold_study
from workflows.plan.plan import Plan
from workflows.plan.records import read_all, record_files
from workflows.report.html import write_html
from workflows.report.page_one import page_one
from workflows.report.pdf import write_pdf
from workflows.results import metadata
from workflows.results.anonymous import Names, find_names
from workflows.study.asked import Asked, interconnect_file
from workflows.study.interconnects import curve_file
from workflows.study.sites import read_facts
from workflows.study.study import Study

EXPECTED = ("runs.csv", "facts.json", "tables", "figures", "report.pdf", "report.html")
"""Results of a finished study."""
ENVIRONMENT = ("uv.lock", "pyproject.toml", "envs/programs.txt")
MOMENT = (1980, 1, 1, 0, 0, 0)
"""Date of every file in an archive, so that equal results make equal archives."""
Files = dict[str, bytes]
"""Contents of files by their paths in the archive."""


def archive_study(plan: Plan, anonymise: bool = False) -> list[str]:
    """Pack the inputs and results of a study. The results themselves are not changed.

    Parameters
    ----------
    anonymise : bool
        Whether to replace the names of hosts and users in every file. The report is then written again.

    Returns
    -------
    list of str
        Lines for the user: the archive and its size, missing files, and what the user must still fill in.

    Raises
    ------
    InputError
        If there is nothing to archive, a record is damaged, or the study is running.
    """
    study, results = plan.asked.study, plan.paths.results
    if not plan.paths.runs.exists() and not record_files(plan.paths):
        raise InputError(f"{results}: nothing to archive; run ./run-study {study.file} first")
    lock = hold_study(results)
    try:
        facts, missing = read_facts(plan.paths.facts), _missing(plan)
        inputs, environment = _inputs(plan.asked, plan.paths), _environment(plan.paths)
        files = dict(sorted((inputs | environment | _results(results)).items()))
        names = _names(study, plan.paths, facts, files) if anonymise else Names({})
        lines = []
        if anonymise:
            files, left_out = _anonymise(files, names)
            missing += [f"{path}: cannot be searched for names" for path in left_out]
            hosts = sum(new.startswith("host-") for new in set(names.replaced.values()))
            users = len(set(names.replaced.values())) - hosts
            lines.append(f"replaced: {counted(hosts, 'host')} and {counted(users, 'user')}")
        files |= _page_one(files)
        citation = read_yaml(ROOT / "CITATION.cff")
        about = metadata.describe(plan.asked, facts, citation, anonymise)
        about = replace(about, title=names.hide(about.title), description=names.hide(about.description))
        readme = metadata.readme(about, study.file.name, missing, anonymise)
        files["README.md"] = names.hide(readme).encode()
        files[".zenodo.json"] = metadata.as_json(metadata.zenodo(about))
        files[metadata.CRATE] = metadata.as_json(metadata.ro_crate(about, files))
        stem = names.hide(f"{study.name}-archive") + ("-anonymous" if anonymise else "")
        _write(results / f"{stem}.zip", files)
    finally:
        os.close(lock)
    size = (results / f"{stem}.zip").stat().st_size / 1e6
    lines = [f"{results}/{stem}.zip: {len(files)} files, {size:.1f} MB", *lines]
    lines += [f"missing: {name}" for name in missing]
    if metadata.PLACEHOLDER in about.creators:
        lines.append(
            f'creators are not known: add creators: ["{metadata.PLACEHOLDER}"] to {study.file} and '
            "archive it again, or fill them in where the archive is uploaded"
        )
    return lines


def _inputs(asked: Asked, paths: StudyPaths) -> Files:
    """Read the study file, its cases, interconnects, imports and price books."""
    files = {f"study/config/studies/{asked.study.file.name}": asked.study.file.read_bytes()}
    for name, interconnect in asked.interconnects.items():
        file = interconnect_file(asked.study, name)
        curve = curve_file(interconnect.simulate) if interconnect.simulate else None
        for path in (file, curve):
            if path and path.parent == file.parent:  # other curves belong to the project
                files[f"study/config/interconnects/{path.name}"] = path.read_bytes()
    for case in asked.cases.values():
        folder = f"study/cases/{case.application}/{case.folder.name}"
        files |= {f"{folder}/{path}": data for path, data in _files_below(case.folder)}
    for number, file in enumerate(asked.study.imported_files, 1):
        target = f"study/imports/{number}-{file.name}"
        if file.is_dir():
            files |= {f"{target}/{path}": data for path, data in _files_below(file)}
        elif file.is_file():
            files[target] = file.read_bytes()
    facts = read_facts(paths.facts)
    books = {offer.file for offer in facts.economics.offers.values()} if facts.economics else set()
    if facts.run_costs and facts.run_costs.file:
        books.add(facts.run_costs.file)
    for number, file in enumerate(sorted(ROOT / book for book in books), 1):
        if file.is_file():
            files[f"study/prices/{number}-{file.name}"] = file.read_bytes()
    return files


def _environment(paths: StudyPaths) -> Files:
    """Read the lists of packages, the versions, and the licence of Nodeworth."""
    facts = read_facts(paths.facts).as_json()
    versions = {key: facts[key] for key in ("version", "made", "machine", "sites") if facts.get(key)}
    files = {f"environment/{Path(name).name}": (ROOT / name).read_bytes() for name in ENVIRONMENT}
    files |= {name: (ROOT / name).read_bytes() for name in ("CITATION.cff", "LICENSE")}
    return files | {"environment/versions.json": metadata.as_json(versions)}


def _results(results: Path) -> Files:
    """Read the results, except files that can be made again: meshes, runs.parquet, partial reports."""
    return {
        f"results/{path}": data
        for path, data in _files_below(results)
        if (path.parts[0] != "prepared" or path.name == "reference.json")
        and path.suffix not in (".parquet", ".zip", ".part")
        and path.parts[0] != "partial"
    }


def _files_below(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Read the files below a folder in alphabetical order, without hidden files."""
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder)
        if file.is_file() and not any(name.startswith((".", "__pycache__")) for name in path.parts):
            yield path, file.read_bytes()


def _missing(plan: Plan) -> list[str]:
    """Return what this study lacks of a finished study: results, repetitions, imported files."""
    results = plan.paths.results
    files = {name: results / name for name in EXPECTED}
    missing = [f"results/{name}" for name, file in files.items() if not file.exists()]
    recorded, planned = len(record_files(plan.paths)), len(plan.design.repetitions)
    if recorded < planned:
        missing.append(f"{planned - recorded} of {planned} planned repetitions")
    missing += [f"import {file}" for file in plan.asked.study.imported_files if not file.exists()]
    return missing


def _names(study: Study, paths: StudyPaths, facts: Facts, files: Files) -> Names:
    """Find the names of hosts and users in the files of an archive."""
    machines = [facts.machine, *(site.machine or {} for site in facts.sites.values())]
    records = (record for _, record in read_all(paths))
    unpacked = (gzip.decompress(data) if path.endswith(".gz") else data for path, data in files.items())
    texts = (data.decode(errors="ignore") for data in unpacked)
    return find_names(machines, records, texts, study.creators)


def _anonymise(files: Files, names: Names) -> tuple[Files, list[str]]:
    """Replace names in files, and omit files that cannot be searched.

    Names in a PDF file cannot be replaced. So the report is written again from its anonymous text and
    figures.

    Returns
    -------
    dict of str to bytes
        Anonymous files.
    list of str
        Paths of the omitted files.
    """
    hidden = {names.hide(path): names.hide_in(data) for path, data in files.items()}
    if len(hidden) < len(files):
        raise InputError(
            "--anonymise: two files would get the same name, since their names are those of hosts"
        )
    anonymous = {path: data for path, data in hidden.items() if data is not None}
    omitted = sorted(hidden.keys() - anonymous.keys())
    printed = [path for path in ("results/report.pdf", "results/report.html") if path in hidden]
    if printed and "results/report.json" in anonymous:
        _check_figures(anonymous)
        with tempfile.TemporaryDirectory() as folder:
            for path, data in anonymous.items():
                if path == "results/report.json" or path.startswith("results/figures/"):
                    (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
                    (Path(folder) / path).write_bytes(data)
            report, figures = Path(folder) / "results/report.json", Path(folder) / "results/figures"
            for path in printed:
                output = Path(folder) / path
                write = write_pdf if output.suffix == ".pdf" else write_html
                write(report, figures, output)
                anonymous[path] = output.read_bytes()
        omitted = [path for path in omitted if path not in printed]
    return dict(sorted(anonymous.items())), omitted


def _page_one(files: Files) -> Files:
    """Return page one of the report as separate files; empty if there is no report."""
    if "results/report.json" not in files:
        return {}
    figures = {
        Path(path).stem: data for path, data in files.items() if fnmatch(path, "results/figures/*.svg")
    }
    pages = page_one(json.loads(files["results/report.json"]), figures)
    return {f"answer/{name}": data for name, data in pages.items()}


def _check_figures(files: Files) -> None:
    """Raise an `InputError` if a figure of the report is missing."""
    sections = json.loads(files["results/report.json"])["sections"]
    blocks = (block for section in sections for block in section["blocks"] if block["type"] == "figure")
    for file in (f"results/figures/{block['name']}.svg" for block in blocks):
        if file not in files:
            raise InputError(
                f"--anonymise: {file} is missing, and the report is written again; run the study again first"
            )


def _write(target: Path, files: Files) -> None:
    """Write an archive. An existing archive is replaced only when the new archive is complete."""
    draft = target.with_name(target.name + ".part")
    try:
        with zipfile.ZipFile(draft, "w") as archive:
            for path in sorted(files):
                entry = zipfile.ZipInfo(f"{target.stem}/{path}", MOMENT)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, files[path])
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
