// SPDX-License-Identifier: GPL-2.0
/*
 * Addition, multiplication by columns, and Karatsuba's method above a threshold.
 */
#include "natural.h"

/* A product of this many limbs is long work: below a millisecond, and not far below. */
#define LONG_PRODUCT 512

/*
 * Before version 14, gcc makes chains of add-with-carry only from this builtin. Since
 * then, it makes them from two overflows as well (gcc's PR 79173); those
 * are used where there is no such builtin.
 */
#if defined(__x86_64__) && defined(__has_builtin)
#if __has_builtin(__builtin_ia32_addcarryx_u64) && __has_builtin(__builtin_ia32_sbb_u64)
#define CARRY_FLAG
#endif
#endif

#ifdef CARRY_FLAG

static inline unsigned char add_limbs(u64 *sum, u64 a, u64 b, unsigned char carry)
{
	unsigned long long limb;

	carry = __builtin_ia32_addcarryx_u64(carry, a, b, &limb);
	*sum = limb;
	return carry;
}

static inline unsigned char subtract_limbs(u64 *difference, u64 a, u64 b, unsigned char borrow)
{
	unsigned long long limb;

	borrow = __builtin_ia32_sbb_u64(borrow, a, b, &limb);
	*difference = limb;
	return borrow;
}

#else

static inline unsigned char add_limbs(u64 *sum, u64 a, u64 b, unsigned char carry)
{
	unsigned char first = __builtin_add_overflow(a, b, &a);
	unsigned char second = __builtin_add_overflow(a, (u64)carry, sum);

	return first | second;
}

static inline unsigned char subtract_limbs(u64 *difference, u64 a, u64 b, unsigned char borrow)
{
	unsigned char first = __builtin_sub_overflow(a, b, &a);
	unsigned char second = __builtin_sub_overflow(a, (u64)borrow, difference);

	return first | second;
}

#endif

u32 natural_trim(const u64 *a, u32 length)
{
	while (length && !a[length - 1])
		length--;
	return length;
}

u64 natural_add(u64 *sum, const u64 *a, const u64 *b, u32 length)
{
	unsigned char carry = 0;

	/* Four limbs a turn: the turn itself would take half of the instructions. */
	for (; length >= 4; length -= 4, sum += 4, a += 4, b += 4) {
		carry = add_limbs(&sum[0], a[0], b[0], carry);
		carry = add_limbs(&sum[1], a[1], b[1], carry);
		carry = add_limbs(&sum[2], a[2], b[2], carry);
		carry = add_limbs(&sum[3], a[3], b[3], carry);
	}
	for (; length; length--)
		carry = add_limbs(sum++, *a++, *b++, carry);
	return carry;
}

u64 natural_subtract(u64 *difference, const u64 *a, const u64 *b, u32 length)
{
	unsigned char borrow = 0;

	for (; length >= 4; length -= 4, difference += 4, a += 4, b += 4) {
		borrow = subtract_limbs(&difference[0], a[0], b[0], borrow);
		borrow = subtract_limbs(&difference[1], a[1], b[1], borrow);
		borrow = subtract_limbs(&difference[2], a[2], b[2], borrow);
		borrow = subtract_limbs(&difference[3], a[3], b[3], borrow);
	}
	for (; length; length--)
		borrow = subtract_limbs(difference++, *a++, *b++, borrow);
	return borrow;
}

/* Adds a small number to a longer one, whose end it must not pass. */
static void add_small(u64 *a, u64 small)
{
	for (; small; a++)
		small = __builtin_add_overflow(*a, small, a);
}

/*
 * Products are added up column by column, in three limbs: each limb of the result
 * is written once and none is read again, and a column needs no more than
 * multiplication, addition, and two additions of a carry for each product. Three
 * limbs hold 2^64 products.
 */
struct column {
	unsigned __int128 low;
	u64 high;
};

static inline void column_add(struct column *column, u64 a, u64 b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	column->high += __builtin_add_overflow(column->low, product, &column->low);
}

