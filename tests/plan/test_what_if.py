"""The recipe of docs/models.md: it takes an interconnect of large nodes over which messages must pass."""

import re

import pytest
from small_runs import ROOT

from workflows.plan.design import points
from workflows.study.asked import read_asked

OF_64_CORES = "infiniband_100"
"""Stands in for the model that the recipe makes."""


def recipe(file, folder):
    """Write the study that a page shows, with a shipped case and a shipped model of 64-core nodes."""
    text = re.search(r"```yaml\n(# what_if\.yaml.*?)```", (ROOT / file).read_text(), re.DOTALL).group(1)
    text = text.replace("{path: pitzDaily, steps: 10}", "elbow_segregated-smoke")
    model = (ROOT / f"config/interconnects/{OF_64_CORES}.yaml").read_text()
    (folder / "vendor.yaml").write_text(model.replace(f"name: {OF_64_CORES}", "name: vendor"))
    (folder / "what_if.yaml").write_text(text)
    return folder / "what_if.yaml"


@pytest.mark.parametrize("file", ["docs/models.md"])
def test_the_messages_of_every_count_cross_the_interconnect(file, tmp_path):
    asked = read_asked(recipe(file, tmp_path))
    assert asked.interconnects["vendor"].cores_per_node == 64
    planned, left_out = points(asked.study, asked.replayed, asked.interconnects)
    nodes = {(point.interconnect, point.processes): point.nodes for point in planned if point.interconnect}
    assert nodes and all(count > 1 for count in nodes.values()) and not left_out
    both = {name: [count for other, count in nodes if other == name] for name, _ in nodes}
    assert len(both) == 2 and len({tuple(counts) for counts in both.values()}) == 1
