/*
 * What tenbin calls in a file that it weighs. `tenbin include` prints this page.
 *
 *     tenbin weigh a.c b.c
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef TENBIN_H
#define TENBIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Required. Does `n` operations, one after the other, on what tenbin_setup() returned (or tenbin_thread(), where
 * there is that), and returns evidence:
 * a number made of all that was computed. So no compiler can leave work out, and files whose evidence for
 * the same operations differs are not weighed, for they do different things. Without evidence return 0 in
 * all of them.
 */
uint64_t tenbin_run(void *state, uint64_t n);

/* Each of these may be left out. */

/* Called once, before everything else: whatever the operations work on. Without it `state` is NULL. */
void *tenbin_setup(void);

/* Called before anything is timed, after a few operations: NULL, or what is wrong, in words. */
const char *tenbin_check(void *state);

/* Makes `state` wrong on purpose. tenbin_check(), or the evidence from here on, has to show it. */
void tenbin_fault(void *state);

/*
 * Called once in each thread that does operations, with its number from 0: what they work on there. Without it all
 * threads work on what tenbin_setup() returned. `tenbin weigh --threads` says how many they are.
 */
void *tenbin_thread(void *state, unsigned int number);

#ifdef __cplusplus
}
#endif

#endif
