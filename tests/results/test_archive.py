"""A study packed for a repository, with and without the names of hosts and users."""

import gzip
import hashlib
import io
import json
import zipfile
from dataclasses import replace

import pytest
from pypdf import PdfReader
from small_records import record
from study_files import study_file

from analysis.runs.facts import Economics, Facts, Offer
from analysis.runs.settings import NodePrice, RunCosts, SystemPrice
from workflows.domain import InputError
from workflows.paths import ROOT
from workflows.plan.plan import make_plan
from workflows.replay.new_model import new_model
from workflows.report.html import write_html
from workflows.report.pdf import write_pdf
from workflows.results import archive
from workflows.results.anonymous import Names, find_names
from workflows.results.archive import archive_study
from workflows.study.interconnects import load_interconnect

HOST, USER = "frodo17", "bagginsb"
SECRETS = (HOST, USER, "shire")
STUDY = f"""
name: small
title: Runs on {HOST}
question: Is {HOST} fast?
cases: [harmonic-smoke]
cases_folder: {ROOT}/tests/cases
interconnects: [shared_memory]
processes: [1, 2]
blocks: 1
"""
BLOCKS = [{"type": "paragraph", "text": f"Host {HOST}.", "case": ""}]
MACHINE = {"id": "machine", "heading": "Machine", "case": "", "new_page": False, "blocks": BLOCKS}
REPORT = {"title": f"Runs on {HOST}", "subtitle": "Study small", "study": "small"}
REPORT |= {"cases": [], "interconnects": [], "sections": [MACHINE]}
RECORD = record(
    machine={"host": f"{HOST}.shire.org", "kernel": "6.1"},
    placement=[
        {"rank": rank, "host": host, "cores": "0"} for rank, host in enumerate((HOST, "emulated-node1"))
    ],
    environment={"SLURM_JOB_USER": USER, "SLURM_JOB_NODELIST": f"{HOST},sam[01-04]"},
    command=[f"/home/{USER}/bin/run", "--on", HOST],
)


@pytest.fixture
def plan(tmp_path, monkeypatch):
    """A study with one record of two, and everything else that a study comes to."""
    monkeypatch.chdir(tmp_path)
    results = tmp_path / "results/small"
    records = results / "records/harmonic-smoke/serial/processes-1/oversubscription-1"
    for folder in (records, results / "tables", results / "figures", results / "prepared/big/processes-1"):
        folder.mkdir(parents=True)
    (records / "block-1-attempt-1.json").write_text(json.dumps(RECORD.as_json()))
    log = f"0.1 Host : {HOST}\n0.2 user {USER.upper()}\n".encode()
    (records / "block-1-attempt-1.log.gz").write_bytes(gzip.compress(log))
    (results / "runs.csv").write_text("case,record\nharmonic-smoke,records/x.json\n")
    (results / "looks.json").write_text('{"looks": [{"blocks": 1, "made": null}]}')
    (results / "tables/scaling.csv").write_text("case\n")
    (results / "figures/index.json").write_text("[]")
    (results / "prepared/big/processes-1/mesh").write_text("large")
    (results / "prepared/big/reference.json").write_text("{}")
    facts = {"machine": RECORD.machine, "made": "2026-01-02T03:04:05+00:00"}
    (results / "facts.json").write_text(json.dumps(facts))
    (results / "report.json").write_text(json.dumps(REPORT))
    for write, name in ((write_pdf, "report.pdf"), (write_html, "report.html")):
        write(results / "report.json", results / "figures", results / name)
    return make_plan(study_file(tmp_path, STUDY))


def contents(plan, name="small-archive.zip"):
    with zipfile.ZipFile(plan.paths.results / name) as packed:
        assert packed.testzip() is None
        return {name.partition("/")[2]: packed.read(name) for name in packed.namelist()}


def test_page_one_is_in_an_archive_without_names(plan):
    answer = {**MACHINE, "id": "answer", "heading": "The answer"}
    (plan.paths.results / "report.json").write_text(json.dumps({**REPORT, "sections": [answer, MACHINE]}))
    archive_study(plan, anonymise=True)
    files = contents(plan, "small-archive-anonymous.zip")
    assert files["answer/answer.md"].startswith(b"# Runs on host-")
    assert (
        files["answer/answer.png"].startswith(b"\x89PNG") and HOST.encode() not in files["answer/answer.svg"]
    )


