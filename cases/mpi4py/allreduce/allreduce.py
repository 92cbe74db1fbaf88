"""Sum of doubles over all processes, 8 B to 1 MiB."""

from workflows.benchmarks.collective import allreduce, collective_sweep
from workflows.benchmarks.messages import powers
from workflows.benchmarks.sweep import main

main(
    lambda comm, largest_bytes, seconds: collective_sweep(
        comm, allreduce, powers(largest_bytes, smallest=8), seconds
    )
)
