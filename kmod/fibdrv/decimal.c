// SPDX-License-Identifier: GPL-2.0
/*
 * Numbers of 32 bit digits to the base of 10^9, the least first, multiplied digit by
 * digit, each carry being passed on at once. It is slow on purpose and stays so: this
 * is what was measured before, and what the binary algorithms are compared with. It
 * was written anew after that description. Three traits matter to the comparison:
 *
 * - The first version allocates a number for the result of each operation and frees
 *   the number that was there before. The second allocates four, each of n / 42 + 2
 *   digits, and clears all of those before a product, however few are needed.
 * - The bits of n are looked at from bit 63 - clz32(n) on. n has 32 bits, so its first
 *   bit is 31 - clz32(n): thirty-two rounds make F(0) and F(1) out of F(0) and F(1).
 * - A round has three products, and the last one computes two numbers to keep one.
 */
#include "decimal.h"

#define BASE 1000000000

/* So many products of digits, or digits to clear, are long work: below a millisecond. */
#define LONG_ROWS 65536

struct decimal {
	u32 size;	/* digits; zero has one in here, and none in an answer */
	u32 room;
	u32 *digits;
};

/* A number without digits that can be released. */
static const struct decimal nothing;

static int decimal_new(struct decimal *number, u32 room)
{
	number->size = 0;
	number->room = room;
	number->digits = kvmalloc_array(room, sizeof(u32), GFP_KERNEL_ACCOUNT);
	return number->digits ? 0 : -ENOMEM;
}

static void decimal_release(struct decimal *number)
{
	kvfree(number->digits);
	*number = nothing;
}

static void decimal_move(struct decimal *to, struct decimal *from)
{
	decimal_release(to);
	*to = *from;
	*from = nothing;
}

static void trim(struct decimal *number)
{
	while (number->size > 1 && !number->digits[number->size - 1])
		number->size--;
}

/*
 * The operations on digits. A sum or difference may be one of its operands; b is not
 * longer than a where it is subtracted.
 */
static void add(struct decimal *sum, const struct decimal *a, const struct decimal *b)
{
	u32 size = max(a->size, b->size);
	u32 carry = 0;
	u32 at;

	for (at = 0; at < size; at++) {
		u32 digit = carry;

		if (at < a->size)
			digit += a->digits[at];
		if (at < b->size)
			digit += b->digits[at];
		carry = digit >= BASE;
		sum->digits[at] = digit % BASE;
	}
	if (carry)
		sum->digits[size++] = carry;
	sum->size = size;
}

static void subtract(struct decimal *difference, const struct decimal *a, const struct decimal *b)
{
	u32 size = a->size;
	u32 borrow = 0;
	u32 at;

	for (at = 0; at < size; at++) {
		u32 digit = a->digits[at] - borrow;

		if (at < b->size)
			digit -= b->digits[at];
		borrow = digit >> 31;
		difference->digits[at] = digit + (BASE & -borrow);
	}
	difference->size = size;
	trim(difference);
}

static void twice(struct decimal *number)
{
	u32 carry = 0;
	u32 at;

	for (at = 0; at < number->size; at++) {
		u32 digit = 2 * number->digits[at] + carry;

		carry = digit / BASE;
		number->digits[at] = digit % BASE;
	}
	if (carry)
		number->digits[number->size++] = carry;
}

/* The product is neither operand, and its digits are clear as far as `size`. */
static int multiply(struct decimal *product, const struct decimal *a, const struct decimal *b)
{
	u32 size = a->size + b->size;
	u32 since = 0;
	u32 i, j;

	for (i = 0; i < a->size; i++) {
		since += b->size;
		if (since >= LONG_ROWS) {
			int error = breathe();

			if (error)
				return error;
			since = 0;
		}
		for (j = 0; j < b->size; j++) {
			u64 carry = (u64)a->digits[i] * b->digits[j];
			u32 at = i + j;

			do {
				u64 digit = carry + product->digits[at];

				product->digits[at++] = digit % BASE;
				carry = digit / BASE;
			} while (at < size && carry);
		}
	}
	product->size = size;
	trim(product);
	return 0;
}

