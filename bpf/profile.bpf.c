// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Where the time of a command goes, by tracepoints that hand on the kernel's own types (BTF).

#include "profile.h"
#include "file.h"

// By which argument a call says what file it is about; a path that is empty leaves that to the descriptor before it.
enum { NO_FILE, FIRST_IS_PATH, SECOND_IS_PATH, DESCRIPTOR };

// Whether calls are told apart by the file that they are about.
const volatile __u32 follows_files = 0;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ROWS);
	__type(key, __u32);
	__type(value, __u32);
} arguments SEC(".maps");

// What the call is about that the thread in this slot is in.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct subject);
} subjects SEC(".maps");

struct use {
	__u64 count;
	__u64 errors;
	struct split split;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2);
	__type(key, struct subject);
	__type(value, struct use);
} uses SEC(".maps");

// Keeps what the call is about that the thread goes into.
static __noinline int look_at_file(struct thread *thread, const void *registers, __u32 row)
{
	struct cpu *cpu = cpu_here();
	__u32 *by = bpf_map_lookup_elem(&arguments, &row);
	struct subject *subject;
	__u32 slot;

	thread->about = 0;
	if (!cpu || !by || *by == NO_FILE)
		return 0;
	slot = cpu->slot;
	subject = bpf_map_lookup_elem(&subjects, &slot);
	if (!subject)
		return 0;
	__builtin_memset(subject, 0, sizeof(*subject));
	subject->row = thread->armed ? ROWS : row;
	if (*by == DESCRIPTOR)
		thread->about = by_descriptor(subject, argument(registers, 0));
	else if (by_path(subject, argument(registers, *by == SECOND_IS_PATH)))
		thread->about = 1;
	else if (*by == SECOND_IS_PATH)
		thread->about = by_descriptor(subject, argument(registers, 0));
	return 0;
}

// Adds the call that is over to its file.
static __always_inline void add_to_file(struct thread *thread, int failed)
{
	struct cpu *cpu = cpu_here();
	struct tally *tally = bpf_map_lookup_elem(&tallies, &zero);
	struct subject *subject;
	struct use *use, none = {};
	__u32 slot;

	if (!cpu || !tally)
		return;
	slot = cpu->slot;
	subject = bpf_map_lookup_elem(&subjects, &slot);
	if (!subject)
		return;
	use = bpf_map_lookup_elem(&uses, subject);
	if (!use) {
		bpf_map_update_elem(&uses, subject, &none, BPF_NOEXIST);
		use = bpf_map_lookup_elem(&uses, subject);
	}
	if (!use) {
		__sync_fetch_and_add(&tally->unnamed, 1);
		return;
	}
	__sync_fetch_and_add(&use->count, 1);
	__sync_fetch_and_add(&use->errors, failed);
	__sync_fetch_and_add(&use->split.on_cpu, thread->here.on_cpu);
	__sync_fetch_and_add(&use->split.queued, thread->here.queued);
	__sync_fetch_and_add(&use->split.blocked, thread->here.blocked);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(entered, void *registers, long number)
{
	struct task_struct *task = task_here();
	struct cpu *cpu = this_cpu(task);
	struct thread *thread;
	__u32 row = row_of(number);

	if (!cpu || !cpu->slot)
		return 0;
	count_faults(cpu, faults_of(task));
	if (!follows_files && is_untimed(cpu, row))
		return 0;
	thread = in_slot(cpu->slot);
	if (!thread)
		return 0;
	// Before the clock is read: it is not the call's time.
	if (follows_files)
		look_at_file(thread, registers, row);
	enter_call(cpu, thread, row);
	return 0;
}

// On x86 (arch/x86/entry/syscalls/syscall_64.tbl).
enum { RT_SIGRETURN = 15, CLONE = 56, FORK = 57, VFORK = 58, CLONE3 = 435 };

// Whether this is the end of a call, of which nothing else was seen.
static __always_inline int leave_unseen(struct cpu *cpu, long number, long answer)
{
	struct pending *pending;

	// A thread that begins comes out of the call that made it.
	if (!answer && (number == CLONE || number == FORK || number == VFORK || number == CLONE3))
		return 0;
	// It put back the registers of before the signal.
	if (number < 0)
		number = RT_SIGRETURN;
	pending = pending_in(cpu, cpu->armed ? ROWS : row_of(number));
	if (!pending)
		return 0;
	if (!pending->is_sampled)
		cpu->rare += 1 + (pending->mean >> (OF_LATE + 10));
	cpu->unseen += !cpu->armed;
	leave_untimed(cpu, pending, has_failed(answer));
	return 1;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(left, struct pt_regs___x86 *registers, long answer)
{
	struct task_struct *task = task_here();
	struct cpu *cpu = this_cpu(task);
	struct thread *thread;
	__u64 faults = faults_of(task);
	int seen;

	if (!cpu || !cpu->slot)
		return 0;
	seen = leave_call(cpu, answer);
	if (seen == END_ONLY && rests && leave_unseen(cpu, registers->orig_ax, answer)) {
		// Which of these came in it is not known.
		count_faults(cpu, faults);
		return 0;
	}
	cpu->within += faults - cpu->faults;
	cpu->faults = faults;
	if (seen != IN_TIME || !follows_files)
		return 0;
	thread = in_slot(cpu->slot);
	if (thread && thread->about)
		add_to_file(thread, has_failed(answer));
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, int preempted, struct task_struct *previous, struct task_struct *next)
{
	return switch_to(preempted ? 0 : state_of(previous), next->pid);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *task)
{
	return wake(task->pid);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	return fork(child->pid, child->tgid);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(executed, struct task_struct *task, int before)
{
	return execute(before);
}

SEC("tp_btf/sched_process_exit")
int exited(void *context)
{
	return end();
}
