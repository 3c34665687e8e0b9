// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What kept a CPU for long: tasks between two switches, handlers of interrupts, soft interrupts, callbacks of timers and
// of other CPUs; and what became of one process's own threads, which are to run at every tick.
//
// Tracepoints: include/trace/events/{sched,irq,timer,csd}.h.

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#include "task.h"

struct task_struct___priority {
	int prio;
} __attribute__((preserve_access_index));

struct timerqueue_node {
	__s64 expires;
} __attribute__((preserve_access_index));

struct hrtimer {
	struct timerqueue_node node;
	void *function;
	__u8 is_soft;
} __attribute__((preserve_access_index));

struct irqaction {
	const char *name;
} __attribute__((preserve_access_index));

// What of a CPU's work is timed; a timer that expired late, with when the last one of the CPU expired; then a thread of
// the process that watches, and its control group, frozen.
enum { TASK, INTERRUPT, SOFT, TIMER, CALL, LATE, WORKS, OWN = WORKS, GROUP };

// In ns: what is shorter is nobody's business.
const volatile __u64 least = 500000;

// The process that watches, as the kernel numbers it: its own number is that of its namespace. 0 until its first thread,
// under the name that nobody else has, was seen to leave its CPU.
static volatile __u32 watcher;
const volatile __u64 group; // the number of its control group, 0 where it has none

struct kernfs_node {
	__u64 id;
} __attribute__((preserve_access_index));

struct cgroup {
	struct kernfs_node *kn;
} __attribute__((preserve_access_index));

// States (include/linux/sched.h): stopped by a signal, or by a tracer.
#define HALTED (0x4 | 0x8)

struct event {
	__u64 began;
	__u64 woken; // of a thread: when it was to run again
	__u64 ended;
	__u64 what; // a task, the number of an interrupt, the address of a function
	__u32 kind;
	__u32 cpu;
	__u32 state; // of a thread: why it did not run; of a task: its priority, below 100 for real time
	__u32 padding;
	char name[NAME];
};

struct thread {
	__u64 out;
	__u64 woken;
	__u32 state;
	__u32 padding;
};

struct work {
	__u64 began;
	__u64 what;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WORKS);
	__type(key, __u32);
	__type(value, struct work);
} works SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct thread);
} threads SEC(".maps");

static __always_inline struct event *event_of(__u32 kind, __u64 began, __u64 ended, __u64 what)
{
	struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event)
		return 0;
	__builtin_memset(event, 0, sizeof(*event));
	event->began = began;
	event->ended = ended;
	event->what = what;
	event->kind = kind;
	event->cpu = bpf_get_smp_processor_id();
	return event;
}

static __always_inline int begins(__u32 kind, __u64 what)
{
	struct work *work = bpf_map_lookup_elem(&works, &kind);

	if (work) {
		work->began = bpf_ktime_get_ns();
		work->what = what;
	}
	return 0;
}

static __always_inline int ends(__u32 kind, const char *name, __u32 state)
{
	struct work *work = bpf_map_lookup_elem(&works, &kind);
	__u64 now = bpf_ktime_get_ns();
	struct event *event;

	// One that had begun when this was attached is not known.
	if (!work || !work->began)
		return 0;
	if (now - work->began >= least) {
		event = event_of(kind, work->began, now, work->what);
		if (event) {
			event->state = state;
			if (name)
				bpf_probe_read_kernel_str(event->name, sizeof(event->name), name);
			bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
		}
	}
	work->began = 0;
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, int preempted, struct task_struct *previous, struct task_struct *next)
{
	struct thread thread = {}, *own;
	struct event *event;
	__u32 kind = TASK, pid = previous->pid;
	struct work *work = bpf_map_lookup_elem(&works, &kind);
	__u64 now;

	// A switch may have gone unseen.
	if (pid && work && work->what == pid)
		ends(TASK, previous->comm, ((struct task_struct___priority *)previous)->prio);
	begins(TASK, next->pid);
	if (!watcher && is_starter())
		watcher = previous->tgid;
	if (!watcher)
		return 0;
	if (previous->tgid == watcher) {
		now = bpf_ktime_get_ns();
		thread.state = state_of(previous);
		thread.out = now;
		own = bpf_map_lookup_elem(&threads, &pid);
		if (thread.state & HALTED) {
			// It may lose its CPU once more on its way there.
			if (own && own->state & HALTED && !own->woken)
				thread.out = own->out;
		} else if (preempted || !thread.state) {
			thread.state = 0;
			thread.woken = now;
		}
		bpf_map_update_elem(&threads, &pid, &thread, BPF_ANY);
	}
	if (next->tgid != watcher)
		return 0;
	pid = next->pid;
	own = bpf_map_lookup_elem(&threads, &pid);
	if (!own)
		return 0;
	now = bpf_ktime_get_ns();
	if (now - own->out < least)
		return 0;
	event = event_of(OWN, own->out, now, pid);
	if (!event)
		return 0;
	event->woken = own->woken;
	event->state = own->state;
	bpf_probe_read_kernel(event->name, sizeof(event->name), next->comm);
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *task)
{
	__u32 pid = task->pid;
	struct thread *own;

	if (!watcher || task->tgid != watcher)
		return 0;
	own = bpf_map_lookup_elem(&threads, &pid);
	if (own && !own->woken)
		own->woken = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_begins, int number)
{
	return begins(INTERRUPT, number);
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_ends, int number, struct irqaction *action)
{
	return ends(INTERRUPT, action->name, 0);
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_begins, unsigned int number)
{
	return begins(SOFT, number);
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_ends, unsigned int number)
{
	return ends(SOFT, 0, 0);
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(timer_begins, struct hrtimer *timer, __s64 *now)
{
	__s64 late = 0;
	__u64 began, ended;
	__u32 task = TASK, last = LATE;
	struct work *work;
	struct event *event;

	bpf_probe_read_kernel(&late, sizeof(late), now);
	late -= timer->node.expires;

	// Those of the soft interrupt wait for more than the CPU.
	if (late >= (__s64)least && timer->node.expires > 0 && !timer->is_soft) {
		ended = bpf_ktime_get_ns();
		began = ended - late;
		// A timer may be set to a time that is over, or its clock be set: the CPU was at work when it switched
		// to another task, and when another timer expired.
		work = bpf_map_lookup_elem(&works, &task);
		if (work && work->began > began)
			began = work->began;
		work = bpf_map_lookup_elem(&works, &last);
		if (work && work->began > began)
			began = work->began;
		event = ended - began >= least ? event_of(LATE, began, ended, (__u64)timer->function) : 0;
		if (event)
			bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	}
	begins(LATE, 0);
	return begins(TIMER, (__u64)timer->function);
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(timer_ends)
{
	return ends(TIMER, 0, 0);
}

// From Linux 6.5 on.
SEC("tp_btf/csd_function_entry")
int BPF_PROG(call_begins, void *function)
{
	return begins(CALL, (__u64)function);
}

SEC("tp_btf/csd_function_exit")
int BPF_PROG(call_ends)
{
	return ends(CALL, 0, 0);
}

// From Linux 5.2 on.
SEC("tp_btf/cgroup_notify_frozen")
int BPF_PROG(froze, struct cgroup *cgroup, const char *path, int frozen)
{
	static __u64 since;
	struct event *event;
	__u64 now = bpf_ktime_get_ns();

	if (cgroup->kn->id != group)
		return 0;
	if (frozen) {
		since = now;
		return 0;
	}
	event = since && now - since >= least ? event_of(GROUP, since, now, group) : 0;
	if (event)
		bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	since = 0;
	return 0;
}
