/*
 * Asks /dev/fibonacci, in a guest, for all that its documentation promises.
 *
 * Usage: client SECTION. A section is `numbers`, `errors`, `readers`, `signals` or `leaks`. The module was loaded with
 * max_n=10000000. Each section writes how many checks held, or what did not, and then it ends with status 1.
 *
 * What is expected is computed here by additions, to the base of 2^64 and of 10^9.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEVICE "/dev/fibonacci"
#define SYSFS "/sys/class/misc/fibonacci/"
#define MAX 10000000
#define SMALL 2000
#define LARGE 100000

static const char *const algorithms[] = {"doubling", "branchless", "iterative", "decimal", "decimal-sized"};
enum { ALGORITHMS = 5, BINARY = 3 };

static unsigned held;

/* An address that is nobody's, and of which the compiler does not know that. */
static void *volatile nowhere = (void *)8;

#define check(condition) check_that(condition, #condition, __LINE__)

static void check_that(int condition, const char *text, int line)
{
	if (!condition) {
		printf("line %d: %s (errno %d, %s)\n", line, text, errno, strerror(errno));
		exit(1);
	}
	held++;
}

/* Whether a call failed, and with this number. */
static int fails(long result, int number)
{
	return result == -1 && errno == number;
}

struct number {
	size_t size;
	uint8_t *bytes;
};

static uint64_t two[2][LARGE / 92 + 2];
static uint32_t ten[2][SMALL / 42 + 2];
static struct number limbs[SMALL + 1], digits[SMALL + 1];

static struct number keep(const void *from, size_t count, size_t each)
{
	struct number number = {count * each, malloc(count * each + 1)};

	if (!number.bytes)
		exit(70);
	memcpy(number.bytes, from, number.size);
	return number;
}

/* The elder of two numbers becomes their sum; the length of the younger one then. */
static size_t add_limbs(uint64_t *elder, const uint64_t *younger, size_t length)
{
	uint64_t carry = 0;

	for (size_t at = 0; at <= length; at++) {
		unsigned __int128 sum = (unsigned __int128)elder[at] + younger[at] + carry;

		elder[at] = sum;
		carry = sum >> 64;
	}
	return length + (elder[length] != 0);
}

static size_t add_digits(uint32_t *elder, const uint32_t *younger, size_t length)
{
	uint32_t carry = 0;

	for (size_t at = 0; at <= length; at++) {
		uint32_t sum = elder[at] + younger[at] + carry;

		elder[at] = sum % 1000000000;
		carry = sum / 1000000000;
	}
	return length + (elder[length] != 0);
}

/* The numbers as far as SMALL, and the last two of them in `two` after it. */
static void expect_small(void)
{
	size_t of_two = 0, of_ten = 0;

	two[1][0] = 1;
	ten[1][0] = 1;
	for (int n = 0; n <= SMALL; n++) {
		limbs[n] = keep(two[n % 2], of_two, 8);
		digits[n] = keep(ten[n % 2], of_ten, 4);
		/* F(1) is there already, and F(n + 1) goes where F(n - 1) is. */
		if (n == 0) {
			of_two = of_ten = 1;
		} else if (n < SMALL) {
			of_two = add_limbs(two[(n + 1) % 2], two[n % 2], of_two);
			of_ten = add_digits(ten[(n + 1) % 2], ten[n % 2], of_ten);
		}
	}
}

