// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Where interrupts begin and end, hard and soft ones. Whoever includes this has functions interrupt_begins and
// interrupt_ends, and says by AT what kind of tracepoint it is.

AT("irq_handler_entry")
int irq_begins(void *context)
{
	return interrupt_begins();
}

AT("irq_handler_exit")
int irq_ends(void *context)
{
	return interrupt_ends();
}

AT("softirq_entry")
int softirq_begins(void *context)
{
	return interrupt_begins();
}

AT("softirq_exit")
int softirq_ends(void *context)
{
	return interrupt_ends();
}

// x86 only.
AT("local_timer_entry")
int timer_begins(void *context)
{
	return interrupt_begins();
}

AT("local_timer_exit")
int timer_ends(void *context)
{
	return interrupt_ends();
}
