"""Exchange between the first and the last process, after both worked."""

from workflows.benchmarks.point_to_point import sendrecv_after_work_sweep
from workflows.benchmarks.sweep import main

main(sendrecv_after_work_sweep)
