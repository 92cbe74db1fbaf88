"""Inputs of the analysis: the runs table, side tables, facts and settings of a study."""
