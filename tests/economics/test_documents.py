"""The documents name every column of every table."""

import re

import pytest
from small_runs import ROOT

from analysis.decision_schemas import DECISION_TABLES
from analysis.parts import PARTS
from analysis.prices import BOOK

SCHEMAS = {**DECISION_TABLES, "price book": BOOK, "part list": PARTS}


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_column_is_documented(name):
    document = "proposal.md" if name == "proposal" else "economics.md"
    words = set(re.findall(r"\w+", (ROOT / "docs" / document).read_text()))
    columns = {re.sub("_(low|high)$", "", column) for column in SCHEMAS[name].columns}
    assert columns <= words
