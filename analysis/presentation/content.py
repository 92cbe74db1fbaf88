"""Input of the functions that write sections of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from analysis.presentation.blocks import Block, figure
from analysis.presentation.labels import Labels
from analysis.runs.facts import Facts


@dataclass(frozen=True)
class Content:
    """Runs, tables, facts and figures of a study.

    Attributes
    ----------
    tables : mapping of str to DataFrame
        See `analysis.pipeline.read_tables`. Tables that do not apply are absent.
    entries : sequence of mapping
        The `analysis.presentation.drawing.Drawing.entry` of each figure.
    published : mapping of str to DataFrame
        Published figures without times of runs; see `analysis.importers.read_published`.
    """

    runs: pd.DataFrame
    tables: Mapping[str, pd.DataFrame]
    facts: Facts
    entries: Sequence[Mapping[str, Any]]
    published: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def labels(self) -> Labels:
        """Names of the cases and interconnects."""
        return Labels(self.facts)

    @property
    def cases(self) -> list[str]:
        """Cases with estimates, in the order of the study."""
        return self.labels.sorted_cases(self.tables["scaling"]["case"])

    def figures(self, topic: str, case: str | None = None) -> list[Block]:
        """Make the figures of a topic, or of one case of a topic."""
        return [
            figure(entry)
            for entry in self.entries
            if entry["topic"] == topic and (case is None or entry["case"] == case)
        ]

    def rows(self, table: str, case: str) -> pd.DataFrame:
        """Return the rows of a table that belong to a case."""
        all_rows = self.tables[table]
        return all_rows[all_rows["case"] == case]
