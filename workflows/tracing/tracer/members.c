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

static Members *members(MPI_Comm comm)
{
    Members *found = find(&communicators, (uintptr_t)comm);
    return found ? found : add(&communicators, (uintptr_t)comm, comm);
}

static int world_rank(MPI_Comm comm, int rank)
{
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
