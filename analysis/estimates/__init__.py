"""What runs come to: points, curves, peaks, comparisons, equivalents, models, and how good they are."""
