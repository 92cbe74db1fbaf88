"""A study file, read and checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from workflows import inputs
from workflows.domain import InputError, Point

SiteGiven = str | Mapping[str, str]
"""Of an imported file: its site, or other names for sites that it tells itself."""


@dataclass(frozen=True)
class Limits:
    """What a study may cost: expected core hours, seconds of a run, seconds of waiting for idleness."""

    core_hours: float
    run_seconds: float
    idle_seconds: float


@dataclass(frozen=True)
class Until:
    """How far a study goes on by itself: half-width of its intervals in percent, and the most blocks."""

    interval_percent: float
    max_blocks: int


@dataclass(frozen=True)
class Study:
    """What is asked: the keys of workflows/schemas/study.yaml, which describes each.

    ``sizes`` is empty unless scaling is weak or there is a scale: by case, the size at each process count.
    Those of a scale are found with the cases; ``blocks`` that the file does not name are None until the
    interconnects are known: see `workflows.study.asked.read_asked`.
    """

    name: str
    title: str
    question: str
    cases: tuple[str, ...]
    interconnects: tuple[str, ...]
    processes: tuple[int, ...]
    oversubscription: tuple[int, ...]
    processes_per_node: tuple[int, ...]
    threads: tuple[int, ...]
    scaling: str
    sizes: Mapping[str, Mapping[int, str]]
    scale: float | None
    exclude: tuple[Mapping[str, Any], ...]
    blocks: int | None
    until: Until | None
    seed: int
    baselines: tuple[str, ...]
    compare_kinds: tuple[tuple[str, str], ...]
    analysis: Mapping[str, Any]
    economics: Mapping[str, Any]
    queue: Mapping[str, Any]
    proposal: Mapping[str, Any]
    congestion: Mapping[str, Any]
    limits: Limits
    cases_folder: Path | None
    interconnects_folder: Path | None
    imports: tuple[Path, ...]
    import_sites: Mapping[Path, SiteGiven]
    import_mappings: Mapping[Path, Mapping[str, Any]]
    import_formats: Mapping[Path, str]
    site: str | None
    compare_sites: tuple[tuple[str, str], ...]
    simulation: Mapping[str, Any]
    creators: tuple[str, ...]
    cluster: Path | None
    allocation: bool
    report_while_running: bool
    file: Path

    def case_at(self, name: str, processes: int) -> str:
        """Name of the case that runs on a process count: in a study with sizes, at the size of that count."""
        return f"{name}-{self.sizes[name][processes]}" if self.sizes else name

    @property
    def replayed(self) -> Study:
        """What is replayed, as a study: with the cases and counts of ``simulation``, if it has some."""
        own = {key: self.simulation[key] for key in _SIMULATED if key in self.simulation}
        return replace(self, **own, oversubscription=(1,)) if own else self

    def case_of(self, sized: str) -> str:
        """Name of the case in results: in a study with sizes, without the size. The reverse of `case_at`."""
        return sized.partition("-")[0] if self.sizes else sized

    def excludes(self, point: Point) -> bool:
        """Whether an entry of ``exclude`` means the point; its keys are fields of a point."""
        fields = vars(point) | {"case": self.case_of(point.case)}
        return any(all(fields[key] == value for key, value in entry.items()) for entry in self.exclude)


LEAST_BLOCKS = 6
"""Blocks with which a study begins that goes on until its intervals are narrow."""
AGAIN = "again"
"""Key of ``--config`` that is no key of a study: see `workflows.plan.again`."""
_TO_RUN = ("cases", "interconnects", "processes")
_SIMULATED = ("cases", "processes")
_STATED_SPEED = ("host_speed", "host_speed_range", "relative_to", "source")
_OF_RUNS = ("until", "processes_per_node", "threads", "site", "scale")
_OF_ANALYSIS = ("analysis", "economics", "queue", "proposal")
_AS_GIVEN = ("name", "scaling", "blocks", "seed", "allocation", "report_while_running")
_FOLDERS = ("cases_folder", "interconnects_folder")
_LISTS = ("cases", "interconnects", "exclude", "baselines", "creators")
_SORTED = ("processes", "oversubscription", "processes_per_node", "threads")


def read_study(file: Path, overrides: Mapping[str, Any] | None = None) -> Study:
    """Read a study file.

    `overrides` replace the file's values, key by key (Snakemake's ``--config``).

    Raises
    ------
    InputError
        One line that names the file, the key and the value.
    """
    replaced = {key: value for key, value in (overrides or {}).items() if key != AGAIN}
    data = inputs.replaced(inputs.read_yaml(file), replaced, file)
    inputs.check(data, "study", file)
    given = [key for key in _TO_RUN if key in data]
    if len(given) < len(_TO_RUN) and (given or "import" not in data):
        missing = next(key for key in _TO_RUN if key not in data)
        raise InputError(f"{file}: {missing}: missing; a study has {', '.join(_TO_RUN)}, or import, or all")
    if not given and (odd := next((key for key in _OF_RUNS if key in data), None)):
        raise InputError(f"{file}: {odd}: does not belong here, since nothing is run")
    if (economics := list(data.get("economics", {}))) and "node" not in economics:
        raise InputError(f"{file}: economics.node: missing, since {economics[0]} is given")
    data = inputs.defaults("study") | {"blocks": None} | data
    route_load = data.get("congestion")
    return Study(
        **{key: data[key] for key in _AS_GIVEN},
        **{key: tuple(data.get(key, ())) for key in _LISTS},
        **{key: tuple(sorted(data.get(key, ()))) for key in _SORTED},
        **{key: inputs.defaults("study", key) | data[key] for key in _OF_ANALYSIS},
        title=data.get("title", data["name"]),
        question=data.get("question", ""),
        sizes=_sizes(data, file),
        scale=_scale(data, file),
        until=Until(**data["until"]) if "until" in data else None,
        compare_kinds=tuple((first, second) for first, second in data["compare_kinds"]),
        congestion=inputs.defaults("study", "congestion") | route_load if route_load else {},
        limits=Limits(**(inputs.defaults("study", "limits") | data["limits"])),
        **{key: file.parent / data[key] if key in data else None for key in _FOLDERS},
        **_imports(data, file),
        site=data.get("site"),
        compare_sites=_compare_sites(data, file),
        simulation=_simulation(data, file),
        cluster=Path(data["cluster"]) if "cluster" in data else None,
        file=file,
    )


def _imports(data: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Give the imported files, and the sites, mappings and formats that the study states for some of them."""
    given = [{"file": entry} if isinstance(entry, str) else entry for entry in data.get("import", ())]
    paths = [file.parent / entry["file"] for entry in given]
    for index, path in enumerate(paths):
        if path in paths[:index]:
            where = f"{file}: import[{index}]"
            raise InputError(f"{where}: {given[index]['file']!r} is there twice; each only once")
        if "format" in given[index]:
            from analysis.importers import FORMATS  # takes seconds that other studies can spare

            inputs.choose(given[index]["format"], FORMATS, "format", f"{file}: import[{index}].format")
    entries = dict(zip(paths, given, strict=True))
    sites = {path: entry["site"] for path, entry in entries.items() if "site" in entry}
    mappings = {path: entry["mapping"] for path, entry in entries.items() if "mapping" in entry}
    formats = {path: entry["format"] for path, entry in entries.items() if "format" in entry}
    return {
        "imports": tuple(paths),
        "import_sites": sites,
        "import_mappings": mappings,
        "import_formats": formats,
    }


