"""The page of the cases, docs/cases.md, made from the case files and from what was measured of them.

    python -m workflows.catalogue

The measured columns are in docs/cases.csv, written by tests/benchmarks/catalogue.py, one row a case, size and
process count:

- ``cells``, ``cells_of_smallest_rank``, ``cells_of_largest_rank``
- ``processor_faces``: of the rank that has most
- ``prepare_seconds``: mesh and check, or decomposition; ``prepare_memory_MB``: of the largest program
- ``iterations``; ``seconds``: of the main loop by the clock, without the first one; ``iteration_seconds``
- ``cpu_seconds``: CPU time of all ranks from start to end, waiting for each other included
- ``foreign_cores``: CPUs that other programs kept busy during the run, on average
- ``memory_MB``: peak resident memory of the largest rank
- ``answer``: value of the case's quantity; ``machine``: where it was measured

A row without ``seconds`` was prepared and not run; an application without a mesh has no cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.quality_sentences import DISTURBED_CORES
from workflows.cases import case_files, read_case_file

ROOT = Path(__file__).resolve().parent.parent
MEASURED = ROOT / "docs/cases.csv"
PAGE = ROOT / "docs/cases.md"
PICTURES = "images/cases"

_INTRODUCTION = """\
<!-- Made by `python -m workflows.catalogue` from the case files and docs/cases.csv; do not edit. -->

# Cases

A study names a case, `rotor`, or one of its other sizes, `rotor-smoke`. Smoke sizes run in seconds and
are what the tests run. [Add a case](add-a-case.md) says how to make one.

