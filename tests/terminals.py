"""Programs and files on a terminal."""

import os
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

CTRL_C = b"\3"


def on_terminal(command: Sequence[str], until: str, columns: int = 100) -> tuple[int, str]:
    """Run a command on a terminal, type Ctrl-C once it has shown a text; its exit status, and all that it showed."""
    process, terminal = os.forkpty()
    if process == 0:
        os.execvp(command[0], command)
    termios.tcsetwinsize(terminal, (24, columns))
    shown, typed = b"", False
    while data := _read(terminal):
        shown += data
        if not typed and until.encode() in shown:
            os.write(terminal, CTRL_C)
            typed = True
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), shown.decode()


@contextmanager
def terminal(columns: int) -> Iterator[tuple[TextIO, int]]:
    """Give a terminal of so many columns, and the descriptor from which all that is written on it can be read."""
    ours, its = os.openpty()
    termios.tcsetwinsize(its, (24, columns))
    with os.fdopen(its, "w") as screen:
        yield screen, ours
    os.close(ours)


def _read(terminal: int) -> bytes:
    """What is on a terminal; nothing once its last program has ended."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
