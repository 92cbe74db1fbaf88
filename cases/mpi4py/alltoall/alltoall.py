"""Every process sends a block to every process, 1 B to 1 MiB a block."""

from workflows.benchmarks.collective import alltoall, block_sizes, collective_sweep
from workflows.benchmarks.sweep import main

main(
    lambda comm, largest_bytes, seconds: collective_sweep(
        comm, alltoall, block_sizes(comm, largest_bytes), seconds
    )
)
