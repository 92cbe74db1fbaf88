"""Page one of a report as pictures for slides, and as Markdown for a ticket or a README."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from workflows.report.pdf import compile_report

DOTS_PER_INCH = 200


def page_one(report: Mapping[str, Any], figures: Mapping[str, bytes]) -> dict[str, bytes]:
    """Print page one of a report.

    Parameters
    ----------
    report : mapping
        See `analysis.report.make_report`.
    figures : mapping
        Figures as SVG, by name.

    Returns
    -------
    dict of bytes
        ``answer.svg``, ``answer.png`` and ``answer.md``; empty if the report has no page one, or if a figure
        of page one is missing.
    """
    answers = [section for section in report["sections"] if section["id"] == "answer"]
    names = [block["name"] for section in answers for block in section["blocks"] if block["type"] == "figure"]
    if not answers or not figures.keys() >= set(names):
        return {}
    pictures = {}
    with TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        file.write_text(json.dumps({**report, "sections": answers}, ensure_ascii=False), encoding="utf-8")
        for name in names:
            (Path(folder) / f"{name}.svg").write_bytes(figures[name])
        for ending in ("svg", "png"):
            pages = compile_report(file, Path(folder), format=ending, ppi=DOTS_PER_INCH)
            pictures[f"answer.{ending}"] = pages[0] if isinstance(pages, list) else pages
    title, subtitle = report["title"], report["subtitle"]
    result = report.get("result", title)  # reports of earlier versions state none
    subtitle = subtitle if result == title else f"{title} · {subtitle}"
    lines = (line for block in answers[0]["blocks"] for line in (*_markdown(block), ""))
    text = "\n".join([f"# {_escaped(result)}", "", _escaped(subtitle), "", *lines])
    return pictures | {"answer.md": text.encode()}


def _markdown(block: Mapping[str, Any]) -> Iterator[str]:
    """Write a block as lines of Markdown."""
    match block["type"]:
        case "paragraph":
            yield _escaped(block["text"])
        case "list":
            yield from (f"- {_escaped(item)}" for item in block["items"])
        case "key_figures":
            yield from (f"- {_key_figure(figure)}" for figure in block["key_figures"])
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


def _key_figure(figure: Mapping[str, str]) -> str:
    """Write a key figure as a line of Markdown with its value in bold."""
    value = f"**{_escaped(figure['value'])}** {_escaped(figure['interval'])}".strip()
    kind = f" ({figure['kind']})" if figure["kind"] else ""
    return f"{_escaped(figure['label'])}: {value}, {_escaped(figure['note'] + kind)}"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell if set(cell) <= set('-:') else _escaped(cell) for cell in cells)} |"


def _escaped(text: str) -> str:
    """Escape the characters that Markdown would interpret."""
    return "".join(f"\\{char}" if char in "\\`*_|<>[]#" else char for char in text)
