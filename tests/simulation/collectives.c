/* Prints each message that the collective operations of Open MPI send: operation, bytes a rank, from, to, bytes.
 *
 * mpirun --mca pml_monitoring_enable 1 collectives BYTES,BYTES,... ; link with -rdynamic: its monitoring component calls
 * the function below in place of its own. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static const char *name = NULL; /* of the operation that is under way */
static long given;

void mca_common_monitoring_record_pml(int to, size_t bytes, int tag)
{
    (void)tag;
    if (name) printf("%s %ld %d %d %zu\n", name, given, rank, to, bytes);
}

#define TELL(operation, call)          \
    do {                               \
        MPI_Barrier(MPI_COMM_WORLD);   \
        name = operation;              \
        call;                          \
        name = NULL;                   \
    } while (0)

int main(int argc, char **argv)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    TELL("barrier", MPI_Barrier(world));
    for (char *word = argc > 1 ? strtok(argv[1], ",") : NULL; word; word = strtok(NULL, ",")) {
        given = atol(word);
        int n = given / sizeof(double), *counts = malloc(size * sizeof *counts), *places = malloc(size * sizeof *places);
        double *in = calloc((size_t)n * size + 1, 8), *out = calloc((size_t)n * size + 1, 8);
        for (int i = 0; i < size; i++) counts[i] = n, places[i] = i * n;
        TELL("allreduce", MPI_Allreduce(in, out, n, MPI_DOUBLE, MPI_SUM, world));
        TELL("reduce", MPI_Reduce(in, out, n, MPI_DOUBLE, MPI_SUM, 0, world));
        TELL("bcast", MPI_Bcast(in, n, MPI_DOUBLE, 0, world));
        TELL("gather", MPI_Gather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, 0, world));
        TELL("gatherv", MPI_Gatherv(in, n, MPI_DOUBLE, out, counts, places, MPI_DOUBLE, 0, world));
        TELL("scatter", MPI_Scatter(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, 0, world));
        TELL("allgather", MPI_Allgather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, world));
        TELL("allgatherv", MPI_Allgatherv(in, n, MPI_DOUBLE, out, counts, places, MPI_DOUBLE, world));
        TELL("alltoall", MPI_Alltoall(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, world));
        TELL("alltoallv", MPI_Alltoallv(in, counts, places, MPI_DOUBLE, out, counts, places, MPI_DOUBLE, world));
        TELL("reducescatter", MPI_Reduce_scatter(in, out, counts, MPI_DOUBLE, MPI_SUM, world));
        free(in), free(out), free(counts), free(places);
    }
    MPI_Finalize();
    return 0;
}
