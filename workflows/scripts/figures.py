"""Draw the figures of a study."""

import json
import shutil
from pathlib import Path

from analysis.figures.draw import draw_figures
from analysis.figures.drawing import save
from analysis.registry import read_tables
from analysis.runs.runs import TableError, read_complete
from workflows.errors import one_line_errors
from workflows.study.sites import read_facts


def main(runs: str, tables: str, facts: str, folder: str) -> None:
    """Write every figure as SVG and PNG, and what a report needs to know of them as index.json."""
    target = Path(folder)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    known = read_facts(Path(facts))
    drawings = draw_figures(read_complete(runs), read_tables(Path(tables)), known)
    for drawing in drawings:
        save(drawing, target)
    index = [drawing.entry() for drawing in drawings]
    (target / "index.json").write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")


if "snakemake" in globals():
    inputs = snakemake.input
    with one_line_errors(TableError):
        main(inputs.runs, inputs.tables, inputs.facts, snakemake.output.figures)
