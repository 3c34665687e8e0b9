// What starting a command costs at least: posix_spawn, waitpid, and a clock around both.
//
//   launch times COUNT PROGRAM ARGUMENT...   runs it so often, and prints the nanoseconds of each run
//   launch peak PROGRAM ARGUMENT...          runs it once, and ends its standard error with a line "peak KIB"
//
// The peak is ru_maxrss of wait4(2): that of the program or of the largest process that it has waited for.
// The status is that of a run that failed, and 125 where nothing could be run.

#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int status_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}

static int times(long runs, char **command)
{
    long long *spent = calloc(runs, sizeof *spent);
    if (!spent)
        return 125;
    for (long run = 0; run < runs; run++) {
        pid_t child;
        int status;
        long long begun = now();
        if (posix_spawnp(&child, command[0], NULL, NULL, command, environ) || waitpid(child, &status, 0) != child)
            return 125;
        spent[run] = now() - begun;
        if (status_of(status))
            return status_of(status);
    }
    for (long run = 0; run < runs; run++)
        printf("%lld\n", spent[run]);
    return 0;
}

static int peak(char **command)
{
    pid_t child;
    int status;
    struct rusage usage;
    if (posix_spawnp(&child, command[0], NULL, NULL, command, environ) || wait4(child, &status, 0, &usage) != child)
        return 125;
    fprintf(stderr, "\npeak %ld\n", usage.ru_maxrss);
    return status_of(status);
}

int main(int count, char **words)
{
    if (count > 3 && !strcmp(words[1], "times")) {
        long runs = strtol(words[2], NULL, 10);
        return runs > 0 ? times(runs, words + 3) : 125;
    }
    if (count > 2 && !strcmp(words[1], "peak"))
        return peak(words + 2);
    return 125;
}
