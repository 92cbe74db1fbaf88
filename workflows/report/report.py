"""From a study's tables to its figures and its report, as files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from analysis.pipeline import draw_figures
from analysis.presentation.drawing import save
from analysis.report import make_report
from analysis.runs.facts import Facts
from workflows.report.html import write_html
from workflows.report.pdf import write_pdf


def write_report(
    runs: pd.DataFrame,
    tables: Mapping[str, pd.DataFrame],
    facts: Facts,
    published: Mapping[str, pd.DataFrame],
    folder: Path,
) -> None:
    """Draw the figures of a study and print its report.

    Parameters
    ----------
    folder : Path
        Where ``figures`` (every figure as SVG and PNG, and ``index.json``, what a report needs to know of
        them), ``report.json`` (sections as plain data), ``report.pdf`` and ``report.html`` are written anew.
    """
    write_page(runs, tables, facts, published, folder, png=True)
    write_pdf(folder / "report.json", folder / "figures", folder / "report.pdf")


def write_page(
    runs: pd.DataFrame,
    tables: Mapping[str, pd.DataFrame],
    facts: Facts,
    published: Mapping[str, pd.DataFrame],
    folder: Path,
    png: bool = False,
) -> None:
    """Write the page, its data and its figures as SVG, or as SVG and PNG, without the PDF."""
    figures, report = folder / "figures", folder / "report.json"
    shutil.rmtree(figures, ignore_errors=True)
    figures.mkdir(parents=True)
    drawings = draw_figures(runs, tables, facts)
    for drawing in drawings:
        save(drawing, figures, png)
    index = [drawing.entry() for drawing in drawings]
    _write_json(index, figures / "index.json")
    _write_json(make_report(runs, tables, facts, index, published), report)
    write_html(report, figures, folder / "report.html")


def _write_json(data: object, file: Path) -> None:
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
    file.write_text(f"{text}\n", encoding="utf-8")
