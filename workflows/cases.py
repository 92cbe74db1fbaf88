"""The cases: folders ``cases/<application>/<case>`` with a case.yaml and the application's input files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from workflows import inputs
from workflows.applications import application
from workflows.domain import Answer, Case, InputError


def load_case(name: str, cases: Path, where: str | None = None) -> Case:
    """Load a case at one of its sizes.

    Parameters
    ----------
    name : str
        ``elbow_segregated`` at its own size, ``elbow_segregated-4k`` at another one. A case that is
        named with its own size is the same case as without, and gets the name without.
    cases : Path
        Folder of the cases.
    where : str, optional
        File and key that hold the name, for messages.

    Raises
    ------
    InputError
        Unknown case or size, or a wrong case.yaml: one line with what is known or allowed.
    """
    case_name, dash, wanted = name.partition("-")
    file = find(case_name, cases, where)
    document = read_case_file(file)
    sizes = document["sizes"]
    own = inputs.choose(document["size"], sizes, "size", f"{file}: size")
    size = inputs.choose(wanted, sizes, "size", where or f"case {name}") if dash else own
    return Case(
        name=case_name if size == own else f"{case_name}-{size}",
        application=document["application"],
        size=size,
        title=document["title"],
        folder=file.parent,
        parameters=sizes[size]["parameters"],
        settings=_settings(document),
        answer=_answer(document.get("answer"), sizes[size]),
        serial_seconds=sizes[size]["serial_seconds"],
        divisible=document.get("divisible"),
        description=document["description"],
        stands_for=document["stands_for"],
        published_case=sizes[size].get("published_case"),
    )


def find(name: str, cases: Path, where: str | None = None) -> Path:
    """Find the case.yaml of a case by the case's name without a size.

    Raises
    ------
    InputError
        None or more than one of the applications has a case of that name.
    """
    known = case_files(cases)
    inputs.choose(name, known, "case", where or f"{cases}")
    if len(known[name]) > 1:
        raise InputError(f"case {name}: is there more than once: {', '.join(map(str, known[name]))}")
    return known[name][0]


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
    return document


def _answer(answer: dict[str, Any] | None, size: dict[str, Any]) -> Answer | None:
    if answer is None:
        return None
    return Answer(
        quantity=answer["quantity"],
        unit=answer["unit"],
        tolerance=answer["tolerance"],
        golden=size.get("golden"),
        possible=tuple(answer["possible"]),
    )


def _settings(document: dict[str, Any]) -> dict[str, Any]:
    """Complete the application's settings with the defaults that their schema states."""
    schema = f"case_{document['application']}"
    settings = inputs.defaults(schema, "settings") | document["settings"]
    return settings | {"read": inputs.defaults(schema, "settings", "read") | settings["read"]}


def digest(case: Case) -> str:
    """SHA-256 (hexadecimal) of everything about a case that changes its runs.

    That is its input files as they are written for this size, its parameters and its settings. How the
    output is read and judged (``settings.read``, ``answer``), descriptions and planning numbers are left
    out: they change what a record means and not what was run.
    """
    settings = {key: value for key, value in case.settings.items() if key != "read"}
    head = {"application": case.application, "parameters": case.parameters, "settings": settings}
    total = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
    for name, content in sorted(application(case.application).inputs(case).items()):
        total.update(f"\n{name} {len(content)}\n".encode())
        total.update(content)
    return total.hexdigest()
