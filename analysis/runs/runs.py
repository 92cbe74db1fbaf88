"""The runs table, with one row per repetition.

An argument called `runs` is such a table, as `read_runs` returns it, unless stated otherwise. The order of
rows matters only for rows without `block`, `started` and `repetition`, which were run in this order.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pandera.pandas as pa
import pyarrow
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray
from pandera.errors import SchemaErrors

from analysis.runs.columns import described
from analysis.runs.errors import TableError, readable
from analysis.runs.groups import Groups, coded
from analysis.runs.kinds import ORDER
from analysis.statistics import Integers

DISTURBED_CORES = 0.2
"""Mean number of cores kept busy by other programs above which a repetition counts as disturbed."""

KINDS = ORDER
REQUIRED = ("case", "interconnect", "processes", "seconds")
_POINT = ("site", "case", "interconnect", "kind", "nodes", "processes", "oversubscription", "threads")
SESSIONS = ("session", "day")
"""Columns whose values are blocks for rows without `block`: runs of a day share the state of the machine."""
PAUSE = pd.Timedelta(hours=4)
"""Time without a start that separates the runs of two dates; shorter nights are one session."""
UNKNOWN_ORDER = "unknown"
"""Value of column ``order_from`` if nothing shows the order of the runs of a point."""
WITH_BLOCKS = BLOCK, DATE, SESSION = "block", "date", "session"
"""Values of column ``order_from`` for rows with a block: the column, a date of `started`, or a session."""
LOOP_SECONDS = "loop_seconds."
PREPARE_SECONDS = "prepare_seconds."
NODE_NAMES = "node_names"
"""Column with the names of a run's nodes, separated by blanks."""
LOSS = "loss"
"""Column with the reason why a run does not count; empty for a run that counts."""
INTERRUPTED = "interrupted"
"""Value of column `LOSS` for a run that ended with its job."""
OUTDATED = "outdated"
"""Value of column `LOSS` for a run after which its case, its interconnect or the site file changed."""
SOLVER_ITERATIONS = "solver_iterations."
GLOBAL_ARRAYS = ("global_array_calls.", "global_array_bytes.", "global_array_remote_bytes.")
RECORDED = (LOOP_SECONDS, SOLVER_ITERATIONS, *GLOBAL_ARRAYS)
"""Prefixes of columns that records of an application may have, with what follows each prefix:

- `LOOP_SECONDS`: a part of the main loop;
- `SOLVER_ITERATIONS` (linear iterations per time step): a field;
- `GLOBAL_ARRAYS`: an operation of rank 0.

`PREPARE_SECONDS` is the prefix of a part of the untimed preparation, which records lack."""
ENDS_OF_COMPUTING = ("seconds_least_computing_low", "seconds_least_computing_high",
                     "seconds_most_computing_low", "seconds_most_computing_high")  # fmt: skip
"""Columns of simulated times at the four corners: the least or the most computing of its range, with the
interconnect at the lower or the upper end of its band."""
_NUMBERS = ("seconds_low", "seconds_high", *ENDS_OF_COMPUTING, "wall_seconds", "cpu_seconds",
            "startup_seconds", "output_seconds", "foreign_cores", "stolen_cores", "idle_wait_seconds",
            "answer", "speed_probe_seconds", "probe_latency_us")  # fmt: skip
