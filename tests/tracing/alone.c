/* What comes into a rank in every way that MPI has; prints a digest of it. Argument: which of the groups below. */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef MPI_Fint F;
void mpi_file_open_(F *, const char *, F *, F *, F *, F *, size_t);
void mpi_file_read_at_(F *, MPI_Offset *, void *, F *, F *, F *, F *);
void mpi_file_close_(F *, F *);

static int me, size, next, before;
static unsigned long digest = 1;
static double v[64], w[64];

static void eat(const void *data, int bytes)
{
    for (const unsigned char *at = data; bytes--; at++) digest = digest * 1099511628211ul + *at;
}

static void eat_int(int value) { eat(&value, sizeof value); }

static void messages(void)
{
    MPI_Status status;
    int count, flag = 0;
    if (me == 0) {
        for (int i = 1; i < size; i++) {
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_DOUBLE, &count);
            MPI_Recv(w, count, MPI_DOUBLE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            eat(w, 8 * count);
            eat_int(status.MPI_SOURCE);
        }
    } else MPI_Send(v, 1 + me, MPI_DOUBLE, 0, me, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD); /* no other message is there to be probed */
    MPI_Sendrecv(v, 3, MPI_DOUBLE, next, 1, w, 5, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, &status);
    eat(w, 24);
    MPI_Sendrecv_replace(w, 3, MPI_DOUBLE, next, 1, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
    eat(w, 24);
    eat_int(status.MPI_SOURCE);
    MPI_Recv(w, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
    eat_int(status.MPI_SOURCE);
    double id = getpid();
    MPI_Send(&id, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD); /* nobody gets it */
    if (me == 0) MPI_Send(v, 4, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD);
    if (me == 1) {
        MPI_Message message;
        while (!flag) MPI_Iprobe(0, 5, MPI_COMM_WORLD, &flag, &status);
        MPI_Mprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(w, 4, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
        eat(w, 32);
        eat_int(message == MPI_MESSAGE_NULL);
    }
}

static void requests(void)
{
    MPI_Request made[3];
    MPI_Datatype strided;
    MPI_Status status, many[3];
    double in[6] = {0}, own[2] = {0};
    int index, flag = 0, indices[3], done = 0, some;
    MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &strided);
    MPI_Type_commit(&strided);
    MPI_Recv_init(in, 1, strided, before, 5, MPI_COMM_WORLD, &made[0]);
    MPI_Send_init(v, 1, strided, next, 5, MPI_COMM_WORLD, &made[1]);
    MPI_Type_free(&strided);
    for (int round = 0; round < 3; round++) {
        v[0] = round * 10 + me;
        MPI_Irecv(own, 2, MPI_DOUBLE, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &made[2]);
        MPI_Startall(2, made);
        MPI_Send(v, 2, MPI_DOUBLE, next, 6, MPI_COMM_WORLD);
        for (int k = 0; k < 3; k++) {
            MPI_Waitany(3, made, &index, &status);
            eat_int(index);
            if (index == 2) eat_int(status.MPI_SOURCE);
        }
        eat_int(made[2] == MPI_REQUEST_NULL);
        eat(in, sizeof in);
        eat(own, sizeof own);
    }
    MPI_Request_free(&made[0]);
    MPI_Request_free(&made[1]);
    MPI_Irecv(own, 2, MPI_DOUBLE, before, 7, MPI_COMM_WORLD, &made[0]);
    MPI_Isend(v, 2, MPI_DOUBLE, next, 7, MPI_COMM_WORLD, &made[1]);
    while (!flag) MPI_Testall(2, made, &flag, MPI_STATUSES_IGNORE);
    eat(own, sizeof own);
    for (int i = 0; i < 3; i++) MPI_Irecv(w + i, 1, MPI_DOUBLE, before, 8 + i, MPI_COMM_WORLD, &made[i]);
    for (int i = 0; i < 3; i++) MPI_Send(v + i, 1, MPI_DOUBLE, next, 10 - i, MPI_COMM_WORLD);
    while (done < 3) {
        MPI_Waitsome(3, made, &some, indices, many);
        done += some;
        for (int i = 0; i < some; i++) eat_int(many[i].MPI_TAG);
    }
    eat(w, 24);
    MPI_Irecv(w, 2, MPI_DOUBLE, before, 7, MPI_COMM_WORLD, &made[0]);
    MPI_Send(v, 2, MPI_DOUBLE, next, 7, MPI_COMM_WORLD);
    MPI_Waitall(1, made, many);
    MPI_Get_count(&many[0], MPI_DOUBLE, &some);
    eat_int(some);
    eat(w, 16);
    MPI_Irecv(w, 2, MPI_DOUBLE, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &made[0]);
    MPI_Wait(&made[0], &status);
    eat_int(status.MPI_SOURCE);
    eat_int(status.MPI_TAG);
}

static void collectives(void)
{
    int counts[64], places[64], ones[64], steps[64];
    for (int i = 0; i < size; i++) counts[i] = 1 + i % 2, places[i] = i ? places[i - 1] + counts[i - 1] : 0, ones[i] = 1, steps[i] = i;
    MPI_Allreduce(MPI_IN_PLACE, v, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    eat(v, 64);
    v[0] += me;
    MPI_Gather(v, 1, MPI_DOUBLE, w, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    eat(w, sizeof w);
    MPI_Allgather(v, 1, MPI_DOUBLE, w, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    eat(w, sizeof w);
    MPI_Alltoall(w, 1, MPI_DOUBLE, v, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    eat(v, sizeof v);
    v[0] += me;
    MPI_Bcast(v, 4, MPI_DOUBLE, 2, MPI_COMM_WORLD);
    eat(v, sizeof v);
    MPI_Reduce(v, w, 2, MPI_DOUBLE, MPI_SUM, 3, MPI_COMM_WORLD);
    eat(w, sizeof w);
    MPI_Scatter(w, 1, MPI_DOUBLE, v, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Gatherv(v, counts[me], MPI_DOUBLE, w, counts, places, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Scatterv(w, counts, places, MPI_DOUBLE, v, counts[me], MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Allgatherv(v, counts[me], MPI_DOUBLE, w, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
    eat(w, sizeof w);
    MPI_Alltoallv(w, ones, steps, MPI_DOUBLE, v, ones, steps, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Scan(v, w, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(w, v, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter(w, v, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(w, v, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    eat(v, sizeof v);
    eat(w, sizeof w);
}

static void later(void)
{
    MPI_Request made[4];
    double sum[2], all[64] = {0}, one[3] = {me, 2, 3}, mine = me, got[64] = {0}, part[1];
    int counts[64], places[64], done = 0;
    for (int i = 0; i < size; i++) counts[i] = 1 + i % 2, places[i] = 2 * i;
    MPI_Iallreduce(v, sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &made[0]);
    MPI_Ibcast(one, 3, MPI_DOUBLE, 1, MPI_COMM_WORLD, &made[1]);
    MPI_Iallgatherv(v, counts[me], MPI_DOUBLE, all, counts, places, MPI_DOUBLE, MPI_COMM_WORLD, &made[2]);
    MPI_Ibarrier(MPI_COMM_WORLD, &made[3]);
    while (!done) MPI_Testall(4, made, &done, MPI_STATUSES_IGNORE);
    eat(sum, sizeof sum);
    eat(one, sizeof one);
    eat(all, sizeof all);
    MPI_Igather(&mine, 1, MPI_DOUBLE, got, 1, MPI_DOUBLE, 2, MPI_COMM_WORLD, &made[0]);
    MPI_Wait(&made[0], MPI_STATUS_IGNORE);
    eat(got, sizeof got);
    MPI_Iscatter(got, 1, MPI_DOUBLE, part, 1, MPI_DOUBLE, 2, MPI_COMM_WORLD, &made[0]);
    MPI_Ireduce(&mine, sum, 1, MPI_DOUBLE, MPI_MAX, 3, MPI_COMM_WORLD, &made[1]);
    MPI_Ialltoall(all, 1, MPI_DOUBLE, got, 1, MPI_DOUBLE, MPI_COMM_WORLD, &made[2]);
    MPI_Waitall(3, made, MPI_STATUSES_IGNORE);
    eat(part, sizeof part);
    eat(sum, sizeof sum);
    eat(got, sizeof got);
    for (int i = 0; i < size; i++) places[i] = i ? places[i - 1] + counts[i - 1] : 0;
    MPI_Iscan(&mine, sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &made[0]);
    MPI_Iexscan(&mine, part, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &made[1]);
    MPI_Igatherv(v, counts[me], MPI_DOUBLE, all, counts, places, MPI_DOUBLE, 1, MPI_COMM_WORLD, &made[2]);
    MPI_Ireduce_scatter(v, got, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &made[3]);
    MPI_Waitall(4, made, MPI_STATUSES_IGNORE);
    eat(sum, sizeof sum);
    eat(part, sizeof part);
    eat(all, sizeof all);
    eat(got, sizeof got);
    MPI_Iscatterv(all, counts, places, MPI_DOUBLE, v, counts[me], MPI_DOUBLE, 1, MPI_COMM_WORLD, &made[0]);
    MPI_Ireduce_scatter_block(got, w, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &made[1]);
    MPI_Waitall(2, made, MPI_STATUSES_IGNORE);
    eat(v, sizeof v);
    eat(w, 16);
    eat_int(made[0] == MPI_REQUEST_NULL);
}

static void communicators(void)
{
    MPI_Comm half, none, grid, line;
    MPI_Group all, first;
    int rank, many, zero = 0, extents[2] = {2, 2}, periods[2] = {1, 0}, place[2], keep[2] = {1, 0}, up, down, result;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &half);
    MPI_Comm_rank(half, &rank);
    MPI_Comm_size(half, &many);
    eat_int(rank);
    eat_int(many);
    MPI_Allreduce(MPI_IN_PLACE, v, 2, MPI_DOUBLE, MPI_SUM, half);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &zero, &first);
    MPI_Group_rank(first, &rank);
    MPI_Group_translate_ranks(first, 1, &zero, all, &many);
    eat_int(rank);
    eat_int(many);
    MPI_Comm_create(MPI_COMM_WORLD, first, &none);
    eat_int(none == MPI_COMM_NULL);
    if (none != MPI_COMM_NULL) MPI_Comm_free(&none);
    MPI_Group_free(&first);
    MPI_Group_free(&all);
    MPI_Cart_create(MPI_COMM_WORLD, 2, extents, periods, 1, &grid);
    MPI_Cart_get(grid, 2, extents, periods, place);
    MPI_Cart_shift(grid, 0, 1, &down, &up);
    eat(place, sizeof place);
    eat_int(up);
    eat_int(down);
    MPI_Cart_sub(grid, keep, &line);
    MPI_Comm_compare(grid, MPI_COMM_WORLD, &result);
    eat_int(result);
    MPI_Bcast(v, 1, MPI_DOUBLE, 0, line);
    MPI_Gather(v, 1, MPI_DOUBLE, w, 1, MPI_DOUBLE, 0, half);
    eat(v, sizeof v);
    eat(w, sizeof w);
    MPI_Comm_free(&line);
    MPI_Comm_group(half, &all);
    MPI_Comm_create_group(half, all, 3, &line);
    MPI_Group_free(&all);
    MPI_Comm_size(line, &many);
    eat_int(many);
    MPI_Comm_free(&line);
    MPI_Comm_dup_with_info(grid, MPI_INFO_NULL, &line);
    MPI_Allreduce(MPI_IN_PLACE, v, 2, MPI_DOUBLE, MPI_SUM, line);
    eat(v, sizeof v);
    MPI_Comm_free(&line);
    MPI_Comm_free(&grid);
    MPI_Comm_free(&half);
}

static void clock_branch(void)
{
    struct timespec now;
    struct timeval day;
    struct rusage used;
    struct tms ticks;
    for (double end = MPI_Wtime() + 0.002; MPI_Wtime() < end;) v[0] += 1;
    for (clock_t end = clock() + 200; clock() < end;) v[0] += 1;
    pid_t child = fork();
    if (!child) {
        MPI_Wtime();
        MPI_Send(v, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
        puts("nothing of a child is a rank's");
        exit(0);
    }
    waitpid(child, NULL, 0);
    clock_gettime(CLOCK_REALTIME, &now);
    gettimeofday(&day, NULL);
    getrusage(RUSAGE_SELF, &used);
    times(&ticks);
    v[0] += now.tv_nsec + day.tv_usec + used.ru_utime.tv_usec + ticks.tms_utime + time(NULL) % 1000;
    MPI_Allreduce(v, w, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    eat(v, 8);
    eat(w, 8);
}

/* Its process decides what it sends, where to, or whether it calls. */
static int alone(void) { return getenv("NODEWORTH_TRACE_ALONE") != NULL; }

static int input; /* its own program, opened before MPI_Init */

static void reads_on(void)
{
    for (int i = 0; i < 4; i++) {
        unsigned char some[64];
        eat(some, read(input, some, sizeof some));
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void killed(void)
{
    if (me == 1 && alone()) raise(SIGKILL);
}

static void other_value(void)
{
    double id = getpid();
    MPI_Allreduce(&id, w, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void other_values(void)
{
    for (int i = 0; i < 1100; i++) other_value();
}

static void other_part(void)
{
    w[me] = getpid();
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, w, 1, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void other_part_of_root(void)
{
    w[me] = getpid();
    MPI_Gather(me == 1 ? MPI_IN_PLACE : v, 1, MPI_DOUBLE, w, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
}

static void to_next(int dest, int tag)
{
    MPI_Request made;
    MPI_Irecv(w, 8, MPI_BYTE, before, MPI_ANY_TAG, MPI_COMM_WORLD, &made);
    MPI_Send((int[]){dest, tag}, 8, MPI_BYTE, dest, tag, MPI_COMM_WORLD);
    MPI_Wait(&made, MPI_STATUS_IGNORE);
}

static void other_target(void) { to_next(alone() ? before : next, 1); }

static void other_tag(void) { to_next(next, 1 + alone()); }

static void other_root(void) { MPI_Bcast(v, 1, MPI_DOUBLE, 1 + alone(), MPI_COMM_WORLD); }

static void other_call(void)
{
    if (me == 2 && alone()) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(v, w, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void other_value_then_call(void)
{
    other_value();
    if (alone()) MPI_Barrier(MPI_COMM_WORLD);
}

/* What cannot be recorded. */
static void part_of_an_element(void)
{
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
    MPI_Type_commit(&pair);
    MPI_Sendrecv(v, 3, MPI_DOUBLE, next, 1, w, 2, pair, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&pair);
}

static void large(void)
{
    MPI_Datatype all_of_one;
    MPI_Type_create_hvector(1 << 20, 1, 0, MPI_DOUBLE, &all_of_one);
    MPI_Type_commit(&all_of_one);
    MPI_Bcast(v, 300, all_of_one, 0, MPI_COMM_SELF);
    MPI_Type_free(&all_of_one);
}

static void full(void)
{
    static char much[3 << 20];
    struct rlimit most = {1 << 20, 1 << 20}; /* of a file; the error is another one than that of a full disk */
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &most);
    MPI_Bcast(much, sizeof much, MPI_CHAR, 1, MPI_COMM_WORLD);
}

static void *ask(void *rank)
{
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    return NULL;
}

static void thread(void)
{
    pthread_t other;
    int rank;
    pthread_create(&other, NULL, ask, &rank);
    pthread_join(other, NULL);
    if (rank == me) MPI_Barrier(MPI_COMM_WORLD);
}

static void other_thread(void)
{
    if (alone()) thread();
}

/* What neighbours put, take and add up in windows; where a rank reads its own memory it has synchronised before. */
static void windows(void)
{
    MPI_Win made, counter;
    MPI_Datatype every_other;
    double *own;
    long tickets[3], none = -1, one = 1;
    static long *count;
    MPI_Win_create(v, sizeof v, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
    MPI_Win_fence(0, made);
    MPI_Put(&me, 1, MPI_INT, next, 3, 1, MPI_INT, made);
    MPI_Get(w, 4, MPI_DOUBLE, before, 8, 4, MPI_DOUBLE, made);
    MPI_Win_fence(0, made);
    eat(v, 64);
    eat(w, 32);
    v[9] += w[0]; /* the rank's own store */
    MPI_Win_fence(0, made);
    MPI_Type_vector(4, 1, 2, MPI_DOUBLE, &every_other);
    MPI_Type_commit(&every_other);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, made);
    MPI_Get(w + 20, 1, every_other, next, 8, 4, MPI_DOUBLE, made);
    MPI_Type_free(&every_other);
    MPI_Win_unlock(next, made);
    eat(w, sizeof w);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&made);

    MPI_Win_allocate(512 * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &made);
    MPI_Win_allocate(me ? 0 : 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &count, &counter);
    MPI_Win_lock_all(0, made);
    MPI_Win_lock_all(0, counter);
    for (int i = 0; i < 512; i++) own[i] = me;
    if (me == 0) *count = 5;
    long *bases[16]; /* as libraries of one-sided calls tell each other */
    MPI_Allgather(&own, sizeof own, MPI_BYTE, bases, sizeof own, MPI_BYTE, MPI_COMM_WORLD);
    eat(bases, size * sizeof *bases);
    MPI_Win_sync(counter);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) { /* whoever comes first; the order is another one each time */
        MPI_Fetch_and_op(&one, &tickets[i], MPI_LONG, 0, 0, MPI_SUM, counter);
        MPI_Win_flush(0, counter);
        usleep(tickets[i] * 100);
    }
    for (int i = 0; i < size; i++) MPI_Accumulate(v, 16, MPI_DOUBLE, i, 32 * i, 16, MPI_DOUBLE, MPI_SUM, made);
    MPI_Win_flush_all(made);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(made);
    eat(own, 512 * 8);
    eat(tickets, sizeof tickets);
    MPI_Put(v, 8, MPI_DOUBLE, me, 100, 8, MPI_DOUBLE, made); /* to itself */
    MPI_Get_accumulate(v, 4, MPI_DOUBLE, w, 4, MPI_DOUBLE, me, 100, 4, MPI_DOUBLE, MPI_SUM, made);
#ifndef OPEN_MPI /* whose osc/rdma fails with it on one machine */
    MPI_Compare_and_swap(&one, &none, &tickets[0], MPI_LONG, 0, 0, counter);
#endif
    MPI_Fetch_and_op(NULL, &tickets[1], MPI_LONG, 0, 0, MPI_NO_OP, counter);
    MPI_Win_flush_local_all(made);
    MPI_Win_flush(me, made);
    MPI_Win_flush_local(0, counter);
    eat(own, 512 * 8);
    eat(w, 32);
    eat(tickets, 2 * sizeof *tickets);
    MPI_Win_unlock_all(made);
    MPI_Win_unlock_all(counter);
    MPI_Win_free(&made);
    MPI_Win_free(&counter);
}

/* What others wrote to a file that ranks share; alone there is none. */
static void files(void)
{
    char name[1000];
    MPI_File file;
    MPI_Offset at;
    MPI_Status status;
    MPI_Request made[2];
    int count;
    snprintf(name, sizeof name, "%s/shared", getenv("NODEWORTH_TRACE"));
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    eat_int(file == MPI_FILE_NULL);
    MPI_File_set_size(file, 8 * 40);
    MPI_File_write_at_all(file, 32 * me, v, 4, MPI_DOUBLE, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    eat_int(count);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at(file, 32 * next, w, 4, MPI_DOUBLE, MPI_STATUS_IGNORE);
    eat(w, 32);
    MPI_File_seek(file, 32 * before + 8, MPI_SEEK_SET);
    MPI_File_read_all(file, w, 2, MPI_DOUBLE, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    MPI_File_get_position(file, &at);
    eat_int(count + at);
    MPI_File_get_size(file, &at);
    eat_int(at);
    eat(w, 32);
    MPI_File_set_view(file, 32, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL);
    v[0] = 7;
    MPI_File_iread_at(file, 4 * (before ? before - 1 : 0), w, 2, MPI_DOUBLE, &made[0]);
    MPI_File_iwrite_at(file, 20 + me, v, 1, MPI_DOUBLE, &made[1]);
    MPI_Waitall(2, made, MPI_STATUSES_IGNORE);
    eat(w, 32);
    MPI_File_close(&file);
    eat_int(file == MPI_FILE_NULL);
    F world = MPI_Comm_c2f(MPI_COMM_WORLD), kind = MPI_Type_c2f(MPI_DOUBLE), info = MPI_Info_c2f(MPI_INFO_NULL);
    F access = MPI_MODE_RDONLY, handle, code, four = 4;
    at = 32 * next;
    mpi_file_open_(&world, name, &access, &info, &handle, &code, strlen(name));
    eat_int(code);
    mpi_file_read_at_(&handle, &at, w, &four, &kind, MPI_F_STATUS_IGNORE, &code);
    eat(w, 32);
    mpi_file_close_(&handle, &code);
    eat_int(handle == MPI_File_c2f(MPI_FILE_NULL));
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) MPI_File_delete(name, MPI_INFO_NULL);
}

/* Memory that was never written to is sent along, with addresses in it. */
static void address(void)
{
    const void *place = &place;
    MPI_Allgather(&place, sizeof place, MPI_BYTE, v, sizeof place, MPI_BYTE, MPI_COMM_WORLD);
    eat(v, size * sizeof place);
}

/* A rank that reads its own memory without synchronising, and sends what it read. */
static void window_race(void)
{
    MPI_Win made;
    volatile double *seen = v;
    MPI_Win_create(v, sizeof v, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
    MPI_Win_lock_all(0, made);
    w[0] = 1000;
    if (me == 0) MPI_Put(w, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, made);
    if (me == 0) MPI_Win_flush(1, made);
    for (int i = 0; me == 1 && *seen != 1000 && i < 10000; i++) usleep(100);
    w[1] = *seen;
    MPI_Allreduce(w + 1, w + 2, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Win_unlock_all(made);
    MPI_Win_free(&made);
}

/* Fortran's entry points, as a Fortran compiler calls them. */
void mpi_isend_(void *, F *, F *, F *, F *, F *, F *, F *);
void mpi_irecv_(void *, F *, F *, F *, F *, F *, F *, F *);
void mpi_waitall_(F *, F *, F *, F *);
void mpi_waitany_(F *, F *, F *, F *, F *);
void mpi_test_(F *, F *, F *, F *);
void mpi_recv_(void *, F *, F *, F *, F *, F *, F *, F *);
void mpi_send_(void *, F *, F *, F *, F *, F *, F *);
void mpi_allreduce_(void *, void *, F *, F *, F *, F *, F *);
void mpi_comm_split_(F *, F *, F *, F *, F *);
void mpi_comm_rank_(F *, F *, F *);
void mpi_comm_free_(F *, F *);

extern int mpi_fortran_bottom_ __attribute__((weak)); /* Open MPI's Fortran MPI_BOTTOM */
extern void *MPIR_F_MPI_BOTTOM __attribute__((weak)); /* MPICH's, known from its first call in Fortran on */

static F at_address(double *address)
{
    MPI_Datatype made;
    MPI_Aint at;
    int count = 4;
    MPI_Get_address(address, &at);
    MPI_Type_create_hindexed(1, &count, &at, MPI_DOUBLE, &made);
    MPI_Type_commit(&made);
    return MPI_Type_c2f(made);
}

static void fortran(void)
{
    F world = MPI_Comm_c2f(MPI_COMM_WORLD), kind = MPI_Type_c2f(MPI_DOUBLE), sum = MPI_Op_c2f(MPI_SUM);
    F count = 4, tag = 8, code, made[2], two = 2, index, any = MPI_ANY_SOURCE, colour = me % 2, half, rank, flag = 0;
    F null = MPI_Request_c2f(MPI_REQUEST_NULL), status[2][sizeof(MPI_Status) / sizeof(MPI_Fint)];
    mpi_irecv_(w, &count, &kind, &any, &tag, &world, &made[0], &code);
    mpi_isend_(v, &count, &kind, &next, &tag, &world, &made[1], &code);
    mpi_waitall_(&two, made, status[0], &code);
    MPI_Status got;
    MPI_Status_f2c(status[0], &got);
    eat_int(got.MPI_SOURCE);
    eat(w, 32);
    mpi_irecv_(w, &count, &kind, &before, &tag, &world, &made[0], &code);
    mpi_isend_(v, &count, &kind, &next, &tag, &world, &made[1], &code);
    mpi_waitany_(&two, made, &index, status[0], &code);
    eat_int(index);
    eat_int(made[index - 1] == null);
    mpi_waitany_(&two, made, &index, MPI_F_STATUS_IGNORE, &code);
    eat_int(index);
    mpi_irecv_(w, &count, &kind, &before, &tag, &world, &made[0], &code);
    mpi_send_(v, &count, &kind, &next, &tag, &world, &code);
    while (!flag) mpi_test_(&made[0], &flag, MPI_F_STATUS_IGNORE, &code);
    eat(w, 32);
    mpi_comm_split_(&world, &colour, &me, &half, &code);
    mpi_comm_rank_(&half, &rank, &code);
    eat_int(rank);
    mpi_allreduce_(v, w, &count, &kind, &sum, &half, &code);
    eat(w, 32);
    mpi_comm_free_(&half, &code);
    F one = 1, of_v = at_address(v), of_w = at_address(w);
    void *bottom = &mpi_fortran_bottom_ ? &mpi_fortran_bottom_ : MPIR_F_MPI_BOTTOM;
    if (!bottom && !alone()) MPI_Abort(MPI_COMM_WORLD, 1);
    w[3] = 0;
    mpi_irecv_(bottom, &one, &of_w, &before, &tag, &world, &made[0], &code);
    mpi_isend_(bottom, &one, &of_v, &next, &tag, &world, &made[1], &code);
    mpi_waitall_(&two, made, status[0], &code);
    eat(w, 32);
}

int main(int argc, char **argv)
{
    struct { const char *name; void (*calls)(void); } groups[] = {
        {"messages", messages}, {"requests", requests}, {"collectives", collectives},
        {"communicators", communicators}, {"fortran", fortran}, {"later", later}, {"clock_branch", clock_branch},
        {"other_value", other_value}, {"other_values", other_values}, {"other_part", other_part},
        {"other_target", other_target}, {"other_tag", other_tag}, {"other_root", other_root},
        {"other_call", other_call}, {"other_part_of_root", other_part_of_root},
        {"other_value_then_call", other_value_then_call}, {"other_thread", other_thread},
        {"windows", windows}, {"files", files}, {"address", address}, {"window_race", window_race}, {"part_of_an_element", part_of_an_element},
        {"large", large}, {"full", full}, {"thread", thread}, {"reads_on", reads_on}, {"killed", killed}};
    input = open(argv[0], O_RDONLY);
    pid_t child = strcmp(argv[1], "forked") ? 0 : fork();
    if (child) return waitpid(child, NULL, 0) < 0; /* the rank is the child */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (me + 1) % size;
    before = (me + size - 1) % size;
    for (int i = 0; i < 64; i++) v[i] = me + i / 8.0;
    for (unsigned i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strcmp(groups[i].name, argv[1]) == 0) groups[i].calls();
    printf("digest %d %016lx\n", me, digest);
    MPI_Finalize();
    return 0;
}
