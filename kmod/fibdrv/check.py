#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Holds the driver's arithmetic, built for user space, against Python's integers.

    check.py PROGRAM    asks PROGRAM, which is user.c with the sources that it names
    check.py --build    builds it with `cc` (or $CC), once as it is and once with the address and
                        undefined behaviour sanitizers, and asks both; then plants one fault after
                        another in a copy of the sources, and each must be found by few questions

Exit status: 0, or 1 where a number is wrong or a planted fault was not found.
"""

import os
import pathlib
import random
import resource
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = ["user.c", "fibonacci.c", "natural.c", "decimal.c"]
BINARY = ["doubling", "branchless", "iterative"]
DECIMAL = ["decimal", "decimal-sized"]
WARNINGS = "-Wall -Wextra -Wno-unused-parameter -Werror".split()
ADDRESSES = ["-g", "-fsanitize=address"]
UNDEFINED = ["-fsanitize=undefined", "-fno-sanitize-recover=all"]
# What the program may spend on a set of questions, of a CPU's time: far more than any takes, also
# under the sanitizers. A fault may make it hang, and has the few seconds that its few questions are
# far from taking.
SECONDS = 60
PLANTED_SECONDS = 4

# File, what stands there once, and what is planted instead.
FAULTS = [
    ("natural.c", "carry = -natural_subtract(cross, product, cross, 2 * low);",
     "carry = 0; natural_subtract(cross, product, cross, 2 * low);"),
    ("natural.c", "else if (!++cross[outer_length] && !++cross[outer_length + 1])\n\t\t\tcarry++;",
     "else\n\t\t\tcross[outer_length]++;"),
    ("natural.c", "\tadd_small(&middle[2 * low], carry);\n", "\tmiddle[2 * low] += carry;\n"),
    ("natural.c", "negative ^= distance(", "negative |= distance("),
    ("natural.c", "half.high = half.high << 1 | (u64)(half.low >> 127);", "half.high <<= 1;"),
    ("natural.c", "column->high += __builtin_add_overflow(column->low, product, &column->low);",
     "column->low += product;"),
    ("natural.c", "a_length > b_length) {", "a_length > b_length && 0) {"),
    ("natural.c", "\t\trow[b_length] = carry;\n", "\t\t(void)carry;\n"),
    ("fibonacci.c", "#define LIMB_MOST 93", "#define LIMB_MOST 94"),
    ("fibonacci.c", "x[size] = above - borrow;", "x[size] = above;"),
    ("fibonacci.c", "\tif (pair->k % 2)\n", "\tif (0)\n"),
    ("fibonacci.c", "if (pair->k % 2 == 0)\n\t\tx[0]", "if (0)\n\t\tx[0]"),
    ("fibonacci.c", "above &= mask;", "above &= 0;"),
    ("fibonacci.c", "while (!(*number)--)\n\t\t\tnumber++;", "number[0] -= 2;"),
    ("fibonacci.c", "pair->squares[0] = spare;", ""),
    ("fibonacci.c", "elder[length] = 0;\n\t\t\tyounger[length++] = carry;", "length = length;"),
    ("fibonacci.c", "n / 93 *", "n / 90 *"),
    ("decimal.c", "n / 44 *", "n / 42 *"),
    ("decimal.c", "borrow = digit >> 31;", "borrow = 0;"),
    ("decimal.c", "\tmemset(product->digits, 0, product->room * sizeof(u32));\n", ""),
    ("decimal.c", "\tmemset(product.digits, 0, product.room * sizeof(u32));\n",
     "\tmemset(product.digits, 1, product.room * sizeof(u32));\n"),
    ("decimal.c", "if (number->size == 1 && !number->digits[0])", "if (0)"),
    ("fibonacci.c", "release:\n\tfibonacci_release(answer);\n", "release:\n"),
    ("fibonacci.c", "\t\t\t\tfibonacci_release(answer);\n", ""),
    ("fibonacci.c", "return -ENOMEM;\n\tbegin = ktime_get_ns();\n\n\tpair",
     "return -EINTR;\n\tbegin = ktime_get_ns();\n\n\tpair"),
    ("natural.c", "scratch, karatsuba);\n\tif (error)\n\t\treturn error;\n"
     "\tadd_middle(product, length, low, cross, negative);",
     "scratch, karatsuba);\n\tadd_middle(product, length, low, cross, negative);"),
    ("natural.c", "error = square(result, a, low, scratch, karatsuba);\n\tif (error)",
     "error = square(result, a, low, scratch, karatsuba);\n\tif (0)"),
    ("decimal.c", "\tif (error)\n\t\tdecimal_release(&product);\n\telse\n", "\tif (!error)\n"),
    ("decimal.c", "error = sized_multiply(&round->first, &round->a, &round->b);\n\tif (error)",
     "error = sized_multiply(&round->first, &round->a, &round->b);\n\tif (0)"),
    ("decimal.c", "new_even_round(&round);\n\t\tif (error)\n\t\t\tgoto release;",
     "new_even_round(&round);\n\t\tif (error)\n\t\t\treturn error;"),
]

# Algorithm, n, and how many breaths at least are drawn on the way to F(n). Far enough that every
# place with a breath fails, halved products and squares in all their parts; but for decimal-sized,
# which has one in rounds that clear long numbers, and one while digits are multiplied.
BREATHS = [
    ("doubling", 400_001, 23),
    ("branchless", 400_001, 23),
    ("iterative", 10_000, 8),
    ("decimal", 60_000, 24),
    ("decimal", 60_001, 24),
    ("decimal-sized", 60_000, 24),
    ("decimal-sized", 60_001, 24),
    ("decimal-sized", 2_800_000, 102),
]

# Likewise for allocations: all that there are.
ALLOCATIONS = [
    ("doubling", 99, 1),
    ("branchless", 99, 1),
    ("iterative", 99, 1),
    ("decimal", 99, 240),
    ("decimal-sized", 99, 4),
]


def fibonacci(wanted):
    """F(n) for each n that is wanted, by additions."""
    numbers, a, b = {}, 0, 1
    wanted = set(wanted)
    for n in range(max(wanted) + 1):
        if n in wanted:
            numbers[n] = a
        a, b = b, a + b
    return numbers


def doubled(n):
    """F(n) and F(n + 1) by the usual doubling, for what additions would take too long to reach."""
    if n == 0:
        return 0, 1
    a, b = doubled(n // 2)
    a, b = a * (2 * b - a), a * a + b * b
    return (b, a + b) if n % 2 else (a, b)


def binary(number):
    """Whole limbs of 64 bits, the least first, without leading ones that are zero."""
    return number.to_bytes((number.bit_length() + 63) // 64 * 8, "little")


def decimal(number):
    """Digits to the base of 10^9, 32 bits each, without leading zeros."""
    digits = b""
    while number:
        number, digit = divmod(number, 10**9)
        digits += digit.to_bytes(4, "little")
    return digits


def product_of(a, b=None):
    """A line that asks for a product, or for a square, and the answer."""
    def digits(number, limbs):
        return number.to_bytes(limbs * 8, "big").hex()

    length = len(a) + len(a if b is None else b)
    first = limbs_to_number(a)
    if b is None:
        return f"square {digits(first, len(a))}", digits(first * first, length)
    second = limbs_to_number(b)
    return (f"multiply {digits(first, len(a))} {digits(second, len(b))}",
            digits(first * second, length))


def limbs_to_number(limbs):
    return int.from_bytes(b"".join(limb.to_bytes(8, "little") for limb in limbs), "little")


def numbers_by(algorithm, numbers):
    """Lines that ask for F(n), and the answers."""
    shown = binary if algorithm in BINARY else decimal
    return [(f"{algorithm} {n}", shown(number).hex()) for n, number in numbers.items()]


def products(karatsuba, chance):
    """Products of numbers whose carries run far, which numbers by chance alone never are."""
    edges = [0, 1, 2**32, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]

    def number(length):
        kind = chance.randrange(4)
        if kind == 0:
            return [chance.choice(edges)] * length
        if kind == 1:
            return [chance.choice((0, 2**64 - 1)) for _ in range(length)]
        if kind == 2:
            return [chance.choice(edges) for _ in range(length)]
        return [chance.getrandbits(64) for _ in range(length)]

    for length in range(1, 5 * karatsuba // 2):
        for _ in range(3):
            yield product_of(number(length))
            yield product_of(number(length + chance.randrange(3)), number(length))


def failures():
    """Options and lines of what is interrupted, or has no memory, with their answers."""
    for option, answer, table in (("-i", "interrupted", BREATHS), ("-m", "exhausted", ALLOCATIONS)):
        for algorithm, n, count in table:
            yield (option, str(count)), [(f"{algorithm} {n}", answer)]


def few_questions():
    """The same as questions() in kind, and few: what a planted fault must not pass."""
    chance = random.Random(6)
    small = fibonacci(range(301))
    ladder = [n for bits in range(9, 14) for n in range(2**bits - 2, 2**bits + 3)]
    large = fibonacci([*range(301, 2001, 7), *ladder, *chance.sample(range(2001, 20_001), 12)])
    for algorithm in BINARY + DECIMAL:
        yield (), numbers_by(algorithm, small)
    for karatsuba in (4, 5, 6, 7, 10):
        yield ("-k", str(karatsuba)), list(products(karatsuba, chance))
        for algorithm in BINARY[:2]:
            yield ("-k", str(karatsuba)), numbers_by(algorithm, large)
    yield from failures()
    for algorithm in ["iterative", *DECIMAL]:
        yield (), numbers_by(algorithm, {n: large[n] for n in ladder if n < 5000})


def questions(far):
    """Options and lines with their answers; with `far`, also those that take seconds."""
    yield from failures()
    chance = random.Random(6)
    for karatsuba in (*range(4, 33), 47, 64):
        yield ("-k", str(karatsuba)), list(products(karatsuba, chance))

    small = fibonacci(range(2001))
    ladder = [n for bits in range(11, 17) for n in range(2**bits - 2, 2**bits + 3)]
    large = fibonacci(chance.sample(range(2001, 100_001), 200) + ladder + [99_999, 100_000])
    middle = {n: large[n] for n in large if n < 20_000}
    few = {n: large[n] for n in sorted(middle)[::8]}
    for algorithm in BINARY + DECIMAL:
        yield (), numbers_by(algorithm, small)
    for algorithm in DECIMAL:
        yield (), numbers_by(algorithm, few)
    for algorithm in BINARY:
        # So many additions take half of the time that the sanitizers need for everything.
        is_short = algorithm == "iterative" and not far
        yield (), numbers_by(algorithm, middle if is_short else large)
    # Each threshold meets lengths on both sides of it, odd and even, on every level.
    for karatsuba in range(4, 65):
        for algorithm in BINARY[:2]:
            yield ("-k", str(karatsuba)), numbers_by(algorithm, middle)
    for karatsuba in (4, 5, 64, 1024):
        yield ("-k", str(karatsuba)), numbers_by("doubling", large)
    if far:
        # As far as the driver goes at all.
        last = {n: doubled(n)[0] for n in (1_000_003, 9_999_999, 10_000_000)}
        for algorithm in BINARY[:2]:
            yield (), numbers_by(algorithm, last)


def ask(program, options, lines, seconds):
    """What is wrong with the answers to these lines, or None."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    question = "".join(f"{line}\n" for line, _ in lines)
    done = subprocess.run([program, *options], input=question, capture_output=True, text=True,
                          preexec_fn=limit, check=False)
    answers = done.stdout.splitlines()
    for (line, expected), answer in zip(lines, answers):
        if answer != expected:
            return f"{line[:80]} ({' '.join(options)}): {answer[:80]}, and not {expected[:80]}"
    if done.returncode or len(answers) != len(lines):
        return (f"status {done.returncode} after {len(answers)} of {len(lines)} answers"
                f" ({' '.join(options)})\n{done.stderr[:2000]}")
    return None


