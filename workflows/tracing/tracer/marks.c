/* Entry into and return from MPI, and marks of the program's output. */

static char *marks[16];
static int mark_count;

static bool enter(int call)
{
    if (depth++ > 0) return false;
    if (!traced) fail("MPI is called from a second thread, which it cannot trace");
    end_burst();
    begin_call(call);
    return true;
}

/* Enters a call that involves no other process, and that a second thread may make. */
static bool enter_from_any_thread(int call)
{
    if (traced || depth > 0) return enter(call);
    depth++;
    cannot_repeat("%s is called from a second thread", call_names[call]);
    return false;
}

static void leave(void)
{
    depth--;
    if (depth == 0 && traced) begin_burst();
}

static __attribute__((noinline)) void no_call(void)
{
    if (enter(CALL_nothing)) leave();
}

/* Returns the duration of a burst without computing by the fast clock: a reading, a return and an entry. */
static int64_t empty_burst(void)
{
    void (*volatile call)(void) = no_call;
    int64_t readings[CALIBRATIONS];
    for (int i = 0; i < CALIBRATIONS; i++) {
        int64_t begin = left.tick;
        call();
        readings[i] = entered.tick - begin;
    }
    calls = pending = 0;
    return median(readings);
}

/* Returns whether the program was started as one process, as far as the environment shows before MPI_Init. */
static bool one_process(void)
{
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");
    if (!size) size = getenv("PMI_SIZE");
    return !size || atoi(size) == 1;
}

static void printed(const void *bytes, size_t length)
{
    if (depth > 0 || !traced) return;
    for (int i = 0; i < mark_count; i++) {
        if (!memmem(bytes, length, marks[i], strlen(marks[i]))) continue;
        depth++;
        end_burst();
        int finalised = 0;
        PMPI_Finalized(&finalised);
        if (!opened && !finalised && one_process()) open_files(0, 1);
        begin_call(CALL_mark);
        if (opened && mode != ALONE) {
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
