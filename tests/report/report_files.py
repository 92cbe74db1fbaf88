"""Running the report's scripts outside Snakemake."""

import json
import runpy
from pathlib import Path
from types import SimpleNamespace

from analysis.estimates.scaling import write_tables
from analysis.importers import write_derived

SCRIPTS = Path(__file__).parents[2] / "workflows" / "scripts"


def run_script(name, inputs, output, **params):
    """Run a script of the workflow with what Snakemake would give it."""
    given = {"input": SimpleNamespace(**inputs), "params": SimpleNamespace(**params)}
    snakemake = SimpleNamespace(**given, output=output)
    runpy.run_path(str(SCRIPTS / f"{name}.py"), {"snakemake": snakemake})


def print_study(folder, runs, tables, facts, published=None):
    """Write the inputs of a report and run its four scripts."""
    folder.mkdir(parents=True, exist_ok=True)
    runs.to_parquet(folder / "runs.parquet", index=False)
    write_tables(tables, folder / "tables")
    (folder / "facts.json").write_text(json.dumps(facts.as_json()), encoding="utf-8")
    write_derived(published or {}, folder / "published")
    names = {"runs": "runs.parquet", "report": "report.json", "facts": "facts.json"}
    names |= {name: name for name in ("tables", "figures", "published")}
    files = {key: str(folder / name) for key, name in names.items()}
    run_script("figures", files, SimpleNamespace(figures=files["figures"]))
    run_script("report_data", files, SimpleNamespace(report=files["report"]), looks=folder / "looks.json")
    for ending in ("pdf", "html"):
        run_script("print_report", files, [str(folder / f"report.{ending}")])
    return folder
