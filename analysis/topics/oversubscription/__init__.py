"""Oversubscription."""
