"""Cases: folders ``cases/<application>/<case>`` with a case.yaml and the application's input files."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from workflows import inputs
from workflows.applications import application
from workflows.domain import Answer, Case, InputError, Option, short_digest
from workflows.paths import CASES
from workflows.study.inline import inline_case

PREPARED_FROM = ".prepared-from"
"""File in the folder of a prepared case with the `digest` of the case at that time."""


def load_case(name: str, cases: Path, where: str | None = None) -> Case:
    """Load a case at one of its sizes.

    Parameters
    ----------
    name : str
        Name of the case, then the size unless it is the default, then an option if any: ``elbow_segregated``,
        ``elbow_segregated-4k``, ``water_ccsd-w4-polling``, ``water_ccsd-polling``. The name of the loaded
        case omits the default size.

    Raises
    ------
    InputError
        The case, size or option is unknown, or case.yaml is wrong: one line with the allowed values.
    """
    case_name, rest = _case_and_rest(name, cases)
    file = find(case_name, cases, where)
    document = read_case_file(file)
    sizes = document["sizes"]
    default_size = inputs.choose(document["size"], sizes, "size", f"{file}: size")
    options = document.get("options", {})
    option = rest.pop() if rest and rest[-1] in options else None
    size = inputs.choose("-".join(rest), sizes, "size", where or f"case {name}") if rest else default_size
    return Case(
        name="-".join(word for word in (case_name, None if size == default_size else size, option) if word),
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
        description=" ".join(part["description"] for part in (document, options.get(option)) if part),
        stands_for=document["stands_for"],
        published_case=sizes[size].get("published_case"),
        memory_MB=sizes[size]["memory_MB"],
        option=_option(option, options[option]) if option else None,
        drop_page_cache=sizes[size].get("drop_page_cache", False),
    )


def _case_and_rest(name: str, cases: Path) -> tuple[str, list[str]]:
    """Split a name into the name of an existing case, the longest that fits, and the words after it."""
    words = name.split("-")
    for number in range(len(words), 1, -1):
        if next(cases.glob(f"*/{'-'.join(words[:number])}/case.yaml"), None):
            return "-".join(words[:number]), words[number:]
    return words[0], words[1:]


def load_from(name: str, source: str | Mapping[str, Any] | None, where: str | None = None) -> Case:
    """Load a case from the source that its study names; see `load_case`.

    Parameters
    ----------
    source : str, mapping or None
        Value of `workflows.study.study.Study.source_of`.
    """
    if isinstance(source, Mapping):
        return inline_case(name, source)
    return load_case(name, Path(source) if source else CASES, where)


def case_of_results(name: str, source: str | Mapping[str, Any] | None, *prepared: str | Path) -> Case:
    """Load a case by its name in results, which includes the default size in a study with sizes.

    Parameters
    ----------
    source : str, mapping or None
        See `load_from`.
    *prepared : str or Path
        Folders of the case prepared for some process counts, to check.

    Raises
    ------
    InputError
        See `load_case` and `check_prepared`.
    """
    case = replace(load_from(name, source), name=name)
    for prepared_folder in prepared:
        check_prepared(Path(prepared_folder), digest(case))
    return case


def was_edited(folder: Path, case_digest: str) -> bool:
    """Return whether a case with the digest `case_digest` was edited after it was prepared in a folder."""
    prepared_from = folder / PREPARED_FROM
    return prepared_from.exists() and prepared_from.read_text() != case_digest


def check_prepared(folder: Path, case_digest: str) -> None:
    """Refuse a prepared case whose input was edited afterwards.

    Raises
    ------
    InputError
        The digest of the input has changed: one line.
    """
    if not (folder / PREPARED_FROM).exists() or was_edited(folder, case_digest):
        raise InputError(
            f"{folder}: prepared from other files of the case than its present files: give the same command "
            "again; if this line comes back, delete the folder"
        )


def answer_digest(case: Case) -> str | None:
    """Return a digest of the settings on which the expected answer or the trial run of a case depends.

    It is None for a case without answer and trial run.
    """
    answer = case.answer
    if case.trial_processes:
        return short_digest(repr(case.settings["read"]).encode())
    if answer is None:
        return None
    content = [answer.golden] if answer.golden is not None else [answer.possible, case.settings["read"]]
    return short_digest(repr(content).encode())


def size_at_scale(case: Case, scale: float, where: str) -> str:
    """Choose the size of a case whose ratio to the default size is nearest to `scale`.

    The name of a size states its amount: a number, ``k`` for thousand, and a letter in front if the number
    does not count cells (``3600k``, ``w12``). Sizes with other names, such as ``smoke``, are not chosen.

    Parameters
    ----------
    case : Case
        Case at its default size.

    Raises
    ------
    InputError
        The name of the default size is not a number.
    """
    sizes = read_case_file(case.folder / "case.yaml")["sizes"]
    amounts: dict[str, float] = {size: amount for size in sizes if (amount := _amount(size))}
    if case.size not in amounts:
        raise InputError(
            f"{where}: {case.name!r} cannot be scaled: its size {case.size!r} is no number as 32k or w12"
        )
    target = scale * amounts[case.size]
    return min(amounts, key=lambda size: abs(math.log(amounts[size] / target)))


def _amount(size: str) -> float | None:
    match = re.fullmatch(r"[a-z]?(\d+(?:\.\d+)?)(k?)", size)
    return float(match[1]) * (1000 if match[2] else 1) if match else None


def find(name: str, cases: Path, where: str | None = None) -> Path:
    """Return the case.yaml of a case by its name without a size.

    Raises
    ------
    InputError
        No application has a case with that name, or several applications have one.
    """
    files = sorted(cases.glob(f"*/{name}/case.yaml"))
    if not files:
        inputs.choose(name, case_files(cases), "case", where or f"{cases}", list_command=f"ls {cases}/*")
    if len(files) > 1:
        raise InputError(f"case {name}: is there more than once: {', '.join(map(str, files))}")
    return files[0]


def case_files(cases: Path) -> dict[str, list[Path]]:
    """Return every case.yaml below the folder of the cases, by the name of its case."""
    files: dict[str, list[Path]] = {}
    for file in sorted(cases.glob("*/*/case.yaml")):
        files.setdefault(file.parent.name, []).append(file)
    return files


def read_case_file(file: Path) -> dict[str, Any]:
    """Read a case.yaml and check it against the schema of its application.

    Raises
    ------
    InputError
        The file is wrong: one line with file, key, value and allowed values.
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
    """Return the application's settings, completed with the defaults of their schema."""
    schema = f"case_{document['application']}"
    settings: dict[str, Any] = inputs.defaults(schema, "settings") | document["settings"]
    return settings | {"read": inputs.defaults(schema, "settings", "read") | settings["read"]}


