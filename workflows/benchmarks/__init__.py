"""What the network benchmarks of cases/mpi4py share; it is copied beside the program of a run."""

SERVERS = "NODEWORTH_SERVERS"
"""Environment variable with the data servers a process; none where it is not set."""
