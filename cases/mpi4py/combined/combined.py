"""A compute job alone and beside an I/O job."""

from workflows.benchmarks.program import start
from workflows.benchmarks.traffic import combined

start(combined)
