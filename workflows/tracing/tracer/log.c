/* The log of the data that MPI brings into a rank: written while all ranks run, read when a rank runs alone.
 *
 * The entry of a call starts with its number in the table of calls. The hashes of the sent data and the received data
 * follow in the order of the wrapper's statements. When a rank runs alone, a call that differs from the recorded call
 * ends the program with one line. A different hash is only written to a file, since a program may send its process id;
 * workflows/tracing/alone.py decides whether it matters.
 */

#define LOG_BUFFER 1048576
#define MOST_DIFFERING 1000 /* largest number of reported sends that differ */

static int log_file = -1;
static bool logged; /* whether the next calls are logged, or answered from the log */
static char *log_buffer;
static size_t log_used;
static int64_t log_left, log_bytes; /* bytes left, and size limit */
static char *log_at, *log_end;
static int differing, addresses; /* sends that differ from the record without, and with, an address */
static const char *doing = "the program"; /* current call, for messages */

static const char *in_folder(const char *name, int rank)
{
    static __thread char path[4096];
    const char *folder = getenv(strcmp(name, "log") ? "NODEWORTH_TRACE" : "NODEWORTH_TRACE_LOG");
    if (!folder) fail("the folder for its files is not set");
    snprintf(path, sizeof path, "%s/%s-%d", folder, name, rank);
    return path;
}

static int create(const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0) fail("%s: %s", path, strerror(errno));
    return file;
}

static bool written(int file, const void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t part = syscall(SYS_write, file, (const char *)data + done, size - done);
        if (part < 0) return false;
        done += part;
    }
    return true;
}

/* Ends the log of a rank that cannot run alone, while its trace continues; ends the program if the rank runs alone. */
__attribute__((format(printf, 1, 2))) static void cannot_repeat(const char *format, ...)
{
    if (!logged) return;
    va_list arguments;
    va_start(arguments, format);
    char text[512];
    vsnprintf(text, sizeof text - 1, format, arguments);
    va_end(arguments);
    if (mode == ALONE) fail("rank %d, call %ld: %s", me, (long)calls, text);
    strcat(text, "\n");
    logged = false;
    if (log_file >= 0 && ftruncate(log_file, 0)) fail("cannot cut its log: %s", strerror(errno));
    int file = open(in_folder("unrepeatable", me), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0 || !written(file, text, strlen(text))) fail("cannot write its files: %s", strerror(errno));
    close(file);
}

static void flush_log(void)
{
    if (!written(log_file, log_buffer, log_used))
        cannot_repeat("what MPI brings into a rank cannot be written: %s", strerror(errno));
    log_used = 0;
}

/* Writes received data to the log; when the rank runs alone, reads the data from the log. */
static void bring(void *data, size_t size)
{
    if (!logged) return;
    if (mode == ALONE) {
        if (size > (size_t)(log_end - log_at)) fail("rank %d, call %ld: %s brings in more than was recorded", me, (long)calls, doing);
        memcpy(data, log_at, size);
        log_at += size;
        return;
    }
    if ((log_left -= size) < 0) {
        cannot_repeat("what MPI brings into a rank takes more than the %ld bytes that there is room for", (long)log_bytes);
        return;
    }
    for (const char *from = data; logged && size;) {
        size_t part = size < LOG_BUFFER - log_used ? size : LOG_BUFFER - log_used;
        memcpy(log_buffer + log_used, from, part);
        log_used += part, from += part, size -= part;
        if (log_used == LOG_BUFFER) flush_log();
    }
}

#define BRING(place) bring(place, sizeof *(place))

static void open_log(void)
{
    int about[2] = {me, world_size};
    if (mode == RECORD) {
        const char *room = getenv("NODEWORTH_TRACE_LOG_BYTES");
        log_left = log_bytes = room ? atoll(room) : INT64_MAX;
        log_buffer = malloc(LOG_BUFFER);
        log_file = create(in_folder("log", me));
    } else if (mode == ALONE) {
        const char *path = in_folder("log", alone);
        struct stat file_status;
        log_file = open(path, O_RDONLY | O_CLOEXEC);
        if (log_file < 0 || fstat(log_file, &file_status)) fail("%s: %s", path, strerror(errno));
        log_at = mmap(NULL, file_status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, log_file, 0);
        if (log_at == MAP_FAILED) fail("%s: %s", path, strerror(errno));
        log_end = log_at + file_status.st_size;
    }
    logged = mode != TRACE;
    bring(about, sizeof about);
    me = about[0];
    world_size = about[1];
}

