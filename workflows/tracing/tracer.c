/* Records what an MPI program does, a file a rank: computing and communication in SimGrid's
 * time-independent format, one line an action, and lines beginning with '#' for what that format has no
 * action for; workflows/tracing/convert.py makes the final trace of both. The wrappers of MPI's functions
 * are generated from calls.txt (workflows/tracing/wrappers.py) and include this file.
 *
 * Environment: NODEWORTH_TRACE         folder for the files, which must exist
 *              NODEWORTH_TRACE_MARKS   texts, separated by newlines, whose output is marked
 *              NODEWORTH_TRACE_CLOCK   thread_cpu, instructions, or auto (instructions where they count)
 *
 * Lines beginning with '#':
 *   # tracer 1 rank R of P clock CLOCK cost COST library VERSION    the first line
 *   # mark                                                         a text of NODEWORTH_TRACE_MARKS went out
 *   # sub M,M,... NAME ARGUMENTS                                   collective of the world ranks M alone
 *   # any ID SIZE                                                  receive whose sender is not known yet
 *   # matched ID SOURCE TAG                                        what receive ID got
 *   # end CPU_NS                                                   the last line
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define BUFFER 1048576
#define CALIBRATIONS 1001
#define FAILED 96 /* exit status of a program that cannot be traced */

static __thread int depth;      /* calls that MPI makes of itself are not the program's */
static __thread bool traced;    /* the thread that initialised MPI, or that ran main */
static int output = -1, me, world_size = 1;
static pid_t owner;             /* a forked child must not write its copy of the buffer */
static char buffer[BUFFER];
static size_t used;
static int counter = -1;        /* perf_event of instructions; -1: the thread's CPU clock */
static int64_t last, pending, cost;
static char *marks[16];
static int mark_count;

/* ---- ending with one line ---- */

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char text[512];
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    dprintf(2, "nodeworth tracer: %s\n", text);
    int initialised = 0, finalised = 0;
    PMPI_Initialized(&initialised);
    PMPI_Finalized(&finalised);
    depth++;
    if (initialised && !finalised) PMPI_Abort(MPI_COMM_WORLD, FAILED);
    _exit(FAILED);
}

__attribute__((unused)) static void unknown(const char *name)
{
    fail("%s is not known to it, and the trace would lack what it does", name);
}

/* ---- clock ---- */

static int64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int64_t now(void)
{
    int64_t count;
    if (counter < 0) return cpu_ns();
    if (read(counter, &count, sizeof count) != sizeof count) fail("cannot read the instruction counter");
    return count;
}

