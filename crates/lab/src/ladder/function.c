/* A function whose truth is known: an operation is so many turns. A turn calls one of two functions. */
#include "tenbin.h"

static volatile uint64_t turns = TURNS;
static volatile uint64_t sink;

__attribute__((noinline)) static uint64_t odd(uint64_t x)
{
	return x >> 1 ^ 0xd800000000000000u;
}

__attribute__((noinline)) static uint64_t even(uint64_t x)
{
	return x >> 1;
}

uint64_t tenbin_run(void *state, uint64_t n)
{
	uint64_t x = 0x9e3779b97f4a7c15u, number = turns;

	(void)state;
	for (uint64_t i = 0; i < n; i++)
		for (uint64_t turn = 0; turn < number; turn++)
			x = (x & 1 ? odd(x) : even(x)) | (turn % 8 == 3);
	sink = x;
	return n;
}
