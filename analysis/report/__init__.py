"""The report of a study as plain data: what it says, shows and tabulates, in its order."""

from analysis.registry import read_tables
from analysis.report.sections import make_report

__all__ = ["make_report", "read_tables"]
