"""A Slurm of two nodes for the tests of a module."""

import pytest
from small_slurm import small_slurm


@pytest.fixture(scope="module")
def slurm():
    with small_slurm(nodes=2) as running:
        yield running
