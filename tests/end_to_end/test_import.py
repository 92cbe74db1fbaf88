"""Published results take the path of our own results without any run."""

import json
import re

import pandas as pd
import pytest
from report_parts import blocks, part

from workflows.paths import ROOT

pytestmark = pytest.mark.slow


def test_the_published_gamess_table(study_folder):
    study_folder.run_well(ROOT / "config/studies/published_gamess.yaml")
    results = study_folder.results("published_gamess")
    runs = pd.read_csv(results / "runs.csv")
    assert list(runs)[:4] == ["study", "case", "application", "interconnect"]
    assert (runs["kind"] == "published").all() and len(runs) == 28
    counted_runs = json.loads((results / "facts.json").read_text())["runs"]
    counts = {"planned": 28, "recorded": 28, "simulated": 0, "imported": 28, "invalid": 0, "outdated": 0}
    assert counted_runs == counts | {"reason": None, "reason_runs": 0, "lost": []}
    scaling = pd.read_csv(results / "tables/scaling.csv")
    assert set(scaling["reference_seconds"]) == {5823}
    assert scaling[["speedup_low", "speedup_high"]].isna().all(axis=None)
    peaks = pd.read_csv(results / "tables/peaks.csv")
    best = peaks[peaks["oversubscription"] == 2].set_index("interconnect")["peak_speedup"]
    # Not Quadrics, the network with the lowest latency, but Myrinet over TCP makes the fastest run.
    assert best.idxmax() == "myrinet_tcp"
    assert best["myrinet_tcp"] == pytest.approx(5823 / 1279)
    assert (results / "report.pdf").stat().st_size > 10_000
    assert "The fastest network does not make the fastest run" in (results / "report.json").read_text()


def test_published_figures_without_times(study_folder):
    study_folder.run_well(ROOT / "config/studies/published_fluent.yaml")
    results = study_folder.results("published_fluent")
    assert pd.read_csv(results / "runs.csv").empty
    assert pd.read_csv(results / "tables/scaling.csv").empty
    improvement = pd.read_csv(results / "published/improvement.csv")
    best = improvement.loc[improvement["improvement_percent"].idxmax()]
    assert tuple(best[["case", "interconnect", "at_processes"]]) == ("fl5s2", "infiniband", 16)
    sections = json.loads((results / "report.json").read_text())["sections"]
    assert [section["id"] for section in sections] == [
        "answer",
        "words",
        "published",
        "asked",
        "weigh",
        "machine",
    ]
    assert (results / "report.pdf").stat().st_size > 10_000


def test_sites_with_equal_nodes_are_compared(study_folder):
    study_folder.run_well(ROOT / "config/studies/published_channel.yaml")
    tables = study_folder.results("published_channel") / "tables"
    improvement = pd.read_csv(tables / "improvement.csv").set_index("case")
    assert set(improvement["site"]) == {"focus"} and set(improvement["interconnect"]) == {"infiniband_qdr"}
    assert improvement["improvement_percent"].round(1).to_dict() == {
        "channel_3m_gamg_dic": 84.4,  # the median of 25 ratios, five times by five
        "channel_3m_pcg_dic": 8.3,
    }
    equivalent = pd.read_csv(tables / "node_equivalent.csv").query("baseline_processes == 40")
    assert equivalent["equivalent_processes"].round(1).tolist() == [23.5, 36.9]
    peaks = pd.read_csv(tables / "peaks.csv").query("interconnect == 'ten_gigabit_ethernet'")
    assert peaks["peak_processes"].tolist() == [36, 108]


OWN = f"""
cases_folder: {ROOT / "tests/cases"}
cases: [harmonic-smoke]
interconnects: [shared_memory]
processes: [1, 2]
blocks: 1
limits: {{idle_seconds: 0.1}}
"""


def test_published_figures_with_a_case_that_stands_for_theirs(study_folder, tmp_path):
    (tmp_path / "peaks.csv").write_text(
        "case,interconnect,peak_processes,note\nsum1000,gigabit_switch,8,\nsum2000,gigabit_switch,16,\n"
    )
    study = study_folder.write(f"name: beside\n{OWN}import: [peaks.csv]\n")
    study_folder.run_well(study, "--", "results/beside/report.json")
    report = json.loads((study_folder.results("beside") / "report.json").read_text())
    (peaks,) = blocks(part(report, "published"), "table")
    (group,) = peaks["groups"]
    assert group["title"] == "Harmonic sum, counterpart of sum1000"
    assert [line["cells"][0] for line in group["rows"]] == ["Shared memory", "Gigabit switch (pub)"]
    assert group["rows"][1]["cells"][1] == "8"
    runs = pd.read_csv(study_folder.results("beside") / "runs.csv")
    assert set(runs["kind"]) == {"measured"}


