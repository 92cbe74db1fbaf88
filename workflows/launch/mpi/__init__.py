"""MPI libraries: one module each, all behind the interface `library.MpiLibrary`, listed in `registry`."""
