"""Bit reversal: traffic at rising offered load."""

from workflows.benchmarks.program import start
from workflows.benchmarks.traffic import one_job

start(one_job("bit_reversal"))
