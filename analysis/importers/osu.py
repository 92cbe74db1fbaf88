"""Output of the OSU micro-benchmarks; tested with 5.3 to 7.4."""

from __future__ import annotations

import re
from collections import Counter

from analysis.importers.importer import Importer
from analysis.importers.lines import (
    FALLS,
    Target,
    decimals,
    drop_largest,
    foreign_lines,
    has_only_numbers,
    quoted,
    read_row,
    set_environment,
    whole_lines,
    without_rows,
)
from analysis.importers.mapping import Mapping
from analysis.importers.marks import MARKS, is_marked, program_of
from analysis.importers.results import Import, make_curves

PAIRS = re.compile(r"# \[ pairs: (?P<pairs>[1-9]\d{0,8}) \](?: \[ window size: (?P<window>[1-9]\d{0,8}) \])?")

COMMAND = re.compile(r"\bosu_\w+")
"""A line before a title that shows how the benchmark was started."""

HEADING = ("#", "Overall(us)")
"""Starts of the headings of tables; only the non-blocking barrier, which has no sizes, prints no ``#``."""

ONE_PAIR = re.compile(
    r"osu_(?:(?:mpi|one_sided|cuda|rocm|openacc|put|get|(?:get_)?accumulate|"
    r"compare_and_swap|fetch_and_op|multi_threaded|multi_process|persistent|partitioned)_)*"
    r"(?:latency|bandwidth|bi_directional_bandwidth)"
)
"""Benchmarks that refuse to run with more or fewer than two processes."""

COLUMNS: dict[str, Target] = {
    "size": ("bytes", 1),
    "latency(us)": ("latency_us", 1),
    "avglatency(us)": ("latency_us", 1),
    "purecomm.(us)": ("latency_us", 1),
    "minlatency(us)": ("latency_us_low", 1),
    "maxlatency(us)": ("latency_us_high", 1),
    "bandwidth(mb/s)": ("bandwidth_MBps", 1),
    "mb/s": ("bandwidth_MBps", 1),
    "messages/s": ("messages_per_second", 1),
    "iterations": ("samples", 1),
}
"""Printed columns in lower case without spaces; MB/s is 10^6 bytes per second in all versions."""


def parse(text: str, source: str) -> tuple[list[dict], list[str]]:
    """Parse the output of OSU micro-benchmarks to rows of network curves, and list the skipped lines.

    Each run of a benchmark has a number. A benchmark of one pair has 2 processes. Lines of other programs,
    which do not begin with a number, are listed together. A line that begins the output of another benchmark
    ends the table.
    """
    rows: list[dict] = []
    unread: list[str] = []
    foreign: list[tuple[int, str]] = []
    benchmark, settings = "", ""
    heading: list[str] = []
    targets: list[Target | None] = []
    stated: dict[str, int] = {}
    largest = -1
    runs: Counter[str] = Counter()
    command, started_by = "", ""
    environment: dict[str, str] = {}
    variables = ""
    not_kept: list[str] = []
    empty_tables: dict[int, str] = {}  # by the line of the heading
    heading_line = 0
    for number, printed in whole_lines(text, source, unread):
        line = printed.strip()
        title = MARKS["osu"].match(line)
        command = line if COMMAND.search(line) else command
        set_environment(environment, line)
        names = re.split(r"\s{2,}", line.removeprefix("#").strip()) if line.startswith(HEADING) else []
        keys = [name.lower().replace(" ", "") for name in names]
        if title:
            benchmark = "osu_" + re.sub(r"\W+", "_", title["title"]).strip("_").lower()
            heading, targets, settings = [], [], f"version {title['version']}"
            stated = {"processes": 2} if ONE_PAIR.fullmatch(benchmark) else {}
            started_by, command = command, ""
            variables = "; ".join(environment.values())
            runs[benchmark] += 1
        elif program := program_of(line):
            if benchmark:
                unread.append(f"{source}: line {number}: {quoted(line)} begins output of {program}")
            benchmark, heading, targets = "", [], []
        elif pairs := PAIRS.match(line):
            stated = {"processes": 2 * int(pairs["pairs"])}
            if pairs["window"]:
                stated["window"] = int(pairs["window"])
                settings += f", window size {pairs['window']}"
        elif benchmark and any(key in COLUMNS for key in keys) and (targets or not _fits(benchmark, keys)):
            unread.append(f"{source}: line {number}: {quoted(line)} is no heading of {benchmark}")
            benchmark, heading, targets = "", [], []
        elif benchmark and any(key in COLUMNS for key in keys):
            largest = -1
            heading, targets = keys, [COLUMNS.get(key) for key in keys]
            heading_line, empty_tables[number] = number, benchmark
            not_kept = [
                f"{source}: line {number}: column '{name}' is not kept"
                for name, target in zip(names, targets, strict=True)
                if target is None and name != "Validation"
            ]
        elif line and not line.startswith("#"):
            cells = line.split()
            if not has_only_numbers(cells[0]):
                foreign.append((number, line))
                continue
            if empty_tables.pop(heading_line, ""):
                unread += not_kept
            row = read_row(cells, targets) if targets else "is no row of a table"
            if "validation" in heading and "Fail" in cells:
                row = "failed its validation"
            if isinstance(row, dict) and row.get("bytes", largest) < largest:
                row, targets = FALLS, []
                drop_largest(rows, largest)
            if isinstance(row, str):
                unread.append(f"{source}: line {number}: {quoted(line)} {row}")
            else:
                run = {
                    "benchmark": benchmark,
                    "run": runs[benchmark],
                    "settings": settings,
                    "environment": variables,
                    "command": started_by,
                    **stated,
                }
                rows.append({**run, "line": number, "decimals": decimals(cells), **row})
                largest = int(row.get("bytes", largest))
        elif line.startswith("#") and benchmark and not targets:
            settings += f", {line.removeprefix('#').strip()}"
    whole = [
        row for row, after in zip(rows, [*rows, {}][1:], strict=True) if not _has_fewer_samples(row, after)
    ]
    cut = [row for row in rows if row not in whole]
    unread += [
        f"{source}: line {row['line']}: has fewer iterations than the next row: cut off" for row in cut
    ]
    unread += [without_rows(source, line, name, foreign) for line, name in empty_tables.items()]
    return whole, unread + foreign_lines(source, foreign)


def _has_fewer_samples(row: dict, after: dict) -> bool:
    """Return whether a row has fewer iterations than the next row; OSU iterates larger sizes less often."""
    in_same_table = all(row.get(name) == after.get(name) for name in ("benchmark", "run"))
    return in_same_table and row.get("samples", 0) < after.get("samples", 0)


def _fits(benchmark: str, keys: list[str]) -> bool:
    """Return whether a heading has the quantity that the title of a benchmark names."""
    columns = [COLUMNS[key][0] for key in keys if key in COLUMNS]
    quantities = {"latency": "latency_us", "bandwidth": "bandwidth_MBps"}
    if "purecomm.(us)" in keys and not {"overall(us)", "compute(us)"} <= {*keys}:
        return False
    named = [column for word, column in quantities.items() if word in benchmark]
    return any(column in columns for column in named)


def read(text: str, source: str, mapping: Mapping) -> Import:
    """Read output of OSU micro-benchmarks: see `Importer`."""
    return make_curves(*parse(text, source), mapping, source)


IMPORTER = Importer("osu", lambda text: is_marked(text, "osu"), read)
