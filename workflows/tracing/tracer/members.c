/* Communicators and windows: the world ranks of their members. */

typedef struct {
    uintptr_t handle;
    int size, rank;
    bool world;   /* all of MPI_COMM_WORLD, in its order */
    bool between; /* the other side of an intercommunicator */
    int *ranks;
} Members;

typedef struct {
    Members *entries;
    int count;
} Known;

static Known communicators, windows;

static Members *find(Known *known, uintptr_t handle)
{
    for (int i = 0; i < known->count; i++)
        if (known->entries[i].handle == handle) return &known->entries[i];
    return NULL;
}

static void remove_known(Known *known, uintptr_t handle)
{
    Members *found = find(known, handle);
    if (!found) return;
    free(found->ranks);
    *found = known->entries[--known->count];
}

static Members *add(Known *known, uintptr_t handle, MPI_Comm comm)
{
    remove_known(known, handle); /* freed in a way that was not seen, and used again */
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
    int *own = malloc(made.size * sizeof(int));
    for (int i = 0; i < made.size; i++) own[i] = i;
    PMPI_Group_translate_ranks(group, made.size, own, world, made.ranks);
    made.between = between;
    made.world = !between && made.size == world_size;
    for (int i = 0; i < made.size; i++) made.world = made.world && made.ranks[i] == i;
    free(own);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    known->entries = realloc(known->entries, (known->count + 1) * sizeof(Members));
    known->entries[known->count] = made;
    return &known->entries[known->count++];
}

/* Alone: what stands for a communicator of which this process is one of many. */
static Members *stand_in(MPI_Comm comm, int rank, int size)
{
    remove_known(&communicators, (uintptr_t)comm);
    communicators.entries = realloc(communicators.entries, (communicators.count + 1) * sizeof(Members));
    communicators.entries[communicators.count] = (Members){.handle = (uintptr_t)comm, .rank = rank, .size = size};
    return &communicators.entries[communicators.count++];
}

static Members *members(MPI_Comm comm)
{
    Members *found = find(&communicators, (uintptr_t)comm);
    if (found) return found;
    if (mode != ALONE) return add(&communicators, (uintptr_t)comm, comm);
    if (comm == MPI_COMM_WORLD) return stand_in(comm, me, world_size);
    if (comm == MPI_COMM_SELF) return stand_in(comm, 0, 1);
    fail("rank %d, call %ld: %s has a communicator that it did not see made", me, (long)calls, doing);
}

static int ranks_of(MPI_Comm comm) { return members(comm)->size; }

static bool here(int root, MPI_Comm comm) { return members(comm)->rank == root; }

/* What a rank sends to a root, or to all: of its own, or (MPI_IN_PLACE) its part of what it receives into. */
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

/* A communicator that a call has made; alone, one of this process that stands for it. */
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

/* A group; alone, one that stands for it, as all that a program can ask of a group is logged. */
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
    if (mode == ALONE) return rank < 0 ? -1 : 0; /* of which nothing is written */
    return rank < 0 ? -1 : members(comm)->ranks[rank]; /* MPI_PROC_NULL, MPI_ANY_SOURCE */
}

static void forget(MPI_Comm comm) { remove_known(&communicators, (uintptr_t)comm); }

static const Members *sharing(MPI_Win win)
{
    const Members *found = find(&windows, (uintptr_t)win);
    if (!found) fail("a window is used that it did not see made");
    return found;
}

static int64_t bytes(int64_t count, MPI_Datatype datatype)
{
    int size;
    PMPI_Type_size(datatype, &size);
    return count * size;
}
