/*
 * Calls a function that is weighed, and times it: a worker as any other, whose other end is tenbin.
 *
 * It answers `variants`, `check V` and `run V N`, a line each. Beside these `calls V N`: as `run`, but in several
 * calls after one that is not timed, with a third number, the time that all take by the middle one of the calls. And
 * `counts`: what hardware counted of its last operations in user space, instructions and cycles, or that it counts
 * nothing. Variant 0 is the function, variant 1 is wrong on purpose. Where its stack, its heap and its environment lie
 * depends on the number that it is started with, and, as for every process, on the kernel. After that number come CPUs:
 * where they are several, as many threads do the operations at once, one on each, and the time is from the first start
 * to the last end.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if __has_include(<linux/perf_event.h>)
#include <linux/perf_event.h>
#include <sys/syscall.h>
#endif

#include "tenbin.h"

extern void *tenbin_setup(void) __attribute__((weak));
extern const char *tenbin_check(void *) __attribute__((weak));
extern void tenbin_fault(void *) __attribute__((weak));
extern void *tenbin_thread(void *, unsigned int) __attribute__((weak));
/* What adopts other people's functions may have threads of its own, and have timed the last operations itself, in
 * nanoseconds. */
extern uint64_t tenbin_elapsed(void) __attribute__((weak));

/* The heap begins at one of so many places, and so does the stack; both are 16 bytes apart. */
#define PLACES 256

/* Constants begin behind this one, and a gap. */
static const char place_of_constants __attribute__((section(".rodata.tenbin"), used)) = 0;

/* More CPUs than these are not used. */
#define MOST_THREADS 1024

/* Operations are divided into so many calls, half of which are so many times as long as the others: what disturbs some
 * of them leaves the middle one as it is. */
#define CALLS 16
#define LONGER 3

int tenbin_threads = 1, tenbin_cpus[MOST_THREADS];

/* What a thread is to do, and what it did. */
struct thread {
	pthread_t id;
	unsigned int number;
	void *state;
	uint64_t start, end, evidence;
};

static struct thread threads[MOST_THREADS];
static pthread_barrier_t begun, ended;
static atomic_ulong arrived;
static uint64_t operations;

static void *state;
static unsigned long layout;
static int is_faulty;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Counters of this thread, and what they counted around the last operations; below 0 where there is none. */
static int counters[2] = {-1, -1};
static long long counted[2] = {-1, -1};

