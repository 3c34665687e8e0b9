// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Where the time of a command goes, added up in the kernel.
//
// A thread that is followed is in one row at any time: user code, a page fault or a system call. There it is on a CPU,
// queued for one, or blocked. Every event that ends such a stretch adds it up where it belongs; nothing is written
// per event. Which thread is on a CPU is kept per CPU, so that a system call of a thread that is not followed costs
// one look, and one of a thread that is followed no search.
//
// Of what comes often, a sample is timed. On a CPU the others took as long as those of late in the mean, which is taken
// from user code; for how long they were queued or blocked is known of all. While calls come fast, only the end of each
// is seen for most of the time, as to see one at both ends costs twice as much: the number of the call is there still,
// and whether a thread is in one, the kernel's registers say. Page faults are not seen either for most of the time, as
// to see one takes as long as it takes itself: the kernel's own count of each thread's says how many there were.
//
// Whoever includes this has the tracepoints, and hands on what they say: profile.bpf.c by the kernel's own types
// (BTF), records.bpf.c without them.
//
// Tracepoints: include/trace/events/{syscalls,sched,irq}.h, arch/x86/include/asm/trace/irq_vectors.h. Page faults:
// perf's software events, of which one comes before a fault is handled (arch/*/mm/fault.c) and one after
// (mm_account_fault, mm/memory.c).

#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#include "task.h"

// The rows, and one more (ROWS) of what threads do that execute nothing: by them it is known what observing costs, and
// so all is done for them that is done for a command's.
enum { USER, FAULT, INTERRUPT, CALLS, ROWS = CALLS + 512 };

enum { RUNNING, QUEUED, BLOCKED };

// Threads that run at once, told apart up to here.
#define AT_ONCE 64

// Powers of two of a nanosecond.
#define LENGTHS 48

// So many calls of a kind are each timed on a CPU, and those after them too where the mean is 2^LONG ns or more.
#define EACH_TIMED 4096
#define LONG 14

// Between two that are timed of such as are sampled, there are so many at most while each is seen to begin.
#define SAMPLED 11

// The mean of late is that of all, up to 2^OF_LATE of them; then each one has that part in it.
#define OF_LATE 6
#define LONGEST_OF_LATE ((1 << (32 - OF_LATE)) - 1)

// Of a call that could not be timed from its begin on: what is known of it begins when it waits, or at an interrupt.
enum { TIMED, UNTIMED, LATE };

// Threads that ended, of which each is kept until it is read.
#define LISTED 1024

// Bytes that a CPU fetches at once. What is touched most often lies in one such line: a command's own data have pushed
// ours out of the caches by the next event.
#define LINE 64

struct split {
	__u64 on_cpu;
	__u64 queued;
	__u64 blocked;
};

struct thread {
	__u64 mark; // up to here it is added up
	__u64 entered; // when the row began
	struct split here; // in this row, since then
	struct split user;
	__u64 kernel;
	__u64 faults;
	__u64 interrupts;
	__u64 queued; // in calls and faults
	__u64 blocked;
	__u64 woken;
	__u32 row;
	__u32 timed; // TIMED; UNTIMED: of its row, only waiting is; LATE: from somewhere in it on
	__u32 state;
	__u32 armed; // its program has not begun
	__u64 began;
	__u64 ended;
	__u64 counted; // its page faults, when it left its CPU
	__u32 first; // it is the command itself
	__u32 pid;
	__u32 tgid;
	__u32 about; // what it is in is about a file
	char name[NAME];
} __attribute__((aligned(LINE)));

struct row {
	__u64 count;
	__u64 errors;
	struct split split;
	__u64 longest;
	__u64 untimed;
	__u64 owed; // what page faults took that were not timed, and no thread had in user code
	__u64 lengths[LENGTHS]; // of those that were timed, with those that each stands for
};

// Of a row, on a CPU: those that are not timed, and are not in the row yet.
struct pending {
	__u32 count; // since the last one that is timed
	__u32 errors;
	__u32 mean; // of late, in 2^-OF_LATE ns on a CPU
	__u16 left; // until the next one that is timed
	__u16 is_sampled; // not each is to be timed
};