def texts(files):
    """Everything that can be read in an archive: logs unpacked, the PDF as its text."""
    for name, data in files.items():
        if name.endswith(".pdf"):
            document = PdfReader(io.BytesIO(data))
            yield name, "\n".join([*(page.extract_text() for page in document.pages), str(document.metadata)])
        else:
            plain = gzip.decompress(data) if name.endswith(".gz") else data
            yield name, name + plain.decode(errors="replace")


def test_an_archive_holds_every_file_of_a_study(plan):
    archive_study(plan)
    files = contents(plan)
    assert files["results/runs.csv"] == (plan.paths.results / "runs.csv").read_bytes()
    assert files["results/report.pdf"] == (plan.paths.results / "report.pdf").read_bytes()
    assert files["study/config/interconnects/shared_memory.yaml"]
    assert {"study/config/studies/small.yaml", "study/cases/command/harmonic/case.yaml"} <= files.keys()
    assert {"environment/uv.lock", "environment/programs.txt", "CITATION.cff", "LICENSE"} <= files.keys()
    assert {"results/prepared/big/reference.json", "results/looks.json"} <= files.keys()
    assert "results/prepared/big/processes-1/mesh" not in files
    assert json.loads(files["environment/versions.json"])["machine"]["kernel"] == "6.1"


def test_interconnects_of_a_study_and_their_curves_are_part_of_it(plan, tmp_path, monkeypatch):
    monkeypatch.setattr("workflows.replay.new_model.MODELS", tmp_path / "fitted")
    own_files = tmp_path / "own"
    own_files.mkdir()
    osu = ROOT / "tests/importers/files/osu/latency_7.4.txt"
    new_model(["vendor", str(osu), "--folder", str(own_files)], tmp_path)
    study = replace(plan.asked.study, interconnects_folder=own_files)
    asked = replace(plan.asked, study=study, interconnects={"vendor": load_interconnect("vendor", own_files)})
    archive_study(replace(plan, design=replace(plan.design, asked=asked)))
    files = contents(plan)
    for name in ("vendor.yaml", "vendor.csv"):
        assert files[f"study/config/interconnects/{name}"] == (own_files / name).read_bytes()


def test_price_books_are_part_of_it(plan, tmp_path):
    (tmp_path / "mine.csv").write_text("item\n")
    files = ("config/prices/ames_2004.csv", str(tmp_path / "mine.csv"), str(tmp_path / "gone.csv"))
    offers = {name: Offer("book", file, "item", []) for name, file in zip("abc", files, strict=True)}
    hours = "config/prices/node_hours/clouds_2024.csv"
    run_costs = RunCosts("USD", {"aws_eks": SystemPrice(2.88)}, file=hours)
    facts = Facts(economics=Economics(NodePrice(1000, "USD", 2004), offers), run_costs=run_costs)
    (plan.paths.results / "facts.json").write_text(json.dumps(facts.as_json()))
    archive_study(plan, anonymise=False)
    prices = {name: data for name, data in contents(plan).items() if "prices" in name}
    assert sorted(name.partition("-")[2] for name in prices) == [
        "ames_2004.csv",
        "clouds_2024.csv",
        "mine.csv",
    ]
    assert {(ROOT / files[0]).read_bytes(), (ROOT / hours).read_bytes()} <= {*prices.values()}


def test_metadata_name_every_file_with_its_digest(plan):
    archive_study(plan)
    files = contents(plan)
    crate = {entity["@id"]: entity for entity in json.loads(files["ro-crate-metadata.json"])["@graph"]}
    parts = {part["@id"] for part in crate["./"]["hasPart"]}
    assert parts == files.keys() - {"ro-crate-metadata.json"}
    assert all(crate[name]["sha256"] == hashlib.sha256(files[name]).hexdigest() for name in parts)
    zenodo = json.loads(files[".zenodo.json"])
    assert (zenodo["license"], zenodo["upload_type"], zenodo["version"]) == ("MIT", "dataset", "2026-01-02")


def test_creators_are_asked_for_until_the_study_names_them(plan, tmp_path):
    assert any("add creators:" in line for line in archive_study(plan))
    named = make_plan(study_file(tmp_path, STUDY + 'creators: ["Gamgee, Sam"]\n'))
    assert not any("add creators:" in line for line in archive_study(named))
    zenodo = json.loads(contents(plan)[".zenodo.json"])
    assert zenodo["creators"] == [{"name": "Gamgee, Sam"}]


