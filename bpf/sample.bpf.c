// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Stacks of a command: where its threads are while they run, by a clock, and where they left their CPU, by every
// switch.
//
// What is written is small: stacks are kept once, in a map, and an event names them by a digest. Events go through a
// ring to the program that loaded this; what finds no room there is counted.
//
// Tracepoints: include/trace/events/{sched,irq}.h, arch/x86/include/asm/trace/irq_vectors.h. Stacks are walked by frame
// pointers in user space and as the kernel does in its own code (kernel/bpf/stackmap.c). The kernel's own map of
// stacks has one place for all that share the last bits of a hash: of a thousand stacks it loses thirty.

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#include "task.h"

// Frames of a stack (kernel.perf_event_max_stack), and stacks that are told apart.
#define DEPTH 127
#define STACKS 16384

enum { SAMPLE, AWAY, FORK };

struct event {
	__u64 at; // when it ended
	__u64 blocked;
	__u64 queued;
	__u64 user; // a stack, 0 for none
	__u64 kernel;
	__u32 kind;
	__u32 pid;
	__u32 tgid;
	__u32 other; // who woke it, 0 for an interrupt; of a process that begins, whose child it is
	char name[NAME];
	char by[NAME];
};

struct thread {
	__u64 out; // when it left its CPU, 0 while it is on one
	__u64 woken;
	__u64 user;
	__u64 kernel;
	__u32 tgid;
	__u32 armed; // its program has not begun
	__u32 first; // it is the command itself
	__u32 queued; // it left its CPU without going to sleep
	__u32 other;
	__u32 padding;
	char by[NAME];
};

struct course {
	__u64 began;
	__u64 ended;
	__u64 dropped; // events for which the ring had no room
	__u64 unkept; // stacks for which there was no room
	__u64 lost; // threads that were not followed, as too many lived at once
	__u32 parent; // the process that starts the command
	__u32 padding;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} events SEC(".maps");

// Addresses, the innermost first, then zeros.
struct stack {
	__u64 frames[DEPTH];
};

// Stacks by their digests.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STACKS);
	__type(key, __u64);
	__type(value, struct stack);
} stacks SEC(".maps");

// Where a CPU walks one.
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack);
} walks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct course);
} courses SEC(".maps");

// How deep a CPU is in interrupts.
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} interrupts SEC(".maps");

static const __u32 zero;

static __always_inline struct event *begin(__u32 kind)
{
	struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	struct course *course;

	if (!event) {
		course = bpf_map_lookup_elem(&courses, &zero);
		if (course)
			__sync_fetch_and_add(&course->dropped, 1);
		return 0;
	}
	__builtin_memset(event, 0, sizeof(*event));
	event->kind = kind;
	event->at = bpf_ktime_get_ns();
	return event;
}

