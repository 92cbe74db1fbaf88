"""The facts of a study that its report states besides numbers."""

from __future__ import annotations

import datetime
import json
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.pipeline import make_all_tables
from analysis.runs.facts import (
    AboutCase,
    AboutInterconnect,
    AboutModel,
    AboutProcessor,
    AboutStudy,
    AboutTarget,
    Check,
    Counts,
    Facts,
    Host,
    Site,
)
from analysis.runs.runs import complete_runs
from analysis.runs.settings import Settings
from analysis.topics.precision import NEEDS, half_widths
from analysis.topics.request import Request
from workflows.domain import Interconnect, LeftOut
from workflows.measure.answers import read_expected
from workflows.paths import ROOT, StudyPaths
from workflows.plan.plan import Plan
from workflows.plan.record import Record
from workflows.plan.stopping import Stopping, core_hours, judge
from workflows.results.looks import looks, recorded_blocks
from workflows.simulation.fit import fit_summary
from workflows.simulation.processor import BENCHMARKS, core_speed
from workflows.study.asked import Asked, interconnect_file
from workflows.study.factors import factors, model_factors
from workflows.study.interconnects import load_interconnect
from workflows.study.sites import known_facts
from workflows.study.study import Study

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
"""Version of Nodeworth; pyproject.toml states it."""


def facts(plan: Plan, runs: pd.DataFrame, records: list[Record], unread: list[LeftOut]) -> Facts:
    """What a report states besides numbers: study, cases, interconnects, machine, versions.

    Parameters
    ----------
    runs : DataFrame
        See `workflows.results.collect.Collected`.
    records : list of Record
        Those of its rows whose ``origin`` is ``run``.
    """
    asked, design, paths = plan.asked, plan.design, plan.paths
    study, stated = asked.study, _asked(plan, runs)
    machine: dict[str, Any] = {}
    if records:
        libraries = sorted({record.mpi for record in records if record.mpi})
        machine = {
            **records[-1].machine,
            "mpi": ", ".join(libraries) or None,
            "transports": _transports(records),
            "applications": _versions(records),
            **_cluster(records[-1]),
        }
    known = known_facts(study)
    imported = {name: about for name, about in known.cases.items() if name in set(runs["case"])}
    cases = {case: _facts_of_case(asked, paths, case) for case in [*study.cases, *study.replayed.cases]}
    interconnects = {
        name: _interconnect_facts(study, paths, interconnect)
        for name, interconnect in asked.interconnects.items()
    }
    made = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    own_site = {study.site: Site(str(study.file), made, VERSION, machine)} if study.site else {}
    until = _until_facts(plan, runs[runs["origin"] == "run"], records)
    about = replace(stated.study, until=until, blocks_recorded=recorded_blocks(design, records))
    if until is None and about.blocks_recorded is not None:
        about = replace(about, looks=looks(paths.looks, about.blocks, whole=not about.unfinished))
    return replace(
        stated,
        study=about,
        cases=_with_sizes(cases) | _others(imported, cases),
        interconnects=interconnects | _others(known.interconnects, interconnects),
        sites={**known.sites, **own_site},
        left_out=[*design.left_out, *unread],
        machine=machine,
        runs=outcome(runs, len(design.repetitions)),
        made=made,
        version=VERSION,
    )


def outcome(runs: pd.DataFrame, planned: int) -> Counts:
    """Count the runs of a runs table, and sum up which do not count; `planned` are repetitions of its own."""
    valid = runs["valid"].astype(bool)
    reasons = runs.loc[~valid, "reason"].value_counts()
    any_valid = valid.groupby(runs["interconnect"], sort=False).any()
    of = runs["origin"].value_counts()
    return Counts(
        planned=planned + len(runs) - int(of.get("run", 0)),
        recorded=len(runs),
        simulated=int(of.get("replay", 0)),
        imported=int(of.get("import", 0)),
        invalid=int((~valid).sum()),
        reason=str(reasons.index[0]) if len(reasons) else None,
        reason_runs=int(reasons.iloc[0]) if len(reasons) else 0,
        lost=[str(name) for name in any_valid.index[~any_valid]],
    )


def _with_sizes(cases: Mapping[str, AboutCase]) -> dict[str, AboutCase]:
    """Add the size to titles that several cases have: a study may have a case at several sizes."""
    given = Counter(about.title for about in cases.values())
    return {
        name: replace(about, title=f"{about.title}, {about.size}") if given[about.title] > 1 else about
        for name, about in cases.items()
    }