/*
 * The operations of the first version: each leaves its result in a number of its own,
 * which takes the place of what was in `result`, and that may be an operand.
 */
static int new_add(struct decimal *result, const struct decimal *a, const struct decimal *b)
{
	struct decimal sum;
	int error = decimal_new(&sum, max(a->size, b->size) + 1);

	if (error)
		return error;
	add(&sum, a, b);
	decimal_move(result, &sum);
	return 0;
}

static int new_subtract(struct decimal *result, const struct decimal *a, const struct decimal *b)
{
	struct decimal difference;
	int error = decimal_new(&difference, a->size);

	if (error)
		return error;
	subtract(&difference, a, b);
	decimal_move(result, &difference);
	return 0;
}

static int new_twice(struct decimal *result)
{
	struct decimal sum;
	int error = decimal_new(&sum, result->size + 1);

	if (error)
		return error;
	memcpy(sum.digits, result->digits, result->size * sizeof(u32));
	sum.size = result->size;
	twice(&sum);
	decimal_move(result, &sum);
	return 0;
}

static int new_multiply(struct decimal *result, const struct decimal *a, const struct decimal *b)
{
	struct decimal product;
	int error = decimal_new(&product, a->size + b->size);

	if (error)
		return error;
	memset(product.digits, 0, product.room * sizeof(u32));
	error = multiply(&product, a, b);
	if (error)
		decimal_release(&product);
	else
		decimal_move(result, &product);
	return error;
}

/* F(k) and F(k + 1), and what lies between two pairs. */
struct round {
	struct decimal a, b, first, second;
};

static void round_release(struct round *round)
{
	decimal_release(&round->a);
	decimal_release(&round->b);
	decimal_release(&round->first);
	decimal_release(&round->second);
}

/* F(2k + 1) = (a + b)^2 - 2ab, F(2k + 2) = (a + b)^2 - a^2 */
static int new_odd_round(struct round *round)
{
	int error;

	error = new_add(&round->first, &round->a, &round->b);
	if (!error)
		error = new_multiply(&round->second, &round->first, &round->first);
	if (!error)
		error = new_multiply(&round->first, &round->a, &round->b);
	if (!error)
		error = new_twice(&round->first);
	if (!error)
		error = new_subtract(&round->first, &round->second, &round->first);
	if (!error)
		error = new_multiply(&round->b, &round->a, &round->a);
	if (!error)
		error = new_subtract(&round->b, &round->second, &round->b);
	if (!error)
		decimal_move(&round->a, &round->first);
	return error;
}

/* F(2k) = a (2b - a), F(2k + 1) = a^2 + b^2 */
static int new_even_round(struct round *round)
{
	int error;

	error = new_multiply(&round->first, &round->a, &round->a);
	if (!error)
		error = new_multiply(&round->second, &round->b, &round->b);
	if (!error)
		error = new_add(&round->second, &round->first, &round->second);
	if (!error)
		error = new_twice(&round->b);
	if (!error)
		error = new_subtract(&round->b, &round->b, &round->a);
	if (!error)
		error = new_multiply(&round->first, &round->b, &round->a);
	if (error)
		return error;
	decimal_move(&round->b, &round->second);
	decimal_move(&round->a, &round->first);
	return 0;
}

/* F(n) has a digit more for every 43.07: two from F(44) on. */
size_t decimal_least(u32 n)
{
	return n / 44 * sizeof(u32);
}

/* The bit to begin with, with the rounds that do nothing. n > 0. */
static u64 first_bit(u32 n)
{
	return 1ULL << 63 >> __builtin_clz(n);
}

static void finish(struct fibonacci_answer *answer, struct decimal *number, u64 begin)
{
	answer->memory = number->digits;
	answer->bytes = number->digits;
	if (number->size == 1 && !number->digits[0])
		number->size = 0;
	answer->size = number->size * sizeof(u32);
	answer->compute_ns = ktime_get_ns() - begin - answer->allocate_ns;
}

