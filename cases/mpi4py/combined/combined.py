"""A compute job alone and beside an I/O job."""

from workflows.benchmarks.traffic import start_pattern

start_pattern("combined")
