"""A study made ready to run on this machine or cluster: points, blocks, order, records, jobs."""
