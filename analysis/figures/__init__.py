"""Figures of a study: one per case, an overview, comparisons, and the order of execution.

Every interconnect has one colour and marker in all of them; its kind decides the line.
"""
