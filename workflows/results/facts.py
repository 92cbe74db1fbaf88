"""The facts of a study, which its report states in addition to tables."""

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
from analysis.runs.runs import complete_runs, count_validity, is_outdated
from analysis.runs.settings import Settings
from workflows.domain import InputError, Interconnect
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
from workflows.study.imports import Imported
from workflows.study.interconnects import load_interconnect
from workflows.study.populations import Population
from workflows.study.sites import imported_facts
from workflows.study.study import Study

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
"""Version of Nodeworth, from pyproject.toml."""


def facts(plan: Plan, runs: pd.DataFrame, records: list[Record], imports: Imported) -> Facts:
    """Make the facts of a study: its cases, interconnects, machine and versions.

    Parameters
    ----------
    runs : DataFrame
        See `workflows.results.collect.Collected`.
    records : list of Record
        Records of the rows whose ``origin`` is ``run``.
    imports : Imported
        Imports of the study.
    """
    asked, design, paths = plan.asked, plan.design, plan.paths
    study, requested = asked.study, _requested(plan, runs)
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
    imported = imported_facts(study)
    imported_cases = {name: about for name, about in imported.cases.items() if name in set(runs["case"])}
    cases = {case: _facts_of_case(asked, paths, case) for case in [*study.cases, *study.replayed.cases]}
    interconnects = {
        name: _interconnect_facts(study, paths, interconnect)
        for name, interconnect in asked.interconnects.items()
    }
    interconnects |= _others(imported.interconnects, interconnects)
    interconnects |= {
        name: _part_of(interconnects.get(population.interconnect, AboutInterconnect()), population)
        for name, population in imports.populations.items()
    }
    interconnects |= {
        name: replace(interconnects.get(name, AboutInterconnect()), **stated)
        for name, stated in study.for_analysis.get("systems", {}).items()
    }
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    own_site = {study.site: Site(str(study.file), now, VERSION, machine)} if study.site else {}
    until = _until_facts(plan, runs[runs["origin"] == "run"], records)
    inside = [
        name
        for name, population in imports.populations.items()
        if _is_inside(population.interconnect, asked, imported.study.inside_nodes)
    ]
    recorded = recorded_blocks(design, records)
    about = replace(
        requested.study,
        until=until,
        blocks=max(design.blocks, recorded or 0),
        blocks_recorded=recorded,
        repeats_left=plan.repeats_left,
        inside_nodes=[*requested.study.inside_nodes, *inside],
    )
    if until is None and recorded is not None and not about.unfinished:
        about = replace(about, looks=looks(paths.looks, runs))
    return replace(
        requested,
        study=about,
        cases=_with_sizes(cases) | _others(imported_cases, cases),
        interconnects=interconnects,
        sites={**imported.sites, **own_site},
        left_out=[*design.left_out, *imports.unread],
        machine=machine,
        runs=outcome(runs, len(design.repetitions)),
        made=now,
        version=VERSION,
    )


def outcome(runs: pd.DataFrame, planned: int) -> Counts:
    """Count the runs by origin and validity.

    Parameters
    ----------
    runs : DataFrame
        The runs table.
    planned : int
        Number of planned repetitions, without simulated points and imported runs.
    """
    valid = runs["valid"].astype(bool)
    validity = count_validity(runs.assign(valid=valid))
    reasons = runs.loc[~valid & ~is_outdated(runs), "reason"].value_counts()
    any_valid = valid.groupby(runs["interconnect"], sort=False).any()
    origins = runs["origin"].value_counts()
    return Counts(
        planned=planned + len(runs) - int(origins.get("run", 0)),
        recorded=len(runs),
        simulated=int(origins.get("replay", 0)),
        imported=int(origins.get("import", 0)),
        invalid=validity.invalid,
        outdated=validity.outdated,
        reason=str(reasons.index[0]) if len(reasons) else None,
        reason_runs=int(reasons.iloc[0]) if len(reasons) else 0,
        lost=[str(name) for name in any_valid.index[~any_valid]],
    )


def _with_sizes(cases: Mapping[str, AboutCase]) -> dict[str, AboutCase]:
    """Add the size to the title of each case whose title another case shares.

    This happens in a study with several sizes of a case.
    """
    number = Counter(about.title for about in cases.values())
    return {
        name: replace(about, title=f"{about.title}, {about.size}") if number[about.title] > 1 else about
        for name, about in cases.items()
    }


def _part_of(about: AboutInterconnect, population: Population) -> AboutInterconnect:
    """Return the facts of an interconnect with the settings of a population in its title."""
    return replace(about, title=f"{about.title or population.interconnect} ({population.settings})")


