"""Files cut off anywhere, and files of unknown format: nothing is half read, nothing is silent."""

import functools

import pandas as pd
import pytest
from foreign_files import FOREIGN, format_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refused import refusal

from analysis.importers import FORMATS, make_mapping, read_foreign
from analysis.runs.runs import TableError

NETWORKS = make_mapping({"interconnect": {"value": "shared_memory"}})
CUT = {
    "reframe/jacobi_4.10.log": None,
    "jube/times.csv": None,
    "jube/means.dat": make_mapping({"case": {"value": "jacobi"}, "seconds": "solving_time"}),
    "osu/allreduce_full_7.4.txt": NETWORKS,
    "osu/latency_5.3.txt": NETWORKS,
    "imb/mpi1_2018.txt": NETWORKS,
    "imb/multi_2021.11.txt": NETWORKS,
    "netpipe/tcp_3.7.out": NETWORKS,
    "netpipe/mpi_5.out": NETWORKS,
}


@functools.cache
def whole(file):
    return rows(read_foreign(FOREIGN / file, format_of(file), CUT[file]))


def rows(imported):
    """What was read, by the line it stands on."""
    table = imported.curves if imported.runs.empty else imported.runs.drop(columns=["block", "repetition"])
    lines = table["record"].str.rpartition(" ")[2]
    return table.drop(columns="record").set_index(lines)


@pytest.mark.parametrize("file", CUT)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_cut_off_file_gives_only_rows_of_the_whole_file(file, tmp_path, data):
    text = (FOREIGN / file).read_bytes()
    length = data.draw(st.integers(1, len(text) - 1))
    path = tmp_path / "cut"
    path.write_bytes(text[:length])
    try:
        imported = read_foreign(path, format_of(file), CUT[file])
    except TableError as error:
        assert "\n" not in str(error)
        return
    left = rows(imported)
    pd.testing.assert_frame_equal(left, whole(file).head(len(left)))
    last = text[:length].rsplit(b"\n", 1)[1]
    is_whole = text[length : length + 1] == b"\n" and last.endswith(b"|")
    assert not last.strip() or is_whole or any("cut off" in line for line in imported.unread)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(length=st.integers(1, 28157))
def test_a_report_cut_off_anywhere_is_refused(tmp_path, length):
    path = tmp_path / "report.json"
    text = (FOREIGN / "reframe/report_4.10.json").read_bytes().rstrip()
    path.write_bytes(text[: min(length, len(text) - 1)])
    with pytest.raises(TableError, match=r"report\.json: line \d+: cut off or damaged"):
        read_foreign(path)


REAL = sorted(str(file.relative_to(FOREIGN)) for file in FOREIGN.rglob("*.*") if file.suffix != ".md")


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    file=st.sampled_from(REAL),
    place=st.floats(0, 1),
    cut=st.integers(0, 40),
    put=st.sampled_from(
        [b"", b"9" * 30, b"1e999", b"nan", b"-1", b'"', b"\xff", b"|", b",", b"\n", b"{}", b"\0"]
    ),
)
def test_a_damaged_file_is_read_or_reported_in_one_line(tmp_path, file, place, cut, put):
    text = (FOREIGN / file).read_bytes()
    start = int(place * len(text))
    path = tmp_path / "damaged"
    path.write_bytes(text[:start] + put + text[start + cut :])
    for mapping in (CUT.get(file), NETWORKS):
        try:
            messages = read_foreign(path, format_of(file), mapping).unread
        except TableError as error:
            messages = [str(error)]
        assert not any("\n" in line for line in messages)


def test_imb_without_its_last_line_is_reported(written):
    text = (FOREIGN / "imb/mpi1_2018.txt").read_text().partition("# All processes entering")[0]
    unread = read_foreign(written(text), mapping=NETWORKS).unread
    assert unread[-1].endswith("ends without '# All processes entering MPI_Finalize': cut off")


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.binary(max_size=200) | st.text(max_size=200).map(str.encode),
    form=st.sampled_from([None, *FORMATS]),
)
def test_anything_else_is_reported_in_one_line(tmp_path, content, form):
    path = tmp_path / "anything"
    path.write_bytes(content)
    assert refusal(TableError, read_foreign, path, form).startswith(str(path))


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(TableError, match="nowhere: there is no such file"):
        read_foreign(tmp_path / "nowhere")
    with pytest.raises(TableError, match="is a folder; format osu reads files only"):
        read_foreign(tmp_path, "osu")
    with pytest.raises(TableError, match="holds no run"):
        read_foreign(tmp_path)
    message = "format 'xml' is unknown (known: runs, curves, derived, sacct, osu"
    assert message in refusal(TableError, read_foreign, tmp_path, "xml")