static void begin_call(int call)
{
    uint8_t code = call, was = call;
    doing = call_names[call];
    if (!logged) return;
    if (mode == ALONE && log_at == log_end) fail("rank %d, call %ld: %s where the recorded run had ended", me, (long)calls, doing);
    bring(&was, 1);
    if (was != code)
        fail("rank %d, call %ld: %s where %s was recorded", me, (long)calls, doing, was < CALL_COUNT ? call_names[was] : "nothing known");
}

/* ---- memory ---- */

#define LARGE 16777216 /* bytes */

/* Aligns large blocks to pages in all modes, because NWChem computes its memory size from the address. */
void *malloc(size_t size)
{
    static void *(*real)(size_t);
    if (!real) real = dlsym(RTLD_NEXT, "malloc");
    if (size < LARGE) return real(size);
    void *made = NULL;
    int failed = posix_memalign(&made, sysconf(_SC_PAGESIZE), size);
    if (failed) errno = failed;
    return failed ? NULL : made;
}

/* ---- payloads ---- */

/* Returns whether the elements of a type have no gaps, and sets their size. */
static bool dense(MPI_Datatype type, int64_t *size)
{
    static struct { MPI_Datatype type; int64_t size; } seen[8];
    static int next; /* only named types are cached, since the handle of a freed type may be used again */
    for (int i = 0; i < 8; i++)
        if (seen[i].size && seen[i].type == type) {
            *size = seen[i].size;
            return true;
        }
    int integers, addresses, types, combiner, each;
    MPI_Aint low, extent, true_low, true_extent;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    PMPI_Type_get_extent(type, &low, &extent);
    PMPI_Type_get_true_extent(type, &true_low, &true_extent);
    PMPI_Type_size(type, &each);
    *size = each;
    if (each != extent || true_extent != extent || true_low != 0) return false;
    if (combiner == MPI_COMBINER_NAMED) {
        seen[next].type = type;
        seen[next].size = each;
        next = (next + 1) % 8;
        return true;
    }
    return combiner == MPI_COMBINER_CONTIGUOUS;
}

/* Returns memory to pack elements of a derived type; NULL if there is none. */
static void *scratch(int64_t size)
{
    static void *space;
    static int64_t have;
    if (size > INT_MAX) {
        cannot_repeat("%s: more than 2 GB of a derived type", doing);
        return NULL;
    }
    if (size > have) {
        free(space);
        space = malloc(have = 2 * size);
    }
    if (!space) cannot_repeat("%s: no memory to pack", doing);
    return space;
}

/* Packs elements of a derived type, or unpacks them into `buf`. */
static void pack(bool back, void *buf, int count, MPI_Datatype type, void *packed, int size)
{
    MPI_Datatype from = type;
    int place = 0;
    if (!buf) { /* MPICH refuses MPI_BOTTOM, so the addresses become relative to `packed` */
        MPI_Aint to_bottom = -(MPI_Aint)packed;
        buf = packed;
        PMPI_Type_create_hindexed(1, &count, &to_bottom, type, &from);
        PMPI_Type_commit(&from);
        count = 1;
    }
    if (back) PMPI_Unpack(packed, size, &place, buf, count, from, MPI_COMM_SELF);
    else PMPI_Pack(buf, count, from, packed, size, &place, MPI_COMM_SELF);
    if (from != type) PMPI_Type_free(&from);
}

/* Logs or restores `count` received elements in `buf`. */
static void bring_elements(void *buf, int64_t count, MPI_Datatype type)
{
    if (!logged || count <= 0) return;
    int64_t size;
    if (dense(type, &size)) {
        bring(buf, count * size);
        return;
    }
    void *packed = scratch(count * size);
    if (!packed) return;
    if (mode == RECORD) pack(false, buf, count, type, packed, count * size);
    bring(packed, count * size);
    if (mode == ALONE) pack(true, buf, count, type, packed, count * size);
}

static char *beyond(const void *buf, int64_t elements, MPI_Datatype type)
{
    MPI_Aint low, extent;
    PMPI_Type_get_extent(type, &low, &extent);
    return (char *)buf + elements * extent;
}

/* Logs or restores the data from each of `size` ranks: `counts` elements (else `count`) at `places` (else in a row). */
static void bring_from_all(void *buf, const int counts[], int count, const int places[], MPI_Datatype type, int size)
{
    for (int i = 0; logged && i < size; i++)
        bring_elements(beyond(buf, places ? places[i] : i * (int64_t)count, type), counts ? counts[i] : count, type);
}

static void bring_message(void *buf, MPI_Datatype type, MPI_Status *status)
{
    if (!logged) return;
    int count, size;
    BRING(status); /* contains no pointers in Open MPI and MPICH */
    PMPI_Get_count(status, MPI_BYTE, &count);
    PMPI_Type_size(type, &size);
    if (count == MPI_UNDEFINED || (size && count % size))
        cannot_repeat("%s: a message of above 2 GB, or with a part of an element", doing);
    bring_elements(buf, size ? count / size : 0, type);
}

