"""Interconnects of a machine: reports of its tools, a ping-pong over each, and their files."""
