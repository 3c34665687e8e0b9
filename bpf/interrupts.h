// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Where interrupts begin and end. Whoever includes this has functions interrupt_begins and interrupt_ends.
//
// No kind has a program with one that may interrupt it: the kernel does not call a program that runs on this CPU
// already, and what began would never be over if its end was not seen.

// Hard ones, of devices and on x86 of the timer: none interrupts another.
SEC("raw_tp")
int irq_begins(void *context)
{
	return interrupt_begins();
}

SEC("raw_tp")
int irq_ends(void *context)
{
	return interrupt_ends();
}

SEC("raw_tp")
int softirq_begins(void *context)
{
	return interrupt_begins();
}

SEC("raw_tp")
int softirq_ends(void *context)
{
	return interrupt_ends();
}
