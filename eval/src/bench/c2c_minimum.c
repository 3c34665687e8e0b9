/*
 * The shortest time in which one core hears from another: the yardstick of `cargo xtask bench c2c`.
 *
 *     c2c_minimum CPU CPU SAMPLES TRIPS
 *
 * Two threads, each held on its CPU, pass a number to and fro through two words on two cache lines.
 * A word is written by one thread only, with a release store, and awaited by the other with acquire
 * loads. A sample is the time of TRIPS round trips. Printed is the shortest sample as nanoseconds for
 * one way: whatever disturbs a round trip makes it longer, so the shortest is the least disturbed.
 * The method is that of c2clat (Erik Rigtorp, https://github.com/rigtorp/c2clat); the program is not.
 *
 * Ends with 0; with 1 if the machine did not do what was asked; with 2 if the arguments are wrong; and
 * by SIGALRM if it is still running after a minute.
 */

#define _GNU_SOURCE

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    /* More than any line, and more than the pair of lines that some prefetchers fetch. */
    APART = 256,
    LONGEST_SECONDS = 60
};

struct line {
    alignas(APART) _Atomic uint32_t turn;
};

static struct line there, back;

struct answering {
    int cpu;
    uint32_t turns;
    /* Where the thread was found when all turns were taken. */
    int found_on;
};

/* Turns never repeat, so nobody has to put the words back between two samples. */
static void *answer(void *argument)
{
    struct answering *answering = argument;
    for (uint32_t turn = 1; turn <= answering->turns; turn++) {
        while (atomic_load_explicit(&there.turn, memory_order_acquire) != turn)
            ;
        atomic_store_explicit(&back.turn, turn, memory_order_release);
    }
    answering->found_on = sched_getcpu();
    return NULL;
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int64_t shortest(uint32_t samples, uint32_t trips)
{
    int64_t best = INT64_MAX;
    uint32_t turn = 0;
    for (uint32_t sample = 0; sample < samples; sample++) {
        int64_t begun = now();
        for (uint32_t trip = 0; trip < trips; trip++) {
            turn++;
            atomic_store_explicit(&there.turn, turn, memory_order_release);
            while (atomic_load_explicit(&back.turn, memory_order_acquire) != turn)
                ;
        }
        int64_t took = now() - begun;
        if (took < best)
            best = took;
    }
    return best;
}

static int refuse(const char *what, int error)
{
    fprintf(stderr, "%s: %s\n", what, strerror(error));
    return 1;
}

/* A whole number from `least` to `most`, or -1. */
static long number(const char *text, long least, long most)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    return errno != 0 || end == text || *end != '\0' || value < least || value > most ? -1 : value;
}

int main(int count, char **words)
{
    long one = count == 5 ? number(words[1], 0, CPU_SETSIZE - 1) : -1;
    long other = count == 5 ? number(words[2], 0, CPU_SETSIZE - 1) : -1;
    long samples = count == 5 ? number(words[3], 1, 1000000) : -1;
    long trips = count == 5 ? number(words[4], 1, 1000) : -1;
    if (one < 0 || other < 0 || one == other || samples < 0 || trips < 0) {
        fprintf(stderr, "usage: c2c_minimum CPU CPU SAMPLES TRIPS\n");
        return 2;
    }
    /* A thread that waits for one that never comes would wait for ever. */
    alarm(LONGEST_SECONDS);

    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(one, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        return refuse("hold the asking thread on its CPU", errno);

    CPU_ZERO(&set);
    CPU_SET(other, &set);
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error == 0)
        error = pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
    struct answering answering = {(int)other, (uint32_t)(samples * trips), -1};
    pthread_t thread;
    if (error == 0)
        error = pthread_create(&thread, &attributes, answer, &answering);
    if (error != 0)
        return refuse("hold the answering thread on its CPU", error);

    int64_t best = shortest((uint32_t)samples, (uint32_t)trips);
    int found_on = sched_getcpu();
    error = pthread_join(thread, NULL);
    if (error != 0)
        return refuse("wait for the answering thread", error);
    if (found_on != one || answering.found_on != answering.cpu) {
        fprintf(stderr, "the threads were found on CPU %d and CPU %d\n", found_on, answering.found_on);
        return 1;
    }
    printf("%.3f\n", (double)best / 2 / (double)trips);
    return 0;
}
