"""Whether the user has interrupted this process with Ctrl-C."""

from __future__ import annotations

import signal
import threading
from types import FrameType

_interrupted = threading.Event()


def note_interruption() -> None:
    """Remember from now on that SIGINT came, and handle it as before.

    A process that ignores SIGINT, as under ``nohup``, goes on ignoring it.
    """
    handle = signal.getsignal(signal.SIGINT)
    if not callable(handle):
        return

    def remember(number: int, frame: FrameType | None) -> None:
        _interrupted.set()
        handle(number, frame)

    signal.signal(signal.SIGINT, remember)


def is_interrupted() -> bool:
    """Whether SIGINT has come."""
    return _interrupted.is_set()
