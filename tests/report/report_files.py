"""Running the report's scripts outside Snakemake."""

import json
import runpy
from pathlib import Path
from types import SimpleNamespace

from analysis.importers import write_derived
from analysis.pipeline import write_tables

RULE = {
    "name": "doubling", "title": "1.5 a doubling", "quantity": "speedup_per_doubling", "source": "here", "note": "",
    "limits": [{"at_least": 1.5, "up_to_cores": None}],
}  # fmt: skip
SCRIPTS = Path(__file__).parents[2] / "workflows" / "scripts"


def run_script(name, inputs, output, **params):
    """Run a script of the workflow with what Snakemake would give it."""
    given = {"input": SimpleNamespace(**inputs), "params": SimpleNamespace(**params)}
    snakemake = SimpleNamespace(**given, output=output)
    runpy.run_path(str(SCRIPTS / f"{name}.py"), {"snakemake": snakemake}, run_name="__main__")


def print_study(folder, runs, tables, facts, published=None):
    """Write the inputs of a report and run its script."""
    folder.mkdir(parents=True, exist_ok=True)
    runs.to_parquet(folder / "runs.parquet", index=False)
    write_tables(tables, folder / "tables")
    (folder / "facts.json").write_text(json.dumps(facts.as_json() | {"proposal": RULE}), encoding="utf-8")
    write_derived(published or {}, folder / "published")
    inputs = {"runs": "runs.parquet", "facts": "facts.json", "tables": "tables", "published": "published"}
    files = {key: str(folder / name) for key, name in inputs.items()}
    output = SimpleNamespace(report=str(folder / "report.json"))
    run_script("report", files, output, looks=folder / "looks.json")
    return folder
