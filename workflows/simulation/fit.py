"""Compare a model with the ping-pong that it was fitted to, by replaying a ping-pong on the model."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.runs.facts import AboutFit
from workflows.simulation import packets, programs
from workflows.simulation.model import InterconnectModel
from workflows.simulation.platform import platform_xml
from workflows.simulation.replayer import replay

BYTE = 6
"""SimGrid's number for the data type ``MPI_BYTE`` in traces."""

LEFT_OUT_FROM_BYTES = 2048
"""Smallest message whose leave-one-out error is judged. Smaller sizes lie too close to protocol changes."""


def pingpong(sizes: Sequence[int]) -> list[list[str]]:
    """Return the traces of the two ranks of a ping-pong: a round trip per size, with marks between them."""
    first, second = [], []
    for size in sizes:
        first += ["mark", f"send 1 0 {size} {BYTE}", f"recv 1 0 {size} {BYTE}"]
        second += [f"recv 0 0 {size} {BYTE}", f"send 0 0 {size} {BYTE}"]
    return [[*first, "mark"], second]


def write_traces(traces: Sequence[Sequence[str]], folder: Path) -> None:
    """Write a trace to the file ``rank-<r>.txt`` for each rank, between ``init`` and ``finalize``."""
    for rank, lines in enumerate(traces):
        text = "".join(f"{rank} {line}\n" for line in ["init", *lines, "finalize"])
        (folder / f"rank-{rank}.txt").write_text(text)


def simulated_times(
    program: Path,
    model: InterconnectModel,
    sizes: Sequence[int],
    pattern: Callable[[Sequence[int]], list[list[str]]] = pingpong,
) -> NDArray[np.float64]:
    """Replay a pattern of two ranks on two nodes.

    Parameters
    ----------
    program : Path
        `workflows.simulation.replayer.SOURCE` as `workflows.simulation.programs.build` built it.
    sizes : sequence of int (sizes,)
        Bytes.
    pattern : callable
        Makes the traces of both ranks from `sizes`. Rank 0 has a ``mark`` before each size and at the end.

    Returns
    -------
    array of float (sizes,)
        Times between the marks in microseconds.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "platform.xml").write_text(platform_xml(model, 2, 1.0))
        write_traces(pattern(sizes), folder)
        result = replay(program, folder / "platform.xml", folder, (1.0, 1.0), 1, pattern.__name__)
    return np.diff(result.marks) * 1e6


def fit_table(program: Path, model: InterconnectModel) -> pd.DataFrame:
    """Compare the simulated times of a model with each measured point of its curve.

    Parameters
    ----------
    program : Path
        As in `simulated_times`. Its folder receives `packets.SOURCE` if the model has packets.

    Returns
    -------
    DataFrame
        One row per message size: ``bytes``; ``given_us``, the one-way time of the curve; ``simulated_us``,
        half of the simulated round trip; ``error_percent``, the error of ``simulated_us``;
        ``left_out_percent``, the leave-one-out error (see `PingPongCurve.left_out`).
    """
    sizes = model.curve.bytes
    if model.packets:
        packet_program = programs.build(packets.SOURCE, program.parent)
        times = packets.one_way_us(packet_program, model, sizes)
    else:
        times = simulated_times(program, model, sizes) / 2
    table = model.curve.left_out().rename(columns={"microseconds": "given_us"})
    table.insert(2, "simulated_us", times)
    table.insert(3, "error_percent", 100 * (times / table["given_us"] - 1))
    return table.iloc[1:].reset_index(drop=True) if model.curve.has_stand_in else table


def fit_summary(table: pd.DataFrame) -> AboutFit:
    """Return the mean and the largest absolute error of a `fit_table`, in percent of the times.

    Leave-one-out errors count from `LEFT_OUT_FROM_BYTES` on; their mean and maximum are None if none counts.
    """
    errors = table["error_percent"].abs()
    left_out = table.loc[table["bytes"] >= LEFT_OUT_FROM_BYTES, "left_out_percent"].dropna().abs()
    return AboutFit(
        points=len(table),
        mean_percent=float(errors.mean()),
        largest_percent=float(errors.max()),
        left_out_points=len(left_out),
        left_out_mean_percent=float(left_out.mean()) if len(left_out) else None,
        left_out_largest_percent=float(left_out.max()) if len(left_out) else None,
    )
