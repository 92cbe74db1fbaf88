"""Congestion."""
