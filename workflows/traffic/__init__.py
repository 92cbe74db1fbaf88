"""Patterns of network traffic as data: who sends how much to whom, and when."""
