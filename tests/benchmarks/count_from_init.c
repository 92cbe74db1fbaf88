/* Preloaded: callgrind counts (--instr-atstart=no) from MPI_Init on, so that loading libraries takes no time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <valgrind/callgrind.h>

int MPI_Init(int *argc, char ***argv)
{
  CALLGRIND_START_INSTRUMENTATION;
  return ((int (*)(int *, char ***))dlsym(RTLD_NEXT, "MPI_Init"))(argc, argv);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
  CALLGRIND_START_INSTRUMENTATION;
  return ((int (*)(int *, char ***, int, int *))dlsym(RTLD_NEXT, "MPI_Init_thread"))(argc, argv, required, provided);
}
