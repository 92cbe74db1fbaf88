"""Page one of a report alone: as pictures for slides, and as Markdown for a ticket or a README."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typst

from analysis.presentation.style import FONTS
from workflows.report.pdf import REPORT

DOTS_AN_INCH = 200


def page_one(report: Mapping[str, Any], figures: Mapping[str, bytes]) -> dict[str, bytes]:
    """Print page one of a report.

    Parameters
    ----------
    report : mapping
        What `analysis.report.make_report` gives.
    figures : mapping
        Its figures as SVG, by name.

    Returns
    -------
    dict of bytes
        ``answer.svg``, ``answer.png`` and ``answer.md``; empty where the report has no answer, or a figure of
        it is missing.
    """
    answers = [section for section in report["sections"] if section["id"] == "answer"]
    drawn = [block["name"] for section in answers for block in section["blocks"] if block["type"] == "figure"]
    if not answers or not figures.keys() >= set(drawn):
        return {}
    with TemporaryDirectory() as folder:
        alone = Path(folder) / "report.json"
        alone.write_text(json.dumps({**report, "sections": answers}, ensure_ascii=False), encoding="utf-8")
        for name in drawn:
            (Path(folder) / f"{name}.svg").write_bytes(figures[name])
        inputs = {"report": str(alone), "figures": folder}
        made = {
            ending: typst.compile(
                REPORT, root="/", font_paths=[FONTS], sys_inputs=inputs, format=ending, ppi=DOTS_AN_INCH
            )
            for ending in ("svg", "png")
        }
    pictures = {f"answer.{ending}": _first(pages) for ending, pages in made.items()}
    lines = (line for block in answers[0]["blocks"] for line in (*_markdown(block), ""))
    text = "\n".join([f"# {_escaped(report['title'])}", "", _escaped(report["subtitle"]), "", *lines])
    return pictures | {"answer.md": text.encode()}


def _first(pages: bytes | list[bytes]) -> bytes:
    return pages[0] if isinstance(pages, list) else pages


def _markdown(block: Mapping[str, Any]) -> Iterator[str]:
    match block["type"]:
        case "paragraph":
            yield _escaped(block["text"])
        case "list":
            yield from (f"- {_escaped(item)}" for item in block["items"])
        case "figure":
            yield f"*Figure: {_escaped(block['alt'])}*"
        case "table":
            yield from (_escaped(block["caption"]), "")
            yield _row(" ".join(column["title"]) for column in block["columns"])
            yield _row("---:" if column["align"] == "right" else "---" for column in block["columns"])
            for group in block["groups"]:
                if group["title"]:
                    yield _row([group["title"], *[""] * (len(block["columns"]) - 1)])
                yield from (_row(row["cells"]) for row in group["rows"])


def _row(cells: Iterator[str] | list[str]) -> str:
    return f"| {' | '.join(cell if set(cell) <= set('-:') else _escaped(cell) for cell in cells)} |"


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return "".join(f"\\{letter}" if letter in "\\`*_|<>[]#" else letter for letter in text)
