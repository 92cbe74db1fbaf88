"""Work during an exchange."""

from workflows.benchmarks.point_to_point import availability_sweep
from workflows.benchmarks.sweep import main

main(availability_sweep)
