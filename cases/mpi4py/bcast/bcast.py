"""One process sends to all, each in turn, 1 B to 1 MiB."""

from workflows.benchmarks.collective import bcast, collective_sweep
from workflows.benchmarks.messages import powers
from workflows.benchmarks.sweep import main

main(lambda comm, largest_bytes, seconds: collective_sweep(comm, bcast, powers(largest_bytes), seconds))
