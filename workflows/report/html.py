"""A report as a single HTML page, which needs no network connection and no other file."""

from __future__ import annotations

import json
import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

FOLDER = Path(__file__).parent
SCRIPTS = ("report.js", "figures.js")
EXPLORER_SCRIPTS = ("explore.js",)
PROLOG = re.compile(r"^.*?(?=<svg)", re.DOTALL)
SIZE = re.compile(r'(<svg[^>]*?) (?:width|height)="[^"]*"')
INTERACTIVE = 'role="application" tabindex="0" aria-roledescription="figure" aria-describedby="keys"'
"""HTML attributes of a figure on the page. The user steps through its values with keys."""


def write_html(report: Path, figures: Path, output: Path) -> None:
    """Print a report as an HTML page that contains its figures, style and scripts.

    An existing page is replaced only when the new page is complete.

    Parameters
    ----------
    report, figures : Path
        See `workflows.report.pdf.write_pdf`.

    Raises
    ------
    FileNotFoundError
        If a figure is missing.
    """
    data = json.loads(report.read_text(encoding="utf-8"))
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    explorer = data.get("explore") or {}
    charts = explorer.pop("charts", None)  # an archive may hold a report of an earlier version
    explorer_data = json.dumps(explorer, ensure_ascii=False).replace("<", "\\u003c")
    data["explore"] = {**explorer, "charts": charts} if charts else None
    names = (*SCRIPTS, *(EXPLORER_SCRIPTS if charts else ()))
    scripts = [
        f"const known = {explorer_data};",
        *((FOLDER / name).read_text(encoding="utf-8") for name in names),
    ]
    page = environment.get_template("report.html.j2").render(
        report=data,
        style=Markup((FOLDER / "report.css").read_text(encoding="utf-8")),
        script=Markup("\n".join(scripts)),
        svg=lambda name: inline_svg((figures / f"{name}.svg").read_text(encoding="utf-8")),
    )
    draft = output.with_name(f".{output.name}")
    draft.write_text(page, encoding="utf-8")
    draft.replace(output)


def inline_svg(text: str) -> Markup:
    """Return an SVG file as text for the page: without prolog and size, with the attributes `INTERACTIVE`.

    The words in the file are already escaped: see `analysis.presentation.drawing.save`.
    """
    text = PROLOG.sub("", text, count=1)
    while SIZE.match(text):
        text = SIZE.sub(r"\1", text, count=1)
    return Markup(text.replace('role="img"', INTERACTIVE, 1))
