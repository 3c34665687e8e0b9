/*
 * Runs a lock of lockhammer as it stands: one thread or several take it and give it back.
 *
 * ATOMIC_TEST is the header with the lock, as in that project's own measure.c. What else its headers ask of
 * the program around them is below.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "verbose.h"
#include "lockhammer.h"
#include "atomics.h"
#include "perf_timer.h"
#include "tenbin.h"

extern int tenbin_threads, tenbin_cpus[];

/* A waiting thread of theirs turns here. */
void blackhole(unsigned long turns)
{
	for (volatile unsigned long turn = 0; turn < turns; turn++)
		;
}

unsigned long calibrate_blackhole(const unsigned long target, const unsigned long low, const unsigned long high,
				  const unsigned long thread, const unsigned long tries, const int verbose)
{
	(void)low, (void)high, (void)thread, (void)tries, (void)verbose;
	return target;
}

int64_t evaluate_blackhole(const unsigned long turns, const unsigned long tries)
{
	(void)tries;
	return (int64_t)turns;
}

/* Memory of theirs goes with this process. */
void push_dynamic_lock_memory(void *memory)
{
	(void)memory;
}

void pop_dynamic_lock_memory(void *memory)
{
	(void)memory;
}

#include ATOMIC_TEST

/* This one is called by names of its own, as their measure.c has it. */
#ifdef __LINUX_OSQ_LOCK_H
#define lock_acquire(lock, thread) osq_lock_acquire(lock, thread)
#define lock_release(lock, thread) osq_lock_release(lock, thread)
#endif

#ifndef initialize_lock
#define initialize_lock(lock, order, threads)
#endif
#ifndef thread_local_init
#define thread_local_init(thread)
#endif
#ifndef parse_test_args
#define parse_test_args(arguments, count, words)
#endif

/* By itself on what a processor moves at once, or several of it. */
static unsigned long lock[512] __attribute__((aligned(4096)));

static __thread unsigned long thread;

void *tenbin_setup(void)
{
	static char *words[] = { "lockhammer", NULL };
	static test_args_t arguments;

	if (tenbin_threads == 1)
		tenbin_cpus[0] = sched_getcpu();
	parse_test_args(&arguments, 1, words);
	initialize_lock(lock, tenbin_cpus, tenbin_threads);
	(void)arguments, (void)words;
	return lock;
}

void *tenbin_thread(void *state, unsigned int number)
{
	thread = number;
	thread_local_init(thread);
	return state;
}

/* As in their measure.c, where the compiler puts the lock into the loop. */
__attribute__((flatten)) uint64_t tenbin_run(void *state, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		lock_acquire(state, thread);
		/* Neither into the other, nor out of the loop. */
		__asm__ volatile("" ::: "memory");
		lock_release(state, thread);
		__asm__ volatile("" ::: "memory");
	}
	return 0;
}
