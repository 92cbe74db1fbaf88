"""Exchange between the first and the last process."""

from workflows.benchmarks.point_to_point import sendrecv_sweep
from workflows.benchmarks.sweep import main

main(sendrecv_sweep)
