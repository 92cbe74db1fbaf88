/* Records the computing and communication of an MPI program, in a file per rank.
 *
 * A line is an action in SimGrid's time-independent format, or begins with '#' if that format has no such action.
 * workflows/tracing/raw.py and actions.py convert both to the final trace. wrappers.py generates the wrappers of MPI
 * functions from calls.txt; the generated file includes this file.
 *
 * Environment:
 *   NODEWORTH_TRACE            existing folder for the files
 *   NODEWORTH_TRACE_MARKS      texts, separated by newlines, whose output is marked
 *   NODEWORTH_TRACE_LOG        folder for the log of the data that MPI brings into each rank (log.c); unset: no log
 *   NODEWORTH_TRACE_LOG_BYTES  size limit of a log; a rank with a longer log writes the reason to unrepeatable-<rank>
 *   NODEWORTH_TRACE_ALONE      ranks, separated by commas, that run alone one after another; the log answers their calls
 *   NODEWORTH_TRACE_CLOCK      thread_cpu (ns), elapsed (ns, for ranks with several threads, see clock.c), instructions,
 *                              task_clock (CPU time by perf_event, ns), or auto: instructions if the machine counts
 *                              them, else thread_cpu
 *
 * A program that cannot be traced ends with one line, on stderr and in failed.txt in the folder NODEWORTH_TRACE.
 *
 * Lines that begin with '#':
 *   # tracer 1 rank R of P clock CLOCK cost COST library VERSION    first line
 *   # mark                                                         output of a text of NODEWORTH_TRACE_MARKS
 *   # sub M,M,... NAME ARGUMENTS                                   collective call of the world ranks M only
 *   # any ID SIZE                                                  receive from a sender that is not known yet
 *   # matched ID SOURCE TAG                                        source and tag of the message of receive ID
 *   # end CPU_NS COUNT                                             last line: totals of CPU time and of the clock
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <mpi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FAILED 96 /* exit status of a program that cannot be traced */

static __thread int depth;   /* nesting of MPI calls; above 0, a call comes from the MPI library */
static __thread bool traced; /* whether this thread initialised MPI or ran main */
static int me, world_size = 1;
static enum { TRACE, RECORD, ALONE } mode;
static bool opened;     /* whether the files are open */
static char *ranks;     /* ranks that run alone and have not started */
static int alone;       /* rank that runs alone now */
static bool in_turn;    /* whether this process is a child of the process that started with the first rank */
static int64_t pending; /* computing not written yet, in the clock's unit */

/* ---- end with one line ---- */

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char text[512];
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    dprintf(2, "nodeworth tracer: %s\n", text);
    const char *folder = getenv("NODEWORTH_TRACE");
    char path[4096];
    snprintf(path, sizeof path, "%s/failed.txt", folder ? folder : ".");
    int file = folder ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
    if (file >= 0) dprintf(file, "%s\n", text); /* MPICH's launcher may lose the last output of a rank that aborts */
    int initialised = 0, finalised = 0;
    PMPI_Initialized(&initialised);
    PMPI_Finalized(&finalised);
    depth++;
    if (initialised && !finalised && mode != ALONE) PMPI_Abort(MPI_COMM_WORLD, FAILED);
    _exit(FAILED);
}

__attribute__((unused)) static void unknown(const char *name)
{
    fail("%s is unknown to the tracer, so the trace would be incomplete", name);
}

static bool in_place(const void *address)
{
    extern int mpi_fortran_in_place_ __attribute__((weak)); /* Open MPI's Fortran MPI_IN_PLACE */
    extern void *MPIR_F_MPI_IN_PLACE __attribute__((weak)); /* MPICH's */
    return address == MPI_IN_PLACE || (&mpi_fortran_in_place_ && address == &mpi_fortran_in_place_) ||
           (&MPIR_F_MPI_IN_PLACE && address && address == MPIR_F_MPI_IN_PLACE);
}

static void *address_f2c(void *address)
{
    extern int mpi_fortran_bottom_ __attribute__((weak)); /* MPI_BOTTOM of both libraries */
    extern void *MPIR_F_MPI_BOTTOM __attribute__((weak));
    bool bottom = (&mpi_fortran_bottom_ && address == &mpi_fortran_bottom_) ||
                  (&MPIR_F_MPI_BOTTOM && address == MPIR_F_MPI_BOTTOM);
    return bottom ? MPI_BOTTOM : address;
}

#include "clock.c"
#include "log.c"
#include "output.c"
#include "marks.c"
#include "times.c"
#include "members.c"
#include "windows.c"
#include "messages.c"
#include "collectives.c"
#include "files.c"

