"""Simulated points of a study: traces replayed, patterns and tasks carried out."""
