"""Facts of a report other than numbers."""

import functools
import json
from dataclasses import MISSING

import pandas as pd
import pytest
from refused import refusal
from small_runs import ROOT
from study_files import study_file

from analysis.runs import facts as facts_types
from analysis.runs.json_parts import JsonPart
from analysis.runs.runs import complete_runs
from analysis.runs.settings import Limit
from analysis.topics.turnaround.packing import Queue
from workflows import inputs
from workflows.domain import InputError
from workflows.plan.plan import make_plan
from workflows.results.facts import baselines, facts
from workflows.study.imports import imports_of
from workflows.study.sites import read_facts
from workflows.study.study import read_study

STUDY = """
name: several
cases: [rotor, rotor-smoke, water_ccsd, water_ccsd-server_polling]
interconnects: [shared_memory]
processes: [1, 2]
"""


def test_sizes_and_options_of_a_case_have_titles_of_their_own(tmp_path):
    columns = ["case", "interconnect", "processes", "seconds", "origin"]
    nothing = complete_runs(pd.DataFrame(columns=columns), may_be_empty=True)
    plan = make_plan(study_file(tmp_path, STUDY))
    cases = facts(plan, nothing, [], imports_of(plan.asked.study)).cases
    assert {name: about.title for name, about in cases.items()} == {
        "rotor": "Rotor, transonic, 90k",
        "rotor-smoke": "Rotor, transonic, smoke",
        "water_ccsd": "Water cluster, coupled cluster",
        "water_ccsd-server_polling": "Water cluster, coupled cluster, server polling",
    }
    assert "A data server beside each process" in cases["water_ccsd-server_polling"].description
    assert "A data server" not in cases["water_ccsd"].description


def followed(schema):
    """A section of the schema, or the one of another schema that it is said to be."""
    (reference, *_) = [option["$ref"] for option in schema.get("anyOf", [schema]) if "$ref" in option] or [
        None
    ]
    if reference is None:
        return schema
    file, keys = reference.split("#/")
    return functools.reduce(dict.get, keys.split("/"), inputs.read_yaml(inputs.SCHEMAS / file))


def sections(schema, part):
    """Sections of the schema beside the types that hold them."""
    yield schema, part
    for entry in part.entries():
        if entry.name in PARTS:
            inner = followed(schema)["properties"][entry.name]
            each = [inner, inner.get("additionalProperties"), inner.get("items")]
            for below in each:  # the list of cases in run_costs has names instead of sections
                if isinstance(below, dict) and "properties" in followed(below):
                    yield from sections(below, PARTS[entry.name])


PARTS = {
    "study": facts_types.AboutStudy, "until": facts_types.AboutTarget, "cases": facts_types.AboutCase, "answer": facts_types.Check,
    "interconnects": facts_types.AboutInterconnect, "model": facts_types.AboutModel, "fit": facts_types.AboutFit, "host": facts_types.Host,
    "processor": facts_types.AboutProcessor,
    "economics": facts_types.Economics, "offers": facts_types.Offer, "sites": facts_types.Site, "left_out": facts_types.LeftOut,
    "runs": facts_types.Counts, "proposal": facts_types.Rule, "limits": Limit, "settings": facts_types.Chosen,
    "node": facts_types.NodePrice, "mix": facts_types.Mix, "run_costs": facts_types.RunCosts,
}  # fmt: skip


def test_the_schema_has_the_keys_that_the_types_have():
    all_sections = list(sections(inputs.read_yaml(inputs.SCHEMAS / "facts.yaml"), facts_types.Facts))
    assert {part for _, part in all_sections} == {facts_types.Facts, *PARTS.values()}
    for schema, part in all_sections:
        keys = {key.name: key.default is key.default_factory is MISSING for key in part.entries()}
        whole = followed(schema)
        assert issubclass(part, JsonPart) and set(whole["properties"]) == set(keys)
        assert whole is not schema or list(schema["properties"]) == list(keys)
        assert {name for name, needed in keys.items() if needed} == set(whole.get("required", ())), part


