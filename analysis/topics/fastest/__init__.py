"""Fastest."""
