"""Waiting for what another process does."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], object], limit_seconds: float = 30.0) -> bool:
    deadline = time.monotonic() + limit_seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