struct cpu {
	__u32 slot; // of the thread that is on it; 0 where it is not followed
	__u32 pid; // of that thread, followed or not
	__u32 number;
	__u16 armed; // as of that thread
	__u16 interrupts; // how deep in them it is
	__u32 inside; // whether that thread is in a row that is timed, and not in user code
	__u32 untimed; // the row of the call that it is in and that is not timed
	__u32 faulted; // page faults of that thread in user code that were not timed, and are in no row yet
	__u32 calls; // of all threads
	__u64 faults; // all of that thread's, up to which they are counted
	__u64 unmoved; // what its calls took that were not timed and is in its user code, in 2^-OF_LATE ns
	__u64 unseen; // calls of which only the end was seen
	__u32 rare; // calls of rows of which each is to be timed, and their time in 2^10 ns
	__u32 within; // page faults in calls
} __attribute__((aligned(LINE)));

struct course {
#ifdef RECORDS
	__u32 lock; // programs that are handed records may not even know a map that has a real one
#else
	struct bpf_spin_lock lock;
#endif
	__u32 on; // 0 before, 1 while, 2 after the first process is there
	__u32 running;
	__u32 queued;
	__u32 taken; // slots that were given out before any was free again
	__u32 padding;
	__u64 mark;
	__u64 began;
	__u64 ended;
	__u64 run[AT_ONCE + 1];
	__u64 waited; // none ran, one was queued
	__u64 stood[ROWS]; // all were blocked, by the row whose wait ended that
};

struct tally {
	__u32 threads; // that began
	__u32 lost; // for which no slot was free
	__u64 switches;
	__u64 unseen; // switches
	__u64 unnamed; // calls for whose file there was no room
};

// Page faults of late that were timed.
struct timed {
	__u64 count;
	__u64 on_cpu;
};

struct wake {
	__u32 row;
	char by[NAME];
};

struct woken {
	__u64 count;
	__u64 blocked;
};

// By number. One is found here in fewer steps than in a map that the kernel keeps per CPU, and the values of a map that
// could be mapped begin on a page.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

// By CPU, and there by row.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ROWS + 1);
	__type(key, __u32);
	__type(value, struct pending);
} pendings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u32);
} slot_of SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 2);
	__uint(key_size, 0);
	__uint(value_size, sizeof(__u32));
} free_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, LISTED);
	__uint(key_size, 0);
	__uint(value_size, sizeof(struct thread));
} ended SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ROWS + 1);
	__type(key, __u32);
	__type(value, struct row);
} rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct course);
} courses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tally);
} tallies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct timed);
} faults_of_late SEC(".maps");

// Whether only the end of a call is seen.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} resting SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct wake);
	__type(value, struct woken);
} wakes SEC(".maps");

// Slots for threads, of which 0 stands for none.
const volatile __u32 slots = 1;

// Whether programs of tracepoints may take a lock. In Linux 5.10 they may not, and how many threads ran at a time is
// not known.
const volatile __u32 locks = 1;

// Whether page faults that are not timed are known by what the kernel counts of each thread.
const volatile __u32 counts = 0;

// Whether the begin of calls may not be seen: on x86, whose registers say which one it was.
const volatile __u32 rests = 0;

static const __u32 zero;

static __always_inline void lock(struct course *course)
{
#ifndef RECORDS
	if (locks)
		bpf_spin_lock(&course->lock);
#endif
}

static __always_inline void unlock(struct course *course)
{
#ifndef RECORDS
	if (locks)
		bpf_spin_unlock(&course->lock);
#endif
}

static __always_inline struct thread *in_slot(__u32 slot)
{
	return slot ? bpf_map_lookup_elem(&threads, &slot) : 0;
}

static __always_inline struct thread *of(__u32 pid)
{
	__u32 *slot = bpf_map_lookup_elem(&slot_of, &pid);

	return slot ? in_slot(*slot) : 0;
}

// Adds up what passed since the last event of the thread.
static __always_inline void advance(struct thread *thread, __u64 now)
{
	struct split *split = thread->row == USER ? &thread->user : &thread->here;
	__u64 passed = now - thread->mark;

	// Clocks of two CPUs may be a little apart.
	if ((__s64)passed < 0)
		return;
	thread->mark = now;
	if (thread->state == RUNNING)
		split->on_cpu += passed;
	else if (thread->state == QUEUED)
		split->queued += passed;
	else
		split->blocked += passed;
}

