"""Write docs/reference/: every key of records and of the files that a user writes, every column of tables.

    .venv/bin/python docs/make_reference.py

Keys are described in workflows/schemas/*.yaml and `analysis.topics.proposal.rules.SCHEMA`, columns in the
schemas of the tables (`analysis.runs.columns.table_schema`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import pandera.pandas as pa  # noqa: E402

from analysis.importers.results import CURVES  # noqa: E402
from analysis.importers.tables import DERIVED, LONG_CURVES  # noqa: E402
from analysis.pipeline import TABLE_SCHEMAS  # noqa: E402
from analysis.runs.columns import SHARED_DESCRIPTIONS  # noqa: E402
from analysis.runs.runs import FURTHER_COLUMNS, RUNS  # noqa: E402
from analysis.runs.side_tables import DETAILS  # noqa: E402
from analysis.topics.prices.books import BOOK  # noqa: E402
from analysis.topics.prices.parts import PART_LIST  # noqa: E402
from analysis.topics.proposal import rules  # noqa: E402
from analysis.topics.run_cost.book import NODE_HOURS  # noqa: E402
from workflows.applications import names  # noqa: E402
from workflows.inputs import SCHEMAS, read_yaml  # noqa: E402

FOLDER = ROOT / "docs/reference"
MADE = "<!-- Made by `python docs/make_reference.py` from the schemas; do not edit. -->\n"
KEY_PAGES = {
    "study": ("A study file, `config/studies/*.yaml`", "studies", ["study", "assumed"]),
    "interconnect": (
        "An interconnect file, `config/interconnects/*.yaml`",
        "interconnects",
        ["interconnect"],
    ),
    "case": (
        "A case file, `cases/<application>/<case>/case.yaml`",
        "add-a-case",
        ["case", *(f"case_{name}" for name in names())],
    ),
    "cluster": ("The site file, `site.yaml`", "cluster", ["cluster"]),
    "proposal": ("A rule for proposals, `config/proposals/*.yaml`", "proposal", ["rules"]),
    "record": (
        "A record, `results/<study>/records/…/block-B-attempt-A.json`",
        "studies",
        ["record", "simulated"],
    ),
    "facts": ("Facts of a study, `results/<study>/facts.json`", "studies", ["facts"]),
}
"""By page: its title, the page that says what to do, and the schemas on it."""
ASSUMED = read_yaml(SCHEMAS / "assumed.yaml")
STUDY_TABLES = {"runs": RUNS, **TABLE_SCHEMAS}
IMPORTED_TABLES = {
    "network curves": CURVES,
    LONG_CURVES.name: LONG_CURVES,
    **DERIVED,
    BOOK.name: BOOK,
    PART_LIST.name: PART_LIST,
    NODE_HOURS.name: NODE_HOURS,
}
SOURCE_OF = {
    "jobs": "job_states",
    "benchmarks": "network",
    "transports": "network_transports",
    "data_servers": "data_servers",
    "traffic": "traffic",
    "traffic_processes": "traffic_processes",
    "replays": "simulated_efficiency",
    "replay_ranks": "simulated_times",
    "traces": "traces",
    "trace_profile": "trace_profile",
    "trace_pairs": "trace_pairs",
    "congestion_flows": "congestion",
    "bandwidth": "node_loss",
    "model_fit": "model_fit",
}
"""Table made from each side table; it describes the columns that the side table does not describe."""
_TYPES = {
    "object": "section",
    "array": "list",
    "string": "text",
    "number": "number",
    "integer": "whole number",
    "boolean": "true or false",
    "null": "empty",
}
_BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
Schema = Mapping[str, Any]


class Key(NamedTuple):
    """A key of a file: its path, its allowed values and its meaning."""

    path: str
    value: str
    meaning: str


def schema_of(name: str) -> Schema:
    """Read a schema by the name of its file; ``rules`` is the schema of the rules for proposals."""
    return rules.SCHEMA if name == "rules" else read_yaml(SCHEMAS / f"{name}.yaml")


def keys(schema: Schema, path: str = "", needed: str = "**needed**") -> Iterator[Key]:
    """Yield every key of a schema, followed by the keys inside it.

    The page of another file shows the keys of its own sections. `needed` marks required keys.
    """
    schema = _resolved(schema)
    for name, about in schema.get("properties", {}).items():
        page, elsewhere, _ = about.get("$ref", "").partition(".yaml#/")
        about = _resolved(about)
        if "not" not in about:  # a key that nobody may give
            own = f"{path}{name}"
            required = name in schema.get("required", ()) and "default" not in about
            value = "; ".join([_value(about), *[needed] * required])
            meaning, inside = about.get("description", "").strip(), list(_inside(about, own))
            if elsewhere and inside:
                yield Key(own, value, f"{meaning} Its keys are in [{page}]({page}.md).")
            else:
                yield from [Key(own, value, meaning), *inside]


def _inside(about: Schema, path: str) -> Iterator[Key]:
    if about.get("title") == ASSUMED["title"]:  # of many keys, and described once
        return
    found = list(keys(about, f"{path}."))
    for part, way in ((about.get("items"), "[]."), (about.get("additionalProperties"), ".NAME.")):
        found += keys(part, path + way) if isinstance(part, dict) else []
    for one in about.get("oneOf", ()):
        found += keys(one, f"{path}.", "**needed** in one form")
    yield from dict.fromkeys(found)


def _resolved(schema: Schema) -> Schema:
    if "$ref" not in schema:
        return schema
    file, _, way = schema["$ref"].partition("#/")
    found = schema_of(file.removesuffix(".yaml"))
    for key in filter(None, way.split("/")):
        found = found[key]
    return {**found, **{key: said for key, said in schema.items() if key != "$ref"}}


def _value(about: Schema) -> str:
    """Say what a value may be: ``whole number ≥ 1; default 6``."""
    if "enum" in about or "const" in about:
        allowed = about.get("enum", [about.get("const")])
        parts = [", ".join(f"`{one}`" for one in allowed)]
    else:
        types = about.get("type", "object")
        parts = [" or ".join(_TYPES[one] for one in ([types] if isinstance(types, str) else types))]
        bounds = ((f"{sign} {about[name]:,}") for name, sign in _BOUNDS.items() if name in about)
        parts[0] += " " + ", ".join(bounds)
    if about.get("default") not in (None, {}, [], ""):
        default = about["default"]
        told = str(default).lower() if isinstance(default, bool) else default
        parts.append(f"default `{', '.join(map(str, told)) if isinstance(told, list) else told}`")
    return "; ".join(part.strip() for part in parts)


def key_page(name: str) -> str:
    """Page of the keys of one kind of file."""
    title, guide, schemas = KEY_PAGES[name]
    lines = [
        MADE,
        f"# {title}\n",
        f"What to do with it: [{guide}](../{guide}.md). `NAME` stands for a name.\n",
    ]
    for each in schemas:
        schema = schema_of(each)
        lines += [f"## {schema['title']}\n"] if len(schemas) > 1 else []
        lines += [_one_line(schema["description"]) + "\n"]
        rows = ((f"`{key.path}`", key.value, _one_line(key.meaning)) for key in keys(schema))
        lines.append(_table(("key", "value", "meaning"), rows))
    return "\n".join(lines)


class Column(NamedTuple):
    """Columns of a table that are described together, and what they mean.

    `shared` columns mean the same in many tables, columns `as_made` as in the table made from a side table.
    """

    names: tuple[str, ...]
    meaning: str
    shared: bool
    as_made: bool


def columns(schema: pa.DataFrameSchema, made: pa.DataFrameSchema | None = None) -> list[Column]:
    """Columns of a table in its order, ends of an interval with what they are the ends of.

    Parameters
    ----------
    made : DataFrameSchema, optional
        Table made from a side table, for columns that the side table does not describe.

    Raises
    ------
    LookupError
        A column that nothing describes.
    """
    found: dict[str, Column] = {}
    for name, column in schema.columns.items():
        also = made.columns[name].description if made and name in made.columns else None
        meaning = column.description or also or SHARED_DESCRIPTIONS.get(name, "")
        whole = None
        if not meaning and name.endswith(("_low", "_high")):
            stem = name.rpartition("_")[0]
            whole = next((other for other in found if other.startswith(stem)), None)
        if whole:
            found[whole] = found[whole]._replace(names=(*found[whole].names, name))
        elif meaning:
            as_made = bool(also) and column.description in (None, also)
            found[name] = Column((name,), meaning, not (column.description or also), as_made)
        else:
            raise LookupError(
                f"{schema.name}: column {name} is described neither in its schema nor in SHARED_DESCRIPTIONS"
            )
    return list(found.values())


def table_pages() -> dict[str, str]:
    """Make the pages on written tables, side tables and imported tables."""
    written = [
        MADE,
        "# Columns of the tables\n",
        "`results/<study>/runs.csv` and `results/<study>/tables/*.csv`. What is missing is empty. `…_low` "
        "and `…_high` are the ends of an interval; of a simulated row, of its band. How they are worked out: "
        "[statistics](../statistics.md), [economics](../economics.md), [networks](../networks.md).\n",
        ", ".join(f"[{name}](#{name})" for name in STUDY_TABLES) + "\n",
        "## Columns of many tables\n",
        _table(
            ("column", "meaning"), ((f"`{name}`", meaning) for name, meaning in SHARED_DESCRIPTIONS.items())
        ),
    ]
    written += [_table_text(name, schema) for name, schema in STUDY_TABLES.items()]
    read = [
        MADE,
        "# Columns of the files that a study reads\n",
        "[Import](../import.md) and [economics](../economics.md) describe their use. A runs table needs "
        "`case, interconnect, processes, seconds`; [runs](tables.md#runs) describes its other columns. "
        "[Columns of many tables](tables.md#columns-of-many-tables) describes columns without a line here.\n",
    ]
    read += [_table_text(name, schema) for name, schema in IMPORTED_TABLES.items()]
    sides = [
        MADE,
        "# Columns of the side tables\n",
        "`results/<study>/details/*.csv` holds the values of runs other than seconds. "
        "[Tables](tables.md) are made from them. `record` and `started` name a row of "
        "[runs](tables.md#runs). A table without rows has no file.\n",
    ]
    sides += [_table_text(name, schema, SOURCE_OF.get(name)) for name, schema in DETAILS.items()]
    return {"tables": "\n".join(written), "details": "\n".join(sides), "imports": "\n".join(read)}


def _table_text(name: str, schema: pa.DataFrameSchema, made: str | None = None) -> str:
    described = columns(schema, STUDY_TABLES[made] if made else None)
    shared = ", ".join(f"`{name}`" for column in described if column.shared for name in column.names)
    as_made = [column for column in described if column.as_made]
    own = [column for column in described if not column.shared and not column.as_made]
    rows = [(_code(column.names), _one_line(column.meaning)) for column in own]
    if schema is RUNS:
        rows += [(_code(names.split(", ")), _one_line(text)) for names, text in FURTHER_COLUMNS.items()]
    lines = [f"## {name}\n", _one_line(str(schema.description)) + "\n"]
    lines += [f"As in many tables: {shared}.\n"] if shared else []
    if as_made:
        names = _code(name for column in as_made for name in column.names)
        lines += [f"As in [{made}](tables.md#{made}): {names}.\n"]
    return "\n".join([*lines, *([_table(("column", "meaning"), rows)] if rows else [])])


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"|{'|'.join(cell.replace('|', '&#124;') for cell in line)}|" for line in lines) + "\n"


def _one_line(text: str) -> str:
    """Text in one line, with links in the place of the names of pages."""
    return re.sub(r"docs/([\w-]+)\.md", r"[\1](../\1.md)", " ".join(text.split()))


def pages() -> dict[str, str]:
    """Every page of the reference by its name."""
    return {name: key_page(name) for name in KEY_PAGES} | table_pages()


def main() -> None:
    """Write the pages."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / f"{name}.md").write_text(text)


if __name__ == "__main__":
    main()
