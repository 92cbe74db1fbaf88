"""Draw the pictures of docs/reading-the-report.md from the report of the study `published_channel`.

    ./run-study published_channel && .venv/bin/python -m docs.draw_report

The first command makes the report from published runs, in half a minute.
"""

from __future__ import annotations

import io

from PIL import Image

from workflows.paths import ROOT
from workflows.report.pdf import compile_report

STUDY = ROOT / "results/published_channel"
PICTURES = {"report_page_one": (0, (60, 70, 850, 895)), "report_case": (2, (60, 85, 850, 825))}
"""Name of each picture, its page, and the part of the page in pixels: left, top, right, bottom."""
PIXELS_PER_INCH = 110.0


def draw() -> None:
    """Write each picture with 128 colours, which halves its size."""
    pages = compile_report(STUDY / "report.json", STUDY / "figures", format="png", ppi=PIXELS_PER_INCH)
    for name, (page, part) in PICTURES.items():
        picture = Image.open(io.BytesIO(pages[page])).convert("RGB").crop(part)
        picture.quantize(128).save(ROOT / f"docs/images/{name}.png", optimize=True)


if __name__ == "__main__":
    draw()