"""Columns of numbers that a table may have in addition to `RUNS`."""
STOPPED = "stopped at its time limit"
"""Default reason of a censored repetition."""
_TRUTH = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
NAME = pa.Check.str_matches(
    r"[A-Za-z0-9][A-Za-z0-9_.+-]*\Z",
    error="must be letters, digits and _ . + -, the first a letter or a digit",
)
COUNT = pa.Check.in_range(1, 10**9, error="must be a whole number from 1 to 10^9")
KIND = pa.Check.isin(KINDS, error=f"must be one of {', '.join(KINDS)}")
_NAME = pa.Column(str, NAME)
_NAME_OR_NONE = pa.Column(str, NAME, nullable=True)
_COUNT = pa.Column("Int64", COUNT)
_NOISE = pa.Check.in_range(0, 1, error="must be a share from 0 to 1")
_TEXT = pa.Column(str, nullable=True)
RUNS = pa.DataFrameSchema(
    {
        "study": described(_NAME_OR_NONE, "Name of the study."),
        "case": described(_NAME, "Name of the case, without its size if a study scales it."),
        "application": described(_TEXT, "Name of the application: a folder of `cases/`."),
        "interconnect": _NAME_OR_NONE,
        "kind": pa.Column(str, KIND),
        "nodes": pa.Column("Int64", COUNT, nullable=True),
        "processes": _COUNT,
        "cores": _COUNT,
        "oversubscription": _COUNT,
        "block": described(
            pa.Column("Int64"),
            "Number of the block. Runs of a case, process count and oversubscription with equal "
            "numbers ran back to back, unless the study was stopped between them. The numbers continue after "
            "the earlier runs for `--again`, an edited case, an added interconnect, and blocks added after "
            "`--again`. The terminal and the file in column `record` state the planned block.",
        ),
        "repetition": described(_COUNT, "Number within the block."),
        "attempt": described(_COUNT, "Number of the attempt at this repetition, from 1."),
        "seconds": described(
            pa.Column(float, nullable=True), "Time of the main loop; empty if the run printed none."
        ),
        "valid": described(pa.Column(bool), "Whether the repetition counts."),
        "reason": described(_TEXT, "Why the repetition does not count."),
        "noise": described(
            pa.Column(float, pa.Check.in_range(0, 1, error="must be a share from 0 to 1"), nullable=True),
            "Share of the run's wall time, 0 to 1, in which some task waited for a CPU (the kernel's "
            "CPU pressure). 0 is a quiet machine.",
        ),
        "started": _TEXT,
        "record": _TEXT,
        "site": _NAME_OR_NONE,
        "threads": _COUNT,
        "order_from": described(
            _TEXT,
            "Source of the order of the point's runs: `started`, `block`, `date` (blocks from the dates of "
            "`started`), `session` (blocks from column `session` or `day`), `repetition`, `row` (of the "
            "file) or `unknown`, with the number of the file in the study. Empty for runs of the study "
            "itself.",
        ),
        "origin": described(
            pa.Column(str, nullable=True, required=False),
            "Origin of the row: `run`, `replay` (of a simulated point) or `import`. Tables of other "
            "programs lack this column.",
        ),
        "censored": described(
            pa.Column(bool, required=False),
            "Whether the repetition was stopped at its time limit. Its `seconds` is then that limit, "
            "a lower bound, and it is not valid.",
        ),
        "resolution_seconds": described(
            pa.Column(float, pa.Check.gt(0, error="must be above 0"), nullable=True, required=False),
            "Step to which `seconds` was rounded; empty at full precision.",
        ),
        "work": described(
            pa.Column(float, pa.Check.gt(0, error="must be above 0"), nullable=True, required=False),
            "Work done in `seconds`, such as cells × iterations.",
        ),
        "work_unit": described(pa.Column(str, nullable=True, required=False), "Unit of `work`."),
        "run_seconds": described(
            pa.Column(float, pa.Check.gt(0, error="must be above 0"), nullable=True, required=False),
            "Time of the run if `seconds` is the inverse of a rate; page one then names it so.",
        ),
        "energy_joules": described(
            pa.Column(
                float,
                pa.Check.in_range(0, 1e15, error="must be energy from 0 to 10^15 J"),
                nullable=True,
                required=False,
            ),
            "Energy of the whole run on all its machines; empty without a meter.",
        ),
    },
    name="runs",
    description="`results/<study>/runs.csv` and `.parquet`: one row per repetition, with every attempt, "
    "valid or not.",
    coerce=True,
)
"""Columns of a complete runs table, in the order of the contract; other columns may follow.

- `work` is the work of a run, in `work_unit`; a table without it has no rates.
- A `censored` repetition was stopped at its time limit, which is its `seconds`. It is not valid, and
  `seconds` is a lower bound. A run is not marked if its limit is not above the shortest valid time of the
  point.
- `resolution_seconds` is the step to which `seconds` was rounded, empty at full precision.
- `origin` is how a row entered a study's table; it is empty for results of other tools.
- `order_from` is the evidence for the order of the runs of a point: one of `WITH_BLOCKS`, ``started``,
  ``repetition``, ``row`` (of its file) or `UNKNOWN_ORDER`, followed by the file of an imported row. It is
  empty for a row with a `block` that is not imported."""