/* Sets both numbers to what comes before the first bit: F(0) and F(1). */
static void begin_round(struct round *round)
{
	round->a.digits[0] = 0;
	round->a.size = 1;
	round->b.digits[0] = 1;
	round->b.size = 1;
}

int decimal_by_allocating(u32 n, u32 karatsuba, struct fibonacci_answer *answer)
{
	struct round round = { nothing, nothing, nothing, nothing };
	u64 begin = ktime_get_ns();
	u64 bit;
	int error;

	error = decimal_new(&round.a, 1);
	if (!error)
		error = decimal_new(&round.b, 1);
	if (error)
		goto release;
	begin_round(&round);

	/* The time of all these allocations is part of the computation. */
	answer->allocate_ns = 0;
	for (bit = n ? first_bit(n) : 0; bit; bit >>= 1) {
		error = bit & n ? new_odd_round(&round) : new_even_round(&round);
		if (error)
			goto release;
	}
	finish(answer, &round.a, begin);
	round.a = nothing;
release:
	round_release(&round);
	return error;
}

/* A product of the second version: all digits that the number has room for are cleared. */
static int sized_multiply(struct decimal *product, const struct decimal *a, const struct decimal *b)
{
	memset(product->digits, 0, product->room * sizeof(u32));
	/* A round of short numbers may clear long ones, three times. */
	if (product->room >= LONG_ROWS) {
		int error = breathe();

		if (error)
			return error;
	}
	return multiply(product, a, b);
}

static void assign(struct decimal *to, const struct decimal *from)
{
	memcpy(to->digits, from->digits, from->size * sizeof(u32));
	to->size = from->size;
}

static int sized_odd_round(struct round *round)
{
	int error;

	add(&round->first, &round->a, &round->b);
	error = sized_multiply(&round->second, &round->first, &round->first);
	if (error)
		return error;
	error = sized_multiply(&round->first, &round->a, &round->b);
	if (error)
		return error;
	twice(&round->first);
	subtract(&round->first, &round->second, &round->first);
	error = sized_multiply(&round->b, &round->a, &round->a);
	if (error)
		return error;
	subtract(&round->b, &round->second, &round->b);
	assign(&round->a, &round->first);
	return 0;
}

static int sized_even_round(struct round *round)
{
	int error;

	error = sized_multiply(&round->first, &round->a, &round->a);
	if (error)
		return error;
	error = sized_multiply(&round->second, &round->b, &round->b);
	if (error)
		return error;
	add(&round->second, &round->first, &round->second);
	twice(&round->b);
	subtract(&round->b, &round->b, &round->a);
	error = sized_multiply(&round->first, &round->b, &round->a);
	if (error)
		return error;
	assign(&round->b, &round->second);
	assign(&round->a, &round->first);
	return 0;
}

int decimal_by_size(u32 n, u32 karatsuba, struct fibonacci_answer *answer)
{
	struct round round = { nothing, nothing, nothing, nothing };
	u64 begin = ktime_get_ns();
	/*
	 * F(n) has n / 43.07 digits, and the longest number on the way, F(k + 2)^2 for
	 * n = 2k + 1, is not longer than F(n + 3).
	 */
	u32 room = n / 42 + 2;
	u64 bit;
	int error;

	error = decimal_new(&round.a, room);
	if (!error)
		error = decimal_new(&round.b, room);
	if (!error)
		error = decimal_new(&round.first, room);
	if (!error)
		error = decimal_new(&round.second, room);
	if (error)
		goto release;
	answer->allocate_ns = ktime_get_ns() - begin;
	begin_round(&round);

	for (bit = n ? first_bit(n) : 0; bit; bit >>= 1) {
		error = bit & n ? sized_odd_round(&round) : sized_even_round(&round);
		if (error)
			goto release;
	}
	finish(answer, &round.a, begin);
	round.a = nothing;
release:
	round_release(&round);
	return error;
}
