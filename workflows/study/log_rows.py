"""Makes rows of the runs table from folders of logs."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.importers.lines import quoted
from analysis.runs.runs import COLUMNS, UNKNOWN_ORDER, TableError, complete_runs
from workflows.domain import InputError, LeftOut
from workflows.study.log_run import log_lines, log_row
from workflows.study.logs import READ, Logs

_NO_PROCESSES = "no number of processes: state processes, or processes_per_node and nodes"


@dataclass(frozen=True)
class LogRows:
    """Runs that logs hold.

    Attributes
    ----------
    runs : DataFrame
        A complete runs table.
    files : tuple of Path
        Log of each row.
    unread : list of LeftOut
        Logs that hold no valid run, with line and reason.
    """

    runs: pd.DataFrame
    files: tuple[Path, ...]
    unread: list[LeftOut]


def read_logs(logs: Logs, settings: Sequence[str] = ()) -> LogRows:
    """Read logs; each is a row, valid or not, unless its point is unknown.

    Parameters
    ----------
    settings : sequence of str
        Columns that separate points: see `analysis.runs.runs.complete_runs`.

    Raises
    ------
    InputError
        The template matches none of the paths, no log makes a row, or a row is wrong: one line.
    """
    rows, files, unread = [], [], []
    for file in logs.files:
        name = _shown(file, logs.base)
        of_path = logs.template.fields(file) if logs.template else {}
        if logs.template and of_path is None:
            unread.append(LeftOut(name, f"from_path {logs.template.text!r} does not match the path"))
            continue
        lines = log_lines(file)
        row, line = log_row(logs, lines, of_path or {})
        where = f"{name}: line {line}"
        nowhere = row["processes"] is None
        reason = row["reason"] or (_NO_PROCESSES if nowhere else None)
        if reason:
            unread.append(LeftOut(where, f"{reason}, at {quoted(lines[line - 1].text)}"))
        if not nowhere:
            rows.append(row | {"record": where})
            files.append(file)
    if not rows:
        first = f"{unread[0].what}: {unread[0].reason}"
        raise InputError(f"{logs.where}: none of {len(logs.files)} logs can be read; the first: {first}")
    return LogRows(_table(logs, rows, files, settings), tuple(files), unread)


def _table(
    logs: Logs, rows: list[dict[str, Any]], files: list[Path], settings: Sequence[str]
) -> pd.DataFrame:
    """Complete the rows; without a date or repetition the order of the runs is unknown."""
    frame = pd.DataFrame(rows).dropna(axis="columns", how="all")
    for column in frame.columns.difference([*COLUMNS, *READ, "work_unit"]):  # columns of settings
        with contextlib.suppress(ValueError, TypeError):
            frame[column] = pd.to_numeric(frame[column])
    if "repetition" in frame and frame["repetition"].min() == 0:
        frame["repetition"] += 1
    if "seconds" not in frame:
        frame["seconds"] = np.nan
    # The order of the names is no order in time: the order of such rows is drawn, so that no test sees one.
    drawn = np.random.default_rng(0).permutation(len(frame))
    try:
        runs = complete_runs(frame.iloc[drawn], logs.where, settings=settings)
    except TableError as error:
        if error.row is None:
            raise InputError(f"{logs.where}: {error.column}: {error.message}") from None
        file = _shown(files[drawn[error.row]], logs.base)
        raise InputError(f"{logs.where}: {file}: {error.column}: {error.message}") from None
    runs["order_from"] = runs["order_from"].mask(runs["order_from"] == "row", UNKNOWN_ORDER)
    return runs.iloc[np.argsort(drawn)].reset_index(drop=True)


def _shown(file: Path, base: Path) -> str:
    """Return the path relative to the study file, or the whole path of a file elsewhere."""
    return str(file.relative_to(base) if file.is_relative_to(base) else file)
