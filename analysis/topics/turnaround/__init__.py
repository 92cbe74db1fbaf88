"""Turnaround."""
