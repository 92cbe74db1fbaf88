/* Initialises MPI in the way that its argument names, and does what an application may do then. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

void mpi_init_(MPI_Fint *code);
void mpi_init_thread_(MPI_Fint *level, MPI_Fint *given, MPI_Fint *code);

int main(int argc, char **argv)
{
    int given, rank, size, sum, failed = 0;
    MPI_Fint f_level = MPI_THREAD_FUNNELED, f_given, f_failed = 0;
    if (!strcmp(argv[1], "Init")) failed = MPI_Init(&argc, &argv);
    if (!strcmp(argv[1], "Init_thread")) failed = MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    if (!strcmp(argv[1], "init_")) mpi_init_(&f_failed);
    if (!strcmp(argv[1], "init_thread_")) mpi_init_thread_(&f_level, &f_given, &f_failed);
    if (!strcmp(argv[1], "nothing")) return 0;
    if (failed || f_failed) return 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d ranks, sum %d\n", size, sum);
#ifdef OPEN_MPI
    return MPI_Finalize();
#else
    return 0; /* UCX may hang when it closes TCP connections: openucx/ucx issue 8738 */
#endif
}
