"""Messages after work."""

from workflows.benchmarks.point_to_point import after_work_sweep
from workflows.benchmarks.sweep import main

main(after_work_sweep)
