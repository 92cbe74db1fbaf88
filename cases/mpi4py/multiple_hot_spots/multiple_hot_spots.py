"""Multiple hot spots: traffic to I/O nodes, for every combination of its five dimensions."""

from workflows.benchmarks.traffic import start_pattern

start_pattern("multiple_hot_spots")