def wrong(program, asked, seconds=SECONDS):
    """The first wrong answer, or None, and how many were asked for."""
    count = 0
    for options, lines in asked:
        message = ask(program, options, lines, seconds)
        count += len(lines)
        if message:
            return message, count
    return None, count


def compiler():
    return [*shlex.split(os.environ.get("CC", "cc")), "-O2", *WARNINGS]


def compiled(folder, name, options):
    program = str(pathlib.Path(folder) / name)
    sources = [str(pathlib.Path(folder) / source) for source in SOURCES]
    subprocess.run([*compiler(), *options, "-o", program, *sources], check=True)
    return program


def copy(folder):
    for file in [*SOURCES, *(header.name for header in HERE.glob("*.h"))]:
        (pathlib.Path(folder) / file).write_text((HERE / file).read_text())


def report(what, message, count):
    print(f"{what}: {message or f'{count} answers are right'}")
    return message is None


def planted():
    """Whether each planted fault is found, and nothing is where there is none."""
    # What a fault leaves unused is no error here.
    command = [*compiler(), "-w", *ADDRESSES]
    asked = list(few_questions())
    found = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        copy(folder)

        def built(source, name):
            file = str(folder / name)
            subprocess.run([*command, "-c", "-o", file, str(folder / source)], check=True)
            return file

        def first_wrong(objects):
            subprocess.run([*command, "-o", str(folder / "user"), *objects], check=True)
            return wrong(str(folder / "user"), asked, PLANTED_SECONDS)

        sound = {source: built(source, f"{source}.o") for source in SOURCES}
        held = report("without a planted fault", *first_wrong(sound.values()))
        for file, text, fault in FAULTS:
            before = (HERE / file).read_text()
            if before.count(text) != 1:
                print(f"planted fault: {file} does not contain once: {text!r}")
                continue
            (folder / file).write_text(before.replace(text, fault))
            faulty = sound | {file: built(file, "planted.o")}
            message, count = first_wrong(faulty.values())
            if message:
                found += 1
            else:
                print(f"planted fault: not found in {count} answers: {file}: {fault!r}")
            (folder / file).write_text(before)
    print(f"planted faults: {found} of {len(FAULTS)} were found")
    return held and found == len(FAULTS)


def main(arguments):
    if arguments == ["--build"]:
        with tempfile.TemporaryDirectory() as folder:
            copy(folder)
            program = compiled(folder, "user", [])
            held = report("as it is", *wrong(program, questions(far=True)))
            program = compiled(folder, "sanitized", [*ADDRESSES, *UNDEFINED])
            held &= report("sanitized", *wrong(program, questions(far=False)))
        return 0 if held and planted() else 1
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    return 0 if report(arguments[0], *wrong(arguments[0], questions(far=True))) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
