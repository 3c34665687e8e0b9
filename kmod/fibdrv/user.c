// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's arithmetic as a program outside of the kernel, for tests and for
 * counting instructions. It is no part of the module. It is compiled together with
 * fibonacci.c, natural.c and decimal.c, and its options are
 *
 *	[-k KARATSUBA] [-r REPETITIONS] [-i BREATHS | -m ALLOCATIONS]
 *
 * A line of its input is "ALGORITHM N", and is answered by the bytes that a read of
 * the device would give; or "multiply A B" or "square A", with numbers of whole limbs,
 * the higher digits first as usual, and without spaces. All in hexadecimal digits, but
 * N. Exit status: 0, or 64 for what it does not understand, or 70 where memory is
 * exhausted, or 66 where an answer is shorter than its algorithm said beforehand.
 *
 * With -i, F(N) is not given but asked for as often as that number says. The first time
 * the first breath says that a signal is there, then the second does, up to the last.
 * Each time -EINTR must come of it, and the answer is "interrupted". With -m, it is
 * allocations that fail, -ENOMEM, and "exhausted". Exit status 65 where something else
 * comes of it, as where there are not that many. Whether all memory was released is for
 * a sanitizer to say.
 */
#include <stdio.h>
#include <unistd.h>

#include "fibonacci.h"
#include "natural.h"

unsigned long breaths_left;
unsigned long allocations_left;

static const struct fibonacci_algorithm *find(const char *name)
{
	int at;

	for (at = 0; at < FIBONACCI_ALGORITHMS; at++)
		if (!strcmp(name, fibonacci_algorithms[at].name))
			return &fibonacci_algorithms[at];
	exit(64);
}

static void answer(const struct fibonacci_algorithm *algorithm, u32 n, u32 karatsuba,
		   unsigned long repetitions)
{
	struct fibonacci_answer answer;
	const unsigned char *bytes;
	size_t at;

	for (; repetitions > 1; repetitions--) {
		if (algorithm->compute(n, karatsuba, &answer))
			exit(70);
		fibonacci_release(&answer);
	}
	if (algorithm->compute(n, karatsuba, &answer))
		exit(70);
	if (answer.size < algorithm->least(n))
		exit(66);
	bytes = answer.bytes;
	for (at = 0; at < answer.size; at++)
		printf("%02x", bytes[at]);
	putchar('\n');
	fibonacci_release(&answer);
}

/* Has every breath, or allocation, up to the last one fail. */
static void fail(const struct fibonacci_algorithm *algorithm, u32 n, u32 karatsuba,
		 unsigned long *left, unsigned long last, int error)
{
	struct fibonacci_answer answer;
	unsigned long at;

	for (at = 1; at <= last; at++) {
		*left = at;
		if (algorithm->compute(n, karatsuba, &answer) != error || *left)
			exit(65);
	}
}

/* The next word of the input as limbs; how many they are. */
static u32 read_limbs(u64 **limbs)
{
	char *digits;
	size_t count, at;

	if (scanf("%ms", &digits) != 1)
		exit(64);
	count = strlen(digits) / 16;
	if (!count || strlen(digits) % 16)
		exit(64);
	*limbs = kvmalloc_array(count, sizeof(u64), 0);
	if (!*limbs)
		exit(70);
	for (at = count; at; at--) {
		digits[at * 16] = 0;
		(*limbs)[count - at] = strtoull(&digits[(at - 1) * 16], NULL, 16);
	}
	free(digits);
	return count;
}

static void multiply(bool squared, u32 karatsuba)
{
	struct natural_means means = { NULL, karatsuba };
	u64 *a, *b = NULL, *product;
	u32 a_length, b_length, length;

	a_length = read_limbs(&a);
	b_length = squared ? a_length : read_limbs(&b);
	length = a_length + b_length;
	if (a_length < b_length)
		exit(64);
	/* Of exactly the sizes that are asked for, so that a sanitizer sees the rest. */
	product = kvmalloc_array(length, sizeof(u64), 0);
	means.scratch = kvmalloc_array(natural_scratch(b_length, karatsuba), sizeof(u64), 0);
	if (!product || !means.scratch)
		exit(70);
	if (squared ? natural_square(product, a, a_length, &means) :
		      natural_multiply(product, a, a_length, b, b_length, &means))
		exit(70);
	while (length)
		printf("%016llx", (unsigned long long)product[--length]);
	putchar('\n');
	free(a);
	free(b);
	free(product);
	free(means.scratch);
}

int main(int count, char **words)
{
	unsigned long karatsuba = KARATSUBA_USUAL, repetitions = 1;
	unsigned long breaths = 0, allocations = 0;
	char name[32];
	u32 n;
	int option;

	while ((option = getopt(count, words, "k:r:i:m:")) != -1) {
		if (option == 'k')
			karatsuba = strtoul(optarg, NULL, 10);
		else if (option == 'r')
			repetitions = strtoul(optarg, NULL, 10);
		else if (option == 'i')
			breaths = strtoul(optarg, NULL, 10);
		else if (option == 'm')
			allocations = strtoul(optarg, NULL, 10);
		else
			return 64;
	}
	if (karatsuba < KARATSUBA_LEAST || karatsuba > KARATSUBA_MOST || optind != count)
		return 64;

	while (scanf("%31s", name) == 1) {
		if (!strcmp(name, "multiply") || !strcmp(name, "square"))
			multiply(*name == 's', karatsuba);
		else if (scanf("%u", &n) != 1 || n > FIBONACCI_MOST)
			return 64;
		else if (breaths)
			fail(find(name), n, karatsuba, &breaths_left, breaths, -EINTR);
		else if (allocations)
			fail(find(name), n, karatsuba, &allocations_left, allocations, -ENOMEM);
		else
			answer(find(name), n, karatsuba, repetitions);
		if (breaths || allocations)
			puts(breaths ? "interrupted" : "exhausted");
	}
	return feof(stdin) ? 0 : 64;
}
