// One program, whose parts are switched on by its words: NAME=AMOUNT each, done in their order. Lengths are in
// microseconds, and spinning is counted by the clock of the thread.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int is_held;
static long hold;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void nap(long length)
{
	struct timespec time = {length / 1000000, length % 1000000 * 1000};

	if (nanosleep(&time, 0))
		die("nanosleep");
}

// Additions of which this machine does so many in a microsecond, roughly.
static void spin(long length)
{
	volatile long sum = 0;

	for (long i = 0; i < length * 400; i++)
		sum += i;
}

static void *hold_asleep(void *unused)
{
	pthread_mutex_lock(&lock);
	is_held = 1;
	nap(hold);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *hold_spinning(void *unused)
{
	pthread_mutex_lock(&lock);
	is_held = 1;
	spin(hold);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void wait_for(void *(*holder)(void *), long length)
{
	pthread_t thread;

	hold = length;
	if (pthread_create(&thread, 0, holder, 0))
		die("pthread_create");
	while (!is_held)
		;
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, 0);
}

static void touch(long pages)
{
	char *at = mmap(0, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		die("mmap");
	madvise(at, pages * 4096, MADV_NOHUGEPAGE);
	for (long page = 0; page < pages; page++)
		at[page * 4096] = 1;
}

static void reads(const char *path, size_t length, long number)
{
	static char buffer[1 << 20];
	int file = open(path, O_RDONLY);

	if (file < 0)
		die(path);
	for (long i = 0; i < number; i++)
		if (pread(file, buffer, length, 0) != (ssize_t)length)
			die("pread");
	close(file);
}

static void syncs(long number)
{
	int file = open("synced", O_RDWR | O_CREAT, 0600);

	if (file < 0)
		die("synced");
	for (long i = 0; i < number; i++)
		if (pwrite(file, "x", 1, i) != 1 || fsync(file))
			die("fsync");
	close(file);
	unlink("synced");
}

static void forks(long number)
{
	for (long i = 0; i < number; i++) {
		pid_t child = fork();

		if (child < 0)
			die("fork");
		if (!child)
			_exit(0);
		waitpid(child, 0, 0);
	}
}

// Calls of thirty kinds, which take about as long each: none of them is much of all.
static void of_all_kinds(long number)
{
	static const long kinds[] = {
		SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_gettid, SYS_getpid, SYS_umask,
		SYS_getpgid, SYS_getsid, SYS_getpriority, SYS_sched_getscheduler, SYS_sched_get_priority_max,
		SYS_sched_get_priority_min, SYS_personality, SYS_setfsuid, SYS_setfsgid, SYS_getgroups, SYS_close,
		SYS_dup, SYS_lseek, SYS_fsync, SYS_fdatasync, SYS_fchdir, SYS_ftruncate, SYS_readahead, SYS_flock,
		SYS_epoll_create, SYS_inotify_rm_watch, SYS_timer_delete,
	};
	const long kind = sizeof(kinds) / sizeof(*kinds);

	for (long i = 0; i < number; i++) {
		// A wrong descriptor, a wrong number: most of them fail at once.
		long wrong = kinds[i % kind] == SYS_personality ? 0xffffffffL : -1;

		if (kinds[i % kind] == SYS_umask)
			wrong = 022;
		if (kinds[i % kind] == SYS_getgroups)
			wrong = 0;
		syscall(kinds[i % kind], wrong, 0, 0);
	}
}

static void part(const char *name, long amount)
{
	if (!strcmp(name, "calls"))
		while (amount-- > 0)
			syscall(SYS_getppid);
	else if (!strcmp(name, "opens"))
		while (amount-- > 0)
			close(open("plant", O_RDONLY));
	else if (!strcmp(name, "failing"))
		while (amount-- > 0)
			access("absent", F_OK);
	else if (!strcmp(name, "sleep"))
		nap(amount);
	else if (!strcmp(name, "spin"))
		spin(amount);
	else if (!strcmp(name, "pages"))
		touch(amount);
	else if (!strcmp(name, "lock"))
		wait_for(hold_asleep, amount);
	else if (!strcmp(name, "busy-lock"))
		wait_for(hold_spinning, amount);
	else if (!strcmp(name, "forks"))
		forks(amount);
	else if (!strcmp(name, "long-reads"))
		reads("/dev/zero", 1 << 20, amount);
	else if (!strcmp(name, "short-reads"))
		reads("/dev/zero", 1 << 10, amount);
	else if (!strcmp(name, "quick-device"))
		reads("files/quick", 1 << 10, amount);
	else if (!strcmp(name, "slow-device"))
		reads("files/slow", 1 << 10, amount);
	else if (!strcmp(name, "syncs"))
		syncs(amount);
	else if (!strcmp(name, "kinds"))
		of_all_kinds(amount);
	else {
		fprintf(stderr, "plant: no part is called %s\n", name);
		exit(2);
	}
}

int main(int count, char **words)
{
	spin(20000);
	for (int i = 1; i < count; i++) {
		char *amount = strchr(words[i], '=');

		if (!amount)
			return 2;
		*amount = 0;
		part(words[i], atol(amount + 1));
	}
	return 0;
}
