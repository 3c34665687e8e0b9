/*
 * Runs a test case of will-it-scale as it stands: one task or several, each of which counts its iterations for
 * ever.
 *
 * The tasks are threads of a process of their own, stopped but for the time of an epoch. That is over when they
 * have done as many iterations as were asked for of each, or a few more: the time is that of those that they did,
 * in proportion.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tenbin.h"

extern char *testcase_description;
extern void testcase_prepare(unsigned long tasks) __attribute__((weak));
extern void *testcase(unsigned long long *iterations, unsigned long number);

extern int tenbin_threads, tenbin_cpus[];

uint64_t tenbin_elapsed(void);
void new_task(void *(*function)(void *), void *argument);

/* The longest wait before it is looked how far the task has come, and the shortest. */
#define LONGEST 1000000
#define SHORTEST 20000

/* From the count of one task to that of the next, in counts: two lines of the cache, as in their main.c. */
#define APART 16

static volatile unsigned long long *iterations;
static pid_t task;
/* Nanoseconds that the last epoch took for what was asked, and that an iteration of all tasks took. */
static uint64_t elapsed;
static double each;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* A second task of a test case. It dies with the first, as that does with this process. */
void new_task(void *(*function)(void *), void *argument)
{
	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	function(argument);
	_exit(0);
}

/* Waits until the task stands still, and ends where it has ended. */
static void await(void)
{
	int status;

	if (waitpid(task, &status, WUNTRACED) == task && WIFSTOPPED(status))
		return;
	if (WIFSIGNALED(status))
		fprintf(stderr, "the task was ended by signal %d\n", WTERMSIG(status));
	else
		fprintf(stderr, "the task ended with status %d\n", WEXITSTATUS(status));
	exit(1);
}

static void *run_task(void *argument)
{
	unsigned long number = (unsigned long)argument;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(tenbin_cpus[number], &set);
	if (tenbin_threads > 1)
		sched_setaffinity(0, sizeof(set), &set);
	testcase((unsigned long long *)iterations + APART * number, number);
	return NULL;
}

/* Iterations of all tasks so far. */
static unsigned long long all_iterations(void)
{
	unsigned long long all = 0;

	for (int number = 0; number < tenbin_threads; number++)
		all += iterations[APART * number];
	return all;
}

void *tenbin_setup(void)
{
	iterations = mmap(NULL, tenbin_threads * APART * sizeof(*iterations), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (iterations == MAP_FAILED)
		exit(1);
	if (testcase_prepare)
		testcase_prepare(tenbin_threads);
	task = fork();
	if (!task) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		raise(SIGSTOP);
		for (unsigned long number = 1; number < (unsigned long)tenbin_threads; number++) {
			pthread_t id;

			if (pthread_create(&id, NULL, run_task, (void *)number))
				_exit(1);
		}
		run_task(NULL);
		_exit(0);
	}
	if (task < 0)
		exit(1);
	await();
	return NULL;
}

uint64_t tenbin_run(void *state, uint64_t n)
{
	unsigned long long before = all_iterations(), wanted = n * tenbin_threads, done;
	uint64_t start = now(), all;

	(void)state;
	kill(task, SIGCONT);
	while ((done = all_iterations() - before) < wanted) {
		double left = each * (double)(wanted - done);
		struct timespec wait = { 0, left > LONGEST ? LONGEST : left < SHORTEST ? SHORTEST : (long)left };

		nanosleep(&wait, NULL);
		if (waitpid(task, NULL, WNOHANG) == task) {
			fprintf(stderr, "the task ended after %llu iterations\n", all_iterations());
			exit(1);
		}
	}
	kill(task, SIGSTOP);
	await();
	all = now() - start;
	done = all_iterations() - before;
	each = (double)all / (double)done;
	elapsed = (uint64_t)(each * (double)wanted);
	return 0;
}

uint64_t tenbin_elapsed(void)
{
	return elapsed;
}
