// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// CPUs that do nothing for a time. The clock of a perf event interrupts each of them, and the program that runs then
// waits until the time is over, with interrupts off (kernel/events/core.c, perf_swevent_hrtimer). Each waits first until
// all are there, so that they stand still together; where one does not come, none does. Nobody has to end it: the wait
// has its own end, whatever becomes of whoever began it.

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct order {
	__u64 nanoseconds; // 0 until it begins
	__u64 patience; // how long one waits for the others
	__u64 cpus; // how many there are
};

struct course {
	__u64 arrived;
	__u64 began; // 0 where the others did not arrive
	__u64 ended;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct order);
} orders SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} arrivals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct course);
} courses SEC(".maps");

static const __u32 zero;

struct wait {
	__u64 now;
	__u64 until;
	__u64 cpus; // it ends early when so many are there, unless this is 0
	__u64 all; // whether they are
};

static long is_over(__u32 turn, struct wait *wait)
{
	__u64 *count = bpf_map_lookup_elem(&arrivals, &zero);

	if (wait->cpus && count && *(volatile __u64 *)count >= wait->cpus)
		wait->all = 1;
	wait->now = bpf_ktime_get_ns();
	return wait->all || wait->now >= wait->until;
}

#define TURNS (1 << 20)

static long turns(__u32 turn, struct wait *wait)
{
	bpf_loop(TURNS, is_over, wait, 0);
	return is_over(turn, wait);
}

SEC("perf_event")
int stand_still(void *context)
{
	struct order *order = bpf_map_lookup_elem(&orders, &zero);
	struct course *course = bpf_map_lookup_elem(&courses, &zero);
	__u64 *count = bpf_map_lookup_elem(&arrivals, &zero);
	struct wait wait = {};

	// An order is whole when none of it is 0.
	if (!order || !course || !count || course->arrived || !order->nanoseconds || !order->patience || !order->cpus)
		return 0;
	course->arrived = bpf_ktime_get_ns();
	__sync_fetch_and_add(count, 1);
	wait.until = course->arrived + order->patience;
	wait.cpus = order->cpus;
	bpf_loop(TURNS, turns, &wait, 0);
	if (!wait.all)
		return 0;
	wait.all = 0;
	wait.cpus = 0;
	course->began = wait.now;
	wait.until = wait.now + order->nanoseconds;
	bpf_loop(TURNS, turns, &wait, 0);
	course->ended = wait.now;
	return 0;
}
