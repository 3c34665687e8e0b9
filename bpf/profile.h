// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Where the time of a command goes, added up in the kernel.
//
// A thread that is followed is in one row at any time: user code, a page fault or a system call. There it is on a CPU,
// queued for one, or blocked. Every event that ends such a stretch adds it up where it belongs; nothing is written
// per event. Which thread is on a CPU is kept per CPU, so that a system call of a thread that is not followed costs
// one look, and one of a thread that is followed no search.
//
// Whoever includes this has the tracepoints, and hands on what they say: profile.bpf.c by the kernel's own types
// (BTF), records.bpf.c without them.
//
// Tracepoints: include/trace/events/{syscalls,sched,irq}.h, arch/x86/include/asm/trace/irq_vectors.h. Page faults:
// perf's software events, of which one comes before a fault is handled (arch/*/mm/fault.c) and one after
// (mm_account_fault, mm/memory.c).

#include <linux/bpf.h>
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

// Threads that ended, of which each is kept until it is read.
#define LISTED 1024

struct split {
	__u64 on_cpu;
	__u64 queued;
	__u64 blocked;
};

struct thread {
	__u64 began;
	__u64 mark; // up to here it is added up
	__u64 entered; // when the row began
	struct split here; // in this row, since then
	__u64 outer_entered; // the same of the row in which a page fault came
	struct split outer_here;
	struct split user;
	__u64 kernel;
	__u64 faults;
	__u64 interrupts;
	__u64 queued; // in calls and faults
	__u64 blocked;
	__u64 woken;
	__u64 ended;
	__u32 row;
	__u32 outer;
	__u32 state;
	__u32 armed; // its program has not begun
	__u32 first; // it is the command itself
	__u32 pid;
	__u32 tgid;
	__u32 about; // what it is in is about a file
	char name[NAME];
};

struct row {
	__u64 count;
	__u64 errors;
	struct split split;
	__u64 longest;
	__u64 lengths[LENGTHS];
};

struct cpu {
	__u32 slot; // of the thread that is on it; 0 where it is not followed
	__u32 pid; // of that thread, followed or not
	__u32 interrupts; // how deep in them it is
	__u32 padding;
};

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

struct wake {
	__u32 row;
	char by[NAME];
};

struct woken {
	__u64 count;
	__u64 blocked;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
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

static __always_inline __u32 length(__u64 time)
{
	__u32 power = 0;

	if (time >> 32) { power += 32; time >>= 32; }
	if (time >> 16) { power += 16; time >>= 16; }
	if (time >> 8) { power += 8; time >>= 8; }
	if (time >> 4) { power += 4; time >>= 4; }
	if (time >> 2) { power += 2; time >>= 2; }
	if (time >> 1) power += 1;
	return power < LENGTHS ? power : LENGTHS - 1;
}

// What the thread was in is over. As strace does, calls that never return are not counted.
static __always_inline void close(struct thread *thread, __u64 now, int returned, int failed)
{
	__u32 number = thread->row;
	struct row *row;
	__u64 time = now - thread->entered;

	if (number == FAULT)
		thread->faults += thread->here.on_cpu;
	else
		thread->kernel += thread->here.on_cpu;
	thread->queued += thread->here.queued;
	thread->blocked += thread->here.blocked;
	if (thread->armed)
		number = ROWS;
	row = bpf_map_lookup_elem(&rows, &number);
	if (!row)
		return;
	row->count += returned;
	row->errors += failed;
	add(&row->split, &thread->here);
	if (!returned)
		return;
	if (row->longest < time)
		row->longest = time;
	row->lengths[length(time)]++;
}

static __always_inline void open(struct thread *thread, __u32 row, __u64 now)
{
	thread->row = row;
	thread->entered = now;
	thread->here = (struct split){};
}

// A page fault of which nothing more comes: it failed. Its time is that of what it came in.
static __always_inline void forget_fault(struct thread *thread)
{
	struct split here = thread->here;

	if (thread->row != FAULT)
		return;
	thread->row = thread->outer;
	thread->entered = thread->outer_entered;
	thread->here = thread->outer_here;
	add(thread->row == USER ? &thread->user : &thread->here, &here);
}

// Moves a thread of the command from one state to another; -1 is none.
static __always_inline void move(__u64 now, int from, int to, __u32 row)
{
	struct course *course = locks ? bpf_map_lookup_elem(&courses, &zero) : 0;
	__u64 passed;

	if (!course)
		return;
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
}

// Puts a thread on a CPU that is on it already. Now and then the kernel switches and its tracepoint reports nothing;
// without this, nothing more would be seen of the thread until the next switch.
static __noinline int catch_up(struct cpu *cpu, __u32 pid)
{
	struct thread *thread = in_slot(cpu->slot);
	struct tally *tally = bpf_map_lookup_elem(&tallies, &zero);
	__u64 now = bpf_ktime_get_ns();
	__u32 *slot;

	if (thread) {
		advance(thread, now);
		move(now, RUNNING, QUEUED, thread->row);
		thread->state = QUEUED;
	}
	cpu->pid = pid;
	slot = bpf_map_lookup_elem(&slot_of, &pid);
	cpu->slot = slot ? *slot : 0;
	thread = in_slot(cpu->slot);
	if (!thread)
		return 0;
	advance(thread, now);
	move(now, thread->state, RUNNING, thread->row);
	thread->state = RUNNING;
	if (tally)
		__sync_fetch_and_add(&tally->unseen, !thread->armed);
	return 0;
}

static __always_inline struct thread *on_this_cpu(void)
{
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &zero);
	__u32 pid = bpf_get_current_pid_tgid();

