/* Threads that others wake, who print when: times are readings of the counter.
 *   wakers run FIFO FILE     prints for each waking: name of the woken thread, counter before and after the waking call (0 for those by
 *                            an outsider), counter after it was woken
 *   wakers outsider FIFO FILE    another program that wakes one of these threads, and writes the counter before and after each call
 *   wakers hog PRIORITY FILE     spins now and then, and writes the counter before and after each spin
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { TURNS = 300, SPINS = 60, WAYS = 4 };

static void pause_us(long us)
{
	struct timespec time = { .tv_nsec = us * 1000 };
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static void real_time(int priority)
{
	struct sched_param wanted = { .sched_priority = priority };
	if (sched_setscheduler(0, SCHED_FIFO, &wanted))
		exit(1);
}

struct way {
	const char *name;
	int ends[2];
	atomic_int value, done;
	pthread_t thread;
	uint64_t log[TURNS][3];
};

static struct way ways[WAYS + 1] = { { "pipe" }, { "futex" }, { "eventfd" }, { "signal" }, { "fifo" } };

static void *sleeps(void *argument)
{
	struct way *way = argument;
	uint64_t value;
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	prctl(PR_SET_NAME, way->name);
	real_time(50);
	for (int turn = 0; turn < TURNS; turn++) {
		if (!strcmp(way->name, "futex")) {
			while (atomic_load(&way->value) == turn)
				syscall(SYS_futex, &way->value, FUTEX_WAIT, turn, NULL, NULL, 0);
		} else if (!strcmp(way->name, "signal")) {
			sigwaitinfo(&signals, NULL);
		} else {
			long size = strcmp(way->name, "eventfd") ? 1 : 8;
			if (read(way->ends[0], &value, size) != size)
				exit(1);
		}
		way->log[turn][2] = __rdtsc();
		atomic_store(&way->done, turn + 1);
	}
	return NULL;
}

static void wake(struct way *way, int turn)
{
	uint64_t one = 1;
	if (!strcmp(way->name, "futex")) {
		atomic_store(&way->value, turn + 1);
		syscall(SYS_futex, &way->value, FUTEX_WAKE, 1, NULL, NULL, 0);
	} else if (!strcmp(way->name, "signal")) {
		pthread_kill(way->thread, SIGUSR1);
	} else {
		long size = strcmp(way->name, "eventfd") ? 1 : 8;
		if (write(way->ends[1], &one, size) != size)
			exit(1);
	}
}

static int run(const char *fifo)
{
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	mlockall(MCL_CURRENT | MCL_FUTURE);
	if (pipe(ways[0].ends) || (ways[4].ends[0] = open(fifo, O_RDONLY)) < 0)
		return 1;
	ways[2].ends[0] = ways[2].ends[1] = eventfd(0, 0);
	for (int i = 0; i <= WAYS; i++)
		pthread_create(&ways[i].thread, NULL, sleeps, &ways[i]);
	prctl(PR_SET_NAME, "waker");
	real_time(40);
	for (int turn = 0; turn < TURNS; turn++) {
		for (int i = 0; i < WAYS; i++) {
			pause_us(300);
			ways[i].log[turn][0] = __rdtsc();
			wake(&ways[i], turn);
			ways[i].log[turn][1] = __rdtsc();
			while (atomic_load(&ways[i].done) <= turn)
				pause_us(50);
		}
	}
	for (int i = 0; i <= WAYS; i++)
		pthread_join(ways[i].thread, NULL);
	for (int i = 0; i <= WAYS; i++)
		for (int turn = 0; turn < TURNS; turn++)
			printf("%s %lu %lu %lu\n", ways[i].name, ways[i].log[turn][0], ways[i].log[turn][1],
			       ways[i].log[turn][2]);
	return 0;
}

static int store(const char *file, uint64_t (*log)[2], int number)
{
	FILE *out = fopen(file, "w");
	for (int turn = 0; out && turn < number; turn++)
		fprintf(out, "%lu %lu\n", log[turn][0], log[turn][1]);
	return !out || fclose(out);
}

static int outsider(const char *fifo, const char *file)
{
	static uint64_t log[TURNS][2];
	int end = open(fifo, O_WRONLY);
	prctl(PR_SET_NAME, "outsider");
	real_time(40);
	pause_us(50000);
	for (int turn = 0; turn < TURNS; turn++) {
		pause_us(1500);
		log[turn][0] = __rdtsc();
		if (write(end, "x", 1) != 1)
			return 1;
		log[turn][1] = __rdtsc();
	}
	return store(file, log, TURNS);
}

static int hog(int priority, const char *file)
{
	static uint64_t log[SPINS][2];
	struct timespec from, at;
	prctl(PR_SET_NAME, "hog");
	real_time(priority);
	for (int turn = 0; turn < SPINS; turn++) {
		pause_us(9000 + turn * 7919 % 1000);
		clock_gettime(CLOCK_MONOTONIC, &from);
		log[turn][0] = __rdtsc();
		do
			clock_gettime(CLOCK_MONOTONIC, &at);
		while ((at.tv_sec - from.tv_sec) * 1000000000l + at.tv_nsec - from.tv_nsec < 400000);
		log[turn][1] = __rdtsc();
	}
	return store(file, log, SPINS);
}

int main(int count, char **words)
{
	if (count < 4)
		return 2;
	if (!strcmp(words[1], "run"))
		return run(words[2]);
	return strcmp(words[1], "hog") ? outsider(words[2], words[3]) : hog(atoi(words[2]), words[3]);
}
