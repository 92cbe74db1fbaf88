/* Clocks that a program reads. What they tell comes into a rank as a message does, as a program may wait by them, end a
 * loop by them or send what they told: it is logged, and alone the program gets the times of the run with all ranks.
 * Reading a clock is computing. */

#define REAL(name) static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name)

static bool asks(void) { return logged && traced && depth == 0; }

/* What a clock told; alone, in its place what it told then. */
static void told(int call, void *answer, size_t size)
{
    if (!answer) return;
    const char *before = doing;
    begin_call(call);
    bring(answer, size);
    doing = before;
}

#define ANSWER(call, name, answer, ...)                            \
    REAL(name);                                                    \
    if (!asks()) return real(__VA_ARGS__);                         \
    __typeof__(real(__VA_ARGS__)) given = 0;                       \
    if (mode != ALONE) given = real(__VA_ARGS__);                  \
    told(call, answer, sizeof *(answer));                          \
    told(call, &given, sizeof given);                              \
    return given;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (!asks()) return real_time(clock, now);
    int given = mode == ALONE ? 0 : real_time(clock, now);
    told(CALL_clock, now, sizeof *now);
    return given;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) { ANSWER(CALL_clock, gettimeofday, now, now, zone) }

int getrusage(__rusage_who_t who, struct rusage *used) { ANSWER(CALL_clock, getrusage, used, who, used) }

clock_t times(struct tms *used) { ANSWER(CALL_clock, times, used, used) }

time_t time(time_t *now) { ANSWER(CALL_clock, time, now, now) }

clock_t clock(void) { ANSWER(CALL_clock, clock, (char *)NULL) }

static double wall_time(double (*real)(void))
{
    if (!asks()) return real();
    depth++;
    double seconds = mode == ALONE ? 0 : real();
    depth--;
    told(CALL_Wtime, &seconds, sizeof seconds);
    return seconds;
}

extern double pmpi_wtime_(void) __attribute__((weak));
double MPI_Wtime(void) { return wall_time(PMPI_Wtime); }
double mpi_wtime_(void) { return wall_time(pmpi_wtime_); }
