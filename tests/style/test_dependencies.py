"""Dependencies have upper bounds that were tested, the same for pip and for conda."""

import re
import tomllib

import pytest

from workflows.inputs import read_yaml
from workflows.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKED = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
CONDA_NAMES = {
    "matplotlib": "matplotlib-base",
    "ruamel-yaml": "ruamel.yaml",
    "seaborn": "seaborn-base",
    "snakemake": "snakemake-minimal",
    "typst": "typst-py",
}
"""Names of packages that conda calls otherwise."""
ONLY_PIP = {
    "mpi4py": "is bound to the MPI library of the machine",
    "snakemake-executor-plugin-cluster-generic": "submits jobs, in which rules run",
    "snakemake-executor-plugin-flux": "submits jobs, in which rules run",
    "snakemake-executor-plugin-slurm": "submits jobs, in which rules run",
    "uv": "installs the environment of pip",
}
"""Packages that conda's environment of the rules lacks, with the reason."""
ONLY_CONDA = {"python", "util-linux"}
"""Packages that pip does not install."""


def bounds(dependencies):
    """Version bounds by name: ``pandera[pandas]>=0.24,<0.36`` has those after its name."""
    parts = (re.fullmatch(r"([\w.-]+)(?:\[\w+\])?(.*)", line).groups() for line in dependencies)
    return dict(parts)


OF_RULES = bounds(PROJECT["project"]["dependencies"])
ALL = OF_RULES | bounds(PROJECT["dependency-groups"]["dev"])


@pytest.mark.parametrize("name", ALL)
def test_the_upper_bound_is_the_next_minor_version_after_the_locked_one(name):
    versions = [package["version"] for package in LOCKED if package["name"] == name]
    major, minor = max(tuple(map(int, version.split(".")[:2])) for version in versions)
    assert re.fullmatch(rf">=[\d.]+,<{major}\.{minor + 1}", ALL[name])


def test_conda_has_the_packages_and_bounds_of_pip():
    conda = bounds(read_yaml(ROOT / "envs/python.yaml")["dependencies"])
    expected = {
        CONDA_NAMES.get(name, name): bound for name, bound in OF_RULES.items() if name not in ONLY_PIP
    }
    assert {name: bound for name, bound in conda.items() if name not in ONLY_CONDA} == expected
