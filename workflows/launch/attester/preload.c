/* Preloaded into the ranks of a run: calls attest.c when the program has initialised MPI, once, and does nothing else.
 *
 * It is bound to no MPI library, so that a program without one (the shell script that starts a solver) gets none. The
 * library is the one that the caller of MPI_Init is bound to. Where attest.c was built for another one, nothing is
 * attested and the program runs as it would have.
 *
 * Environment: NODEWORTH_ATTESTER  attest.c, built; its other variables are described there
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

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

static void attest(void *caller)
{
    const char *attester = getenv("NODEWORTH_ATTESTER");
    void *library = bound_to(caller), *initialise = library ? dlsym(library, "PMPI_Init") : NULL;
    Dl_info about;
    if (!attester || !initialise || !dladdr(initialise, &about)) return;
    void *mpi = dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL); /* attest.c takes its functions */
    void *own = mpi ? dlopen(attester, RTLD_NOW) : NULL; /* refused where a function is missing */
    if (!own || !dlsym(own, "for_open_mpi") != !dlsym(mpi, "ompi_mpi_comm_world")) return;
    void (*run)(void *) = (void (*)(void *))dlsym(own, "attest");
    if (run) run(mpi);
}

#define WRAP(type, name, parameters, arguments, failed)                                                                \
    type name parameters                                                                                               \
    {                                                                                                                  \
        void *caller = __builtin_return_address(0);                                                                    \
        type(*next) parameters = (type(*) parameters)following(#name, caller);                                         \
        depth++;                                                                                                       \
        CALL_##type(next arguments);                                                                                   \
        if (--depth == 0 && !(failed)) attest(caller);                                                                 \
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
