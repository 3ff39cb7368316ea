/* A program whose threads delay each other, and measure that themselves.
 *
 * On one CPU: `control` wakes every 10 ms and is delayed by `logger`, which woke 200 us before and spins for 700 us; workers
 * spin and sleep. Later `low` holds a lock while a thread of another program preempts it, and `high` waits for that lock. Each
 * thread prints its name, its number, and the kernel's account of it: executed, waited, number of waits. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long start;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void spin(long long ns) {
    long long end = now() + ns;
    while (now() < end) {}
}

static void sleep_until(long long ns) {
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
}

static void begin(const char *name, int priority) {
    struct sched_param param = {priority};
    prctl(PR_SET_NAME, name);
    if (priority > 0 && sched_setscheduler(0, SCHED_FIFO, &param)) exit(2);
}

/* The longest delay that the thread saw itself, in ns, and how many were over 50 us. */
static void report(long long longest, int late) {
    char path[64], account[128] = "", name[17] = "";
    pid_t tid = syscall(SYS_gettid);
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", tid);
    FILE *file = fopen(path, "r");
    if (!file || !fgets(account, sizeof account, file)) exit(3);
    fclose(file);
    prctl(PR_GET_NAME, name);
    printf("%s %d %lld %d %s", name, tid, longest, late, account);
    fflush(stdout);
}

static void *logger(void *unused) {
    begin("logger", 20);
    for (int i = 0; i < 60; i++) {
        sleep_until(start + i * 10000000LL - 200000);
        spin(700000);
    }
    report(0, 0);
    return unused;
}

static void *control(void *unused) {
    long long longest = 0;
    int late = 0;
    begin("control", 10);
    for (int i = 0; i < 60; i++) {
        long long due = start + i * 10000000LL;
        sleep_until(due);
        long long delay = now() - due;
        if (delay > longest) longest = delay;
        late += delay > 50000;
        spin(100000);
    }
    report(longest, late);
    return unused;
}

static void *worker(void *number) {
    char name[16];
    snprintf(name, sizeof name, "worker-%ld", (long)number);
    begin(name, 0);
    for (int i = 0; i < 20; i++) {
        spin(1000000);
        usleep(1000);
    }
    report(0, 0);
    return 0;
}

static void *low(void *unused) {
    begin("low", 1);
    for (int i = 0; i < 20; i++) {
        sleep_until(start + 700000000LL + i * 20000000LL);
        pthread_mutex_lock(&lock);
        spin(1000000); /* meanwhile the hog preempts it */
        pthread_mutex_unlock(&lock);
    }
    report(0, 0);
    return unused;
}

static void *high(void *unused) {
    long long longest = 0;
    int late = 0;
    begin("high", 30);
    for (int i = 0; i < 20; i++) {
        sleep_until(start + 700000000LL + i * 20000000LL + 300000);
        long long before = now();
        pthread_mutex_lock(&lock);
        long long delay = now() - before;
        if (delay > longest) longest = delay;
        late += delay > 2000000;
        pthread_mutex_unlock(&lock);
    }
    report(longest, late);
    return unused;
}

/* Another program: preempts `low` for 3 ms of each 20 ms. */
static void hog(void) {
    begin("hog", 15);
    for (int i = 0; i < 20; i++) {
        sleep_until(start + 700000000LL + i * 20000000LL + 600000);
        spin(3000000);
    }
    exit(0);
}

/* `threads 0` prints the time, `threads START` is the program, and `threads hog START` the other program. */
int main(int count, char **arguments) {
    void *(*threads[])(void *) = {logger, control, low, high, worker, worker, worker};
    pthread_t running[7];
    start = atoll(arguments[count - 1]);
    if (count == 3) hog();
    if (start == 0) return printf("%lld\n", now()) < 0;
    for (long i = 0; i < 7; i++) pthread_create(&running[i], 0, threads[i], (void *)(i - 4));
    for (int i = 0; i < 7; i++) pthread_join(running[i], 0);
    report(0, 0);
    return 0;
}
