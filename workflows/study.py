"""A study file, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflows import inputs
from workflows.domain import InputError


@dataclass(frozen=True)
class Limits:
    """What a study may cost: expected core hours, seconds of a run, seconds of waiting for idleness."""

    core_hours: float
    run_seconds: float
    idle_seconds: float


@dataclass(frozen=True)
class Study:
    """What is asked: the keys of workflows/schemas/study.yaml, which describes each."""

    name: str
    title: str
    question: str
    cases: tuple[str, ...]
    interconnects: tuple[str, ...]
    processes: tuple[int, ...]
    oversubscription: tuple[int, ...]
    exclude: tuple[Mapping[str, Any], ...]
    blocks: int
    seed: int
    baselines: tuple[str, ...]
    compare_kinds: tuple[tuple[str, str], ...]
    limits: Limits
    cases_folder: Path | None
    imports: tuple[Path, ...]
    file: Path


_TO_RUN = ("cases", "interconnects", "processes")


def read_study(file: Path, overrides: Mapping[str, Any] | None = None) -> Study:
    """Read a study file.

    Parameters
    ----------
    file : Path
    overrides : mapping, optional
        Values that replace the file's, key by key (Snakemake's ``--config``).

    Raises
    ------
    InputError
        One line that names the file, the key and the value.
    """
    data = inputs.read_yaml(file) | dict(overrides or {})
    inputs.check(data, "study", file)
    given = [key for key in _TO_RUN if key in data]
    if len(given) < len(_TO_RUN) and (given or "import" not in data):
        missing = next(key for key in _TO_RUN if key not in data)
        raise InputError(f"{file}: {missing}: missing; a study has {', '.join(_TO_RUN)}, or import, or all")
    defaults = inputs.defaults("study")
    data = defaults | data
    limits = Limits(**(inputs.defaults("study", "limits") | data["limits"]))
    return Study(
        name=data["name"],
        title=data.get("title", data["name"]),
        question=data.get("question", ""),
        cases=tuple(data.get("cases", ())),
        interconnects=tuple(data.get("interconnects", ())),
        processes=tuple(sorted(data.get("processes", ()))),
        oversubscription=tuple(sorted(data["oversubscription"])),
        exclude=tuple(data["exclude"]),
        blocks=data["blocks"],
        seed=data["seed"],
        baselines=tuple(data.get("baselines", ())),
        compare_kinds=tuple((first, second) for first, second in data["compare_kinds"]),
        limits=limits,
        cases_folder=file.parent / data["cases_folder"] if "cases_folder" in data else None,
        imports=tuple(file.parent / name for name in data.get("import", ())),
        file=file,
    )


def check_baselines(study: Study, kinds: Mapping[str, str]) -> None:
    """Check that every declared comparison is one that the study's blocks provide.

    A study that imports results is left to the analysis, which knows what the files hold.

    Parameters
    ----------
    study : Study
    kinds : mapping of str to str
        Kind of every interconnect of the study.

    Raises
    ------
    InputError
        For a baseline that is no interconnect of the study, or that has nothing to be compared with.
    """
    if study.imports:
        return
    for place, baseline in enumerate(study.baselines):
        where = f"{study.file}: baselines[{place}]"
        if baseline not in kinds:
            allowed = ", ".join(kinds)
            raise InputError(f"{where}: {baseline!r} is not among the study's interconnects ({allowed})")
        others = {kinds[name] for name in kinds if name != baseline}
        comparable = {kinds[baseline]} | {
            kind for pair in study.compare_kinds if kinds[baseline] in pair for kind in pair
        }
        if not others & comparable:
            raise InputError(
                f"{where}: {baseline!r} is {kinds[baseline]} and no block of the study compares it with "
                "anything; name another interconnect of that kind, or declare compare_kinds"
            )
    for place, pair in enumerate(study.compare_kinds):
        if missing := [kind for kind in pair if kind not in kinds.values()]:
            raise InputError(
                f"{study.file}: compare_kinds[{place}]: no interconnect of the study is {missing[0]}"
            )


def check_exclude(study: Study) -> None:
    """Check that every entry of ``exclude`` names what the study has.

    Raises
    ------
    InputError
        For a name or a number that no point of the study can have.
    """
    known = {
        "case": study.cases,
        "interconnect": study.interconnects,
        "processes": study.processes,
        "oversubscription": study.oversubscription,
    }
    for place, entry in enumerate(study.exclude):
        for key, value in entry.items():
            if value not in known[key]:
                allowed = ", ".join(map(str, known[key]))
                raise InputError(
                    f"{study.file}: exclude[{place}].{key}: {value!r} is not of this study ({allowed})"
                )
