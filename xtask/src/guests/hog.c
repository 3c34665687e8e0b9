// Keeps a CPU for so many milliseconds, with a real-time priority.
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <time.h>

static long milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int count, char **words)
{
	struct sched_param priority = { .sched_priority = 50 };
	long end = milliseconds() + atoi(words[2]);
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(atoi(words[1]), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) || sched_setscheduler(0, SCHED_FIFO, &priority))
		return 1;
	while (milliseconds() < end)
		;
	return 0;
}
