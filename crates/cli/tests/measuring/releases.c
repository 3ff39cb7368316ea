/* Threads that sleep on timers and print how late they were: releases.
 *   releases run                    prints for each release: name, programmed time in ns, the time after it, the counter before and after
 *                                   that time was read
 *   releases hog PRIORITY FILE      spins now and then for three seconds; writes for each piece of a spin that nothing interrupts:
 *                                   the number of the spin, and the counter before and after it
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { MS = 1000000, SPINS = 150, PIECES = 50, GAP = 5000 };

static uint64_t now(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000ull * MS + at.tv_nsec;
}

static struct timespec spec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = ns / (1000ull * MS), .tv_nsec = ns % (1000ull * MS) };
}

static void real_time(int priority)
{
	struct sched_param wanted = { .sched_priority = priority };
	if (priority && sched_setscheduler(0, SCHED_FIFO, &wanted))
		exit(1);
}

struct series {
	const char *name;
	uint64_t period;
	int priority, number;
	uint64_t (*log)[4];
};

static void *sleeps(void *argument)
{
	struct series *series = argument;
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t next = (now() / MS + 20) * MS, passed;
	prctl(PR_SET_NAME, series->name);
	real_time(series->priority);
	if (!strcmp(series->name, "timerfd")) {
		struct itimerspec set = { spec(series->period), spec(next) };
		timerfd_settime(timer, TFD_TIMER_ABSTIME, &set, NULL);
	}
	for (int turn = 0; turn < series->number; turn++) {
		struct timespec until = spec(next);
		if (!strcmp(series->name, "poll")) {
			next = now() + series->period;
			poll(NULL, 0, series->period / MS);
		} else if (!strcmp(series->name, "timerfd")) {
			if (read(timer, &passed, sizeof passed) != sizeof passed)
				exit(1);
		} else {
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		}
		uint64_t before = __rdtsc(), at = now(), after = __rdtsc();
		series->log[turn][0] = next;
		series->log[turn][1] = at;
		series->log[turn][2] = before;
		series->log[turn][3] = after;
		if (!strcmp(series->name, "timerfd"))
			next += passed * series->period;
		while (next <= at && strcmp(series->name, "timerfd"))
			next += series->period;
	}
	return NULL;
}

static int run(void)
{
	struct series all[] = {
		{ "nanosleep", MS, 50, 1500 },
		{ "ordinary", 2 * MS, 0, 600 },
		{ "timerfd", 3 * MS / 2, 40, 900 },
		{ "poll", 3 * MS, 0, 400 },
	};
	pthread_t threads[4];
	mlockall(MCL_CURRENT | MCL_FUTURE);
	for (int i = 0; i < 4; i++) {
		all[i].log = malloc(all[i].number * sizeof *all[i].log);
		memset(all[i].log, 1, all[i].number * sizeof *all[i].log);
		pthread_create(&threads[i], NULL, sleeps, &all[i]);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 4; i++)
		for (int turn = 0; turn < all[i].number; turn++)
			printf("%s %lu %lu %lu %lu\n", all[i].name, all[i].log[turn][0], all[i].log[turn][1],
			       all[i].log[turn][2], all[i].log[turn][3]);
	return 0;
}

static int hog(int priority, const char *file)
{
	static uint64_t pieces[SPINS * PIECES][3];
	int number = 0;
	prctl(PR_SET_NAME, "hog");
	real_time(priority);
	for (int turn = 0; turn < SPINS; turn++) {
		struct timespec pause = spec(20 * MS + turn * 7919 % MS);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		uint64_t end = now() + 400000, last = __rdtsc(), from = last, counter;
		for (int over = 0; !over; last = counter) {
			over = now() >= end;
			counter = __rdtsc();
			if (!over && counter - last <= GAP)
				continue;
			if (number == SPINS * PIECES)
				exit(1);
			pieces[number][0] = turn;
			pieces[number][1] = from;
			pieces[number++][2] = last;
			from = counter;
		}
	}
	FILE *out = fopen(file, "w");
	for (int i = 0; out && i < number; i++)
		fprintf(out, "%lu %lu %lu\n", pieces[i][0], pieces[i][1], pieces[i][2]);
	return !out || fclose(out);
}

int main(int count, char **words)
{
	return count > 3 ? hog(atoi(words[2]), words[3]) : run();
}