def test_an_incomplete_study_lists_missing_files(plan):
    (plan.paths.results / "report.pdf").unlink()
    message = archive_study(plan)
    assert "missing: results/report.pdf" in message
    assert "missing: 1 of 2 planned repetitions" in message
    readme = contents(plan)["README.md"].decode()
    assert "- results/report.pdf" in readme


def test_the_same_results_give_the_same_archive(plan):
    target = plan.paths.results / "small-archive.zip"
    archive_study(plan)
    first = target.read_bytes()
    archive_study(plan)
    assert target.read_bytes() == first


@pytest.mark.parametrize("creators", ["", 'creators: ["Shire, Rosie"]\n'])
def test_no_name_is_left_in_an_anonymous_archive(plan, tmp_path, creators):
    before = {file: file.read_bytes() for file in plan.paths.results.rglob("*") if file.is_file()}
    archive_study(make_plan(study_file(tmp_path, STUDY + creators)), anonymise=True)
    files = contents(plan, "small-archive-anonymous.zip")
    assert set(files) > {"results/report.pdf", "results/report.html", "results/runs.csv"}
    for name, text in texts(files):
        assert not [secret for secret in SECRETS if secret in text.casefold()], name
    assert "Runs on host-1" in dict(texts(files))["results/report.pdf"]
    assert json.loads(files[".zenodo.json"])["creators"] == [{"name": "Anonymous"}]
    assert all(file.read_bytes() == data for file, data in before.items())


def test_the_same_name_becomes_the_same_word_everywhere(plan):
    archive_study(plan, anonymise=True)
    files = contents(plan, "small-archive-anonymous.zip")
    where = "results/records/harmonic-smoke/serial/processes-1/oversubscription-1/block-1-attempt-1"
    record = json.loads(files[f"{where}.json"])
    host = record["machine"]["host"]
    assert host == record["placement"][0]["host"] == record["command"][2] and host.startswith("host-")
    assert record["placement"][1]["host"] == "emulated-node1"
    assert f"Host : {host}" in gzip.decompress(files[f"{where}.log.gz"]).decode()


def test_unreadable_files_are_left_out_and_listed(plan):
    (plan.paths.results / "extra.pdf").write_bytes(b"%PDF-1.7 \xff\xfe")
    assert "missing: results/extra.pdf: cannot be searched for names" in archive_study(plan, anonymise=True)
    assert "results/extra.pdf" not in contents(plan, "small-archive-anonymous.zip")


def test_nothing_half_written_stays(plan, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    archive_study(plan)
    target = plan.paths.results / "small-archive.zip"
    whole = target.read_bytes()
    monkeypatch.setattr(archive.zipfile.ZipFile, "writestr", full)
    with pytest.raises(OSError, match="No space left"):
        archive_study(plan)
    assert target.read_bytes() == whole
    assert not list(plan.paths.results.glob("*.part"))


def test_nothing_to_archive_is_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    empty = make_plan(study_file(tmp_path, STUDY))
    with pytest.raises(InputError, match=r"^results/small: nothing to archive; run ./run-study small.yaml"):
        archive_study(empty)


def test_names_are_whole_words():
    names = Names({"n1": "host-1", "n1.cluster": "host-1", "ann": "user-1"})
    hidden = names.hide("n1 N1: n1.cluster,n10 pin1 ann_x annex")
    assert hidden == "host-1 host-1: host-1,n10 pin1 user-1_x annex"


def test_users_are_found_in_home_folders():
    names = find_names([], [], ["run in /home/gollum/work and /Users/shelob", "/data/home/x"])
    assert {"gollum", "shelob"} <= names.replaced.keys() and "x" not in names.replaced
    assert "root" not in names.replaced and "localhost" not in names.replaced


def test_a_missing_figure_is_one_line(plan):
    figure = {
        "type": "figure",
        "name": "curves",
        "case": "",
        "caption": "Curves",
        "width_inches": 6,
        "height_inches": 3,
    }
    section = {**MACHINE, "blocks": [figure]}
    (plan.paths.results / "report.json").write_text(json.dumps({**REPORT, "sections": [section]}))
    with pytest.raises(
        InputError, match=r"^--anonymise: results/figures/curves\.svg is missing, and the report is"
    ):
        archive_study(plan, anonymise=True)


def test_a_partial_report_is_not_archived(plan):
    results = plan.paths.results
    (results / "partial").mkdir()
    (results / "report.html").rename(results / "partial/report.html")
    assert "missing: results/report.html" in archive_study(plan)
    assert not [name for name in contents(plan) if "report.html" in name]
