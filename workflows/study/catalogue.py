"""Make the page of the cases, docs/cases.md, from the case files and their measurements.

    python -m workflows.study.catalogue

tests/benchmarks/catalogue.py writes the measurements to docs/cases.csv, a row per case, size and process
count:

- ``cells``, ``cells_of_smallest_rank``, ``cells_of_largest_rank``
- ``processor_faces``: the most of any rank
- ``prepare_seconds``: mesh and check, or decomposition; ``prepare_memory_MB``: of the largest program
- ``iterations``; ``seconds``: of the main loop by the clock, without iteration 1; ``iteration_seconds``
- ``cpu_seconds``: CPU time of all ranks from start to end, including waits for each other
- ``foreign_cores``: CPUs that other programs kept busy during the run, on average
- ``memory_MB``: peak resident memory of the largest rank
- ``answer``: value of the case's quantity; ``machine``: where it was measured

A row without ``seconds`` was prepared but not run. Rows of an application without a mesh lack ``cells``.

The same program writes docs/solver_iterations.csv: the ``iterations`` of the linear solver per time step, by
case, size, process count and field, and the ``share`` of the main loop that the field takes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.runs.runs import DISTURBED_CORES
from analysis.topics.parts_of_time.solver_work import algorithmic_efficiency
from workflows.paths import CASES, ROOT
from workflows.study.cases import case_files, read_case_file

MEASURED = ROOT / "docs/cases.csv"
SOLVER = ROOT / "docs/solver_iterations.csv"
PAGE = ROOT / "docs/cases.md"
PICTURES = "images/cases"

_INTRODUCTION = """\
<!-- Made by `python -m workflows.study.catalogue` from the case files and docs/cases.csv; do not edit. -->

# Cases

These cases are ready for use in a study. A study names a case, such as `rotor`, or another size of the case,
such as `rotor-smoke`. The default size is **bold**. A name that begins with - is an option: another way to
run the case in parallel. Smoke sizes take seconds.

The linked case file describes what the case computes, and which published case it represents. The cases of
`mpi4py` measure the [interconnect itself](networks.md).
"""
_TAKES = """\
## What a size takes

Use this table to plan a study. It was measured on {machines}. Seconds are wall time of the main loop,
serially and on two processes over shared memory. A ~ marks a time that other programs made longer. CPU time
and peak memory belong to the serial run.
"""
_SOLVER = """\
## Iterations of the linear solver

How many more iterations does the linear solver need on more processes? The table shows iterations per time
step, or per iteration of a steady solver, for equations that take at least {shown} of the serial main loop.

