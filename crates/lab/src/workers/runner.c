/*
 * Calls a function that is weighed, and times it: a worker as any other, whose other end is tenbin.
 *
 * It answers `variants`, `check V` and `run V N`, a line each. Variant 0 is the function, variant 1 is wrong
 * on purpose. Where its stack, its heap and its environment lie depends on the number that it is started
 * with, and, as for every process, on the kernel.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tenbin.h"

extern void *tenbin_setup(void) __attribute__((weak));
extern const char *tenbin_check(void *) __attribute__((weak));
extern void tenbin_fault(void *) __attribute__((weak));
/* What adopts other people's functions may have timed the last operations itself, in nanoseconds. */
extern uint64_t tenbin_elapsed(void) __attribute__((weak));

/* The heap begins at one of so many places, and so does the stack; both are 16 bytes apart. */
#define PLACES 256

static void *state;
static int is_faulty;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Sets the state up, once. Not before it is asked: then it would be no question that is answered late. */
static void set_up(void)
{
	static int is_set_up;

	if (!is_set_up && tenbin_setup)
		state = tenbin_setup();
	is_set_up = 1;
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
			uint64_t start, end, evidence;

			set_up();
			if (variant == 1 && tenbin_fault)
				make_faulty();
			else if (variant == 1)
				n = n > 1 ? n - 1 : n;
			start = now();
			evidence = tenbin_run(state, n);
			end = now();
			fprintf(answers, "%llu %llu\n",
				(unsigned long long)(tenbin_elapsed ? tenbin_elapsed() : end - start),
				(unsigned long long)evidence);
		} else {
			return;
		}
		if (fflush(answers))
			return;
	}
}

int main(int count, char **words)
{
	unsigned long layout = count > 1 ? strtoul(words[1], NULL, 10) : 0;
	volatile char *below = alloca(16 * (layout % PLACES) + 1);
	/* What the function writes is no answer. */
	int answers = dup(STDOUT_FILENO), questions = dup(STDIN_FILENO);
	int null = open("/dev/null", O_RDWR);

	*below = 0;
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
