"""Patterns of network traffic as plain data: who sends how much to whom, and when.

Nothing here sends a message: an executor (a benchmark, a simulator) takes a schedule and does.
"""
