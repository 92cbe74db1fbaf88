/* Files that ranks share (MPI-IO). What is read comes in; what is written is compared, and alone it is not written. A
 * replay has no disks: where all ranks that share a file meet, they do so there, and reading and writing take no time.
 *
 * Alone, a handle is the number that it was in the run with all ranks, and only the tracer sees it.
 */

static Known files;

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
    remove_known(&files, (uintptr_t)file);
}

/* What a rank writes at a place of the file. */
static void writes_at(int64_t offset, const void *buf, int count, MPI_Datatype datatype)
{
    sends_to(offset >> 32, (int)offset, buf, count, datatype);
}

/* Reading or writing that does not wait: a message of nobody. */
static void begin_access(MPI_Request *request, char way, const void *buf, int count, MPI_Datatype datatype)
{
    post(request, way, false, buf, count, datatype, MPI_PROC_NULL, 0, MPI_COMM_SELF);
}
