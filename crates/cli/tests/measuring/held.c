/* A program that knows when it was held up: held SECONDS LEAST_US CODE [schedstat].

   It spins for SECONDS and returns CODE. It prints when it began, after a b, and each time at which it was held up for longer than LEAST_US: when that
   began, by CLOCK_REALTIME, and how long it took, in ns. With `schedstat` it prints twenty times a second, beginning with
   an s, the time and for how long the kernel counted it to run and to wait, all in ns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void print_schedstat(long long at) {
    long long ran, waited;
    FILE *file = fopen("/proc/self/schedstat", "r");
    if (file && fscanf(file, "%lld %lld", &ran, &waited) == 2) printf("s %lld %lld %lld\n", at, ran, waited);
    if (file) fclose(file);
}

int main(int words, char **word) {
    if (words < 4) return 64;
    int schedstat = words > 4 && !strcmp(word[4], "schedstat");
    long long least = atoll(word[2]) * 1000, before = now(CLOCK_MONOTONIC), at, printed = before;
    long long end = before + (long long)(atof(word[1]) * 1e9);
    long long real = now(CLOCK_REALTIME) - now(CLOCK_MONOTONIC);
    printf("b %lld\n", real + before);
    while ((at = now(CLOCK_MONOTONIC)) < end) {
        int prints = at - before > least;
        if (prints) {
            printf("%lld %lld\n", real + before, at - before);
            fflush(stdout);
        }
        if (schedstat && at - printed > 50000000) {
            print_schedstat(real + at);
            printed = at;
            prints = 1;
        }
        before = prints ? now(CLOCK_MONOTONIC) : at; /* no time but that of printing is unseen */
    }
    return atoi(word[3]);
}
