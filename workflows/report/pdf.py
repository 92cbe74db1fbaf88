"""A report as PDF."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import typst

TEMPLATE = Path(__file__).with_name("report.typ")


def write_pdf(report: Path, figures: Path, output: Path) -> None:
    """Print a report as PDF.

    The fonts of text and figures come with Typst and Matplotlib; those of the system only serve
    letters that these lack.

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
        If a figure is missing or the JSON is not that of a report.
    """
    inputs = {"report": str(report.resolve()), "figures": str(figures.resolve())}
    fonts = Path(mpl.get_data_path()) / "fonts" / "ttf"
    output.write_bytes(typst.compile(TEMPLATE, root="/", font_paths=[fonts], sys_inputs=inputs))
