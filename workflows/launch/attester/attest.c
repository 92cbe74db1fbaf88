/* What the interconnect carries between two ranks, measured when the program has just initialised MPI.
 *
 * The two are rank 0 and the last rank on another node; where there is no other node, the last one on other cores; where
 * all share their cores, the last one. The other ranks sleep meanwhile. Messages go over a communicator of their own, and
 * lie in pages of their own: malloc would remember that such blocks were freed. They end as soon as a value is confirmed
 * and not worse than attested. Else there are further attempts, as a machine that is not idle may disturb one from its
 * beginning to its end.
 *
 * Environment: NODEWORTH_ATTEST         file that rank 0 writes, in JSON
 *              NODEWORTH_ATTEST_SLOWEST highest latency in us and lowest bandwidth in MB/s that are attested
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define LARGE 1000000   /* bytes */
#define ATTEMPTS 5      /* where a value is worse than attested */
#define UNSURE 2        /* where it is in its range, and not confirmed */
#define PAUSE 0.02      /* seconds before the second attempt, twice that before the third, ... */
#define ENOUGH 0.0005   /* seconds of round trips of empty messages, at least, where nothing is wrong */
#define ENOUGH_LARGE 0.001
#define CALM 0.2        /* share of the time that ranks may wait for their cores where two round trips confirm a value */
#define ALIKE 1.25      /* times that the second of them may take */
#define SAME 1.05       /* the same of three round trips, where they waited for longer */
#define MANY 8          /* round trips of one size in an attempt, at least, ... */
#define MOST 0.025      /* ... and seconds of them, where nothing is confirmed or a value is worse than attested */
#define SPINNING 0.001  /* seconds that a message is waited for without sleeping */
#define NAP 0.0002      /* ... and between looks after that */
#define QUIET_VERBOSITY 11  /* of Open MPI's outputs that are to end here: workflows/launch/transport.py asks for it */

typedef struct {
    char host[64], cores[192];
} Location;

typedef struct {
    MPI_Comm comm;
    bool leads, shared; /* one core for both */
    int peer;
    char *message;
} Pair;

typedef struct {
    double seconds;
    bool sure;
} Shortest;

#ifdef OPEN_MPI
const int for_open_mpi = 1;
#endif

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void nap(double seconds)
{
    struct timespec time = {0, (long)(1e9 * seconds)};
    nanosleep(&time, NULL);
}

/* ---- where the ranks are ---- */

static Location own_location(void)
{
    Location location = {"", ""};
    char line[4096];
    FILE *file = fopen("/proc/sys/kernel/hostname", "r");
    if (file && fscanf(file, "%63s", location.host) != 1) location.host[0] = 0;
    if (file) fclose(file);
    file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Cpus_allowed_list: %191s", location.cores) == 1) break;
    if (file) fclose(file);
    return location;
}

static int second_of_pair(const Location *locations, int size)
{
    for (int rank = size; --rank > 0;)
        if (strcmp(locations[rank].host, locations[0].host)) return rank;
    for (int rank = size; --rank > 0;)
        if (strcmp(locations[rank].cores, locations[0].cores)) return rank;
    return size - 1;
}

/* ---- ping-pong ---- */

static void finish(MPI_Request *request, bool yields)
{
    double begun = now();
    for (int done = 0; PMPI_Test(request, &done, MPI_STATUS_IGNORE), !done;) {
        if (now() - begun > SPINNING) nap(NAP);
        else if (yields) sched_yield();
    }
}

static void transfer(const Pair *pair, bool sends, void *data, int bytes)
{
    MPI_Request request;
    if (sends) PMPI_Isend(data, bytes, MPI_BYTE, pair->peer, 0, pair->comm, &request);
    else PMPI_Irecv(data, bytes, MPI_BYTE, pair->peer, 0, pair->comm, &request);
    finish(&request, pair->shared);
}

/* What the leader says, at both. */
static int agreed(const Pair *pair, int number)
{
    transfer(pair, pair->leads, &number, sizeof number);
    return number;
}

static double half_round_trip(const Pair *pair, int bytes)
{
    double begun = now();
    transfer(pair, pair->leads, pair->message, bytes);
    transfer(pair, !pair->leads, pair->message, bytes);
    return (now() - begun) / 2;
}

/* Seconds that this process has waited for its core. */
static double waited(void)
{
    double ns;
    FILE *file = fopen("/proc/self/schedstat", "r");
    int read = file ? fscanf(file, "%*f %lf", &ns) : 0;
    if (file) fclose(file);
    return read == 1 ? 1e-9 * ns : now(); /* where the kernel does not say: always */
}

/* Shortest half of a round trip, known to the leader; the first round trip makes the connection. Where both ranks had
 * their cores all the time, a second round trip must confirm the value, else two of many: disturbed ones differ. */
static Shortest shortest(const Pair *pair, int bytes, int fewest, double least, double slowest)
{
    double best[3] = {INFINITY, INFINITY, INFINITY}, begun = now(), had_waited = waited();
    for (int rounds = fewest, done = 0;;) {
        for (int i = 0; i < rounds; i++) {
            double half = half_round_trip(pair, bytes);
            best[2] = fmin(best[2], fmax(half, best[1]));
            best[1] = fmin(best[1], fmax(half, best[0]));
            best[0] = fmin(best[0], half);
        }
        done += rounds;
        double spent = now() - begun, own = waited() - had_waited, others = own;
        transfer(pair, !pair->leads, &others, sizeof others);
        bool calm = own + others < CALM * spent, many = done >= MANY;
        bool confirmed = calm ? best[1] < ALIKE * best[0] : many && best[2] < SAME * best[0];
        bool sure = pair->shared || (confirmed && best[0] <= slowest);
        bool ends = spent > least && (sure || (many && spent > MOST));
        rounds = agreed(pair, ends ? 0 : 1 + (int)fmin(1000, least / 4 / best[0]));
        if (!rounds) return (Shortest){best[0], sure};
    }
}

