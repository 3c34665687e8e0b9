/*
 * Calls one function of the C library, once, so that a tracer can see what becomes of the call.
 *
 * Usage: probe CASE. What a case needs is made before its call and by other functions, because the tracer takes the
 * first call that comes from this file. Compiled without built-in functions and without tail calls: each call must be
 * a call of the function that is named.
 *
 * Exit status: 0, or 64 for a case that is not known, or 70 where something failed.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char *self;
static int ends[2] = {-1, -1};
static void *kept;

static void must(int held)
{
	if (!held)
		_exit(70);
}

static void a_pipe(void)
{
	must(pipe(ends) == 0);
}

static void a_full_pipe(void)
{
	a_pipe();
	must(write(ends[1], "tenbin\n", 7) == 7);
}

static void call_fork(void)
{
	pid_t child = fork();

	must(child >= 0);
	if (child == 0)
		_exit(0);
	must(waitpid(child, NULL, 0) == child);
}

static void call_vfork(void)
{
	pid_t child = vfork();

	if (child == 0)
		_exit(0);
	must(child > 0);
	must(waitpid(child, NULL, 0) == child);
}

static void call_posix_spawn(void)
{
	char *arguments[] = {self, "nothing", NULL};
	char *environment[] = {NULL};
	pid_t child;

	must(posix_spawn(&child, self, NULL, NULL, arguments, environment) == 0);
	must(waitpid(child, NULL, 0) == child);
}

static void *nothing_to_do(void *argument)
{
	return argument;
}

static void call_pthread_create(void)
{
	pthread_t thread;

	must(pthread_create(&thread, NULL, nothing_to_do, NULL) == 0);
	must(pthread_join(thread, NULL) == 0);
}

static void call_printf(void)
{
	must(printf("ten%s %d\n", "bin", 42) == 10);
}

static void call_puts(void)
{
	must(puts("tenbin") >= 0);
}

static void call_read(void)
{
	char bytes[16];

	must(read(ends[0], bytes, sizeof bytes) == 7);
}

static void call_write(void)
{
	must(write(ends[1], "tenbin\n", 7) == 7);
}

static void call_open(void)
{
	must(open("/dev/null", O_RDWR | O_CLOEXEC) >= 0);
}

static void call_close(void)
{
	must(close(ends[0]) == 0);
}

static void call_malloc_small(void)
{
	kept = malloc(100);
	must(kept != NULL);
}

static void call_malloc_large(void)
{
	kept = malloc(1 << 20);
	must(kept != NULL);
}

static void small_memory(void)
{
	kept = calloc(1, 100);
	must(kept != NULL);
}

static void large_memory(void)
{
	kept = calloc(1, 1 << 20);
	must(kept != NULL);
}

static void call_free(void)
{
	free(kept);
}

static void call_getpid(void)
{
	must(getpid() > 0);
}

static void call_getppid(void)
{
	must(getppid() >= 0);
}

static void call_time(void)
{
	must(time(NULL) != (time_t)-1);
}

static void call_gettimeofday(void)
{
	struct timeval now;

	must(gettimeofday(&now, NULL) == 0);
}

static void call_clock_gettime(void)
{
	struct timespec now;

	must(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
}

static void call_nanosleep(void)
{
	struct timespec short_time = {0, 1000000};

	must(nanosleep(&short_time, NULL) == 0);
}

static void call_sleep(void)
{
	must(sleep(0) == 0);
}

static void call_system(void)
{
	must(system("exit 0") == 0);
}

static void call_popen(void)
{
	FILE *stream = popen("exit 0", "r");

	must(stream != NULL);
	must(pclose(stream) == 0);
}

static void call_exit(void)
{
	exit(0);
}

static void call_abort(void)
{
	abort();
}

static void call_raise(void)
{
	must(raise(SIGURG) == 0);
}

static sem_t semaphore;

static void a_free_semaphore(void)
{
	must(sem_init(&semaphore, 0, 1) == 0);
}

static void call_sem_wait(void)
{
	must(sem_wait(&semaphore) == 0);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void call_pthread_mutex_lock(void)
{
	must(pthread_mutex_lock(&mutex) == 0);
}

static void call_dlopen(void)
{
	/* Where the library is part of another file there is nothing to load, and that is an answer, too. */
	kept = dlopen("libm.so.6", RTLD_NOW);
}

