/* Preloaded into the ranks of a run. When the program has initialised MPI, this library writes how many processes its
 * MPI_COMM_WORLD has, calls attest.c once.
 *
 * It is bound to no MPI library, so that a program without one (the shell script that starts a solver) gets none. The
 * library is the one that the caller of MPI_Init is bound to. Where attest.c was built for another one, nothing is
 * attested and the program runs as it would have.
 *
 * Environment: NODEWORTH_WORLD     file to which rank 0 of MPI_COMM_WORLD appends a line: its size, and the MPI library
 *              NODEWORTH_ATTESTER  attest.c, built; its other variables are described there
 *              MPI4PY_RC_FINALIZE  0 if a Python rank ends without MPI_Finalize
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MPICH_COMM_WORLD 0x44000000 /* MPI_COMM_WORLD in mpi.h of MPICH and of all libraries with its binary interface */
#define HYDRA_MICROSECONDS 50000    /* for Hydra to read the end of a connection, also on a busy node */
#define LONGEST_VERSION 8192        /* MPI_MAX_LIBRARY_VERSION_STRING of MPICH; it is 256 in Open MPI */

typedef void Function(void);

static int depth; /* initialising in Fortran may call what initialises in C */

static void *bound_to(void *caller)
{
    struct link_map *map;
    Dl_info about;
    if (!dladdr1(caller, &about, (void **)&map, RTLD_DL_LINKMAP)) return NULL;
    return dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD); /* looks in what that one was linked with, too */
}

/* The next one of that name: another preloaded library's, or the MPI library's where that is loaded for one module
 * alone (as Python loads it). */
static Function *following(const char *name, void *caller)
{
    void *found = dlsym(RTLD_NEXT, name), *library = found ? NULL : bound_to(caller);
    if (library) found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "nodeworth: no MPI library has %s\n", name);
        abort();
    }
    return (Function *)found;
}

/* MPI_COMM_WORLD of Open MPI, a pointer; the linker moves what it points to into a program that names it. */
static void *open_mpi_world(void *mpi)
{
    void *moved = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world"), *in_library = dlsym(mpi, "ompi_mpi_comm_world");
    return in_library && moved ? moved : in_library;
}

/* Rank or size in MPI_COMM_WORLD. */
static int of_world(void *mpi, const char *function)
{
    void *call = dlsym(mpi, function), *open_mpi = open_mpi_world(mpi);
    int value = -1;
    if (open_mpi) ((int (*)(void *, int *))call)(open_mpi, &value);
    else ((int (*)(int, int *))call)(MPICH_COMM_WORLD, &value);
    return value;
}

static void write_world(void *mpi)
{
    const char *path = getenv("NODEWORTH_WORLD");
    char version[LONGEST_VERSION] = "";
    int length;
    int (*get_version)(char *, int *) = (int (*)(char *, int *))dlsym(mpi, "PMPI_Get_library_version");
    if (!path || !get_version) return;
    get_version(version, &length);
    bool like_mpich = strstr(version, "MPICH") || strstr(version, "MVAPICH") || strstr(version, "Intel(R) MPI");
    if (!open_mpi_world(mpi) && !like_mpich) return;
    FILE *file = of_world(mpi, "PMPI_Comm_rank") ? NULL : fopen(path, "a");
    version[strcspn(version, "\n,")] = 0;
    if (file) fprintf(file, "%d %s\n", of_world(mpi, "PMPI_Comm_size"), version);
    if (file) fclose(file);
}

static bool ends_without_finalize; /* see workflows/launch/mpi/mpich.py */

static void initialised(void *caller)
{
    const char *finalize = getenv("MPI4PY_RC_FINALIZE");
    ends_without_finalize = finalize && !strcmp(finalize, "0");
    const char *attester = getenv("NODEWORTH_ATTESTER");
    void *library = bound_to(caller), *initialise = library ? dlsym(library, "PMPI_Init") : NULL;
    Dl_info about;
    if (!initialise || !dladdr(initialise, &about)) return;
    void *mpi = dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!mpi) return;
    write_world(mpi);
    if (!attester) return;
    mpi = dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL); /* attest.c takes its functions */
    void *own = dlopen(attester, RTLD_NOW); /* refused where a function is missing */
    if (!own || !dlsym(own, "for_open_mpi") != !dlsym(mpi, "ompi_mpi_comm_world")) return;
    void (*run)(void *) = (void (*)(void *))dlsym(own, "attest");
    if (run) run(mpi);
}

/* Hydra reports exit status 1 for a rank without MPI_Finalize if it reaps the rank before it reads the end of the
 * rank's PMI connection. Close the connection first. */
__attribute__((destructor)) static void leave(void)
{
    const char *connection = getenv("PMI_FD");
    if (!ends_without_finalize || !connection) return;
    close(atoi(connection));
    usleep(HYDRA_MICROSECONDS);
}

#define WRAP(type, name, parameters, arguments, failed)                                                                \
    type name parameters                                                                                               \
    {                                                                                                                  \
        void *caller = __builtin_return_address(0);                                                                    \
        type(*next) parameters = (type(*) parameters)following(#name, caller);                                         \
        depth++;                                                                                                       \
        CALL_##type(next arguments);                                                                                   \
        if (--depth == 0 && !(failed)) initialised(caller);                                                            \
        RETURN_##type;                                                                                                 \
    }
#define CALL_int(call) int code = call
#define RETURN_int return code
#define CALL_void(call) call
#define RETURN_void return

WRAP(int, MPI_Init, (int *argc, char ***argv), (argc, argv), code)
WRAP(int, MPI_Init_thread, (int *argc, char ***argv, int level, int *given), (argc, argv, level, given), code)
WRAP(void, mpi_init_, (int *code), (code), *code)
WRAP(void, mpi_init_thread_, (int *level, int *given, int *code), (level, given, code), *code)
/* Fortran 2008 may leave the code out. */
WRAP(void, mpi_init_f08_, (int *code), (code), code && *code)
WRAP(void, mpi_init_thread_f08_, (int *level, int *given, int *code), (level, given, code), code && *code)
