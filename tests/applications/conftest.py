"""Real logs."""

import functools
from pathlib import Path

import pytest
from stamped_logs import read_log

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def real_log():
    """Read a log of a real run by application and name; tests/logs/README.md describes its origin."""

    @functools.cache
    def read(application, name):
        return tuple(read_log(TESTS / "logs" / application / f"{name}.log.gz"))

    return read
