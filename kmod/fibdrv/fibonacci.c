// SPDX-License-Identifier: GPL-2.0
/*
 * The three binary algorithms. Each allocates once, before it computes.
 *
 * Doubling keeps F(k) and F(k - 1), and two squares lead to the pair of 2k:
 *
 *	F(2k - 1) = F(k)^2 + F(k - 1)^2
 *	F(2k + 1) = 4 F(k)^2 - F(k - 1)^2 + 2 (-1)^k
 *	F(2k)     = F(2k + 1) - F(2k - 1)
 *
 * The usual step, F(2k) = F(k) (2 F(k + 1) - F(k)) and F(2k + 1) = F(k + 1)^2 + F(k)^2,
 * has a product beside the two squares; Cassini's identity turns it into them. (Known
 * from the manual of GNU MP, "Fibonacci Numbers Algorithm".) The last step needs one
 * number and not two, so it is one product, of numbers half as long as the answer:
 *
 *	F(2k)     = F(k) (F(k) + 2 F(k - 1))
 *	F(2k + 1) = F(k) (3 F(k) + F(k - 1)) + (-1)^k
 */
#include "decimal.h"
#include "fibonacci.h"
#include "natural.h"

/* The longest one in a limb. */
#define LIMB_MOST 93

/* An addition of this many limbs, or as many in several, is long work. */
#define LONG_ADDITION 65536

/*
 * Limbs that hold F(n), sometimes one more. F(n) has less than 0.69425 n bits, the
 * binary logarithm of the golden ratio, which are n / 92.18 limbs.
 */
static size_t limbs_of(u32 n)
{
	return n / 92 + 1;
}

static u64 *allocate(size_t limbs, struct fibonacci_answer *answer)
{
	u64 begin = ktime_get_ns();

	answer->memory = kvmalloc_array(limbs, sizeof(u64), GFP_KERNEL_ACCOUNT);
	answer->allocate_ns = ktime_get_ns() - begin;
	return answer->memory;
}

static void finish(struct fibonacci_answer *answer, const u64 *limbs, u32 length, u64 begin)
{
	answer->bytes = limbs;
	answer->size = natural_trim(limbs, length) * sizeof(u64);
	answer->compute_ns = ktime_get_ns() - begin;
}

/* Two neighbours, F(k) and F(k - 1), and k. Both have `length` limbs; the first has no less. */
struct pair {
	u32 k;
	u32 length;
	u64 *this;
	u64 *before;
	u64 *squares[2];
};

/*
 * How many bits of n are left when the first ones, taken as a number, are as far as
 * a limb reaches.
 */
static u32 bits_after_limb(u32 n)
{
	u32 bits = 0;

	while (n >> bits > LIMB_MOST)
		bits++;
	return bits;
}

/* F(k) and F(k - 1) in a limb each, 0 < k <= LIMB_MOST. What overflows is subtracted again. */
static void limb_by_branches(u32 k, u64 *this, u64 *before)
{
	u64 a = 1, b = 0;
	u32 bit;

	for (bit = 31 - __builtin_clz(k); bit; bit--) {
		u64 square = a * a;
		u64 double_k = square + 2 * a * b;
		u64 before_double_k = square + b * b;

		if (k >> (bit - 1) & 1) {
			a = double_k + before_double_k;
			b = double_k;
		} else {
			a = double_k;
			b = before_double_k;
		}
	}
	*this = a;
	*before = b;
}

static void limb_by_masks(u32 k, u64 *this, u64 *before)
{
	u64 a = 1, b = 0;
	u32 bit;

	for (bit = 31 - __builtin_clz(k); bit; bit--) {
		u64 square = a * a;
		u64 double_k = square + 2 * a * b;
		u64 before_double_k = square + b * b;
		u64 mask = -(u64)(k >> (bit - 1) & 1);

		a = double_k + (before_double_k & mask);
		b = before_double_k ^ ((before_double_k ^ double_k) & mask);
	}
	*this = a;
	*before = b;
}

/*
 * F(2k + 1) and F(2k - 1) out of a pair: the first into squares[0], the second over
 * `before`. Their length, in which both fit.
 */
