"""The cases: folders ``cases/<application>/<case>`` with a case.yaml and the application's input files."""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from workflows import inputs
from workflows.applications import application
from workflows.domain import Answer, Case, InputError, Option, short_digest
from workflows.paths import CASES

PREPARED_FROM = ".prepared-from"
"""File in the folder of a prepared case: `digest` of the case that was prepared."""


def load_case(name: str, cases: Path, where: str | None = None) -> Case:
    """Load a case at one of its sizes.

    Parameters
    ----------
    name : str
        ``elbow_segregated`` at its own size, ``elbow_segregated-4k`` at another; an option of the case
        comes last (``water_ccsd-w4-polling``, ``water_ccsd-polling``). A case that is named with its own
        size is the same case as without, and gets the name without.

    Raises
    ------
    InputError
        Unknown case, size or option, or a wrong case.yaml: one line with what is known or allowed.
    """
    case_name, *wanted = name.split("-")
    file = find(case_name, cases, where)
    document = read_case_file(file)
    sizes = document["sizes"]
    own = inputs.choose(document["size"], sizes, "size", f"{file}: size")
    options = document.get("options", {})
    option = wanted.pop() if wanted and wanted[-1] in options else None
    size = inputs.choose("-".join(wanted), sizes, "size", where or f"case {name}") if wanted else own
    return Case(
        name="-".join(word for word in (case_name, None if size == own else size, option) if word),
        application=document["application"],
        size=size,
        title=f"{document['title']}, {option.replace('_', ' ')}" if option else document["title"],
        folder=file.parent,
        parameters=sizes[size]["parameters"],
        settings=_settings(document),
        answer=_answer(document.get("answer"), sizes[size]),
        serial_seconds=sizes[size]["serial_seconds"],
        divisible=document.get("divisible"),
        fewest_processes=document.get("fewest_processes", 1),
        description=" ".join(of["description"] for of in (document, options.get(option)) if of),
        stands_for=document["stands_for"],
        published_case=sizes[size].get("published_case"),
        memory_MB=sizes[size]["memory_MB"],
        option=_option(option, options[option]) if option else None,
        drop_page_cache=sizes[size].get("drop_page_cache", False),
    )


def case_of_results(name: str, folder: str | Path | None, *prepared: str | Path) -> Case:
    """Load a case by the name that it has in a study's results: with its own size too, where that has sizes.

    Parameters
    ----------
    folder : str, Path or None
        Folder of the cases; None for the project's.
    prepared : str or Path
        Folders in which the case is prepared for some process counts.

    Raises
    ------
    InputError
        See `load_case` and `check_prepared`.
    """
    case = replace(load_case(name, Path(folder) if folder else CASES), name=name)
    for made in prepared:
        check_prepared(Path(made), digest(case))
    return case


def check_prepared(folder: Path, case_digest: str) -> None:
    """Refuse a prepared case whose input was edited since: its runs would count for the wrong input.

    Raises
    ------
    InputError
        The folder was prepared from input with another digest: one line.
    """
    prepared_from = folder / PREPARED_FROM
    if not prepared_from.exists() or prepared_from.read_text() != case_digest:
        raise InputError(
            f"{folder}: prepared from other files of the case than are there now: give the same command "
            "again; if this line comes back, delete the folder"
        )


def answer_digest(case: Case) -> str | None:
    """Digest of what the expected answer depends on beside the runs; None for a case without an answer."""
    answer = case.answer
    if answer is None:
        return None
    content = [answer.golden] if answer.golden is not None else [answer.possible, case.settings["read"]]
    return short_digest(repr(content).encode())


def size_at_scale(case: Case, scale: float, where: str) -> str:
    """Choose the size of a case that is nearest to a share of its own size, by ratio.

    How large a size is, is in its name: a number, with ``k`` for thousand and a letter before it where it
    counts something else than cells (``3600k``, ``w12``). A size of another name (``smoke``) is not chosen.

    Parameters
    ----------
    case : Case
        At its own size.

    Raises
    ------
    InputError
        The case's own size is not named by a number.
    """
    sizes = read_case_file(case.folder / "case.yaml")["sizes"]
    known = {size: amount for size in sizes if (amount := _amount(size))}
    if case.size not in known:
        raise InputError(
            f"{where}: {case.name!r} cannot be scaled: its size {case.size!r} is no number as 32k or w12"
        )
    wanted = scale * known[case.size]
    return min(known, key=lambda size: abs(math.log(known[size] / wanted)))


