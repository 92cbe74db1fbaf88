"""What the sections of a report are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pandera.pandas as pa
from pandera.errors import SchemaError, SchemaErrors

from analysis.registry import ALL_TABLES, REQUIRED
from analysis.report.blocks import Block, figure
from analysis.runs.checked import checked
from analysis.runs.facts import Facts
from analysis.runs.runs import TableError
from analysis.tables.contract import TEXT
from analysis.text.labels import Labels


def read_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Read the tables that `analysis.estimates.scaling.write_tables` wrote.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    dict of str to DataFrame
        With the types of `analysis.registry.ALL_TABLES`. Tables that do not apply to the study are not
        there.

    Raises
    ------
    TableError
        If one that every study has is missing, or one is not what its schema says.
    """
    files = {name: folder / f"{name}.csv" for name in ALL_TABLES}
    wanted = {name: file for name, file in files.items() if name in REQUIRED or file.exists()}
    return {name: _read_table(file, ALL_TABLES[name]) for name, file in wanted.items()}


def _read_table(file: Path, schema: pa.DataFrameSchema) -> pd.DataFrame:
    texts = [name for name, column in schema.columns.items() if column.dtype == TEXT.dtype]
    if not file.exists():
        raise TableError("there is no such file", str(file))
    try:
        read = pd.read_csv(file, keep_default_na=False, na_values=[""], dtype=dict.fromkeys(texts, "str"))
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise TableError(f"is no table: {str(error).splitlines()[0]}", str(file)) from None
    for column in schema.columns:
        if column not in read:
            raise TableError("is missing", str(file), column=column)
    try:
        return checked(schema, read[list(schema.columns)])
    except (SchemaError, SchemaErrors):
        raise TableError(f"holds values that no {schema.name} table has", str(file)) from None


@dataclass(frozen=True)
class Content:
    """A study's data.

    Attributes
    ----------
    runs : DataFrame
    tables : mapping of str to DataFrame
        As `read_tables` gives it; tables that do not apply are not there.
    facts : Facts
    entries : sequence of mapping
        One for each figure, as `analysis.figures.drawing.Drawing.entry` gives it.
    published : mapping of str to DataFrame
        Figures without a time of a run, as `analysis.importers.read_published` gives them.
    """

    runs: pd.DataFrame
    tables: Mapping[str, pd.DataFrame]
    facts: Facts
    entries: Sequence[Mapping[str, Any]]
    published: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def labels(self) -> Labels:
        """Names of the study's cases and interconnects."""
        return Labels(self.facts)

    @property
    def cases(self) -> list[str]:
        """Cases that have estimates, in the study's order."""
        return self.labels.sorted_cases(self.tables["scaling"]["case"])

    def figures(self, topic: str, case: str | None = None) -> list[Block]:
        """Figures of a topic, of one case if one is given."""
        return [
            figure(entry)
            for entry in self.entries
            if entry["topic"] == topic and (case is None or entry["case"] == case)
        ]

    def rows(self, table: str, case: str) -> pd.DataFrame:
        """Rows of a table that belong to a case."""
        whole = self.tables[table]
        return whole[whole["case"] == case]
