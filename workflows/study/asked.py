"""Read a study with its cases and interconnects, and check that they fit together."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from analysis.runs.facts import Facts
from workflows.domain import FAILED, WITHDRAW, Case, InputError, Interconnect, Point, short_digest
from workflows.inputs import choose, is_there
from workflows.jobs.cluster import read_cluster
from workflows.paths import CASES, CONFIG
from workflows.study import cases, interconnects
from workflows.study.default_blocks import default_blocks
from workflows.study.existing import make_case, scratch_copies
from workflows.study.request import request_facts
from workflows.study.study import (
    AGAIN,
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
    """A study with its cases and interconnects, independent of the machine.

    Attributes
    ----------
    study : Study
    measured, replayed : dict of str to Case
        Cases to run, and cases that simulated interconnects replay, by name. In a study with sizes, each case
        occurs at every size, and its name includes the size.
    interconnects : dict of str to Interconnect
    request : Facts
        Settings of the analysis: see `workflows.study.request.request_facts`.
    default_cases : dict of str to Case
        Every case at its default size, in a study with a ``scale``.
    untimed : frozenset of str
        Cases without a stated time and without a trial run of their present version. Their time is a guess.
    never_run : frozenset of str
        Cases by path that had no trial run, since programs run in jobs only. Their time is a guess.
    """

    study: Study
    measured: dict[str, Case]
    replayed: dict[str, Case]
    interconnects: dict[str, Interconnect]
    request: Facts
    default_cases: dict[str, Case] = field(default_factory=dict)
    untimed: frozenset[str] = frozenset()
    never_run: frozenset[str] = frozenset()

    @cached_property
    def cases(self) -> dict[str, Case]:
        """Cases to run and to replay."""
        return self.measured | self.replayed

    @cached_property
    def case_digests(self) -> dict[str, str]:
        """Digest of each case, which covers everything that changes its runs."""
        return {name: cases.digest(case) for name, case in self.cases.items()}

    @cached_property
    def interconnect_digests(self) -> dict[str, str]:
        """Digest of each interconnect, which covers everything that changes runs over it."""
        return {name: interconnects.digest(interconnect) for name, interconnect in self.interconnects.items()}

    @cached_property
    def digest(self) -> str:
        """Digest of all case digests and interconnect digests."""
        return short_digest(repr([self.case_digests, self.interconnect_digests]).encode())

    def check_unchanged(self, digest: str) -> None:
        """Refuse a case or an interconnect that was edited after Snakemake planned the study.

        Without this check, Snakemake would attribute the result to the files before the edit. If the user
        undid the edit, Snakemake would keep the wrong result.

        Parameters
        ----------
        digest : str
            Value of `digest` when Snakemake planned the study.

        Raises
        ------
        InputError
            A file was edited: one line.
        """
        if digest != self.digest:
            raise InputError(
                f"{self.study.file}: a case or an interconnect was edited while the study ran: "
                "give the same command again"
            )

    def asks_for(self, point: Point) -> bool:
        """Return whether a point belongs to the study."""
        serial, placements = point.interconnect is None, self.study.processes_per_node
        if placements:
            has_placement = point.processes / point.nodes in placements
        else:
            has_placement = not point.processes_per_node
        return (
            self.study.case_of(point.case) in self.study.cases
            and point.processes in self.study.processes
            and point.case == self.study.case_at(self.study.case_of(point.case), point.processes)
            and (serial or has_placement)
            and point.threads in self.study.threads
            and (serial or point.interconnect in self.interconnects)
            and (serial or point.oversubscription in self.study.oversubscription)
            and not self.study.excludes(point)
        )


def read_asked(file: Path, overrides: Mapping[str, Any] | None = None, is_dry_run: bool = False) -> Asked:
    """Read a study with its cases and interconnects.

    The cases and interconnects come from the folders of the study, else of the project. See `read_study` for
    the first two arguments. A dry run copies inputs of users to a temporary folder.

    Raises
    ------
    InputError
        The study is wrong: one line.
    """
    with contextlib.suppress(ValueError):  # a file outside the current folder keeps its full path in messages
        file = file.absolute().relative_to(Path.cwd())
    study = read_study(file, overrides)
    _check_folder(study, "cases_folder", study.cases_folder)
    joined = {
        name: interconnects.load_interconnect(
            name, interconnect_file(study, name, f"{file}: interconnects[{index}]").parent
        )
        for index, name in enumerate(study.interconnects)
    }
    kinds = {name: interconnect.kind for name, interconnect in joined.items()}
    if study.blocks is None:
        study = replace(study, blocks=default_blocks(study, kinds))
    check_until(study)
    _check_files(study)
    check_exclude(study)
    check_baselines(study, kinds)
    if study.existing and (again := (overrides or {}).get(AGAIN)):
        _check_request(study, str(again))
    # From here on, the input of a user may be run on trial. Wrong names are refused before.
    copies = scratch_copies(study.copies) if is_dry_run and study.existing else study.copies
    runs_here, limit = not study.cluster, study.limits.run_seconds
    never_run = frozenset(
        given.name
        for given in study.existing.values()
        if not make_case(
            given, copies, runs_here, limit, f"--case {given.path}" if study.is_generated else None
        )
    )
    default_cases: dict[str, Case] = {}
    if study.scale:
        default_cases = _named_cases(study, study.cases, "cases", copies)
        study = replace(study, sizes=_sizes_at_scale(study, study.scale, default_cases))
    measured = (
        _sized_cases(study, study.cases_folder or CASES)
        if study.sizes
        else _named_cases(study, study.cases, "cases", copies)
    )
    replayed = measured
    if traced := study.simulation.get("cases"):
        replayed = _named_cases(study, traced, "simulation.cases", copies)
    check_sizes(study, {name: case.serial_seconds for name, case in measured.items()})
    request = request_facts(study, joined, CONFIG)
    check_simulation(study, kinds)
    _check_packets(study, replayed, joined)
    untimed = frozenset(name for name, entry in study.inline.items() if "serial_seconds" not in entry)
    return Asked(study, measured, replayed, joined, request, default_cases, untimed, never_run)


def _check_request(study: Study, request: str) -> None:
    """Refuse a request to repeat runs if its case, interconnect or process count is not in the study."""
    cases_at_counts = {study.case_at(case, count) for case in study.cases for count in study.processes}
    counts = {str(count) for count in study.processes}
    if request.split("/")[1:2] == ["serial"]:
        counts = {"1"}
    elif study.threads == (1,):
        counts -= {"1"}  # a single process with a single thread is serial
    names = {
        "case": {FAILED, WITHDRAW, *cases_at_counts},
        "interconnect": {"serial", *study.interconnects},
        "process count": counts,
    }
    for part, (noun, allowed) in zip(request.split("/"), names.items(), strict=False):
        choose(part, allowed, noun, f"{study.file}: again {request}")


def _check_packets(study: Study, replayed: Mapping[str, Case], joined: Mapping[str, Interconnect]) -> None:
    """Refuse cases other than traffic patterns if an interconnect simulates individual packets."""
    packets = [name for name, interconnect in joined.items() if "packets" in (interconnect.simulate or {})]
    others = [name for name, case in replayed.items() if not is_pattern(case)]
    if packets and others:
        raise InputError(
            f"{study.file}: interconnects: {packets[0]} has simulate.packets, which only simulates "
            f"patterns of traffic; case {others[0]} is another kind of case"
        )


def interconnect_file(study: Study, name: str, where: str | None = None) -> Path:
    """Return the file of an interconnect in the study's folder, else in the project's.

    Raises
    ------
    InputError
        The study names a missing folder, or neither folder has the interconnect: one line, with the names of
        both folders.
    """
    folder = study.interconnects_folder
    _check_folder(study, "interconnects_folder", folder)
    return interconnects.find_interconnect(name, folder, where or str(study.file))


def cores_per_node(study: Study, model: str) -> int:
    """Return the number of cores per node that a study states.

    The first of these sources that exists decides: the site file of the study; its ``processes_per_node``
    with its ``threads``; its interconnects, except the `model` that is being made.

    Raises
    ------
    InputError
        The study states no node size, or several.
    """
    if study.cluster and (cores := read_cluster(study.cluster).cores_per_node):
        return cores
    if study.processes_per_node:
        return max(study.processes_per_node) * max(study.threads)
    files = {name: interconnect_file(study, name) for name in study.interconnects if name != model}
    joined = [interconnects.load_interconnect(name, file.parent) for name, file in files.items()]
    sizes = {
        each.name: each.cores_per_node for each in joined if each.joins_nodes and each.place != "cluster"
    }
    if len(set(sizes.values())) == 1:
        return next(iter(sizes.values()))
    stated = ", ".join(f"{name}: {size}" for name, size in sizes.items()) or "none"
    raise InputError(
        f"{study.file}: states no single number of cores per node ({stated}); give --cores, or write "
        "processes_per_node, or cores_per_node into its site file"
    )


def _check_folder(study: Study, key: str, folder: Path | None) -> None:
    """Refuse a folder that the study names and that is missing."""
    if folder and not (is_there(folder) and folder.is_dir()):
        hint = "; ./run-study --interconnects --write makes one" if key == "interconnects_folder" else ""
        raise InputError(f"{study.file}: {key}: {folder}: no such folder{hint}")


def _check_files(study: Study) -> None:
    """Refuse a missing import, and a folder without performance logs (see docs/import.md)."""
    for index, path in enumerate(study.imports):
        where = f"{study.file}: import[{index}]: {path}"
        if not is_there(path):
            raise InputError(f"{where}: no such file")
        if path.is_dir() and next(path.rglob("*.log*"), None) is None:
            raise InputError(f"{where}: is a folder, without performance logs of ReFrame (*.log*)")


def _sizes_at_scale(
    study: Study, scale: float, default_cases: Mapping[str, Case]
) -> dict[str, dict[int, str]]:
    """Return the size of each case that the study's ``scale`` chooses, the same at all process counts."""
    chosen = {
        name: cases.size_at_scale(default_cases[name], scale, f"{study.file}: cases[{index}]")
        for index, name in enumerate(study.cases)
    }
    return {name: dict.fromkeys(study.processes, size) for name, size in chosen.items()}


def _named_cases(study: Study, names: Sequence[str], key: str, copies: Path) -> dict[str, Case]:
    """Load cases by name.

    Parameters
    ----------
    key : str
        Key of the study that lists the names, for messages.
    copies : Path
        Folder of the copies of users' inputs.
    """
    loaded = {}
    for index, name in enumerate(names):
        where = f"{study.file}: {key}[{index}]"
        source = str(copies) if name in study.existing else study.source_of(name)
        loaded[name] = cases.load_from(name, source, where)
        if loaded[name].name != name:
            raise InputError(f"{where}: {name!r} has the default size; write {loaded[name].name!r}")
    return loaded


def _sized_cases(study: Study, folder: Path) -> dict[str, Case]:
    """Load each case at its size for each process count. The names of these cases always include the size."""
    names = {study.case_at(case, count): case for case in study.cases for count in study.processes}
    return {
        sized: replace(cases.load_case(sized, folder, f"{study.file}: sizes.{case}"), name=sized)
        for sized, case in names.items()
    }
