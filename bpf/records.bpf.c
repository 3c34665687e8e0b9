// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Where the time of a command goes, on a kernel that says nothing of its types: by raw tracepoints where what they
// hand on can be read without those, and by the records of the others, whose layout is checked before this is loaded
// (/sys/kernel/tracing/events/*/*/format).

#define RECORDS
#include "profile.h"

SEC("raw_tp/sys_enter")
int entered(struct bpf_raw_tracepoint_args *context)
{
	struct cpu *cpu = this_cpu(0);
	struct thread *thread;
	__u32 row = row_of(context->args[1]);

	if (!cpu || !cpu->slot || is_untimed(cpu, row))
		return 0;
	thread = in_slot(cpu->slot);
	if (thread)
		enter_call(cpu, thread, row);
	return 0;
}

SEC("raw_tp/sys_exit")
int left(struct bpf_raw_tracepoint_args *context)
{
	struct cpu *cpu = this_cpu(0);

	if (cpu && cpu->slot)
		leave_call(cpu, context->args[1]);
	return 0;
}

struct sched_switch {
	__u64 common;
	char prev_comm[NAME];
	int prev_pid;
	int prev_prio;
	long prev_state;
	char next_comm[NAME];
	int next_pid;
};

// The states of a thread that waits; the bit above says that it was preempted (include/linux/sched.h, TASK_REPORT_MAX).
#define WAITS 0xff

SEC("tracepoint/sched/sched_switch")
int switched(struct sched_switch *record)
{
	return switch_to(record->prev_state & WAITS, record->next_pid);
}

struct sched_waking {
	__u64 common;
	char comm[NAME];
	int pid;
};

SEC("tracepoint/sched/sched_waking")
int waking(struct sched_waking *record)
{
	return wake(record->pid);
}

struct task_newtask {
	__u64 common;
	int pid;
};

// Of which process it is, is known when it ends.
SEC("tracepoint/task/task_newtask")
int forked(struct task_newtask *record)
{
	return fork(record->pid, 0);
}

SEC("raw_tp/sched_process_exec")
int executed(struct bpf_raw_tracepoint_args *context)
{
	return execute(context->args[1]);
}

SEC("raw_tp/sched_process_exit")
int exited(void *context)
{
	return end();
}
