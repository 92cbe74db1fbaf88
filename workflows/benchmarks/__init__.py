"""What the network benchmarks of cases/mpi4py share. It is copied beside the program of every run."""
