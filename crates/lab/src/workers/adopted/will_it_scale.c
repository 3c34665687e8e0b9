/*
 * Runs a test case of will-it-scale as it stands: one task, which counts its iterations for ever.
 *
 * The task is a process of its own, stopped but for the time of an epoch. That is over when it has done as
 * many iterations as were asked for, or a few more: the time is that of those that it did, in proportion.
 */
#define _GNU_SOURCE
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

uint64_t tenbin_elapsed(void);
void new_task(void *(*function)(void *), void *argument);

/* The longest wait before it is looked how far the task has come, and the shortest. */
#define LONGEST 1000000
#define SHORTEST 20000

static volatile unsigned long long *iterations;
static pid_t task;
/* Nanoseconds that the last epoch took for what was asked, and that an iteration took. */
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

void *tenbin_setup(void)
{
	iterations = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (iterations == MAP_FAILED)
		exit(1);
	if (testcase_prepare)
		testcase_prepare(1);
	task = fork();
	if (!task) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		raise(SIGSTOP);
		testcase((unsigned long long *)iterations, 0);
		_exit(0);
	}
	if (task < 0)
		exit(1);
	await();
	return NULL;
}

uint64_t tenbin_run(void *state, uint64_t n)
{
	unsigned long long before = *iterations, done;
	uint64_t start = now(), all;

	(void)state;
	kill(task, SIGCONT);
	while ((done = *iterations - before) < n) {
		double left = each * (double)(n - done);
		struct timespec wait = { 0, left > LONGEST ? LONGEST : left < SHORTEST ? SHORTEST : (long)left };

		nanosleep(&wait, NULL);
		if (waitpid(task, NULL, WNOHANG) == task) {
			fprintf(stderr, "the task ended after %llu iterations\n", *iterations);
			exit(1);
		}
	}
	kill(task, SIGSTOP);
	await();
	all = now() - start;
	done = *iterations - before;
	each = (double)all / (double)done;
	elapsed = (uint64_t)(each * (double)n);
	return 0;
}

uint64_t tenbin_elapsed(void)
{
	return elapsed;
}
