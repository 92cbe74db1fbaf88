/* The clock that computing is measured by.
 *
 * Reading a thread's CPU time takes the kernel 0.4 us, too much for programs that call MPI every few us. A stretch
 * of the program that is shorter than SHORT_BURST, or a call shorter than SHORT_CALL, by the machine's fast clock
 * is hardly ever interrupted by another process, and so has taken that much CPU time. Only at the end of a longer one
 * is the CPU time read. Instructions are read every time.
 *
 * A rank of several threads computes until the last of them is done, so its time elapses. What any of its threads waited
 * for a core, as on a machine that does other work too, is taken off: then it took no less than the CPU time of the
 * thread that computed most.
 */

#define CALIBRATIONS 1001
#define SHORT_BURST 20000 /* ns */
#define SHORT_CALL 2000
#define SHORT_OF_THREADS 1000000 /* all threads are asked at the end of a longer one */
#define MOST_THREADS 256

static int counter = -1;        /* of perf_event; -1: the thread's CPU clock, or the fast one */
static bool elapsed;            /* of several threads */
static const char *clock_name = "thread_cpu";
static int64_t loaded_at;       /* CPU time of the thread when it was loaded, ns */
static int64_t cost;            /* of a reading of the clock */
static int64_t tick_cost;       /* what a burst without computing takes by the fast clock */

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

/* Time that a thread waited for a core, ns; -1 where the kernel does not tell. */
static int64_t waited_ns(int thread)
{
    char path[64], told[128];
    long long ran, waited;
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", thread);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, told, sizeof told - 1);
    if (file >= 0) close(file);
    if (length <= 0) return -1;
    told[length] = 0;
    return sscanf(told, "%lld %lld", &ran, &waited) == 2 ? waited : -1;
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
    int64_t tick, count; /* of the fast clock and of the clock; the latter may be reckoned from an earlier reading */
} Moment;

static Moment left, entered; /* when the program last came out of MPI, and into it */

static Moment moment(Moment before, int64_t shortest)
{
    int64_t tick = ticks();
    if (elapsed) shortest = SHORT_OF_THREADS;
    if (counter < 0 && tick - before.tick < shortest) return (Moment){tick, before.count + tick - before.tick};
    int64_t count = now();
    return (Moment){ticks(), count};
}

static int64_t calls;        /* that the program has made; each ends a burst */
static int64_t counted_from; /* the call after which computing is counted */
static int64_t *bursts; /* of a rank alone: computing before each call */
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

/* Instructions where the machine counts them, unless NODEWORTH_TRACE_CLOCK says otherwise. */
static void open_clock(void)
{
    const char *wanted = getenv("NODEWORTH_TRACE_CLOCK");
    elapsed = wanted && strcmp(wanted, "elapsed") == 0;
    if (elapsed) clock_name = "elapsed";
    if (elapsed || (wanted && strcmp(wanted, "thread_cpu") == 0)) return;
    struct perf_event_attr event = {.type = PERF_TYPE_HARDWARE, .size = sizeof event,
                                    .config = PERF_COUNT_HW_INSTRUCTIONS, .exclude_kernel = 1};
    clock_name = "instructions";
    if (wanted && strcmp(wanted, "task_clock") == 0) {
        event.type = PERF_TYPE_SOFTWARE;
        event.config = PERF_COUNT_SW_TASK_CLOCK;
        clock_name = "task_clock";
    }
    counter = syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (counter >= 0) return;
    if (wanted && strcmp(wanted, "auto") != 0) fail("this machine does not count %s (%s)", wanted, strerror(errno));
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

/* A burst is measured from one reading to the next and so holds the cost of one reading: the median. */
static int64_t median_cost(int64_t (*read_clock)(void))
{
    int64_t readings[CALIBRATIONS];
    for (int i = 0; i < CALIBRATIONS; i++) {
        int64_t begin = read_clock();
        readings[i] = read_clock() - begin;
    }
    return median(readings);
}
