"""Lines as a terminal shows them: colours and returns to the start of a line."""

import sys

import pytest

from workflows.launch.execution import execute
from workflows.launch.printed import shown_lines


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("main loop took 0.3 s", ["main loop took 0.3 s"]),
        ("\x1b[1;32m0.3\x1b[0m s", ["0.3 s"]),
        ("\x1b]0;title\x07took 1 s", ["took 1 s"]),
        ("\r 0%\r 50%\rtook 1 s", [" 0%", " 50%", "took 1 s"]),
        ("done\r", ["done"]),
        ("\r", [""]),
        ("", [""]),
    ],
)
def test_a_line_is_read_as_a_terminal_shows_it(line, shown):
    assert shown_lines(line) == shown


def test_the_lines_of_a_run_have_no_colours_and_no_progress_bar(tmp_path):
    script = (
        r"import sys; print('\r 0%\r100%\r\x1b[32mdone\x1b[0m'); print('\x1b[31mbad\x1b[0m', file=sys.stderr)"
    )
    done = execute([sys.executable, "-c", script], {"PATH": "/usr/bin:/bin"}, tmp_path, 60)
    assert [line.text for line in done.lines] == [" 0%", "100%", "done"]
    assert done.errors == "bad\n"
