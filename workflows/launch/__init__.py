"""Ranks started where they belong: launchers, emulated nodes, and no process left behind."""