/* Adds a[0] * b[0] + a[1] * b[-1] and so on, of `count` products. */
static inline void column_add_products(struct column *sum, const u64 *a, const u64 *b, u32 count)
{
	struct column column = *sum;

	for (; count >= 4; count -= 4, a += 4, b -= 4) {
		column_add(&column, a[0], b[0]);
		column_add(&column, a[1], b[-1]);
		column_add(&column, a[2], b[-2]);
		column_add(&column, a[3], b[-3]);
	}
	for (; count; count--)
		column_add(&column, *a++, *b--);
	*sum = column;
}

/* The column's own limb; what it carries remains. */
static inline u64 column_take(struct column *column)
{
	u64 limb = (u64)column->low;

	column->low = column->low >> 64 | (unsigned __int128)column->high << 64;
	column->high = 0;
	return limb;
}

static void multiply_columns(u64 *product, const u64 *a, const u64 *b, u32 length)
{
	struct column column = { 0, 0 };
	u32 count;

	for (count = 1; count <= length; count++) {
		column_add_products(&column, a, &b[count - 1], count);
		*product++ = column_take(&column);
	}
	for (count = length - 1; count; count--) {
		a++;
		column_add_products(&column, a, &b[length - 1], count);
		*product++ = column_take(&column);
	}
	*product = column_take(&column);
}

/* A column of a square without its middle, from the outside in, each product twice. */
static inline void column_add_twice(struct column *sum, const u64 *a, const u64 *b, u32 count)
{
	struct column half = { 0, 0 };
	unsigned char carry;

	if (!count)
		return;
	column_add_products(&half, a, b, count);
	half.high = half.high << 1 | (u64)(half.low >> 127);
	half.low <<= 1;
	carry = __builtin_add_overflow(sum->low, half.low, &sum->low);
	sum->high += half.high + carry;
}

static void square_columns(u64 *square, const u64 *a, u32 length)
{
	struct column column = { 0, 0 };
	const u64 *end = &a[length - 1];
	u32 at;

	/* Columns up to the longest begin at the first limb, those after it end at the last. */
	for (at = 0; at < length; at++) {
		column_add_twice(&column, a, &a[at], (at + 1) / 2);
		if (at % 2 == 0)
			column_add(&column, a[at / 2], a[at / 2]);
		*square++ = column_take(&column);
	}
	for (at = length - 1; at; at--) {
		a++;
		column_add_twice(&column, a, end, at / 2);
		if (at % 2)
			column_add(&column, a[at / 2], a[at / 2]);
		*square++ = column_take(&column);
	}
	*square = column_take(&column);
}

/*
 * difference = |a - b|; whether a < b. b has as many limbs as a or one less, and
 * the difference as many as a.
 */
static bool distance(u64 *difference, const u64 *a, u32 a_length, const u64 *b, u32 b_length)
{
	u32 at;

	if (a_length > b_length) {
		if (a[b_length]) {
			difference[b_length] =
				a[b_length] - natural_subtract(difference, a, b, b_length);
			return false;
		}
		difference[b_length] = 0;
	}
	for (at = b_length; at && a[at - 1] == b[at - 1]; at--)
		difference[at - 1] = 0;
	if (at && a[at - 1] < b[at - 1]) {
		natural_subtract(difference, b, a, at);
		return true;
	}
	natural_subtract(difference, a, b, at);
	return false;
}

/*
 * The middle of a product by Karatsuba's method: with a = x * 2^(64 * low) + y, and
 * b likewise, the outer products xx = x * x' and yy = y * y' lie in the result, and
 * the inner one is
 *
 *	x * y' + y * x' = xx + yy - (x - y) * (x' - y')
 *
 * `cross` holds the distance of that last product from zero, in 2 * low limbs, and
 * is used up.
 */
