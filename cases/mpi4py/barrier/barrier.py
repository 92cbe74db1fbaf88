"""Every process waits for all."""

from workflows.benchmarks.collective import barrier, collective_sweep
from workflows.benchmarks.sweep import main

main(lambda comm, seconds: collective_sweep(comm, lambda comm, size: barrier(comm), [None], seconds))
