"""The page about the statistics names every column of the tables that it is about."""

import re
from pathlib import Path

import pytest

from analysis.model_tables import MODEL_TABLES
from analysis.precision import PRECISION
from analysis.quality import QUALITY
from analysis.schemas import TABLES

SCHEMAS = {**TABLES, **MODEL_TABLES, **QUALITY, "precision": PRECISION}
PAGE = Path(__file__).parents[2] / "docs/statistics.md"


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_column_is_documented(name):
    words = set(re.findall(r"\w+", PAGE.read_text()))
    columns = {re.sub("_(low|high)$", "", column) for column in SCHEMAS[name].columns}
    assert {column for column in columns - words if f"{column}_low" not in words} == set()
