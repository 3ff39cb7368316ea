/* Marks its iterations and times them itself: iterations MARKS NUMBER WORK
   MARKS: function (it enters `marked`), line (it writes to ANECHOIC_MARK_FD), trace (it writes to the trace_marker of the kernel)
   WORK: same, or random (three times as long in every second iteration at random), or none
   Prints a line for each iteration: its length in ns. Two threads do the same if THREADS is set. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int descriptor = -1;
static long units, number;
static const char *work;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

__attribute__((noinline)) void marked(void) { __asm__ volatile("nop"); }

static void mark(long iteration) {
    if (descriptor < 0) {
        marked();
        return;
    }
    char line[64];
    int length = snprintf(line, sizeof line, "iteration %ld\n", iteration);
    if (write(descriptor, line, length) != length) {
        perror("a mark");
        exit(9);
    }
}

static void do_work(long count) {
    for (volatile long i = 0; i < count; i++) {
    }
}

static void *iterate(void *seed) {
    unsigned random = (unsigned)(uintptr_t)seed;
    int64_t *begun = calloc(number + 1, sizeof *begun);
    for (long i = 0; i <= number; i++) {
        begun[i] = now();
        mark(i);
        if (work[0] == 'n') continue;
        random = random * 1103515245 + 12345;
        do_work(work[0] == 'r' && (random >> 16) % 2 ? 3 * units : units);
    }
    flockfile(stdout);
    for (long i = 0; i < number; i++) printf("%lld\n", (long long)(begun[i + 1] - begun[i]));
    funlockfile(stdout);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    const char *inherited = getenv("ANECHOIC_MARK_FD");
    if (argv[1][0] == 'l') descriptor = inherited ? atoi(inherited) : -2;
    if (argv[1][0] == 't') descriptor = open("/sys/kernel/tracing/trace_marker", O_WRONLY);
    if (descriptor < 0 && argv[1][0] != 'f') return 3;
    number = atol(argv[2]);
    work = argv[3];
    int64_t best = INT64_MAX; /* the shortest of ten is the least disturbed */
    for (int i = 0; i < 10; i++) {
        int64_t begun = now();
        do_work(1000000);
        int64_t took = now() - begun;
        if (took < best) best = took;
    }
    units = 1000000.0 * 1e6 / best;
    pthread_t other;
    int threads = getenv("THREADS") != NULL;
    if (threads) pthread_create(&other, NULL, iterate, (void *)7);
    iterate((void *)3);
    if (threads) pthread_join(other, NULL);
    return 0;
}
