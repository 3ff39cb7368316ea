/* A program that says in which function it is: it executes `compute` for most of the time, and a thread of it sleeps in `doze`.
 * With a second argument it is the program that takes the CPU from it: it executes `burn` and sleeps in `rest`.
 * With a third it only starts short processes, each of which executes `brief`. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile long sum;

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void pass(long ns) {
    struct timespec t = {0, ns};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, 0);
    sum++; /* so that the call is none at its end */
}

__attribute__((noinline)) void compute(long rounds) {
    for (long i = 0; i < rounds; i++) sum += i;
}

__attribute__((noinline)) void work(long long end) {
    while (now() < end) compute(100000);
    sum++;
}

__attribute__((noinline)) void doze(long ns) {
    pass(ns);
    sum++;
}

__attribute__((noinline)) void rest(long ns) {
    pass(ns);
    sum++;
}

__attribute__((noinline)) void burn(long long end) {
    while (now() < end) sum++;
}

__attribute__((noinline)) void brief(long rounds) {
    for (long i = 0; i < rounds; i++) sum += i;
}

static void *dozer(void *end) {
    while (now() < *(long long *)end) doze(1000000);
    return 0;
}

int main(int count, char **words) {
    long long end = now() + atoi(words[1]) * 1000000LL;
    if (count == 3) {
        while (now() < end) {
            burn(now() + 5000000);
            rest(5000000);
        }
        return 0;
    }
    if (count == 4) {
        if (words[3][0] == 'c') {
            brief(4000000);
            return 0;
        }
        while (now() < end) {
            if (vfork() == 0) {
                execl(words[0], words[0], "0", "a", "child", (char *)0);
                _exit(1);
            }
            wait(0);
        }
        return 0;
    }
    pthread_t thread;
    pthread_create(&thread, 0, dozer, &end);
    work(end);
    pthread_join(thread, 0);
    return 0;
}