static int double_pair(struct pair *pair, const struct natural_means *means, u32 *length)
{
	u64 *x = pair->squares[0];
	u64 *y = pair->squares[1];
	u32 size = 2 * pair->length;
	unsigned char borrow;
	u64 above = 0;
	u32 at;
	int error;

	error = natural_square(x, pair->this, pair->length, means);
	if (error)
		return error;
	error = natural_square(y, pair->before, pair->length, means);
	if (error)
		return error;

	pair->before[size] = natural_add(pair->before, x, y, size);

	/*
	 * 2 (-1)^k goes where it carries nothing: four times a number ends in two clear
	 * bits, and bit 1 of a square is clear.
	 */
	if (pair->k % 2)
		y[0] |= 2;
	for (at = 0; at < size; at++) {
		u64 limb = x[at];

		x[at] = limb << 2 | above;
		above = limb >> 62;
	}
	if (pair->k % 2 == 0)
		x[0] |= 2;
	borrow = natural_subtract(x, x, y, size);
	x[size] = above - borrow;

	*length = size + 1;
	return 0;
}

/* On to 2k or 2k + 1. */
static int step_by_branch(struct pair *pair, u32 bit, const struct natural_means *means)
{
	u32 length;
	int error;

	error = double_pair(pair, means, &length);
	if (error)
		return error;

	if (bit) {
		u64 *spare = pair->this;

		natural_subtract(pair->before, pair->squares[0], pair->before, length);
		pair->this = pair->squares[0];
		pair->squares[0] = spare;
	} else {
		natural_subtract(pair->this, pair->squares[0], pair->before, length);
	}
	pair->k = 2 * pair->k + bit;
	pair->length = natural_trim(pair->this, length);
	return 0;
}

static int step_by_mask(struct pair *pair, u32 bit, const struct natural_means *means)
{
	u64 mask = -(u64)bit;
	u32 length, at;
	int error;

	error = double_pair(pair, means, &length);
	if (error)
		return error;

	natural_subtract(pair->this, pair->squares[0], pair->before, length);
	for (at = 0; at < length; at++) {
		u64 even = pair->this[at];
		u64 after = pair->squares[0][at];
		u64 before = pair->before[at];

		pair->this[at] = even ^ ((even ^ after) & mask);
		pair->before[at] = before ^ ((before ^ even) & mask);
	}
	pair->k = 2 * pair->k + bit;
	pair->length = natural_trim(pair->this, length);
	return 0;
}

/* The other factor of the last product, over `before`; its length. */
static u32 factor_by_branch(struct pair *pair, u32 bit)
{
	u64 *factor = pair->before;
	u32 length = pair->length;
	u64 above;

	if (bit) {
		above = natural_add(factor, factor, pair->this, length);
		above += natural_add(factor, factor, pair->this, length);
	} else {
		above = natural_add(factor, factor, factor, length);
	}
	factor[length] = above + natural_add(factor, factor, pair->this, length);
	return length + !!factor[length];
}

/* F(k - 1) + F(k), and then twice F(k) or once F(k - 1). `spare` is as long as they are. */
static u32 factor_by_mask(struct pair *pair, u32 bit, u64 *spare)
{
	u64 *factor = pair->before;
	u32 length = pair->length;
	u64 mask = -(u64)bit;
	u64 above = 0;
	u32 at;

	for (at = 0; at < length; at++) {
		u64 twice = pair->this[at] << 1 | above;

		above = pair->this[at] >> 63;
		spare[at] = factor[at] ^ ((factor[at] ^ twice) & mask);
	}
	above &= mask;
	above += natural_add(factor, factor, pair->this, length);
	factor[length] = above + natural_add(factor, factor, spare, length);
	return length + !!factor[length];
}

/* Adds (-1)^k, and F(2k + 1) results. No odd one is a multiple of four: 1 carries nothing. */
static void correct(u64 *number, u32 k)
{
	if (k % 2 == 0)
		number[0]++;
	else
		while (!(*number)--)
			number++;
}

