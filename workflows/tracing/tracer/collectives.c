/* Collective and one-sided communication. */

static bool begin_collective(const char *name, const Members *all)
{
    if (all->between) fail("%s is called on an intercommunicator, which it cannot trace", name);
    if (all->size == 1 && world_size > 1) return false;
    if (all->world) {
        begin_line(name);
        return true;
    }
    begin_note("sub ");
    for (int i = 0; i < all->size; i++) {
        if (i > 0) text(",");
        digits(all->ranks[i]);
    }
    text(" ");
    text(name);
    return true;
}

static void meet(const Members *all)
{
    if (begin_collective("barrier", all)) text("\n");
}

static void together(MPI_Comm comm) { meet(members(comm)); }

static void sized(const char *name, int64_t size, int64_t second, MPI_Comm comm)
{
    if (!begin_collective(name, members(comm))) return;
    number(size);
    number(second);
    text("\n");
}

/* Writes a collective call with a root; a negative second size is omitted. */
static void rooted(const char *name, int64_t size, int64_t second, int root, MPI_Comm comm)
{
    if (!begin_collective(name, members(comm))) return;
    number(size);
    if (second >= 0) number(second);
    number(root);
    text("\n");
}

static void one_size_rooted(const char *name, int count, MPI_Datatype datatype, int root_count,
                            MPI_Datatype root_datatype, int root, MPI_Comm comm)
{
    int64_t size = members(comm)->rank == root ? bytes(root_count, root_datatype) : bytes(count, datatype);
    rooted(name, size, size, root, comm);
}

/* Writes the size of each member: `counts` (else `count`) times `each`. */
static void counted(const int counts[], int count, int64_t each, int size)
{
    for (int i = 0; i < size; i++) number((counts ? counts[i] : count) * each);
}

static void gathered(int count, MPI_Datatype datatype, const int counts[], MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    const Members *all = members(comm);
    bool here = all->rank == root;
    if (!begin_collective("gatherv", all)) return;
    number(here ? bytes(counts[root], recvtype) : bytes(count, datatype));
    counted(here ? counts : NULL, 0, here ? bytes(1, recvtype) : 0, all->size);
    number(root);
    text("\n");
}

static void scattered(int count, MPI_Datatype datatype, const int counts[], MPI_Datatype sendtype, int root, MPI_Comm comm)
{
    const Members *all = members(comm);
    bool here = all->rank == root;
    if (!begin_collective("scatterv", all)) return;
    counted(here ? counts : NULL, 0, here ? bytes(1, sendtype) : 0, all->size);
    number(here ? bytes(counts[root], sendtype) : bytes(count, datatype));
    number(root);
    text("\n");
}

static void gathered_by_all(const int counts[], MPI_Datatype datatype, MPI_Comm comm)
{
    const Members *all = members(comm);
    if (!begin_collective("allgatherv", all)) return;
    number(bytes(counts[all->rank], datatype));
    counted(counts, 0, bytes(1, datatype), all->size);
    text("\n");
}

static int64_t sum_of(const int counts[], int size)
{
    int64_t sum = 0;
    for (int i = 0; i < size; i++) sum += counts[i];
    return sum;
}

static void exchanged(const int sendcounts[], MPI_Datatype sendtype, const int recvcounts[], MPI_Datatype recvtype,
                      MPI_Comm comm)
{
    const Members *all = members(comm);
    if (!begin_collective("alltoallv", all)) return;
    number(bytes(sum_of(sendcounts, all->size), sendtype));
    counted(sendcounts, 0, bytes(1, sendtype), all->size);
    number(bytes(sum_of(recvcounts, all->size), recvtype));
    counted(recvcounts, 0, bytes(1, recvtype), all->size);
    text("\n");
}

static void reduced_and_scattered(const int counts[], int count, MPI_Datatype datatype, MPI_Comm comm)
{
    if (!begin_collective("reducescatter", members(comm))) return;
    counted(counts, count, bytes(1, datatype), members(comm)->size);
    number(0);
    text("\n");
}

static void one_sided(const char *name, int64_t size, int target, MPI_Win win)
{
    if (target == MPI_PROC_NULL) return;
    begin_line(name);
    number(sharing(win)->ranks[target]);
    number(size);
    text("\n");
}

/* Writes the creation of a window: the library's work, and a barrier. */
static void window(MPI_Win win, MPI_Comm comm)
{
    const Members *all = add(&windows, (uintptr_t)win, comm);
    if (all->size > 1) {
        begin_line("window");
        text("\n");
    }
    meet(all);
}

static void closed(MPI_Win win)
{
    meet(sharing(win));
    remove_entry(&windows, (uintptr_t)win);
}

static void fenced(MPI_Win win) { meet(sharing(win)); }

/* Writes the completion of all transfers to a target, or to all (NULL); transfers to itself complete at once. */
static void flushed(MPI_Win win, const int *target)
{
    const Members *all = sharing(win);
    if (target ? *target < 0 || *target == all->rank : all->size == 1) return;
    begin_line("flush");
    for (int rank = 0; rank < all->size; rank++)
        if (rank != all->rank && (!target || rank == *target)) number(all->ranks[rank]);
    text("\n");
}