The last columns show the efficiency if iterations were the only loss
([`algorithmic_efficiency`](reference/tables.md#solver_efficiency)). At 100 %, the iterations cause no
loss; all losses come from communication, imbalance and memory. Above 100 %, the solver needs less work on
several processes.
"""
_LEAST_SHARE = 0.1
"""Smallest share of the serial main loop of an equation in the table."""
_MISSING = "–"
Rows = Mapping[tuple[str, str, int], Mapping[str, Any]]
"""Measurements by case, size and process count."""


def page(cases: Path, measured: pd.DataFrame, solved: pd.DataFrame) -> str:
    """Write the page of the cases in a folder.

    Parameters
    ----------
    measured, solved : DataFrame
        Results of `read_measured` for `MEASURED` and `SOLVER`.

    Returns
    -------
    str
        Markdown. Cases with a mesh come first, by size; then the other applications with measurements, then
        those without, by application and name.
    """
    files = {name: paths[0] for name, paths in case_files(cases).items()}
    documents = {name: read_case_file(file) for name, file in files.items()}
    rows: Rows = {
        (row["case"], row["size"], row["processes"]): {str(key): row[key] for key in row.dropna().index}
        for _, row in measured.iterrows()
    }

    meshed = {documents[case]["application"] for (case, _, _), row in rows.items() if "cells" in row}
    measured_of = {documents[case]["application"] for case, _, _ in rows}

    def order_of(name: str) -> tuple[bool, bool, str, float, str]:
        application = documents[name]["application"]
        cells = rows.get((name, documents[name]["size"], 1), {}).get("cells", math.inf)
        return application not in meshed, application not in measured_of, application, cells, name

    order = sorted(documents, key=order_of)
    heads = ("case", "what it is", "published as", "cells", "sizes")
    overview = [
        f"## {application}\n\n"
        + _full_columns(heads, [_overview(name, files[name], documents[name], rows) for name in names])
        for application, names in groupby(order, lambda name: documents[name]["application"])
    ]
    cost_heads = ("size", "cells", "iterations", "serial, s", "2 processes, s", "CPU, s", "memory, MB")
    sizes = [
        _cost_row(name, size, rows)
        for name in order
        for size in _ordered(documents[name])
        if (name, size, 1) in rows
    ]
    captions = {name: documents[name]["picture"]["caption"] for name in order if "picture" in documents[name]}
    pictures = [
        f"![{caption}]({PICTURES}/{name}.png)\n\n*`{name}`: {caption}*\n"
        for name, caption in captions.items()
    ]
    machines = "; ".join(sorted(measured["machine"].unique())) if len(measured) else "nothing measured yet"
    sections = [_INTRODUCTION, *overview]
    sections += [_TAKES.format(machines=machines), _full_columns(cost_heads, sizes)] if sizes else []
    sections += (
        [_SOLVER.format(shown=_percent(_LEAST_SHARE)), _solver_table(solved, order)] if len(solved) else []
    )
    return "\n".join(sections + (["## Pictures\n", *pictures] if pictures else []))


def read_measured(file: Path) -> pd.DataFrame:
    """Read `MEASURED` or `SOLVER`, whose columns the module lists; empty if the file is missing."""
    key = {"case": str, "size": str, "processes": int}
    return pd.read_csv(file, dtype=key) if file.exists() else pd.DataFrame(columns=list(key))


def _ordered(document: dict[str, Any]) -> list[str]:
    """Return the sizes of a case by serial time."""
    return sorted(document["sizes"], key=lambda size: document["sizes"][size]["serial_seconds"])


def _overview(name: str, file: Path, document: dict[str, Any], rows: Rows) -> Sequence[str]:
    default_size = document["size"]
    names = [f"**`{size}`**" if size == default_size else f"`{size}`" for size in _ordered(document)]
    options = [f"`-{option}`" for option in document.get("options", {})]
    return (
        f"[`{name}`](../cases/{document['application']}/{file.parent.name}/case.yaml)",
        document["title"],
        document["sizes"][default_size].get("published_case", _MISSING),
        _count(rows.get((name, default_size, 1), {}).get("cells")),
        ", ".join(names + options),
    )


def _cost_row(name: str, size: str, rows: Rows) -> Sequence[str]:
    serial, parallel = (rows.get((name, size, count), {}) for count in (1, 2))
    return (
        f"`{name}-{size}`",
        _count(serial.get("cells")),
        _count(serial.get("iterations")),
        _clock(serial),
        _clock(parallel),
        *(_number(serial.get(key)) for key in ("cpu_seconds", "memory_MB")),
    )


def _solver_table(solved: pd.DataFrame, order: Sequence[str]) -> str:
    solved = solved.assign(name=solved["case"] + "-" + solved["size"])
    counts = sorted(solved["processes"].unique())
    parts = solved.assign(case=solved["name"], part=solved["field"])
    parallel = parts[["case", "processes"]].drop_duplicates().query("processes > 1")
    algorithmic = algorithmic_efficiency(parts, parts, parallel.assign(reference_processes=1))
    left = algorithmic.set_index(["case", "processes"])["algorithmic_efficiency"]
    serial = solved[(solved["processes"] == 1) & (solved["share"] >= _LEAST_SHARE)]
    numbers = solved.set_index(["name", "field", "processes"])["iterations"]
    rows = [
        (
            f"`{row['name']}`",
            row["field"],
            _percent(row["share"]),
            *(_number(numbers.get((row["name"], row["field"], count))) for count in counts),
            *(_percent(left.get((row["name"], count))) for count in counts[1:]),
        )
        for case in order
        for row in serial[serial["case"] == case].sort_values("share", ascending=False).to_dict("records")
    ]
    on = [f"on {count}" for count in counts]
    heads = ("size", "field", "share", *on, *(f"algorithmic, {count}" for count in on[1:]))
    return _full_columns(heads, rows)


def _full_columns(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table without empty columns; empty if only the first column has values."""
    kept = [column for column in range(len(heads)) if any(row[column] != _MISSING for row in rows)]
    if len(kept) < 2:
        return ""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"|{'|'.join(line[column] for column in kept)}|\n" for line in lines)


def _clock(row: Mapping[str, Any]) -> str:
    """Return the wall time, marked if other programs used the machine or may have."""
    mark = "~" if "seconds" in row and row.get("foreign_cores", math.inf) > DISTURBED_CORES else ""
    return mark + _number(row.get("seconds"))


def _number(value: float | None) -> str:
    if value is None:
        return _MISSING
    return f"{value:,.0f}" if value >= 100 else f"{float(f'{value:.2g}'):g}"


def _percent(share: float | None) -> str:
    return _MISSING if share is None else f"{100 * share:.0f} %"


def _count(value: float | None) -> str:
    return _MISSING if value is None else f"{value:,.0f}"


def main() -> None:
    """Write docs/cases.md."""
    PAGE.write_text(page(CASES, read_measured(MEASURED), read_measured(SOLVER)))


if __name__ == "__main__":
    main()
