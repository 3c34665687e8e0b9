// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What file a system call is about: the path that it is given, or what its descriptor stands for.

// What is used of the kernel's, by name; where it stands is looked up when this is loaded.
struct qstr {
	const unsigned char *name;
} __attribute__((preserve_access_index));

struct file_system_type {
	const char *name;
} __attribute__((preserve_access_index));

struct super_block {
	__u32 s_dev;
	struct file_system_type *s_type;
} __attribute__((preserve_access_index));

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct super_block *d_sb;
} __attribute__((preserve_access_index));

struct path {
	struct dentry *dentry;
} __attribute__((preserve_access_index));

struct file {
	struct path f_path;
} __attribute__((preserve_access_index));

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} __attribute__((preserve_access_index));

struct files_struct {
	struct fdtable *fdt;
} __attribute__((preserve_access_index));

struct fs_struct {
	struct path root;
} __attribute__((preserve_access_index));

struct task_struct___files {
	struct files_struct *files;
	struct fs_struct *fs;
} __attribute__((preserve_access_index));

// The registers in which a call has its arguments: arch/{x86,arm64,riscv}/include/asm/ptrace.h.
struct pt_regs___arm64 {
	unsigned long long regs[31];
	unsigned long long orig_x0;
} __attribute__((preserve_access_index));

struct pt_regs___riscv {
	unsigned long orig_a0, a1;
} __attribute__((preserve_access_index));

static __always_inline __u64 argument(const void *registers, int second)
{
	const struct pt_regs___x86 *x86 = registers;
	const struct pt_regs___arm64 *arm64 = registers;
	const struct pt_regs___riscv *riscv = registers;

	if (bpf_core_field_exists(x86->di))
		return second ? BPF_CORE_READ(x86, si) : BPF_CORE_READ(x86, di);
	if (bpf_core_field_exists(arm64->orig_x0))
		return second ? BPF_CORE_READ(arm64, regs[1]) : BPF_CORE_READ(arm64, orig_x0);
	return second ? BPF_CORE_READ(riscv, a1) : BPF_CORE_READ(riscv, orig_a0);
}

// Names of a path that are kept, from the file upwards, and bytes of each.
#define NAMES 8
#define LETTERS 32

// In place of a file system: of a path that a program gave, and of one from its root on.
#define GIVEN (~0u)
#define ROOTED (~1u)

struct subject {
	__u32 row;
	__u32 device;
	char names[NAMES][LETTERS];
};

// The file behind a descriptor. What has no name of its own, as a pipe, has that of its file system.
static __always_inline int by_descriptor(struct subject *subject, __u32 number)
{
	struct task_struct___files *task = (void *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct dentry *dentry, *parent, *root = BPF_CORE_READ(task, fs, root.dentry);
	struct file **files, *file = 0;
	int i;

	if (number >= BPF_CORE_READ(table, max_fds))
		return 0;
	files = BPF_CORE_READ(table, fd);
	bpf_probe_read_kernel(&file, sizeof(file), files + number);
	if (!file)
		return 0;
	dentry = BPF_CORE_READ(file, f_path.dentry);
	subject->device = BPF_CORE_READ(dentry, d_sb, s_dev);
	parent = BPF_CORE_READ(dentry, d_parent);
	if (parent == dentry && dentry != root) {
		bpf_probe_read_kernel_str(subject->names[0], LETTERS, BPF_CORE_READ(dentry, d_name.name));
		if (!subject->names[0][0])
			bpf_probe_read_kernel_str(subject->names[1], LETTERS, BPF_CORE_READ(dentry, d_sb, s_type, name));
		return 1;
	}
	for (i = 0; i < NAMES; i++) {
		if (dentry == root)
			subject->device = ROOTED;
		if (dentry == root || parent == dentry)
			break;
		bpf_probe_read_kernel_str(subject->names[i], LETTERS, BPF_CORE_READ(dentry, d_name.name));
		dentry = parent;
		parent = BPF_CORE_READ(dentry, d_parent);
	}
	return 1;
}

static __always_inline int by_path(struct subject *subject, __u64 at)
{
	subject->device = GIVEN;
	return bpf_probe_read_user_str(subject->names, sizeof(subject->names), (void *)at) > 1;
}
