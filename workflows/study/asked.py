"""What a study asks for: its file with the cases and interconnects that it names, all read and checked."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from analysis.runs.facts import Facts
from workflows.domain import Case, InputError, Interconnect, Point, short_digest
from workflows.inputs import is_there
from workflows.paths import CASES, CONFIG, INTERCONNECTS
from workflows.study import cases, interconnects
from workflows.study.planned import blocks_needed
from workflows.study.request import request_facts
from workflows.study.study import (
    Study,
    check_baselines,
    check_exclude,
    check_simulation,
    check_sizes,
    check_until,
    read_study,
)
from workflows.traffic.cases import is_pattern


@dataclass(frozen=True)
class Asked:
    """What a study asks for, whether it can be run here or not.

    Attributes
    ----------
    study : Study
    measured, replayed : dict of str to Case
        What is run, and what simulated interconnects replay. In a study with sizes, every case at every size,
        by the name with the size.
    interconnects : dict of str to Interconnect
    request : Facts
        What the study asks of the analysis: see `workflows.study.request.request_facts`.
    own_cases : dict of str to Case
        In a study with a scale, every case at its own size.
    """

    study: Study
    measured: dict[str, Case]
    replayed: dict[str, Case]
    interconnects: dict[str, Interconnect]
    request: Facts
    own_cases: dict[str, Case] = field(default_factory=dict)

    @cached_property
    def cases(self) -> dict[str, Case]:
        """All cases."""
        return self.measured | self.replayed

    @cached_property
    def case_digests(self) -> dict[str, str]:
        """Digests of what determines the runs of each case."""
        return {name: cases.digest(case) for name, case in self.cases.items()}

    @cached_property
    def interconnect_digests(self) -> dict[str, str]:
        """Digests of what determines the runs over each interconnect."""
        return {name: interconnects.digest(interconnect) for name, interconnect in self.interconnects.items()}

    @cached_property
    def digest(self) -> str:
        """Digest of all that determines runs: the input of each case, the settings of each interconnect."""
        return short_digest(repr([self.case_digests, self.interconnect_digests]).encode())

    def check_unchanged(self, digest: str) -> None:
        """Refuse a case or an interconnect that was edited after Snakemake planned the study.

        Snakemake would note that a result belongs to the files as they were: edited back, it would stay.

        Parameters
        ----------
        digest : str
            `digest` of when Snakemake planned the study.

        Raises
        ------
        InputError
            One line.
        """
        if digest != self.digest:
            raise InputError(
                f"{self.study.file}: a case or an interconnect was edited while the study ran: "
                "give the same command again"
            )

    def asks_for(self, point: Point) -> bool:
        """Whether a point belongs to the study."""
        serial, placements = point.interconnect is None, self.study.processes_per_node
        placed = point.processes / point.nodes in placements if placements else not point.processes_per_node
        return (
            self.study.case_of(point.case) in self.study.cases
            and point.processes in self.study.processes
            and point.case == self.study.case_at(self.study.case_of(point.case), point.processes)
            and (serial or placed)
            and point.threads in self.study.threads
            and (serial or point.interconnect in self.interconnects)
            and (serial or point.oversubscription in self.study.oversubscription)
            and not self.study.excludes(point)
        )


def read_asked(file: Path, overrides: Mapping[str, Any] | None = None) -> Asked:
    """Read a study with its cases and interconnects.

    Those are looked up in the folders that it names, or in the project's own. For the arguments see
    `read_study`.

    Raises
    ------
    InputError
        One line for a study that is wrong.
    """
    with contextlib.suppress(ValueError):  # a file elsewhere keeps its whole path in messages
        file = file.absolute().relative_to(Path.cwd())
    study = read_study(file, overrides)
    folder = study.cases_folder or CASES
    own_cases: dict[str, Case] = {}
    if study.scale:
        own_cases = _named_cases(study.cases, folder, f"{file}: cases")
        study = replace(study, sizes=_sizes_at_scale(study, own_cases))
    measured = (
        _sized_cases(study, folder) if study.sizes else _named_cases(study.cases, folder, f"{file}: cases")
    )
    replayed = measured
    if traced := study.simulation.get("cases"):
        replayed = _named_cases(traced, folder, f"{file}: simulation.cases")
    joined = {
        name: interconnects.load_interconnect(
            name, interconnect_file(study, name).parent, f"{file}: interconnects[{index}]"
        )
        for index, name in enumerate(study.interconnects)
    }
    kinds = {name: interconnect.kind for name, interconnect in joined.items()}
    if study.blocks is None:
        study = replace(study, blocks=blocks_needed(study, kinds))
    check_until(study)
    _check_files(study)
    check_sizes(study, {name: case.serial_seconds for name, case in measured.items()})
    check_exclude(study)
    check_baselines(study, kinds)
    request = request_facts(study, joined, CONFIG)
    check_simulation(study, kinds)
    _check_packets(study, replayed, joined)
    return Asked(study, measured, replayed, joined, request, own_cases)


def _check_packets(study: Study, replayed: Mapping[str, Case], joined: Mapping[str, Interconnect]) -> None:
    """Refuse cases that are no patterns of traffic where packets are simulated one by one."""
    packets = [name for name, interconnect in joined.items() if "packets" in (interconnect.simulate or {})]
    others = [name for name, case in replayed.items() if not is_pattern(case)]
    if packets and others:
        raise InputError(
            f"{study.file}: interconnects: {packets[0]} has simulate.packets, which carries out patterns of "
            f"traffic alone, and {others[0]} is none"
        )


def interconnect_file(study: Study, name: str) -> Path:
    """File of an interconnect: in the folder that the study names, or else the project's, there or not.

    Raises
    ------
    InputError
        If the study names a folder that is not there.
    """
    own = study.interconnects_folder
    if own and not (is_there(own) and own.is_dir()):
        raise InputError(f"{study.file}: interconnects_folder: {own}: no such folder")
    project = INTERCONNECTS / f"{name}.yaml"
    return own / project.name if own and (own / project.name).exists() else project


def _check_files(study: Study) -> None:
    """Refuse an import that is not there, and a folder without performance logs (see docs/import.md)."""
    for index, path in enumerate(study.imports):
        where = f"{study.file}: import[{index}]: {path}"
        if not is_there(path):
            raise InputError(f"{where}: no such file")
        if path.is_dir() and next(path.rglob("*.log*"), None) is None:
            raise InputError(f"{where}: is a folder, without performance logs of ReFrame (*.log*)")


def _sizes_at_scale(study: Study, own_cases: Mapping[str, Case]) -> dict[str, dict[int, str]]:
    """Size of each case that the study's scale chooses, the same at all process counts."""
    chosen = {
        name: cases.size_at_scale(own_cases[name], study.scale, f"{study.file}: cases[{index}]")
        for index, name in enumerate(study.cases)
    }
    return {name: dict.fromkeys(study.processes, size) for name, size in chosen.items()}


def _named_cases(names: Sequence[str], folder: Path, key: str) -> dict[str, Case]:
    """Cases by their names, which a study has at a key."""
    found = {}
    for index, name in enumerate(names):
        where = f"{key}[{index}]"
        found[name] = cases.load_case(name, folder, where)
        if found[name].name != name:
            raise InputError(f"{where}: {name!r} is {found[name].name!r} at its own size; write that")
    return found


def _sized_cases(study: Study, folder: Path) -> dict[str, Case]:
    """Each case at the sizes of all counts, under names that always hold the size."""
    names = {study.case_at(case, count): case for case in study.cases for count in study.processes}
    return {
        sized: replace(cases.load_case(sized, folder, f"{study.file}: sizes.{case}"), name=sized)
        for sized, case in names.items()
    }
