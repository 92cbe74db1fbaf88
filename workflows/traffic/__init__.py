"""Patterns of network traffic as data: sender, receiver, size and time of every message."""
