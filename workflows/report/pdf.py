"""Reports and proposals as PDF.

The fonts of text and figures come with Typst and Matplotlib. System fonts are used only for characters that
these fonts lack.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typst

from analysis.presentation.style import FONTS

REPORT, PROPOSAL = (Path(__file__).with_name(name) for name in ("report.typ", "proposal.typ"))
MOST_PAGES = 2
"""Largest number of pages of a proposal."""


def write_pdf(report: Path, figures: Path, output: Path) -> None:
    """Print a report as PDF.

    Parameters
    ----------
    report : Path
        JSON file of a report; see `analysis.report.make_report`.
    figures : Path
        Folder of the figures as SVG.
    output : Path
        Written only if the PDF is complete.

    Raises
    ------
    typst.TypstError
        If a figure is missing or the JSON is no report.
    """
    output.write_bytes(compile_report(report, figures))


def compile_report(report: Path, figures: Path, **options: Any) -> Any:
    """Compile a report, a JSON file, with the `options` of `typst.compile`."""
    inputs = {"report": str(report.resolve()), "figures": str(figures.resolve())}
    return typst.compile(str(REPORT), root="/", font_paths=[str(FONTS)], sys_inputs=inputs, **options)


def write_proposal(
    page: Callable[[int], dict[str, Any]], curves: int, output: Path, figures: Path = Path()
) -> int:
    """Print a proposal with as many curves as fit on `MOST_PAGES`.

    Parameters
    ----------
    page : callable
        Takes a number of curves, and returns the content of a proposal with the first so many curves.
    curves : int
        Number of all curves.
    output : Path
        PDF file, written only if it is complete.
    figures : Path
        Folder of the figures as SVG.

    Returns
    -------
    int
        Number of printed curves. A single curve is printed even if it needs more pages.
    """

    def options(number: int) -> dict[str, Any]:
        inputs = {"page": json.dumps(page(number)), "figures": str(figures.resolve())}
        return {"root": "/", "font_paths": [str(FONTS)], "sys_inputs": inputs}

    def count_pages(number: int) -> int:
        return int(typst.query(str(PROPOSAL), "<pages>", field="value", one=True, **options(number)))

    printed = curves
    if curves > 1 and count_pages(curves) > MOST_PAGES:
        printed = max(bisect_right(range(1, curves), MOST_PAGES, key=count_pages), 1)
    output.write_bytes(typst.compile(str(PROPOSAL), **options(printed)))
    return printed
