"""Network curves among the imported files of a study: their interconnect and their destination."""

import re

import pytest
from refused import refusal
from study_files import study_file

from analysis.importers import FORMATS, read_published, write_derived
from analysis.topics.network.imports import read_imported
from workflows.domain import InputError
from workflows.paths import ROOT
from workflows.study.imports import check_imports, read_imports
from workflows.study.study import read_study

FILES = ROOT / "tests/importers/files"
PUBLISHED = ROOT / "analysis/published"


def study(folder, entries):
    return read_study(study_file(folder, f"name: curves\nimport:\n{entries}"))


def test_curves_of_every_tool_reach_the_table_of_curves(tmp_path):
    importing_study = study(
        tmp_path,
        f"  - {{file: {FILES}/osu/latency_7.4.txt, mapping: {{interconnect: {{value: hdr}}}}}}\n"
        f"  - {{file: {FILES}/imb/mpi1_2018.txt, mapping: {{interconnect: {{value: opa}}, kind: {{value: measured}}}}}}\n"
        f"  - {{file: {FILES}/netpipe/mpi_5.out, format: netpipe, mapping: {{interconnect: {{value: gigabit}}}}}}\n"
        f"  - {PUBLISHED}/pmb.csv\n  - {PUBLISHED}/pmb_peak.csv\n",
    )
    check_imports(importing_study)
    imports = read_imports(
        importing_study.imports,
        importing_study.import_sites,
        importing_study.import_mappings,
        formats=importing_study.import_formats,
    )
    write_derived(imports.published, tmp_path / "published")
    table = read_imported(tmp_path / "published")
    of_ping_pong = table[table["benchmark"] == "pingpong"]
    assert {("hdr", "published"), ("opa", "measured"), ("gigabit", "published")} <= set(
        zip(of_ping_pong["interconnect"], of_ping_pong["kind"], strict=True)
    )
    assert {"latency_7.4.txt", "mpi1_2018.txt", "mpi_5.out", "pmb.csv"} == set(table["imported_from"])
    assert set(read_published(tmp_path / "published")) == {"network_peaks"}


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("{kind: {value: measured}}", "the output does not name its interconnect"),
        ("{interconect: {value: hdr}}", "mapping of .*: key 'interconect': is unknown"),
        ("{interconnect: {value: hdr}, kind: {value: guessed}}", "'guessed' must be one of measured"),
    ],
)
def test_a_wrong_mapping_is_reported_in_one_line(tmp_path, mapping, message):
    importing_study = study(tmp_path, f"  - {{file: {FILES}/osu/latency_7.4.txt, mapping: {mapping}}}\n")
    reason = refusal(InputError, check_imports, importing_study)
    assert re.search(message, reason)


def test_numbers_without_a_heading_need_a_format(tmp_path):
    (tmp_path / "times.txt").write_text("1 100.0 1.00\n2 52.0 1.92\n4 27.5 3.64\n")
    entry = "file: times.txt, mapping: {interconnect: {value: ib}}"
    importing_study = study(tmp_path, f"  - {{{entry}}}\n")
    reason = refusal(InputError, check_imports, importing_study)
    assert reason.startswith(f"{tmp_path}/times.txt: has no heading, and Nodeworth does not guess")
    reason = refusal(InputError, study, tmp_path, f"  - {{{entry}, format: netpip}}\n")
    assert reason == (
        f"{importing_study.file}: import[0].format: no format 'netpip', did you mean 'netpipe'?; known: {', '.join(sorted(FORMATS))}"
    )


def test_an_empty_mapping_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"import\[0\]\.mapping: "):
        study(tmp_path, "  - {file: a.txt, mapping: {}}\n")
