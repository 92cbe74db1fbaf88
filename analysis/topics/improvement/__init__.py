"""Improvement."""
