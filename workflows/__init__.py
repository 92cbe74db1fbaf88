"""What runs a study: design, launching, measuring, records. Knows nothing of what results mean."""
