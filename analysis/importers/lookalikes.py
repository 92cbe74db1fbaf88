"""Outputs that are known but not read, and what to import instead."""

from __future__ import annotations

import json
import re
from typing import Any

from analysis.importers.lines import has_only_numbers, quoted
from analysis.runs.errors import TableError

_STATES = (
    r"BOOT_FAIL|CANCELLED(?: by \d+)?|COMPLETED|DEADLINE|FAILED|NODE_FAIL|OUT_OF_MEMORY|PREEMPTED|RUNNING|"
    "PENDING|TIMEOUT"
)

_PERFLOG_ROW = r"\d{4}-\d\d-\d\d[T ][\d:.]+(?:Z|[+-][\d:]+)?\|(?:.*\|)?[^|=\n]+="


def _is_log(program: str) -> str:
    return f"is a log of {program}: import it as logs, as in {{logs: FILE, application: {program.lower()}}}"


LOOKALIKES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.M), message)
    for pattern, message in (
        (
            r"\A[,;][^,;\n]*[A-Za-z].*",
            "has no name for the first column: name the column, such as 'row', or remove it "
            "(pandas: index=False)",
        ),
        (r"\A\s*<(?:!DOCTYPE|html|\?xml)", "is a web page or XML: give the file that the program wrote"),
        (r"\Aversion https://git-lfs", "is a pointer of Git LFS: fetch the file itself (git lfs pull)"),
        (
            r"^ *\[ *(?:\d+|ID|SUM)\](?:\[ *\w[\w-]*\])? .*(?:bits/sec|Bytes/sec|Transfer|Bandwidth|Bitrate)",
            "is the text output of iperf, whose numbers are rounded: run iperf3 with -J, and import its JSON",
        ),
        (
            rf"^(?!.*JobID)[^|\n]+\|(?:[^|\n]*\|)*(?:{_STATES})\|",
            "has a state of Slurm, so it may be output of sacct without a heading: run sacct --parsable2 "
            "without --noheader, with at least JobID, JobName, State, ElapsedRaw",
        ),
        (
            r"^ *JobID(?:Raw)? [^|\n]*\bState\b",
            "is the heading of sacct with padded columns, which cuts names: run sacct --parsable2",
        ),
        (
            r"^ *JOBID +PARTITION +NAME +USER",
            "is the heading of squeue, which lists jobs before they end: import sacct --parsable2",
        ),
        (
            rf"^(?:\w+\|)+\w+\r?\n{_PERFLOG_ROW}",
            "is the heading of a performance log of ReFrame in a format of the site. It must begin with the "
            "columns result and job_completion_time: begin the format with "
            "'%(check_result)s|%(check_job_completion_time)s|', or import the report (reframe --report-file)",
        ),
        (
            rf"^{_PERFLOG_ROW}",
            "looks like a performance log of ReFrame without a heading (ReFrame 3, or a format of the site): "
            "import the report (reframe --report-file), or a log that begins with "
            "'result|job_completion_time|…', the default of ReFrame 4",
        ),
        (
            r"^#? *(?:Size +)?(?:Avg )?(?:Latency ?\(us\)|Bandwidth ?\(MB/s\)|MB/s +Messages/s)",
            "is the heading of a table of OSU without its title: keep the line above, such as "
            "'# OSU MPI Latency Test v7.4'",
        ),
        (
            r"#bytes +#repetitions",
            "is the heading of a table of IMB without its benchmark: keep all lines that IMB prints, with "
            "'# Benchmarking PingPong' and the version",
        ),
        (
            r'^[ \t{]*"?test_info"?\s*:',
            "is the JSON of perftest, which is not read: import what the program prints without --out_json",
        ),
        (
            r'(?<=\{)\s*"error"\s*:',
            "is an error without a result, as iperf3 -J writes it: make the run again",
        ),
        (
            r'"jobs"\s*:\s*\[(?=[\s\S]{,10000}?"job_id"\s*:)',
            "is JSON of Slurm's accounting: run sacct --parsable2 without --json, with at least JobID, "
            "JobName, State, ElapsedRaw",
        ),
        (
            r"#bytes +#iterations",
            "is the heading of a table of perftest; its title must be above, and be a test of sends, writes "
            "or reads, such as 'RDMA_Write BW Test'",
        ),
        (r"^.*\bLAMMPS \(|^Loop time of ", _is_log("LAMMPS")),
        (
            r"OpenFOAM: The Open Source CFD Toolbox|^ExecutionTime = .*ClockTime = ",
            _is_log("OpenFOAM"),
        ),
        (
            r"Northwest Computational Chemistry Package|^ *Task +times +cpu:",
            _is_log("NWChem"),
        ),
        (r":-\) +GROMACS|Core t \(s\) +Wall t \(s\)", _is_log("GROMACS")),
    )
)
"""Pattern of a line that marks a format, and a message with its name and what to import instead."""

_JSON = re.compile(r"\s*(?:\{|\[\s*[\[{\"\]])")

_NUMBERS = 0.8
"""Share of lines with numbers alone from which a file is a table without a heading."""

SEPARATORS = ",;|\t"
"""Separators of the cells of a table, besides blanks."""

NO_HEADING = (
    "has no heading, and Nodeworth does not guess what its numbers are. For NetPIPE's np.out give "
    "format: netpipe (on the command line --format netpipe). For runs write CSV whose first line names the "
    "columns: {0}"
)


def lookalike(text: str) -> str:
    """Return what a file looks like, with the line that shows it and what to import; empty if unknown."""
    for pattern, message in LOOKALIKES:
        if match := pattern.search(text):
            begin = match.start() + len(match[0]) - len(match[0].lstrip())
            number = text.count("\n", 0, begin) + 1
            return f"line {number}: {quoted(text.splitlines()[number - 1])} {message}"
    return ""


def is_json(text: str) -> bool:
    """Return whether a text begins like a JSON object or list."""
    return bool(_JSON.match(text)) and not has_only_numbers(text.splitlines()[0])


def parse_json(text: str, source: str) -> Any:
    """Parse a JSON document.

    Raises
    ------
    TableError
        If it is damaged.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise TableError(f"cut off or damaged: {error.msg}", source, f"line {error.lineno}") from None
    except RecursionError:
        raise TableError("is nested too deeply to be a report", source) from None


def fault_in_json(error: Exception) -> str:
    """Describe why JSON cannot be read as the output of a program: a missing key, or an unexpected value."""
    if isinstance(error, KeyError):
        return f"the key {error} is missing"
    return f"a value has another form ({error})"


def heading_apart(text: str) -> str:
    """Return that the line above the first numbers of a text has other separators; empty if it has not."""
    above = ""
    for number, line in enumerate(text.splitlines(), 1):
        if has_only_numbers(line) and line.strip():
            if not above or {*above} & {*SEPARATORS} == {*line} & {*SEPARATORS}:
                return ""
            return (
                f"line {number}: {quoted(line)} has other separators than the line above, {quoted(above)}: "
                "separate the heading and the rows of a table by the same , ; | or tab"
            )
        above = line.strip() or above
    return ""


def holds_only_numbers(text: str) -> bool:
    """Return whether nearly all lines of a text hold numbers and nothing else."""
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and sum(map(has_only_numbers, lines)) >= _NUMBERS * len(lines)
