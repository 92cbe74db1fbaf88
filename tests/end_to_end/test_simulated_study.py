"""A study of simulated interconnects: traced, replayed and reported, without a measured run."""

import json

import pandas as pd
import pytest

from workflows.paths import ROOT
from workflows.replay.points import PROGRAMS

pytestmark = pytest.mark.slow

STUDY = ROOT / "config/studies/simulated_elbow.yaml"
FEWER = ("--config", "processes=[1, 2, 8]", "simulation={repeats: 3}")


def test_a_small_elbow_is_traced_replayed_and_reported(study_folder):
    study_folder.run_well(STUDY, "--cores", "2", *FEWER)
    results = study_folder.results("simulated_elbow")
    assert PROGRAMS.is_dir() and (results / "report.pdf").stat().st_size > 10_000

    runs = pd.read_csv(results / "runs.csv")
    assert set(runs["kind"]) == {"simulated"} and len(runs) == 1 + 2 * 3
    assert ((runs["seconds_low"] <= runs["seconds"]) & (runs["seconds"] <= runs["seconds_high"])).all()
    assert (runs["nodes"] == (runs["processes"] + 1) // 2).all()

    scaling = pd.read_csv(results / "tables/scaling.csv")
    assert scaling["n"].isna().all() and scaling["coverage"].isna().all()
    assert scaling["speedup_low"].notna().all()
    seconds = scaling.pivot(index="processes", columns="interconnect", values="seconds")
    assert (seconds["infiniband"] < seconds["gigabit_ethernet"])[8]
    assert seconds.loc[1].nunique() == 1  # a serial run involves no interconnect

    record = json.loads((results / runs.loc[runs["processes"] == 8, "record"].iloc[0]).read_text())
    details = record["details"]
    parts = [details[f"{part}_seconds"] for part in ("compute", "waiting", "transfer")]
    assert max(map(sum, zip(*parts, strict=True))) == pytest.approx(record["seconds"])
    assert details["replay_memory_bytes"] < 200e6

    tables = {name: pd.read_csv(results / f"tables/{name}.csv") for name in ("traces", "trace_pairs")}
    assert tables["traces"]["processes"].tolist() == [1, 2, 8]
    sent = tables["trace_pairs"].groupby("processes")[["source", "target"]].max()
    assert (sent["source"] == sent.index - 1).all() and (sent["target"] == sent.index - 1).all()
    times = pd.read_csv(results / "tables/simulated_times.csv")
    assert len(times) == 3 * (2 + 8)
    fit = pd.read_csv(results / "tables/model_fit.csv")
    assert set(fit["interconnect"]) == {"gigabit_ethernet", "infiniband_4x_pcix", "infiniband"}
    assert (fit["error_percent"].abs() < 1).all()

    sections = {section["id"] for section in json.loads((results / "report.json").read_text())["sections"]}
    assert {"answer", "simulated", "traces", "machine"} <= sections
    again = study_folder.run(STUDY, "--cores", "2", *FEWER, "--dry-run")
    assert "Nothing to be done" in again.stdout + again.stderr
