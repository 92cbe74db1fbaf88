"""Draw every figure of a study as SVG and PNG; index.json is what a report needs to know of them."""

import json
import shutil
from pathlib import Path

from analysis.figures.draw import draw_figures
from analysis.figures.drawing import save
from analysis.report import read_tables
from analysis.runs.runs import TableError, read_complete
from workflows.errors import one_line_errors
from workflows.study.sites import read_facts

inputs, target = snakemake.input, Path(snakemake.output.figures)
with one_line_errors(TableError):
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    facts = read_facts(Path(inputs.facts))
    drawings = draw_figures(read_complete(inputs.runs), read_tables(Path(inputs.tables)), facts)
    for drawing in drawings:
        save(drawing, target)
    index = [drawing.entry() for drawing in drawings]
    (target / "index.json").write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
