"""What the sections of a report are made from."""

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
    """A study's data.

    Attributes
    ----------
    tables : mapping of str to DataFrame
        As `analysis.pipeline.read_tables` gives it; tables that do not apply are not there.
    entries : sequence of mapping
        One for each figure, as `analysis.presentation.drawing.Drawing.entry` gives it.
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
