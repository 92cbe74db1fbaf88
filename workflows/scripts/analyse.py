"""Make the tables of a study from its runs table."""

import json
import sys
from pathlib import Path

from analysis.records import TableError, read_runs
from analysis.settings import Settings
from analysis.tables import make_tables, write_tables

study = json.loads(Path(snakemake.input.facts).read_text())["study"]
settings = Settings(
    study=study["name"],
    baselines=tuple(study["baselines"]),
    compare_kinds=tuple(map(tuple, study["compare_kinds"])),
    seed=study["seed"],
)
try:
    write_tables(make_tables(read_runs(snakemake.input.runs), settings), snakemake.output.tables)
except TableError as error:
    sys.exit(f"nodeworth: {error}")
