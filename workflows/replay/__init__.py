"""Simulation of the points of a study: replays of traces, patterns of traffic, tasks with data servers."""
