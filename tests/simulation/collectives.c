/* Prints each message that the collective operations of an MPI library send: operation, bytes a rank, from, to, bytes.
 *
 * collectives BYTES,BYTES,... FOLDER: a file of each rank, since launchers lose lines; link with -rdynamic: the libraries call the functions below in place of their own. Those
 * of Open MPI belong to its monitoring component (--mca pml_monitoring_enable 1), those of MPICH to UCX. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static const char *name = NULL; /* of the operation that is under way */
static long given;

static void tell(int to, size_t bytes)
{
    if (name) printf("%s %ld %d %d %zd\n", name, given, rank, to, (ssize_t)bytes);
}

#ifdef MPICH
#include <dlfcn.h>
#include <sched.h>
#include <ucp/api/ucp.h>

static ucp_ep_h *way; /* to each rank */
static int learning = -1;

static void sent(ucp_ep_h to, size_t count, const ucp_request_param_t *how)
{
    int typed = how->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE, whose = 0;
    if (learning >= 0) way[learning] = to;
    while (way && whose < size && way[whose] != to) whose++;
    if (whose < size) /* -1: packed by MPICH itself */
        tell(whose, !typed ? count : (how->datatype & 7) == UCP_DATATYPE_CONTIG ? count * (how->datatype >> 3) : (size_t)-1);
}

#define WATCH(function)                                                                                              \
    ucs_status_ptr_t function(ucp_ep_h to, const void *from, size_t count, ucp_tag_t tag, const ucp_request_param_t *how) \
    {                                                                                                                \
        ucs_status_ptr_t (*real)(ucp_ep_h, const void *, size_t, ucp_tag_t, const ucp_request_param_t *);            \
        *(void **)&real = dlsym(RTLD_NEXT, #function);                                                               \
        sent(to, count, how);                                                                                        \
        return real(to, from, count, tag, how);                                                                      \
    }
WATCH(ucp_tag_send_nbx)
WATCH(ucp_tag_send_sync_nbx)

/* MPICH asks without end, and its ranks share cores. */
unsigned ucp_worker_progress(ucp_worker_h worker)
{
    static unsigned (*real)(ucp_worker_h);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "ucp_worker_progress");
    unsigned found = real(worker);
    if (!found) sched_yield();
    return found;
}

static void learn(MPI_Comm world)
{
    way = calloc(size, sizeof *way);
    for (int to = 0; to < size; to++) {
        int out = 0, in;
        MPI_Request request;
        if (to == rank) continue;
        MPI_Irecv(&in, 1, MPI_INT, to, 0, world, &request);
        learning = to;
        MPI_Send(&out, 1, MPI_INT, to, 0, world);
        learning = -1;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}
#else
void mca_common_monitoring_record_pml(int to, size_t bytes, int tag)
{
    (void)tag;
    tell(to, bytes);
}

static void learn(MPI_Comm world) { (void)world; }
#endif

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
    char own[4096];
    snprintf(own, sizeof own, "%s/rank-%d", argv[2], rank);
    if (!freopen(own, "w", stdout)) MPI_Abort(world, 1);
    learn(world);
    TELL("barrier", MPI_Barrier(world));
    for (char *word = strtok(argv[1], ","); word; word = strtok(NULL, ",")) {
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
    fclose(stdout);
    MPI_Finalize();
    return 0;
}
