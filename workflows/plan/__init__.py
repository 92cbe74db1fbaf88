"""What a study comes to on this machine: points, blocks, order, records that are there, jobs."""
