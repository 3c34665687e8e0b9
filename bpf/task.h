// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A task of the kernel, and by what the command that is followed is known.

// What is used of the kernel's, by name; where it stands is looked up when this is loaded.
#define NAME 16

struct task_struct {
	int pid;
	int tgid;
	unsigned long min_flt;
	unsigned long maj_flt;
	unsigned int __state;
	char comm[NAME];
} __attribute__((preserve_access_index));

// Before Linux 5.14.
struct task_struct___before {
	volatile long state;
} __attribute__((preserve_access_index));

// A thread that is woken while it is on its way to sleep is queued, and not blocked: for so long in ns.
#define ON_THE_WAY 20000

// 0 for one that could run.
static __always_inline __u32 state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return ((struct task_struct___before *)task)->state;
}

// The name of the thread that starts the command; nobody else has it.
const volatile char starter[NAME];

static __always_inline int is_starter(void)
{
	__u32 differs = 0;
	char name[NAME];
	int i;

	bpf_get_current_comm(name, sizeof(name));
	for (i = 0; i < NAME; i++)
		differs |= name[i] ^ starter[i];
	return !differs;
}
