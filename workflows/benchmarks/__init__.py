"""What the network benchmarks of cases/mpi4py share; it is copied beside the program of a run."""
