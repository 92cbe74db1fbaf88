/* Calls that the tracer must record, for 4 ranks; argument: which of the groups below. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, next, before;
static char data[4096], other[4096];

static void point_to_point(void)
{
    MPI_Status status;
    if (me == 0) MPI_Send(data, 10, MPI_INT, 1, 7, MPI_COMM_WORLD);
    if (me == 1) MPI_Recv(data, 100, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(data, 3, MPI_CHAR, next, 1, other, 5, MPI_CHAR, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me == 2) MPI_Send(data, 8, MPI_CHAR, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    if (me == 3) MPI_Ssend(data, 16, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
    if (me == 0) {
        int count;
        MPI_Probe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_CHAR, &count);
        MPI_Recv(data, count, MPI_CHAR, status.MPI_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    char space[1024];
    MPI_Buffer_attach(space, sizeof space);
    if (me == 1) MPI_Bsend(data, 20, MPI_CHAR, 2, 3, MPI_COMM_WORLD);
    if (me == 2) MPI_Recv(data, 20, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    void *back;
    int size;
    MPI_Buffer_detach(&back, &size);
}

static void requests(void)
{
    MPI_Request made[4];
    MPI_Irecv(other, 64, MPI_CHAR, before, 1, MPI_COMM_WORLD, &made[0]);
    MPI_Irecv(other + 64, 64, MPI_CHAR, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &made[1]);
    MPI_Isend(data, 32, MPI_CHAR, next, 1, MPI_COMM_WORLD, &made[2]);
    MPI_Isend(data, 33, MPI_CHAR, next, 2, MPI_COMM_WORLD, &made[3]);
    MPI_Waitall(4, made, MPI_STATUSES_IGNORE);
    MPI_Recv_init(other, 8, MPI_CHAR, before, 3, MPI_COMM_WORLD, &made[0]);
    MPI_Send_init(data, 8, MPI_CHAR, next, 3, MPI_COMM_WORLD, &made[1]);
    for (int round = 0; round < 2; round++) {
        int at;
        MPI_Startall(2, made);
        MPI_Waitany(2, made, &at, MPI_STATUS_IGNORE);
        MPI_Waitany(2, made, &at, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&made[0]);
    MPI_Request_free(&made[1]);
    MPI_Irecv(other, 8, MPI_CHAR, before, 4, MPI_COMM_WORLD, &made[0]);
    MPI_Isend(data, 8, MPI_CHAR, next, 4, MPI_COMM_WORLD, &made[1]);
    for (int done = 0; !done;) MPI_Testall(2, made, &done, MPI_STATUSES_IGNORE);
    if (me == 0) MPI_Send(data, 5, MPI_CHAR, 1, 5, MPI_COMM_WORLD);
    if (me == 1) {
        MPI_Message message;
        MPI_Mprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(other, 5, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    }
}

static void collectives(void)
{
    double in[16] = {0}, out[64] = {0};
    int counts[4] = {1, 2, 3, 4}, places[4] = {0, 1, 3, 6}, ones[4] = {1, 1, 1, 1}, steps[4] = {0, 1, 2, 3};
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(in, 2, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    MPI_Reduce(in, out, 1, MPI_DOUBLE, MPI_SUM, 2, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, out, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Gather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, 3, MPI_COMM_WORLD);
    MPI_Scatter(out, 2, MPI_DOUBLE, in, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Alltoall(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Gatherv(in, counts[me], MPI_DOUBLE, out, counts, places, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Scatterv(out, counts, places, MPI_DOUBLE, in, counts[me], MPI_DOUBLE, 1, MPI_COMM_WORLD);
    MPI_Allgatherv(in, counts[me], MPI_DOUBLE, out, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Alltoallv(in, ones, steps, MPI_DOUBLE, out, ones, steps, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Reduce_scatter(in, out, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scan(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void communicators(void)
{
    MPI_Comm half, same;
    int value = 1, sum;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &half); /* 2,0 and 3,1 */
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, half);
    MPI_Bcast(data, 9, MPI_CHAR, 0, half);
    int rank;
    MPI_Comm_rank(half, &rank);
    if (rank == 0) MPI_Send(data, 4, MPI_CHAR, 1, 6, half);
    else MPI_Recv(data, 4, MPI_CHAR, 0, 6, half, MPI_STATUS_IGNORE);
    MPI_Comm_dup(MPI_COMM_WORLD, &same);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, same);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    MPI_Comm_free(&half);
    MPI_Comm_free(&same);
}

