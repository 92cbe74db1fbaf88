/* Members of communicators and windows, by their world ranks. */

typedef struct {
    uintptr_t handle;
    int size, rank;
    bool world;   /* whether the members are those of MPI_COMM_WORLD in the same order */
    bool between; /* whether the members are the remote group of an intercommunicator */
    int *ranks;
} Members;

typedef struct {
    Members *entries;
    int count;
} Table;

static Table communicators, windows;

static Members *find(Table *table, uintptr_t handle)
{
    for (int i = 0; i < table->count; i++)
        if (table->entries[i].handle == handle) return &table->entries[i];
    return NULL;
}

static void remove_entry(Table *table, uintptr_t handle)
{
    Members *entry = find(table, handle);
    if (!entry) return;
    free(entry->ranks);
    *entry = table->entries[--table->count];
}

static Members *add(Table *table, uintptr_t handle, MPI_Comm comm)
{
    remove_entry(table, handle); /* the handle was freed unseen and is used again */
    int between = 0;
    MPI_Group group, world;
    Members made = {.handle = handle};
    PMPI_Comm_test_inter(comm, &between);
    if (between) PMPI_Comm_remote_group(comm, &group);
    else PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_size(group, &made.size);
    PMPI_Comm_rank(comm, &made.rank);
    made.ranks = malloc(made.size * sizeof(int));
    int *local = malloc(made.size * sizeof(int));
    for (int i = 0; i < made.size; i++) local[i] = i;
    PMPI_Group_translate_ranks(group, made.size, local, world, made.ranks);
    made.between = between;
    made.world = !between && made.size == world_size;
    for (int i = 0; i < made.size; i++) made.world = made.world && made.ranks[i] == i;
    free(local);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    table->entries = realloc(table->entries, (table->count + 1) * sizeof(Members));
    table->entries[table->count] = made;
    return &table->entries[table->count++];
}

/* Registers a communicator of many processes for a rank that runs alone. */
static Members *stand_in(MPI_Comm comm, int rank, int size)
{
    remove_entry(&communicators, (uintptr_t)comm);
    communicators.entries = realloc(communicators.entries, (communicators.count + 1) * sizeof(Members));
    communicators.entries[communicators.count] = (Members){.handle = (uintptr_t)comm, .rank = rank, .size = size};
    return &communicators.entries[communicators.count++];
}

static Members *members(MPI_Comm comm)
{
    Members *entry = find(&communicators, (uintptr_t)comm);
    if (entry) return entry;
    if (mode != ALONE) return add(&communicators, (uintptr_t)comm, comm);
    if (comm == MPI_COMM_WORLD) return stand_in(comm, me, world_size);
    if (comm == MPI_COMM_SELF) return stand_in(comm, 0, 1);
    fail("rank %d, call %ld: %s uses a communicator of unseen origin", me, (long)calls, doing);
}

static int ranks_of(MPI_Comm comm) { return members(comm)->size; }

static bool here(int root, MPI_Comm comm) { return members(comm)->rank == root; }

/* Logs the data that a rank sends to a root or to all; with MPI_IN_PLACE, its part of the receive buffer. */
static void sends_part(int root, const void *buf, int count, MPI_Datatype type, const void *all,
                       const int counts[], int each, const int places[], MPI_Datatype kind, MPI_Comm comm)
{
    if (!in_place(buf)) {
        sends_to(root, 0, buf, count, type);
        return;
    }
    int rank = members(comm)->rank;
    sends_to(root, 0, beyond(all, places ? places[rank] : rank * (int64_t)each, kind), counts ? counts[rank] : each, kind);
}

/* Logs the rank and size of a new communicator; when the rank runs alone, makes a substitute of this process. */
static void made_comm(MPI_Comm *made)
{
    if (!logged) return;
    int facts[3] = {mode == ALONE || *made == MPI_COMM_NULL, 0, 0};
    if (!facts[0]) {
        PMPI_Comm_rank(*made, &facts[1]);
        PMPI_Comm_size(*made, &facts[2]);
    }
    bring(facts, sizeof facts);
    if (mode != ALONE) return;
    if (facts[0]) *made = MPI_COMM_NULL;
    else {
        PMPI_Comm_dup(MPI_COMM_SELF, made);
        stand_in(*made, facts[1], facts[2]);
    }
}

/* Logs a new group; when the rank runs alone, makes a substitute, since all queries of groups are logged. */
static void made_group(MPI_Group *made)
{
    char empty = mode != ALONE && *made == MPI_GROUP_EMPTY;
    BRING(&empty);
    if (mode != ALONE) return;
    if (empty) *made = MPI_GROUP_EMPTY;
    else PMPI_Comm_group(MPI_COMM_SELF, made);
}

static int world_rank(MPI_Comm comm, int rank)
{
    if (mode == ALONE) return rank < 0 ? -1 : 0; /* any rank, since nothing is written */
    return rank < 0 ? -1 : members(comm)->ranks[rank]; /* MPI_PROC_NULL, MPI_ANY_SOURCE */
}

static void forget(MPI_Comm comm) { remove_entry(&communicators, (uintptr_t)comm); }

static const Members *sharing(MPI_Win win)
{
    const Members *entry = find(&windows, (uintptr_t)win);
    if (!entry) fail("a window of unseen origin is used");
    return entry;
}

static int64_t bytes(int64_t count, MPI_Datatype datatype)
{
    int size;
    PMPI_Type_size(datatype, &size);
    return count * size;
}
