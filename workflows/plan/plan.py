"""A study together with its cases and interconnects: everything that will be run, and where it goes."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from analysis.runs.facts import Facts
from workflows.applications import application
from workflows.domain import Case, InputError, Interconnect, LeftOut, Point
from workflows.errors import one_line_errors as one_line_errors
from workflows.jobs.cluster import Cluster, check_cluster, placed, read_cluster, unavailable_on
from workflows.launch.mpi import other_library
from workflows.paths import CASES, CONFIG, FACTS, INTERCONNECTS, RESULTS, ROOT
from workflows.plan.design import Cost, Repetition, excluded, expected_cost, points, repetitions
from workflows.plan.records import record_files, recorded_block, request_file, simulated_folder
from workflows.study import cases, interconnects
from workflows.study.request import request_facts
from workflows.study.study import (
    Study,
    check_baselines,
    check_exclude,
    check_simulation,
    check_sizes,
    read_study,
)
from workflows.traffic.cases import has_array, needs_trace


@dataclass(frozen=True)
class Plan:
    """What a study comes to on this machine.

    Attributes
    ----------
    study : Study
    cases : dict of str to Case
        In a study with sizes, every case at every size, by the name with the size.
    interconnects : dict of str to Interconnect
        All that the study names, whether they can be run here or not.
    points : tuple of Point
        What can be run here now. Records of other points of the study are still part of its results.
    left_out : tuple of LeftOut
        What the study asks for and cannot be run here.
    blocks : int
        Blocks of every point: those that the study names, and those it has added until now.
    request : Facts
        What the study asks of the analysis: see `workflows.study.request.request_facts`.
    own_cases : dict of str to Case
        In a study with a scale, every case at its own size.
    cluster : Cluster or None
        On which the runs are made; None for this machine.
    simulated : tuple of Point
        What is replayed from traces, serial points among them.
    """

    study: Study
    cases: dict[str, Case]
    interconnects: dict[str, Interconnect]
    points: tuple[Point, ...]
    left_out: tuple[LeftOut, ...]
    blocks: int
    request: Facts
    own_cases: dict[str, Case] = field(default_factory=dict)
    cluster: Cluster | None = None
    simulated: tuple[Point, ...] = ()

    @property
    def in_jobs(self) -> bool:
        """Whether each block of what is compared is a job of its own."""
        return self.cluster is not None and not self.study.allocation

    @cached_property
    def results(self) -> Path:
        """Folder of the study's results, relative to the project's root."""
        return RESULTS / self.study.name

    @cached_property
    def cost(self) -> Cost:
        """What all runs are expected to take; with ``until``, what they take at least."""
        return expected_cost(self.points, self.study.blocks, self.cases)

    @cached_property
    def highest_cost(self) -> Cost:
        """What a study that goes on until a target takes at most; a last block may exceed the budget."""
        if self.study.until is None:
            return self.cost
        whole = expected_cost(self.points, self.study.until.max_blocks, self.cases)
        if not self.points:
            return whole
        share = min(1.0, self.study.limits.core_hours / whole.core_hours)
        return Cost(round(whole.runs * share), whole.seconds * share, whole.core_hours * share)

    @cached_property
    def repetitions(self) -> list[Repetition]:
        """All runs in their order."""
        place_of = [self.cluster.partition_of] if self.cluster else []
        return repetitions(self.points, range(1, self.blocks + 1), self.study.seed, *place_of)

    def prepared(self) -> list[str]:
        """Folders that are prepared before the first block: one a case and process count."""
        return sorted({str(self.prepared_folder(point.case, point.processes)) for point in self.points})

    def prepared_folder(self, case: str, processes: int) -> Path:
        """Where a case prepared for a process count lies."""
        return self.results / "prepared" / case / f"processes-{processes}"

    def traced_folder(self, case: str, processes: int) -> Path:
        """Where the trace of a case on a process count lies."""
        return self.results / "traces" / case / f"processes-{processes}"

    def traces(self) -> list[str]:
        """Traces that are replayed: one a case and process count; some cases need none."""
        traced = [point for point in self.simulated if needs_trace(self.cases[point.case])]
        return sorted({str(self.traced_folder(point.case, point.processes)) for point in traced})

    def times_file(self, case: str) -> Path:
        """Where it is written how long the tasks of a case take in serial runs."""
        return self.results / "times" / f"{case}.json"

    def times(self) -> list[str]:
        """Serial times that simulations need: one a case with a distributed array."""
        names = {point.case for point in self.simulated if has_array(self.cases[point.case])}
        return sorted(str(self.times_file(name)) for name in names)

    def replayed(self) -> list[str]:
        """Folder of what was replayed, if anything is."""
        return [str(simulated_folder(self.results))] if self.simulated else []

    @cached_property
    def replay_digest(self) -> str:
        """Digest of what is replayed, and on what."""
        points = [(point, self.inputs(point)) for point in self.simulated]
        return _digest([points, self.study.simulation["host_speed"]])

    def references(self) -> list[str]:
        """Files with the answer that the runs of a case must give, one a case."""
        return sorted({str(self.reference_file(point.case)) for point in self.points})

    def reference_file(self, case: str) -> Path:
        """Where the reference answer of a case lies."""
        return self.results / "prepared" / case / "reference.json"

    def requests(self) -> list[str]:
        """The file of requests to run something again, if there is one."""
        file = request_file(self.results)
        return [str(file)] if file.exists() else []

    def imports(self) -> list[str]:
        """Files of foreign results, and what studies of ours say about themselves beside them."""
        beside = dict.fromkeys(file.parent / FACTS for file in self.study.imports)
        return [str(file) for file in (*self.study.imports, *(one for one in beside if one.exists()))]

    def golden(self, wildcards: Any) -> float | None:
        """Golden answer of ``wildcards.case``, if it has one."""
        answer = self.cases[wildcards.case].answer
        return answer.golden if answer else None

    def case_digest(self, wildcards: Any) -> str:
        """Digest of what determines the runs of ``wildcards.case``."""
        return self._case_digests[wildcards.case]

    @cached_property
    def digest(self) -> str:
        """Digest of what is run: a change of it means that something may be missing."""
        until = [self.study.until] if self.study.until else []
        return _digest([self.study.blocks, *until, [(point, self.inputs(point)) for point in self.points]])

    def lost_records(self) -> list[str]:
        """Records that were made and are gone; they are made again."""
        listed = self.results / "records.txt"
        made = listed.read_text().splitlines() if listed.exists() else []
        return [path for path in made if not Path(path).exists()]

    def asks_for(self, point: Point) -> bool:
        """Whether the study asks for a point, whether it can be run here or not."""
        serial, placements = point.interconnect is None, self.study.processes_per_node
        placed = point.processes / point.nodes in placements if placements else not point.processes_per_node
        return (
            self.study.series(point.case) in self.study.cases
            and point.processes in self.study.processes
            and point.case == self.study.case_at(self.study.series(point.case), point.processes)
            and (serial or placed)
            and (serial or point.interconnect in self.interconnects)
            and (serial or point.oversubscription in self.study.oversubscription)
            and not excluded(point, self.study)
        )

    def companions(self, repetition: Repetition) -> dict[str, str]:
        """What a repetition is planned together with, and as what: interconnects and their digests."""
        return {name: self._interconnect_digests[name.split("/")[0]] for name in repetition.companions}

    @cached_property
    def description(self) -> str:
        """Digest of how study, cases and interconnects describe themselves, and which records count."""
        inputs = [self._case_digests, self._interconnect_digests, self.cluster and self.cluster.digest]
        return _digest([self.study, self.cases, self.interconnects, self.left_out, self.request, inputs])

    def inputs(self, point: Point) -> dict[str, str | None]:
        """Digests of what determines a run of a point; a change of one makes old records not count."""
        return {
            "case": self._case_digests[point.case],
            "interconnect": self._interconnect_digests.get(point.interconnect),
            **({"cluster": self.cluster.digest} if self.cluster else {}),
        }

    @cached_property
    def _case_digests(self) -> dict[str, str]:
        return {name: cases.digest(case) for name, case in self.cases.items()}

    @cached_property
    def _interconnect_digests(self) -> dict[str | None, str]:
        return {name: interconnects.digest(one) for name, one in self.interconnects.items()}


def make_plan(
    file: Path,
    overrides: Mapping[str, Any] | None = None,
    has_program: Callable[[str], object] = shutil.which,
) -> Plan:
    """Read a study with its cases and interconnects.

    Parameters
    ----------
    file : Path
        The study file. Its cases and interconnects are looked up in the project's own folders.
    overrides : mapping, optional
        See `workflows.study.study.read_study`.
    has_program : callable, optional
        Tells whether a program is there, by its name. By default those on the ``PATH`` are.

    Raises
    ------
    InputError
        One line for a study that is wrong, or of which nothing can be run here.
    """
    with contextlib.suppress(ValueError):  # a file elsewhere keeps its whole path in messages
        file = file.absolute().relative_to(Path.cwd())
    study = read_study(file, overrides)
    folder = study.cases_folder or CASES
    own_cases: dict[str, Case] = {}
    if study.scale:
        own_cases = _named_cases(study.cases, folder, f"{file}: cases")
        study = replace(study, sizes=_sizes_at_scale(study, own_cases))
    measured_cases = (
        _sized_cases(study, folder) if study.sizes else _named_cases(study.cases, folder, f"{file}: cases")
    )
    replayed_cases = measured_cases
    if traced := study.simulation.get("cases"):
        replayed_cases = _named_cases(traced, folder, f"{file}: simulation.cases")
    wanted_cases = measured_cases | replayed_cases
    wanted_interconnects = {
        name: interconnects.load_interconnect(name, INTERCONNECTS, f"{file}: interconnects[{place}]")
        for place, name in enumerate(study.interconnects)
    }
    _check_files(study)
    check_sizes(study, {name: case.serial_seconds for name, case in wanted_cases.items()})
    check_exclude(study)
    check_baselines(study, {name: one.kind for name, one in wanted_interconnects.items()})
    request = request_facts(study, wanted_interconnects, CONFIG)
    missing_programs = {name: _missing_programs(case, has_program) for name, case in wanted_cases.items()}
    cluster = read_cluster(ROOT / study.cluster) if study.cluster else None
    if cluster:
        check_cluster(cluster, wanted_interconnects)
        wanted_interconnects = {name: placed(one, cluster) for name, one in wanted_interconnects.items()}
        unavailable = {name: unavailable_on(one, cluster) for name, one in wanted_interconnects.items()}
    else:
        unavailable = {name: interconnects.unavailable(one) for name, one in wanted_interconnects.items()}
    to_measure, to_replay = (
        {name: case for name, case in several.items() if not missing_programs[name]}
        for several in (measured_cases, replayed_cases)
    )
    usable = {name: one for name, one in wanted_interconnects.items() if not unavailable[name]}
    launched = {name: one for name, one in usable.items() if not one.simulate}
    replayed = {name: one for name, one in usable.items() if one.simulate}
    only_simulated = bool(wanted_interconnects) and all(one.simulate for one in wanted_interconnects.values())
    check_simulation(study, {name: one.kind for name, one in wanted_interconnects.items()})
    found, impossible = points(
        study, {} if only_simulated else to_measure, launched, _unsuited(to_measure, launched)
    )
    simulated, not_simulated = points(study.replayed, to_replay, replayed) if replayed else ([], [])
    left_out = [
        *(LeftOut(f"case {name}", reason) for name, reason in missing_programs.items() if reason),
        *(LeftOut(f"interconnect {name}", reason) for name, reason in unavailable.items() if reason),
        *impossible,
        *not_simulated,
    ]
    nothing = not (found or simulated or study.imports)
    if nothing and not (RESULTS / study.name / "records").exists():
        reasons = "; ".join(f"{one.what}: {one.reason}" for one in left_out)
        raise InputError(f"{file}: nothing of this study can be run here: {reasons}")
    return Plan(
        study,
        wanted_cases,
        wanted_interconnects,
        tuple(found),
        tuple(left_out),
        blocks_until_now(study),
        request,
        own_cases,
        cluster,
        simulated=tuple(simulated),
    )


def _check_files(study: Study) -> None:
    """Refuse an import that is not there, and a folder without performance logs (see docs/import.md)."""
    for place, path in enumerate(study.imports):
        where = f"{study.file}: import[{place}]: {path}"
        if not path.exists():
            raise InputError(f"{where}: no such file")
        if path.is_dir() and next(path.rglob("*.log*"), None) is None:
            raise InputError(f"{where}: is a folder, without performance logs of ReFrame (*.log*)")


def _sizes_at_scale(study: Study, own_cases: Mapping[str, Case]) -> dict[str, dict[int, str]]:
    """Size of each case that the study's scale chooses, the same at all process counts."""
    chosen = {
        name: cases.size_at_scale(own_cases[name], study.scale, f"{study.file}: cases[{place}]")
        for place, name in enumerate(study.cases)
    }
    return {name: dict.fromkeys(study.processes, size) for name, size in chosen.items()}


