import pytest
from hypothesis import given
from hypothesis import strategies as st
from stamped_logs import read_log

from workflows.domain import Line
from workflows.measure.logs import write_log

LINES = st.lists(
    st.builds(
        Line,
        st.integers(0, 10**9).map(lambda microseconds: microseconds / 10**6),
        st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])),
    )
)


@pytest.mark.parametrize("name", ["run.log", "run.log.gz"])
@given(lines=LINES)
def test_what_is_written_is_read(tmp_path_factory, name, lines):
    path = tmp_path_factory.mktemp("logs") / name
    write_log(path, lines)
    assert read_log(path) == lines


def test_the_same_lines_give_the_same_bytes(tmp_path):
    lines = [Line(0.5, "Time = 1"), Line(1.25, "")]
    write_log(tmp_path / "a.log.gz", lines)
    write_log(tmp_path / "b.log.gz", lines)
    assert (tmp_path / "a.log.gz").read_bytes() == (tmp_path / "b.log.gz").read_bytes()
    write_log(tmp_path / "a.log", lines)
    assert (tmp_path / "a.log").read_text() == "0.500000 Time = 1\n1.250000 \n"