/* ---- start and end ---- */

/* A child process is no rank: its calls pass untraced, and its copies of the buffers are not written. */
static void forked(void)
{
    if (!opened) return;
    opened = logged = false;
    depth = 1;
}

__attribute__((constructor)) static void loaded(void)
{
    pthread_atfork(NULL, NULL, forked);
    const char *texts = getenv("NODEWORTH_TRACE_MARKS");
    char *words = texts ? strdup(texts) : NULL, *rest = words;
    for (char *word; rest && mark_count < 16 && (word = strsep(&rest, "\n"));)
        if (*word) marks[mark_count++] = word;
    ranks = getenv("NODEWORTH_TRACE_ALONE");
    mode = ranks ? ALONE : getenv("NODEWORTH_TRACE_LOG") ? RECORD : TRACE;
    if (ranks) alone = atoi(ranks);
    open_clock();
    loaded_at = cpu_ns();
    cost = median_cost(now);
    traced = true;
    tick_cost = empty_burst();
    left = (Moment){ticks(), now()};
}

/* Finalising MPI would wait for threads that a child process lacks, so the child exits at once. */
static void end_child(void)
{
    if (!in_turn) return;
    fflush(NULL);
    _exit(0);
}

__attribute__((destructor)) static void unloaded(void) /* for a program without MPI, or without MPI_Finalize */
{
    close_files();
    end_child();
}

/* Writes every page that parent and child share, so that the kernel copies none during a measured burst. */
static void copy_shared_pages(void)
{
    const uintptr_t page = sysconf(_SC_PAGESIZE);
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned char resident;
    unsigned long from, to;
    char line[4352], access[5];
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %4s", &from, &to, access) == 3 && !strcmp(access, "rw-p"))
            for (; from < to; from += page)
                if (mincore((void *)from, 1, &resident) == 0 && resident) *(volatile char *)from = *(volatile char *)from;
    if (maps) fclose(maps);
}

#define MOST_FILES 256

/* Runs ranks one after another, all except the last in child processes, so that the part before MPI_Init runs once.
 * Every child restores the positions of the files that were open before. */
static void take_turns(void)
{
    off_t places[MOST_FILES];
    bool forks = mode == ALONE && strchr(ranks, ',');
    for (int file = 0; forks && file < MOST_FILES; file++) places[file] = lseek(file, 0, SEEK_CUR);
    if (forks) fflush(NULL);
    while (mode == ALONE && (alone = strtol(ranks, &ranks, 10), *ranks++)) {
        pid_t child = fork();
        if (child < 0) fail("rank %d by itself: %s", alone, strerror(errno));
        if ((in_turn = !child)) break;
        int status = 0;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR);
        if (WIFSIGNALED(status)) fail("rank %d by itself: ended by signal %d", alone, WTERMSIG(status));
        if (WEXITSTATUS(status) == FAILED) _exit(FAILED);
    }
    for (int file = 0; forks && file < MOST_FILES; file++)
        if (places[file] >= 0) lseek(file, places[file], SEEK_SET);
    if (forks) copy_shared_pages();
}

static void started(void)
{
    take_turns();
    int rank, size;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    traced = true;
    pending = 0;
    counted_from = calls;
    if (!opened) open_files(rank, size); /* already open if a single process printed a mark before MPI_Init */
    begin_line("init");
    text("\n");
}

static void finished(void)
{
    begin_line("finalize");
    text("\n");
    close_files();
    end_child();
}

/* Converts a count of a large-count call (MPI_Send_c) for the call with int counts. */
__attribute__((unused)) static int narrow(int64_t count)
{
    if (count < INT_MIN || count > INT_MAX) fail("it cannot trace a count above 2147483647");
    return count;
}

/* Converts an array of counts by rank; `slot` distinguishes the arrays of a call. NULL on ranks other than the root if
 * only the root has the array. */
__attribute__((unused)) static int *narrow_all(const void *given, bool here, MPI_Comm comm, int slot)
{
    static int *made[4];
    int count = members(comm)->size;
    if (!given || !here) return NULL;
    made[slot] = realloc(made[slot], count * sizeof(int));
    for (int i = 0; i < count; i++) made[slot][i] = narrow(((const int64_t *)given)[i]);
    return made[slot];
}

static MPI_Request *requests_of(int count, const MPI_Fint *handles)
{
    static MPI_Request *made;
    static int space;
    if (count > space) made = realloc(made, (space = 2 * count) * sizeof *made);
    for (int i = 0; i < count; i++) made[i] = request_f2c(handles[i]);
    return made;
}
