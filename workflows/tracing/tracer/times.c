/* Clocks that a program reads. A program may wait for a time, end a loop at a time, or send a time. So the times are
 * logged like messages, and a rank that runs alone gets the recorded times. Reading a clock counts as computing. */

#define REAL(name) static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name)

static bool answers_are_logged(void) { return logged && traced && depth == 0; }

/* Logs the answer of a clock; when the rank runs alone, replaces the answer by the recorded answer. */
static void answer_from_log(int call, void *answer, size_t size)
{
    if (!answer) return;
    const char *before = doing;
    begin_call(call);
    bring(answer, size);
    doing = before;
}

#define ANSWER(call, name, answer, ...)                            \
    REAL(name);                                                    \
    if (!answers_are_logged()) return real(__VA_ARGS__);                         \
    __typeof__(real(__VA_ARGS__)) given = 0;                       \
    if (mode != ALONE) given = real(__VA_ARGS__);                  \
    answer_from_log(call, answer, sizeof *(answer));                          \
    answer_from_log(call, &given, sizeof given);                              \
    return given;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (!answers_are_logged()) return real_time(clock, now);
    int given = mode == ALONE ? 0 : real_time(clock, now);
    answer_from_log(CALL_clock, now, sizeof *now);
    return given;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) { ANSWER(CALL_clock, gettimeofday, now, now, zone) }

int getrusage(__rusage_who_t who, struct rusage *used) { ANSWER(CALL_clock, getrusage, used, who, used) }

clock_t times(struct tms *used) { ANSWER(CALL_clock, times, used, used) }

time_t time(time_t *now) { ANSWER(CALL_clock, time, now, now) }

clock_t clock(void) { ANSWER(CALL_clock, clock, (char *)NULL) }

static double wall_time(double (*real)(void))
{
    if (!answers_are_logged()) return real();
    depth++;
    double seconds = mode == ALONE ? 0 : real();
    depth--;
    answer_from_log(CALL_Wtime, &seconds, sizeof seconds);
    return seconds;
}

extern double pmpi_wtime_(void) __attribute__((weak));
double MPI_Wtime(void) { return wall_time(PMPI_Wtime); }
double mpi_wtime_(void) { return wall_time(pmpi_wtime_); }