static void add_middle(u64 *product, u32 length, u32 low, u64 *cross, bool negative)
{
	u64 *middle = &product[low];
	const u64 *outer = &product[2 * low];
	u32 outer_length = 2 * (length - low);
	u64 carry;

	/* The inner product is never below zero, but its first two summands may be. */
	if (negative)
		carry = natural_add(cross, cross, product, 2 * low);
	else
		carry = -natural_subtract(cross, product, cross, 2 * low);
	if (natural_add(cross, cross, outer, outer_length)) {
		if (outer_length == 2 * low)
			carry++;
		else if (!++cross[outer_length] && !++cross[outer_length + 1])
			carry++;
	}
	carry += natural_add(middle, middle, cross, 2 * low);
	add_small(&middle[2 * low], carry);
}

/*
 * Halves down to the threshold, so it is never deeper than the number of bits of
 * `length`: 17 for the longest number there is here, some hundred bytes of stack each.
 */
static int multiply(u64 *product, const u64 *a, const u64 *b, u32 length, u64 *scratch,
		    u32 karatsuba)
{
	u32 low = length - length / 2;
	u64 *cross = scratch;
	bool negative;
	int error;

	if (length < karatsuba) {
		multiply_columns(product, a, b, length);
		return 0;
	}
	if (length >= LONG_PRODUCT) {
		error = breathe();
		if (error)
			return error;
	}
	scratch += 2 * low;

	negative = distance(product, a, low, &a[low], length - low);
	negative ^= distance(&product[low], b, low, &b[low], length - low);
	error = multiply(cross, product, &product[low], low, scratch, karatsuba);
	if (error)
		return error;
	error = multiply(product, a, b, low, scratch, karatsuba);
	if (error)
		return error;
	error = multiply(&product[2 * low], &a[low], &b[low], length - low, scratch, karatsuba);
	if (error)
		return error;
	add_middle(product, length, low, cross, negative);
	return 0;
}

static int square(u64 *result, const u64 *a, u32 length, u64 *scratch, u32 karatsuba)
{
	u32 low = length - length / 2;
	u64 *cross = scratch;
	int error;

	if (length < karatsuba) {
		square_columns(result, a, length);
		return 0;
	}
	if (length >= LONG_PRODUCT) {
		error = breathe();
		if (error)
			return error;
	}
	scratch += 2 * low;

	distance(result, a, low, &a[low], length - low);
	error = square(cross, result, low, scratch, karatsuba);
	if (error)
		return error;
	error = square(result, a, low, scratch, karatsuba);
	if (error)
		return error;
	error = square(&result[2 * low], &a[low], length - low, scratch, karatsuba);
	if (error)
		return error;
	add_middle(result, length, low, cross, false);
	return 0;
}

size_t natural_scratch(u32 length, u32 karatsuba)
{
	size_t limbs = 0;

	for (; length >= karatsuba; length -= length / 2)
		limbs += 2 * (size_t)(length - length / 2);
	return limbs;
}

int natural_multiply(u64 *product, const u64 *a, u32 a_length, const u64 *b, u32 b_length,
		     const struct natural_means *means)
{
	int error;
	u32 at;

	error = multiply(product, a, b, b_length, means->scratch, means->karatsuba);
	if (error)
		return error;

	/* The few limbs that a is longer, one row each. */
	for (at = b_length; at < a_length; at++) {
		u64 *row = &product[at];
		u64 carry = 0;
		u32 column;

		row[b_length] = 0;
		for (column = 0; column < b_length; column++) {
			unsigned __int128 sum = (unsigned __int128)a[at] * b[column] + row[column] +
						carry;

			row[column] = (u64)sum;
			carry = (u64)(sum >> 64);
		}
		row[b_length] = carry;
	}
	return 0;
}

int natural_square(u64 *result, const u64 *a, u32 length, const struct natural_means *means)
{
	/* By columns a square takes half the products, so columns stay ahead for twice as long. */
	return square(result, a, length, means->scratch, 2 * means->karatsuba);
}
