/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* wake_kept in Promela: as in the firmware, two_flags with the wake flag where clearing does not come. */
#define WAKE_KEPT
#include "two_flags.pml"
