/* Two threads: one wakes the other at each time of a grid, and each wake-up is timed by the kernel's clock.
   wakes CALL CPU WAKER_CPU INTERVAL_US NUMBER PRIORITY prints the median in ns from before the call to the woken thread. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int ends[2], event, kind, number;
static _Atomic uint32_t word;
static _Atomic long asleep, called_ns;
static long *took_ns, interval_ns;

static long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void place(int cpu, int priority) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    struct sched_param how = {.sched_priority = priority};
    if (sched_setaffinity(0, sizeof one, &one) || sched_setscheduler(0, SCHED_FIFO, &how)) exit(3);
}

static int cpus[2], priority;

static void *sleeper(void *none) {
    place(cpus[0], priority);
    char bytes[8];
    for (int i = 0; i < number; i++) {
        uint32_t value = word;
        asleep = i + 1;
        if (kind == 'f') syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
        else if (read(kind == 'p' ? ends[0] : event, bytes, kind == 'p' ? 1 : 8) < 0) exit(4);
        long now = now_ns();
        took_ns[i] = now - called_ns;
    }
    return none;
}

static void *waker(void *none) {
    place(cpus[1], priority - 1);
    uint64_t one = 1;
    long due = now_ns();
    for (int i = 0; i < number; i++) {
        do {
            due += interval_ns;
            struct timespec until = {due / 1000000000L, due % 1000000000L};
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        } while (asleep <= i);
        called_ns = now_ns();
        if (kind == 'f') { word++; syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0); }
        else if (write(kind == 'p' ? ends[1] : event, &one, kind == 'p' ? 1 : 8) < 0) exit(5);
    }
    return none;
}

static int ascending(const void *a, const void *b) {
    return (*(long *)a > *(long *)b) - (*(long *)a < *(long *)b);
}

int main(int argc, char **argv) {
    if (argc < 7) return 2;
    kind = argv[1][0], cpus[0] = atoi(argv[2]), cpus[1] = atoi(argv[3]);
    interval_ns = atol(argv[4]) * 1000, number = atoi(argv[5]), priority = atoi(argv[6]);
    took_ns = calloc(number, sizeof *took_ns);
    event = eventfd(0, 0);
    if (pipe(ends) || event < 0) return 6;
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, sleeper, NULL);
    pthread_create(&threads[1], NULL, waker, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    qsort(took_ns, number, sizeof *took_ns, ascending);
    printf("%ld\n", took_ns[number / 2]);
    return 0;
}