static __always_inline void add(struct split *sum, const struct split *more)
{
	sum->on_cpu += more->on_cpu;
	sum->queued += more->queued;
	sum->blocked += more->blocked;
}

// 1 if any bit is set, without a branch, which the compiler would make of it if it knew both lines: of each branch, the
// kernel looks through all that follows it twice.
static __always_inline __u32 is_set(__u64 bits)
{
	bits = -bits;
	barrier_var(bits);
	return bits >> 63;
}

// The power of two below it.
static __always_inline __u32 length(__u64 time)
{
	__u32 power = 0, step, bits;

#pragma unroll
	for (bits = 32; bits; bits /= 2) {
		step = is_set(time >> bits) * bits;
		power += step;
		time >>= step;
	}
	return power < LENGTHS ? power : LENGTHS - 1;
}

static __always_inline struct cpu *cpu_here(void)
{
	__u32 number = bpf_get_smp_processor_id();
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &number);

	return cpu;
}

static __always_inline __u32 row_of(long number)
{
	return CALLS + ((unsigned long)number < ROWS - CALLS ? (__u32)number : ROWS - CALLS - 1);
}

// The task on this CPU; 0 where that would not say what is counted of it.
static __always_inline struct task_struct *task_here(void)
{
#ifndef RECORDS
	if (counts)
		return bpf_get_current_task_btf();
#endif
	return 0;
}

static __always_inline __u32 pid_of(struct task_struct *task)
{
#ifndef RECORDS
	if (task)
		return task->pid;
#endif
	return bpf_get_current_pid_tgid();
}

// Page faults of a task, as the kernel counts them.
static __always_inline __u64 faults_of(struct task_struct *task)
{
#ifndef RECORDS
	if (task)
		return task->min_flt + task->maj_flt;
#endif
	return 0;
}

static __always_inline struct pending *pending_in(struct cpu *cpu, __u32 row)
{
	__u32 number = cpu->number * (ROWS + 1) + row;

	return bpf_map_lookup_elem(&pendings, &number);
}

// One more of a row was not timed.
static __always_inline void leave_untimed(struct cpu *cpu, struct pending *pending, int failed)
{
	pending->count++;
	pending->errors += failed;
	cpu->unmoved += pending->mean;
}

// What the thread was in is over. As strace does, calls that never return are not counted.
static __noinline void close(struct cpu *cpu, struct thread *thread, __u64 now, int returned, int failed)
{
	__u32 number = thread->armed ? ROWS : thread->row;
	struct row *row = bpf_map_lookup_elem(&rows, &number);
	struct pending *pending = pending_in(cpu, number);
	__u64 time = now - thread->entered;
	__u64 on_cpu = thread->here.on_cpu;
	__u64 stands_for = 1, timed;

	if (!row || !pending)
		return;
	// One that began before it was seen took as long as those of late, at least.
	if (thread->timed == LATE && on_cpu << OF_LATE < pending->mean)
		thread->timed = UNTIMED;
	if (thread->timed == UNTIMED) {
		thread->user.on_cpu += on_cpu;
		thread->here.on_cpu = on_cpu = 0;
		if (returned)
			leave_untimed(cpu, pending, failed);
	} else if (returned) {
		row->split.on_cpu += (__u64)pending->count * pending->mean >> OF_LATE;
		row->count += 1 + pending->count;
		row->errors += failed + pending->errors;
		row->untimed += pending->count;
		if (thread->timed == TIMED) {
			stands_for += pending->count < SAMPLED ? pending->count : SAMPLED;
			timed = row->count - row->untimed;
			if (timed > 1 << OF_LATE)
				timed = 1 << OF_LATE;
			if (on_cpu > LONGEST_OF_LATE)
				on_cpu = LONGEST_OF_LATE;
			pending->mean = (pending->mean * (timed - 1) + (on_cpu << OF_LATE)) / timed;
		}
		row->lengths[length(time)] += stands_for;
		pending->count = 0;
		pending->errors = 0;
		// Where they come often and are short, each 5th to 12th is timed, by chance.
		if (thread->row >= CALLS) {
			pending->is_sampled = row->count >= EACH_TIMED && row->split.on_cpu >> LONG <= row->count;
			if (pending->is_sampled)
				pending->left = SAMPLED - (bpf_get_prandom_u32() & 7);
			else
				cpu->rare += 1 + (thread->here.on_cpu >> 10);
		}
	}
	if (thread->row == FAULT)
		thread->faults += thread->here.on_cpu;
	else
		thread->kernel += thread->here.on_cpu;
	thread->queued += thread->here.queued;
	thread->blocked += thread->here.blocked;
	add(&row->split, &thread->here);
	if (returned && row->longest < time)
		row->longest = time;
}