def _interconnect_facts(study: Study, paths: StudyPaths, interconnect: Interconnect) -> AboutInterconnect:
    return AboutInterconnect(
        title=interconnect.title,
        kind=interconnect.kind,
        description=interconnect.description,
        link_mbps=interconnect.link_mbps,
        factors=factors(interconnect) | model_factors(interconnect),
        model=_model_facts(study, paths, interconnect),
        host_bus=interconnect.host_bus,
        notes=list(interconnect.notes),
    )


def _model_facts(study: Study, paths: StudyPaths, interconnect: Interconnect) -> AboutModel | None:
    """Return the facts of the model of a simulated interconnect; None for other interconnects."""
    model = interconnect.simulate
    if model is None:
        return None
    file = paths.fit(interconnect.name)
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
    """Return the speed of simulated cores: as the study states it, or derived from benchmarks.

    Parameters
    ----------
    simulation : mapping
        Key ``simulation`` of the study.
    probed : Path
        File with the benchmarks of the processor on which cases were traced. If nothing was replayed, the
        file does not exist and the derived speed is None.
    """
    source, relative_to, corun = map(simulation.get, ("source", "relative_to", "corun_percent"))
    target = simulation.get("processor")
    if target is None:
        return Host(simulation["host_speed"], source, relative_to, corun, simulation.get("host_speed_range"))
    if not probed.exists():
        return Host(None, target["source"], None, corun)
    cores, tracing = core_speed(simulation, probed), json.loads(probed.read_text())
    benchmarks = {name: (target[name], tracing[name]) for name in BENCHMARKS}
    processor = AboutProcessor(name=target["name"], traced_on=tracing["cpu"], benchmarks=benchmarks)
    return Host(cores.speed, target["source"], None, corun, (cores.slowest, cores.fastest), processor)


def _cluster(record: Record) -> dict[str, str]:
    """Describe the job of a record; empty for a record of a single machine."""
    job = record.cluster
    if job is None:
        return {}
    hidden = " as far as Slurm shows (PrivateData)" if job.neighbours_hidden else ""
    exclusive = f", exclusive{hidden}" if job.exclusive else ""
    return {"slurm": f"job {job.job} in {job.partition} on {job.nodes}{exclusive}, ranks by {job.launcher}"}


def _transports(records: Sequence[Record]) -> str | None:
    """Return the transports that probes report for each interconnect, as in ``tcp: tcp, self; shm: vader``.

    None if no probe reports a transport.
    """
    transports: dict[str, set[str]] = {}
    for record in records:
        if record.interconnect and record.probe and record.probe.transports:
            transports.setdefault(record.interconnect, set()).update(record.probe.transports)
    names = (f"{name}: {', '.join(sorted(transports[name]))}" for name in sorted(transports))
    return "; ".join(names) or None


