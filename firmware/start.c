// SPDX-License-Identifier: MIT OR Apache-2.0
// What the boot hart does once .bss is clear, and the report to QEMU.
#include "boot.h"

word count_of_harts(void)
{
	word count = harts;

#ifdef QEMU
	if (count == 0)
		count = HARTS;
#endif
	return count;
}

__attribute__((weak)) void start_hart(word hart)
{
	(void)hart;
}

__attribute__((weak)) void start_all(word self)
{
	word count = count_of_harts();

	for (word hart = 0; hart < count; hart++) {
		if (hart != self)
			start_hart(hart);
	}
}

#ifdef QEMU
// How often each hart arrived. Only for the report: the handshakes know nothing of it.
static word arrivals[MOST_HARTS];

static void finish(unsigned int code)
{
	*(volatile unsigned int *)FINISHER = code;
	for (;;)
		;
}

void arrive(word hart);
void arrive(word hart)
{
	if (__atomic_fetch_add(&arrivals[hart], 1, __ATOMIC_ACQ_REL) != 0)
		finish(FINISH_WRONG);
}

void report(word self);
void report(word self)
{
	word count = count_of_harts();

	for (word hart = 0; hart < count; hart++) {
		if (hart == self)
			continue;
		while (__atomic_load_n(&arrivals[hart], __ATOMIC_ACQUIRE) == 0)
			;
	}
	finish(FINISH_PASS);
}
#endif
