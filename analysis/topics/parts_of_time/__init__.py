"""Parts of time."""
