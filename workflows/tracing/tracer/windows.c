/* Windows of one-sided communication, whose memory changes without a call of its owner.
 *
 * Changes by other ranks are logged when the rank synchronises; results of its gets are logged at their completion. The
 * log also contains the rank's own stores, which it repeats when it runs alone.
 */

#define BLOCK 64 /* bytes compared at a time */

typedef struct {
    MPI_Win win;
    int rank;
    char *memory, *seen; /* memory of the rank, and its last logged state */
    int64_t size;
    bool self_changes; /* whether the rank wrote to itself by MPI since the last logged state */
} Window;

typedef struct PendingResult {
    struct PendingResult *next;
    MPI_Win win;
    int target, count;
    void *buf;
    MPI_Datatype datatype;
    bool owns_datatype; /* whether it is a copy, since a program may free a derived type that is in use */
} PendingResult;

static Window *local_windows;
static int local_window_count;
static PendingResult *pending_results;

static Window *local_window(MPI_Win win)
{
    for (int i = 0; i < local_window_count; i++)
        if (local_windows[i].win == win) return &local_windows[i];
    return NULL;
}

static void add_window(MPI_Win win, MPI_Comm comm, void *memory, int64_t size, void *seen)
{
    Window made = {.win = win, .rank = members(comm)->rank, .memory = memory, .size = size, .seen = seen};
    if (mode == RECORD && !seen) cannot_repeat("%s: no memory to compare with", doing);
    if (!logged) return;
    local_windows = realloc(local_windows, (local_window_count + 1) * sizeof made);
    local_windows[local_window_count++] = made;
}

static void window_made(MPI_Win win, MPI_Comm comm, void *memory, int64_t size)
{
    if (!logged) return;
    void *seen = mode == RECORD ? malloc(size + 1) : NULL;
    if (seen) memcpy(seen, memory, size);
    add_window(win, comm, memory, size, seen);
}

/* Maps zeroed memory at an address for a rank that runs alone. Windows may share pages, also with freed windows. */
static void map_at(char *base, int64_t size)
{
    static struct { char *from, *to; } *mapped;
    static int count;
    const int64_t page = sysconf(_SC_PAGESIZE);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    char *from = (char *)((uintptr_t)base / page * page), *end = base + size, *to = from;
    for (; size && from < end; from = to) {
        bool is_mapped = false;
        for (int i = 0; i < count && !is_mapped; i++)
            if (mapped[i].from <= from && from < mapped[i].to) is_mapped = true, to = mapped[i].to;
        if (is_mapped) continue;
        to = from + (end - from + page - 1) / page * page;
        for (int i = 0; i < count; i++)
            if (from < mapped[i].from && mapped[i].from < to) to = mapped[i].from;
        if (mmap(from, to - from, PROT_READ | PROT_WRITE, flags, -1, 0) != from)
            cannot_repeat("%s: its memory cannot be where it was", doing);
        mapped = realloc(mapped, (count + 1) * sizeof *mapped);
        mapped[count].from = from;
        mapped[count++].to = to;
    }
    memset(base, 0, size);
}

/* Registers a window with memory of the library. When the rank runs alone, the memory has the recorded address, since
 * programs send such addresses; its initial content is zero. */
static void window_allocated(MPI_Win *win, MPI_Comm comm, void **base, int64_t size, int unit)
{
    if (!logged) return;
    BRING(base);
    if (mode == ALONE) {
        map_at(*base, size);
        PMPI_Win_create(*base, size, unit, MPI_INFO_NULL, MPI_COMM_SELF, win);
    }
    add_window(*win, comm, *base, size, mode == RECORD ? calloc(size + 1, 1) : NULL);
}

static void window_gone(MPI_Win win)
{
    Window *gone = local_window(win);
    if (!gone) return;
    free(gone->seen);
    *gone = local_windows[--local_window_count];
}

/* Returns the first block from `from` on that differs from its logged state, or (without `differs`) does not differ;
 * the size of the window if there is none. */
static int64_t next_block(const Window *in, int64_t from, bool differs)
{
    for (; from < in->size; from += BLOCK) {
        int64_t left = in->size - from;
        if (differs && left >= 64 * BLOCK && !memcmp(in->memory + from, in->seen + from, 64 * BLOCK)) from += 63 * BLOCK;
        else if (!memcmp(in->memory + from, in->seen + from, left < BLOCK ? left : BLOCK) != differs) return from;
    }
    return in->size;
}

static void bring_changes(Window *in)
{
    in->self_changes = false;
    for (int64_t from = 0, to = 0; logged; from = to) {
        if (mode == RECORD) from = next_block(in, to, true);
        BRING(&from);
        if (from >= in->size) return;
        if (mode == RECORD) to = next_block(in, from, false);
        BRING(&to);
        if (mode == RECORD) memcpy(in->seen + from, in->memory + from, to - from); /* a copy, since other ranks may write on */
        bring((mode == RECORD ? in->seen : in->memory) + from, to - from);
    }
}

static void bring_all_changes(void)
{
    for (int i = 0; i < local_window_count; i++) bring_changes(&local_windows[i]);
}

/* Logs the results of completed gets: the rank synchronises with a target, or with all (-1). */
static void synchronised(MPI_Win win, int target)
{
    if (!logged) return;
    for (PendingResult **at = &pending_results; *at;) {
        PendingResult *result = *at;
        if (result->win != win || (target >= 0 && result->target != target)) {
            at = &result->next;
            continue;
        }
        bring_elements(result->buf, result->count, result->datatype);
        *at = result->next;
        if (result->owns_datatype) PMPI_Type_free(&result->datatype);
        free(result);
    }
    Window *local = local_window(win);
    if (local && local->self_changes && (target < 0 || target == local->rank)) bring_changes(local);
}

/* Logs changes by other ranks when the program may see them. */
static void bring_visible_changes(MPI_Win win, int target)
{
    Window *local = logged ? local_window(win) : NULL;
    if (local && (target < 0 || target == local->rank)) bring_changes(local);
}

/* Registers a get, whose result is in `buf` after the rank has synchronised with the target. */
static void expect_result(void *buf, int count, MPI_Datatype datatype, int target, MPI_Win win)
{
    if (!logged || target == MPI_PROC_NULL) return;
    PendingResult *made = malloc(sizeof *made), **end = &pending_results;
    int64_t size;
    *made = (PendingResult){.win = win, .target = target, .count = count, .buf = buf, .datatype = datatype};
    if (!dense(datatype, &size)) {
        made->owns_datatype = true;
        PMPI_Type_dup(datatype, &made->datatype);
    }
    while (*end) end = &(*end)->next;
    *end = made;
}

/* Logs the hash of data that the rank writes to the memory of a target. */
static void changes(const void *buf, int count, MPI_Datatype datatype, int target, MPI_Aint place, MPI_Win win)
{
    sends_to(target, place, buf, count, datatype);
    Window *local = logged ? local_window(win) : NULL;
    if (local && target == local->rank) local->self_changes = true;
}
