"""A Slurm of two nodes for the tests of a module, and a folder in which studies run on it."""

import pytest
from cluster_folders import ClusterFolder
from small_slurm import small_slurm


@pytest.fixture(scope="module")
def slurm():
    with small_slurm(nodes=2) as running:
        yield running


@pytest.fixture
def cluster_folder(slurm, tmp_path):
    return ClusterFolder(slurm, tmp_path)