FURTHER_COLUMNS = {
    "seconds_low, seconds_high": "Band of a simulated row.",
    "seconds_least_computing_low, seconds_least_computing_high": (
        "Time of a replayed trace with the least computing of the band, at both ends of the "
        "interconnect's model."
    ),
    "seconds_most_computing_low, seconds_most_computing_high": ("The same with the most computing."),
    "startup_seconds, output_seconds": ("Time from the launch to the main loop; time of writing at the end."),
    "wall_seconds, cpu_seconds": ("Wall time and CPU time of the whole run with its launcher."),
    "foreign_cores": (
        "Mean number of CPUs that other programs kept busy. "
        f"Above {DISTURBED_CORES} the repetition is called disturbed."
    ),
    "stolen_cores": "Mean number of CPUs that the hypervisor gave to other machines.",
    "idle_wait_seconds": "Delay of the run until the machine was idle.",
    "answer": "Number that the run is judged by.",
    "speed_probe_seconds": (
        "Time of a fixed piece of work on the run's cores, mean of just before and just after the"
        " run; empty if the run was expected to take less than 5 s."
    ),
    "world_verified": (
        "Whether the processes formed one parallel run: MPI's world, or the number that the program prints, "
        "has the planned size. Empty for serial runs."
    ),
    "probe_latency_us": (
        "One-way time of an empty message when the run's interconnect was attested, the lowest of several."
    ),
    "loss": (
        "Why a run does not count: `failed`, `stopped`, `interrupted`, `noise`, `invalid` or `outdated`, "
        "as in `core_hours`; empty if it counts."
    ),
    "job, node_names": ("Number of the run's job on a cluster; names of its nodes, separated by blanks."),
    "energy_source": "Meter that counted `energy_joules`.",
    "size": "Size of the case.",
    "data_servers": "Data servers in addition to the processes, for imported runs.",
    "loop_seconds.PART, prepare_seconds.PART": (
        "Time of a part of the main loop; time of mesh or decomposition, which no time includes."
    ),
    "solver_iterations.FIELD": ("Iterations of OpenFOAM's linear solver for a field, per time step."),
    "global_array_calls.OPERATION, global_array_bytes.OPERATION, global_array_remote_bytes.OPERATION": (
        "Operations of NWChem's rank 0 on the Global Arrays; `remote` counts bytes to other processes."
    ),
}
"""Descriptions of the columns that a runs table may have in addition to `RUNS`, by names."""
COLUMNS = tuple(name for name, column in RUNS.columns.items() if column.required)

_TIME = pa.Check.in_range(0, np.inf, include_min=False, include_max=False, error="must be a positive time")
_MEASURABLE = pa.Check.in_range(1e-12, 1e12, error="must be a time from 10^-12 to 10^12 s")
_VALID_RUNS = pa.DataFrameSchema({"seconds": pa.Column(float, [_TIME, _MEASURABLE])})
_ONE = pa.Check.equal_to(1, error="must be 1 where 'interconnect' is empty (a serial run)")
_SERIAL_RUNS = pa.DataFrameSchema(dict.fromkeys(("processes", "threads"), pa.Column("Int64", _ONE)))