def _interconnect_facts(study: Study, paths: StudyPaths, interconnect: Interconnect) -> AboutInterconnect:
    return AboutInterconnect(
        title=interconnect.title,
        kind=interconnect.kind,
        description=interconnect.description,
        link_mbps=interconnect.link_mbps,
        factors=factors(interconnect) | model_factors(interconnect),
        model=_model_facts(study, paths, interconnect) if interconnect.simulate else None,
        host_bus=interconnect.host_bus,
        notes=list(interconnect.notes),
    )


def _model_facts(study: Study, paths: StudyPaths, interconnect: Interconnect) -> AboutModel:
    """What the report says of a simulated interconnect's model; no fit where nothing was replayed on it."""
    file = paths.fit(interconnect.name)
    model = interconnect.simulate
    return AboutModel(
        source=model["source"],
        half_duplex=model["half_duplex"],
        predicts=model.get("predicts"),
        probe_us=model.get("probe_us"),
        two_points="two_points" in model,
        fit=fit_summary(pd.read_csv(file)) if file.exists() else None,
        host=_host_facts(study.simulation, paths.processor),
    )


def _host_facts(simulation: Mapping[str, Any], probed: Path) -> Host:
    """How fast simulated cores are: as stated, or as `probed` says; unknown if nothing was replayed."""
    source, relative_to, corun = map(simulation.get, ("source", "relative_to", "corun_percent"))
    if (meant := simulation.get("processor")) is None:
        return Host(simulation["host_speed"], source, relative_to, corun, simulation.get("host_speed_range"))
    if not probed.exists():
        return Host(None, meant["source"], None, corun)
    cores, here = core_speed(simulation, probed), json.loads(probed.read_text())
    benchmarks = {name: (meant[name], here[name]) for name in BENCHMARKS}
    processor = AboutProcessor(name=meant["name"], traced_on=here["cpu"], benchmarks=benchmarks)
    return Host(cores.speed, meant["source"], None, corun, (cores.slowest, cores.fastest), processor)


def _cluster(record: Record) -> dict[str, str]:
    """Where on a cluster a record was made; nothing for a record of a single machine."""
    job = record.cluster
    if job is None:
        return {}
    hidden = " as far as Slurm shows (PrivateData)" if job.neighbours_hidden else ""
    alone = f", exclusive{hidden}" if job.exclusive else ""
    return {"slurm": f"job {job.job} in {job.partition} on {job.nodes}{alone}, ranks by {job.launcher}"}


def _transports(records: Sequence[Record]) -> str | None:
    """What the MPI libraries chose to carry messages, by interconnect, as probes have it."""
    found: dict[str, set[str]] = {}
    for record in records:
        if record.probe and record.probe.transports:
            found.setdefault(record.interconnect, set()).update(record.probe.transports)
    return "; ".join(f"{name}: {', '.join(sorted(found[name]))}" for name in sorted(found)) or None


def _others(known: Mapping[str, Any], own: Collection[str]) -> dict[str, Any]:
    return {name: about for name, about in known.items() if name not in own}


def _asked(plan: Plan, runs: pd.DataFrame) -> Facts:
    """What is asked; a reference interconnect that did not run here is left out."""
    study, request = plan.asked.study, plan.asked.request
    settings = request.settings
    if settings.reference_interconnect not in set(runs["interconnect"].dropna()):
        settings = replace(settings, reference_interconnect=None)
    about = AboutStudy(
        name=study.name,
        title=study.title,
        question=study.question,
        blocks=plan.design.blocks,
        scaling=study.scaling,
        seed=study.seed,
        baselines=baselines(study, runs),
        inside_nodes=_inside_nodes(plan.asked, runs),
        compare_kinds=study.compare_kinds,
        compare_sites=study.compare_sites,
        file=str(study.file),
    )
    return replace(request, study=about, settings=settings)


def stopping(plan: Plan, runs: pd.DataFrame, records: Sequence[Record]) -> Stopping:
    """Apply the stopping rule of a study that goes on until a target, to the figures that its report has.

    `runs` and `records` are as `workflows.results.collect.runs_table` gives them.
    """
    study, blocks = plan.asked.study, plan.design.blocks
    settings = _asked(plan, runs).all_settings()
    widths = pd.Series(dtype=float)
    if runs["valid"].any():
        widths = half_widths(make_all_tables(complete_runs(runs), Request(settings), NEEDS))
    return judge(study, blocks, widths, core_hours(records))