static void open_counters(void)
{
#ifdef PERF_FLAG_FD_CLOEXEC
	static const uint64_t events[2] = {PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES};

	for (int event = 0; event < 2; event++) {
		struct perf_event_attr what = {
			.type = PERF_TYPE_HARDWARE,
			.size = sizeof(what),
			.config = events[event],
			.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
			.exclude_kernel = 1,
			.exclude_hv = 1,
		};

		counters[event] = syscall(SYS_perf_event_open, &what, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	}
#endif
}

/* What a counter has counted; below 0 where there is none, or it did not count all the time. */
static long long count(int counter)
{
	uint64_t seen[3];

	if (counter < 0 || read(counter, seen, sizeof(seen)) != sizeof(seen) || seen[1] != seen[2])
		return -1;
	return (long long)seen[0];
}

static int ascending(const void *one, const void *other)
{
	double difference = *(const double *)one - *(const double *)other;

	return (difference > 0) - (difference < 0);
}

/* Whether nothing runs at once that is started here. */
static int is_alone(void)
{
	return tenbin_threads == 1 || tenbin_elapsed;
}

static void begin(struct thread *thread)
{
	thread->state = tenbin_thread ? tenbin_thread(state, thread->number) : state;
}

static void work(struct thread *thread)
{
	long long before[2] = {count(counters[0]), count(counters[1])};

	thread->start = now();
	thread->evidence = tenbin_run(thread->state, operations);
	thread->end = now();
	for (int event = 0; event < 2; event++) {
		long long after = count(counters[event]);

		counted[event] = before[event] < 0 || after < 0 ? -1 : after - before[event];
	}
}

/* One of several, for as long as there is work. */
static void *several(void *argument)
{
	struct thread *thread = argument;
	volatile char *below = alloca(16 * ((layout + 31 * thread->number) % PLACES) + 1);
	unsigned long all = 0;
	cpu_set_t set;

	*below = 0;
	CPU_ZERO(&set);
	CPU_SET(tenbin_cpus[thread->number], &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("pin a thread to its CPU");
		exit(1);
	}
	begin(thread);
	for (;;) {
		pthread_barrier_wait(&begun);
		/* That all are awake is seen awake: no start waits for the kernel. */
		all += tenbin_threads;
		atomic_fetch_add(&arrived, 1);
		while (atomic_load(&arrived) < all)
			sched_yield();
		work(thread);
		pthread_barrier_wait(&ended);
	}
	return NULL;
}

/* Sets the state up, once. Not before it is asked: then it would be no question that is answered late. */
static void set_up(void)
{
	static int is_set_up;

	if (is_set_up)
		return;
	is_set_up = 1;
	if (tenbin_setup)
		state = tenbin_setup();
	if (is_alone()) {
		begin(&threads[0]);
		return;
	}
	pthread_barrier_init(&begun, NULL, tenbin_threads + 1);
	pthread_barrier_init(&ended, NULL, tenbin_threads + 1);
	for (int number = 0; number < tenbin_threads; number++) {
		threads[number].number = number;
		if (pthread_create(&threads[number].id, NULL, several, &threads[number])) {
			fputs("a thread cannot be started\n", stderr);
			exit(1);
		}
	}
}

/* Does so many operations in each thread, and answers how long that took and what shows it. */
static void run(uint64_t n, FILE *answers)
{
	uint64_t start, end, evidence;

	operations = n;
	if (is_alone()) {
		work(&threads[0]);
	} else {
		pthread_barrier_wait(&begun);
		pthread_barrier_wait(&ended);
	}
	start = threads[0].start, end = threads[0].end, evidence = threads[0].evidence;
	for (int number = 1; number < tenbin_threads && !is_alone(); number++) {
		const struct thread *thread = &threads[number];

		if (thread->start < start)
			start = thread->start;
		if (thread->end > end)
			end = thread->end;
		evidence += thread->evidence;
	}
	fprintf(answers, "%llu %llu\n", (unsigned long long)(tenbin_elapsed ? tenbin_elapsed() : end - start),
		(unsigned long long)evidence);
}

/*
 * Does so many operations in calls one after the other, short ones and long ones in turns. What a call takes beside its
 * operations is in both alike: the least long one and the least short one show it. Answers how long all operations take
 * without that, and how long they take by the middle one of all calls.
 */
static void in_calls(uint64_t n, FILE *answers)
{
	const uint64_t part = n / (CALLS / 2 * (1 + LONGER)), length[2] = {part, LONGER * part};
	const uint64_t timed = CALLS / 2 * (length[0] + length[1]);
	struct thread *thread = &threads[0];
	double took[CALLS], least[2] = {HUGE_VAL, HUGE_VAL}, elapsed = 0, rest = 0, call, middle;
	long long all[2] = {0, 0};
	unsigned long long evidence = 0;

	/* Caches and predictors are the other side's until then. */
	operations = length[1];
	work(thread);
	for (int number = 0; number < CALLS + (n > timed); number++) {
		/* What is left over has a call of its own, behind those that are compared. */
		operations = number < CALLS ? length[number % 2] : n - timed;
		work(thread);
		evidence += thread->evidence;
		rest = thread->end - thread->start;
		if (number < CALLS)
			took[number] = rest;
		if (number < CALLS && rest < least[number % 2])
			least[number % 2] = rest;
		for (int event = 0; event < 2; event++)
			all[event] = all[event] < 0 || counted[event] < 0 ? -1 : all[event] + counted[event];
	}
	memcpy(counted, all, sizeof(counted));
	call = (LONGER * least[0] - least[1]) / (LONGER - 1);
	/* Where many cost more each than few, a call would seem to take less than nothing. */
	if (call < 0 || call >= least[0])
		call = 0;
	for (int number = 0; number < CALLS; number++) {
		took[number] -= call;
		elapsed += took[number];
		took[number] /= length[number % 2];
	}
	qsort(took, CALLS, sizeof(took[0]), ascending);
	middle = (took[CALLS / 2 - 1] + took[CALLS / 2]) / 2;
	if (n > timed && rest > call)
		elapsed += rest - call;
	fprintf(answers, "%.0f %llu %.0f\n", elapsed, evidence, middle * n);
}

static void make_faulty(void)
{
	if (!is_faulty && tenbin_fault)
		tenbin_fault(state);
	is_faulty = 1;
}

static void answer(FILE *questions, FILE *answers)
{
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, questions) > 0) {
		unsigned long long variant, n;

		if (!strcmp(line, "variants\n")) {
			fprintf(answers, "run %s\n", tenbin_fault ? "!fault" : "!short");
		} else if (sscanf(line, "check %llu", &variant) == 1) {
			const char *wrong;

			set_up();
			if (variant == 1)
				make_faulty();
			wrong = tenbin_check ? tenbin_check(state) : NULL;
			if (wrong)
				fprintf(answers, "wrong %s\n", wrong);
			else
				fputs("ok\n", answers);
		} else if (sscanf(line, "run %llu %llu", &variant, &n) == 2) {
			set_up();
			if (variant == 1 && tenbin_fault)
				make_faulty();
			else if (variant == 1)
				n = n > 1 ? n - 1 : n;
			run(n, answers);
		} else if (sscanf(line, "calls %llu %llu", &variant, &n) == 2) {
			/* Of variant 0, which alone is timed. */
			set_up();
			/* Threads wait for each other at each start, and whoever times himself does so. */
			if (tenbin_threads > 1 || tenbin_elapsed || n < CALLS / 2 * (1 + LONGER))
				run(n, answers);
			else
				in_calls(n, answers);
		} else if (!strcmp(line, "counts\n")) {
			if (counters[0] < 0)
				open_counters();
			fprintf(answers, "%lld %lld\n", counted[0], counted[1]);
		} else {
			return;
		}
		if (fflush(answers))
			return;
	}
}

int main(int count, char **words)
{
	/* What the function writes is no answer. */
	int answers = dup(STDOUT_FILENO), questions = dup(STDIN_FILENO);
	int null = open("/dev/null", O_RDWR);
	volatile char *below;

	if (count > 1)
		layout = strtoul(words[1], NULL, 10);
	below = alloca(16 * (layout % PLACES) + 1);
	*below = 0;
	for (int word = 2; word < count && word - 2 < MOST_THREADS; word++) {
		tenbin_cpus[word - 2] = atoi(words[word]);
		tenbin_threads = word - 1;
	}
	if (answers < 0 || questions < 0 || null < 0)
		return 1;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	close(null);
	/* Never given back: whatever is allocated from here on lies behind it. */
	if (!malloc(16 * (layout / PLACES % PLACES) + 1))
		return 1;
	answer(fdopen(questions, "r"), fdopen(answers, "w"));
	return 0;
}
