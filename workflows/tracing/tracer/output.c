/* The trace file of a rank. */

#define BUFFER 1048576

static int output = -1;
static char buffer[BUFFER];
static size_t used;
static char *later; /* if set, collects lines that are written later */

static void flush(void)
{
    if (!written(output, buffer, used)) fail("cannot write its file: %s", strerror(errno));
    used = 0;
}

static void text(const char *words)
{
    if (output < 0) return;
    size_t length = strlen(words);
    if (later) {
        later = realloc(later, strlen(later) + length + 1);
        strcat(later, words);
        return;
    }
    if (used + length + 32 > BUFFER) flush();
    memcpy(buffer + used, words, length);
    used += length;
}

static void digits(int64_t value)
{
    char shown[24];
    int place = sizeof shown;
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
    shown[--place] = 0;
    do shown[--place] = '0' + left % 10;
    while (left /= 10);
    if (value < 0) shown[--place] = '-';
    text(shown + place);
}

static void number(int64_t value)
{
    text(" ");
    digits(value);
}

static void computed(void)
{
    /* Negative amounts, of bursts shorter than the clock's cost, are carried over. */
    if (pending <= 0 || output < 0 || later) return;
    point(calls);
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

/* Opens the trace and the log of a rank; only the log if the rank runs alone. */
static void open_files(int rank, int size)
{
    me = rank;
    world_size = size;
    opened = true;
    open_log();
    if (mode == ALONE) return;
    point(counted_from);
    const char *folder = getenv("NODEWORTH_TRACE");
    if (!folder) fail("NODEWORTH_TRACE is not set");
    char path[4096], version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    snprintf(path, sizeof path, "%s/rank-%d.txt", folder, rank);
    output = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (output < 0) fail("%s: %s", path, strerror(errno));
    int length;
    PMPI_Get_library_version(version, &length);
    version[strcspn(version, "\n,")] = 0;
    char line[8192];
    snprintf(line, sizeof line, "# tracer 1 rank %d of %d clock %s cost %ld library %s\n", rank, size,
             clock_name, (long)cost, version);
    text(line);
}

static void close_files(void)
{
    if (!opened) return;
    opened = false;
    if (mode == ALONE) {
        close_log();
        return;
    }
    begin_note("end");
    number(cpu_ns() - loaded_at);
    number(counter < 0 ? cpu_ns() - loaded_at : now());
    text("\n");
    flush();
    close(output);
    output = -1;
    close_log();
}
