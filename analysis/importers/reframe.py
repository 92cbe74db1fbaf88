"""Run reports (JSON) and performance logs of ReFrame."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from analysis.importers.importer import Importer
from analysis.importers.lines import first_line, whole_lines
from analysis.importers.lookalikes import fault_in_json, is_json, parse_json
from analysis.importers.mapping import Mapping
from analysis.importers.results import Import, read_text
from analysis.importers.variables import Recorded, Value, make_runs
from analysis.runs.runs import TableError

VERSIONS = ("3", "4")
"""Supported major versions of the report's format (``data_version``): ReFrame 4.0 and later."""

PERFLOG_START = "result|job_completion_time|"
"""Start of the header of performance logs in ReFrame's default format."""

_PARAMETER = re.compile(r" %[.$]?([^\s=%]+)=(\S*)")


def parse_report(text: str, source: str) -> tuple[list[Recorded], list[str]]:
    """Parse a report of ``reframe --report-file`` to one run per test case.

    A test case that missed a performance reference is valid, since its answer was right. Variables are the
    test's own variables, its parameters and performance variables, ``test`` (its name without parameters) and
    ``nodes`` (their number).

    Raises
    ------
    TableError
        If the file is damaged or not a report of a known version.
    """
    report = parse_json(text, source)
    session, runs = (
        (report.get(key) for key in ("session_info", "runs")) if isinstance(report, dict) else (0, 0)
    )
    if not isinstance(session, dict) or not isinstance(runs, list):
        raise TableError("is no report of ReFrame: it has no session_info and runs", source)
    version = str(session.get("data_version"))
    if version.split(".")[0] not in VERSIONS:
        raise TableError(f"data_version {version} is not known (known: 3.x and 4.x)", source)
    records: list[Recorded] = []
    unread: list[str] = []
    for number, case in enumerate(_cases(runs), 1):
        try:
            records.append(_record(case, source, f"test case {number} ({case['unique_name']})"))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            unread.append(f"{source}: test case {number}: not as ReFrame writes it: {fault_in_json(error)}")
    restored = report.get("restored_cases")
    if restored:
        unread.append(f"{source}: restored_cases: {len(restored)} test cases of an earlier session")
    return records, unread


def _cases(runs: list) -> Iterator[dict]:
    for run in runs:
        cases = run.get("testcases") if isinstance(run, dict) else None
        yield from cases if isinstance(cases, list) else [run]


def _record(case: dict, source: str, location: str) -> Recorded:
    """Make the run of a test case: see `parse_report` for its variables."""
    fields = {**case.get("check_vars", {}), **case.get("check_params", {}), **case}
    variables: dict[str, Value] = _named(case["display_name"])
    parameters = frozenset(variables) - {"test"}
    variables |= {name: value for name, value in fields.items() if isinstance(value, str | int | float)}
    nodes = case.get("job_nodelist") or case.get("nodelist")
    variables |= {"nodes": len(nodes)} if nodes and "nodes" not in variables else {}
    units = {}
    for name, value, unit in _performance(case):
        variables[name], units[name] = value, unit
    phase, result = case["fail_phase"], case["result"]
    failed = phase not in (None, "performance") or (phase is None and result in ("fail", "failure", "abort"))
    reason = " ".join(str(case["fail_reason"] or f"result: {result}").split()) if failed else ""
    return Recorded(source, location, variables, units, parameters, reason)


def _performance(case: dict) -> Iterator[tuple[str, Value, str]]:
    """Yield name, value and unit of each performance variable, from format 4 or format 3."""
    for key, (value, _, _, _, unit, *_) in (case.get("perfvalues") or {}).items():
        yield key.rpartition(":")[2], value, unit
    for variable in case.get("perfvars") or []:
        yield variable["name"], variable["value"], variable["unit"]


def _named(name: str) -> dict[str, Value]:
    """Return the variable ``test``, a test's name without parameters, and the parameters of the name."""
    return {"test": name.split(" %")[0], **dict(_PARAMETER.findall(name))}


def parse_perflog(text: str, source: str) -> tuple[list[Recorded], list[str]]:
    """Parse a performance log in ReFrame's default format to one run per line.

    A failed test with a value only missed a reference, so it is valid: ReFrame records values after the
    answer was found right.

    Raises
    ------
    TableError
        If the first line is not the header of the default format.
    """
    if not text.startswith(PERFLOG_START):
        raise TableError(
            f"has not the header of ReFrame's default format, {PERFLOG_START}…", source, "line 1"
        )
    records: list[Recorded] = []
    unread: list[str] = []
    header: list[str] = []
    for number, line in whole_lines(text, source, unread):
        cells = line.split("|")
        if line.startswith(PERFLOG_START):
            header = cells
        elif len(cells) != len(header):
            unread.append(f"{source}: line {number}: {len(cells)} cells where the header has {len(header)}")
        else:
            records.append(_logged(header, cells, source, f"line {number}"))
    return records, unread


def _logged(header: list[str], cells: list[str], source: str, location: str) -> Recorded:
    """Make the run of a line of a performance log."""
    values = {
        name: None if cell in ("", "null", "None") else cell for name, cell in zip(header, cells, strict=True)
    }
    variables = _named(values.get("name") or "")
    parameters = frozenset(variables) - {"test"}
    units = {}
    for column, next_column in pairwise(header):
        name = column.removesuffix("_value")
        if column == f"{name}_value" and next_column == f"{name}_unit":
            units[name] = values[next_column] or ""
    variables |= values | {name: values[f"{name}_value"] for name in units}
    failed = values["result"] == "fail" and not any(variables[name] for name in units)
    return Recorded(source, location, variables, units, parameters, "the test failed" if failed else "")


def read_report(text: str, source: str, mapping: Mapping) -> Import:
    """Read a run report: see `Importer`."""
    return make_runs(*parse_report(text, source), mapping, source)


def read_perflog(text: str, source: str, mapping: Mapping) -> Import:
    """Read a performance log: see `Importer`."""
    return make_runs(*parse_perflog(text, source), mapping, source)


def read_perflogs(folder: Path, mapping: Mapping) -> Import:
    """Read all performance logs of a folder, ``*.log*`` at any depth, as one file.

    ReFrame renames a log to ``.log.h0`` when the header changes.
    """
    records: list[Recorded] = []
    unread: list[str] = []
    for file in sorted(folder.rglob("*.log*")):
        file_records, file_unread = parse_perflog(read_text(file), str(file))
        records += file_records
        unread += file_unread
    return make_runs(records, unread, mapping, str(folder))


def is_report(text: str) -> bool:
    """Return whether a text is JSON with the section that only reports of ReFrame have."""
    return is_json(text) and '"session_info"' in text


REPORT = Importer("reframe-report", is_report, read_report)
PERFLOG = Importer(
    "reframe-perflog",
    lambda text: first_line(text).startswith(PERFLOG_START),
    read_perflog,
    read_folder=read_perflogs,
)
