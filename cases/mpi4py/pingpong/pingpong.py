"""Ping-pong between the first and the last process."""

from workflows.benchmarks.point_to_point import pingpong_sweep
from workflows.benchmarks.sweep import main

main(pingpong_sweep)