def _amount(size: str) -> float | None:
    match = re.fullmatch(r"[a-z]?(\d+(?:\.\d+)?)(k?)", size)
    return float(match[1]) * (1000 if match[2] else 1) if match else None


def find(name: str, cases: Path, where: str | None = None) -> Path:
    """Find the case.yaml of a case by the case's name without a size.

    Raises
    ------
    InputError
        No application, or several, have a case of that name.
    """
    found = sorted(cases.glob(f"*/{name}/case.yaml"))
    if not found:
        inputs.choose(name, case_files(cases), "case", where or f"{cases}")
    if len(found) > 1:
        raise InputError(f"case {name}: is there more than once: {', '.join(map(str, found))}")
    return found[0]


def case_files(cases: Path) -> dict[str, list[Path]]:
    """Every case.yaml below the folder of the cases, by the name of its case."""
    found: dict[str, list[Path]] = {}
    for file in sorted(cases.glob("*/*/case.yaml")):
        found.setdefault(file.parent.name, []).append(file)
    return found


def read_case_file(file: Path) -> dict[str, Any]:
    """Read a case.yaml and check it against the schema of its application.

    Raises
    ------
    InputError
        File, key, value and what is allowed, in one line.
    """
    document = inputs.read_yaml(file)
    inputs.check(document, "case", file)
    name = document["application"]
    application(name, f"{file}: application")
    inputs.check(document, f"case_{name}", file)
    if name != file.parent.parent.name:
        raise InputError(f"{file}: application: {name!r} in the folder of {file.parent.parent.name!r}")
    low, high = document.get("answer", {}).get("possible", (0, 1))
    if not low < high:
        raise InputError(f"{file}: answer.possible: {low:g} is not below {high:g}")
    if both := sorted(document.get("options", {}).keys() & document["sizes"].keys()):
        raise InputError(f"{file}: options.{both[0]}: a size has that name")
    return document


def _answer(answer: dict[str, Any] | None, size: dict[str, Any]) -> Answer | None:
    if answer is None:
        return None
    return Answer(
        quantity=answer["quantity"],
        unit=answer["unit"],
        tolerance=size.get("tolerance", answer["tolerance"]),
        golden=size.get("golden"),
        possible=tuple(answer["possible"]),
    )


def _option(name: str, option: dict[str, Any]) -> Option:
    servers, ranks = option["servers_per_process"], option.get("server_ranks", False)
    return Option(name, servers, option["environment"], ranks)


def _settings(document: dict[str, Any]) -> dict[str, Any]:
    """Complete the application's settings with the defaults that their schema states."""
    schema = f"case_{document['application']}"
    settings = inputs.defaults(schema, "settings") | document["settings"]
    return settings | {"read": inputs.defaults(schema, "settings", "read") | settings["read"]}


def digest(case: Case) -> str:
    """SHA-256 (hexadecimal) of everything about a case that changes its runs.

    That is its input files as they are written for this size, its parameters, settings and option, and
    whether the page cache is dropped. How the output is read and judged (``settings.read``, ``answer``),
    descriptions and planning numbers are left out: they change what a record means and not what was run.
    """
    settings = {key: value for key, value in case.settings.items() if key != "read"}
    head = {"application": case.application, "parameters": case.parameters, "settings": settings}
    if case.option:
        head["option"] = [case.option.servers_per_process, case.option.environment]
    if case.drop_page_cache:
        head["drop_page_cache"] = True
    total = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
    for name, content in sorted(application(case.application).inputs(case).items()):
        total.update(f"\n{name} {len(content)}\n".encode())
        total.update(content)
    return total.hexdigest()
