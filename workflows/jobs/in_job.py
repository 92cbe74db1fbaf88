"""A module started in a job: Snakemake, without what it imports for nothing, or one of ours.

    python workflows/jobs/in_job.py -m snakemake ...

Snakemake would import pandas, a third of the CPU time that it takes to start: its executor for Slurm for a
report on the efficiency of a whole workflow, and it itself to see whether a parameter is a table: for a
script, and where there are results already.
"""

from __future__ import annotations

import importlib
import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

_REPORT = "snakemake_executor_plugin_slurm.efficiency_report"


def spare_pandas() -> None:
    """Import it when that report is made, and for no parameter. To be called before Snakemake is imported."""
    report = ModuleType(_REPORT)
    report.create_efficiency_report = _create_efficiency_report
    sys.modules.setdefault(_REPORT, report)
    from snakemake.iocontainers import Snakemake
    from snakemake.persistence import PersistenceBase

    Snakemake._safely_store_params = _store_plain
    PersistenceBase._serialize_param = PersistenceBase._serialize_param_builtin


def _create_efficiency_report(*given: Any, **named: Any) -> Any:
    sys.modules.pop(_REPORT)
    return importlib.import_module(_REPORT).create_efficiency_report(*given, **named)


def _store_plain(script: Any, params: Any) -> None:
    script._params_store, script._params_types = type(params)(toclone=list(params)), {}
    script._params_store._take_names(params._get_names())


if __name__ == "__main__":
    sys.path[0] = ""  # as with -m
    sys.path.append(str(Path(__file__).parents[2]))
    sys.argv = sys.argv[2:]
    if sys.argv[0] == "snakemake":
        spare_pandas()
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
