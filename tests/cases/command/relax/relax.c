/* relax CELLS SWEEPS: heat in a rod, hot at its left end, by explicit steps; cells are dealt out to the ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long cells = atol(argv[1]), own = cells / ranks + (rank < cells % ranks);
    int left = rank ? rank - 1 : MPI_PROC_NULL, right = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    double *now = calloc(own + 2, sizeof *now), *next = calloc(own + 2, sizeof *next);
    if (rank == 0) now[0] = next[0] = 1;
    double start = MPI_Wtime();
    for (int sweep = atoi(argv[2]); sweep > 0; sweep--) {
        MPI_Sendrecv(&now[own], 1, MPI_DOUBLE, right, 0, &now[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Sendrecv(&now[1], 1, MPI_DOUBLE, left, 1, &now[own + 1], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        for (long i = 1; i <= own; i++) next[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
        double *swapped = now;
        now = next;
        next = swapped;
    }
    double took = MPI_Wtime() - start, heat = 0, all;
    for (long i = 1; i <= own; i++) heat += now[i];
    MPI_Reduce(&heat, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
#ifdef __OPTIMIZE__
        printf("built with optimisation\n");
#endif
        printf("heat = %.12f\ntook %.6f s\n", all, took);
    }
    free(now);
    free(next);
    return MPI_Finalize();
}
