/* Messages between two ranks, and requests. */

typedef struct Posted {
    struct Posted *next;
    uintptr_t handle;
    char way; /* 's'end, 'r'eceive, or 'c'ollective */
    bool persistent, active, any;
    int peer, tag, id;
    int dest; /* rank of the peer in the program's communicator */
    int64_t size;
    MPI_Comm comm;
    void *buf; /* send or receive buffer */
    int count;
    MPI_Datatype datatype;
    bool owns_datatype; /* whether it is a copy, since a program may free a derived type that is in use */
    const int *counts, *places; /* of a collective call: see bring_from_all */
    int senders;
    char *line; /* of a collective call: written when it completes */
} Posted;

/* Several requests can share a handle: Open MPI returns the same handle for all sends that complete at once. They are
 * matched in the order of their creation. */
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

/* Returns a new handle for a rank that runs alone; it differs from all handles of the library. */
static uintptr_t new_handle(void)
{
    static uint32_t made;
    return (1 << 20) + 8 * (uintptr_t)(made++ % (1 << 24));
}

static MPI_Request request_f2c(MPI_Fint handle)
{
    if (mode != ALONE || handle == PMPI_Request_c2f(MPI_REQUEST_NULL)) return PMPI_Request_f2c(handle);
    return (MPI_Request)(uintptr_t)handle;
}

static MPI_Fint request_c2f(MPI_Request handle)
{
    if (mode != ALONE || handle == MPI_REQUEST_NULL) return PMPI_Request_c2f(handle);
    return (MPI_Fint)(uintptr_t)handle;
}

static MPI_Message message_f2c(MPI_Fint handle)
{
    bool given = handle == PMPI_Message_c2f(MPI_MESSAGE_NULL) || handle == PMPI_Message_c2f(MPI_MESSAGE_NO_PROC);
    return mode != ALONE || given ? PMPI_Message_f2c(handle) : (MPI_Message)(uintptr_t)handle;
}

static MPI_Fint message_c2f(MPI_Message handle)
{
    bool given = handle == MPI_MESSAGE_NULL || handle == MPI_MESSAGE_NO_PROC;
    return mode != ALONE || given ? PMPI_Message_c2f(handle) : (MPI_Fint)(uintptr_t)handle;
}

static void hold_datatype(Posted *made, MPI_Datatype datatype)
{
    int64_t size;
    made->datatype = datatype;
    if (!logged || (made->way == 's' && !made->persistent) || dense(datatype, &size)) return;
    made->owns_datatype = true;
    PMPI_Type_dup(datatype, &made->datatype);
}

/* Registers a new request; when the rank runs alone, gives it a handle. */
static Posted *hold(MPI_Request *request, Posted about, MPI_Datatype datatype)
{
    Posted *made = spare ? spare : malloc(sizeof *made);
    if (spare) spare = spare->next;
    if (mode == ALONE) *request = (MPI_Request)new_handle();
    *made = about;
    made->handle = (uintptr_t)*request;
    hold_datatype(made, datatype);
    Posted **end = &posted[(made->handle ^ made->handle >> 12) / 8 % 4096];
    while (*end) end = &(*end)->next;
    *end = made;
    return made;
}

static void post(MPI_Request *request, char way, bool persistent, const void *buf, int count, MPI_Datatype datatype,
                 int peer, int tag, MPI_Comm comm)
{
    Posted about = {.way = way, .persistent = persistent, .dest = peer, .tag = tag, .comm = comm, .buf = (void *)buf, .count = count};
    Posted *made = hold(request, about, datatype);
    made->size = bytes(count, datatype);
    made->peer = world_rank(comm, peer);
    made->any = way == 'r' && peer != MPI_PROC_NULL && (peer == MPI_ANY_SOURCE || tag == MPI_ANY_TAG);
    if (!persistent) activate(made);
}

/* Registers a nonblocking collective call, whose data from the senders arrives at completion: see bring_from_all. */
static void begin_together(MPI_Request *request, void *buf, const int counts[], int count, const int places[],
                           MPI_Datatype datatype, int senders)
{
    Posted about = {.way = 'c', .active = true, .peer = -1, .buf = buf, .counts = counts, .count = count,
                    .places = places, .senders = senders};
    hold(request, about, datatype);
}

static Posted *newest(MPI_Request handle)
{
    Posted *last = NULL;
    for (Posted *request = *place((uintptr_t)handle); request; request = request->next)
        if (request->handle == (uintptr_t)handle) last = request;
    return last;
}

/* The replay has no nonblocking collective calls, so the call is written at its completion and overlaps nothing. */
#define WRITE_LATER(request, write)         \
    do {                                    \
        later = calloc(1, 1);               \
        write;                              \
        newest(*(request))->line = later;   \
        later = NULL;                       \
    } while (0)

static void discard(Posted **at)
{
    Posted *gone = *at;
    *at = gone->next;
    if (gone->owns_datatype) PMPI_Type_free(&gone->datatype);
    free(gone->line);
    gone->next = spare;
    spare = gone;
}

static void start(MPI_Request handle)
{
    Posted *request = *place((uintptr_t)handle);
    if (!request) fail("a request of unseen origin is started");
    activate(request);
    if (request->way == 's') sends_to(request->dest, request->tag, request->buf, request->count, request->datatype);
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

static void clear_status(MPI_Status *status)
{
    if (mode != ALONE) return;
    memset(status, 0, sizeof *status);
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
}

static void completed(int index, MPI_Request *requests, MPI_Status *status)
{
    clear_status(status);
    if (kept[index] == MPI_REQUEST_NULL) return;
    Posted **at = place((uintptr_t)kept[index]), *request = *at;
    if (!request) fail("a request of unseen origin is completed");
    if (request->active && request->way == 'r') bring_message(request->buf, request->datatype, status);
    if (request->way == 'c')
        bring_from_all(request->buf, request->counts, request->count, request->places, request->datatype,
                      request->senders);
    if (request->line) {
        if (*request->line) computed();
        text(request->line);
    } else if (request->active && request->any) {
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
    if (request->persistent) return;
    discard(at);
    if (mode == ALONE) requests[index] = MPI_REQUEST_NULL;
}

static void some_completed(int *count, MPI_Request *requests, int *indices, MPI_Status *statuses, int first)
{
    BRING(count);
    if (*count == MPI_UNDEFINED) return;
    bring(indices, *count * sizeof *indices);
    for (int i = 0; i < *count; i++) completed(indices[i] - first, requests, &statuses[i]);
}

static void drop(MPI_Request *request)
{
    Posted **at = place((uintptr_t)kept[0]);
    if (*at) discard(at);
    if (mode == ALONE) *request = MPI_REQUEST_NULL;
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

/* A matched probe (MPI_Mprobe) determines the sender of the next receive. */
typedef struct {
    uintptr_t handle;
    int source, tag;
    MPI_Comm comm;
} Announced;

static Announced announcements[256];
static MPI_Comm taken;
static int taken_source, taken_tag;

static void announced(MPI_Message *handle, MPI_Comm comm, MPI_Status *status)
{
    char nobody = mode != ALONE && *handle == MPI_MESSAGE_NO_PROC;
    BRING(status);
    BRING(&nobody);
    if (mode == ALONE) *handle = nobody ? MPI_MESSAGE_NO_PROC : (MPI_Message)new_handle();
    if (nobody) return;
    for (int i = 0; i < 256; i++)
        if (!announcements[i].handle) {
            announcements[i] = (Announced){(uintptr_t)*handle, status->MPI_SOURCE, status->MPI_TAG, comm};
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
    fail("a message is received that was not probed");
}
