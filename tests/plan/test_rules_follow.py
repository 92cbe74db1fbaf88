"""Rules run again only when one of their sources or inputs has changed."""

import json
import os
import re
import shutil
import time

import pytest
from end_to_end.study_folders import SNAKEMAKE, planned_rules
from needs import need
from programs import printed
from study_files import study_file
from style.test_layers import imported

from workflows.applications import application
from workflows.inputs import read_yaml
from workflows.paths import ROOT
from workflows.plan import sources
from workflows.plan.sources import source_digest
from workflows.study.cases import load_case

openfoam = application("openfoam")

OF_STUDIES = [file for file in (ROOT / "workflows/rules").glob("*.smk") if file.stem != "find_interconnects"]
"""Rule files of studies. The rule of `./run-study --interconnects` runs each time."""
RULES = "\n".join(file.read_text() for file in sorted(OF_STUDIES))
MEASURING = ("measure", "measure_batch")
"""The scripts whose records follow the digests of cases and interconnects alone."""
SCRIPTS = sorted({*re.findall(r'"\.\./scripts/(\w+)\.py"', RULES)})
NOT_RUN = re.compile(r"analysis/(published/|topics/columns\.yaml)|workflows/(rules/|plugins/|.*__main__)")
"""What no script reads or imports: Snakemake, the documents, the user."""


def by_parsing(script):
    """Python files that a script imports, as Python's own parser tells it."""
    files, waiting = set(), [ROOT / f"workflows/scripts/{script}.py"]
    while waiting:
        file = waiting.pop()
        if file in files:
            continue
        files.add(file)
        for name in imported(file):
            parts = name.split(".")
            for size in range(1, len(parts) + 1):
                path = ROOT.joinpath(*parts[:size])
                waiting += [
                    module for module in (path.with_suffix(".py"), path / "__init__.py") if module.is_file()
                ]
        if file == ROOT / "workflows/applications/__init__.py":  # it imports them by name
            waiting += file.parent.glob("*.py")
    return {str(file.relative_to(ROOT)) for file in files}


@pytest.fixture
def forgotten():
    """Digests are worked out once a process; here the sources change."""

    def forget():
        for function in vars(sources).values():
            if hasattr(function, "cache_clear"):
                function.cache_clear()

    yield forget
    forget()


def test_each_rule_follows_its_own_script():
    blocks = re.findall(r"^(?:rule|use rule) (\w+)(.*?)(?=^\S|\Z)", RULES, re.M | re.S)
    script_of_rule = {rule: re.search(r'scripts/(\w+)\.py"', text) for rule, text in blocks}
    followed = {rule: re.search(r'source=source_digest\("(\w+)"\)', text) for rule, text in blocks}
    assert len(blocks) > 12
    for rule, script in script_of_rule.items():
        if script and script[1] not in MEASURING:
            assert followed[rule] and followed[rule][1] == script[1], rule
        else:
            assert not followed[rule], rule


@pytest.mark.parametrize("script", SCRIPTS)
def test_all_that_a_script_imports_is_found(script):
    assert {name for name in sources.sources(script) if name.endswith(".py")} == by_parsing(script)


def test_every_file_belongs_to_a_script_or_to_none_on_purpose():
    followed = {name for script in SCRIPTS for name in sources.sources(script)}
    all_files = printed("git", "ls-files", "-co", "--exclude-standard", "analysis", "workflows").split()
    assert len(followed.intersection(all_files)) > 100
    left = [name for name in all_files if name not in followed and not NOT_RUN.match(name)]
    assert [name for name in left if not name.endswith(".py") and (ROOT / name).is_file()] == []