static uint64_t hash_of(uint64_t seed, const char *at, int64_t size)
{
    uint64_t hash = seed ^ 0x9e3779b97f4a7c15u ^ size, word;
    for (; size >= 8; size -= 8, at += 8) {
        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    for (; size; size--) hash = (hash ^ (uint8_t)*at++) * 0x100000001b3u;
    return hash;
}

/* Returns whether sent data contains an address of this process, as unwritten memory may. Addresses differ between
 * processes. */
static bool holds_address(const char *at, int64_t size)
{
    const uintptr_t page = sysconf(_SC_PAGESIZE), *word = (const uintptr_t *)(((uintptr_t)at + 7) / 8 * 8);
    unsigned char resident;
    for (; (const char *)(word + 1) <= at + size; word++)
        if (*word >> 32 && *word >> 47 == 0 && mincore((void *)(*word / page * page), 1, &resident) == 0) return true;
    return false;
}

/* Logs the hash of sent data with its target and tag, or its root; when the rank runs alone, compares the hash. */
static void sends_to(int peer, int tag, const void *buf, int64_t count, MPI_Datatype type)
{
    if (!logged) return;
    int64_t size = 0;
    int to[2] = {peer, tag};
    if (count < 0 || peer == MPI_PROC_NULL || in_place(buf)) count = 0;
    if (count && !dense(type, &size)) {
        void *packed = scratch(count * size);
        if (!packed) return;
        pack(false, (void *)buf, count, type, packed, count * size);
        buf = packed;
    }
    uint64_t hash = hash_of(hash_of(0, (const char *)to, sizeof to), buf, count * size), was = hash;
    BRING(&was);
    if (was == hash) return;
    bool address = holds_address(buf, count * size);
    const char *differs = address ? "sends an address of its process" : "sends something else than was recorded";
    if (address && addresses++ >= MOST_DIFFERING) return; /* reported often enough */
    if (!address && differing++ == MOST_DIFFERING) fail("rank %d, call %ld: %s %s, as %d did before", me, (long)calls, doing, differs, MOST_DIFFERING);
    int file = open(in_folder("differing", me), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) fail("cannot write its files: %s", strerror(errno));
    dprintf(file, "rank %d, call %ld: %s %s\n", me, (long)calls, doing, differs);
    close(file);
}

static void sends(const void *buf, int64_t count, MPI_Datatype type) { sends_to(0, 0, buf, count, type); }

static void sends_to_all(const void *buf, const int counts[], int count, const int places[], MPI_Datatype type, int size)
{
    for (int i = 0; logged && i < size; i++)
        sends(beyond(buf, places ? places[i] : i * (int64_t)count, type), counts ? counts[i] : count, type);
}

/* ---- the end ---- */

/* Positions of the compute lines among the calls: the call before the first line, then the call that ends each line. */
static uint32_t *points;
static int64_t point_count, point_space;

static void point(int64_t call)
{
    if (!logged) return;
    if (point_count == point_space) {
        point_space = point_space ? 2 * point_space : 65536;
        points = realloc(points, point_space * sizeof *points);
        if (!points) {
            cannot_repeat("there is no memory for its calls");
            return;
        }
    }
    points[point_count++] = call;
}

static void close_log(void)
{
    if (mode == RECORD && logged) {
        flush_log();
        int file = create(in_folder("points", me));
        if (!written(file, points, point_count * sizeof *points))
            cannot_repeat("what each call computed cannot be written: %s", strerror(errno));
        close(file);
    } else if (mode == ALONE) {
        if (log_at != log_end) fail("rank %d, call %ld: it ends where %s was recorded", me, (long)calls, call_names[*(uint8_t *)log_at % CALL_COUNT]);
        bool is_short = true;
        for (int64_t i = 0; i < calls; i++) is_short = is_short && bursts[i] >= INT32_MIN && bursts[i] <= INT32_MAX;
        int64_t each = is_short ? sizeof(int32_t) : sizeof(int64_t);
        for (int64_t i = 0; is_short && i < calls; i++) memcpy((char *)bursts + i * each, &(int32_t){bursts[i]}, each);
        int64_t about[] = {me, world_size, calls, each, waited_ns(getpid()), cpu_ns()};
        int file = create(in_folder("alone", me));
        if (!written(file, about, sizeof about) || !written(file, bursts, calls * each))
            fail("cannot write its files: %s", strerror(errno));
        close(file);
    }
    if (log_file >= 0) close(log_file);
    log_file = -1;
    logged = false;
}