static __always_inline void open(struct thread *thread, __u32 row, __u64 now)
{
	thread->row = row;
	thread->timed = TIMED;
	thread->entered = now;
	thread->here = (struct split){};
}

// A page fault that was not seen to end is one that is not timed. Where the kernel's count is read, it has this one if
// it ended.
static __always_inline void forget_fault(struct cpu *cpu, struct thread *thread)
{
	if (thread->row != FAULT)
		return;
	thread->timed = UNTIMED;
	close(cpu, thread, thread->entered, !counts, 0);
	thread->row = USER;
}

// The thread on this CPU leaves user code. Where an interrupt comes between the kernel's count of a fault and its end,
// that one was counted twice, and the next one is not.
static __always_inline void count_faults(struct cpu *cpu, __u64 faults)
{
	if (faults <= cpu->faults)
		return;
	cpu->faulted += faults - cpu->faults;
	cpu->faults = faults;
}

// Those of the thread on this CPU, if it is not in a call, which has its own.
static __always_inline void count_faults_here(struct cpu *cpu, struct thread *thread)
{
	if (!cpu->untimed && thread->row < CALLS)
		count_faults(cpu, faults_of(task_here()));
}

// Adds up the page faults that were not timed of the thread that was on this CPU until now.
static __noinline void add_faults(struct cpu *cpu, struct thread *thread)
{
	struct timed *timed;
	struct row *row;
	__u32 number;
	__u64 moved;

	thread->counted = cpu->faults;
	if (!cpu->faulted)
		return;
	number = thread->armed ? ROWS : FAULT;
	row = bpf_map_lookup_elem(&rows, &number);
	timed = bpf_map_lookup_elem(&faults_of_late, &zero);
	if (!row || !timed)
		return;
	row->owed += cpu->faulted * (timed->count ? timed->on_cpu / timed->count : 0);
	moved = row->owed < thread->user.on_cpu ? row->owed : thread->user.on_cpu;
	row->owed -= moved;
	row->count += cpu->faulted;
	row->untimed += cpu->faulted;
	row->split.on_cpu += moved;
	thread->user.on_cpu -= moved;
	thread->faults += moved;
	cpu->faulted = 0;
}

// Adds up all that was not timed of the thread that was on this CPU until now. Not at an interrupt: it may come while a
// call's program adds to the same sums, and one of both would be lost.
static __always_inline void add_untimed(struct cpu *cpu, struct thread *thread)
{
	__u64 moved = cpu->unmoved >> OF_LATE;

	if (moved > thread->user.on_cpu)
		moved = thread->user.on_cpu;
	thread->user.on_cpu -= moved;
	thread->kernel += moved;
	cpu->unmoved -= moved << OF_LATE;
	add_faults(cpu, thread);
}

// Moves a thread of the command from one state to another; -1 is none. As it is not static, the kernel looks through
// it once, and not with each state in which it is called.
__noinline int move(__u64 now, int from, int to, __u32 row)
{
	struct course *course = locks ? bpf_map_lookup_elem(&courses, &zero) : 0;
	__u64 passed;

	if (!course)
		return 0;
	lock(course);
	if (course->on == 1) {
		passed = now - course->mark;
		if ((__s64)passed > 0) {
			course->mark = now;
			if (course->running)
				course->run[course->running < AT_ONCE ? course->running : AT_ONCE] += passed;
			else if (course->queued)
				course->waited += passed;
			else if (row < ROWS)
				course->stood[row] += passed;
		}
		course->running += (to == RUNNING) - (from == RUNNING);
		course->queued += (to == QUEUED) - (from == QUEUED);
	}
	unlock(course);
	return 0;
}

