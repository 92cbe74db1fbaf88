"""Every table that a study may come to, with its schema, by the name of its file."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.estimates.changes import CHANGES
from analysis.estimates.model_tables import MODEL_TABLES
from analysis.estimates.precision import PRECISION
from analysis.estimates.quality import QUALITY
from analysis.estimates.time_parts import PART_TABLES
from analysis.estimates.validation import VALIDATION
from analysis.networks.congestion.tables import CONGESTION_TABLES
from analysis.networks.replays import SIMULATED_TABLES
from analysis.networks.tables import NETWORK_TABLES
from analysis.networks.traffic import TRAFFIC_TABLES
from analysis.tables.contract import TABLES, validated
from analysis.tables.decision_schemas import DECISION_TABLES
from analysis.tables.frames import Piece, stacked

REQUIRED = tuple(TABLES)
"""Tables that every study has; any other table is there if it applies."""

ALL_TABLES = {
    **TABLES,
    **MODEL_TABLES,
    **QUALITY,
    "precision": PRECISION,
    **PART_TABLES,
    **DECISION_TABLES,
    **CHANGES,
    **NETWORK_TABLES,
    **CONGESTION_TABLES,
    **TRAFFIC_TABLES,
    **SIMULATED_TABLES,
    **VALIDATION,
}
"""Schema of each table by its name, which is that of its file."""


def finished(name: str, pieces: Sequence[Piece]) -> pd.DataFrame:
    """Table of a name from its pieces: with the columns of its schema, in its order and of its types."""
    return validated(ALL_TABLES[name], stacked(pieces))
