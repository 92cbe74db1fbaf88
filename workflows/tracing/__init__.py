"""Tracing a run: see docs/tracing.md."""