// A thread leaves the CPU in a call that is not timed: from here on it is known what it waits for.
static __always_inline void wait_untimed(struct cpu *cpu, struct thread *thread, __u64 now)
{
	if (!cpu->untimed)
		return;
	open(thread, cpu->untimed, now);
	thread->timed = UNTIMED;
	cpu->untimed = 0;
}

// The registers with which a task came into the kernel, on x86 (arch/x86/include/asm/ptrace.h).
struct pt_regs___x86 {
	unsigned long di, si;
	long ax, orig_ax;
} __attribute__((preserve_access_index));

// The row of the call that the task on this CPU is in, if its begin was not seen; 0 for none.
static __noinline __u32 unseen_call(struct cpu *cpu)
{
#ifndef RECORDS
	struct pt_regs___x86 *registers;
	__u32 *is_resting;

	if (!rests || cpu->inside || cpu->untimed)
		return 0;
	is_resting = bpf_map_lookup_elem(&resting, &zero);
	if (!is_resting || !*is_resting)
		return 0;
	registers = (struct pt_regs___x86 *)bpf_task_pt_regs(bpf_get_current_task_btf());
	// A call has this answer until it has its own, and what comes otherwise into the kernel has no number
	// (arch/x86/entry/entry_64.S).
	if (registers->orig_ax < 0 || registers->ax != -ENOSYS)
		return 0;
	return row_of(registers->orig_ax);
#else
	return 0;
#endif
}

// A thread comes onto a CPU, if it is one that is followed.
static __always_inline struct thread *put_on(struct cpu *cpu, __u32 pid)
{
	__u32 *slot = pid ? bpf_map_lookup_elem(&slot_of, &pid) : 0;
	struct thread *thread;

	cpu->pid = pid;
	cpu->number = bpf_get_smp_processor_id();
	cpu->slot = slot ? *slot : 0;
	thread = in_slot(cpu->slot);
	cpu->armed = thread && thread->armed;
	cpu->inside = thread && thread->row != USER;
	cpu->faulted = 0;
	cpu->faults = thread ? thread->counted : 0;
	return thread;
}

// Puts a thread on a CPU that is on it already. Now and then the kernel switches and its tracepoint reports nothing;
// without this, nothing more would be seen of the thread until the next switch.
__noinline int catch_up(__u32 pid)
{
	struct cpu *cpu = cpu_here();
	struct tally *tally = bpf_map_lookup_elem(&tallies, &zero);
	__u64 now = bpf_ktime_get_ns();
	struct thread *thread;

	if (!cpu)
		return 0;
	thread = in_slot(cpu->slot);
	if (thread) {
		advance(thread, now);
		add_untimed(cpu, thread);
		wait_untimed(cpu, thread, now);
		move(now, RUNNING, QUEUED, thread->row);
		thread->state = QUEUED;
	}
	cpu->untimed = 0;
	thread = put_on(cpu, pid);
	if (!thread)
		return 0;
	advance(thread, now);
	move(now, thread->state, RUNNING, thread->row);
	thread->state = RUNNING;
	if (tally)
		__sync_fetch_and_add(&tally->unseen, !thread->armed);
	return 0;
}

// With the task on it.
static __always_inline struct cpu *this_cpu(struct task_struct *task)
{
	struct cpu *cpu = cpu_here();
	__u32 pid = pid_of(task);

	if (cpu && cpu->pid != pid)
		catch_up(pid);
	return cpu;
}

static __always_inline struct thread *on_this_cpu(void)
{
	struct cpu *cpu = this_cpu(task_here());

	return cpu ? in_slot(cpu->slot) : 0;
}

// For programs of perf events, which may take no lock: whether it would have to catch up.
static __always_inline int is_behind(struct cpu *cpu)
{
	return cpu->pid != pid_of(task_here());
}

// Whether the call that the thread on this CPU goes into is one that is not timed.
static __always_inline int is_untimed(struct cpu *cpu, __u32 row)
{
	struct pending *pending;

	if (cpu->armed)
		row = ROWS;
	pending = pending_in(cpu, row);
	if (!pending || !pending->left || cpu->inside)
		return 0;
	pending->left--;
	cpu->untimed = row;
	return 1;
}

