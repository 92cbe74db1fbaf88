"""Making and freeing a window for one-sided calls."""

import mpi4py

mpi4py.rc.thread_level = "single"  # with more, Open MPI's pt2pt makes no windows

from workflows.benchmarks.point_to_point import window_sweep  # noqa: E402
from workflows.benchmarks.sweep import main  # noqa: E402

main(window_sweep)
