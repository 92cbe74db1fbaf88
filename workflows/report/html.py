"""A report as one HTML page that needs nothing else: no network, no other file."""

from __future__ import annotations

import json
import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

FOLDER = Path(__file__).parent
SCRIPTS = ("report.js", "figures.js")
EXPLORING = ("explore.js",)
PROLOG = re.compile(r"^.*?(?=<svg)", re.DOTALL)
SIZE = re.compile(r'(<svg[^>]*?) (?:width|height)="[^"]*"')
USED = 'role="application" tabindex="0" aria-roledescription="figure" aria-describedby="keys"'
"""What a drawing is on the page, where keys step through its values."""


def write_html(report: Path, figures: Path, output: Path) -> None:
    """Print a report as an HTML page with its figures, style and script inside, from what `write_pdf` takes.

    The page is written whole or not at all; what was there before stays until then.

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
    explored = data.get("explore") or {}
    charts = explored.pop("charts", None)  # an archive may print what an earlier version wrote
    known = json.dumps(explored, ensure_ascii=False).replace("<", "\\u003c")
    data["explore"] = {**explored, "charts": charts} if charts else None
    names = (*SCRIPTS, *(EXPLORING if charts else ()))
    scripts = [f"const known = {known};", *((FOLDER / name).read_text(encoding="utf-8") for name in names)]
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
    """Make an SVG file part of a page: no prolog, the size that the page gives it, and used by keys.

    The files are those of `analysis.presentation.drawing.save`, whose texts are escaped already.
    """
    text = PROLOG.sub("", text, count=1)
    while SIZE.match(text):
        text = SIZE.sub(r"\1", text, count=1)
    return Markup(text.replace('role="img"', USED, 1))
