"""From a runs table to result tables and figures: each stage is a loop over the topics."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from graphlib import TopologicalSorter
from pathlib import Path

import pandas as pd
import pandera.pandas as pa
from pandera.errors import SchemaErrors

from analysis.curves.outcomes import corrected
from analysis.curves.point_comparison import simultaneous
from analysis.curves.sites import runs_by_site, with_distinct_interconnects
from analysis.importers import read_published
from analysis.presentation.drawing import Drawing, distinct, drawable
from analysis.presentation.style import FigureLabels
from analysis.report.page_one_figure import page_one_figure
from analysis.runs.columns import P_VALUES, TEXT, validated
from analysis.runs.errors import TableError
from analysis.runs.facts import Facts
from analysis.runs.frames import Tables
from analysis.runs.kinds import ran
from analysis.runs.settings import Settings
from analysis.runs.side_tables import read_details
from analysis.topics.network.curves import interconnects_of, without_benchmarks
from analysis.topics.network.imports import read_imported
from analysis.topics.registry import TOPICS
from analysis.topics.topic import Context, CurveSet, Request, Topic, View, request_of

TABLE_SCHEMAS: Mapping[str, pa.DataFrameSchema] = {
    name: schema for topic in TOPICS for name, schema in topic.schemas.items()
}
"""Schema of each table by the name of its file."""
REQUIRED = ("scaling", "peaks", "improvement", "node_equivalent", "oversubscription", "placement")
"""Tables that every study has."""


def make_all_tables(
    runs: pd.DataFrame,
    request: Request,
    names: Sequence[str] = tuple(TABLE_SCHEMAS),
    facts: Facts | None = None,
) -> dict[str, pd.DataFrame]:
    """Make the tables of a study from its runs, without side tables and published figures.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.runs.runs.read_runs` returns it.
    request : Request
        Settings, rule and market of the study.
    names : sequence of str
        Tables to make. Topics that these tables do not need are skipped.
    facts : Facts, optional
        Facts about the study, with its keys that topics read.

    Returns
    -------
    dict of DataFrame
        Tables in the order of `TABLE_SCHEMAS`. A table that does not apply to the study is missing, unless
        its topic always makes it (`Topic.always`).

    Raises
    ------
    TableError
        If the request names an interconnect or a case that the runs lack, if there are two references,
        or if there is no price (`analysis.topics.money.market.market_costs`).
    """
    context = Context(runs, request, CurveSet(runs, request.settings), facts=facts or Facts())
    return _make_tables(context, names)


def _make_tables(context: Context, names: Sequence[str] = tuple(TABLE_SCHEMAS)) -> dict[str, pd.DataFrame]:
    """Make tables: see `make_all_tables`."""
    settings = context.settings
    _check_interconnects(context.runs, settings)
    sites = [
        (site, replace(context, runs=runs, curves=CurveSet(runs, settings)))
        for site, runs in runs_by_site(context.runs)
    ]
    tables: dict[str, pd.DataFrame] = {}
    for topic in ordered(names):
        needed = {name: tables[name] for name in topic.needs if name in tables}
        if topic.by_site:
            topic_tables = _make_by_site(topic, sites, needed)
        else:
            topic_tables = _make(topic, replace(context, tables=needed))
        for name, table in topic_tables.items():
            tables[name] = _finish(topic, name, table, settings)
    result: dict[str, pd.DataFrame] = {}
    for topic in TOPICS:
        for name in (name for name in topic.schemas if name in tables):
            table = tables[name] if not settings.unfinished else _without_verdicts(topic, name, tables[name])
            if len(table) or name in topic.always:
                result[name] = table
    return result


def ordered(names: Sequence[str] = tuple(TABLE_SCHEMAS)) -> Iterator[Topic]:
    """Yield the topics that make the named tables, each after the topics whose tables it needs."""
    maker = {name: topic for topic in TOPICS if topic.make for name in topic.schemas}
    by_name = {topic.name: topic for topic in maker.values()}
    graph: dict[str, set[str]] = {}
    waiting = [maker[name].name for name in names if name in maker]
    while waiting:
        topic = by_name[waiting.pop()]
        if topic.name not in graph:
            graph[topic.name] = {maker[name].name for name in topic.needs} - {topic.name}
            waiting += graph[topic.name]
    return (by_name[name] for name in TopologicalSorter(graph).static_order())


def _make(topic: Topic, context: Context) -> Tables:
    """Make the tables of a topic."""
    return topic.make(context) if topic.make else {}


def _make_by_site(topic: Topic, sites: Sequence[tuple[str, Context]], needed: Tables) -> Tables:
    """Make the tables of a topic for each site, and join them.

    Parameters
    ----------
    sites : sequence of pairs
        Name and context of each site; a study of one site has an empty name.
    needed : mapping of str to DataFrame
        Tables of all sites that the topic needs.
    """
    tables_of_sites: dict[str, list[pd.DataFrame]] = {}
    for site, context in sites:
        site_needed = needed
        if site:
            site_needed = {
                name: table[table["site"] == site].reset_index(drop=True) for name, table in needed.items()
            }
        try:
            site_tables = _make(topic, replace(context, tables=site_needed))
        except TableError as error:
            if site:
                raise TableError(f"site '{site}': {error}") from None
            raise
        for name, table in site_tables.items():
            with_site = table.assign(site=pd.Series(site or None, table.index, dtype="str"))
            tables_of_sites.setdefault(name, []).append(with_site)
    return {
        name: tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)
        for name, tables in tables_of_sites.items()
    }


def _finish(topic: Topic, name: str, table: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Correct and judge the tests of a table, add simultaneous intervals, and validate its columns."""
    schema = topic.schemas[name]
    if name in topic.tested and len(table):
        factors = settings.look_factors(table["case"])
        table = corrected(table, factors, settings.level)
        if "simultaneous_low" in schema.columns:
            table = table.assign(**simultaneous(table, factors))
    return validated(schema, table.reset_index(drop=True))


def _without_verdicts(topic: Topic, name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Remove results that more runs may change: directions and tests of measured or emulated runs."""
    if name in topic.directions:
        about_runs = table["compared_kinds" if "compared_kinds" in table else "kind"].map(ran).astype(bool)
        return table[~about_runs].reset_index(drop=True)
    if name in topic.tested:
        about_runs = table["kind"].map(ran).astype(bool)
        return table.assign(**{column: table[column].mask(about_runs) for column in P_VALUES})
    return table


def _check_interconnects(runs: pd.DataFrame, settings: Settings) -> None:
    """Raise `TableError` if the settings name an interconnect that the runs lack."""
    present = sorted(runs["interconnect"].dropna().unique())
    named = {"baselines": settings.baselines}
    if settings.reference_interconnect:
        named["reference_interconnect"] = (settings.reference_interconnect,)
    for key, names in named.items():
        for name in names:
            if name not in present:
                listed = ", ".join(present)
                raise TableError(f"{key}: '{name}' is no interconnect of the runs; there are {listed}")


def write_all_tables(runs: pd.DataFrame, facts: Facts, details: Path, imported: Path, folder: Path) -> None:
    """Make and write all tables of a study, and the files that topics write in addition.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.runs.runs.read_runs` returns it.
    facts : Facts
        Facts about the study.
    details, imported : Path
        Folders of side tables and of published figures of the study.
    folder : Path
        Folder of the tables.

    Raises
    ------
    TableError
        In one line, if a file is damaged or a price is missing.
    """
    request = request_of(facts)
    context = Context(
        runs,
        request,
        CurveSet(runs, request.settings),
        facts=facts,
        side_tables=read_details(details),
        published=read_published(imported),
        network_imports=read_imported(imported),
    )
    write_tables(_make_tables(context), folder)
    for topic in TOPICS:
        if topic.write:
            topic.write(context, folder)


def write_tables(tables: Tables, folder: str | Path) -> None:
    """Write each table to ``<folder>/<name>.csv``, all or none, with missing values empty.

    Other files in the folder are kept.

    Raises
    ------
    OSError
        If the folder cannot be written to.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tables-", dir=folder) as draft:
        for name, table in tables.items():
            # pandas stores whole numbers with gaps as floats: write 64, not 64.0.
            floats = table.select_dtypes("float")
            whole = [column for column in floats if (floats[column].dropna() % 1 == 0).all()]
            table.astype(dict.fromkeys(whole, "Int64")).to_csv(Path(draft) / f"{name}.csv", index=False)
        for name in tables:
            (Path(draft) / f"{name}.csv").replace(folder / f"{name}.csv")


