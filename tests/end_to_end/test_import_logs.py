"""A study with only a name and a folder of logs ends with a report."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from stamped_logs import read_log

pytestmark = pytest.mark.slow
MELT = Path(__file__).parents[1] / "logs/lammps/melt_parallel.log.gz"
STUDY = """\
name: folder
import:
  - logs: 'runs/**/*.out'
    application: lammps
    from_path: '{interconnect}/size{nodes}/{case}-{iteration}.out'
    processes_per_node: 2
"""


def test_a_folder_of_logs_is_a_study(study_folder, tmp_path):
    text = "\n".join(line.text for line in read_log(MELT))
    for interconnect, speed in (("ethernet", 1), ("infiniband", 2)):
        for nodes in (1, 2, 4):
            for iteration in (1, 2):
                seconds = (8 + 0.01 * iteration) / nodes / speed
                log = tmp_path / f"runs/{interconnect}/size{nodes}/melt-{iteration}.out"
                log.parent.mkdir(parents=True, exist_ok=True)
                changed = re.sub(r"^(\w+ +)\|.*\|.*\|.*\|.*\|.*$", "", text, flags=re.M).replace(
                    "3.27801 on 2 procs", f"{seconds:.5f} on {2 * nodes} procs"
                )
                log.write_text(
                    "module: not found\n"
                    + changed.replace("2 MPI tasks", f"{2 * nodes} MPI tasks")
                    + f"\n\nreal {seconds + 1:.2f}\n"
                )
    (tmp_path / "runs/ethernet/size4/melt-3.out").write_text("slurmstepd: error: CANCELLED\n")
    study_folder.run_well(study_folder.write(STUDY))
    results = study_folder.results("folder")
    runs = pd.read_csv(results / "runs.csv")
    assert len(runs) == 13 and runs["valid"].sum() == 12
    peaks = pd.read_csv(results / "tables/peaks.csv").set_index("interconnect")
    assert peaks["peak_processes"].to_dict() == {"ethernet": 8, "infiniband": 8}
    parts = pd.read_csv(results / "tables/parts.csv").query("stage == 'run' and part == 'rest'")
    assert parts["seconds"].round(2).unique().tolist() == [1.0]
    (left_out,) = json.loads((results / "facts.json").read_text())["left_out"]
    assert left_out["what"] == "runs/ethernet/size4/melt-3.out: line 1"
    assert (results / "report.pdf").stat().st_size > 10_000
