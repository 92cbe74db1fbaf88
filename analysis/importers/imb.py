"""Output of the Intel MPI Benchmarks; tested with 4.0, 2018 and 2021."""

from __future__ import annotations

import math
import re
from collections import Counter

from analysis.importers.importer import Importer
from analysis.importers.lines import (
    FALLS,
    Target,
    contradicts,
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
from analysis.importers.marks import program_of
from analysis.importers.results import Import, make_curves

VERSION = re.compile(r"#\s+Intel ?\(R\) MPI Benchmark(?:s| Suite) V?(?P<major>\d+)")
BENCHMARK = re.compile(r"# Benchmarking (?P<name>\S+)")
MODE = re.compile(r"#\s+MODE: (?P<mode>[\w-]+)")
"""Ways in which IMB-EXT and IMB-IO repeat a benchmark."""
PROCESSES = re.compile(r"# (?:#processes = |\( \d+ groups of )(?P<count>[1-9]\d{0,8})\b")
WAITING = re.compile(r"# \( *(?P<count>[1-9]\d{0,8}) additional process(?:es)? waiting in MPI_Barrier")
COMMAND = re.compile(r"\bIMB-[A-Z]\w*")
"""A line that shows how IMB was started: of a shell, before the version; after the version, of IMB itself."""
UNMEASURED = {"out-of-mem.;": "of memory", "time-out.;": "of time"}
"""Second words of the lines about sizes that IMB did not measure, and what it ran out of."""
LAST = "# All processes entering MPI_Finalize"

MESSAGES = {"pingpong": 1, "pingping": 1, "sendrecv": 2, "exchange": 4}
"""Messages of each process that pass in the printed time, by the benchmark's name."""

BINARY_UNTIL = 2017
"""Last version whose Mbytes/sec are 2^20 bytes per second (``MEGA`` in IMB_output.c); later 10^6."""

COLUMNS: dict[str, str] = {
    "Group": "group",
    "#bytes": "bytes",
    "#repetitions": "samples",
    "t[usec]": "latency_us",
    "t_avg[usec]": "latency_us",
    "t_pure[usec]": "latency_us",
    "t_min[usec]": "latency_us_low",
    "t_max[usec]": "latency_us_high",
    "Mbytes/sec": "bandwidth_MBps",
    "Msg/sec": "messages_per_second",
}


def parse(text: str, source: str) -> tuple[list[dict], list[str]]:
    """Parse the output of IMB-MPI1 or IMB-NBC to rows of network curves, and list the skipped lines.

    The bandwidth is skipped if the version, and thus its unit, is unknown.
    """
    rows: list[dict] = []
    unread: list[str] = []
    foreign: list[tuple[int, str]] = []
    benchmark, mode = "", ""
    processes: int | None = None
    waiting: int | None = None
    heading: list[str] = []
    targets: list[Target | None] = []
    mega: float | None = None
    largest = -1
    runs: Counter[tuple[str, int | None]] = Counter()
    command = ""
    environment: dict[str, str] = {}
    start: dict[str, str] = {}
    not_kept: list[str] = []
    empty_tables: dict[int, str] = {}  # by the line of the heading
    heading_line = 0
    for number, printed in whole_lines(text, source, unread):
        line = printed.strip()
        cells = line.split()
        command = line if COMMAND.search(line) else command
        set_environment(environment, line)
        if match := VERSION.match(line):
            mega = 1.048576 if int(match["major"]) <= BINARY_UNTIL else 1.0
            start = {"command": command, "environment": "; ".join(environment.values())}
            benchmark, heading = "", []
        elif match := BENCHMARK.match(line):
            benchmark, processes, heading = match["name"].lower().replace("-", "_"), None, []
            mode, command, waiting = "", "", None
        elif program := program_of(line):
            if benchmark:
                unread.append(f"{source}: line {number}: {quoted(line)} begins output of {program}")
            benchmark, heading = "", []
        elif match := MODE.match(line):
            mode, heading = "_" + match["mode"].lower().replace("-", "_"), []
        elif match := PROCESSES.match(line):
            if processes and not heading:
                unread.append(f"{source}: line {number}: {quoted(line)} is a second number of processes")
                benchmark = ""
            processes, waiting = int(match["count"]), None
        elif match := WAITING.match(line):
            waiting = int(match["count"])
        elif benchmark and "#repetitions" in cells and (heading or not _fits(benchmark, cells)):
            unread.append(f"{source}: line {number}: {quoted(line)} follows no line '# Benchmarking …'")
            benchmark, heading = "", []
        elif benchmark and "#repetitions" in cells:
            largest = -1
            heading, targets = cells, [_target(name, mega) for name in cells]
            runs[benchmark + mode, processes] += 1
            heading_line, empty_tables[number] = number, f"imb_{benchmark}{mode}"
            not_kept = [
                f"{source}: line {number}: column '{name}' is not kept"
                + (": the version, and thus its unit, is unknown" if name == "Mbytes/sec" else "")
                for name, target in zip(heading, targets, strict=True)
                if target is None
            ]
        elif cells and not line.startswith("#"):
            if not has_only_numbers(cells[0]):
                foreign.append((number, line))
                continue
            if empty_tables.pop(heading_line, ""):
                unread += not_kept
            row = _row(cells, heading, targets, benchmark)
            if isinstance(row, dict) and row.get("bytes", largest) < largest:
                row, heading = FALLS, []
                drop_largest(rows, largest)
            if isinstance(row, str):
                unread.append(f"{source}: line {number}: {quoted(line)} {row}")
            else:
                run: dict = {"run": runs[benchmark + mode, processes], "processes": processes, "line": number}
                run |= {"waiting": waiting, **start}
                run["decimals"] = decimals(cells)
                if processes is None:  # tables of different numbers of processes are no repetitions
                    run["settings"] = f"an unknown number of processes in table {run['run']}"
                rows.append({"benchmark": f"imb_{benchmark}{mode}", **run, **row})
                largest = int(row.get("bytes", largest))
        elif COMMAND.search(line):
            start["called"] = line.removeprefix("#").strip()
    unread += [without_rows(source, line, name, foreign) for line, name in empty_tables.items()]
    unread += foreign_lines(source, foreign)
    if LAST not in text:
        unread.append(f"{source}: ends without '{LAST}': cut off")
    return rows, unread


def _fits(benchmark: str, heading: list[str]) -> bool:
    """Return whether a heading may be that of a benchmark."""
    name = benchmark.removeprefix("multi_")
    time = "t[usec]" if name.startswith("ping") else "t_avg[usec]"
    if ("barrier" in name) == ("#bytes" in heading):
        return False
    return name not in MESSAGES or {"#bytes", time} <= {*heading}


def _target(name: str, mega: float | None) -> Target | None:
    """Return the target of a printed column; None if network curves have no such column."""
    if name == "Mbytes/sec":
        return None if mega is None else (COLUMNS[name], mega)
    return (COLUMNS[name], 1.0) if name in COLUMNS else None


def _row(cells: list[str], heading: list[str], targets: list[Target | None], benchmark: str) -> dict | str:
    """Return the values of a row, or the reason why it cannot be read.

    The printed bandwidth is checked against the time of the slowest process, from which IMB computes it.
    """
    if missing := next((what for word, what in UNMEASURED.items() if word in cells), ""):
        return f"was not measured: IMB ran out {missing}"
    row = read_row(cells, targets) if heading else "is no row of a table"
    slowest = next((name for name in ("t_max[usec]", "t[usec]") if name in heading), None)
    if isinstance(row, str) or slowest is None or "bandwidth_MBps" not in row:
        return row
    printed = dict(zip(heading, cells, strict=True))
    factors = dict(target for target in targets if target is not None)
    rate = printed["Mbytes/sec"], factors["bandwidth_MBps"]
    messages = MESSAGES.get(benchmark.removeprefix("multi_"))
    return contradicts(row, (printed[slowest], 1.0), rate, messages or math.inf, messages or 1) or row


def read(text: str, source: str, mapping: Mapping) -> Import:
    """Read output of the Intel MPI Benchmarks: see `Importer`."""
    return make_curves(*parse(text, source), mapping, source)


def recognises(text: str) -> bool:
    """Return whether a text has a benchmark of IMB, with the heading of its table."""
    return any(BENCHMARK.match(line.strip()) for line in text.splitlines()) and "#repetitions" in text


IMPORTER = Importer("imb", recognises, read)