static __always_inline void enter_call(struct cpu *cpu, struct thread *thread, __u32 row)
{
	__u64 now = bpf_ktime_get_ns();

	advance(thread, now);
	forget_fault(cpu, thread);
	// It was in this one already, while nothing saw it begin.
	if (rests && thread->row >= CALLS)
		close(cpu, thread, now, 0, 0);
	open(thread, row, now);
	cpu->inside = 1;
}

static __always_inline int has_failed(long answer)
{
	return answer < 0 && answer >= -4095;
}

// How a call that ends was seen: not to begin, to begin, or timed.
enum { END_ONLY, BOTH_ENDS, IN_TIME };

static __always_inline int leave_call(struct cpu *cpu, long answer)
{
	struct pending *pending;
	struct thread *thread;
	__u64 now;
	int is_call;

	cpu->calls++;
	if (cpu->untimed) {
		pending = pending_in(cpu, cpu->untimed);
		if (pending)
			leave_untimed(cpu, pending, has_failed(answer));
		cpu->untimed = 0;
		return BOTH_ENDS;
	}
	thread = cpu->inside ? in_slot(cpu->slot) : 0;
	if (!thread)
		return END_ONLY;
	now = bpf_ktime_get_ns();
	advance(thread, now);
	forget_fault(cpu, thread);
	is_call = thread->row >= CALLS;
	if (is_call)
		close(cpu, thread, now, 1, has_failed(answer));
	thread->row = USER;
	cpu->inside = 0;
	return is_call ? IN_TIME : END_ONLY;
}

// One in a call is part of that.
SEC("perf_event")
int fault_begins(void *context)
{
	struct cpu *cpu = cpu_here();
	struct thread *thread;
	__u64 now;

	if (!cpu || !cpu->slot || cpu->untimed || is_behind(cpu))
		return 0;
	thread = in_slot(cpu->slot);
	if (!thread || thread->row >= CALLS)
		return 0;
	now = bpf_ktime_get_ns();
	advance(thread, now);
	forget_fault(cpu, thread);
	open(thread, FAULT, now);
	cpu->inside = 1;
	return 0;
}

SEC("perf_event")
int fault_ends(void *context)
{
	struct cpu *cpu = cpu_here();
	struct timed *timed = bpf_map_lookup_elem(&faults_of_late, &zero);
	struct thread *thread;
	__u64 now;

	if (!cpu || !timed || !cpu->inside || is_behind(cpu))
		return 0;
	thread = in_slot(cpu->slot);
	if (!thread || thread->row != FAULT)
		return 0;
	now = bpf_ktime_get_ns();
	advance(thread, now);
	if (!thread->armed) {
		__sync_fetch_and_add(&timed->count, 1);
		__sync_fetch_and_add(&timed->on_cpu, thread->here.on_cpu);
	}
	close(cpu, thread, now, 1, 0);
	thread->row = USER;
	cpu->inside = 0;
	// The kernel has counted it too.
	cpu->faults++;
	return 0;
}

static __always_inline int interrupt_begins(void)
{
	struct cpu *cpu = cpu_here();
	struct thread *thread;
	__u32 row;
	__u64 now;

	if (!cpu || cpu->interrupts++)
		return 0;
	thread = in_slot(cpu->slot);
	if (!thread)
		return 0;
	now = bpf_ktime_get_ns();
	advance(thread, now);
	// One that takes long is known from here on.
	row = unseen_call(cpu);
	if (row) {
		open(thread, row, now);
		thread->timed = LATE;
		cpu->inside = 1;
	}
	count_faults_here(cpu, thread);
	add_faults(cpu, thread);
	return 0;
}

static __always_inline int interrupt_ends(void)
{
	struct cpu *cpu = cpu_here();
	__u32 number = INTERRUPT;
	struct thread *thread;
	struct row *row;
	__u64 now, passed;

	// One that had begun when this was attached.
	if (!cpu || !cpu->interrupts || --cpu->interrupts)
		return 0;
	thread = in_slot(cpu->slot);
	if (!thread || thread->armed)
		return 0;
	now = bpf_ktime_get_ns();
	passed = now - thread->mark;
	if ((__s64)passed < 0)
		return 0;
	thread->mark = now;
	thread->interrupts += passed;
	row = bpf_map_lookup_elem(&rows, &number);
	if (!row)
		return 0;
	row->count++;
	row->split.on_cpu += passed;
	if (row->longest < passed)
		row->longest = passed;
	row->lengths[length(passed)]++;
	return 0;
}

