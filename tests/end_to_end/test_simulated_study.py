"""A study of simulated interconnects: traced, replayed and reported, without a measured run."""

import json

import pandas as pd
import pytest

from workflows.plan import ROOT
from workflows.simulation.study import PROGRAMS

pytestmark = pytest.mark.slow


def test_a_small_elbow_is_traced_replayed_and_reported(study_folder):
    done = study_folder.run(ROOT / "config/studies/simulated_elbow.yaml", "--cores", "2")
    assert done.returncode == 0, done.stderr[-2000:]
    results = study_folder.results("simulated_elbow")
    assert PROGRAMS.is_dir() and (results / "report.pdf").stat().st_size > 10_000

    runs = pd.read_csv(results / "runs.csv")
    assert set(runs["kind"]) == {"simulated"} and len(runs) == 1 + 4 * 3
    assert ((runs["seconds_low"] <= runs["seconds"]) & (runs["seconds"] <= runs["seconds_high"])).all()
    assert (runs["nodes"] == (runs["processes"] + 1) // 2).all()

    scaling = pd.read_csv(results / "tables/scaling.csv")
    assert scaling["n"].isna().all() and scaling["coverage"].isna().all()
    assert scaling["speedup_low"].notna().all()
    seconds = scaling.pivot(index="processes", columns="interconnect", values="seconds")
    assert (seconds["infiniband"] < seconds["gigabit_ethernet"])[[4, 8, 16]].all()
    assert seconds.loc[1].nunique() == 1  # a serial run involves no interconnect

    record = json.loads((results / runs.loc[runs["processes"] == 8, "record"].iloc[0]).read_text())
    details = record["details"]
    parts = [details[f"{part}_seconds"] for part in ("compute", "waiting", "transfer")]
    assert max(map(sum, zip(*parts, strict=True))) == pytest.approx(record["seconds"])
    assert details["replay_memory_bytes"] < 200e6

    sections = {one["id"] for one in json.loads((results / "report.json").read_text())["sections"]}
    assert {"answer", "simulated", "machine"} <= sections
    again = study_folder.run(ROOT / "config/studies/simulated_elbow.yaml", "--cores", "2", "--dry-run")
    assert "Nothing to be done" in again.stdout + again.stderr