def digest(case: Case) -> str:
    """Return the SHA-256 (hexadecimal) of everything about a case that changes its runs.

    It covers the input files of this size, the parameters, settings and option, and whether the page cache is
    dropped. It omits three things that do not change a run:

    - descriptions and numbers for planning
    - settings for reading and judging the output (``settings.read``, ``answer``)
    - patterns of files that are no input, since it covers the files that remain
    """
    settings = {key: value for key, value in case.settings.items() if key not in ("read", "left_out")}
    head: dict[str, Any] = {
        "application": case.application,
        "parameters": case.parameters,
        "settings": settings,
    }
    if case.option:
        head["option"] = [case.option.servers_per_process, case.option.environment]
    if case.drop_page_cache:
        head["drop_page_cache"] = True
    if (unit := case.settings["read"].get("unit", "s")) != "s":
        head["unit"] = unit  # records hold times that are converted already
    total = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
    for name, content in sorted(application(case.application).inputs(case).items()):
        total.update(f"\n{name} {len(content)}\n".encode())
        total.update(content)
    return total.hexdigest()


def file_digests(case: Case) -> dict[str, str]:
    """Return a digest of each input file of a case, by its relative path."""
    return {
        name: short_digest(content) for name, content in application(case.application).inputs(case).items()
    }