	if (!cpu)
		return 0;
	if (cpu->pid != pid)
		catch_up(cpu, pid);
	return in_slot(cpu->slot);
}

// For programs of perf events, which may take no lock: none if it would have to catch up.
static __always_inline struct thread *known_on_this_cpu(void)
{
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &zero);

	return cpu && cpu->pid == (__u32)bpf_get_current_pid_tgid() ? in_slot(cpu->slot) : 0;
}

static __always_inline __u32 row_of(long number)
{
	return CALLS + ((unsigned long)number < ROWS - CALLS ? (__u32)number : ROWS - CALLS - 1);
}

static __always_inline void enter_call(struct thread *thread, __u32 row)
{
	__u64 now = bpf_ktime_get_ns();

	advance(thread, now);
	forget_fault(thread);
	open(thread, row, now);
}

static __always_inline int has_failed(long answer)
{
	return answer < 0 && answer >= -4095;
}

// Whether it was a call.
static __always_inline int leave_call(struct thread *thread, long answer)
{
	__u64 now;
	int is_call;

	// A thread that begins comes out of a call that it never went into.
	if (thread->row == USER)
		return 0;
	now = bpf_ktime_get_ns();
	advance(thread, now);
	forget_fault(thread);
	is_call = thread->row >= CALLS;
	if (is_call)
		close(thread, now, 1, has_failed(answer));
	thread->row = USER;
	return is_call;
}

static __always_inline int begin_fault(void)
{
	struct thread *thread = known_on_this_cpu();
	__u64 now;

	if (!thread)
		return 0;
	now = bpf_ktime_get_ns();
	advance(thread, now);
	forget_fault(thread);
	thread->outer = thread->row;
	thread->outer_entered = thread->entered;
	thread->outer_here = thread->here;
	open(thread, FAULT, now);
	return 0;
}

#ifdef RECORDS
#define AT(name) SEC("raw_tp/" name)
#else
#define AT(name) SEC("tp_btf/" name)
#endif

// Where there are tracepoints for it (x86), they cost less than an event of perf.
AT("page_fault_user")
int user_fault_begins(void *context)
{
	return begin_fault();
}

// The first argument is the address: a fault at one of the kernel's own ends otherwise.
AT("page_fault_kernel")
int kernel_fault_begins(__u64 *arguments)
{
	return (__s64)arguments[0] < 0 ? 0 : begin_fault();
}

SEC("perf_event")
int fault_begins(void *context)
{
	return begin_fault();
}

SEC("perf_event")
int fault_ends(void *context)
{
	struct thread *thread = known_on_this_cpu();
	__u64 now;

	if (!thread || thread->row != FAULT)
		return 0;
	now = bpf_ktime_get_ns();
	advance(thread, now);
	// Before it has executed something, a fault in a call is part of that: of execve there is nothing else to keep.
	if (thread->armed && thread->outer != USER) {
		forget_fault(thread);
		return 0;
	}
	close(thread, now, 1, 0);
	thread->row = thread->outer;
	thread->entered = thread->outer_entered;
	thread->here = thread->outer_here;
	return 0;
}

static __always_inline int interrupt_begins(void)
{
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &zero);
	struct thread *thread;

	if (!cpu || cpu->interrupts++)
		return 0;
	thread = in_slot(cpu->slot);
	if (thread)
		advance(thread, bpf_ktime_get_ns());
	return 0;
}

static __always_inline int interrupt_ends(void)
{
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &zero);
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

// The thread that was on this CPU leaves it, to sleep or not, and another one comes.
static __always_inline int switch_to(int sleeps, __u32 pid)
{
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &zero);
	struct tally *tally;
	struct thread *thread;
	__u64 now = 0;
	__u32 *slot;
	int state;

	if (!cpu)
		return 0;
	thread = in_slot(cpu->slot);
	if (thread) {
		now = bpf_ktime_get_ns();
		advance(thread, now);
		state = sleeps ? BLOCKED : QUEUED;
		if (state == BLOCKED && now - thread->woken < ON_THE_WAY)
			state = QUEUED;
		thread->woken = 0;
		thread->state = state;
		move(now, RUNNING, state, thread->row);
		tally = bpf_map_lookup_elem(&tallies, &zero);
		if (tally)
			__sync_fetch_and_add(&tally->switches, !thread->armed);
	}
	cpu->slot = 0;
	cpu->pid = pid;
	slot = pid ? bpf_map_lookup_elem(&slot_of, &pid) : 0;
	if (!slot)
		return 0;
	thread = in_slot(*slot);
	if (!thread)
		return 0;
	cpu->slot = *slot;
	now = now ? now : bpf_ktime_get_ns();
	advance(thread, now);
	// Nobody was seen to wake one that was frozen.
	move(now, thread->state, RUNNING, thread->row);
	thread->state = RUNNING;
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
	cpu = bpf_map_lookup_elem(&cpus, &zero);
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
	struct thread *thread = on_this_cpu();
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
	thread->armed = 0;
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
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &zero);
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
	// An interrupt that comes from here on is after its end.
	cpu->slot = 0;
	now = bpf_ktime_get_ns();
	advance(thread, now);
	forget_fault(thread);
	bpf_get_current_comm(thread->name, sizeof(thread->name));
	thread->tgid = bpf_get_current_pid_tgid() >> 32;
	// exit(2) does not return.
	if (thread->row != USER)
		close(thread, now, 0, 0);
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
