"""Network curves among the imported files of a study: their interconnect and their destination."""

import re

import pytest
from refused import refusal
from study_files import study_file

from analysis.curves.sites import with_distinct_interconnects
from analysis.importers import FORMATS, read_published, write_derived
from analysis.runs.columns import empty
from analysis.runs.facts import Facts
from analysis.runs.runs import RUNS
from analysis.topics.network.curves import curves_by_point
from analysis.topics.network.imports import read_imported
from analysis.topics.network.tables import make_network_tables
from workflows.domain import InputError
from workflows.paths import ROOT
from workflows.study.imports import check_imports, imports_of, read_imports
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


def osu(latency):
    rows = "".join(f"{size:<20}{latency + size / 5000:>8.2f}\n" for size in (0, 1, 8, 1024, 65536))
    return f"# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n{rows}"


def imported_curves(folder, entries):
    """Curves that a study imports, as its report reads them."""
    importing_study = study(folder, entries)
    check_imports(importing_study)
    write_derived(imports_of(importing_study).published, folder / "published")
    return read_imported(folder / "published")


@pytest.fixture
def two_folders(tmp_path):
    """Two outputs of the same name, in folders named after sites."""
    for site, latency in (("north", 1.5), ("south", 2.5)):
        (tmp_path / site).mkdir()
        (tmp_path / site / "l.out").write_text(osu(latency))
    return tmp_path


HDR = "interconnect: {value: hdr}"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("entries", "sites"),
    [
        (
            "  - {logs: '*/l.out', format: osu, interconnect: hdr, from_path: '{site}/*.out'}\n",
            ["north", "south"],
        ),
        (
            f"  - {{file: north/l.out, site: north, mapping: {{{HDR}}}}}\n"
            f"  - {{file: south/l.out, site: south, mapping: {{{HDR}}}}}\n",
            ["north", "south"],
        ),
        ("  - {logs: '*/l.out', format: osu, interconnect: hdr}\n", [None, None]),
    ],
)
def test_files_of_the_same_name_are_curves_of_their_own(two_folders, entries, sites):
    table = imported_curves(two_folders, entries)
    curves = list(curves_by_point(table))
    assert [curve["latency_us"].iloc[0] for curve in curves] == [1.5, 2.5]
    assert [curve["imported_from"].iloc[0] for curve in curves] == ["north/l.out", "south/l.out"]
    assert table["site"].dropna().unique().tolist() == [site for site in sites if site]
    heads = make_network_tables(table, {})["network_headlines"]
    assert heads["latency_us"].tolist() == [1.5, 2.5]
    _, renamed, facts = with_distinct_interconnects(empty(RUNS), {"network": table}, Facts.of({}))
    names = [f"hdr@{site}" if site else "hdr" for site in sites]
    assert renamed["network"]["interconnect"].unique().tolist() == list(dict.fromkeys(names))
    assert not any(sites) or facts.interconnect("hdr@north").title == "hdr (north)"


@pytest.mark.parametrize("field", ["iteration", "repetition"])
def test_files_that_state_their_repetition_are_one_curve_with_its_spread(tmp_path, field):
    for number, latency in enumerate((1.5, 2.5, 1.75)):
        (tmp_path / f"osu-{number}.out").write_text(osu(latency))
    entry = f"  - {{logs: '*.out', format: osu, interconnect: hdr, from_path: '*-{{{field}}}.out'}}\n"
    table = imported_curves(tmp_path, entry)
    (curve,) = curves_by_point(table)
    assert curve["bytes"].tolist() == [0, 1, 8, 1024, 65536]
    assert set(curve["runs"]) == {3} and set(curve["imported_from"]) == {"osu-*.out"}
    empty_message = curve.iloc[0]
    columns = ["latency_us_lowest_run", "latency_us", "latency_us_highest_run"]
    assert empty_message[columns].tolist() == [1.5, 1.75, 2.5]


def test_two_files_are_not_the_same_repetition(two_folders):
    for folder in ("north", "south"):
        (two_folders / folder / "l.out").rename(two_folders / folder / "l-1.out")
    entry = "  - {logs: '*/*.out', format: osu, interconnect: hdr, from_path: '*-{iteration}.out'}\n"
    reason = refusal(InputError, check_imports, study(two_folders, entry))
    assert reason.startswith(
        "north/l-1.out: line 3 and south/l-1.out: line 3: both are repetition 1 of osu_latency over hdr"
    )


def test_transports_of_files_of_the_same_name_keep_their_folders(two_folders):
    for folder in ("north", "south"):
        (two_folders / folder / "l.out").write_text((FILES / "perftest/send_bw_lat_rc.txt").read_text())
    entry = "  - {logs: '*/l.out', format: perftest, interconnect: hdr}\n"
    published = imports_of(study(two_folders, entry)).published
    assert published["transports"]["source"].unique().tolist() == ["north/l.out", "south/l.out"]


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
