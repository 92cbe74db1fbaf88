"""Data servers."""
