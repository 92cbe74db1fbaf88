"""Texts of a report (numbers, titles, sentences) and the parts that its figures and tables share."""