OLD = {
    "study": {"name": "old"},
    "cases": {"duct": {"title": "Duct", "answer": None}},
    "interconnects": {"slow": {"title": "Slow", "link_mbps": None}, "swift": {}},
    "machine": {"host": "n1", "what_is_not_known_any_more": [1]},
    "made": None,
}


def test_keys_missing_in_an_earlier_version_stay_missing(tmp_path):
    (tmp_path / "facts.json").write_text(json.dumps(OLD))
    read = read_facts(tmp_path / "facts.json")
    assert read.as_json() == OLD and list(read.as_json()) == list(OLD)
    assert read.study_section("queue", Queue).jobs == 3 and read.interconnect("swift").model is None
    assert read.case("unknown").title is None and read.runs.lost == ()


def test_keys_of_a_study_reach_the_analysis_with_their_defaults(tmp_path):
    """The schema of studies marks these keys; no other list names them."""
    columns = ["case", "interconnect", "processes", "seconds", "origin"]
    nothing = complete_runs(pd.DataFrame(columns=columns), may_be_empty=True)
    plan = make_plan(study_file(tmp_path, f"{STUDY}queue: {{cores: 8}}\n"))
    made = facts(plan, nothing, [], imports_of(plan.asked.study))
    (tmp_path / "facts.json").write_text(json.dumps(made.as_json()))
    read = read_facts(tmp_path / "facts.json")
    assert read.study_keys["name"] == "several"
    assert read.study_keys["queue"] == {"jobs": 3, "cores": 8, "efficiency": 0.75}
    assert read.study_section("queue", Queue) == Queue(cores=8)
    marked = set(inputs.keys("study", mark="reaches_analysis"))
    assert set(read.study_keys) <= marked < set(inputs.keys("study"))


def test_a_section_of_a_study_has_the_keys_of_its_type():
    section = inputs.read_yaml(inputs.SCHEMAS / "study.yaml")["properties"]["queue"]
    assert set(section["properties"]) == {key.name for key in Queue.entries()}


def test_keys_that_earlier_versions_wrote_apart_are_among_the_keys_of_the_study(tmp_path):
    (tmp_path / "facts.json").write_text(
        json.dumps({"study": {"name": "old"}, "queue": {"jobs": 8}, "congestion": {}})
    )
    read = read_facts(tmp_path / "facts.json")
    assert read.study_section("queue", Queue).jobs == 8 and "congestion" not in read.study_keys


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"study_keys": {"name": "old", "queue": {"jobs": 0}}}', "study_keys.queue.jobs: 0 is too small"),
        ('{"study": {"blocks": "six"}}', "study.blocks: 'six' is not a whole number or empty"),
        ('{"stduy": {}}', "stduy: unknown key, did you mean 'study'?"),
        ('{"interconnects": {"a": {"model": {}}}}', "interconnects.a.model.source: missing (Source of its"),
        ('{"runs": {"lost": "all"}}', "runs.lost: 'all' is not a list"),
        ('{"settings": {"draws": 5}}', "settings.draws: 5 is too small; at least 100"),
        ("[1]", "[1] is not a section of keys"),
        ("{", "is no JSON: "),
    ],
)
def test_mistakes_are_one_line(tmp_path, text, line):
    (tmp_path / "facts.json").write_text(text)
    message = refusal(InputError, read_facts, tmp_path / "facts.json")
    assert message.startswith(f"{tmp_path}/facts.json: {line}")


@pytest.mark.parametrize(
    ("measured", "chosen"),
    [
        (["shared_memory"], ["emulated_gigabit"]),
        (["shared_memory", "tcp_loopback"], ["emulated_gigabit", "shared_memory"]),
    ],
)
def test_a_kind_of_one_interconnect_has_no_default_baseline(tmp_path, measured, chosen):
    names = ["emulated_gigabit", "emulated_ten_gigabit", *measured]
    text = (
        "name: mine\ncases: [harmonic-smoke]\ncases_folder: tests/cases\nprocesses: [2]\n"
        f"interconnects: [{', '.join(names)}]\nbaselines: [emulated_gigabit]\n"
        "compare_kinds: [[emulated, measured]]\n"
    )
    study = read_study(study_file(tmp_path, text))
    ran = {"interconnect": names, "kind": ["emulated"] * 2 + ["measured"] * len(measured)}
    assert baselines(study, pd.DataFrame(ran)) == chosen


