/* A program that knows when it executed: intervals SECONDS LEAST_NS [PERIOD_NS LENGTH_NS].

   It spins for SECONDS or until SIGTERM; with PERIOD_NS for LENGTH_NS after each multiple of that. Then it prints the intervals in which it executed without a
   gap of LEAST_NS: begin and end in ticks of the CPU's counter, and how often the kernel had taken its CPU from it until then
   (ru_nivcsw). */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#define MOST 400000
static struct { unsigned long long begin, end; long taken; } intervals[MOST];

static volatile sig_atomic_t ended;

static void finish(int number) {
    ended = number;
}

static unsigned long long ticks(void) {
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    unsigned long long value;
    __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(value));
    return value;
#endif
}

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long taken(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

int main(int count, char **word) {
    if (count < 3) return 64;
    signal(SIGTERM, finish);
    memset(intervals, 1, sizeof intervals); /* no page faults later */
    mlockall(MCL_CURRENT);
    long long begun = now();
    unsigned long long first = ticks(), last, at, end;
    while (now() - begun < 20000000) {}
    double per_ns = (double)(ticks() - first) / (now() - begun);
    unsigned long long least = atof(word[2]) * per_ns, stop = ticks() + atof(word[1]) * 1e9 * per_ns;
    long long period = count > 4 ? atoll(word[3]) : 0;
    int number = 0;
    while ((last = ticks()) < stop && !ended && number < MOST - 1) {
        end = stop;
        if (period) {
            long long due = (now() / period + 1) * period;
            struct timespec t = {due / 1000000000, due % 1000000000};
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
            last = ticks();
            end = last + atof(word[4]) * per_ns;
        }
        intervals[number].begin = last;
        for (; last < end && !ended && number < MOST - 1; last = at) {
            at = ticks();
            if (at - last < least) continue;
            intervals[number].end = last;
            intervals[number++].taken = taken();
            intervals[number].begin = at;
        }
        intervals[number].end = last;
        intervals[number++].taken = taken();
    }
    for (int i = 0; i < number; i++)
        printf("%llu %llu %ld\n", intervals[i].begin, intervals[i].end, intervals[i].taken);
    return 0;
}
