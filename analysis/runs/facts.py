"""Facts about a study and its machine, as ``facts.json`` holds them.

The attributes are the keys of ``workflows/schemas/facts.yaml``, which describes each. Keys that a file of an
earlier version lacks take the defaults of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from analysis.runs.json_parts import JsonPart, each
from analysis.runs.lifetime import Lifetime
from analysis.runs.settings import Chosen, Mix, NodePrice, Rule, RunCosts, Settings

Pairs = Sequence[Sequence[str]]
Part = TypeVar("Part", bound=JsonPart)


@dataclass(frozen=True)
class AboutTarget(JsonPart):
    """``study.until``: the target at which a study stops by itself, and its progress."""

    interval_percent: float
    max_blocks: int
    least_blocks: int
    limit_core_hours: float
    half_width_percent: float | None
    core_hours: float
    reached: bool
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class AboutStudy(
    JsonPart,
    converters={"until": AboutTarget.of, "looks": lambda looks: looks if isinstance(looks, Mapping) else {}},
):
    """``study``: the question, and how the study was run.

    Attributes
    ----------
    names_baseline : bool
        False if the study names neither baselines nor several interconnects: `baselines` then come from the
        imported runs.
    looks : mapping of str to int
        Empty for a file of an earlier version, whose list did not distinguish cases.
    """

    name: str | None = None
    title: str | None = None
    question: str | None = None
    blocks: int | None = None
    scaling: str = "strong"
    seed: int | None = None
    baselines: Sequence[str] = ()
    names_baseline: bool = True
    inside_nodes: Sequence[str] = ()
    compare_kinds: Pairs = ()
    compare_sites: Pairs = ()
    file: str | None = None
    until: AboutTarget | None = None
    blocks_recorded: int | None = None
    repeats_left: int = 0
    looks: Mapping[str, int] = field(default_factory=dict)
    seconds_left: float | None = None

    @property
    def unfinished(self) -> bool:
        """Whether planned blocks or requested repeats are missing, or the target is not reached yet."""
        before_target = self.until is not None and self.until.reason is None
        if self.blocks is None or self.blocks_recorded is None:
            return False
        return self.blocks_recorded < self.blocks or self.repeats_left > 0 or before_target


@dataclass(frozen=True, kw_only=True)
class Check(JsonPart, optional={"reference", "source", "references"}):
    """``answer`` of a case: the expected answer, by size if there are several."""

    quantity: str
    unit: str | None = None
    tolerance: float
    reference: float | None = None
    source: str | None = None
    references: Mapping[str, float] | None = None


@dataclass(frozen=True, kw_only=True)
class AboutCase(JsonPart, converters={"answer": Check.of}, optional={"other_size"}):
    """Facts about a case: an entry of ``cases``."""

    title: str | None = None
    application: str | None = None
    size: str | None = None
    description: str | None = None
    stands_for: str | None = None
    published_case: str | None = None
    answer: Check | None = None
    other_size: bool | None = None


@dataclass(frozen=True)
class AboutFit(JsonPart):
    """``fit`` of a model: its error at the fitted points."""

    points: int
    mean_percent: float
    largest_percent: float
    left_out_points: int
    left_out_mean_percent: float | None
    left_out_largest_percent: float | None


@dataclass(frozen=True, kw_only=True)
class AboutProcessor(JsonPart):
    """``processor`` of a host: benchmarks of one of its cores and of the core that traced."""

    name: str
    traced_on: str | None
    benchmarks: Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Host(JsonPart, converters={"processor": AboutProcessor.of}):
    """``host`` of a model: the speed of its cores, relative to a processor, and the source of this speed."""

    host_speed: float | None
    source: str | None = None
    relative_to: str | None = None
    corun_percent: float | None = None
    host_speed_range: Sequence[float] | None = None
    processor: AboutProcessor | None = None


@dataclass(frozen=True, kw_only=True)
class AboutModel(JsonPart, converters={"fit": AboutFit.of, "host": Host.of}):
    """``model`` of a simulated interconnect."""

    source: str
    half_duplex: bool = False
    predicts: str | None = None
    probe_us: float | None = None
    two_points: bool = False
    fit: AboutFit | None = None
    host: Host


@dataclass(frozen=True, kw_only=True)
class AboutInterconnect(
    JsonPart, converters={"model": AboutModel.of}, optional={"model", "host_bus", "node_type"}
):
    """Facts about an interconnect: an entry of ``interconnects``."""

    title: str | None = None
    kind: str | None = None
    description: str | None = None
    link_mbps: float | None = None
    factors: Mapping[str, Any] = field(default_factory=dict)
    host_bus: str | None = None
    node_type: str | None = None
    notes: Sequence[Mapping[str, Any]] = ()
    model: AboutModel | None = None


@dataclass(frozen=True)
class Offer(JsonPart):
    """Entry of ``economics.offers``: an item, and its rows of a price book or part list."""

    source: str
    file: str
    item: str
    rows: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Economics(
    JsonPart,
    converters={"node": NodePrice.of, "offers": each(Offer.of), "mix": Mix.of, "lifetime": Lifetime.of},
    optional={"lifetime"},
):
    """``economics``: prices and running costs of nodes and interconnects, and the planned purchase."""

    node: NodePrice
    offers: Mapping[str, Offer]
    mix: Mix | None = None
    lifetime: Lifetime | None = None


@dataclass(frozen=True)
class Site(JsonPart):
    """Entry of ``sites``: origin of the results of a site."""

    file: str
    made: str | None = None
    version: str | None = None
    machine: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class LeftOut(JsonPart):
    """Entry of ``left_out``: a part of the study that is not run, and the reason."""

    what: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Counts(JsonPart):
    """``runs``: numbers of runs, and of runs that do not count."""

    planned: int | None = None
    recorded: int | None = None
    simulated: int | None = None
    imported: int | None = None
    invalid: int | None = None
    outdated: int = 0
    reason: str | None = None
    reason_runs: int | None = None
    lost: Sequence[str] = ()


def outdated_runs(number: int) -> str:
    """Return the clause that counts runs of an earlier version of the case or its settings."""
    runs, them = ("run is", "it") if number == 1 else ("runs are", "them")
    changed = f"the case, the interconnect or the site file changed after {them}"
    return f"{number} {runs} outdated and left out: {changed}"


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "study": AboutStudy.of,
    "cases": each(AboutCase.of),
    "settings": Chosen.of,
    "proposal": Rule.of,
    "economics": Economics.of,
    "run_costs": RunCosts.of,
    "interconnects": each(AboutInterconnect.of),
    "sites": each(Site.of),
    "left_out": lambda entries: [LeftOut.of(entry) for entry in entries],
    "runs": Counts.of,
}


@dataclass(frozen=True, kw_only=True)
class Facts(JsonPart, converters=_CONVERTERS):
    """All facts of a study. Before a run, they are only the keys of the study file about the analysis.

    ``study_keys`` holds every key of the study file that ``workflows/schemas/study.yaml`` marks
    ``reaches_analysis: true``, with its default. A topic reads a new key there: only the schema and the topic
    change. `study_section` returns a section of keys as a typed object.
    """

    study: AboutStudy = AboutStudy()
    cases: Mapping[str, AboutCase] = field(default_factory=dict)
    study_keys: Mapping[str, Any] = field(default_factory=dict)
    settings: Chosen = field(default_factory=Chosen)
    proposal: Rule | None = None
    proposal_interconnect: str | None = None
    economics: Economics | None = None
    run_costs: RunCosts | None = None
    interconnects: Mapping[str, AboutInterconnect] = field(default_factory=dict)
    sites: Mapping[str, Site] = field(default_factory=dict)
    left_out: Sequence[LeftOut] = ()
    machine: Mapping[str, Any] = field(default_factory=dict)
    runs: Counts = Counts()
    made: str | None = None
    version: str | None = None

    def study_section(self, key: str, kind: type[Part]) -> Part:
        """Return a section of the study file as an object of class `kind`; with defaults if it is missing."""
        return kind.of(self.study_keys.get(key, {}))

    def case(self, name: str) -> AboutCase:
        """Return the facts about a case; all are missing for an unknown case."""
        return self.cases.get(name, AboutCase())

    def interconnect(self, name: str) -> AboutInterconnect:
        """Return the facts about an interconnect; all are missing for an unknown interconnect."""
        return self.interconnects.get(name, AboutInterconnect())

    def all_settings(self) -> Settings:
        """Return the settings of the analysis together with those of the study."""
        study = self.study
        return Settings(
            **{key.name: getattr(self.settings, key.name) for key in Chosen.entries()},
            study=study.name or Settings.study,
            seed=study.seed or Settings.seed,
            scaling=study.scaling,
            baselines=tuple(study.baselines),
            compare_kinds=_pairs(study.compare_kinds),
            compare_sites=_pairs(study.compare_sites),
            unfinished=study.unfinished,
            looks=tuple(study.looks.items()),
            inside_nodes=tuple(study.inside_nodes),
            compare_by=self.study_keys.get("compare_by"),
            layouts=tuple(self.study_keys.get("layouts", {}).items()),
        )


def _pairs(given: Pairs) -> tuple[tuple[str, str], ...]:
    return tuple((first, second) for first, second in given)