/* Returns the number of attempts. */
static int measure(const Pair *pair, double *latency, double *large, double slowest, double slowest_large)
{
    *latency = *large = INFINITY;
    for (int attempt = 1;; attempt++) {
        Shortest empty = shortest(pair, 0, pair->shared ? 5 : 50, ENOUGH, slowest);
        Shortest full = shortest(pair, LARGE, 2, ENOUGH_LARGE, slowest_large);
        *latency = fmin(*latency, empty.seconds);
        *large = fmin(*large, full.seconds);
        bool worse = *latency > slowest || *large > slowest_large, sure = empty.sure && full.sure;
        if (!agreed(pair, !sure && attempt < (worse ? ATTEMPTS : UNSURE))) return attempt;
        nap(PAUSE * attempt);
    }
}

/* ---- what is written ---- */

static void write_text(FILE *file, const char *text)
{
    putc('"', file);
    for (; *text; text++) putc(*text < ' ' || strchr("\"\\", *text) ? '?' : *text, file);
    putc('"', file);
}

static void write_found(const char *path, int second, int attempts, double latency, double large, double seconds,
                        const Location *locations, int size)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "", beside[4096];
    int length;
    PMPI_Get_library_version(version, &length);
    version[strcspn(version, "\n,")] = 0;
    for (char *tab; (tab = strchr(version, '\t'));) *tab = ' ';
    snprintf(beside, sizeof beside, "%s.begun", path);
    FILE *file = fopen(beside, "w");
    if (!file) return;
    fprintf(file, "{\"library\": ");
    write_text(file, version);
    fprintf(file, ", \"seconds\": %.6f, \"placement\": [", seconds);
    for (int rank = 0; rank < size; rank++) {
        fprintf(file, "%s[", rank ? ", " : "");
        write_text(file, locations[rank].host);
        fprintf(file, ", ");
        write_text(file, locations[rank].cores);
        fprintf(file, "]");
    }
    fprintf(file, "]");
    if (second > 0)
        fprintf(file, ", \"ranks\": [0, %d], \"attempts\": %d, \"latency_us\": %.4f, \"bandwidth_MBps\": %.4f", second,
                attempts, latency * 1e6, LARGE / large / 1e6);
    fprintf(file, "}\n");
    if (!fclose(file)) rename(beside, path);
}

/* Open MPI tells what carries messages when it first needs it; what it would tell later is not wanted. */
static void quieten(void *mpi)
{
    int (*verbosity)(int) = (int (*)(int))dlsym(mpi, "opal_output_get_verbosity");
    void (*set)(int, int) = (void (*)(int, int))dlsym(mpi, "opal_output_set_verbosity");
    for (int output = 0; verbosity && set && output < 64; output++)
        if (verbosity(output) == QUIET_VERBOSITY) set(output, 0);
}

static void play(Pair pair, const char *path, const Location *locations, int size, int second)
{
    const char *given = getenv("NODEWORTH_ATTEST_SLOWEST");
    double slowest = INFINITY, slowest_MBps = 0, latency = 0, large = 0, begun = now();
    int attempts = 0;
    pair.shared = second > 0 && !memcmp(&locations[0], &locations[second], sizeof *locations);
    if (given && !pair.shared) sscanf(given, "%lf %lf", &slowest, &slowest_MBps);
    if (second > 0) {
        pair.message = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pair.message == MAP_FAILED) PMPI_Abort(pair.comm, 1);
        memset(pair.message, 'x', LARGE);
        attempts = measure(&pair, &latency, &large, slowest * 1e-6, LARGE / 1e6 / slowest_MBps);
        munmap(pair.message, LARGE);
    }
    if (pair.leads) write_found(path, second, attempts, latency, large, now() - begun, locations, size);
}

/* Rank 0 tells that it is over, along a tree: a barrier that can be slept in would leave more to look after in Open MPI
 * each time that it makes progress, and so slow the program's messages down. */
static void sleep_until_played(MPI_Comm comm, int rank, int size)
{
    MPI_Request over = MPI_REQUEST_NULL;
    double begun = now();
    if (rank) PMPI_Irecv(NULL, 0, MPI_BYTE, rank & (rank - 1), 1, comm, &over);
    for (int done = 0; PMPI_Test(&over, &done, MPI_STATUS_IGNORE), !done;)
        nap(fmin(0.005, fmax(0.0001, (now() - begun) / 4)));
    for (int bit = 1; bit < size && !(rank & bit); bit <<= 1)
        if ((rank | bit) < size) PMPI_Send(NULL, 0, MPI_BYTE, rank | bit, 1, comm);
}

void attest(void *mpi)
{
    const char *path = getenv("NODEWORTH_ATTEST");
    int rank, size;
    MPI_Comm comm;
    if (!path) return;
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    Location *locations = malloc(size * sizeof *locations), own = own_location();
    PMPI_Allgather(&own, sizeof own, MPI_BYTE, locations, sizeof own, MPI_BYTE, comm);
    int second = second_of_pair(locations, size);
    if (rank == 0 || rank == second)
        play((Pair){.comm = comm, .leads = rank == 0, .peer = rank ? 0 : second}, path, locations, size, second);
    sleep_until_played(comm, rank, size);
    free(locations);
    PMPI_Comm_free(&comm);
    quieten(mpi);
}
