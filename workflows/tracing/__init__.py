"""Traces of the computing and communication of a run: see docs/tracing.md."""
