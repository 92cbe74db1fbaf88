import pytest
from foreign_files import FOREIGN

from analysis.importers import make_mapping


@pytest.fixture
def foreign():
    """Folder of the files that other tools wrote."""
    return FOREIGN


@pytest.fixture
def shared_memory():
    """A mapping for network benchmarks."""
    return make_mapping({"interconnect": {"value": "shared_memory"}, "kind": {"value": "measured"}})


@pytest.fixture
def written(tmp_path):
    """Write a file and give its path."""

    def write(text, name="file"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write
