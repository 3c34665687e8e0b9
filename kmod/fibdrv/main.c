// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/fibonacci: the file's position is n, and a read gives F(n).
 *
 * The binary algorithms answer in limbs of 64 bits, the decimal ones in digits to the
 * base of 10^9 of 32 bits, the least first and without leading zeros, so F(0) is empty.
 * A read gives a whole number or none, and does not move the position: ERANGE where the
 * buffer is too small for it, as getxattr(2) does.
 *
 * An open file keeps the algorithm that was chosen when it was opened. Nothing else is
 * shared between readers but what is told of the last finished read.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/spinlock.h>
#include <linux/sysfs.h>
#include <linux/uio.h>

#include "fibonacci.h"
#include "natural.h"

static unsigned int max_n = 100000;
module_param(max_n, uint, 0444);
MODULE_PARM_DESC(max_n, "the largest n, at most 10000000 (100000)");

static unsigned int karatsuba = KARATSUBA_USUAL;
module_param(karatsuba, uint, 0444);
MODULE_PARM_DESC(karatsuba, "limbs from which a product is halved, 4 to 1024");

/* An index; each access is whole, and nothing depends on its order. */
static unsigned int chosen;

/* The last finished read. The lock keeps the five together: see the attribute "last". */
static DEFINE_SPINLOCK(last_lock);
static struct last {
	u64 n;
	u64 limbs;
	u64 allocate_ns;
	u64 compute_ns;
	u64 copy_ns;
} last;

static int fibonacci_open(struct inode *inode, struct file *file)
{
	file->private_data = (void *)&fibonacci_algorithms[READ_ONCE(chosen)];
	return 0;
}

static loff_t fibonacci_llseek(struct file *file, loff_t offset, int whence)
{
	return fixed_size_llseek(file, offset, whence, max_n);
}

static ssize_t fibonacci_read_iter(struct kiocb *kiocb, struct iov_iter *to)
{
	const struct fibonacci_algorithm *algorithm = kiocb->ki_filp->private_data;
	struct fibonacci_answer answer;
	u64 begin, copy_ns;
	ssize_t result;

	if (kiocb->ki_pos > max_n)
		return -EINVAL;
	if (iov_iter_count(to) < algorithm->least(kiocb->ki_pos))
		return -ERANGE;
	result = algorithm->compute(kiocb->ki_pos, karatsuba, &answer);
	if (result)
		return result;

	result = answer.size;
	begin = ktime_get_ns();
	if (answer.size > iov_iter_count(to))
		result = -ERANGE;
	else if (copy_to_iter(answer.bytes, answer.size, to) != answer.size)
		result = -EFAULT;
	copy_ns = ktime_get_ns() - begin;
	fibonacci_release(&answer);

	if (result >= 0) {
		spin_lock(&last_lock);
		last.n = kiocb->ki_pos;
		last.limbs = DIV_ROUND_UP(answer.size, sizeof(u64));
		last.allocate_ns = answer.allocate_ns;
		last.compute_ns = answer.compute_ns;
		last.copy_ns = copy_ns;
		spin_unlock(&last_lock);
	}
	return result;
}

static const struct file_operations fibonacci_operations = {
	.owner = THIS_MODULE,
	.open = fibonacci_open,
	.llseek = fibonacci_llseek,
	.read_iter = fibonacci_read_iter,
};

static ssize_t algorithm_show(struct device *device, struct device_attribute *attribute,
			      char *buffer)
{
	unsigned int current_one = READ_ONCE(chosen);
	unsigned int at;
	int size = 0;

	for (at = 0; at < FIBONACCI_ALGORITHMS; at++)
		size += sysfs_emit_at(buffer, size, at == current_one ? "%s[%s]" : "%s%s",
				      at ? " " : "", fibonacci_algorithms[at].name);
	size += sysfs_emit_at(buffer, size, "\n");
	return size;
}

static ssize_t algorithm_store(struct device *device, struct device_attribute *attribute,
			       const char *buffer, size_t size)
{
	unsigned int at;

	for (at = 0; at < FIBONACCI_ALGORITHMS; at++) {
		if (sysfs_streq(buffer, fibonacci_algorithms[at].name)) {
			WRITE_ONCE(chosen, at);
			return size;
		}
	}
	return -EINVAL;
}
static DEVICE_ATTR_RW(algorithm);

static ssize_t show_last(char *buffer, const u64 *number)
{
	u64 copy;

	spin_lock(&last_lock);
	copy = *number;
	spin_unlock(&last_lock);
	return sysfs_emit(buffer, "%llu\n", copy);
}

#define LAST_ATTRIBUTE(name, field)							\
	static ssize_t name##_show(struct device *device,				\
				   struct device_attribute *attribute, char *buffer)	\
	{										\
		return show_last(buffer, &last.field);					\
	}										\
	static DEVICE_ATTR_RO(name)

/* All of one read; of the files with a number each, another read may come between two. */
static ssize_t last_show(struct device *device, struct device_attribute *attribute, char *buffer)
{
	struct last copy;

	spin_lock(&last_lock);
	copy = last;
	spin_unlock(&last_lock);
	return sysfs_emit(buffer, "%llu %llu %llu %llu %llu\n", copy.n, copy.limbs,
			  copy.allocate_ns, copy.compute_ns, copy.copy_ns);
}
static DEVICE_ATTR_RO(last);

LAST_ATTRIBUTE(last_n, n);
LAST_ATTRIBUTE(last_limbs, limbs);
LAST_ATTRIBUTE(allocate_ns, allocate_ns);
LAST_ATTRIBUTE(compute_ns, compute_ns);
LAST_ATTRIBUTE(copy_ns, copy_ns);

static struct attribute *fibonacci_attrs[] = {
	&dev_attr_algorithm.attr,
	&dev_attr_last.attr,
	&dev_attr_last_n.attr,
	&dev_attr_last_limbs.attr,
	&dev_attr_allocate_ns.attr,
	&dev_attr_compute_ns.attr,
	&dev_attr_copy_ns.attr,
	NULL
};
ATTRIBUTE_GROUPS(fibonacci);

static struct miscdevice fibonacci_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "fibonacci",
	.mode = 0444,
	.fops = &fibonacci_operations,
	.groups = fibonacci_groups,
};

static int __init fibonacci_init(void)
{
	if (max_n > FIBONACCI_MOST) {
		pr_err("max_n=%u is above %u\n", max_n, FIBONACCI_MOST);
		return -EINVAL;
	}
	if (karatsuba < KARATSUBA_LEAST || karatsuba > KARATSUBA_MOST) {
		pr_err("karatsuba=%u is not within %u to %u\n", karatsuba, KARATSUBA_LEAST,
		       KARATSUBA_MOST);
		return -EINVAL;
	}
	return misc_register(&fibonacci_device);
}

static void __exit fibonacci_exit(void)
{
	misc_deregister(&fibonacci_device);
}

module_init(fibonacci_init);
module_exit(fibonacci_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Fibonacci numbers as a character device");