def test_our_own_runs_and_theirs_in_one_table(study_folder, tmp_path):
    (tmp_path / "theirs.csv").write_text(
        "case,interconnect,processes,seconds\nharmonic-smoke,gigabit_switch,2,0.5\nharmonic-smoke,gigabit_switch,4,0.4\n"
    )
    study = study_folder.write(f"name: both\n{OWN}import: [theirs.csv]\n")
    study_folder.run_well(study, "--", "results/both/tables")
    scaling = pd.read_csv(study_folder.results("both") / "tables/scaling.csv")
    # A published curve has a reference of its own: it shares none with what ran here.
    assert dict(scaling.groupby("kind")["reference_processes"].first()) == {"measured": 1, "published": 2}


def test_blocks_of_two_files_are_not_paired(study_folder, tmp_path):
    for name in ("first", "second"):
        rows = "".join(f"duct,{name},{p},{8 / p}\n" for p in (1, 2))
        (tmp_path / f"{name}.csv").write_text(f"case,interconnect,processes,seconds\n{rows}")
    study = study_folder.write("name: two\nimport: [first.csv, second.csv]\n")
    study_folder.run_well(study, "--", "results/two/runs.csv")
    runs = pd.read_csv(study_folder.results("two") / "runs.csv")
    blocks = runs.groupby("interconnect")["block"].apply(set)
    assert not blocks["first"] & blocks["second"]


def test_a_bad_import_is_one_line_and_the_last(study_folder, tmp_path):
    (tmp_path / "theirs.csv").write_text("case,interconnect,processes,seconds\nduct,gigabit,2,-1\n")
    done = study_folder.run(study_folder.write("name: bad\nimport: [theirs.csv]\n"))
    assert done.returncode != 0
    message = "nodeworth: theirs.csv: line 2, column 'seconds': -1: it must be a positive time"
    assert done.stderr.splitlines()[-1] == message
    assert done.stderr.count("nodeworth:") == 1
    assert "Traceback" not in done.stderr and "goes on from there" not in done.stderr
    assert not study_folder.results("bad").exists()


FAST, SLOW = (34.9, 35.4, 35.8, 35.0, 43.9), (114.0, 110.2, 89.3, 91.5, 101.5, 80.8)
MIXED = "".join(
    ["case,interconnect,processes,seconds,UCX_TLS\n"]
    + [f"lammps,azure,{count},{scale * time},\"{tls}\"\n" for count, scale in ((64, 2), (128, 1))
       for tls, times in (("all", FAST), ("ud,shm,rc", SLOW)) for time in times]
)  # fmt: skip


def test_runs_with_two_settings_are_named_and_then_split(study_folder, tmp_path):
    """First as two populations of a point, then, with the setting listed, as two curves."""
    (tmp_path / "mixed.csv").write_text(MIXED)
    study = study_folder.write("name: mixed\nimport: [mixed.csv]\n")
    study_folder.run_well(study, "--", "results/mixed/report.json")
    results = study_folder.results("mixed")
    populations = pd.read_csv(results / "tables/populations.csv")
    assert populations[["processes", "fast_n", "slow_n", "mixed"]].values.tolist() == [
        [64, 5, 6, True],
        [128, 5, 6, True],
    ]
    assert populations["fast_seconds"].tolist() == [70.8, 35.4]
    report = json.loads((results / "report.json").read_text())
    pages = [json.dumps(part(report, name), ensure_ascii=False) for name in ("answer", "quality")]
    for page in (" ".join(page.replace("\xa0", " ").split()) for page in pages):
        groups = r"5 runs with a median of 35\.4 s and 6 runs with a median of 96\.5 s"
        assert re.search(rf"azure \(pub\) on 128 processes(:| form two groups:) {groups}", page)
        assert "they differ in UCX_TLS" in page
    assert (results / "figures/populations.svg").exists()
    study.write_text(f"{study.read_text()}settings: [UCX_TLS]\n")
    study_folder.run_well(study, "--", "results/mixed/report.json")
    scaling = pd.read_csv(results / "tables/scaling.csv").query("processes == 128").set_index("interconnect")
    assert scaling["seconds"].to_dict() == {"azure-UCX_TLS-all": 35.4, "azure-UCX_TLS-ud-shm-rc": 96.5}
    assert "azure (UCX_TLS=ud,shm,rc, pub)" in (results / "report.json").read_text()
    assert "UCX_TLS" in pd.read_csv(results / "runs.csv")
    populations = pd.read_csv(results / "tables/populations.csv")
    assert len(populations) == 4 and populations["mixed"].isna().all()
