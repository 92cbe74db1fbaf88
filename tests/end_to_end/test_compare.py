"""Two studies side by side, as a user compares them."""

import json
import sys

import pandas as pd
import pytest
from programs import printed
from report_parts import blocks, part, sentences_of
from study_folders import StudyFolder

from workflows.paths import ROOT

pytestmark = pytest.mark.slow

FACTORS = (1.01, 0.97, 1.03, 0.99, 1.02, 1.0)
"""Noise of the blocks in no order: a rise from block to block would be dependence."""


def write_results(folder, factor, kernel):
    """Results of a study of two interconnects of two kinds, with one repetition that failed."""
    rows = [
        {"case": "duct", "interconnect": name, "kind": kind, "processes": count, "block": block,
         "seconds": seconds / count * noise * (factor if name == "fast" else 1), "valid": True, "reason": None}
        for block, noise in enumerate(FACTORS, 1)
        for name, kind, seconds in (("fast", "measured", 8.0), ("slow", "emulated", 12.0))
        for count in (2, 4)
    ]  # fmt: skip
    failed = rows[0] | {"block": 7, "valid": False, "reason": "stopped at 60 s", "seconds": None}
    folder.mkdir(parents=True)
    pd.DataFrame([*rows, failed]).to_csv(folder / "runs.csv", index=False)
    fast = {"title": "Fast one", "kind": "measured"}
    slow = {"title": "Slow one (emulated)", "kind": "emulated"}
    facts = {"study": {}, "cases": {"duct": {"title": "Duct elbow"}}}
    facts |= {"interconnects": {"fast": fast, "slow": slow}, "machine": {"kernel": kernel, "cpu": "the same"}}
    (folder / "facts.json").write_text(json.dumps(facts))
    return folder


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Results of ``--compare`` on two folders, of which the later one is a third faster over one of two."""
    folder = tmp_path_factory.mktemp("compared")
    old = write_results(folder / "results/old", 1.0, "6.1")
    new = write_results(folder / "results/new", 0.75, "6.12")
    writing = "import sys, pathlib; from workflows.study.comparing import write_comparison as write; "
    writing += "print(write(*map(pathlib.Path, sys.argv[1:])))"
    written = printed(sys.executable, "-c", writing, old, new, cwd=folder, PYTHONPATH=str(ROOT))
    studies = StudyFolder(folder)
    studies.run_well(folder / written.strip())
    return studies.results("compare_old_new")


def test_merged_runs_keep_kinds_validity_and_reasons(compared):
    runs = pd.read_csv(compared / "runs.csv")
    assert runs["site"].value_counts().to_dict() == {"old": 25, "new": 25}
    assert set(runs["kind"]) == {"measured", "emulated"}
    assert runs.loc[~runs["valid"], "reason"].tolist() == ["stopped at 60 s"] * 2
    blocks = runs.groupby("site")["block"].apply(set)
    assert not blocks["old"] & blocks["new"]


def test_changes_between_sites_are_reported(compared):
    changes = pd.read_csv(compared / "tables/changes.csv").set_index(["interconnect", "processes"])
    assert changes.loc[("fast", 4), "change_percent"] == pytest.approx(100 / 3)
    unchanged = dict.fromkeys([("slow", 2), ("slow", 4)], "not distinguishable")
    assert changes["verdict"].to_dict() == {("fast", 2): "faster", ("fast", 4): "faster"} | unchanged
    scaling = pd.read_csv(compared / "tables/scaling.csv")
    assert scaling.groupby(["site", "kind"]).ngroups == scaling.groupby(["site", "reference_seconds"]).ngroups


def test_the_report_states_changes_and_other_differences(compared):
    report = json.loads((compared / "report.json").read_text())
    section = part(report, "changes")
    assert "old and new have 4 common points. Changes from old to new: " in sentences_of(section)
    differing = blocks(section, "table")[0]
    assert [line["cells"] for line in differing["groups"][0]["rows"]] == [["Kernel", "6.1", "6.12"]]
    assert [block["name"] for block in blocks(section, "figure")] == ["changes-old-new"]
    names = [name for site in ("old", "new") for name in (f"Fast one ({site})", f"Slow one ({site}, emu)")]
    assert {about["title"] for about in report["interconnects"]} == set(names)
