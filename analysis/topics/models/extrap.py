"""Export of runs to the text format of Extra-P (docs/file-formats.md of Extra-P 4)."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.curves.curves import Curve, all_curves, ranking
from analysis.curves.sites import runs_by_site
from analysis.runs.settings import Settings


def extrap_texts(runs: pd.DataFrame) -> dict[str, str]:
    """Write the times of each curve in the text format of Extra-P, with blocks as repeated measurements.

    Extra-P takes one set of points per file, so each curve has a file. The files omit the serial run, which
    belongs to no interconnect.

    Returns
    -------
    dict of str
        Text by file name, ``<case>.<interconnect>.<kind>.x<oversubscription>.txt``. The name also states the
        processes per node if the study varies placement, the threads per process if there are several, and
        the site if the study has several.
    """
    settings = Settings(draws=100)
    texts: dict[str, str] = {}
    for site, site_runs in runs_by_site(runs):
        for curves in all_curves(site_runs, ranking(site_runs), settings):
            texts |= {_name(curve, site): _text(curve) for curve in curves}
    return texts


def _name(curve: Curve, site: str) -> str:
    """Return the name of the file of a curve: see `extrap_texts`."""
    name = f"{curve.case}.{curve.interconnect}.{curve.kind}.x{curve.oversubscription}"
    if curve.processes_per_node is not None:
        name += f".{curve.processes_per_node:g}-a-node"
    if curve.threads > 1:
        name += f".{curve.threads}-threads"
    return f"{name}.{site}.txt" if site else f"{name}.txt"


def _text(curve: Curve) -> str:
    """Write the times of a curve in the format of Extra-P."""
    positions = np.flatnonzero(~curve.is_serial)
    points = " ".join(f"({processes})" for processes in curve.processes[positions])
    lines = ["PARAMETER processes", f"POINTS {points}", "METRIC seconds"]
    lines.append(f"REGION {curve.case}->{curve.interconnect}")
    for position in positions:
        # The format has no exponents.
        times = [np.format_float_positional(seconds, trim="-") for seconds in curve.samples[position].seconds]
        lines.append(f"DATA {' '.join(times)}")
    return "\n".join(lines) + "\n"


def write_extrap(runs: pd.DataFrame, folder: str | Path) -> list[Path]:
    """Write the texts of `extrap_texts` into a folder, all or none, and return the paths."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    texts = extrap_texts(runs)
    with tempfile.TemporaryDirectory(prefix=".extrap-", dir=folder) as fresh:
        for name, text in texts.items():
            (Path(fresh) / name).write_text(text, encoding="utf-8")
        return [(Path(fresh) / name).replace(folder / name) for name in texts]