static void put(const char *path, const char *text)
{
	int file = open(path, O_WRONLY);

	check(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
	close(file);
}

static unsigned long value(const char *path)
{
	char text[32];
	int file = open(path, O_RDONLY);
	ssize_t size = read(file, text, sizeof text - 1);
	unsigned long number;
	char *end;

	check(size > 0);
	text[size] = 0;
	close(file);
	number = strtoul(text, &end, 10);
	check(text[0] >= '0' && text[0] <= '9' && strcmp(end, "\n") == 0);
	return number;
}

/* What is told of the last read, as n, limbs, and three times; whether it is five numbers and no more. */
static int last(unsigned long *told)
{
	char text[128];
	int file = open(SYSFS "last", O_RDONLY), end = 0;
	ssize_t size = read(file, text, sizeof text - 1);

	check(size > 0);
	text[size] = 0;
	close(file);
	return sscanf(text, "%lu %lu %lu %lu %lu\n%n", &told[0], &told[1], &told[2], &told[3], &told[4], &end) == 5 &&
	       end == size;
}

static int open_with(int algorithm)
{
	int file;

	put(SYSFS "algorithm", algorithms[algorithm]);
	file = open(DEVICE, O_RDONLY);
	check(file >= 0);
	return file;
}

static int gives(int file, long n, struct number expected)
{
	static uint8_t bytes[LARGE / 10 + 8];

	return pread(file, bytes, sizeof bytes, n) == (ssize_t)expected.size &&
	       memcmp(bytes, expected.bytes, expected.size) == 0;
}

static struct number small(int algorithm, int n)
{
	return algorithm < BINARY ? limbs[n] : digits[n];
}

static uint64_t state = 6;

static unsigned chance(unsigned below)
{
	state = state * 6364136223846793005 + 1442695040888963407;
	return (state >> 33) % below;
}

/* All small numbers, and 200 larger ones by both ways of doubling. */
static void numbers(void)
{
	int files[ALGORITHMS];
	size_t length;
	unsigned larger = 0;

	expect_small();
	for (int at = 0; at < ALGORITHMS; at++) {
		files[at] = open_with(at);
		for (int n = 0; n <= SMALL; n++)
			check(gives(files[at], n, small(at, n)));
	}
	length = limbs[SMALL].size / 8;
	for (int n = SMALL; n <= LARGE; n++) {
		struct number number = {length * 8, (uint8_t *)two[n % 2]};

		/* One of a group of 490, and so 200 of them, and the last. */
		if (n % 490 == 0 || n == LARGE) {
			check(gives(files[0], n, number));
			check(gives(files[1], n, number));
			larger++;
		}
		if (n % 24500 == 0)
			check(gives(files[2], n, number));
		length = add_limbs(two[(n + 1) % 2], two[n % 2], length);
	}
	check(larger >= 200);
}

static void errors(void)
{
	uint8_t bytes[128], untouched[128];
	unsigned long told[5];
	struct iovec parts[2] = {{bytes, 80}, {bytes + 100, 20}};
	int file, other;
	char *edge;

	expect_small();
	file = open_with(0);
	check(lseek(file, 0, SEEK_END) == MAX);
	check(lseek(file, -MAX, SEEK_END) == 0);
	check(lseek(file, MAX, SEEK_CUR) == MAX);
	check(fails(lseek(file, 1, SEEK_CUR), EINVAL));
	check(fails(lseek(file, INT64_MAX, SEEK_CUR), EINVAL));
	check(fails(lseek(file, 1, SEEK_END), EINVAL));
	check(fails(lseek(file, INT64_MAX, SEEK_END), EINVAL));
	check(fails(lseek(file, -MAX - 1, SEEK_END), EINVAL));
	check(fails(lseek(file, MAX + 1, SEEK_SET), EINVAL));
	check(fails(lseek(file, -1, SEEK_SET), EINVAL));
	check(fails(lseek(file, INT64_MIN, SEEK_SET), EINVAL));
	check(fails(lseek(file, 0, SEEK_DATA), EINVAL));
	check(fails(lseek(file, 0, 99), EINVAL));
	/* What failed did not move the position. */
	check(lseek(file, 0, SEEK_CUR) == MAX);

	check(fails(pread(file, bytes, sizeof bytes, MAX + 1), EINVAL));
	check(fails(pread(file, bytes, sizeof bytes, INT64_MAX), EINVAL));
	check(fails(pread(file, bytes, sizeof bytes, -1), EINVAL));
	check(pread(file, bytes, 0, 0) == 0);
	check(fails(pread(file, bytes, 0, 1), ERANGE));
	check(pread(file, bytes, 8, 93) == 8);
	check(fails(pread(file, bytes, 8, 94), ERANGE));
	memset(bytes, 0xa5, sizeof bytes);
	memset(untouched, 0xa5, sizeof untouched);
	check(fails(pread(file, bytes, 87, 1000), ERANGE));
	check(memcmp(bytes, untouched, sizeof bytes) == 0);
	check(pread(file, bytes, 88, 1000) == 88);
	check(memcmp(bytes, limbs[1000].bytes, 88) == 0);
	check(memcmp(bytes + 88, untouched, 40) == 0);

	/* A read leaves the position, and its number may go to several places. */
	check(lseek(file, 1000, SEEK_SET) == 1000);
	check(readv(file, parts, 2) == 88);
	check(memcmp(bytes, limbs[1000].bytes, 80) == 0 && memcmp(bytes + 100, limbs[1000].bytes + 80, 8) == 0);
	check(read(file, bytes, 88) == 88 && read(file, bytes, 88) == 88);
	check(lseek(file, 0, SEEK_CUR) == 1000);
	check(value(SYSFS "last_n") == 1000 && value(SYSFS "last_limbs") == 11);
	/* Numbers, as which anything is right. */
	value(SYSFS "allocate_ns");
	value(SYSFS "compute_ns");
	value(SYSFS "copy_ns");
	check(last(told) && told[0] == 1000 && told[1] == 11);
	check(told[2] == value(SYSFS "allocate_ns") && told[3] == value(SYSFS "compute_ns"));
	check(told[4] == value(SYSFS "copy_ns"));

	edge = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(edge != MAP_FAILED && munmap(edge + 4096, 4096) == 0);
	check(fails(pread(file, nowhere, 88, 1000), EFAULT));
	check(fails(pread(file, edge + 4096 - 48, 88, 1000), EFAULT));
	check(pread(file, edge + 4096 - 88, 88, 1000) == 88);

	check(fails(write(file, bytes, 8), EBADF));
	other = open(DEVICE, O_RDWR);
	check(other >= 0 && fails(write(other, bytes, 8), EINVAL));
	check(fails(pwrite(other, bytes, 8, 3), EINVAL));
	close(other);

	/* What cannot be enough is refused before the hours that the number takes. */
	for (int at = BINARY - 1; at < ALGORITHMS; at++) {
		other = open_with(at);
		check(fails(pread(other, bytes, 1, MAX), ERANGE));
		check(fails(pread(other, bytes, sizeof bytes, MAX), ERANGE));
		close(other);
	}

	/* An open file keeps its algorithm; a name that is none changes nothing. */
	other = open_with(3);
	check(gives(file, 1000, limbs[1000]) && gives(other, 1000, digits[1000]));
	close(other);
	other = open(SYSFS "algorithm", O_RDWR);
	check(fails(write(other, "fastest", 7), EINVAL));
	check(fails(write(other, "decimal-", 8), EINVAL));
	check(fails(write(other, "\n", 1), EINVAL));
	check(pread(other, bytes, sizeof bytes, 0) > 0 &&
	      memcmp(bytes, "doubling branchless iterative [decimal] decimal-sized\n", 54) == 0);
	close(other);

	/* A module that is in use stays. */
	check(fails(syscall(SYS_delete_module, "fibdrv", O_NONBLOCK), EAGAIN));
	close(file);
}

/*
 * Eight at a time, while the algorithm for the next ones changes all the time. What is told of the last read is of one
 * read: n and the limbs of F(n) fit together, whoever it was.
 */
static void readers(void)
{
	enum { READERS = 8, READS = 500 };
	pid_t children[READERS];
	int files[READERS];
	unsigned long told[5];
	int status;

	expect_small();
	/* All are opened first: the readers change the algorithm. */
	for (int at = 0; at < READERS; at++)
		files[at] = open_with(at % ALGORITHMS);
	for (int at = 0; at < READERS; at++) {
		children[at] = fork();
		check(children[at] >= 0);
		if (children[at] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			state += at;
			for (int turn = 0; turn < READS; turn++) {
				unsigned n = chance(SMALL + 1);

				check(gives(files[at], n, small(at % ALGORITHMS, n)));
				check(last(told) && told[0] <= SMALL);
				check(told[1] == limbs[told[0]].size / 8 || told[1] == (digits[told[0]].size + 7) / 8);
				if (turn % 16 == 0)
					put(SYSFS "algorithm", algorithms[chance(ALGORITHMS)]);
			}
			_exit(0);
		}
	}
	for (int at = 0; at < READERS; at++) {
		close(files[at]);
		check(waitpid(children[at], &status, 0) == children[at] && status == 0);
		held += READS;
	}
}

static void heard(int number)
{
	(void)number;
}

/* Clock ticks that a process has spent in the kernel. */
static unsigned long ticks(pid_t child)
{
	char path[64], text[512];
	unsigned long spent = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/stat", child);
	file = fopen(path, "r");
	check(file != NULL);
	text[fread(text, 1, sizeof text - 1, file)] = 0;
	fclose(file);
	check(sscanf(strrchr(text, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %lu", &spent) == 1);
	return spent;
}

/* A child that reads what takes hours, once it has been at it for some ticks. */
static pid_t long_reader(int algorithm)
{
	int file = open_with(algorithm);
	pid_t child = fork();

	check(child >= 0);
	if (child == 0) {
		struct sigaction action = {.sa_handler = heard};
		static uint8_t bytes[MAX / 10 + 8];

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigaction(SIGUSR1, &action, NULL);
		_exit(fails(pread(file, bytes, sizeof bytes, MAX), EINTR) ? 3 : 4);
	}
	close(file);
	while (ticks(child) < 10) {
		int status;

		check(waitpid(child, &status, WNOHANG) == 0);
		usleep(10000);
	}
	return child;
}

/* Interrupts a long read; the status that it ended with. Shows how long that took. */
static int interrupted(int algorithm, int number)
{
	struct timespec begin, end;
	pid_t child = long_reader(algorithm);
	int status;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	check(kill(child, number) == 0);
	check(waitpid(child, &status, 0) == child);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%s ended %.1f ms after signal %d\n", algorithms[algorithm],
	       (end.tv_sec - begin.tv_sec) * 1e3 + (end.tv_nsec - begin.tv_nsec) / 1e6, number);
	return status;
}

/* Each read would take minutes or hours, so that it ends at all is the check. */
static void signals(void)
{
	int status;

	for (int at = BINARY - 1; at < ALGORITHMS; at++) {
		status = interrupted(at, SIGKILL);
		check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	status = interrupted(2, SIGUSR1);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

/* Objects of all caches for kmalloc; where they are checked, none is kept for later. */
static long objects(void)
{
	char line[512], name[64];
	long sum = 0, active;
	FILE *file = fopen("/proc/slabinfo", "r");

	check(file != NULL);
	while (fgets(line, sizeof line, file))
		if (sscanf(line, "%63s %ld", name, &active) == 2 && strncmp(name, "kmalloc-", 8) == 0)
			sum += active;
	fclose(file);
	return sum;
}

static long available(void)
{
	char line[128];
	long size = -1;
	FILE *file = fopen("/proc/meminfo", "r");

	check(file != NULL);
	while (fgets(line, sizeof line, file))
		if (sscanf(line, "MemAvailable: %ld kB", &size) == 1)
			break;
	fclose(file);
	check(size > 0);
	return size;
}

static void leaks(void)
{
	enum { READS = 4000, LARGE_READS = 400 };
	uint8_t bytes[LARGE / 10 + 8];
	long before, after, memory;

	for (int at = 0; at < ALGORITHMS; at++) {
		int file = open_with(at);

		/* Answered, refused, and faulty ones: each must free what it took. */
		before = objects();
		for (int turn = 0; turn < READS; turn += 3) {
			check(pread(file, bytes, sizeof bytes, 150) > 0);
			check(fails(pread(file, bytes, 1, 150), ERANGE));
			check(fails(pread(file, nowhere, sizeof bytes, 150), EFAULT));
		}
		after = objects();
		printf("%s: %+ld objects after %d reads\n", algorithms[at], after - before, READS);
		check(after - before < READS / 4);
		close(file);
	}
	/* Those are no objects of a cache. */
	int file = open_with(0);

	check(pread(file, bytes, sizeof bytes, LARGE) > 0);
	memory = available();
	for (int turn = 0; turn < LARGE_READS; turn++)
		check(pread(file, bytes, sizeof bytes, LARGE) > 0);
	memory -= available();
	printf("doubling: %ld KiB less after %d reads of 26 KiB\n", memory, LARGE_READS);
	check(memory < LARGE_READS * 26 / 2);
	close(file);
}

int main(int count, char **words)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} sections[] = {
		{"numbers", numbers}, {"errors", errors}, {"readers", readers}, {"signals", signals}, {"leaks", leaks},
	};

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t at = 0; count == 2 && at < sizeof sections / sizeof *sections; at++) {
		if (strcmp(words[1], sections[at].name) == 0) {
			sections[at].run();
			printf("%s: %u checks held\n", words[1], held);
			return 0;
		}
	}
	return 64;
}
