"""Every table that a study may come to, with its schema, by the name of its file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pandera.pandas as pa
from pandera.errors import SchemaErrors

from analysis.estimates.censored import CENSORED
from analysis.estimates.changes import CHANGES
from analysis.estimates.core_hours import CORE_HOURS
from analysis.estimates.fastest import FASTEST
from analysis.estimates.improvement_mean import IMPROVEMENT_MEAN
from analysis.estimates.machine_speed import ADJUSTED
from analysis.estimates.model_tables import MODEL_TABLES
from analysis.estimates.nodes import NODES
from analysis.estimates.precision import PRECISION
from analysis.estimates.quality import QUALITY
from analysis.estimates.solver_work import SOLVER_WORK
from analysis.estimates.time_parts import PART_TABLES
from analysis.estimates.validation import VALIDATION
from analysis.networks.congestion.tables import CONGESTION_TABLES
from analysis.networks.data_servers import DATA_SERVER_TABLES
from analysis.networks.node_loss import NODE_LOSS
from analysis.networks.replays import SIMULATED_TABLES
from analysis.networks.tables import NETWORK_TABLES
from analysis.networks.traffic import TRAFFIC_TABLES
from analysis.networks.transports import TRANSPORT_TABLE
from analysis.runs.errors import TableError
from analysis.tables.contract import HYBRID, TABLES, TEXT, validated
from analysis.tables.decision_schemas import DECISION_TABLES
from analysis.tables.frames import Piece, stacked

REQUIRED = tuple(TABLES)
"""Tables that every study has; any other table is there if it applies."""

ALL_TABLES = {
    **TABLES,
    **HYBRID,
    **FASTEST,
    **IMPROVEMENT_MEAN,
    **MODEL_TABLES,
    **CENSORED,
    **QUALITY,
    "precision": PRECISION,
    **ADJUSTED,
    **NODES,
    **CORE_HOURS,
    **PART_TABLES,
    **SOLVER_WORK,
    **DECISION_TABLES,
    **CHANGES,
    **NETWORK_TABLES,
    "network_transports": TRANSPORT_TABLE,
    **DATA_SERVER_TABLES,
    **CONGESTION_TABLES,
    **TRAFFIC_TABLES,
    **SIMULATED_TABLES,
    **NODE_LOSS,
    **VALIDATION,
}
"""Schema of each table by its name, which is that of its file."""


def finished(name: str, pieces: Sequence[Piece]) -> pd.DataFrame:
    """Table of a name from its pieces: with the columns of its schema, in its order and of its types."""
    return validated(ALL_TABLES[name], stacked(pieces))


def read_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Read the tables that `analysis.estimates.scaling.write_tables` wrote.

    Returns
    -------
    dict of str to DataFrame
        With the types of `ALL_TABLES`. Tables that do not apply to the study are not there.

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
        return schema.validate(read[list(schema.columns)], lazy=True)
    except SchemaErrors:
        raise TableError(f"holds values that no {schema.name} table has", str(file)) from None