def read_runs(path: str | Path, settings: Sequence[str] = ()) -> pd.DataFrame:
    """Read a runs table from a CSV or Parquet file and complete it.

    Parameters
    ----------
    path : path of a ``.csv`` or ``.parquet`` file
        With at least the columns ``case, interconnect, processes, seconds``.
    settings : sequence of str
        See `complete_runs`.

    Returns
    -------
    DataFrame
        One row per repetition, as `complete_runs` returns it.

    Raises
    ------
    TableError
        In one line with file, row and column.
    """
    path = Path(path)
    if path.suffix not in (".csv", ".parquet"):
        raise TableError("must end in .csv or .parquet", str(path))
    with readable(path, csv.Error, pyarrow.ArrowException):
        table = pyarrow.parquet.read_table(path) if path.suffix == ".parquet" else _read_csv(path)
    twice = sorted({name for name in table.column_names if table.column_names.count(name) > 1})
    if twice:
        raise TableError("is there twice", str(path), column=twice[0])
    try:
        return complete_runs(table.to_pandas(), str(path), settings=settings)
    except TableError as error:
        if error.row is None or path.suffix == ".parquet":
            raise
        line = f"line {line_of(path, error.row)}"
        raise TableError(error.message, str(path), line, error.column, error.row) from None


def read_complete(path: str | Path) -> pd.DataFrame:
    """Read a complete runs table from a Parquet file, without checking it again.

    A table of an earlier version, which lacks columns, is completed again.

    Raises
    ------
    TableError
        As `complete_runs`.
    """
    runs = pd.read_parquet(path)
    return runs if set(COLUMNS) <= set(runs) else complete_runs(runs, str(path), may_be_empty=True)


def _read_csv(path: Path) -> pyarrow.Table:
    """Read every cell as text, null if empty; a row with more or fewer cells than the header is an error."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        names = next(csv.reader(file), [])
    parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
    convert = pyarrow.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pyarrow.string()), strings_can_be_null=True, null_values=[""]
    )
    one_thread = pyarrow.csv.ReadOptions(use_threads=False)  # several threads would lose the row of an error
    return pyarrow.csv.read_csv(path, one_thread, parse, convert)


def line_of(path: Path, row: int) -> int:
    """Return the line on which a row of a CSV file begins; the header is line 1, and rows count from 0."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        next(reader)
        begins = (reader.line_num - sum(cell.count("\n") for cell in cells) for cells in reader if cells)
        return next(itertools.islice(begins, row, None))


def complete_runs(
    frame: pd.DataFrame,
    source: str = "runs table",
    may_be_empty: bool = False,
    settings: Sequence[str] = (),
) -> pd.DataFrame:
    """Complete the optional columns of a runs table and check it.

    Empty cells and missing columns have the same defaults:

    - `kind`: ``published``; `threads`: 1; `valid`: true;
    - `oversubscription`: (processes × threads + data servers) / cores, or 1 without `cores`;
    - `cores`: (processes × threads + data servers) / oversubscription;
    - `block`: a block for each value of a column of `SESSIONS`, else for each date of `started`
      (`_fill_blocks_by_date`), else for each row, which is not paired. These blocks of rows are numbered in
      the order of the runs of a point. `order_from` is the evidence for this order.

    Parameters
    ----------
    frame : DataFrame
        One row per repetition, as text or numbers.
    source : str
        Name of the table for messages.
    may_be_empty : bool
        Whether the table may have no rows, as in a study of published figures only.
    settings : sequence of str
        Further columns whose values separate points, if `frame` has them.

    Returns
    -------
    DataFrame
        `COLUMNS`, then the other columns of `frame`; rows in the same order, index from 0. Counts are
        ``Int64``, times ``float64`` in seconds, names ``str``.

    Raises
    ------
    TableError
        In one line with row and column, for the first fault.
    """
    missing = [name for name in REQUIRED if name not in frame]
    if missing:
        needed = ", ".join(REQUIRED)
        raise TableError(
            f"is missing (needed: {needed}; found: {', '.join(map(str, frame))})", source, column=missing[0]
        )
    if frame.empty and not may_be_empty:
        raise TableError("holds no row", source)
    point = [*_POINT, *(name for name in settings if name in frame)]
    try:
        runs = _with_useful_bounds(_filled(_typed(frame.reset_index(drop=True)), point), point)
        _validate(RUNS, runs)
        _validate(_SERIAL_RUNS, runs[runs["interconnect"].isna()])
        _validate(_VALID_RUNS, timed_rows(runs))
        _refuse_crowded_cores(runs)
        _refuse_coarse_times(runs)
        _refuse_unreadable_starts(runs)
        _refuse_repeated_rows(runs, point)
    except TableError as error:
        row = "" if error.row is None else f"row {error.row + 1}"
        raise TableError(error.message, source, row, error.column, error.row) from None
    return runs


