/* Files that ranks share (MPI-IO). Read data is logged; written data is compared. A rank that runs alone writes nothing.
 * A replay has no disks: collective file calls become barriers, and reading and writing take no time.
 *
 * When a rank runs alone, a file handle is the recorded number, which only the tracer uses.
 */

static Table files;

static void shared(MPI_File *file, MPI_Comm comm) { meet(add(&files, (uintptr_t)*file, comm)); }

static void meet_at(MPI_File file)
{
    const Members *all = find(&files, (uintptr_t)file);
    if (!all) fail("a file is used that it did not see opened");
    meet(all);
}

static void unshared(MPI_File file)
{
    meet_at(file);
    remove_entry(&files, (uintptr_t)file);
}

/* Logs the hash of data that a rank writes at an offset of the file. */
static void writes_at(int64_t offset, const void *buf, int count, MPI_Datatype datatype)
{
    sends_to(offset >> 32, (int)offset, buf, count, datatype);
}

/* Starts a nonblocking read or write, as a message without a partner. */
static void begin_access(MPI_Request *request, char way, const void *buf, int count, MPI_Datatype datatype)
{
    post(request, way, false, buf, count, datatype, MPI_PROC_NULL, 0, MPI_COMM_SELF);
}
