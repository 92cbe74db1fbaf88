/* STREAM's triad as J. McCalpin describes it: arrays far larger than any cache, each of ten passes timed by the clock,
 * the best but the first one counts. Prints million bytes a second. Built with or without OpenMP. */
#include <stdio.h>
#include <sys/time.h>

#define SIZE 32000000 /* no power of two, at which the same places of all arrays would share lines of the cache */
#define TIMES 10

static double a[SIZE], b[SIZE], c[SIZE];

static double now(void)
{
    struct timeval time;
    gettimeofday(&time, NULL);
    return time.tv_sec + 1e-6 * time.tv_usec;
}

int main(void)
{
    double scalar = 3.0, best = 1e30;
#pragma omp parallel for
    for (long j = 0; j < SIZE; j++)
        a[j] = 1.0, b[j] = 2.0, c[j] = 0.5;
    for (int k = 0; k < TIMES; k++) {
        double begun = now();
#pragma omp parallel for
        for (long j = 0; j < SIZE; j++)
            a[j] = b[j] + scalar * c[j];
        double taken = now() - begun;
        if (k > 0 && taken < best)
            best = taken;
    }
    if (a[SIZE / 2] != 3.5)
        return 1;
    printf("%.6g\n", 3.0 * sizeof(double) * SIZE / best / 1e6);
    return 0;
}