def _others(imported: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return the imported facts whose names are not among `names`."""
    return {name: about for name, about in imported.items() if name not in names}


def _requested(plan: Plan, runs: pd.DataFrame) -> Facts:
    """Return the facts that the study file states. A reference interconnect without a run is dropped."""
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
        names_baseline=bool(study.baselines) or len(study.interconnects) > 1,
        inside_nodes=_inside_nodes(plan.asked, runs),
        compare_kinds=study.compare_kinds,
        compare_sites=study.compare_sites,
        file=str(study.file),
    )
    return replace(request, study=about, settings=settings)


def stopping(plan: Plan, runs: pd.DataFrame, records: Sequence[Record]) -> Stopping:
    """Apply the stopping rule of a study with a target to the intervals of its report.

    Parameters
    ----------
    runs, records : DataFrame, sequence of Record
        See `workflows.results.collect.runs_table`.
    """
    study, blocks = plan.asked.study, plan.design.blocks
    settings = _requested(plan, runs).all_settings()
    widths = pd.Series(dtype=float)
    if runs["valid"].any():
        # Only a study that adds blocks until a target pays for the import of the analysis.
        from analysis.pipeline import make_all_tables
        from analysis.topics.precision import NEEDS, half_widths
        from analysis.topics.topic import Request

        widths = half_widths(make_all_tables(complete_runs(runs), Request(settings), NEEDS))
    return judge(study, blocks, widths, core_hours(records, plan.design.occupied_cores))


def _until_facts(plan: Plan, runs: pd.DataFrame, records: Sequence[Record]) -> AboutTarget | None:
    """Return the target of a study, the precision reached, and why it stopped; None without a target."""
    study = plan.asked.study
    if study.until is None or study.blocks is None:
        return None
    return AboutTarget(
        **asdict(study.until),
        least_blocks=study.blocks,
        limit_core_hours=study.limits.core_hours,
        **asdict(stopping(plan, runs, records)),
    )


def baselines(study: Study, runs: pd.DataFrame) -> list[str]:
    """Return the baseline interconnects of a study: for each kind, those that the study names.

    If the study names none of a kind, and several interconnects of the kind ran, the first is the baseline.
    """
    order = {name: index for index, name in enumerate(study.interconnects)}
    ran = runs.dropna(subset="interconnect").drop_duplicates(["interconnect", "kind"])
    ran = ran.sort_values("interconnect", key=lambda names: names.map(order), kind="stable")
    named = sorted(study.baselines, key=lambda name: order.get(name, len(order)))
    settings = Settings(baselines=tuple(named))
    chosen = (
        baseline
        for _, names in ran.groupby("kind", sort=False)["interconnect"]
        for baseline in settings.baselines_among(names.tolist())
        if baseline in named or len(names) > 1
    )
    return list(dict.fromkeys(chosen))


def _inside_nodes(asked: Asked, runs: pd.DataFrame) -> list[str]:
    """Return the interconnects of the runs table that carry messages inside a node only.

    An imported study may list such interconnects. Else the interconnect's file decides, if there is one.
    """
    listed = imported_facts(asked.study).study.inside_nodes
    return [name for name in runs["interconnect"].dropna().unique() if _is_inside(name, asked, listed)]


def _is_inside(name: str, asked: Asked, listed: Sequence[str]) -> bool:
    if name in asked.interconnects:
        return not asked.interconnects[name].joins_nodes
    if name in listed:
        return True
    try:
        file = interconnect_file(asked.study, name)
    except InputError:  # no file describes this imported interconnect
        return False
    return not load_interconnect(name, file.parent).joins_nodes


def _facts_of_case(asked: Asked, paths: StudyPaths, case: str) -> AboutCase:
    """Make the facts of a case. If the study runs several sizes of it, they hold the answer of each size."""
    study = asked.study
    if not study.sizes:
        return _case_facts(asked, paths, case)
    if asked.default_cases:
        return _scaled_facts(asked, paths, case)
    sizes = study.sizes[case]
    by_count = [_case_facts(asked, paths, study.case_at(case, count)) for count in study.processes]
    size_on_counts = ", ".join(f"{sizes[count]} on {count}" for count in study.processes)
    answer = by_count[0].answer
    if answer:
        references = {
            size: about.answer.reference
            for size, about in zip(sizes.values(), by_count, strict=True)
            if about.answer and about.answer.reference is not None
        }
        answer = replace(answer, reference=None, source=None, references=references)
    return replace(by_count[0], size=f"{size_on_counts} processes", published_case=None, answer=answer)


def _scaled_facts(asked: Asked, paths: StudyPaths, case: str) -> AboutCase:
    """Make the facts of a case at the size that the study's ``scale`` gives it."""
    original, study = asked.default_cases[case], asked.study
    about = _case_facts(asked, paths, study.case_at(case, study.processes[0]))
    if about.size == original.size:
        return about
    size = f"{about.size}, at scale {study.scale:g} of {original.size}"
    return replace(about, size=size, published_case=original.published_case, other_size=True)


def _case_facts(asked: Asked, paths: StudyPaths, name: str) -> AboutCase:
    """Make the facts of a case at one size."""
    case, file = asked.cases[name], paths.expected(name)
    expected = read_expected(file) if file.exists() else None  # None if all points are simulated
    check = None
    if case.answer and expected and expected["value"] is not None:
        check = Check(
            quantity=case.answer.quantity,
            unit=case.answer.unit,
            tolerance=case.answer.tolerance,
            reference=expected["value"],
            source=expected["source"],
        )
    description = case.description
    if problem := expected and expected.get("spread_problem"):
        description += f" {problem[:1].upper()}{problem[1:]}."
    return AboutCase(
        title=case.title,
        application=case.application,
        size=case.size,
        description=description,
        stands_for=case.stands_for,
        published_case=case.published_case,
        answer=check,
    )


def _versions(records: list[Record]) -> dict[str, str]:
    """Return the versions of each application."""
    versions: dict[str, set[str]] = {}
    for record in records:
        if record.version:
            versions.setdefault(record.application, set()).add(record.version)
    return {name: ", ".join(sorted(versions[name])) for name in versions}
