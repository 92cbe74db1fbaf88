"""Energy."""