// Whoever reads looks many times a second; to wake it for each would cost more than the events.
static __always_inline void end(struct event *event)
{
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

// Of 64 bits: among 16384 stacks two with the same one are as likely as 7 in 10^12.
static __noinline __u64 digest(struct stack *stack)
{
	__u64 digest = 0;
	int i;

	for (i = 0; i < DEPTH && stack->frames[i]; i++) {
		digest = (digest ^ stack->frames[i]) * 0x9e3779b97f4a7c15;
		digest ^= digest >> 32;
	}
	return digest;
}

static __always_inline __u64 stack(void *context, __u64 flags)
{
	struct stack *stack = bpf_map_lookup_elem(&walks, &zero);
	struct course *course;
	__u64 number;

	if (!stack || bpf_get_stack(context, stack, sizeof(*stack), flags) <= 0)
		return 0;
	number = digest(stack);
	if (bpf_map_lookup_elem(&stacks, &number))
		return number;
	bpf_map_update_elem(&stacks, &number, stack, BPF_NOEXIST);
	// Another CPU may have been first.
	if (bpf_map_lookup_elem(&stacks, &number))
		return number;
	course = bpf_map_lookup_elem(&courses, &zero);
	if (course)
		__sync_fetch_and_add(&course->unkept, 1);
	return 0;
}

SEC("perf_event")
int sampled(void *context)
{
	__u64 both = bpf_get_current_pid_tgid();
	__u32 pid = both;
	struct thread *thread = bpf_map_lookup_elem(&threads, &pid);
	struct event *event;

	if (!thread || thread->armed)
		return 0;
	event = begin(SAMPLE);
	if (!event)
		return 0;
	event->pid = pid;
	event->tgid = both >> 32;
	event->user = stack(context, BPF_F_USER_STACK);
	event->kernel = stack(context, 0);
	bpf_get_current_comm(event->name, sizeof(event->name));
	end(event);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, int preempted, struct task_struct *previous, struct task_struct *next)
{
	__u32 pid = previous->pid;
	struct thread *thread = pid ? bpf_map_lookup_elem(&threads, &pid) : 0;
	struct event *event;
	__u64 now, woken;

	if (thread && !thread->armed) {
		now = bpf_ktime_get_ns();
		thread->queued = preempted || !state_of(previous) || now - thread->woken < ON_THE_WAY;
		thread->woken = 0;
		thread->other = 0;
		thread->user = stack(ctx, BPF_F_USER_STACK);
		thread->kernel = stack(ctx, 0);
		thread->out = now;
	}
	pid = next->pid;
	thread = pid ? bpf_map_lookup_elem(&threads, &pid) : 0;
	if (!thread || !thread->out)
		return 0;
	event = begin(AWAY);
	if (event) {
		now = event->at;
		// Nobody was seen to wake one that was frozen.
		woken = thread->queued ? thread->out : thread->woken ? thread->woken : now;
		event->blocked = woken - thread->out;
		event->queued = now - woken;
		event->pid = pid;
		event->tgid = thread->tgid;
		event->user = thread->user;
		event->kernel = thread->kernel;
		event->other = thread->other;
		__builtin_memcpy(event->by, thread->by, sizeof(event->by));
		bpf_probe_read_kernel(event->name, sizeof(event->name), next->comm);
		end(event);
	}
	thread->out = 0;
	thread->woken = 0;
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *task)
{
	__u32 pid = task->pid;
	struct thread *thread = bpf_map_lookup_elem(&threads, &pid);
	__u32 *depth;

	if (!thread || (thread->out && (thread->queued || thread->woken)))
		return 0;
	thread->woken = bpf_ktime_get_ns();
	depth = bpf_map_lookup_elem(&interrupts, &zero);
	// An interrupt has no name, and what it came into has nothing to do with it.
	if (depth && *depth) {
		thread->other = 0;
		__builtin_memset(thread->by, 0, sizeof(thread->by));
		return 0;
	}
	thread->other = bpf_get_current_pid_tgid();
	bpf_get_current_comm(thread->by, sizeof(thread->by));
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	__u32 pid = bpf_get_current_pid_tgid();
	struct thread *from = bpf_map_lookup_elem(&threads, &pid);
	struct course *course = bpf_map_lookup_elem(&courses, &zero);
	struct thread thread = {};
	struct event *event;

	if (!course)
		return 0;
	if (!from) {
		if (!is_starter())
			return 0;
		course->parent = parent->tgid;
	} else if (from->armed) {
		return 0;
	}
	thread.armed = thread.first = !from;
	thread.tgid = child->tgid;
	pid = child->pid;
	if (bpf_map_update_elem(&threads, &pid, &thread, BPF_ANY)) {
		__sync_fetch_and_add(&course->lost, 1);
		return 0;
	}
	// A thread has the memory of its process; a process begins with that of another.
	if (!from || child->tgid == parent->tgid)
		return 0;
	event = begin(FORK);
	if (!event)
		return 0;
	event->pid = pid;
	event->tgid = child->tgid;
	event->other = parent->tgid;
	end(event);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(executed, struct task_struct *task, int old)
{
	struct course *course = bpf_map_lookup_elem(&courses, &zero);
	__u32 pid = task->pid, before = old;
	struct thread *thread = bpf_map_lookup_elem(&threads, &before);
	struct thread moved;

	if (!thread || !course)
		return 0;
	if (thread->armed) {
		thread->armed = 0;
		course->began = bpf_ktime_get_ns();
	}
	// A thread that is not its process's first takes the place of that.
	if (before != pid) {
		moved = *thread;
		bpf_map_update_elem(&threads, &pid, &moved, BPF_ANY);
		bpf_map_delete_elem(&threads, &before);
	}
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exited, struct task_struct *task)
{
	__u32 pid = task->pid;
	struct thread *thread = bpf_map_lookup_elem(&threads, &pid);
	struct course *course = bpf_map_lookup_elem(&courses, &zero);

	if (!thread || !course)
		return 0;
	if (thread->first && !thread->armed)
		course->ended = bpf_ktime_get_ns();
	bpf_map_delete_elem(&threads, &pid);
	return 0;
}

static __always_inline int interrupt_begins(void)
{
	__u32 *depth = bpf_map_lookup_elem(&interrupts, &zero);

	if (depth)
		++*depth;
	return 0;
}

static __always_inline int interrupt_ends(void)
{
	__u32 *depth = bpf_map_lookup_elem(&interrupts, &zero);

	// One that had begun when this was attached.
	if (depth && *depth)
		--*depth;
	return 0;
}

#include "interrupts.h"