def _simulation(data: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """What simulated interconnects are joined to, and what is replayed, if not what is measured."""
    given = inputs.defaults("study", "simulation") | data["simulation"]
    ends, stated = given.get("host_speed_range"), given["host_speed"]
    if ends and not ends[0] <= stated <= ends[1]:
        where = f"{file}: simulation.host_speed_range"
        raise InputError(f"{where}: {ends[0]:g} to {ends[1]:g} does not hold host_speed, {stated:g}")
    for key in _STATED_SPEED if "processor" in given else ():
        if key in data["simulation"]:
            where = f"{file}: simulation.{key}"
            raise InputError(
                f"{where}: does not belong here, since simulation.processor says how fast cores are"
            )
    for key in (key for key in _SIMULATED if key in given):
        if "scale" in data or data["scaling"] == "weak":
            chooses = "scale" if "scale" in data else "sizes"
            where = f"{file}: simulation.{key}"
            raise InputError(f"{where}: does not belong here, since {chooses} chooses the sizes")
        given[key] = tuple(sorted(given[key]) if key == "processes" else given[key])
    return given


def _compare_sites(data: Mapping[str, Any], file: Path) -> tuple[tuple[str, str], ...]:
    """Pairs of sites to compare; those that the runs do not have are found by the analysis."""
    given = data.get("compare_sites", ())
    if any(isinstance(entry, str) for entry in given):
        if len(given) != 2 or not all(isinstance(entry, str) for entry in given):
            wanted = "two sites, or a list of pairs of sites"
            raise InputError(f"{file}: compare_sites: {list(given)!r} is not {wanted}")
        given = [given]
    return tuple((before, after) for before, after in given)


def _sizes(data: Mapping[str, Any], file: Path) -> dict[str, dict[int, str]]:
    """Sizes of a weak study by case and process count; empty for a strong study."""
    sizes, weak = data.get("sizes", {}), data["scaling"] == "weak"
    if not weak:
        if sizes:
            raise InputError(f"{file}: sizes: does not belong here, since scaling is {data['scaling']}")
        return {}
    for key in ("oversubscription", "threads"):
        if data[key] != [1]:
            raise InputError(f"{file}: {key}: must be [1], since scaling is weak (work per core)")
    names, counts = data.get("cases", []), data.get("processes", [])
    for index, name in enumerate(names):
        if "-" in name:
            raise InputError(f"{file}: cases[{index}]: {name!r}: without a size, since scaling is weak")
        if name not in sizes:
            raise InputError(f"{file}: sizes.{name}: missing, since scaling is weak")
    for name, given in sizes.items():
        if name not in names:
            raise InputError(f"{file}: sizes.{name}: is not among the study's cases ({', '.join(names)})")
        if len(given) != len(counts):
            raise InputError(
                f"{file}: sizes.{name}: {len(given)} for {len(counts)} process counts; one for each"
            )
    return {name: dict(zip(counts, given, strict=True)) for name, given in sizes.items()}


def _scale(data: Mapping[str, Any], file: Path) -> float | None:
    """Share of each case's own size at which it is run; None where cases have the sizes they name."""
    if "scale" not in data:
        return None
    if data["scaling"] == "weak":
        raise InputError(f"{file}: scale: does not belong here, since scaling is weak; sizes says the sizes")
    for index, name in enumerate(data.get("cases", ())):
        if "-" in name:
            raise InputError(f"{file}: cases[{index}]: {name!r}: without a size, since scale chooses it")
    return data["scale"]


def check_sizes(study: Study, serial_seconds: Mapping[str, float]) -> None:
    """Check that the work of a weak study grows with its processes.

    `serial_seconds` are those of a serial run of each case, by the case's name with its size.

    Raises
    ------
    InputError
        For a size that takes no longer than the size of a smaller count.
    """
    for name, sizes in study.sizes.items() if study.scaling == "weak" else ():
        for fewer, more in pairwise(study.processes):
            small, large = (serial_seconds[study.case_at(name, count)] for count in (fewer, more))
            if not small < large:
                raise InputError(
                    f"{study.file}: sizes.{name}: {sizes[more]!r} for {more} processes takes {large:g} s "
                    f"serially, no more than {sizes[fewer]!r} for {fewer}; scaling is weak, so work must grow"
                )


def check_until(study: Study) -> None:
    """Check that a study with a target begins with enough blocks, and may add some.

    Raises
    ------
    InputError
        If it does not.
    """
    if study.until is None:
        return
    if study.blocks < LEAST_BLOCKS:
        raise InputError(
            f"{study.file}: blocks: {study.blocks} is too small; {LEAST_BLOCKS} or more, since until is given"
        )
    if (most := study.until.max_blocks) <= study.blocks:
        raise InputError(
            f"{study.file}: until.max_blocks: {most} is too small; above blocks ({study.blocks})"
        )


def check_baselines(study: Study, kinds: Mapping[str, str]) -> None:
    """Check that the study's blocks provide every declared comparison.

    A study that imports results is left to the analysis, which knows what the files hold. `kinds` are those
    of the study's interconnects, by name.

    Raises
    ------
    InputError
        For a baseline that is no interconnect of the study, or that has nothing to be compared with.
    """
    if study.imports:
        return
    for index, baseline in enumerate(study.baselines):
        where = f"{study.file}: baselines[{index}]"
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
    check_kinds(study, set(kinds.values()))


def check_kinds(study: Study, kinds: Collection[str]) -> None:
    """Check that there are interconnects of the kinds that a study compares.

    `kinds` are those of the study's interconnects, and of what it imports.

    Raises
    ------
    InputError
        For a kind that none is of.
    """
    for index, pair in enumerate(study.compare_kinds):
        if missing := [kind for kind in pair if kind not in kinds]:
            raise InputError(
                f"{study.file}: compare_kinds[{index}]: no interconnect of the study is {missing[0]}"
            )


def check_simulation(study: Study, kinds: Mapping[str, str]) -> None:
    """Check that cases and counts of ``simulation`` stand beside others that are measured.

    Raises
    ------
    InputError
        Where nothing is replayed, or nothing else is run.
    """
    key = next((key for key in _SIMULATED if key in study.simulation), None)
    if key is None:
        return
    if "simulated" not in kinds.values():
        raise InputError(f"{study.file}: simulation.{key}: no interconnect of the study is simulated")
    if set(kinds.values()) == {"simulated"}:
        raise InputError(f"{study.file}: simulation.{key}: nothing is measured here; write it as {key}")


def check_exclude(study: Study) -> None:
    """Check that every entry of ``exclude`` names what the study has.

    Raises
    ------
    InputError
        For a name or a number that no point of the study can have.
    """
    known = {
        "case": tuple(dict.fromkeys([*study.cases, *study.replayed.cases])),
        "interconnect": study.interconnects,
        "processes": tuple(sorted({*study.processes, *study.replayed.processes})),
        "oversubscription": study.oversubscription,
        "processes_per_node": study.processes_per_node,
        "threads": study.threads,
    }
    for index, entry in enumerate(study.exclude):
        for key, value in entry.items():
            if value not in known[key]:
                allowed = ", ".join(map(str, known[key]))
                raise InputError(
                    f"{study.file}: exclude[{index}].{key}: {value!r} is not of this study ({allowed})"
                )
