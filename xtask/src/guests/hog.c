// Keeps a CPU for so many milliseconds, with a real-time priority; or, of CPU `past`, has timers expire that many
// milliseconds after the time that they are set to, which nothing waited for.
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int past(long milliseconds)
{
	struct timespec now, moment = { .tv_nsec = 20000000 };

	for (int turn = 0; turn < 50; turn++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		now.tv_sec -= milliseconds / 1000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &now, NULL);
		nanosleep(&moment, NULL);
	}
	return 0;
}

int main(int count, char **words)
{
	struct sched_param priority = { .sched_priority = 50 };
	long end = milliseconds() + atoi(words[2]);
	cpu_set_t cpus;

	if (!strcmp(words[1], "past"))
		return past(atoi(words[2]));
	CPU_ZERO(&cpus);
	CPU_SET(atoi(words[1]), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) || sched_setscheduler(0, SCHED_FIFO, &priority))
		return 1;
	while (milliseconds() < end)
		;
	return 0;
}
