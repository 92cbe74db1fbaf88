"""Exchange in many pairs at once."""

from workflows.benchmarks.point_to_point import simultaneous_pairs
from workflows.benchmarks.sweep import main

main(simultaneous_pairs)