def test_published_cases_with_times_have_titles():
    cases_known = read_facts(ROOT / "analysis/published/facts.json").cases
    for file, cases in (("channel_strong_scaling", 2), ("gamess", 1), ("lammps_lj_jureca", 1)):
        names = set(pd.read_csv(ROOT / f"analysis/published/{file}.csv")["case"])
        assert len(names) == cases and all(cases_known[name].title for name in names)


INSIDE = """
name: inside
interconnects_folder: mine
import: [times.csv, old/runs.csv]
"""
MINE = {
    "name": "pipes",
    "kind": "measured",
    "title": "Pipes",
    "description": "Inside a node.",
    "launch": {"mpi": "mpich"},
}


def test_interconnects_inside_a_node_are_known_by_name_by_file_and_from_imported_studies(tmp_path):
    """Runs on one node do not describe unknown interconnects or interconnects between nodes."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/pipes.yaml").write_text(json.dumps(MINE))
    (tmp_path / "old").mkdir()
    (tmp_path / "old/facts.json").write_text(json.dumps({"study": {"inside_nodes": ["threads"]}}))
    names = ("pipes", "shared_memory", "infiniband_verbs_qdr", "unheard_of", "threads")
    header = "case,interconnect,processes,seconds,nodes\n"
    for file, names_of_file in (("times.csv", names[:4]), ("old/runs.csv", names[4:])):
        lines = [f"duct,{name},{count},{8 / count},1\n" for name in names_of_file for count in (2, 4)]
        (tmp_path / file).write_text("".join([header, *lines]))
    plan = make_plan(study_file(tmp_path, INSIDE))
    runs = complete_runs(
        pd.DataFrame({"case": "duct", "interconnect": names, "processes": 2, "seconds": 1.0})
    )
    made = facts(plan, runs.assign(origin="import"), [], imports_of(plan.asked.study))
    assert made.study.inside_nodes == ["pipes", "shared_memory", "threads"]
    assert made.all_settings().inside_nodes == ("pipes", "shared_memory", "threads")


def test_an_interconnect_split_by_a_setting_keeps_its_facts(tmp_path):
    """Its title names the setting, and runs inside a node stay inside."""
    (tmp_path / "old").mkdir()
    titled = {"study": {"inside_nodes": ["threads"]}, "interconnects": {"threads": {"title": "Threads"}}}
    (tmp_path / "old/facts.json").write_text(json.dumps(titled))
    lines = [f"duct,{name},4,{seconds},{tls}\n" for name, seconds, tls in SPLIT]
    (tmp_path / "old/runs.csv").write_text("".join(["case,interconnect,processes,seconds,tls\n", *lines]))
    plan = make_plan(study_file(tmp_path, "name: split\nimport: [old/runs.csv]\nsettings: [tls]\n"))
    imports = imports_of(plan.asked.study)
    made = facts(plan, complete_runs(imports.runs.assign(origin="import")), [], imports)
    assert {name: about.title for name, about in made.interconnects.items()} == {
        "threads": "Threads",
        "threads-tls-a": "Threads (tls=a)",
        "threads-tls-b-c": "Threads (tls=b c)",
        "ib-tls-a": "ib (tls=a)",
        "ib-tls-b-c": "ib (tls=b c)",
    }
    assert made.study.inside_nodes == ["threads-tls-a", "threads-tls-b-c"]


SPLIT = [(name, seconds, tls) for name in ("threads", "ib") for seconds, tls in ((3, "a"), (9, "b c"))]
"""Interconnect, time and setting of runs."""
