"""Every table that a study may come to, with its schema, by the name of its file."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.changes import CHANGES
from analysis.congestion.tables import CONGESTION_TABLES
from analysis.decision_schemas import DECISION_TABLES
from analysis.frames import Piece, stacked
from analysis.model_tables import MODEL_TABLES
from analysis.network_tables import NETWORK_TABLES
from analysis.precision import PRECISION
from analysis.quality import QUALITY
from analysis.schemas import TABLES, validated
from analysis.simulated_tables import SIMULATED_TABLES
from analysis.time_parts import PARTS
from analysis.traffic import TRAFFIC_TABLES
from analysis.validation import VALIDATION

REQUIRED = tuple(TABLES)
"""Tables that every study has; each of the others is there if it applies."""

ALL_TABLES = {
    **TABLES,
    **MODEL_TABLES,
    **QUALITY,
    "precision": PRECISION,
    **PARTS,
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
