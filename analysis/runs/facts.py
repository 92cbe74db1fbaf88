"""What a study and its machine say about themselves beside the runs table, as ``facts.json`` holds it.

The attributes are the keys of ``workflows/schemas/facts.yaml``, which says what each of them is. What a file
of an earlier version lacks has the default that it has here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis.runs.json_parts import JsonPart, each
from analysis.runs.lifetime import Lifetime
from analysis.runs.settings import Chosen, Mix, NodePrice, Queue, Rule, Settings

Pairs = Sequence[Sequence[str]]


@dataclass(frozen=True)
class AboutTarget(JsonPart):
    """``study.until``: how far a study goes on by itself, and how far it is."""

    interval_percent: float
    max_blocks: int
    least_blocks: int
    limit_core_hours: float
    half_width_percent: float | None
    core_hours: float
    reached: bool
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class AboutStudy(JsonPart, made={"until": AboutTarget.of}):
    """``study``: the question, and how it was run."""

    name: str | None = None
    title: str | None = None
    question: str | None = None
    blocks: int | None = None
    scaling: str = "strong"
    seed: int | None = None
    baselines: Sequence[str] = ()
    inside_nodes: Sequence[str] = ()
    compare_kinds: Pairs = ()
    compare_sites: Pairs = ()
    file: str | None = None
    until: AboutTarget | None = None
    blocks_recorded: int | None = None
    looks: Sequence[int] = ()
    seconds_left: float | None = None

    @property
    def unfinished(self) -> bool:
        """Whether blocks of the plan are still to be recorded, or to be added until a target."""
        going_on = self.until is not None and self.until.reason is None
        if self.blocks is None or self.blocks_recorded is None:
            return False
        return self.blocks_recorded < self.blocks or going_on


@dataclass(frozen=True, kw_only=True)
class Check(JsonPart, optional={"reference", "source", "references"}):
    """``answer`` of a case: what a run must print; by size where there are several."""

    quantity: str
    unit: str | None = None
    tolerance: float
    reference: float | None = None
    source: str | None = None
    references: Mapping[str, float] | None = None


@dataclass(frozen=True, kw_only=True)
class AboutCase(JsonPart, made={"answer": Check.of}, optional={"other_size"}):
    """One of ``cases``."""

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
    """``fit`` of a model: how well it repeats what it was fitted to."""

    points: int
    mean_percent: float
    largest_percent: float
    left_out_points: int
    left_out_mean_percent: float | None
    left_out_largest_percent: float | None


@dataclass(frozen=True, kw_only=True)
class AboutProcessor(JsonPart):
    """``processor`` of a host: two benchmarks of one of its cores, and of the core that traced."""

    name: str
    traced_on: str | None
    benchmarks: Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Host(JsonPart, made={"processor": AboutProcessor.of}):
    """``host`` of a model: how fast its cores are, relative to which processor, and who says so."""

    host_speed: float | None
    source: str | None = None
    relative_to: str | None = None
    corun_percent: float | None = None
    host_speed_range: Sequence[float] | None = None
    processor: AboutProcessor | None = None


@dataclass(frozen=True, kw_only=True)
class AboutModel(JsonPart, made={"fit": AboutFit.of, "host": Host.of}):
    """``model`` of a simulated interconnect."""

    source: str
    half_duplex: bool = False
    predicts: str | None = None
    probe_us: float | None = None
    two_points: bool = False
    fit: AboutFit | None = None
    host: Host


@dataclass(frozen=True, kw_only=True)
class AboutInterconnect(JsonPart, made={"model": AboutModel.of}, optional={"model", "host_bus"}):
    """One of ``interconnects``."""

    title: str | None = None
    kind: str | None = None
    description: str | None = None
    link_mbps: float | None = None
    factors: Mapping[str, Any] = field(default_factory=dict)
    host_bus: str | None = None
    notes: Sequence[Mapping[str, Any]] = ()
    model: AboutModel | None = None


@dataclass(frozen=True)
class Offer(JsonPart):
    """One of ``economics.offers``: an item, and its rows of a price book or part list."""

    source: str
    file: str
    item: str
    rows: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Economics(
    JsonPart,
    made={"node": NodePrice.of, "offers": each(Offer.of), "mix": Mix.of, "lifetime": Lifetime.of},
    optional={"lifetime"},
):
    """``economics``: what nodes and interconnects cost, to buy and to run, and what is to be bought."""

    node: NodePrice
    offers: Mapping[str, Offer]
    mix: Mix | None = None
    lifetime: Lifetime | None = None


@dataclass(frozen=True)
class Site(JsonPart):
    """One of ``sites``: where the results of a site are from."""

    file: str
    made: str | None = None
    version: str | None = None
    machine: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class LeftOut(JsonPart):
    """One of ``left_out``: something the study asks for that is not run, and why."""

    what: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Counts(JsonPart):
    """``runs``: how many there are, and which do not count."""

    planned: int | None = None
    recorded: int | None = None
    simulated: int | None = None
    imported: int | None = None
    invalid: int | None = None
    reason: str | None = None
    reason_runs: int | None = None
    lost: Sequence[str] = ()


_MADE = {
    "study": AboutStudy.of,
    "cases": each(AboutCase.of),
    "settings": Chosen.of,
    "queue": Queue.of,
    "proposal": Rule.of,
    "economics": Economics.of,
    "interconnects": each(AboutInterconnect.of),
    "sites": each(Site.of),
    "left_out": lambda entries: [LeftOut.of(entry) for entry in entries],
    "runs": Counts.of,
}


@dataclass(frozen=True, kw_only=True)
class Facts(JsonPart, made=_MADE):
    """All of the file. Before a run it has no more than what the study asks of the analysis."""

    study: AboutStudy = AboutStudy()
    cases: Mapping[str, AboutCase] = field(default_factory=dict)
    settings: Chosen = field(default_factory=Chosen)
    queue: Queue = field(default_factory=Queue)
    proposal: Rule | None = None
    proposal_interconnect: str | None = None
    economics: Economics | None = None
    congestion: Mapping[str, Any] = field(default_factory=dict)
    interconnects: Mapping[str, AboutInterconnect] = field(default_factory=dict)
    sites: Mapping[str, Site] = field(default_factory=dict)
    left_out: Sequence[LeftOut] = ()
    machine: Mapping[str, Any] = field(default_factory=dict)
    runs: Counts = Counts()
    made: str | None = None
    version: str | None = None

    def case(self, name: str) -> AboutCase:
        """Give what is known of a case, which may be nothing."""
        return self.cases.get(name, AboutCase())

    def interconnect(self, name: str) -> AboutInterconnect:
        """Give what is known of an interconnect, which may be nothing."""
        return self.interconnects.get(name, AboutInterconnect())

    def all_settings(self) -> Settings:
        """Join what the study says of its analysis with what it says of itself."""
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
            look=max(len(study.looks), 1),
            inside_nodes=tuple(study.inside_nodes),
        )


def _pairs(given: Pairs) -> tuple[tuple[str, str], ...]:
    return tuple((first, second) for first, second in given)