#include "interrupts.h"

// A thread that waits in the state of these bits waits for something, and is not stopped (include/linux/sched.h).
#define FOR_SOMETHING 3

// The thread that was on this CPU leaves it in this state, 0 if it could go on, and another one comes.
static __always_inline int switch_to(__u32 left_in, __u32 pid)
{
	struct cpu *cpu = cpu_here();
	struct tally *tally;
	struct thread *thread;
	__u64 now = 0;
	int state;

	if (!cpu)
		return 0;
	thread = in_slot(cpu->slot);
	if (thread) {
		now = bpf_ktime_get_ns();
		advance(thread, now);
		count_faults_here(cpu, thread);
		add_untimed(cpu, thread);
		if (rests && !cpu->untimed)
			cpu->untimed = unseen_call(cpu);
		wait_untimed(cpu, thread, now);
		state = left_in ? BLOCKED : QUEUED;
		if (state == BLOCKED && now - thread->woken < ON_THE_WAY)
			state = QUEUED;
		thread->woken = 0;
		// In user code, only what it faults for makes it wait.
		if (state == BLOCKED && thread->row == USER && counts && left_in & FOR_SOMETHING) {
			open(thread, FAULT, now);
			thread->timed = UNTIMED;
		}
		thread->state = state;
		move(now, RUNNING, state, thread->row);
		tally = bpf_map_lookup_elem(&tallies, &zero);
		if (tally)
			__sync_fetch_and_add(&tally->switches, !thread->armed);
	}
	thread = put_on(cpu, pid);
	if (!thread)
		return 0;
	now = now ? now : bpf_ktime_get_ns();
	advance(thread, now);
	// Nobody was seen to wake one that was frozen.
	move(now, thread->state, RUNNING, thread->row);
	thread->state = RUNNING;
	// Whether it ended, the kernel counts.
	if (thread->row == FAULT && thread->timed == UNTIMED) {
		close(cpu, thread, now, 0, 0);
		thread->row = USER;
		cpu->inside = 0;
	}
	return 0;
}

static __always_inline int wake(__u32 pid)
{
	struct thread *thread = of(pid);
	struct wake by = {};
	struct woken *woken, first;
	struct cpu *cpu;
	__u64 now, blocked;

	if (!thread)
		return 0;
	now = bpf_ktime_get_ns();
	if (thread->state != BLOCKED) {
		thread->woken = now;
		return 0;
	}
	blocked = now - thread->mark;
	advance(thread, now);
	move(now, BLOCKED, QUEUED, thread->row);
	thread->state = QUEUED;
	if ((__s64)blocked < 0)
		return 0;
	by.row = thread->armed ? ROWS : thread->row;
	cpu = cpu_here();
	// An interrupt has no name, and what it came into has nothing to do with it.
	if (cpu && !cpu->interrupts)
		bpf_get_current_comm(by.by, sizeof(by.by));
	woken = bpf_map_lookup_elem(&wakes, &by);
	if (woken) {
		__sync_fetch_and_add(&woken->count, 1);
		__sync_fetch_and_add(&woken->blocked, blocked);
		return 0;
	}
	first.count = 1;
	first.blocked = blocked;
	bpf_map_update_elem(&wakes, &by, &first, BPF_NOEXIST);
	return 0;
}

// A slot that no thread had before; 0 for none. Where no lock can be taken, all are free from the beginning.
static __always_inline __u32 fresh_slot(void)
{
	struct course *course = locks ? bpf_map_lookup_elem(&courses, &zero) : 0;
	__u32 slot = 0;

	if (!course)
		return 0;
	lock(course);
	if (course->taken < slots)
		slot = ++course->taken;
	unlock(course);
	return slot;
}

