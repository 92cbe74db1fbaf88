"""Core hours."""
