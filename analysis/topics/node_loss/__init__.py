"""Node loss."""
