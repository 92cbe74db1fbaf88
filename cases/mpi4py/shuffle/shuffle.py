"""Perfect shuffle: traffic at rising offered load."""

from workflows.benchmarks.traffic import start_pattern

start_pattern("shuffle")
