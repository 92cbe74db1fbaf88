"""Read and check a study file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workflows import inputs
from workflows.domain import InputError, Point
from workflows.paths import RESULTS
from workflows.study.inline import Existing, existing_cases, inline_cases

if TYPE_CHECKING:
    from workflows.study.logs import Logs

SiteGiven = str | Mapping[str, str]
"""Site of an imported file, or new names for the sites in it."""


@dataclass(frozen=True)
class Limits:
    """Limits of a study: expected core hours, seconds of a run, seconds of waiting for an idle machine."""

    core_hours: float
    run_seconds: float
    idle_seconds: float


@dataclass(frozen=True)
class Until:
    """Target at which a study stops: half-width of its intervals in percent, and the most blocks."""

    interval_percent: float
    max_blocks: int


@dataclass(frozen=True)
class Study:
    """Keys of a study file, which ``workflows/schemas/study.yaml`` describes.

    ``sizes`` holds the size of each case at each process count if scaling is weak or the study has a
    ``scale``; else it is empty. ``for_analysis`` holds the keys that the schema marks ``reaches_analysis``;
    they need no attribute of their own. ``import_matches`` holds the imports that a pattern matches; some of
    them may be unreadable. `workflows.study.asked.read_asked` adds the sizes of a ``scale``, and the number
    of ``blocks`` if the file leaves it out (None here), because both need the cases and interconnects.
    ``inline`` holds the cases that the study describes itself: see `workflows.study.inline`. ``existing``
    holds the inputs of users, by the name of the case.
    """

    name: str
    title: str
    question: str
    cases: tuple[str, ...]
    existing: Mapping[str, Existing]
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
    run_costs: Mapping[str, Any]
    proposal: Mapping[str, Any]
    for_analysis: Mapping[str, Any]
    limits: Limits
    cases_folder: Path | None
    interconnects_folder: Path | None
    imports: tuple[Path, ...]
    settings: tuple[str, ...]
    import_sites: Mapping[Path, SiteGiven]
    import_mappings: Mapping[Path, Mapping[str, Any]]
    import_formats: Mapping[Path, str]
    import_matches: frozenset[Path]
    logs: tuple[Logs, ...]
    site: str | None
    compare_sites: tuple[tuple[str, str], ...]
    simulation: Mapping[str, Any]
    creators: tuple[str, ...]
    inline: Mapping[str, Mapping[str, Any]]
    cluster: Path | None
    allocation: bool
    report_while_running: bool
    file: Path

    @property
    def is_generated(self) -> bool:
        """Whether an option of ``./run-study`` stands for the study, and Nodeworth wrote its file."""
        return self.file.absolute() == (RESULTS / self.name / "study.yaml").absolute()

    def case_at(self, name: str, processes: int) -> str:
        """Return the name of the case on a process count, with its size in a study with sizes."""
        return f"{name}-{self.sizes[name][processes]}" if self.sizes else name

    def source_of(self, case: str) -> str | Mapping[str, Any] | None:
        """Return where a case is described: an entry of ``inline``, or a folder (None: the project's)."""
        if case in self.existing:
            return str(self.copies)
        return self.inline.get(case) or (str(self.cases_folder) if self.cases_folder else None)

    @property
    def imported_files(self) -> tuple[Path, ...]:
        """All files that the study imports, logs included."""
        return (*self.imports, *(file for logs in self.logs for file in logs.files))

    @property
    def copies(self) -> Path:
        """Folder of the copies of users' inputs, which are cases."""
        return RESULTS / self.name / "cases"

    @property
    def congestion(self) -> Mapping[str, Any]:
        """Requested route load: see `workflows.study.congestion`; empty without any."""
        section: Mapping[str, Any] = self.for_analysis.get("congestion", {})
        return section

    @property
    def replayed(self) -> Study:
        """The study with the cases and process counts of ``simulation``, if that section names any."""
        changes = {key: self.simulation[key] for key in _SIMULATED if key in self.simulation}
        return replace(self, **changes, oversubscription=(1,)) if changes else self

    def case_of(self, sized_name: str) -> str:
        """Return the case's name in results: ``case`` of ``case-size``. Reverses `case_at`."""
        return sized_name.partition("-")[0] if self.sizes else sized_name

    def excludes(self, point: Point) -> bool:
        """Return whether an entry of ``exclude``, whose keys are fields of a point, matches the point."""
        fields = vars(point) | {"case": self.case_of(point.case)}
        return any(all(fields[key] == value for key, value in entry.items()) for entry in self.exclude)


LEAST_BLOCKS = 6
"""Fewest initial blocks of a study with ``until``."""
AGAIN = "again"
"""Key of ``--config`` that is no key of a study: see `workflows.plan.hooks`."""
_TO_RUN = ("cases", "interconnects", "processes")
_SIMULATED = ("cases", "processes")
_STATED_SPEED = ("host_speed", "host_speed_range", "relative_to", "source")
_OF_RUNS = ("until", "processes_per_node", "threads", "site", "scale")
_OF_ANALYSIS = ("analysis", "economics", "run_costs", "proposal")
_AS_GIVEN = ("name", "scaling", "blocks", "seed", "allocation", "report_while_running")
_FOLDERS = ("cases_folder", "interconnects_folder")
_LISTS = ("cases", "interconnects", "exclude", "baselines", "creators", "settings")
_SORTED = ("processes", "oversubscription", "processes_per_node", "threads")


def read_study(file: Path, overrides: Mapping[str, Any] | None = None) -> Study:
    """Read a study file.

    Parameters
    ----------
    overrides : mapping, optional
        Values by key that replace values of the file (Snakemake's ``--config``).

    Raises
    ------
    InputError
        One line with the file, the key and the value.
    """
    replaced = {key: value for key, value in (overrides or {}).items() if key != AGAIN}
    data = inputs.read_yaml(file)
    inputs.check(data, "study", file)
    data = inputs.replaced(data, replaced, file)
    inputs.check(data, "study", Path("--config"))
    present = [key for key in _TO_RUN if key in data]
    if len(present) < len(_TO_RUN) and (present or "import" not in data):
        missing = next(key for key in _TO_RUN if key not in data)
        raise InputError(f"{file}: {missing}: missing; a study has {', '.join(_TO_RUN)}, or import, or all")
    if not present and (odd := next((key for key in _OF_RUNS if key in data), None)):
        raise InputError(f"{file}: {odd}: does not belong here, since nothing is run")
    if "settings" in data and "import" not in data:
        raise InputError(f"{file}: settings: does not belong here, since nothing is imported")
    if (economics := list(data.get("economics", {}))) and "node" not in economics:
        raise InputError(f"{file}: economics.node: missing, since {economics[0]} is given")
    data = inputs.defaults("study") | {"blocks": None} | data
    existing = existing_cases(data.get("cases", ()), file)
    inline = _inline(data, file, existing)
    fields: dict[str, Any] = {
        **{key: data[key] for key in _AS_GIVEN},
        **{key: tuple(data.get(key, ())) for key in _LISTS},
        **{key: tuple(sorted(data.get(key, ()))) for key in _SORTED},
        **{key: inputs.defaults("study", key) | data[key] for key in _OF_ANALYSIS},
        **{key: file.parent / data[key] if key in data else None for key in _FOLDERS},
        **_imports(data, file),
        "inline": inline,
    }
    return Study(
        **fields,
        existing=existing,
        title=data.get("title", data["name"]),
        question=data.get("question", ""),
        sizes=_sizes(data, file),
        scale=_scale(data, file),
        until=Until(**data["until"]) if "until" in data else None,
        compare_kinds=tuple((first, second) for first, second in data["compare_kinds"]),
        for_analysis=_for_analysis(data),
        limits=Limits(**(inputs.defaults("study", "limits") | data["limits"])),
        site=data.get("site"),
        compare_sites=_compare_sites(data, file),
        simulation=_simulation(data, file),
        cluster=Path(data["cluster"]) if "cluster" in data else None,
        file=file,
    )


def _inline(data: dict[str, Any], file: Path, existing: Mapping[str, Existing]) -> dict[str, dict[str, Any]]:
    """Return the cases that the study describes itself, and leave their names in ``cases``."""
    stated = data.get("cases", [])
    folders = [file.parent / data[key] for key in _FOLDERS if key in data]
    inline = inline_cases(stated, file, [file, RESULTS, *folders], data.get("processes", []))
    names, paths = iter(inline), iter(existing)
    data["cases"] = [
        entry if isinstance(entry, str) else next(paths if "path" in entry else names) for entry in stated
    ]
    if twice := next((name for name in data["cases"] if data["cases"].count(name) > 1), None):
        raise InputError(f"{file}: cases: {twice!r} is there twice; give one another name with the key name")
    if inline and data["scaling"] == "weak":
        raise InputError(f"{file}: cases: {next(iter(inline))!r} has no sizes, and scaling is weak")
    if inline and "scale" in data:
        raise InputError(f"{file}: cases: {next(iter(inline))!r} has no sizes for a scale")
    return inline


def _for_analysis(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that reach the analysis, with the defaults inside their sections."""
    return {
        key: inputs.defaults("study", key) | data[key] if isinstance(data[key], dict) else data[key]
        for key in inputs.keys("study", mark="reaches_analysis")
        if key in data
    }


def _imports(data: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Return the fields of `Study` on imports: the files, the site, mapping and format of each, and logs."""
    entries: dict[Path, Mapping[str, Any]] = {}
    logs: list[Logs] = []
    listed: dict[Path, str] = {}
    for index, entry in enumerate(data.get("import", ())):
        where = f"{file}: import[{index}]"
        stated = {"file": entry} if isinstance(entry, str) else entry
        if "format" in stated:
            from analysis.importers import FORMATS  # takes seconds to import

            inputs.choose(stated["format"], FORMATS, "format", f"{where}.format")
        if "file" in stated:
            _only_with(stated, "file", where)
            files: Mapping[Path, Mapping[str, Any]] = {file.parent / stated["file"]: stated}
        else:
            from workflows.study.logs import files_of_format, read_logs_entry  # takes seconds to import

            _only_with(stated, "logs", where)
            files = files_of_format(stated, file.parent, where) if "format" in stated else {}
            logs += [] if files else [read_logs_entry(stated, file.parent, where)]
        entries |= files
        for path in files or logs[-1].files:
            if path in listed:
                name = stated["file"] if "file" in stated else str(path)
                raise InputError(f"{where}: {name!r} is there twice; each only once")
            listed[path] = where
    return {
        "imports": tuple(entries),
        **{
            f"import_{key}s": {path: entry[key] for path, entry in entries.items() if key in entry}
            for key in ("site", "mapping", "format")
        },
        "import_matches": frozenset(path for path, entry in entries.items() if "file" not in entry),
        "logs": tuple(logs),
    }


def _only_with(entry: Mapping[str, Any], key: str, where: str) -> None:
    """Refuse keys that belong to the other sort of import."""
    both = {key, "site", "mapping", "format"}
    allowed = both if key == "file" else set(inputs.entry_keys("study", "import")) - {"file"}
    if "format" not in entry and key == "logs":
        allowed -= {"mapping"}
    if odd := next((name for name in entry if name not in allowed), None):
        raise InputError(f"{where}.{odd}: does not belong here, next to {key}")


def _simulation(data: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Return ``simulation``: the hosts, and cases and counts to replay if they differ from the measured."""
    simulation: dict[str, Any] = inputs.defaults("study", "simulation") | data["simulation"]
    ends, stated = simulation.get("host_speed_range"), simulation["host_speed"]
    if ends and not ends[0] <= stated <= ends[1]:
        where = f"{file}: simulation.host_speed_range"
        raise InputError(f"{where}: {ends[0]:g} to {ends[1]:g} does not hold host_speed, {stated:g}")
    for key in _STATED_SPEED if "processor" in simulation else ():
        if key in data["simulation"]:
            where = f"{file}: simulation.{key}"
            raise InputError(
                f"{where}: does not belong here, since simulation.processor sets the speed of cores"
            )
    for key in (key for key in _SIMULATED if key in simulation):
        if "scale" in data or data["scaling"] == "weak":
            chooses = "scale" if "scale" in data else "sizes"
            where = f"{file}: simulation.{key}"
            raise InputError(f"{where}: does not belong here, since {chooses} chooses the sizes")
        simulation[key] = tuple(sorted(simulation[key]) if key == "processes" else simulation[key])
    return simulation


def _compare_sites(data: Mapping[str, Any], file: Path) -> tuple[tuple[str, str], ...]:
    """Return the pairs of sites to compare; the analysis checks that the runs have them."""
    entries = data.get("compare_sites", ())
    if any(isinstance(entry, str) for entry in entries):
        if len(entries) != 2 or not all(isinstance(entry, str) for entry in entries):
            expected = "two sites, or a list of pairs of sites"
            raise InputError(f"{file}: compare_sites: {list(entries)!r} is not {expected}")
        entries = [entries]
    return tuple((before, after) for before, after in entries)


def _sizes(data: Mapping[str, Any], file: Path) -> dict[str, dict[int, str]]:
    """Return the sizes of a weak study by case and process count; empty for a strong study."""
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
            where = f"{file}: cases[{index}]: {name!r}"
            raise InputError(f"{where}: no size here, since scaling is weak; state it in key sizes")
        if name not in sizes:
            raise InputError(f"{file}: sizes.{name}: missing, since scaling is weak")
    for name, sizes_of_case in sizes.items():
        if name not in names:
            raise InputError(f"{file}: sizes.{name}: is not among the study's cases ({', '.join(names)})")
        if len(sizes_of_case) != len(counts):
            raise InputError(
                f"{file}: sizes.{name}: {len(sizes_of_case)} sizes for {len(counts)} process "
                "counts; must be one for each"
            )
    return {name: dict(zip(counts, sizes_of_case, strict=True)) for name, sizes_of_case in sizes.items()}


def _scale(data: Mapping[str, Any], file: Path) -> float | None:
    """Return the fraction of each case's default size to run; None if cases name their sizes."""
    if "scale" not in data:
        return None
    if data["scaling"] == "weak":
        raise InputError(f"{file}: scale: does not belong here, since scaling is weak; state sizes instead")
    for index, name in enumerate(data.get("cases", ())):
        if "-" in name:
            raise InputError(f"{file}: cases[{index}]: {name!r}: no size here, since scale chooses it")
    scale: float = data["scale"]
    return scale


def check_sizes(study: Study, serial_seconds: Mapping[str, float]) -> None:
    """Check that the work of a weak study grows with its processes.

    Parameters
    ----------
    serial_seconds : mapping of str to float
        Rough time of a serial run, by the case's name with its size.

    Raises
    ------
    InputError
        A size takes no longer than the size of a smaller count.
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
    """Check that a study with ``until`` begins with enough blocks and may add more.

    Raises
    ------
    InputError
        ``blocks`` or ``until.max_blocks`` is too small.
    """
    if study.until is None or study.blocks is None:
        return
    if study.blocks < LEAST_BLOCKS:
        raise InputError(
            f"{study.file}: blocks: {study.blocks} is too small; {LEAST_BLOCKS} or more, since until is given"
        )
    if (most := study.until.max_blocks) <= study.blocks:
        raise InputError(
            f"{study.file}: until.max_blocks: {most} is too small; must be above blocks ({study.blocks})"
        )


def check_baselines(study: Study, kinds: Mapping[str, str]) -> None:
    """Check that the study's blocks provide every declared comparison.

    The analysis checks a study that imports results, because it knows the content of the files.

    Parameters
    ----------
    kinds : mapping of str to str
        Kind of each interconnect of the study, by name.

    Raises
    ------
    InputError
        A baseline is no interconnect of the study, or nothing can be compared with it.
    """
    if study.imported_files:
        return
    for index, baseline in enumerate(study.baselines):
        where = f"{study.file}: baselines[{index}]"
        if baseline not in kinds:
            allowed = ", ".join(f"{name}: {kind}" for name, kind in kinds.items())
            raise InputError(f"{where}: {baseline!r} is not among the study's interconnects ({allowed})")
        others = {kinds[name] for name in kinds if name != baseline}
        comparable = {kinds[baseline]} | {
            kind for pair in study.compare_kinds if kinds[baseline] in pair for kind in pair
        }
        if not others & comparable:
            raise InputError(
                f"{where}: {baseline!r} is {kinds[baseline]}, and the study compares it with no other "
                "interconnect; add an interconnect of this kind, or declare compare_kinds"
            )
    check_kinds(study, set(kinds.values()))


def check_kinds(study: Study, kinds: Collection[str]) -> None:
    """Check that the study has interconnects of the kinds in ``compare_kinds``.

    Parameters
    ----------
    kinds : collection of str
        Kinds of the study's interconnects and of its imports.

    Raises
    ------
    InputError
        No interconnect has one of the kinds.
    """
    for index, pair in enumerate(study.compare_kinds):
        if missing := [kind for kind in pair if kind not in kinds]:
            raise InputError(
                f"{study.file}: compare_kinds[{index}]: no interconnect of the study is {missing[0]}"
            )


def check_simulation(study: Study, kinds: Mapping[str, str]) -> None:
    """Check that a study with cases or counts in ``simulation`` both measures and simulates.

    Raises
    ------
    InputError
        No interconnect, or every interconnect, is simulated.
    """
    key = next((key for key in _SIMULATED if key in study.simulation), None)
    if key is None:
        return
    if "simulated" not in kinds.values():
        raise InputError(f"{study.file}: simulation.{key}: no interconnect of the study is simulated")
    if set(kinds.values()) == {"simulated"}:
        raise InputError(f"{study.file}: simulation.{key}: nothing is measured here; write it as {key}")


def check_exclude(study: Study) -> None:
    """Check that every entry of ``exclude`` can match a point of the study.

    Raises
    ------
    InputError
        A name or number occurs in no point of the study.
    """
    values = {
        "case": tuple(dict.fromkeys([*study.cases, *study.replayed.cases])),
        "interconnect": study.interconnects,
        "processes": tuple(sorted({*study.processes, *study.replayed.processes})),
        "oversubscription": study.oversubscription,
        "processes_per_node": study.processes_per_node,
        "threads": study.threads,
    }
    for index, entry in enumerate(study.exclude):
        for key, value in entry.items():
            if value not in values[key]:
                allowed = ", ".join(map(str, values[key]))
                raise InputError(
                    f"{study.file}: exclude[{index}].{key}: {value!r} is not in this study ({allowed})"
                )