// The thread that is on this CPU makes another one.
static __always_inline int fork(__u32 pid, __u32 tgid)
{
	struct thread *thread, *from = on_this_cpu();
	__u32 slot;
	struct tally *tally;
	__u64 now;

	if (from ? from->armed : !is_starter())
		return 0;
	tally = bpf_map_lookup_elem(&tallies, &zero);
	if (!tally)
		return 0;
	// One that is armed begins when it executes something.
	if (from)
		__sync_fetch_and_add(&tally->threads, 1);
	if (bpf_map_pop_elem(&free_slots, &slot)) {
		slot = fresh_slot();
		if (!slot) {
			__sync_fetch_and_add(&tally->lost, 1);
			return 0;
		}
	}
	thread = bpf_map_lookup_elem(&threads, &slot);
	if (!thread)
		return 0;
	now = bpf_ktime_get_ns();
	__builtin_memset(thread, 0, sizeof(*thread));
	thread->began = thread->mark = now;
	thread->state = QUEUED;
	thread->armed = thread->first = !from;
	thread->pid = pid;
	thread->tgid = tgid;
	bpf_map_update_elem(&slot_of, &pid, &slot, BPF_ANY);
	move(now, -1, QUEUED, USER);
	return 0;
}

// The thread that is on this CPU executes a program; before that, it had this number.
static __always_inline int execute(__u32 before)
{
	struct course *course = bpf_map_lookup_elem(&courses, &zero);
	struct tally *tally = bpf_map_lookup_elem(&tallies, &zero);
	__u32 slot, *found, pid = bpf_get_current_pid_tgid();
	struct cpu *cpu = this_cpu(task_here());
	struct thread *thread = cpu ? in_slot(cpu->slot) : 0;
	__u32 row;
	__u64 now;

	if (!thread || !course)
		return 0;
	// A thread that is not its process's first takes the place of that.
	if (before != pid) {
		found = bpf_map_lookup_elem(&slot_of, &before);
		if (found) {
			slot = *found;
			bpf_map_update_elem(&slot_of, &pid, &slot, BPF_ANY);
			bpf_map_delete_elem(&slot_of, &before);
		}
		thread->pid = pid;
	}
	if (!thread->armed)
		return 0;
	// What it did before was the work of the program that starts it.
	now = bpf_ktime_get_ns();
	advance(thread, now);
	thread->began = thread->entered;
	thread->user = (struct split){};
	thread->kernel = thread->faults = thread->interrupts = thread->queued = thread->blocked = 0;
	thread->armed = cpu->armed = cpu->faulted = cpu->unmoved = 0;
	row = thread->row < ROWS ? thread->row : USER;
	if (tally)
		__sync_fetch_and_add(&tally->threads, 1);
	lock(course);
	course->on = 1;
	course->began = thread->entered;
	course->mark = now;
	course->running = 1;
	course->run[1] = thread->here.on_cpu;
	course->waited = thread->here.queued;
	course->stood[row] = thread->here.blocked;
	unlock(course);
	return 0;
}

// The thread that is on this CPU ends.
static __always_inline int end(void)
{
	struct course *course = bpf_map_lookup_elem(&courses, &zero);
	struct cpu *cpu = cpu_here();
	struct thread *thread;
	__u32 number = USER, slot, pid = bpf_get_current_pid_tgid();
	struct row *row;
	__u64 now;

	if (!cpu || !course)
		return 0;
	thread = on_this_cpu();
	slot = cpu->slot;
	if (!thread)
		return 0;
	now = bpf_ktime_get_ns();
	advance(thread, now);
	count_faults_here(cpu, thread);
	add_untimed(cpu, thread);
	// An interrupt that comes from here on is after its end.
	cpu->slot = cpu->untimed = 0;
	forget_fault(cpu, thread);
	bpf_get_current_comm(thread->name, sizeof(thread->name));
	thread->tgid = bpf_get_current_pid_tgid() >> 32;
	// exit(2) does not return.
	if (thread->row != USER)
		close(cpu, thread, now, 0, 0);
	thread->row = USER;
	row = bpf_map_lookup_elem(&rows, &number);
	if (row && !thread->armed)
		add(&row->split, &thread->user);
	thread->ended = now;
	move(now, RUNNING, -1, USER);
	lock(course);
	if (thread->first && course->on == 1) {
		course->on = 2;
		course->ended = now;
	}
	unlock(course);
	bpf_map_push_elem(&ended, thread, BPF_ANY);
	bpf_map_delete_elem(&slot_of, &pid);
	bpf_map_push_elem(&free_slots, &slot, BPF_ANY);
	return 0;
}
