"""The words of a report: numbers, titles, sentences. With figures and report, the only place with English."""
