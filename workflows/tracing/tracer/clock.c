/* The clock that measures computing.
 *
 * Reading the CPU time of a thread takes 0.4 us, too long for programs that call MPI every few us. Another process
 * hardly ever interrupts a burst shorter than SHORT_BURST or a call shorter than SHORT_CALL. Their elapsed time, read
 * from the fast clock, therefore counts as CPU time. The CPU time is read only after longer bursts and calls.
 * The instruction counter is read every time.
 *
 * A rank with several threads computes until its last thread is done, so elapsed time counts. The waits of its threads
 * for cores, which other programs cause, are subtracted. The result is at least the CPU time of the busiest thread.
 */

#define CALIBRATIONS 1001
#define SHORT_BURST 20000 /* ns */
#define SHORT_CALL 2000
#define SHORT_OF_THREADS 1000000 /* ns; the times of all threads are read only after longer bursts and calls */
#define MOST_THREADS 256

static int counter = -1;        /* file of perf_event; -1: CPU clock of the thread, or the fast clock */
static bool elapsed;            /* whether the rank has several threads */
static const char *clock_name = "thread_cpu";
static int64_t loaded_at;       /* CPU time of the thread when the tracer was loaded, ns */
static int64_t cost;            /* cost of a reading of the clock, in its unit */
static int64_t tick_cost;       /* duration of a burst without computing by the fast clock, ns */

static int real_time(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    return real(clock, now);
}

static int64_t cpu_ns(void)
{
    struct timespec now;
    real_time(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int64_t ticks(void)
{
    struct timespec now;
    real_time(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Returns the time that a thread waited for a core, ns; -1 if the kernel does not report it. */
static int64_t waited_ns(int thread)
{
    char path[64], content[128];
    long long ran, waited;
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", thread);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, content, sizeof content - 1);
    if (file >= 0) close(file);
    if (length <= 0) return -1;
    content[length] = 0;
    return sscanf(content, "%lld %lld", &ran, &waited) == 2 ? waited : -1;
}

static int64_t of_all_threads(void)
{
    static struct { int id; int64_t cpu, waited; } threads[MOST_THREADS];
    static int64_t before, count;
    int64_t tick = ticks(), busiest = 0, waits = 0;
    DIR *all = opendir("/proc/self/task");
    for (struct dirent *entry; all && (entry = readdir(all));) {
        int id = atoi(entry->d_name), i = 0;
        if (!id) continue;
        while (i < MOST_THREADS && threads[i].id && threads[i].id != id) i++;
        if (i == MOST_THREADS) fail("the process has made more than %d threads", MOST_THREADS);
        struct timespec used = {0, 0};
        real_time((clockid_t)(~(unsigned)id << 3 | 6), &used); /* MAKE_THREAD_CPUCLOCK of the kernel's posix-timers.h */
        int64_t cpu = used.tv_sec * INT64_C(1000000000) + used.tv_nsec, waited = waited_ns(id);
        if (cpu - threads[i].cpu > busiest) busiest = cpu - threads[i].cpu;
        waits += waited - threads[i].waited;
        threads[i].id = id, threads[i].cpu = cpu, threads[i].waited = waited;
    }
    if (all) closedir(all);
    int64_t alone = tick - before - waits;
    before = tick;
    return count += alone > busiest ? alone : busiest;
}

static int64_t now(void)
{
    int64_t count;
    if (elapsed) return of_all_threads();
    if (counter < 0) return cpu_ns();
    if (read(counter, &count, sizeof count) != sizeof count) fail("cannot read the instruction counter");
    return count;
}

typedef struct {
    int64_t tick, count; /* fast clock, and clock, possibly extrapolated from an earlier reading */
} Moment;

static Moment left, entered; /* last return from MPI, and last entry into MPI */

static Moment moment(Moment before, int64_t shortest)
{
    int64_t tick = ticks();
    if (elapsed) shortest = SHORT_OF_THREADS;
    if (counter < 0 && tick - before.tick < shortest) return (Moment){tick, before.count + tick - before.tick};
    int64_t count = now();
    return (Moment){ticks(), count};
}

static int64_t calls;        /* number of calls of the program; each call ends a burst */
static int64_t counted_from; /* call after which computing counts */
static int64_t *bursts; /* computing before each call, of a rank that runs alone */
static int64_t burst_space;

static void keep_burst(int64_t burst)
{
    if (calls > burst_space) {
        burst_space = burst_space ? 2 * burst_space : 65536;
        bursts = realloc(bursts, burst_space * sizeof *bursts);
        if (!bursts) fail("there is no memory for its calls");
    }
    bursts[calls - 1] = burst;
}

static void end_burst(void)
{
    entered = moment(left, SHORT_BURST);
    bool reckoned = counter < 0 && entered.count - left.count == entered.tick - left.tick;
    int64_t burst = entered.count - left.count - (reckoned ? tick_cost : cost);
    calls++;
    if (mode == ALONE) keep_burst(burst);
    else pending += burst;
}

static void begin_burst(void) { left = moment(entered, SHORT_CALL); }

/* Opens the clock of NODEWORTH_TRACE_CLOCK; by default, instructions if the machine counts them. */
static void open_clock(void)
{
    const char *choice = getenv("NODEWORTH_TRACE_CLOCK");
    elapsed = choice && strcmp(choice, "elapsed") == 0;
    if (elapsed) clock_name = "elapsed";
    if (elapsed || (choice && strcmp(choice, "thread_cpu") == 0)) return;
    struct perf_event_attr event = {.type = PERF_TYPE_HARDWARE, .size = sizeof event,
                                    .config = PERF_COUNT_HW_INSTRUCTIONS, .exclude_kernel = 1};
    clock_name = "instructions";
    if (choice && strcmp(choice, "task_clock") == 0) {
        event.type = PERF_TYPE_SOFTWARE;
        event.config = PERF_COUNT_SW_TASK_CLOCK;
        clock_name = "task_clock";
    }
    counter = syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (counter >= 0) return;
    if (choice && strcmp(choice, "auto") != 0) fail("this machine does not count %s (%s)", choice, strerror(errno));
    clock_name = "thread_cpu";
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t median(int64_t readings[CALIBRATIONS])
{
    qsort(readings, CALIBRATIONS, sizeof *readings, by_size);
    return readings[CALIBRATIONS / 2];
}

/* Returns the median cost of a reading, which every measured burst contains. */
static int64_t median_cost(int64_t (*read_clock)(void))
{
    int64_t readings[CALIBRATIONS];
    for (int i = 0; i < CALIBRATIONS; i++) {
        int64_t begin = read_clock();
        readings[i] = read_clock() - begin;
    }
    return median(readings);
}
