"""pyproject.toml states the version; other files follow it."""

import tomllib

from workflows.inputs import read_yaml
from workflows.paths import ROOT
from workflows.results.facts import VERSION


def test_the_version_is_the_same_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert version == VERSION
    assert version == str(read_yaml(ROOT / "CITATION.cff")["version"])
    assert f"## {version} " in (ROOT / "CHANGELOG.md").read_text()