static inline int doubling(u32 n, u32 karatsuba, struct fibonacci_answer *answer, bool branchless)
{
	u32 left = bits_after_limb(n);
	size_t each = limbs_of(n / 2) + 2;
	struct natural_means means = { NULL, karatsuba };
	struct pair pair = { .k = n >> left, .length = 1 };
	u32 length;
	u64 begin;
	u64 *area;
	int error;

	/*
	 * A pair, and the squares that become one: F(n / 2) and its factor are the longest,
	 * and a pair that was doubled has up to two limbs too many until it is trimmed.
	 * The last product takes the place of both squares.
	 */
	area = allocate(left ? 4 * each + natural_scratch(each, karatsuba) : 2, answer);
	if (!area)
		return -ENOMEM;
	begin = ktime_get_ns();

	pair.this = area;
	pair.before = left ? area + each : area + 1;
	pair.before[0] = 0;
	pair.this[0] = 0;
	if (pair.k && branchless)
		limb_by_masks(pair.k, pair.this, pair.before);
	else if (pair.k)
		limb_by_branches(pair.k, pair.this, pair.before);
	if (!left) {
		finish(answer, pair.this, 1, begin);
		return 0;
	}

	pair.squares[0] = area + 2 * each;
	pair.squares[1] = area + 3 * each;
	means.scratch = area + 4 * each;
	while (--left) {
		u32 bit = n >> left & 1;

		if (branchless)
			error = step_by_mask(&pair, bit, &means);
		else
			error = step_by_branch(&pair, bit, &means);
		if (error)
			goto release;
	}
	/* A step by branch changes places. */
	if (pair.this != area) {
		memcpy(area, pair.this, pair.length * sizeof(u64));
		pair.this = area;
		pair.squares[0] = area + 2 * each;
	}

	if (branchless)
		length = factor_by_mask(&pair, n & 1, pair.squares[0]);
	else
		length = factor_by_branch(&pair, n & 1);
	error = natural_multiply(pair.squares[0], pair.before, length, pair.this, pair.length,
				 &means);
	if (error)
		goto release;
	if (n & 1)
		correct(pair.squares[0], pair.k);
	finish(answer, pair.squares[0], length + pair.length, begin);
	return 0;

release:
	fibonacci_release(answer);
	return error;
}

static int by_doubling(u32 n, u32 karatsuba, struct fibonacci_answer *answer)
{
	return doubling(n, karatsuba, answer, false);
}

static int by_masks(u32 n, u32 karatsuba, struct fibonacci_answer *answer)
{
	return doubling(n, karatsuba, answer, true);
}

/* n additions, each over the elder of two numbers. */
static int by_addition(u32 n, u32 karatsuba, struct fibonacci_answer *answer)
{
	size_t each = limbs_of(n) + 1;
	size_t since = 0;
	u64 *elder, *younger;
	u32 length = 1;
	u64 begin;
	u32 at;

	younger = allocate(2 * each, answer);
	if (!younger)
		return -ENOMEM;
	begin = ktime_get_ns();

	/* F(0), after F(-1). */
	elder = younger + each;
	younger[0] = 0;
	elder[0] = 1;
	for (at = 0; at < n; at++) {
		u64 *sum = elder;
		u64 carry = natural_add(sum, elder, younger, length);

		elder = younger;
		younger = sum;
		if (carry) {
			elder[length] = 0;
			younger[length++] = carry;
		}

		since += length + 8;
		if (since >= LONG_ADDITION) {
			int error = breathe();

			if (error) {
				fibonacci_release(answer);
				return error;
			}
			since = 0;
		}
	}
	finish(answer, younger, length, begin);
	return 0;
}

/* F(n) has more than 0.69424 n - 1.2 bits, so a limb more for every 92.19: two from F(94) on. */
static size_t least_limbs(u32 n)
{
	return n / 93 * sizeof(u64);
}

const struct fibonacci_algorithm fibonacci_algorithms[FIBONACCI_ALGORITHMS] = {
	{ "doubling", least_limbs, by_doubling },
	{ "branchless", least_limbs, by_masks },
	{ "iterative", least_limbs, by_addition },
	{ "decimal", decimal_least, decimal_by_allocating },
	{ "decimal-sized", decimal_least, decimal_by_size },
};
