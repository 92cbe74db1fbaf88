/* Records what an MPI program does, a file a rank: computing and communication in SimGrid's
 * time-independent format, one line an action, and lines beginning with '#' for what that format has no
 * action for; workflows/tracing/raw.py and actions.py make the final trace of both. The wrappers of MPI's
 * functions are generated from calls.txt (workflows/tracing/wrappers.py) and include this file.
 *
 * Environment: NODEWORTH_TRACE         folder for the files, which must exist
 *              NODEWORTH_TRACE_MARKS   texts, separated by newlines, whose output is marked
 *              NODEWORTH_TRACE_LOG     folder for the log of what MPI brings into each rank (log.c); no log without it
 *              NODEWORTH_TRACE_LOG_BYTES  a rank whose log would be longer says in unrepeatable-<rank> that it is not
 *              NODEWORTH_TRACE_ALONE   ranks, separated by commas, that run by themselves one after another, their calls
 *                                      answered from their logs
 *              NODEWORTH_TRACE_CLOCK   thread_cpu (ns), elapsed (ns; of ranks of several threads, see clock.c),
 *                                      instructions, task_clock (CPU time by perf_event, ns), or
 *                                      auto: instructions where the machine counts them, else thread_cpu
 *
 * A program that cannot be traced ends with one line, on stderr and in failed.txt of that folder.
 *
 * Lines beginning with '#':
 *   # tracer 1 rank R of P clock CLOCK cost COST library VERSION    the first line
 *   # mark                                                         a text of NODEWORTH_TRACE_MARKS went out
 *   # sub M,M,... NAME ARGUMENTS                                   collective of the world ranks M alone
 *   # any ID SIZE                                                  receive whose sender is not known yet
 *   # matched ID SOURCE TAG                                        what receive ID got
 *   # end CPU_NS COUNT                                             the last line: the run by CPU time and by the clock
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

static __thread int depth;   /* calls that MPI makes of itself are not the program's */
static __thread bool traced; /* the thread that initialised MPI, or that ran main */
static int me, world_size = 1;
static enum { TRACE, RECORD, ALONE } mode;
static bool opened;     /* its files are */
static char *ranks;     /* that run by themselves and have not begun */
static int alone;       /* the one that does now */
static bool in_turn;    /* whether it is a child of the process that began with the first */
static int64_t pending; /* computing that is not written yet, in the clock's unit */

/* ---- ending with one line ---- */

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
    if (file >= 0) dprintf(file, "%s\n", text); /* MPICH's launcher may lose what a rank says before it aborts */
    int initialised = 0, finalised = 0;
    PMPI_Initialized(&initialised);
    PMPI_Finalized(&finalised);
    depth++;
    if (initialised && !finalised && mode != ALONE) PMPI_Abort(MPI_COMM_WORLD, FAILED);
    _exit(FAILED);
}

__attribute__((unused)) static void unknown(const char *name)
{
    fail("%s is not known to it, and the trace would lack what it does", name);
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
    extern int mpi_fortran_bottom_ __attribute__((weak)); /* MPI_BOTTOM of the same two */
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

/* ---- beginning and end ---- */

/* A child of a rank is none: its calls are let through, and its copy of what is buffered is not written. */
static void forked(void)
{
    if (!opened) return;
    opened = logged = false;
    depth = 1;
}

__attribute__((constructor)) static void loaded(void)
{
    pthread_atfork(NULL, NULL, forked);
    const char *wanted = getenv("NODEWORTH_TRACE_MARKS");
    char *words = wanted ? strdup(wanted) : NULL, *rest = words;
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

/* A child has none of MPI's threads, for which finalising would wait. */
static void end_child(void)
{
    if (!in_turn) return;
    fflush(NULL);
    _exit(0);
}

__attribute__((destructor)) static void unloaded(void) /* a program that used no MPI, or does not finalise it */
{
    close_files();
    end_child();
}

/* Makes the pages that parent and child share its own: else they are copied in its bursts, when they are first written. */
static void own_pages(void)
{
    const uintptr_t page = sysconf(_SC_PAGESIZE);
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned char there;
    unsigned long from, to;
    char line[4352], access[5];
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %4s", &from, &to, access) == 3 && !strcmp(access, "rw-p"))
            for (; from < to; from += page)
                if (mincore((void *)from, 1, &there) == 0 && there) *(volatile char *)from = *(volatile char *)from;
    if (maps) fclose(maps);
}

#define MOST_FILES 256

/* Ranks run one after another, all but the last in children: what comes before MPI is initialised is done once. Files
 * that are open by then are read from where they were by each of them. */
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
    if (forks) own_pages();
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
    if (!opened) open_files(rank, size); /* open where one process alone has made a mark before */
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

/* Counts of calls that take large ones (MPI_Send_c), for the calls that do not. */
__attribute__((unused)) static int narrow(int64_t count)
{
    if (count < INT_MIN || count > INT_MAX) fail("a count above 2147483647 is more than it knows");
    return count;
}

/* The same of an array by rank; `slot` parts the arrays of one call. NULL where the root alone has it. */
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