def _named_cases(names: Sequence[str], folder: Path, key: str) -> dict[str, Case]:
    """Cases by their names, which a study has at a key."""
    found = {}
    for place, name in enumerate(names):
        where = f"{key}[{place}]"
        found[name] = cases.load_case(name, folder, where)
        if found[name].name != name:
            raise InputError(f"{where}: {name!r} is {found[name].name!r} at its own size; write that")
    return found


def _sized_cases(study: Study, folder: Path) -> dict[str, Case]:
    """Each case at the sizes of all counts, under names that always hold the size."""
    names = {study.case_at(name, count): name for name in study.cases for count in study.processes}
    return {
        name: replace(cases.load_case(name, folder, f"{study.file}: sizes.{series}"), name=name)
        for name, series in names.items()
    }


def blocks_until_now(study: Study) -> int:
    """Blocks that a study names, or has added by itself: the highest of which something is recorded."""
    if study.until is None:
        return study.blocks
    numbers = (recorded_block(path) for path in record_files(RESULTS / study.name))
    return max(study.blocks, min(max(numbers, default=0), study.until.max_blocks))


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def _unsuited(
    cases: Mapping[str, Case], interconnects: Mapping[str, Interconnect]
) -> dict[tuple[str, str], str]:
    """Which cases cannot run over which interconnects, since their programs use another MPI library."""
    programs = {name: application(case.application).command(case, 2)[0] for name, case in cases.items()}
    pairs = {
        (case, name): other_library(programs[case], interconnects[name])
        for case in cases
        for name in interconnects
    }
    return {pair: reason for pair, reason in pairs.items() if reason}


def _missing_programs(case: Case, has_program: Callable[[str], object]) -> str | None:
    missing = [
        program for program in application(case.application).programs(case) if not has_program(program)
    ]
    return f"not installed here: {', '.join(missing)}" if missing else None
