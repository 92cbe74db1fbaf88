import gzip

from hypothesis import given
from hypothesis import strategies as st
from stamped_logs import read_log

from workflows.domain import Line
from workflows.measure.measure import write_log

LINES = st.lists(
    st.builds(
        Line,
        st.integers(0, 10**9).map(lambda microseconds: microseconds / 10**6),
        st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])),
    )
)


@given(lines=LINES)
def test_written_logs_are_read_back(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("logs") / "run.log.gz"
    write_log(path, lines)
    assert read_log(path) == lines


def test_the_same_lines_give_the_same_bytes(tmp_path):
    lines = [Line(0.5, "Time = 1"), Line(1.25, "")]
    write_log(tmp_path / "a.log.gz", lines)
    write_log(tmp_path / "b.log.gz", lines)
    assert (tmp_path / "a.log.gz").read_bytes() == (tmp_path / "b.log.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.log.gz").read_bytes()) == b"0.500000 Time = 1\n1.250000 \n"
