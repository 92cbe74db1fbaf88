"""All processes send to one, each in turn, 1 B to 1 MiB a process."""

from workflows.benchmarks.collective import block_sizes, collective_sweep, gatherv
from workflows.benchmarks.sweep import main

main(
    lambda comm, largest_bytes, seconds: collective_sweep(
        comm, gatherv, block_sizes(comm, largest_bytes), seconds
    )
)