static void one_sided(void)
{
    MPI_Win window;
    long *memory, one = 1, old;
    MPI_Win_allocate(64, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_lock_all(0, window);
    MPI_Put(&one, 1, MPI_LONG, next, 0, 1, MPI_LONG, window);
    MPI_Win_flush(next, window);
    MPI_Get(&old, 1, MPI_LONG, next, 1, 1, MPI_LONG, window);
    MPI_Accumulate(&one, 1, MPI_LONG, next, 2, 1, MPI_LONG, MPI_SUM, window);
    MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 3, MPI_SUM, window);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}

static void steps(void)
{
    for (int step = 0; step < 4; step++) {
        int value = step, sum;
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (me == 0) fputs("step done\n", stdout);
        MPI_Sendrecv(data, 8, MPI_CHAR, next, 1, other, 8, MPI_CHAR, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void unknown(void)
{
    MPI_Request made;
    MPI_Comm same;
    MPI_Comm_idup(MPI_COMM_WORLD, &same, &made);
    MPI_Wait(&made, MPI_STATUS_IGNORE);
}

static void later(void)
{
    MPI_Request made[3];
    double in[4] = {0}, out[16];
    MPI_Iallreduce(in, out, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &made[0]);
    MPI_Isend(data, 8, MPI_CHAR, next, 1, MPI_COMM_WORLD, &made[1]);
    MPI_Recv(other, 8, MPI_CHAR, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Ibarrier(MPI_COMM_WORLD, &made[2]);
    MPI_Waitall(3, made, MPI_STATUSES_IGNORE);
}

/* Fortran's entry points, as a Fortran compiler calls them. */
void mpi_isend_(void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
void mpi_irecv_(void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
void mpi_waitall_(MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
void mpi_waitany_(MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
void mpi_recv_(void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
void mpi_send_(void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
void mpi_allreduce_(void *, void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);

static void fortran(void)
{
    MPI_Fint world = MPI_Comm_c2f(MPI_COMM_WORLD), kind = MPI_Type_c2f(MPI_INT), sum = MPI_Op_c2f(MPI_SUM);
    MPI_Fint count = 4, tag = 8, code, made[2], two = 2, index, any = MPI_ANY_SOURCE;
    MPI_Fint status[sizeof(MPI_Status) / sizeof(MPI_Fint)];
    mpi_irecv_(other, &count, &kind, &any, &tag, &world, &made[0], &code);
    mpi_isend_(data, &count, &kind, &next, &tag, &world, &made[1], &code);
    mpi_waitall_(&two, made, MPI_F_STATUSES_IGNORE, &code);
    mpi_irecv_(other, &count, &kind, &before, &tag, &world, &made[0], &code);
    mpi_isend_(data, &count, &kind, &next, &tag, &world, &made[1], &code);
    mpi_waitany_(&two, made, &index, status, &code);
    mpi_waitany_(&two, made, &index, MPI_F_STATUS_IGNORE, &code);
    if (me == 0) mpi_send_(data, &count, &kind, &next, &tag, &world, &code);
    if (me == 1) mpi_recv_(other, &count, &kind, &any, &tag, &world, status, &code);
    if (me == 1 && status[0] != 0 && status[2] != 0 && status[4] != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    mpi_allreduce_(data, other, &count, &kind, &sum, &world, &code);
}

int main(int argc, char **argv)
{
    struct { const char *name; void (*calls)(void); } groups[] = {
        {"point_to_point", point_to_point}, {"requests", requests}, {"collectives", collectives},
        {"communicators", communicators}, {"one_sided", one_sided}, {"steps", steps}, {"unknown", unknown},
        {"later", later},
        {"fortran", fortran}};
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (me + 1) % size;
    before = (me + size - 1) % size;
    for (unsigned i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strcmp(groups[i].name, argv[1]) == 0) groups[i].calls();
    MPI_Finalize();
    return 0;
}
