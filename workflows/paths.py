"""Where everything of the project lies."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT / "cases"
CONFIG = ROOT / "config"
INTERCONNECTS = CONFIG / "interconnects"
STUDIES = CONFIG / "studies"
SCHEMAS = ROOT / "workflows/schemas"
RESULTS = Path("results")
"""Relative to the folder in which Snakemake runs, the project's root."""

FACTS = "facts.json"
"""Beside the runs.csv of a study of ours: titles of cases and interconnects, machine, versions."""