static void call_signal(void)
{
	must(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
}

static void call_sigaction(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof action);
	action.sa_handler = SIG_IGN;
	must(sigaction(SIGUSR1, &action, NULL) == 0);
}

static void call_mmap(void)
{
	kept = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(kept != MAP_FAILED);
}

static void call_brk(void)
{
	char *end = sbrk(0);

	must(brk(end + 4096) == 0);
}

static void call_sbrk(void)
{
	must(sbrk(4096) != (void *)-1);
}

static void call_getrandom(void)
{
	char bytes[16];

	must(getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
}

static void call_stat(void)
{
	struct stat found;

	must(stat("/dev/null", &found) == 0);
}

static void call_opendir(void)
{
	must(opendir("/") != NULL);
}

static void call_isatty(void)
{
	isatty(1);
}

#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 30)
#define HAS_GETTID
#endif
#if __GLIBC_PREREQ(2, 36)
#define HAS_ARC4RANDOM
#endif
#else
#define HAS_GETTID
#endif

#ifdef HAS_GETTID
static void call_gettid(void)
{
	must(gettid() > 0);
}
#endif

#ifdef HAS_ARC4RANDOM
static void call_arc4random(void)
{
	arc4random();
}
#endif

static void none(void)
{
}

static const struct {
	const char *name;
	void (*before)(void);
	void (*call)(void);
} cases[] = {
	{"nothing", none, none},
	{"fork", none, call_fork},
	{"vfork", none, call_vfork},
	{"posix_spawn", none, call_posix_spawn},
	{"pthread_create", none, call_pthread_create},
	{"printf", none, call_printf},
	{"puts", none, call_puts},
	{"read", a_full_pipe, call_read},
	{"write", a_pipe, call_write},
	{"open", none, call_open},
	{"close", a_pipe, call_close},
	{"malloc-small", none, call_malloc_small},
	{"malloc-large", none, call_malloc_large},
	{"free-small", small_memory, call_free},
	{"free-large", large_memory, call_free},
	{"getpid", none, call_getpid},
	{"getppid", none, call_getppid},
#ifdef HAS_GETTID
	{"gettid", none, call_gettid},
#endif
	{"time", none, call_time},
	{"gettimeofday", none, call_gettimeofday},
	{"clock_gettime", none, call_clock_gettime},
	{"nanosleep", none, call_nanosleep},
	{"sleep", none, call_sleep},
	{"system", none, call_system},
	{"popen", none, call_popen},
	{"exit", none, call_exit},
	{"abort", none, call_abort},
	{"raise", none, call_raise},
	{"sem_wait", a_free_semaphore, call_sem_wait},
	{"pthread_mutex_lock", none, call_pthread_mutex_lock},
	{"dlopen", none, call_dlopen},
	{"signal", none, call_signal},
	{"sigaction", none, call_sigaction},
	{"mmap", none, call_mmap},
	{"brk", none, call_brk},
	{"sbrk", none, call_sbrk},
	{"getrandom", none, call_getrandom},
#ifdef HAS_ARC4RANDOM
	{"arc4random", none, call_arc4random},
#endif
	{"stat", none, call_stat},
	{"opendir", none, call_opendir},
	{"isatty", none, call_isatty},
};

int main(int count, char **arguments)
{
	size_t number;

	if (count != 2)
		return 64;
	self = arguments[0];
	for (number = 0; number < sizeof cases / sizeof cases[0]; number++) {
		if (strcmp(cases[number].name, arguments[1]) != 0)
			continue;
		cases[number].before();
		cases[number].call();
		return 0;
	}
	return 64;
}