def read_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Read the tables that `write_tables` wrote.

    Returns
    -------
    dict of str to DataFrame
        Tables with the types of `TABLE_SCHEMAS`. Tables that do not apply to the study are missing.

    Raises
    ------
    TableError
        If a table of `REQUIRED` is missing, or a table does not match its schema.
    """
    files = {name: folder / f"{name}.csv" for name in TABLE_SCHEMAS}
    present = {name: file for name, file in files.items() if name in REQUIRED or file.exists()}
    return {name: _read_table(file, TABLE_SCHEMAS[name]) for name, file in present.items()}


def _read_table(file: Path, schema: pa.DataFrameSchema) -> pd.DataFrame:
    """Read a table and check it against its schema."""
    texts = [name for name, column in schema.columns.items() if column.dtype == TEXT.dtype]
    if not file.exists():
        raise TableError("there is no such file", str(file))
    try:
        table = pd.read_csv(file, keep_default_na=False, na_values=[""], dtype=dict.fromkeys(texts, "str"))
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise TableError(f"is no table: {str(error).splitlines()[0]}", str(file)) from None
    for column in schema.columns:
        if column not in table:
            raise TableError("is missing", str(file), column=column)
    try:
        return schema.validate(table[list(schema.columns)], lazy=True)
    except SchemaErrors:
        raise TableError(f"holds values that no {schema.name} table has", str(file)) from None


def draw_figures(runs: pd.DataFrame, tables: Tables, facts: Facts) -> list[Drawing]:
    """Draw all figures that the data of a study support.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.runs.runs.read_runs` returns it.
    tables : mapping of str to DataFrame
        As `make_all_tables` returns them.
    facts : Facts
        Cases, interconnects in their order, and settings of the study.

    Returns
    -------
    list of Drawing
        Drawings with unique names. A topic without data has no figure.
    """
    runs, tables, facts = with_distinct_interconnects(runs, without_benchmarks(tables), facts)
    view = View(runs, tables, facts, FigureLabels.of(drawable(facts), interconnects_of(runs, tables)))
    drawings = page_one_figure(tables, view.labels)
    for topic in TOPICS:
        if topic.draw:
            drawings += topic.draw(view)
    return distinct(drawings)
