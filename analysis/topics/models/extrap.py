"""Export to Extra-P's text format (docs/file-formats.md of Extra-P 4)."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.curves.curves import Curve, all_curves, ranking
from analysis.curves.sites import runs_by_site
from analysis.runs.settings import Settings


def extrap_texts(runs: pd.DataFrame) -> dict[str, str]:
    """Write one text a curve, with every block time as a repeated measurement.

    Extra-P takes one set of points a file, so curves of different process counts need different
    files. The serial run belongs to no interconnect and is left out.

    Returns
    -------
    dict of str
        Text by file name, ``<case>.<interconnect>.<kind>.x<oversubscription>.txt``, with the processes
        a node where placement varies, the threads of several a process, and the site where there are several.
    """
    settings = Settings(draws=100)
    return {
        _name(curve, site): _text(curve)
        for site, own in runs_by_site(runs)
        for curves in all_curves(own, ranking(own), settings)
        for curve in curves
    }


def _name(curve: Curve, site: str) -> str:
    placed = "" if curve.processes_per_node is None else f".{curve.processes_per_node:g}-a-node"
    at = (f".{curve.threads}-threads" if curve.threads > 1 else "") + (f".{site}" if site else "")
    return f"{curve.case}.{curve.interconnect}.{curve.kind}.x{curve.oversubscription}{placed}{at}.txt"


def _text(curve: Curve) -> str:
    own = np.flatnonzero(curve.own)
    points = " ".join(f"({processes})" for processes in curve.processes[own])
    lines = ["PARAMETER processes", f"POINTS {points}", "METRIC seconds"]
    lines.append(f"REGION {curve.case}->{curve.interconnect}")
    for number in own:  # the format knows no exponents
        times = [np.format_float_positional(seconds, trim="-") for seconds in curve.samples[number].seconds]
        lines.append(f"DATA {' '.join(times)}")
    return "\n".join(lines) + "\n"


def write_extrap(runs: pd.DataFrame, folder: str | Path) -> list[Path]:
    """Write the texts of `extrap_texts` into a folder, all of them or none; gives the paths."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    texts = extrap_texts(runs)
    with tempfile.TemporaryDirectory(prefix=".extrap-", dir=folder) as fresh:
        for name, text in texts.items():
            (Path(fresh) / name).write_text(text, encoding="utf-8")
        return [(Path(fresh) / name).replace(folder / name) for name in texts]
