"""Adjusted."""
