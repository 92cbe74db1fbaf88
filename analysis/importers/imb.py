"""Output of the Intel MPI Benchmarks; tested with 4.0, 2018 and 2021."""

from __future__ import annotations

import re

from analysis.importers.importer import Importer
from analysis.importers.lines import Target, contradicts, has_line, quoted, read_row, whole_lines
from analysis.importers.mapping import Mapping
from analysis.importers.results import Import, make_curves

VERSION = re.compile(r"^#\s+Intel ?\(R\) MPI Benchmark(?:s| Suite) V?(?P<major>\d+)")
BENCHMARK = re.compile(r"^# Benchmarking (?P<name>\S+)")
PROCESSES = re.compile(r"^# (?:#processes = |\( \d+ groups of )(?P<count>[1-9]\d{0,8})\b")
LAST = "# All processes entering MPI_Finalize"

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
    benchmark = ""
    processes: int | None = None
    heading: list[str] = []
    targets: list[Target | None] = []
    mega: float | None = None
    for number, line in whole_lines(text, source, unread):
        cells = line.split()
        if match := VERSION.match(line):
            mega = 1.048576 if int(match["major"]) <= BINARY_UNTIL else 1.0
        elif match := BENCHMARK.match(line):
            benchmark, processes, heading = f"imb_{match['name'].lower().replace('-', '_')}", None, []
        elif match := PROCESSES.match(line):
            processes = int(match["count"])
        elif benchmark and "#repetitions" in cells:
            heading, targets = cells, [_target(name, mega) for name in cells]
            unread += [
                f"{source}: line {number}: column '{name}' is not kept"
                + (": the version, and thus its unit, is unknown" if name == "Mbytes/sec" else "")
                for name, target in zip(heading, targets, strict=True)
                if target is None
            ]
        elif cells and not line.startswith("#"):
            row = _row(cells, heading, targets)
            if isinstance(row, str):
                unread.append(f"{source}: line {number}: {quoted(line)} {row}")
            else:
                rows.append({"benchmark": benchmark, "processes": processes, "line": number, **row})
    if LAST not in text:
        unread.append(f"{source}: ends without '{LAST}': cut off")
    return rows, unread


def _target(name: str, mega: float | None) -> Target | None:
    """Return the target of a printed column; None if network curves have no such column."""
    if name == "Mbytes/sec":
        return None if mega is None else (COLUMNS[name], mega)
    return (COLUMNS[name], 1.0) if name in COLUMNS else None


def _row(cells: list[str], heading: list[str], targets: list[Target | None]) -> dict | str:
    """Return the values of a row, or the reason why it cannot be read.

    The printed bandwidth is checked against the time of the slowest process, from which IMB computes it.
    """
    row = read_row(cells, targets) if heading else "is no row of a table"
    slowest = next((name for name in ("t_max[usec]", "t[usec]") if name in heading), None)
    if isinstance(row, str) or slowest is None or "bandwidth_MBps" not in row:
        return row
    printed = dict(zip(heading, cells, strict=True))
    factors = dict(target for target in targets if target is not None)
    rate = printed["Mbytes/sec"], factors["bandwidth_MBps"]
    return contradicts(row, (printed[slowest], 1.0), rate) or row


def read(text: str, source: str, mapping: Mapping) -> Import:
    """Read output of the Intel MPI Benchmarks: see `Importer`."""
    return make_curves(*parse(text, source), mapping, source)


IMPORTER = Importer("imb", lambda text: has_line(text, BENCHMARK), read)
