"""Running the report's scripts outside Snakemake."""

import importlib.util
import json
from pathlib import Path

from analysis.estimates.scaling import write_tables
from analysis.importers import write_derived

SCRIPTS = Path(__file__).parents[2] / "workflows" / "scripts"


def script(name):
    """Return the main function of a script of the workflow."""
    spec = importlib.util.spec_from_file_location(f"script_{name}", SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


def print_study(folder, runs, tables, facts, published=None):
    """Write the inputs of a report and run its four scripts."""
    folder.mkdir(parents=True, exist_ok=True)
    runs.to_parquet(folder / "runs.parquet", index=False)
    write_tables(tables, folder / "tables")
    (folder / "facts.json").write_text(json.dumps(facts.as_json()), encoding="utf-8")
    write_derived(published or {}, folder / "published")
    names = ("runs.parquet", "tables", "facts.json", "figures", "report.json", "report.pdf", "report.html")
    runs_table, table_folder, facts_json, figures, report, pdf, html = (str(folder / name) for name in names)
    script("figures")(runs_table, table_folder, facts_json, figures)
    script("report_data")(runs_table, table_folder, facts_json, figures, str(folder / "published"), report)
    script("print_report")(report, figures, pdf)
    script("print_report")(report, figures, html)
    return folder
