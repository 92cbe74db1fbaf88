"""Proposal."""
