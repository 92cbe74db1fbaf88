/* How fast one core is, by two benchmarks that have been published of many processors. Prints a line each.
 *
 * linpack_100_Mflops: LINPACK of order 100 (J. Dongarra, "Performance of various computers using standard linear
 *   equations software", CS-89-85): LU decomposition with partial pivoting by columns, and one solution, counted as
 *   2/3 n^3 + 2 n^2 operations, in 64 bits. 160 kB: computing, out of the caches.
 * stream_triad_MBps: a[i] = b[i] + q c[i] (J. McCalpin, STREAM), 24 bytes a turn, in arrays of 256 MB: memory.
 *
 * Each is the best of many, by CPU time: other work on a machine only adds to it. Built with OpenMP, it prints the
 * triad of all its threads alone, by the clock.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N 100
#define LDA 201
#define TRIALS 2000
#define LENGTH 33554432
#define PASSES 10

#ifdef _OPENMP
#define CLOCK CLOCK_MONOTONIC
#else
#define CLOCK CLOCK_PROCESS_CPUTIME_ID
#endif

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static void axpy(int n, double factor, const double *restrict x, double *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] += factor * x[i];
}

/* Decompose a, given by columns, and solve a x = b; x replaces b. */
static void solve(double a[N][LDA], double *b)
{
    int pivots[N];
    for (int k = 0; k < N - 1; k++) {
        int pivot = k;
        for (int i = k + 1; i < N; i++)
            if (fabs(a[k][i]) > fabs(a[k][pivot]))
                pivot = i;
        pivots[k] = pivot;
        double of_pivot = a[k][pivot];
        a[k][pivot] = a[k][k];
        a[k][k] = of_pivot;
        for (int i = k + 1; i < N; i++)
            a[k][i] *= -1 / of_pivot;
        for (int j = k + 1; j < N; j++) {
            double factor = a[j][pivot];
            a[j][pivot] = a[j][k];
            a[j][k] = factor;
            axpy(N - k - 1, factor, &a[k][k + 1], &a[j][k + 1]);
        }
    }
    for (int k = 0; k < N - 1; k++) {
        double factor = b[pivots[k]];
        b[pivots[k]] = b[k];
        b[k] = factor;
        axpy(N - k - 1, factor, &a[k][k + 1], &b[k + 1]);
    }
    for (int k = N - 1; k >= 0; k--) {
        b[k] /= a[k][k];
        axpy(k, -b[k], a[k], b);
    }
}

/* Million operations a second; the solution is all ones. */
static double linpack(void)
{
    static double given[N][LDA], a[N][LDA];
    double right[N] = {0}, b[N], best = 1e30;
    int drawn = 1325;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            drawn = 3125 * drawn % 65536;
            given[j][i] = (drawn - 32768.0) / 16384.0;
            right[i] += given[j][i];
        }
    for (int trial = 0; trial < TRIALS; trial++) {
        memcpy(a, given, sizeof a);
        memcpy(b, right, sizeof b);
        double begun = seconds();
        solve(a, b);
        double taken = seconds() - begun;
        best = taken < best ? taken : best;
        for (int i = 0; i < N; i++)
            if (!(fabs(b[i] - 1) < 1e-8)) {
                fprintf(stderr, "LINPACK of order %d is wrong: x[%d] = %g\n", N, i, b[i]);
                exit(1);
            }
    }
    return (2.0 / 3 * N * N * N + 2.0 * N * N) / best / 1e6;
}

/* Million bytes a second. */
static double triad(void)
{
    double *a = malloc(LENGTH * sizeof *a), *b = malloc(LENGTH * sizeof *b), *c = malloc(LENGTH * sizeof *c);
    double best = 1e30;
    if (!a || !b || !c) {
        fprintf(stderr, "no memory for three arrays of %zu MB\n", LENGTH * sizeof *a / 1000000);
        exit(1);
    }
#pragma omp parallel for // each thread has its memory near it
    for (size_t i = 0; i < LENGTH; i++)
        a[i] = 0, b[i] = 2, c[i] = i;
    for (int pass = 0; pass < PASSES; pass++) {
        double begun = seconds();
#pragma omp parallel for
        for (size_t i = 0; i < LENGTH; i++)
            a[i] = b[i] + pass * c[i];
        double taken = seconds() - begun;
        best = taken < best ? taken : best;
        for (size_t i = 0; i < LENGTH; i += 4097)
            if (a[i] != 2 + (double)pass * i) {
                fprintf(stderr, "STREAM's triad is wrong: a[%zu] = %g\n", i, a[i]);
                exit(1);
            }
    }
    return 24.0 * LENGTH / best / 1e6;
}

int main(void)
{
#ifndef _OPENMP
    printf("linpack_100_Mflops %.6g\n", linpack());
#endif
    printf("stream_triad_MBps %.6g\n", triad());
    return 0;
}
