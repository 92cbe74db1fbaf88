/* Windows of one-sided communication, which change without a call of their owner.
 *
 * What others changed in a rank's own memory comes in where the rank synchronises; what it asked for comes in where
 * that is complete. The rank's own stores are among the changes: alone, it makes the same ones before.
 */

#define BLOCK 64 /* bytes that are compared at once */

typedef struct {
    MPI_Win win;
    int rank;
    char *memory, *seen; /* of the rank, and what the log knows of it */
    int64_t size;
    bool own_changes; /* it wrote to itself by MPI, which nothing has brought in yet */
} Window;

typedef struct Asked {
    struct Asked *next;
    MPI_Win win;
    int target, count;
    void *buf;
    MPI_Datatype datatype;
    bool own_datatype; /* a copy: a program may free a derived one while it is in use */
} Asked;

static Window *own_windows;
static int own_window_count;
static Asked *asked;

static Window *own_window(MPI_Win win)
{
    for (int i = 0; i < own_window_count; i++)
        if (own_windows[i].win == win) return &own_windows[i];
    return NULL;
}

static void add_window(MPI_Win win, MPI_Comm comm, void *memory, int64_t size, void *seen)
{
    Window made = {.win = win, .rank = members(comm)->rank, .memory = memory, .size = size, .seen = seen};
    if (mode == RECORD && !seen) cannot_repeat("%s: no memory to compare with", doing);
    if (!logged) return;
    own_windows = realloc(own_windows, (own_window_count + 1) * sizeof made);
    own_windows[own_window_count++] = made;
}

static void window_made(MPI_Win win, MPI_Comm comm, void *memory, int64_t size)
{
    if (!logged) return;
    void *seen = mode == RECORD ? malloc(size + 1) : NULL;
    if (seen) memcpy(seen, memory, size);
    add_window(win, comm, memory, size, seen);
}

/* Alone: memory at an address, zeros; windows may share pages, with others that are there no more too. */
static void map_at(char *base, int64_t size)
{
    static struct { char *from, *to; } *mapped;
    static int count;
    const int64_t page = sysconf(_SC_PAGESIZE);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    char *from = (char *)((uintptr_t)base / page * page), *end = base + size, *to = from;
    for (; size && from < end; from = to) {
        bool own = false;
        for (int i = 0; i < count && !own; i++)
            if (mapped[i].from <= from && from < mapped[i].to) own = true, to = mapped[i].to;
        if (own) continue;
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

/* The same with memory of the library's. Alone it has the address that it had, as programs tell each other of that; what
 * it holds at first is no matter of the program's, and zeros. */
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
    Window *gone = own_window(win);
    if (!gone) return;
    free(gone->seen);
    *gone = own_windows[--own_window_count];
}

/* First block from `from` on that is not as it was seen (`differs`), or that is; the size where there is none. */
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
    in->own_changes = false;
    for (int64_t from = 0, to = 0; logged; from = to) {
        if (mode == RECORD) from = next_block(in, to, true);
        BRING(&from);
        if (from >= in->size) return;
        if (mode == RECORD) to = next_block(in, from, false);
        BRING(&to);
        if (mode == RECORD) memcpy(in->seen + from, in->memory + from, to - from); /* others may go on writing */
        bring((mode == RECORD ? in->seen : in->memory) + from, to - from);
    }
}

static void bring_all_changes(void)
{
    for (int i = 0; i < own_window_count; i++) bring_changes(&own_windows[i]);
}

/* The rank synchronises with a target, or (-1) with all: what it asked of them is there. */
static void synchronised(MPI_Win win, int target)
{
    if (!logged) return;
    for (Asked **at = &asked; *at;) {
        Asked *one = *at;
        if (one->win != win || (target >= 0 && one->target != target)) {
            at = &one->next;
            continue;
        }
        came(one->buf, one->count, one->datatype);
        *at = one->next;
        if (one->own_datatype) PMPI_Type_free(&one->datatype);
        free(one);
    }
    Window *own = own_window(win);
    if (own && own->own_changes && (target < 0 || target == own->rank)) bring_changes(own);
}

/* It may see what others did to its memory. */
static void looks(MPI_Win win, int target)
{
    Window *own = logged ? own_window(win) : NULL;
    if (own && (target < 0 || target == own->rank)) bring_changes(own);
}

/* What a target gives is in `buf` once the rank has synchronised with it. */
static void asks_for(void *buf, int count, MPI_Datatype datatype, int target, MPI_Win win)
{
    if (!logged || target == MPI_PROC_NULL) return;
    Asked *made = malloc(sizeof *made), **end = &asked;
    int64_t size;
    *made = (Asked){.win = win, .target = target, .count = count, .buf = buf, .datatype = datatype};
    if (!dense(datatype, &size)) {
        made->own_datatype = true;
        PMPI_Type_dup(datatype, &made->datatype);
    }
    while (*end) end = &(*end)->next;
    *end = made;
}

/* What the rank does to the memory of a target. */
static void changes(const void *buf, int count, MPI_Datatype datatype, int target, MPI_Aint place, MPI_Win win)
{
    sends_to(target, place, buf, count, datatype);
    Window *own = logged ? own_window(win) : NULL;
    if (own && target == own->rank) own->own_changes = true;
}
