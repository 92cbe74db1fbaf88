/* A program that does nothing but to initialise MPI, for attest.c to be preloaded into. */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
#ifdef OPEN_MPI
    return MPI_Finalize();
#else
    return 0; /* UCX may hang when it closes TCP connections: openucx/ucx issue 8738 */
#endif
}
