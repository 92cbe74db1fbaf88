/* Integrates 4 / (1 + x^2) from 0 to 1 by processes and threads of OpenMP; prints the seconds and the integral. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, steps = atoi(argv[1]), threads = atoi(argv[2]);
    double sum = 0, pi = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (omp_get_max_threads() != threads) MPI_Abort(MPI_COMM_WORLD, 1);
    double begun = MPI_Wtime();
#pragma omp parallel for reduction(+ : sum)
    for (int i = rank; i < steps; i += size) sum += 4 / (1 + ((i + 0.5) / steps) * ((i + 0.5) / steps));
    MPI_Reduce(&sum, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("pi %.12f in %.6f s\n", pi / steps, MPI_Wtime() - begun);
    return MPI_Finalize();
}
