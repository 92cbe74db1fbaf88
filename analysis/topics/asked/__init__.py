"""Asked."""
