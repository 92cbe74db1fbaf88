"""Contract of every importer, as docs/extending/importer.md describes it."""

import re

import pytest
from foreign_files import FOREIGN
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_runs import ROOT

from analysis.importers import (
    CURVES,
    FORMATS,
    IMPORTERS,
    Import,
    Importer,
    make_mapping,
    read_foreign,
    recognised,
)
from analysis.importers.results import read_text
from analysis.importers.tables import DERIVED
from analysis.runs.runs import COLUMNS, TableError

EXAMPLE_FILES = {
    "runs": [ROOT / "analysis/published/channel_strong_scaling.csv"],
    "curves": [ROOT / "analysis/published/pmb.csv"],
    "derived": [ROOT / "analysis/published/fluent_peaks.csv"],
    "reframe-report": sorted(FOREIGN.glob("reframe/*.json")),
    "reframe-perflog": sorted(FOREIGN.glob("reframe/*.log")),
}
"""Files of an importer; by default those of the folder with its name."""
NETWORK = make_mapping({"interconnect": {"value": "ethernet"}})
EVERYTHING = make_mapping(
    {
        **{column: {"value": "any"} for column in ("case", "interconnect")},
        **{column: {"value": 1} for column in ("processes", "block")},
    }
)
JUNK = st.text(max_size=300) | st.sampled_from(
    ["{}", "[]", "a,b\n1,2\n", "a|b\n1|2\n", "1 2 3\n", "# OSU\n", "\0", ","]
)


def examples(importer: Importer):
    return EXAMPLE_FILES.get(importer.name, sorted((FOREIGN / importer.name).glob("*")))


every_importer = pytest.mark.parametrize("importer", IMPORTERS, ids=FORMATS)
every_example = pytest.mark.parametrize(
    ("importer", "file"),
    [
        pytest.param(importer, file, id=f"{importer.name}-{file.name}")
        for importer in IMPORTERS
        for file in examples(importer)
    ],
)


@every_importer
def test_the_name_is_unique_short_and_documented(importer):
    assert FORMATS.count(importer.name) == 1
    assert re.fullmatch(r"[a-z][a-z0-9-]*", importer.name)
    assert re.search(rf"\b{importer.name}\b", (ROOT / "docs/import.md").read_text())


@every_importer
def test_there_is_an_example(importer):
    assert examples(importer)


@every_example
def test_an_example_is_recognised_by_its_importer(importer, file):
    """NetPIPE's numbers have no heading, so users state their format."""
    if importer.name == "netpipe" and not importer.recognises(read_text(file)):
        with pytest.raises(TableError):
            recognised(read_text(file), str(file))
    else:
        assert recognised(read_text(file), str(file)) is importer


@every_example
def test_an_example_is_read_and_lists_skipped_lines(importer, file):
    for mapping in (make_mapping({}), NETWORK, EVERYTHING):
        try:
            imported = read_foreign(file, importer.name, mapping)
        except TableError as error:
            assert "\n" not in str(error)
        else:
            check(imported, str(file))


@every_importer
def test_some_example_holds_results(importer):
    read = []
    for file in examples(importer):
        for mapping in (make_mapping({}), NETWORK, EVERYTHING):
            try:
                read.append(read_foreign(file, importer.name, mapping))
            except TableError:
                continue
    assert any(len(imported.runs) or len(imported.curves) or imported.derived for imported in read)


@every_importer
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=JUNK)
def test_junk_is_never_recognised_with_an_exception_and_never_half_read(importer, tmp_path, text):
    file = tmp_path / "junk.csv"
    file.write_bytes(text.encode())
    assert importer.recognises(text) in (True, False)
    try:
        imported = importer.read(text, str(file), NETWORK)
    except TableError as error:
        assert "\n" not in str(error)
    else:
        check(imported, str(file))


def check(imported: Import, source: str) -> None:
    """Tables match their schemas; each skipped line is on one line and names the file."""
    assert set(COLUMNS) <= set(imported.runs)
    CURVES.validate(imported.curves)
    assert set(imported.derived) <= set(DERIVED)
    assert all("\n" not in line and line.startswith(source) for line in imported.unread)


def test_the_template_in_the_docs_is_an_importer(tmp_path):
    page = (ROOT / "docs/extending/importer.md").read_text()
    (template,) = re.findall(r"```python\n(.*?)```", page, re.S)
    module: dict = {}
    exec(template, module)
    text = "mybench 1.2\n4096 bytes 3.77 us\nhello\n"
    assert module["IMPORTER"].recognises(text)
    imported = module["IMPORTER"].read(text, "file.txt", NETWORK)
    assert imported.curves[["bytes", "latency_us"]].to_numpy().tolist() == [[4096, 3.77]]
    assert imported.unread == ["file.txt: line 3: 'hello' is not a result"]