@pytest.mark.slow
def test_each_changed_source_changes_the_digests_of_its_scripts(tmp_path, monkeypatch, forgotten):
    for name in ("analysis", "workflows"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    of_scripts = {script: by_parsing(script) for script in SCRIPTS}
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    forgotten()
    before = {script: source_digest(script) for script in SCRIPTS}
    for name in sorted(set().union(*of_scripts.values())):
        text = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(text + b"\n# changed\n")
        sources._digest_of.cache_clear()
        source_digest.cache_clear()
        changed = {script for script in SCRIPTS if source_digest(script) != before[script]}
        assert changed == {script for script in SCRIPTS if name in of_scripts[script]}, name
        (tmp_path / name).write_bytes(text)


@pytest.mark.parametrize(
    ("name", "scripts"),
    [
        ("workflows/report/report.typ", {"report"}),
        ("workflows/tracing/tracer/clock.c", {"capture", "replay"}),
        ("workflows/simulation/messages.hpp", {"replay"}),
        ("workflows/schemas/study.yaml", {"collect", "replay"}),
        ("workflows/schemas/price.yaml", {"collect", "replay"}),
        ("workflows/schemas/case_openfoam.yaml", {*"collect capture prepare reference time_tasks".split()}),
        ("workflows/schemas/trace.yaml", {"capture", "replay"}),
        ("workflows/schemas/record.yaml", {"collect", "measure", "time_tasks"}),
        ("workflows/schemas/cluster.yaml", {"collect", "measured", "reference"}),
    ],
)
def test_data_files_belong_to_the_modules_that_read_them(name, scripts):
    assert scripts <= {script for script in SCRIPTS if name in sources.sources(script)}


@pytest.mark.parametrize("script", ["prepare", "reference", "capture", "time_tasks", "measured"])
@pytest.mark.parametrize("name", ["schemas/study.yaml", "study/study.py", "plan/plan.py", "plan/design.py"])
def test_unrelated_keys_of_a_study_rerun_nothing(script, name):
    assert f"workflows/{name}" not in sources.sources(script)


def test_contents_of_records_rerun_no_trace():
    assert "workflows/schemas/record.yaml" not in sources.sources("capture")


STUDY = """
name: followed
cases: [pingpong-smoke]
interconnects: [shared_memory, gigabit_ethernet]
processes: [1, 2, 4096]
blocks: 2
simulation: {cases: [elbow_segregated-smoke], processes: [1, 2]}
import: [foreign/runs.csv]
"""
NOW = time.time() + 3600  # later than every file of the project, however lately it was cloned
FOREIGN = "case,interconnect,processes,seconds\nduct,swift,2,1\n"
TABLES = {"analyse", "report"}
RESULTS = "results/followed"
PREPARED = f"{RESULTS}/prepared/pingpong-smoke"
ELBOW = "elbow_segregated-smoke"
COLLECT = {"collect"} | TABLES
MEASURE = {"measure", "measure_first_block"} | COLLECT
READ = {
    f"{PREPARED}/processes-1": {"prepare_parallel", "reference"} | MEASURE,
    f"{PREPARED}/processes-2": MEASURE,
    f"{PREPARED}/reference.json": MEASURE,
    f"{RESULTS}/again.jsonl": {"measure"} | COLLECT,
    f"{RESULTS}/measured/first-block.txt": {"measure"} | COLLECT,
    f"{RESULTS}/records.txt": COLLECT,
    f"{RESULTS}/prepared/{ELBOW}/processes-1": {"prepare_parallel", "capture_serial", "capture", "replay"}
    | COLLECT,
    f"{RESULTS}/prepared/{ELBOW}/processes-2": {"capture", "replay"} | COLLECT,
    f"{RESULTS}/traces/{ELBOW}/processes-1": {"capture", "replay"} | COLLECT,
    f"{RESULTS}/traces/{ELBOW}/processes-2": {"replay"} | COLLECT,
    f"{RESULTS}/simulated": COLLECT,
    "foreign/runs.csv": COLLECT,
    "foreign/facts.json": COLLECT,
    "foreign/records/duct/block-1-attempt-1.json": COLLECT,
    "foreign/records/duct": COLLECT,
    f"{PREPARED}/processes-4096": COLLECT,
    f"{RESULTS}/runs.parquet": TABLES,
    f"{RESULTS}/details": TABLES,
    f"{RESULTS}/facts.json": TABLES,
    f"{RESULTS}/published": TABLES,
    f"{RESULTS}/tables": TABLES - {"analyse"},
}
"""Input files, and the rules that run again when an input is newer than their outputs."""
MADE = [
    ["foreign/records/duct/block-1-attempt-1.json", f"{PREPARED}/processes-4096/",
     f"{RESULTS}/records/pingpong-smoke/shared_memory/processes-4096/oversubscription-1/block-1-attempt-1.json"],
    [f"{PREPARED}/processes-1/", f"{RESULTS}/prepared/{ELBOW}/processes-1/", f"{RESULTS}/again.jsonl", "foreign/runs.csv",
     "foreign/facts.json"],
    [f"{PREPARED}/processes-2/", f"{PREPARED}/reference.json", f"{RESULTS}/prepared/{ELBOW}/processes-2/",
     f"{RESULTS}/traces/{ELBOW}/processes-1/"],
    [f"{RESULTS}/measured/first-block.txt"],
    [f"{RESULTS}/records.txt", f"{RESULTS}/traces/{ELBOW}/processes-2/"],
    [f"{RESULTS}/simulated/"],
    [f"{RESULTS}/{name}" for name in ("runs.csv", "runs.parquet", "details/", "facts.json", "published/")],
    [f"{RESULTS}/tables/"],
    [f"{RESULTS}/{name}" for name in ("figures/", "report.json", "report.pdf", "report.html")]
    + [f"{RESULTS}/proposal.{end}" for end in ("pdf", "tex", "docx")],
]  # fmt: skip
"""A finished study, the oldest files first."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with the files of a finished study, each newer than its inputs."""
    need(*openfoam.programs(load_case(ELBOW, ROOT / "cases")))
    folder = tmp_path_factory.mktemp("followed")
    study_file(folder, STUDY)
    for age, names in enumerate(reversed(MADE)):
        for name in names:
            path = folder / name  # 4096 processes cannot be run here
            (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
            if not path.is_dir():
                path.write_text(FOREIGN if name == "foreign/runs.csv" else "")
            moment = NOW - 100 * age
            os.utime(path, (moment, moment))
    return folder


def planned(folder, *options):
    """Rules of the jobs that a dry run lists."""
    return {*planned_rules(snakemake(folder, "--dry-run", *(options or ("--rerun-triggers", "mtime"))))}


def snakemake(folder, *options):
    """Output of Snakemake for the study of a folder."""
    command = [SNAKEMAKE, "--snakefile", ROOT / "Snakefile", "--directory", folder,
               "--configfile", folder / "followed.yaml", "--quiet", "host", "--cores", "1", *options]  # fmt: skip
    return printed(*command, cwd=folder, timeout=120)


@pytest.mark.slow
def test_a_finished_study_has_nothing_to_do(finished):
    assert planned(finished) == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", READ)
def test_a_rule_declares_its_inputs(finished, name):
    path = finished / name
    before = path.stat()
    os.utime(path, (NOW + 1, NOW + 1))
    try:
        assert planned(finished) == READ[name]
    finally:
        os.utime(path, (before.st_atime, before.st_mtime))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tables", "runs.csv", "figures"])
def test_what_an_interrupted_rule_removed_is_made_again(finished, name):
    path = finished / f"{RESULTS}/{name}"
    aside = path.rename(finished / "aside")
    try:
        assert "report" in planned(finished)
    finally:
        aside.rename(path)


@pytest.mark.slow
def test_a_request_that_was_killed_is_measured_by_the_next_command(finished):
    """After SIGTERM, the list of records is gone, and the request is newer than the tables."""
    records, request = (finished / f"{RESULTS}/{name}" for name in ("records.txt", "again.jsonl"))
    before, aside = request.stat(), records.rename(finished / "aside")
    os.utime(request, (NOW + 1, NOW + 1))
    try:
        assert "measure" in planned(finished)
    finally:
        aside.rename(records)
        os.utime(request, (before.st_atime, before.st_mtime))


@pytest.mark.parametrize(
    "profile", [ROOT / "profiles/default/config.yaml", *(ROOT / "cluster").rglob("config.yaml")]
)
def test_the_date_of_a_script_reruns_nothing(profile):
    """Snakemake's own trigger would measure again whenever a script of ours is newer than the records' list."""
    assert read_yaml(profile)["rerun-triggers"] == ["mtime", "params", "input", "software-env"]


ANSWERED = """
name: answered
cases_folder: cases
cases: [harmonic-smoke]
interconnects: [shared_memory]
processes: [1, 2]
"""


@pytest.mark.slow
def test_an_expected_answer_is_found_again_when_it_is_read_otherwise(tmp_path):
    case = tmp_path / "cases/command/harmonic"
    shutil.copytree(ROOT / "tests/cases/command/harmonic", case)
    (case / "case.yaml").write_text(re.sub(r"golden: .*", "", (case / "case.yaml").read_text()))
    (tmp_path / "followed.yaml").write_text(ANSWERED)
    target = "results/answered/prepared/harmonic-smoke/reference.json"
    assert planned(tmp_path, "--", target) == {"prepare_serial", "reference"}
    snakemake(tmp_path, "--", target)
    assert planned(tmp_path, "--", target) == set()
    answer = json.loads((tmp_path / target).read_text())
    text = (case / "case.yaml").read_text().replace(r"'sum = (\S+)'", r"'(\d+) ranks'")
    (case / "case.yaml").write_text(text)
    assert planned(tmp_path, "--", target) == {"reference"}
    snakemake(tmp_path, "--", target)
    assert answer["value"] > 1 == json.loads((tmp_path / target).read_text())["value"]


@pytest.mark.slow
def test_an_undone_edit_brings_back_the_expected_answer_without_a_run(tmp_path):
    case = tmp_path / "cases/command/harmonic"
    shutil.copytree(ROOT / "tests/cases/command/harmonic", case)
    original = re.sub(r"golden: .*", "", (case / "case.yaml").read_text())
    (case / "case.yaml").write_text(original)
    (tmp_path / "followed.yaml").write_text(ANSWERED)
    target = tmp_path / "results/answered/prepared/harmonic-smoke/reference.json"
    snakemake(tmp_path, "--", str(target.relative_to(tmp_path)))
    (kept,) = target.parent.glob("answers/*.json")
    assert kept.read_text() == target.read_text()
    kept.write_text('{"value": 7, "source": "serial"}')  # a run would give another value
    (case / "case.yaml").write_text(original.replace("terms: 1000}", "terms: 2000}"))
    snakemake(tmp_path, "--", str(target.relative_to(tmp_path)))
    assert json.loads(target.read_text())["value"] != 7
    (case / "case.yaml").write_text(original)
    snakemake(tmp_path, "--", str(target.relative_to(tmp_path)))
    assert json.loads(target.read_text())["value"] == 7
