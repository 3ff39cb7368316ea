/* Functions with a truth of their own, for the tests of --work. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

/* 512 multiplications that each need the one before, as in the tool's own kernel. */
uint64_t chain(void *workspace, uint64_t units) {
    uint64_t x = 3;
    while (units--) {
#if defined(__x86_64__)
        __asm__ volatile(".rept 512\n imul %0, %0\n .endr" : "+r"(x));
#else
        __asm__ volatile(".rept 512\n mul %0, %0, %0\n .endr" : "+r"(x));
#endif
    }
    return x;
}

/* Measures its own calls, and writes their starts and ends to a file at the end. */
#if defined(__x86_64__)
static uint64_t (*times)[2], calls;
enum { MOST = 4 << 20 };
int timed_prepare(void *workspace) {
    if (!times) times = calloc(MOST, sizeof *times);
    for (size_t i = 0; i < MOST; i += 256) ((volatile uint64_t *)times[i])[0] = 0;
    return times == NULL;
}
uint64_t timed(void *workspace, uint64_t units) {
    uint32_t aux;
    uint64_t begin = __builtin_ia32_rdtscp(&aux), value = chain(workspace, units);
    uint64_t end = __builtin_ia32_rdtscp(&aux);
    if (calls < MOST) times[calls][0] = begin, times[calls++][1] = end;
    return value;
}
__attribute__((destructor)) static void save(void) {
    const char *name = getenv("OWN_TIMES");
    FILE *file = times && name ? fopen(name, "w") : NULL;
    if (file) fwrite(times, sizeof *times, calls, file), fclose(file);
}
#endif

/* One system call for each unit. */
uint64_t rests(void *workspace, uint64_t units) {
    for (uint64_t i = 0; i < units; i++) nanosleep(&(struct timespec){0, 1000000}, NULL);
    return units;
}

/* Each unit touches a page that was never touched: 16 GiB of address space, of which few are used at a time. */
enum { PAGES = 1 << 22, PAGE = 4096 };
static uint64_t page;
static char *memory;
int touches_prepare(void *workspace) {
    if (memory) return 0;
    memory = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED || madvise(memory, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE);
}
uint64_t touches(void *workspace, uint64_t units) {
    for (uint64_t i = 0; i < units; i++, page++) {
        memory[page % PAGES * PAGE] = 1;
        if (page % 1024 == 1023) /* gives back the last 1,024, so that the next round touches new ones */
            madvise(memory + (page % PAGES - 1023) * PAGE, 1024 * PAGE, MADV_DONTNEED);
    }
    return units;
}

/* What does something at unit 1,000 after its second preparation, which is that of the loop. */
static int prepared;
static uint64_t done;
static int due(void) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 20000);
    return ++done >= 1000 && prepared > 1;
}
static uint64_t deep(uint64_t n) {
    volatile char room[4096];
    room[0] = (char)n;
    return n ? deep(n + 1) + (uint64_t)room[0] : 0;
}
#define AT_1000(NAME, WHAT)                                                                       \
    int NAME##_prepare(void *workspace) { return prepared++, done = 0, 0; }                       \
    uint64_t NAME(void *workspace, uint64_t units) {                                              \
        for (uint64_t i = 0; i < units; i++)                                                      \
            if (due()) { WHAT; }                                                                  \
        return units;                                                                             \
    }
static volatile int zero;
static int *volatile nowhere = (int *)8;
AT_1000(segv, *nowhere = 1)
AT_1000(stack, return deep(1))
#if defined(__aarch64__)
AT_1000(ill, __asm__ volatile(".inst 0"))
#else
AT_1000(ill, __builtin_trap())
#endif
AT_1000(bus, raise(SIGBUS))
AT_1000(trap, raise(SIGTRAP))
AT_1000(sys, raise(SIGSYS))
AT_1000(aborts, abort())
AT_1000(fpe, zero = 7000 / zero)
AT_1000(forever, for (;;) zero++)
AT_1000(lies, return units + 1)
int lies_check(uint64_t units, uint64_t value) { return value == units; }
/* Its check crashes, once. */
AT_1000(doubted, return units + 1)
int doubted_check(uint64_t units, uint64_t value) {
    static int seen;
    if (value != units && !__atomic_exchange_n(&seen, 1, __ATOMIC_RELAXED)) *nowhere = 1;
    return 1;
}

/* What cannot be measured. */
uint64_t at_once(void *workspace, uint64_t units) { return (uint64_t)*nowhere; }
uint64_t nothing(void *workspace, uint64_t units) { return 0; }
uint64_t refuses(void *workspace, uint64_t units) { return units; }
int refuses_prepare(void *workspace) { return 1; }
uint64_t too_much(void *workspace, uint64_t units) { return units; }
size_t too_much_bytes(void) { return ((size_t)64 << 30) + 1; }

/* What fails in the loop alone, after calibration: at its preparation, or at its first unit. */
static int again;
uint64_t refuses_later(void *workspace, uint64_t units) { return chain(workspace, units); }
int refuses_later_prepare(void *workspace) { return again++; }
uint64_t prepares_badly(void *workspace, uint64_t units) { return chain(workspace, units); }
int prepares_badly_prepare(void *workspace) { return again++ ? *nowhere = 1 : 0; }

/* Follows one cycle of pointers through all lines of 512 KiB, and measures itself if it is a program: the median call with
 * warm caches, after writing as many bytes as the second argument says, and after a call on another CPU. */
enum { BYTES = 512 << 10, LINES = BYTES / 64, CALLS = 301 };
size_t walk_bytes(void) { return BYTES; }
int walk_prepare(void *workspace) {
    char *lines = workspace;
    uint32_t *order = malloc(LINES * sizeof *order);
    uint64_t x = 88172645463325252ull;
    for (uint32_t i = 0; i < LINES; i++) order[i] = i;
    for (uint32_t i = LINES - 1; i > 0; i--) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        uint32_t j = x % (i + 1), other = order[i];
        order[i] = order[j], order[j] = other;
    }
    for (uint32_t i = 0; i < LINES; i++) *(char **)(lines + order[i] * 64) = lines + order[(i + 1) % LINES] * 64;
    free(order);
    return 0;
}
uint64_t walk(void *workspace, uint64_t units) {
    char *at = workspace;
    while (units--) for (int i = 0; i < LINES; i++) at = *(char *volatile *)at;
    return at - (char *)workspace;
}
#ifdef WALKER
static int ascending(const void *a, const void *b) { return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }
static void on(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set)) exit(1);
}
int main(int argc, char **argv) {
    int cpu = atoi(argv[1]), other = atoi(argv[3]);
    size_t much = strtoull(argv[2], NULL, 10);
    volatile char *memory = mmap(NULL, much, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    void *workspace = aligned_alloc(4096, BYTES);
    if (memory == MAP_FAILED || !workspace || walk_prepare(workspace)) return 1;
    for (int before = 0; before < 3; before++) {
        double ns[CALLS];
        for (int call = 0; call < CALLS; call++) {
            struct timespec begin, end;
            on(cpu), walk(workspace, 1);
            if (before == 1) for (size_t i = 0; i < much; i += 64) memory[i]++;
            if (before == 2) on(other);
            clock_gettime(CLOCK_MONOTONIC, &begin), walk(workspace, 1), clock_gettime(CLOCK_MONOTONIC, &end);
            ns[call] = (end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec);
        }
        qsort(ns, CALLS, sizeof *ns, ascending);
        printf("%.0f\n", ns[CALLS / 2]);
    }
    return 0;
}
#endif
