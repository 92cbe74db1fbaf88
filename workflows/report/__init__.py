"""Prints a report as PDF with Typst, and as one HTML page with Jinja."""