static void open_clock(void)
{
    const char *wanted = getenv("NODEWORTH_TRACE_CLOCK");
    if (wanted && strcmp(wanted, "thread_cpu") == 0) return;
    struct perf_event_attr event = {.type = PERF_TYPE_HARDWARE, .size = sizeof event,
                                    .config = PERF_COUNT_HW_INSTRUCTIONS, .exclude_kernel = 1};
    counter = syscall(SYS_perf_event_open, &event, 0, -1, -1, 0);
    if (counter < 0 && wanted && strcmp(wanted, "instructions") == 0)
        fail("this machine does not count instructions (%s)", strerror(errno));
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* A burst is measured from one reading to the next and so holds the cost of one reading: the median. */
static void calibrate(void)
{
    int64_t readings[CALIBRATIONS];
    for (int i = 0; i < CALIBRATIONS; i++) {
        int64_t begin = now();
        readings[i] = now() - begin;
    }
    qsort(readings, CALIBRATIONS, sizeof *readings, by_size);
    cost = readings[CALIBRATIONS / 2];
}

/* ---- output ---- */

static void flush(void)
{
    for (size_t done = 0; done < used && getpid() == owner;) {
        ssize_t written = syscall(SYS_write, output, buffer + done, used - done);
        if (written < 0) fail("cannot write its file: %s", strerror(errno));
        done += written;
    }
    used = 0;
}

static void text(const char *words)
{
    size_t length = strlen(words);
    if (used + length + 32 > BUFFER) flush();
    memcpy(buffer + used, words, length);
    used += length;
}

static void digits(int64_t value)
{
    char written[24];
    int place = sizeof written;
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
    written[--place] = 0;
    do written[--place] = '0' + left % 10;
    while (left /= 10);
    if (value < 0) written[--place] = '-';
    text(written + place);
}

static void number(int64_t value)
{
    text(" ");
    digits(value);
}

static void computed(void)
{
    if (pending <= 0) return; /* below zero where a burst was shorter than the clock's cost: carried on */
    digits(me);
    text(" compute");
    number(pending);
    text("\n");
    pending = 0;
}

static void begin_line(const char *name)
{
    computed();
    digits(me);
    text(" ");
    text(name);
}

static void begin_note(const char *name)
{
    computed();
    text("# ");
    text(name);
}

static void open_file(int rank, int size)
{
    const char *folder = getenv("NODEWORTH_TRACE");
    if (!folder) fail("NODEWORTH_TRACE is not set");
    char path[4096], version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    snprintf(path, sizeof path, "%s/rank-%d.txt", folder, rank);
    output = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (output < 0) fail("%s: %s", path, strerror(errno));
    me = rank;
    world_size = size;
    owner = getpid();
    int length;
    PMPI_Get_library_version(version, &length);
    version[strcspn(version, "\n,")] = 0;
    char line[8192];
    snprintf(line, sizeof line, "# tracer 1 rank %d of %d clock %s cost %ld library %s\n", rank, size,
             counter < 0 ? "thread_cpu" : "instructions", (long)cost, version);
    text(line);
}

static void close_file(void)
{
    if (output < 0 || getpid() != owner) return;
    begin_note("end");
    number(cpu_ns());
    text("\n");
    flush();
    close(output);
    output = -1;
}

__attribute__((constructor)) static void loaded(void)
{
    const char *wanted = getenv("NODEWORTH_TRACE_MARKS");
    char *words = wanted ? strdup(wanted) : NULL, *rest = words;
    for (char *word; rest && mark_count < 16 && (word = strsep(&rest, "\n"));)
        if (*word) marks[mark_count++] = word;
    open_clock();
    calibrate();
    traced = true;
    last = now();
}

__attribute__((destructor)) static void unloaded(void) { close_file(); } /* a program that used no MPI */

/* ---- entering and leaving MPI ---- */

static bool enter(void)
{
    if (depth++ > 0) return false;
    if (!traced) fail("MPI is called from a second thread, which it cannot trace");
    pending += now() - last - cost;
    return true;
}

static void leave(void)
{
    depth--;
    if (depth == 0) last = now();
}

/* ---- marks: what the program prints ---- */

static void printed(const void *bytes, size_t length)
{
    if (depth > 0 || !traced || (owner && getpid() != owner)) return;
    for (int i = 0; i < mark_count; i++) {
        if (!memmem(bytes, length, marks[i], strlen(marks[i]))) continue;
        depth++;
        pending += now() - last - cost;
        int finalised = 0;
        PMPI_Finalized(&finalised);
        if (output < 0 && !finalised) open_file(0, 1);
        if (output >= 0) {
            begin_note("mark");
            text("\n");
        }
        leave();
        return;
    }
}

size_t fwrite(const void *bytes, size_t size, size_t count, FILE *file)
{
    static size_t (*real)(const void *, size_t, size_t, FILE *);
    if (!real) real = dlsym(RTLD_NEXT, "fwrite");
    printed(bytes, size * count);
    return real(bytes, size, count, file);
}

int fputs(const char *words, FILE *file)
{
    static int (*real)(const char *, FILE *);
    if (!real) real = dlsym(RTLD_NEXT, "fputs");
    printed(words, strlen(words));
    return real(words, file);
}

int puts(const char *words)
{
    static int (*real)(const char *);
    if (!real) real = dlsym(RTLD_NEXT, "puts");
    printed(words, strlen(words));
    return real(words);
}

ssize_t write(int file, const void *bytes, size_t length)
{
    printed(bytes, length);
    return syscall(SYS_write, file, bytes, length);
}

ssize_t writev(int file, const struct iovec *parts, int count)
{
    for (int i = 0; i < count; i++) printed(parts[i].iov_base, parts[i].iov_len);
    return syscall(SYS_writev, file, parts, count);
}

/* ---- communicators and windows: the world ranks of their members ---- */

typedef struct {
    uintptr_t handle;
    int size, rank;
    bool world;   /* all of MPI_COMM_WORLD, in its order */
    bool between; /* the other side of an intercommunicator */
    int *ranks;
} Members;

typedef struct {
    Members *entries;
    int count;
} Known;

static Known communicators, windows;

static Members *find(Known *known, uintptr_t handle)
{
    for (int i = 0; i < known->count; i++)
        if (known->entries[i].handle == handle) return &known->entries[i];
    return NULL;
}

static void remove_known(Known *known, uintptr_t handle)
{
    Members *found = find(known, handle);
    if (!found) return;
    free(found->ranks);
    *found = known->entries[--known->count];
}

static Members *add(Known *known, uintptr_t handle, MPI_Comm comm)
{
    remove_known(known, handle); /* freed in a way that was not seen, and used again */
    int between = 0;
    MPI_Group group, world;
    Members made = {.handle = handle};
    PMPI_Comm_test_inter(comm, &between);
    if (between) PMPI_Comm_remote_group(comm, &group);
    else PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_size(group, &made.size);
    PMPI_Comm_rank(comm, &made.rank);
    made.ranks = malloc(made.size * sizeof(int));
    int *own = malloc(made.size * sizeof(int));
    for (int i = 0; i < made.size; i++) own[i] = i;
    PMPI_Group_translate_ranks(group, made.size, own, world, made.ranks);
    made.between = between;
    made.world = !between && made.size == world_size;
    for (int i = 0; i < made.size; i++) made.world = made.world && made.ranks[i] == i;
    free(own);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    known->entries = realloc(known->entries, (known->count + 1) * sizeof(Members));
    known->entries[known->count] = made;
    return &known->entries[known->count++];
}

static Members *members(MPI_Comm comm)
{
    Members *found = find(&communicators, (uintptr_t)comm);
    return found ? found : add(&communicators, (uintptr_t)comm, comm);
}

static int world_rank(MPI_Comm comm, int rank)
{
    return rank < 0 ? -1 : members(comm)->ranks[rank]; /* MPI_PROC_NULL, MPI_ANY_SOURCE */
}

static void forget(MPI_Comm comm) { remove_known(&communicators, (uintptr_t)comm); }

static const Members *sharing(MPI_Win win)
{
    const Members *found = find(&windows, (uintptr_t)win);
    if (!found) fail("a window is used that it did not see made");
    return found;
}

static int64_t bytes(int64_t count, MPI_Datatype datatype)
{
    int size;
    PMPI_Type_size(datatype, &size);
    return count * size;
}

/* ---- messages ---- */

typedef struct Posted {
    struct Posted *next;
    uintptr_t handle;
    char way; /* 's'end or 'r'eceive */
    bool persistent, active, any;
    int peer, tag, id;
    int64_t size;
    MPI_Comm comm;
} Posted;

/* Several requests can have one handle: Open MPI gives the same one to all sends that it has finished at
 * once. They are taken in the order in which they were made. */
static Posted *posted[4096], *spare;
static MPI_Request *kept;
static int kept_count, kept_space, receives;

static Posted **place(uintptr_t handle)
{
    Posted **at = &posted[(handle ^ handle >> 12) / 8 % 4096];
    while (*at && (*at)->handle != handle) at = &(*at)->next;
    return at;
}

static void activate(Posted *request)
{
    request->active = true;
    if (request->peer < 0 && !request->any) return;
    if (request->any) {
        request->id = receives++;
        begin_note("any");
        number(request->id);
    } else {
        begin_line(request->way == 's' ? "isend" : "irecv");
        number(request->peer);
        number(request->tag);
    }
    number(request->size);
    text("\n");
}

static void post(MPI_Request handle, char way, bool persistent, int count, MPI_Datatype datatype, int peer, int tag,
                 MPI_Comm comm)
{
    Posted *made = spare ? spare : malloc(sizeof *made);
    if (spare) spare = spare->next;
    *made = (Posted){.handle = (uintptr_t)handle, .way = way, .persistent = persistent, .tag = tag, .comm = comm};
    made->size = bytes(count, datatype);
    made->peer = world_rank(comm, peer);
    made->any = way == 'r' && peer != MPI_PROC_NULL && (peer == MPI_ANY_SOURCE || tag == MPI_ANY_TAG);
    Posted **end = &posted[(made->handle ^ made->handle >> 12) / 8 % 4096];
    while (*end) end = &(*end)->next;
    *end = made;
    if (!persistent) activate(made);
}

static void discard(Posted **at)
{
    Posted *gone = *at;
    *at = gone->next;
    gone->next = spare;
    spare = gone;
}

static void start(MPI_Request handle)
{
    Posted *request = *place((uintptr_t)handle);
    if (!request) fail("a request is started that it did not see made");
    activate(request);
}

static void keep(int count, const MPI_Request *requests)
{
    if (count > kept_space) kept = realloc(kept, (kept_space = 2 * count) * sizeof *kept);
    memcpy(kept, requests, count * sizeof *kept);
    kept_count = count;
}

static void waited(int source, int target, int tag)
{
    begin_line("wait");
    number(source);
    number(target);
    number(tag);
    text("\n");
}

static void completed(int index, const MPI_Status *status)
{
    if (kept[index] == MPI_REQUEST_NULL) return;
    Posted **at = place((uintptr_t)kept[index]), *request = *at;
    if (!request) fail("a request is completed that it did not see made");
    if (request->active && request->any) {
        int source = world_rank(request->comm, status->MPI_SOURCE);
        begin_note("matched");
        number(request->id);
        number(source);
        number(status->MPI_TAG);
        text("\n");
        waited(source, me, status->MPI_TAG);
    } else if (request->active && request->peer >= 0) {
        bool sends = request->way == 's';
        waited(sends ? me : request->peer, sends ? request->peer : me, request->tag);
    }
    request->active = false;
    if (!request->persistent) discard(at);
}

static void drop(void)
{
    Posted **at = place((uintptr_t)kept[0]);
    if (*at) discard(at);
}

static void message(const char *name, int peer, int tag, int64_t size)
{
    begin_line(name);
    number(peer);
    number(tag);
    number(size);
    text("\n");
}

static void sent(const char *name, int count, MPI_Datatype datatype, int target, int tag, MPI_Comm comm)
{
    int peer = world_rank(comm, target);
    if (peer >= 0) message(name, peer, tag, bytes(count, datatype));
}

static void received(int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, const MPI_Status *status)
{
    if (source == MPI_PROC_NULL) return;
    message("recv", world_rank(comm, status->MPI_SOURCE), status->MPI_TAG, bytes(count, datatype));
}

static void sent_and_received(int sendcount, MPI_Datatype sendtype, int target, int sendtag, int recvcount,
                              MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, const MPI_Status *status)
{
    sent("isend", sendcount, sendtype, target, sendtag, comm);
    received(recvcount, recvtype, source, recvtag, comm, status);
    if (target != MPI_PROC_NULL) waited(me, world_rank(comm, target), sendtag);
}

/* A matched probe (MPI_Mprobe) fixes the sender of the receive to come. */
typedef struct {
    uintptr_t handle;
    int source, tag;
    MPI_Comm comm;
} Announced;

static Announced announcements[256];
static MPI_Comm taken;
static int taken_source, taken_tag;

static void announced(MPI_Message handle, MPI_Comm comm, const MPI_Status *status)
{
    if (handle == MPI_MESSAGE_NO_PROC) return;
    for (int i = 0; i < 256; i++)
        if (!announcements[i].handle) {
            announcements[i] = (Announced){(uintptr_t)handle, status->MPI_SOURCE, status->MPI_TAG, comm};
            return;
        }
    fail("more than 256 messages are probed and not received");
}

static void take(MPI_Message handle)
{
    taken = MPI_COMM_WORLD;
    taken_source = MPI_PROC_NULL;
    if (handle == MPI_MESSAGE_NO_PROC) return;
    for (int i = 0; i < 256; i++)
        if (announcements[i].handle == (uintptr_t)handle) {
            taken = announcements[i].comm;
            taken_source = announcements[i].source;
            taken_tag = announcements[i].tag;
            announcements[i].handle = 0;
            return;
        }
    fail("a message is received that it did not see probed");
}

/* ---- collective and one-sided communication ---- */

static bool begin_collective(const char *name, const Members *all)
{
    if (all->between) fail("%s is called on an intercommunicator, which it cannot trace", name);
    if (all->size == 1 && world_size > 1) return false;
    if (all->world) {
        begin_line(name);
        return true;
    }
    begin_note("sub ");
    for (int i = 0; i < all->size; i++) {
        if (i > 0) text(",");
        digits(all->ranks[i]);
    }
    text(" ");
    text(name);
    return true;
}

static void meet(const Members *all)
{
    if (begin_collective("barrier", all)) text("\n");
}

static void together(MPI_Comm comm) { meet(members(comm)); }

static void sized(const char *name, int64_t size, int64_t second, MPI_Comm comm)
{
    if (!begin_collective(name, members(comm))) return;
    number(size);
    number(second);
    text("\n");
}

/* A second size below 0 is left out. */
static void rooted(const char *name, int64_t size, int64_t second, int root, MPI_Comm comm)
{
    if (!begin_collective(name, members(comm))) return;
    number(size);
    if (second >= 0) number(second);
    number(root);
    text("\n");
}

static void one_size_rooted(const char *name, int count, MPI_Datatype datatype, int root_count,
                            MPI_Datatype root_datatype, int root, MPI_Comm comm)
{
    int64_t size = members(comm)->rank == root ? bytes(root_count, root_datatype) : bytes(count, datatype);
    rooted(name, size, size, root, comm);
}

/* Writes sizes of the members, `counts` (`count` for all where there are none) times `each`. */
static void counted(const int counts[], int count, int64_t each, int size)
{
    for (int i = 0; i < size; i++) number((counts ? counts[i] : count) * each);
}

static void gathered(int count, MPI_Datatype datatype, const int counts[], MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    const Members *all = members(comm);
    bool here = all->rank == root;
    if (!begin_collective("gatherv", all)) return;
    number(here ? bytes(counts[root], recvtype) : bytes(count, datatype));
    counted(here ? counts : NULL, 0, here ? bytes(1, recvtype) : 0, all->size);
    number(root);
    text("\n");
}

static void scattered(int count, MPI_Datatype datatype, const int counts[], MPI_Datatype sendtype, int root, MPI_Comm comm)
{
    const Members *all = members(comm);
    bool here = all->rank == root;
    if (!begin_collective("scatterv", all)) return;
    counted(here ? counts : NULL, 0, here ? bytes(1, sendtype) : 0, all->size);
    number(here ? bytes(counts[root], sendtype) : bytes(count, datatype));
    number(root);
    text("\n");
}

static void gathered_by_all(const int counts[], MPI_Datatype datatype, MPI_Comm comm)
{
    const Members *all = members(comm);
    if (!begin_collective("allgatherv", all)) return;
    number(bytes(counts[all->rank], datatype));
    counted(counts, 0, bytes(1, datatype), all->size);
    text("\n");
}

static int64_t sum_of(const int counts[], int size)
{
    int64_t sum = 0;
    for (int i = 0; i < size; i++) sum += counts[i];
    return sum;
}

static void exchanged(const int sendcounts[], MPI_Datatype sendtype, const int recvcounts[], MPI_Datatype recvtype,
                      MPI_Comm comm)
{
    const Members *all = members(comm);
    if (!begin_collective("alltoallv", all)) return;
    number(bytes(sum_of(sendcounts, all->size), sendtype));
    counted(sendcounts, 0, bytes(1, sendtype), all->size);
    number(bytes(sum_of(recvcounts, all->size), recvtype));
    counted(recvcounts, 0, bytes(1, recvtype), all->size);
    text("\n");
}

static void reduced_and_scattered(const int counts[], int count, MPI_Datatype datatype, MPI_Comm comm)
{
    if (!begin_collective("reducescatter", members(comm))) return;
    counted(counts, count, bytes(1, datatype), members(comm)->size);
    number(0);
    text("\n");
}

static void one_sided(const char *name, int64_t size, int target, MPI_Win win)
{
    if (target == MPI_PROC_NULL) return;
    begin_line(name);
    number(sharing(win)->ranks[target]);
    number(size);
    text("\n");
}

static void window(MPI_Win win, MPI_Comm comm) { meet(add(&windows, (uintptr_t)win, comm)); }

static void closed(MPI_Win win)
{
    meet(sharing(win));
    remove_known(&windows, (uintptr_t)win);
}

static void fenced(MPI_Win win) { meet(sharing(win)); }

/* ---- beginning and end ---- */

static void started(void)
{
    int rank, size;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    traced = true;
    pending = 0;
    open_file(rank, size);
    begin_line("init");
    text("\n");
}

static void finished(void)
{
    begin_line("finalize");
    text("\n");
    close_file();
}

static bool in_place(const void *address)
{
    extern int mpi_fortran_in_place_ __attribute__((weak)); /* Open MPI's Fortran MPI_IN_PLACE */
    return address == MPI_IN_PLACE || (&mpi_fortran_in_place_ && address == &mpi_fortran_in_place_);
}

static MPI_Request *requests_of(int count, const MPI_Fint *handles)
{
    static MPI_Request *made;
    static int space;
    if (count > space) made = realloc(made, (space = 2 * count) * sizeof *made);
    for (int i = 0; i < count; i++) made[i] = PMPI_Request_f2c(handles[i]);
    return made;
}
