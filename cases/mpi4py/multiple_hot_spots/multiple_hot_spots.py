"""Multiple hot spots: traffic to I/O nodes, for every combination of its five dimensions."""

from workflows.benchmarks.program import start
from workflows.benchmarks.traffic import multiple_hot_spots

start(multiple_hot_spots)
