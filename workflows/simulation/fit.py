"""How well a model repeats the ping-pong that it was fitted to, by replaying a ping-pong on it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.runs.facts import AboutFit
from workflows.simulation import packets, programs
from workflows.simulation.model import InterconnectModel
from workflows.simulation.platform import platform_xml
from workflows.simulation.replayer import replay

BYTE = 6
"""SimGrid's number of the data type of one byte."""

LEFT_OUT_FROM_BYTES = 2048
"""From here on the points that were left out are judged; below, a change of protocol is never far."""


def pingpong(sizes: Sequence[int]) -> list[list[str]]:
    """Traces of two ranks that exchange a message of each size, one after the other, marked in between."""
    first, second = [], []
    for size in sizes:
        first += ["mark", f"send 1 0 {size} {BYTE}", f"recv 1 0 {size} {BYTE}"]
        second += [f"recv 0 0 {size} {BYTE}", f"send 0 0 {size} {BYTE}"]
    return [[*first, "mark"], second]


def write_traces(ranks: Sequence[Sequence[str]], folder: Path) -> None:
    """Write ``rank-<r>.txt`` of each rank, with the start and the end that a trace needs."""
    for rank, lines in enumerate(ranks):
        text = "".join(f"{rank} {line}\n" for line in ["init", *lines, "finalize"])
        (folder / f"rank-{rank}.txt").write_text(text)


def simulated_times(
    program: Path, model: InterconnectModel, sizes: Sequence[int], pattern: Callable = pingpong
) -> np.ndarray:
    """Time between the marks of a pattern of two ranks on two nodes, in microseconds, one a size."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "platform.xml").write_text(platform_xml(model, 2, 1.0))
        write_traces(pattern(sizes), folder)
        done = replay(program, folder / "platform.xml", folder, (1.0, 1.0), 1, pattern.__name__)
    return np.diff(done.marks) * 1e6


def _one_way_us(program: Path, model: InterconnectModel) -> np.ndarray:
    if model.packets:
        carrier = programs.build(packets.SOURCE, program.parent)
        return packets.one_way_us(carrier, model, model.curve.bytes)
    return simulated_times(program, model, model.curve.bytes) / 2


def fit_table(program: Path, model: InterconnectModel) -> pd.DataFrame:
    """Hold the model against each point of its curve.

    Parameters
    ----------
    program : Path
        The replayer: see `workflows.simulation.replayer.SOURCE`.

    Returns
    -------
    DataFrame
        One row a message size: ``bytes``, ``given_us`` (the curve's one-way time), ``simulated_us`` (half of
        the replayed round trip), ``error_percent`` of it, and ``left_out_percent``, what the error is when
        the model does not know the point: see `PingPongCurve.left_out`.
    """
    times = _one_way_us(program, model)
    table = model.curve.left_out().rename(columns={"microseconds": "given_us"})
    table.insert(2, "simulated_us", times)
    table.insert(3, "error_percent", 100 * (times / table["given_us"] - 1))
    return table


def fit_summary(table: pd.DataFrame) -> AboutFit:
    """Mean and largest error of a `fit_table`, in percent of the points' times, signs left aside.

    Points that can be left out are judged from `LEFT_OUT_FROM_BYTES` bytes on; there may be none.
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