def _until_facts(plan: Plan, runs: pd.DataFrame, records: Sequence[Record]) -> AboutTarget | None:
    """The target of a study, how far the study is from it and why it stopped; None without a target."""
    study = plan.asked.study
    if study.until is None:
        return None
    return AboutTarget(
        **asdict(study.until),
        least_blocks=study.blocks,
        limit_core_hours=study.limits.core_hours,
        **asdict(stopping(plan, runs, records)),
    )


def baselines(study: Study, runs: pd.DataFrame) -> list[str]:
    """Baselines of a study, kind by kind: those it names, else the first of several that ran."""
    order = {name: index for index, name in enumerate(study.interconnects)}
    ran = runs.dropna(subset="interconnect").drop_duplicates(["interconnect", "kind"])
    ran = ran.sort_values("interconnect", key=lambda names: names.map(order), kind="stable")  # others last
    named = sorted(study.baselines, key=lambda name: order.get(name, len(order)))
    settings = Settings(baselines=tuple(named))
    of_kinds = ran.groupby("kind", sort=False)["interconnect"]
    chosen = (
        one
        for _, names in of_kinds
        for one in settings.baselines_among(names.tolist())
        if one in named or len(names) > 1
    )
    return list(dict.fromkeys(chosen))


def _inside_nodes(asked: Asked, runs: pd.DataFrame) -> list[str]:
    """Name the interconnects of the runs that carry messages inside a node.

    An imported study states its own. The interconnect file of that name decides on any other imported name.
    """
    stated = known_facts(asked.study).study.inside_nodes
    return [name for name in runs["interconnect"].dropna().unique() if _is_inside(name, asked, stated)]


def _is_inside(name: str, asked: Asked, stated: Sequence[str]) -> bool:
    if (interconnect := asked.interconnects.get(name)) is None:
        file = interconnect_file(asked.study, name)
        if name in stated or not file.exists():
            return name in stated
        interconnect = load_interconnect(name, file.parent)
    return not interconnect.joins_nodes


def _facts_of_case(asked: Asked, paths: StudyPaths, case: str) -> AboutCase:
    """Facts of a case; in a weak study, facts that its sizes share, and the answer of each size."""
    study = asked.study
    if not study.sizes:
        return _case_facts(asked, paths, case)
    if asked.own_cases:
        return _scaled_facts(asked, paths, case)
    sizes = study.sizes[case]
    at_counts = [_case_facts(asked, paths, study.case_at(case, count)) for count in study.processes]
    counts = ", ".join(f"{sizes[count]} on {count}" for count in study.processes)
    answer = at_counts[0].answer and replace(
        at_counts[0].answer,
        reference=None,
        source=None,
        references=dict(zip(sizes.values(), (about.answer.reference for about in at_counts), strict=True)),
    )
    return replace(at_counts[0], size=f"{counts} processes", published_case=None, answer=answer)


def _scaled_facts(asked: Asked, paths: StudyPaths, case: str) -> AboutCase:
    """Facts of a case at the size that the scale chose; it stands for what its own size stands for."""
    own, study = asked.own_cases[case], asked.study
    about = _case_facts(asked, paths, study.case_at(case, study.processes[0]))
    if about.size == own.size:
        return about
    size = f"{about.size}, at scale {study.scale:g} of {own.size}"
    return replace(about, size=size, published_case=own.published_case, other_size=True)


def _case_facts(asked: Asked, paths: StudyPaths, name: str) -> AboutCase:
    case, file = asked.cases[name], paths.expected(name)
    expected = read_expected(file) if file.exists() else {"value": None, "source": None}
    check = None
    if case.answer and expected["value"] is not None:  # where all is replayed, no run is judged by it
        check = Check(
            quantity=case.answer.quantity,
            unit=case.answer.unit,
            tolerance=case.answer.tolerance,
            reference=expected["value"],
            source=expected["source"],
        )
    return AboutCase(
        title=case.title,
        application=case.application,
        size=case.size,
        description=case.description,
        stands_for=case.stands_for,
        published_case=case.published_case,
        answer=check,
    )


def _versions(records: list[Record]) -> dict[str, str]:
    found = dict.fromkeys((record.application, record.version) for record in records if record.version)
    return {
        name: ", ".join(sorted(version for other, version in found if other == name)) for name, _ in found
    }
