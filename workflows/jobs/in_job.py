"""Snakemake in a job: it starts without what it imports for a report that no job makes.

    python workflows/jobs/in_job.py -m snakemake ...

Its executor for Slurm imports pandas for a report on the efficiency of a whole workflow: a third of the CPU
time that Snakemake takes to start.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

_REPORT = "snakemake_executor_plugin_slurm.efficiency_report"


def spare_pandas() -> None:
    """Import that report when it is made, and not before. To be called before Snakemake is imported."""
    report = ModuleType(_REPORT)
    report.create_efficiency_report = _create_efficiency_report
    sys.modules.setdefault(_REPORT, report)


def _create_efficiency_report(*given: Any, **named: Any) -> Any:
    sys.modules.pop(_REPORT)
    return importlib.import_module(_REPORT).create_efficiency_report(*given, **named)


if __name__ == "__main__":
    sys.path[0] = ""  # as with -m
    sys.argv = sys.argv[2:]
    spare_pandas()
    from snakemake.cli import main

    main()