Times and memory are for planning, serial and on two ranks that talk through shared memory
({machines}).
An iteration of an unsteady case is a time step; the first one is left out of the times by the clock. A ~
marks a time by the clock during which other programs kept more than {busy:g} CPUs busy, or nobody looked: an
upper bound. CPU time is that of all ranks, from start to end. A busy machine disturbs it less, but large
cases share the memory with other programs, and ranks that wait for each other poll, which counts too. Memory
is the peak of the largest rank. "Off" is how far the answer of the timed run is from the golden one,
relative to it.
"""
_MISSING = "–"
_COSTS = ("s/iteration", "run, s", "CPU, s", "memory, MB")
Rows = Mapping[tuple[str, str, int], Mapping[str, Any]]
"""What was measured, by case, size and process count."""


def page(cases: Path, measured: pd.DataFrame) -> str:
    """Write the page.

    Parameters
    ----------
    cases : Path
        Folder of the cases.
    measured : pandas.DataFrame
        See `read_measured`.

    Returns
    -------
    str
        Markdown. Cases with a mesh come first, smallest first, then the others by application and name, those
        of which nothing was measured last.
    """
    documents = {name: read_case_file(files[0]) for name, files in case_files(cases).items()}
    rows = {
        (row["case"], row["size"], row["processes"]): row.dropna().to_dict() for _, row in measured.iterrows()
    }

    meshed = {documents[case]["application"] for (case, _, _), row in rows.items() if "cells" in row}
    measured_of = {documents[case]["application"] for case, _, _ in rows}

    def place(name: str) -> tuple[bool, bool, str, float, str]:
        application = documents[name]["application"]
        cells = rows.get((name, documents[name]["size"], 1), {}).get("cells", math.inf)
        return application not in meshed, application not in measured_of, application, cells, name

    order = sorted(documents, key=place)
    sections = [_section(name, documents[name], rows) for name in order]
    heads = ("case", "what it is", "published as", "cells", "iterations", "serial", "CPU", "memory")
    overview = [
        f"**{application}**\n\n"
        + _full_columns(heads, [_overview(name, documents[name], rows) for name in names])
        for application, names in groupby(order, lambda name: documents[name]["application"])
    ]
    machines = "; ".join(sorted(measured["machine"].unique())) if len(measured) else "nothing measured yet"
    return "\n".join([_INTRODUCTION.format(machines=machines, busy=DISTURBED_CORES), *overview, *sections])


def read_measured(file: Path = MEASURED) -> pd.DataFrame:
    """Read what was measured, one row a case, size and process count; the module says which columns.

    The file is made by the project's own benchmark; where it is missing, nothing was measured yet.
    """
    key = {"case": str, "size": str, "processes": int}
    return pd.read_csv(file, dtype=key) if file.exists() else pd.DataFrame(columns=list(key))


def _section(name: str, document: dict[str, Any], rows: Rows) -> str:
    sizes = document["sizes"]
    ordered = sorted(sizes, key=lambda size: sizes[size]["serial_seconds"])
    parts = [f"\n## {document['title']}: `{name}`\n", _wrapped(document["description"])]
    if picture := document.get("picture"):
        caption = picture["caption"]
        parts.append(f"\n![{caption}]({PICTURES}/{name}.png)\n\n*{caption}*")
    for label, key in (("Stands for", "stands_for"), ("Differs", "differs")):
        if key in document:
            parts.append(f"\n**{label}:** {_wrapped(document[key])}")
    if answer := document.get("answer"):
        unit = "" if answer["unit"] == "1" else f" in {answer['unit']}"
        parts.append(
            f"\n**Answer:** {answer['quantity']}{unit}, right within {answer['tolerance']:g} "
            f"of the golden answer. {_wrapped(answer['reason'])}"
        )
        parts += [
            f"\n**At size {size}:** right within {facts['tolerance']:g}. {_wrapped(facts['reason'])}"
            for size, facts in sizes.items()
            if "tolerance" in facts
        ]
    for option, facts in document.get("options", {}).items():
        parts.append(f"\n**Option `{option}`:** {_wrapped(facts['description'])}")
    heads = ("size", "parameters", "golden answer", "how it was made", "off, serial", "off, 2 ranks")
    parts.append("\n" + _full_columns(heads, [_size_row(name, size, sizes[size], rows) for size in ordered]))
    heads = ("size", "cells", "iterations", "mesh, s")
    heads += tuple(head + ranks for head in _COSTS for ranks in ("", " on 2 ranks"))
    parts.append(_full_columns(heads, [_cost_row(name, size, rows) for size in ordered]))
    cut = [
        row
        for size in ordered
        for (case, of_size, count), row in sorted(rows.items(), key=lambda item: item[0][2])
        if (case, of_size) == (name, size) and count > 1 and "cells" in row
    ]
    if cut:
        heads = ("size", "ranks", "cells a rank", "processor faces of the largest halo", "decomposition, s")
        parts.append(_table(heads, map(_cut_row, cut)))
    return "\n".join(parts)


def _overview(name: str, document: dict[str, Any], rows: Rows) -> Sequence[str]:
    size = document["size"]
    own = rows.get((name, size, 1), {})
    return (
        f"[`{name}`](#{_anchor(document['title'], name)})",
        document["title"],
        document["sizes"][size].get("published_case", _MISSING),
        _count(own.get("cells")),
        _count(own.get("iterations")),
        _clock(own, "seconds", " s"),
        _number(own.get("cpu_seconds"), " s"),
        _number(own.get("memory_MB"), " MB"),
    )


def _size_row(name: str, size: str, facts: dict[str, Any], rows: Rows) -> Sequence[str]:
    golden = facts.get("golden")
    off = [
        None if golden is None or answer is None else abs(answer - golden) / (abs(golden) or 1)
        for answer in (rows.get((name, size, count), {}).get("answer") for count in (1, 2))
    ]
    return (
        f"`{size}`",
        ", ".join(f"{key} {value}" for key, value in facts["parameters"].items()),
        _MISSING if golden is None else f"{golden:.10g}",
        " ".join(facts.get("golden_from", "the serial run").split()),
        *(_MISSING if value is None else f"{value:.1e}" for value in off),
    )


def _cost_row(name: str, size: str, rows: Rows) -> Sequence[str]:
    serial, parallel = (rows.get((name, size, count), {}) for count in (1, 2))
    return (
        f"`{size}`",
        _count(serial.get("cells")),
        _count(serial.get("iterations")),
        _number(serial.get("prepare_seconds")),
        *(_clock(row, "iteration_seconds") for row in (serial, parallel)),
        *(_clock(row, "seconds") for row in (serial, parallel)),
        *(_number(row.get(key)) for key in ("cpu_seconds", "memory_MB") for row in (serial, parallel)),
    )


def _cut_row(row: Mapping[str, Any]) -> Sequence[str]:
    low, high = row["cells_of_smallest_rank"], row["cells_of_largest_rank"]
    each = _count(high) if low == high else f"{_count(low)} to {_count(high)}"
    faces, seconds = _count(row["processor_faces"]), _number(row["prepare_seconds"])
    return f"`{row['size']}`", str(row["processes"]), each, faces, seconds


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _full_columns(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Table without the columns that are empty; nothing, where only the first one is not."""
    kept = [place for place in range(len(heads)) if any(row[place] != _MISSING for row in rows)]
    if len(kept) < 2:
        return ""
    return _table([heads[place] for place in kept], [[row[place] for place in kept] for row in rows])


def _anchor(title: str, name: str) -> str:
    """Anchor that GitHub gives to a case's heading."""
    kept = [letter for letter in f"{title}: {name}".lower() if letter.isalnum() or letter in " -_"]
    return "".join(kept).replace(" ", "-")


def _wrapped(text: str) -> str:
    return " ".join(text.split())


def _clock(row: Mapping[str, Any], key: str, unit: str = "") -> str:
    """Time by the clock, marked where other programs used the machine, or where that is not known."""
    mark = "~" if key in row and row.get("foreign_cores", math.inf) > DISTURBED_CORES else ""
    return mark + _number(row.get(key), unit)


def _number(value: float | None, unit: str = "") -> str:
    if value is None:
        return _MISSING
    return f"{value:,.0f}{unit}" if value >= 100 else f"{float(f'{value:.2g}'):g}{unit}"


def _count(value: float | None) -> str:
    return _MISSING if value is None else f"{value:,.0f}"


def main() -> None:
    """Write docs/cases.md."""
    PAGE.write_text(page(ROOT / "cases", read_measured()))


if __name__ == "__main__":
    main()
