"""The report of a study as plain data: page one, then the sections of all topics."""

from analysis.report.sections import make_report

__all__ = ["make_report"]
