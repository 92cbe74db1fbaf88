"""Prints a report: as PDF with Typst, as one HTML page with Jinja."""
