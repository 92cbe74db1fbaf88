/* Preloaded into ranks that compute with several threads: tells where each of them may run, as the kernel has it, and how
 * long it computed. It is told when MPI is finalized, while all threads are there, or when the rank itself ends.
 *
 * Environment: NODEWORTH_THREADS_FILE  file to write, a line a thread: seconds of CPU time, list of cores. Whoever is first
 *                                      writes it: the program, not the shell script that started it.
 *              NODEWORTH_RANK_PROCESS  process that the rank was started as
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Clock of the CPU time of a thread of this process: MAKE_THREAD_CPUCLOCK of the kernel's posix-timers.h. The kernel is
 * asked itself: a tracer takes clock_gettime for a call of the program. */
static double cpu_seconds(int thread)
{
    struct timespec time = {0, 0};
    syscall(SYS_clock_gettime, (clockid_t)(~(unsigned)thread << 3 | 6), &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void tell_thread(FILE *file, int thread)
{
    char path[64], line[4096], cores[2048];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
    FILE *status = fopen(path, "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "Cpus_allowed_list: %2047s", cores) == 1)
            fprintf(file, "%.6f %s\n", cpu_seconds(thread), cores);
    if (status) fclose(status);
}

static void tell(void)
{
    const char *path = getenv("NODEWORTH_THREADS_FILE");
    FILE *file = path ? fopen(path, "wx") : NULL;
    DIR *threads = file ? opendir("/proc/self/task") : NULL;
    for (struct dirent *entry; threads && (entry = readdir(threads));)
        if (atoi(entry->d_name)) tell_thread(file, atoi(entry->d_name));
    if (threads) closedir(threads);
    if (file) fclose(file);
}

__attribute__((destructor)) static void ended(void)
{
    const char *process = getenv("NODEWORTH_RANK_PROCESS");
    if (process && atoi(process) == getpid()) tell();
}

static void *following(const char *name, const char *library)
{
    void *found = dlsym(RTLD_NEXT, name), *own = found ? NULL : dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (own) found = dlsym(own, name);
    if (!found) abort();
    return found;
}

static const char *file_of(void *caller)
{
    Dl_info about;
    return dladdr(caller, &about) ? about.dli_fname : NULL;
}

int MPI_Finalize(void)
{
    tell();
    return ((int (*)(void))following("MPI_Finalize", file_of(__builtin_return_address(0))))();
}

#define FORTRAN(name)                                                                                                  \
    void name(int *code)                                                                                               \
    {                                                                                                                  \
        tell();                                                                                                        \
        ((void (*)(int *))following(#name, file_of(__builtin_return_address(0))))(code);                               \
    }
FORTRAN(mpi_finalize_)
FORTRAN(mpi_finalize_f08_)
