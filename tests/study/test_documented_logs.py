"""The worked examples of docs/import-logs.md read excerpts of the programs' output."""

import json
import re
from pathlib import Path

import pytest
from study_files import study_file

from analysis.runs.yaml_files import load_yaml
from workflows.paths import ROOT
from workflows.study.imports import imports_of
from workflows.study.study import read_study

AMG = """\
Spatial Operator:
  wall clock time = 2.8 seconds
PCG Setup:
  wall clock time = 30.5 seconds
FOM_Setup: nnz_AP / Setup Phase Time: 3.3e+09
PCG Solve:
  wall clock time = 40.25 seconds
Figure of Merit (FOM): nnz_AP / (Setup Phase Time + 3 * Solve Phase Time) 6.5e+08

START OF JOBSPEC
"""
KRIPKE = """\
    Total MPI tasks:       64
  iter 498: particle count=3.557340e+07, change=1.0e-06
  iter 499: particle count=3.557341e+07, change=0.0e+00
  Solve                        1      86.34456
  Source                     500       0.07429
END
{"timestamp":1724295628.3,"name":"init"}
"""
MINIFE = """\
  OpenMP Max Threads:: 24
  number of processors: 64
    Total CG Time: 468.2
    Total CG Flops: 1.6e+11
Total Program Time: 472.1
"""
LAGHOS = """\
step     5,\tt = 0.0000,\tdt = 0.000000,\t|e| = 2.9273016842e+06
step   385,\tt = 0.0001,\tdt = 0.000000,\t|e| = 9.575e+05
Major kernels total time (seconds): 577.8
| Ranks | Zones   |
|     64|   786432|
"""
QUICKSILVER = """\
Number of MPI ranks     : 64
Number of OpenMP Threads: 3
main                                 1    1.490e+09    1.491e+09    1.496e+09    7.812e+03       100.00
PASS:: Fluence is homogeneous across cells with 6% tolerance
"""
EXCERPTS = {
    "amg2023": (AMG, {"seconds": 70.75, "fom": 6.5e8, "processes": 64}),
    "kripke": (KRIPKE, {"seconds": 86.34456, "answer": 3.557341e7, "processes": 64}),
    "minife": (MINIFE, {"seconds": 468.2, "wall_seconds": 472.1, "threads": 24, "work": 1.6e11}),
    "laghos": (LAGHOS, {"seconds": 577.8, "answer": 9.575e5, "processes": 64}),
    "quicksilver": (QUICKSILVER, {"seconds": 1496.0, "processes": 64, "threads": 3}),
}


@pytest.mark.parametrize("program", EXCERPTS)
def test_a_worked_example(tmp_path, program):
    page = (ROOT / "docs/import-logs.md").read_text()
    blocks = map(load_yaml, re.findall(r"```yaml\n(.*?)```", page, re.S))
    entries = {entry["application"]: entry for block in blocks for entry in block["import"]}
    assert set(entries) == {"lammps", *EXCERPTS}
    text, values = EXCERPTS[program]
    log = (
        tmp_path
        / f"{program}/efa/size2/results/{program}-2-iter-1-976{Path(entries[program]['logs']).suffix}"
    )
    log.parent.mkdir(parents=True)
    log.write_text(text)
    study = study_file(tmp_path, "name: documented\n")
    study.write_text(f"name: documented\nimport: {json.dumps([entries[program]])}\n")
    content = imports_of(read_study(study))
    (row,) = content.runs.to_dict("records")
    assert not content.unread and row["valid"] and (row["interconnect"], row["nodes"]) == ("efa", 2)
    assert {key: row[key] for key in values} == values
