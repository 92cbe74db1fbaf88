"""What comes in: the table of runs, and what a study decides about its analysis."""
