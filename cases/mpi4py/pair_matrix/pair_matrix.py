"""Ping-pong between every two processes."""

from workflows.benchmarks.point_to_point import pair_matrix
from workflows.benchmarks.sweep import main

main(pair_matrix)
