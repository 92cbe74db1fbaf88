/* Speed of one core by two benchmarks that are published for many processors. Prints one line per benchmark.
 *
 * linpack_100_Mflops: LINPACK of order 100 (J. Dongarra, "Performance of various computers using standard linear
 *   equations software", CS-89-85) in 64 bits: LU decomposition by columns with partial pivoting, and one solution.
 *   It counts as 2/3 n^3 + 2 n^2 operations. Its 160 kB stay in the caches.
 * stream_triad_MBps: a[i] = b[i] + q c[i] (J. McCalpin, STREAM), 24 bytes per element, in arrays of 256 MB: the
 *   bandwidth of memory.
 *
 * Each result is the best of many passes by CPU time, because other work on the machine only adds time. Built with
 * OpenMP, the program prints only the triad of all its threads, by wall time.
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

/* Decompose a, stored by columns, and solve a x = b; x replaces b. */
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

/* 10^6 operations per second. The elements of the solution are 1. */
static double linpack(void)
{
    static double matrix[N][LDA], a[N][LDA];
    double right[N] = {0}, b[N], best = 1e30;
    int drawn = 1325;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            drawn = 3125 * drawn % 65536;
            matrix[j][i] = (drawn - 32768.0) / 16384.0;
            right[i] += matrix[j][i];
        }
    for (int trial = 0; trial < TRIALS; trial++) {
        memcpy(a, matrix, sizeof a);
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

/* 10^6 bytes per second. */
static double triad(void)
{
    double *a = malloc(LENGTH * sizeof *a), *b = malloc(LENGTH * sizeof *b), *c = malloc(LENGTH * sizeof *c);
    double best = 1e30;
    if (!a || !b || !c) {
        fprintf(stderr, "no memory for three arrays of %zu MB\n", LENGTH * sizeof *a / 1000000);
        exit(1);
    }
#pragma omp parallel for // first touch: each thread gets local memory
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