def valid_rows(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the valid rows."""
    return runs[runs["valid"]]


def timed_rows(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the valid and the censored rows, whose time or lower bound is known."""
    return runs[runs["valid"] | runs["censored"]] if "censored" in runs else valid_rows(runs)


def is_outdated(runs: pd.DataFrame) -> pd.Series:
    """Return whether the case, the interconnect or the site file of each run changed after the run."""
    if LOSS not in runs:
        return pd.Series(False, runs.index)
    return runs[LOSS].eq(OUTDATED).fillna(False).astype(bool)


class Validity(NamedTuple):
    """Numbers of the runs that count, that failed a check, and that a change has outdated.

    Attributes
    ----------
    valid, invalid, outdated : int
        Their sum is the number of all runs. A run that was stopped at its time limit is invalid.
    """

    valid: int
    invalid: int
    outdated: int

    @property
    def current(self) -> int:
        """Number of runs that are not outdated."""
        return self.valid + self.invalid


def count_validity(runs: pd.DataFrame) -> Validity:
    """Count the valid, the invalid and the outdated rows of a runs table."""
    valid, outdated = int(runs["valid"].sum()), int(is_outdated(runs).sum())
    return Validity(valid, len(runs) - valid - outdated, outdated)


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return all columns of `RUNS` with their types, empty if missing, and other columns unchanged."""
    names = [*COLUMNS, *(name for name in frame if name not in COLUMNS)]
    return pd.DataFrame({name: _column(frame, name) for name in names})


def _column(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return a column with its type, missing values if the table lacks it."""
    recorded = name.startswith((PREPARE_SECONDS, *RECORDED))
    read, dtype = (_number, "float") if recorded else _READ.get(name, (None, None))
    if name not in frame:
        return pd.Series(np.nan if dtype == "float" else pd.NA, frame.index, dtype=dtype)
    return read(frame[name]) if read else frame[name]


def _text(column: pd.Series) -> pd.Series:
    text = column.astype("str")
    return text.mask(text == "")


def _number(column: pd.Series) -> pd.Series:
    """Return floats, NaN if empty; text that is not a number, including nan, is a fault."""
    numbers = pd.to_numeric(column, errors="coerce").astype("Float64").to_numpy(float, na_value=np.nan)
    if not pd.api.types.is_numeric_dtype(column):
        rows = np.flatnonzero(np.isnan(numbers) & column.notna().to_numpy())
        has_text = (column.iloc[rows].astype("str").str.strip() != "").to_numpy()
        if has_text.any():
            row = int(rows[has_text][0])
            raise TableError(f"{str(column.iloc[row])!r} is no number", column=str(column.name), row=row)
    return pd.Series(numbers, column.index, name=column.name)


def _whole(column: pd.Series) -> pd.Series:
    """Return whole numbers, missing if empty; a fraction or a number from 2^53 on is a fault."""
    column = _number(column)
    odd = (column % 1 != 0) & column.notna() | (column.abs() >= 2**53)
    if odd.any():
        row = int(odd.argmax())
        raise TableError(f"{column.iloc[row]:g} is no whole number", column=str(column.name), row=row)
    return column.astype("Int64")


def _truth(column: pd.Series) -> pd.Series:
    """Return truth values, missing if empty; a text that is not in `_TRUTH` is a fault."""
    text = column.astype("str").str.strip().str.lower()
    truth = text.map(_TRUTH).astype("boolean")
    odd = truth.isna() & column.notna() & (text != "")
    if odd.any():
        row = int(odd.argmax())
        raise TableError(
            f"{str(column.iloc[row])!r} is neither true nor false", column=str(column.name), row=row
        )
    return truth


_READERS = {"Int64": (_whole, "Int64"), "float64": (_number, "float"), "bool": (_truth, "boolean")}
_READ = {
    **{name: _READERS.get(str(column.dtype), (_text, "str")) for name, column in RUNS.columns.items()},
    **dict.fromkeys(_NUMBERS, _READERS["float64"]),
    "data_servers": _READERS["Int64"],
}


def _filled(runs: pd.DataFrame, point: Sequence[str]) -> pd.DataFrame:
    """Fill empty cells of the optional columns with the defaults that `complete_runs` lists.

    Parameters
    ----------
    runs : DataFrame
    point : sequence of str
        Columns that identify a point.
    """
    runs["kind"] = runs["kind"].fillna("published")
    runs["valid"] = runs["valid"].fillna(True).astype(bool)
    if "censored" in runs:
        runs["censored"] = runs["censored"].fillna(False).astype(bool)
        runs["valid"] &= ~runs["censored"]
        runs["reason"] = runs["reason"].mask(runs["censored"] & runs["reason"].isna(), STOPPED)
    runs["attempt"] = runs["attempt"].fillna(1)
    runs["threads"] = runs["threads"].fillna(1)
    if runs["oversubscription"].isna().any():
        level = -(-_running(runs) // runs["cores"].clip(lower=1))
        runs["oversubscription"] = runs["oversubscription"].fillna(level.clip(lower=1)).fillna(1)
    if runs["cores"].isna().any():
        cores = -(-_running(runs) // runs["oversubscription"].clip(lower=1))
        runs["cores"] = runs["cores"].fillna(cores)
    for name in (name for name in SESSIONS if name in runs):
        without_block = runs["block"].isna() & runs[name].notna()
        number, _ = coded(runs.loc[without_block, name].astype("str"))
        first = 1 if runs["block"].isna().all() else int(runs["block"].max()) + 1
        runs.loc[without_block, "block"] = first + number
        runs.loc[without_block, "order_from"] = SESSION
    if not any(name in runs for name in SESSIONS):
        _fill_blocks_by_date(runs, point)
    without_block = runs["block"].isna()
    if without_block.any():
        first = 1 if without_block.all() else int(runs["block"].max()) + 1
        number, evidence = _numbers_without_block(runs.loc[without_block], point)
        runs.loc[without_block, "block"] = first + number
        runs.loc[without_block, "order_from"] = evidence
    if runs["repetition"].isna().any():
        order = _rows_with_the_same(runs, (*point, "block")).position + 1
        runs["repetition"] = runs["repetition"].fillna(pd.Series(order, runs.index))
    return runs


def _with_useful_bounds(runs: pd.DataFrame, point: Sequence[str]) -> pd.DataFrame:
    """Clear `censored` if the time limit is not above the shortest valid time of the point.

    Such a run had an earlier, lower limit. As a lower bound it says nothing about the times (Kaplan and
    Meier, JASA 53, 1958: losses before the first event do not change the estimate).
    """
    if "censored" in runs and runs["censored"].any():
        number = _rows_with_the_same(runs, point).number
        shortest = runs["seconds"].where(runs["valid"]).groupby(number).transform("min")
        runs["censored"] &= ~(runs["seconds"] <= shortest)
    return runs


def _fill_blocks_by_date(runs: pd.DataFrame, point: Sequence[str]) -> None:
    """Make a block of the runs of each date of `started`, since they share the state of the machine.

    A date begins after a `PAUSE`. The rows of a case stay without block if a timed run lacks its start, or if
    no point has runs on two dates. `repetition` is emptied if a point has a number twice on one date.
    """
    rows = runs[runs["block"].isna()]
    started = pd.to_datetime(rows["started"], errors="coerce", utc=True, format="ISO8601")
    if started.isna().all():
        return
    case = pd.Series(Groups.of(*(coded(rows[name])[0] for name in ("site", "case"))).number, rows.index)
    lacks_start = (started.isna() & rows.index.isin(timed_rows(rows).index)).groupby(case).transform("any")
    rows = rows.assign(in_case=case, start=started, date=rows["started"].str[:10])
    rows = rows[started.notna() & ~lacks_start].sort_values(["in_case", "start"], kind="stable")
    if rows.empty:
        return
    is_same_date = (rows["date"] == rows["date"].shift()) | (rows["start"].diff() < PAUSE)
    rows["number"] = (~(is_same_date & rows["in_case"].diff().eq(0))).cumsum()
    dates_of_point = rows.groupby(_rows_with_the_same(rows, point).number)["number"].transform("nunique")
    rows = rows[dates_of_point.groupby(rows["in_case"]).transform("max") > 1]
    before = 0 if runs["block"].isna().all() else int(runs["block"].max())
    runs.loc[rows.index, "block"] = before + rows["number"]
    runs.loc[rows.index, "order_from"] = DATE
    keys = (*point, "block", "repetition", "attempt")
    if (_rows_with_the_same(runs.loc[rows.index], keys).position > 0).any():
        runs.loc[rows.index, "repetition"] = pd.NA


def _numbers_without_block(runs: pd.DataFrame, names: Sequence[str]) -> tuple[Integers, NDArray[np.object_]]:
    """Number rows that have no block, from 0 in each case, in the order of the runs of a point.

    Rows of unknown order are numbered at random, so that no test sees a false order.

    Parameters
    ----------
    runs : DataFrame
    names : sequence of str
        Columns that identify a point.

    Returns
    -------
    number : array (rows,)
        Points with evidence ``row`` come first and share one numbering by rows. Other points follow in turn.
    evidence : array (rows,)
        Evidence for the order of the point's runs: see `RUNS`.
    """
    points = _rows_with_the_same(runs, names)
    point, rows = points.number, np.arange(len(runs))
    started = pd.to_datetime(runs["started"], errors="coerce", utc=True, format="ISO8601")
    start, repetition, attempt = (
        coded(column)[0] for column in (started, runs["repetition"], runs["attempt"])
    )
    evidence = _evidence_of_order(runs, points, started.notna(), repetition, attempt)[point]
    at_random = np.empty(len(runs))
    rank_by_seconds = rows - np.repeat(points.first, points.size)
    random_keys = np.random.default_rng(0).random(int(points.size.max()))
    at_random[np.lexsort((runs["seconds"], point))] = random_keys[rank_by_seconds]
    has_evidence = [evidence == name for name in ("started", "repetition", "row")]
    order_in_point = np.select(has_evidence, [start, repetition, rows], at_random)
    order_of_point = np.where(evidence == "row", 0, point + 1)
    case, _ = coded(runs["case"])
    order = np.lexsort((rows, attempt, repetition, order_in_point, order_of_point, case))
    number = np.empty(len(runs), np.int64)
    number[order] = Groups.of(case[order]).position
    return number, evidence


def _evidence_of_order(
    runs: pd.DataFrame, points: Groups, has_start: pd.Series, repetition: Integers, attempt: Integers
) -> NDArray[np.object_]:
    """Return the evidence for the order of the runs of each point, array (points,): see `RUNS`.

    The order follows from `started`, else from `repetition`, else from the rows. It is unknown if some timed
    runs of a point lack `started` or `repetition`, or if some (but not all) repetitions have equal numbers.

    Parameters
    ----------
    has_start : series of bool
        Rows with a valid time in `started`.
    repetition, attempt : arrays (rows,)
        Codes of `repetition` and `attempt`.
    """
    point = points.number
    is_timed = runs["valid"] | runs["censored"] if "censored" in runs else runs["valid"]

    def timed_rows_with(marks: pd.Series) -> Integers:
        return np.bincount(point, marks & is_timed, len(points.first)).astype(np.int64)

    def different_timed(*keys: Integers) -> Integers:
        positions = np.flatnonzero(is_timed)
        groups = Groups.of(*(key[positions] for key in (point, *keys)))
        return np.bincount(point[positions][groups.rows], minlength=len(points.first))

    size, starts = timed_rows_with(is_timed), timed_rows_with(has_start)
    repetitions = timed_rows_with(runs["repetition"].notna())
    return np.select(
        [
            starts == size,
            starts > 0,
            (repetitions == size) & (different_timed(repetition, attempt) == size),
            different_timed(repetition) == 1,
        ],
        ["started", UNKNOWN_ORDER, "repetition", "row"],
        UNKNOWN_ORDER,
    ).astype(object)


def _rows_with_the_same(runs: pd.DataFrame, names: Sequence[str]) -> Groups:
    return Groups.of(*(coded(runs[name])[0] for name in names))


def _running(runs: pd.DataFrame) -> pd.Series:
    """Return the number of computing threads and data servers of each run."""
    servers = runs["data_servers"].fillna(0) if "data_servers" in runs else 0
    return runs["processes"] * runs["threads"].clip(lower=1) + servers


def _refuse_crowded_cores(runs: pd.DataFrame) -> None:
    """Refuse runs with more threads and servers than cores × oversubscription."""
    running = _running(runs)
    crowded = (running > runs["cores"] * runs["oversubscription"]).to_numpy()
    if crowded.any():
        row = int(crowded.argmax())
        stated, cores = (int(runs[name].iloc[row]) for name in ("oversubscription", "cores"))
        message = f"{stated}: by processes and cores it is {running[row] / cores:g}"
        raise TableError(message, column="oversubscription", row=row)


def _refuse_coarse_times(runs: pd.DataFrame) -> None:
    """Refuse a time below its rounding step, since half a step less could be negative."""
    if "resolution_seconds" not in runs:
        return
    coarser = (runs["resolution_seconds"] > runs["seconds"]).to_numpy()
    if coarser.any():
        row = int(coarser.argmax())
        stated, seconds = (float(runs[name].iloc[row]) for name in ("resolution_seconds", "seconds"))
        message = f"{stated:g}: must be at most the time, {seconds:g}"
        raise TableError(message, column="resolution_seconds", row=row)


def _refuse_unreadable_starts(runs: pd.DataFrame) -> None:
    """Refuse a start in another form than ISO 8601, since it would not show the order of the runs."""
    given = runs["started"].notna()
    started = pd.to_datetime(runs["started"], errors="coerce", utc=True, format="ISO8601")
    if (given & started.isna()).any():
        row = int((given & started.isna()).to_numpy().argmax())
        message = f"{runs['started'].iloc[row]!r}: write date and time as 2026-10-11 08:00"
        raise TableError(message, column="started", row=row)


def _validate(schema: pa.DataFrameSchema, runs: pd.DataFrame) -> None:
    """Raise `TableError` for the first fault that a schema finds."""
    try:
        schema.validate(runs, lazy=True)
    except SchemaErrors as errors:
        fault = errors.failure_cases.iloc[0]
        row, column = int(fault["index"]), fault["column"]
        value: Any = runs.at[row, column]
        shown = repr(value) if isinstance(value, str) else f"{value:g}"
        message = "is empty" if pd.isna(value) else f"{shown}: it {fault['check']}"
        raise TableError(message, column=column, row=row) from None


def _refuse_repeated_rows(runs: pd.DataFrame, point: Sequence[str]) -> None:
    """Refuse a repetition that occurs twice."""
    twice = _rows_with_the_same(runs, (*point, "block", "repetition", "attempt")).position > 0
    if twice.any():
        row = int(twice.argmax())
        raise TableError("the same repetition as in a row before", column="repetition", row=row)
