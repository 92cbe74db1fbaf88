"""Reports and proposals as PDF.

The fonts of text and figures come with Typst and Matplotlib; those of the system only serve letters that
these lack.
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
"""Of a proposal."""


def write_pdf(report: Path, figures: Path, output: Path) -> None:
    """Print a report as PDF.

    Parameters
    ----------
    report : Path
        JSON file of what `analysis.report.make_report` gives.
    figures : Path
        Folder of its figures, as SVG.
    output : Path
        The PDF; written whole or not at all.

    Raises
    ------
    typst.TypstError
        If a figure is missing or the JSON is no report.
    """
    inputs = {"report": str(report.resolve()), "figures": str(figures.resolve())}
    output.write_bytes(typst.compile(REPORT, root="/", font_paths=[FONTS], sys_inputs=inputs))


def write_proposal(
    page: Callable[[int], dict[str, Any]], curves: int, output: Path, figures: Path = Path()
) -> int:
    """Print the page of a proposal: of its curves, the first that fit on two pages.

    Parameters
    ----------
    page : callable
        Gives the page of the first so many curves, as `analysis.topics.proposal.section.page` does.
    curves : int
        How many there are.
    output : Path
        The PDF; written whole or not at all.
    figures : Path
        Folder of the figures, as SVG.

    Returns
    -------
    int
        Curves on it: at least one where there are any, whatever room it takes.
    """

    def given(number: int) -> dict[str, Any]:
        inputs = {"page": json.dumps(page(number)), "figures": str(figures.resolve())}
        return {"root": "/", "font_paths": [FONTS], "sys_inputs": inputs}

    def pages(number: int) -> int:
        return int(typst.query(PROPOSAL, "<pages>", field="value", one=True, **given(number)))

    fitting = curves
    if curves > 1 and pages(curves) > MOST_PAGES:
        fitting = max(bisect_right(range(1, curves), MOST_PAGES, key=pages), 1)
    output.write_bytes(typst.compile(PROPOSAL, **given(fitting)))
    return fitting
