"""The recipe of README and docs/models.md: it takes an interconnect of large nodes over which messages must pass."""

import re
import shlex

import pytest
import yaml
from small_runs import ROOT

from workflows.plan.design import points
from workflows.study.asked import read_asked

OF_64_CORES = "infiniband_100"
"""Stands in for the model that the recipe makes."""


def recipe(file):
    """Overrides of the study that the recipe of a page runs."""
    command = re.search(r"\$ \./run-study simulated_elbow --config (.*)", (ROOT / file).read_text()).group(1)
    words = command.replace("vendor", OF_64_CORES)
    return {key: yaml.safe_load(value) for key, value in (word.split("=", 1) for word in shlex.split(words))}


@pytest.mark.parametrize("file", ["README.md", "docs/models.md"])
def test_the_messages_of_every_count_cross_the_interconnect(file):
    asked = read_asked(ROOT / "config/studies/simulated_elbow.yaml", recipe(file))
    assert asked.interconnects[OF_64_CORES].cores_per_node == 64
    planned, left_out = points(asked.study, asked.replayed, asked.interconnects)
    nodes = {(point.interconnect, point.processes): point.nodes for point in planned if point.interconnect}
    assert nodes and all(count > 1 for count in nodes.values()) and not left_out
    both = {name: [count for other, count in nodes if other == name] for name, _ in nodes}
    assert len(both) == 2 and len({tuple(counts) for counts in both.values()}) == 1
