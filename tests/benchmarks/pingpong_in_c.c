/* Ping-pong in C, called by pingpong_against_c.py on the ranks that also run ours. */
#include <mpi.h>

/* Seconds of `count` round trips of `size` bytes with `partner`. */
double ping_pong(void *sent, void *received, int size, int partner, int first, int count)
{
    double start = MPI_Wtime();
    for (int i = 0; i < count; i++) {
        if (first)
            MPI_Send(sent, size, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
        MPI_Recv(received, size, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!first)
            MPI_Send(sent, size, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
    }
    return MPI_Wtime() - start;
}
