"""Imports with a site, and the study that `--compare` writes."""

import json
import os

import pandas as pd
import pytest
from refused import refusal
from study_files import study_file

from analysis.runs.runs import complete_runs
from workflows.domain import InputError
from workflows.study.comparing import write_comparison
from workflows.study.sites import at_site, imported_facts
from workflows.study.study import read_study

RUNS = "case,interconnect,kind,processes,seconds,valid,reason,record\n" + (
    "duct,slow,measured,2,8,True,,records/a.json\nduct,slow,measured,4,,False,stopped at 60 s,gone.json\n"
)
FACTS = {
    "study": {"baselines": ["slow"], "compare_kinds": []},
    "cases": {"duct": {"title": "Duct"}},
    "interconnects": {"slow": {"title": "Slow one", "kind": "measured"}},
    "machine": {"host": "n1", "kernel": "6.1"},
    "made": "2026-01-01",
    "version": "0.1.0",
}


def results(folder, facts=FACTS):
    (folder / "records").mkdir(parents=True)
    (folder / "records/a.json").write_text("{}")
    (folder / "runs.csv").write_text(RUNS)
    if facts:
        (folder / "facts.json").write_text(json.dumps(facts))
    return folder


def study(tmp_path, text):
    return read_study(study_file(tmp_path, f"name: both\n{text}"))


def test_an_import_may_have_a_site(tmp_path):
    read = study(tmp_path, "import: [a.csv, {file: b.csv, site: after}]\ncompare_sites: [a, after]\n")
    assert read.imports == (tmp_path / "a.csv", tmp_path / "b.csv")
    assert read.import_sites == {tmp_path / "b.csv": "after"}
    assert read.compare_sites == (("a", "after"),)


def test_several_pairs_of_sites(tmp_path):
    read = study(tmp_path, "import: [a.csv]\ncompare_sites: [[a, b], [a, c]]\n")
    assert read.compare_sites == (("a", "b"), ("a", "c"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("import: [{file: a.csv, site: x, sites: y}]\n", "import[0].sites: unknown key"),
        ("import: [{file: a.csv, site: ../x}]\n", "import[0].site: '../x' does not match"),
        ("import: [a.csv, {file: a.csv, site: x}]\n", "import[1]: 'a.csv' is there twice; each only once"),
        ("import: [a.csv]\ncompare_sites: [a]\n", "compare_sites: ['a'] is not two sites, or a list"),
        ("import: [a.csv]\ncompare_sites: [a, b, c]\n", "compare_sites: ['a', 'b', 'c'] is not two sites"),
        ("import: [a.csv]\ncompare_sites: [[a, a]]\n", "compare_sites[0]: 'a' is there twice"),
    ],
)
def test_mistakes_about_sites_are_one_line(tmp_path, text, line):
    assert refusal(InputError, study, tmp_path, text).startswith(f"{tmp_path}/both.yaml: {line}")


def test_runs_of_a_site_keep_their_values(tmp_path):
    folder = results(tmp_path / "before")
    runs = complete_runs(pd.read_csv(folder / "runs.csv"))
    placed = at_site(runs, folder / "runs.csv", "before")
    assert placed["site"].tolist() == ["before"] * 2
    assert placed["record"].tolist() == [str(folder / "records/a.json"), "gone.json"]
    same = ["kind", "valid", "reason", "seconds"]
    pd.testing.assert_frame_equal(placed[same], runs[same])


def test_a_file_with_sites_gets_no_other_site(tmp_path):
    runs = complete_runs(pd.read_csv(results(tmp_path / "x") / "runs.csv").assign(site="inside"))
    assert at_site(runs, tmp_path / "x/runs.csv", None)["site"].tolist() == ["inside"] * 2
    with pytest.raises(InputError, match=r"x/runs.csv: site: 'before' is given, but the file names .*inside"):
        at_site(runs, tmp_path / "x/runs.csv", "before")


def test_sites_of_a_file_get_one_name_where_their_nodes_are_equal(tmp_path):
    runs = complete_runs(pd.read_csv(results(tmp_path / "x") / "runs.csv").assign(site=["rack_a", "rack_b"]))
    given = study(tmp_path, "import: [{file: x/runs.csv, site: {rack_a: hall}}]\n").import_sites
    ((file, names),) = given.items()
    assert at_site(runs, file, names)["site"].tolist() == ["hall", "rack_b"]
    message = refusal(InputError, at_site, runs, file, {"rack_c": "hall"})
    assert message == f"{file}: site.rack_c: is no site of this file (rack_a, rack_b)"


def test_titles_and_machines_come_with_an_import(tmp_path):
    results(tmp_path / "old")
    results(tmp_path / "new", FACTS | {"cases": {"duct": {"title": "Other"}, "wing": {"title": "Wing"}}})
    imports = "[{file: old/runs.csv, site: old}, {file: new/runs.csv, site: new}]"
    imported = imported_facts(study(tmp_path, f"import: {imports}\n"))
    assert {name: about.title for name, about in imported.cases.items()} == {"duct": "Duct", "wing": "Wing"}
    assert list(imported.sites) == ["old", "new"]
    assert imported.sites["old"].machine == FACTS["machine"]


def test_broken_facts_are_one_line(tmp_path):
    results(tmp_path / "old", {"cases": []})
    with pytest.raises(InputError, match=r"old/facts.json: cases: \[\] is not a section of keys"):
        imported_facts(study(tmp_path, "import: [old/runs.csv]\n"))


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_one_command_writes_the_study_that_compares(here):
    file = write_comparison(results(here / "results/before"), results(here / "results/after"))
    assert str(file) == "results/compare_before_after/study.yaml"
    read = read_study(file)
    imports = [os.path.normpath(path) for path in read.imports]
    assert imports == ["results/before/runs.csv", "results/after/runs.csv"]
    assert list(read.import_sites.values()) == ["before", "after"]
    assert (read.compare_sites, read.baselines) == ((("before", "after"),), ("slow",))
    assert not list(file.parent.glob("*.part"))


def test_folders_of_the_same_name_get_distinct_sites(here):
    file = write_comparison(results(here / "old/results/laptop"), results(here / "new/results/laptop"))
    assert read_study(file).compare_sites == (("old-results-laptop", "new-results-laptop"),)


def test_a_study_is_not_compared_with_itself(here):
    folder = results(here / "results/before")
    with pytest.raises(InputError, match="are the same; name two different results"):
        write_comparison(folder, folder / "runs.csv")


def test_missing_results_are_refused(here):
    (here / "empty").mkdir()
    with pytest.raises(InputError, match=r"^--compare: empty: no results of a study are there \(runs.csv\)"):
        write_comparison(results(here / "results/before"), here.joinpath("empty").relative_to(here))


def test_studies_without_a_common_point_leave_no_study_file(here):
    before, after = results(here / "results/before"), results(here / "results/after")
    table = pd.read_csv(after / "runs.csv")
    table.assign(kind="published").to_csv(after / "runs.csv", index=False)
    table.assign(kind="measured").to_csv(before / "runs.csv", index=False)
    with pytest.raises(InputError, match=r"^--compare: .*no point in common: runs of 'before' are measured"):
        write_comparison(before, after)
    assert not (here / "results/compare_before_after").exists()
