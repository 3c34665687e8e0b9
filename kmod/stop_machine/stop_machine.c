// SPDX-License-Identifier: GPL-2.0
/*
 * Stops the machine for a time, so that one can see what everything else makes of that.
 *
 *	insmod stop_machine.ko msecs=2000	stops it once, as it is loaded
 *	echo 2000 >/dev/stop_machine		stops it again, any number of times
 *	echo "2000 1-2" >/dev/stop_machine	holds only these CPUs
 *	cat /dev/stop_machine			what the last stop was
 *
 * All CPUs are stopped by the kernel's stop_machine(). Its third argument is often taken for the
 * CPUs that are to be stopped. It is not: whatever it says, every CPU that is online stands still
 * with its interrupts off, and the argument only says which of them run the handler meanwhile
 * (with NULL, the first one). Here all run it, so that each can write down what it sees and quiet
 * its own watchdogs.
 *
 * So a part of the CPUs cannot be had from stop_machine(). Where a list of CPUs is asked for, a
 * worker bound to each of them holds it, interrupts off. That is something else: the other CPUs
 * run on, and will soon wait for those that are held, as they would for CPUs that hang.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/capability.h>
#include <linux/completion.h>
#include <linux/console.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nmi.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/stop_machine.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "../compat/hrtimer.h"
#include "stall.h"

/*
 * The longest stop, and the longest that needs no force: some of what a machine talks to gives up
 * soon.
 */
#define LONGEST_MSECS 60000
#define LONGEST_UNFORCED_MSECS 8000

/*
 * How long a list of CPUs may take to come together: before the first has its interrupts off, and
 * again from then on.
 */
#define GATHER_MSECS 2000

/*
 * How often the clock may be read in a row without a change before it is taken to stand still.
 * A counter that is read in some 20 ns is given up after a millisecond. One that is read over a
 * bus, as acpi_pm and hpet, takes about a microsecond a read, and many times that where a virtual
 * machine must be left for it: up to seconds. So watchdogs are touched meanwhile, too, as often
 * as the second number says. The slowest counters tick 32768 times a second, which are some
 * thousand reads.
 */
#define READS_WITHOUT_CHANGE BIT(16)
#define READS_UNTOUCHED BIT(12)

static unsigned int msecs;
module_param(msecs, uint, 0444);
MODULE_PARM_DESC(msecs, "how long to stop when loaded, in ms; 0: not at all (default)");

static char *cpus = "all";
module_param(cpus, charp, 0444);
MODULE_PARM_DESC(cpus, "which CPUs: all (default) or a list, as 0-1,3");

static bool force;
module_param(force, bool, 0444);
MODULE_PARM_DESC(force, "also stop for more than 8000 ms, and where panic switches cannot be read");

/* What is asked for. */
struct order {
	unsigned int msecs;
	bool force;
	/* By stop_machine(); then the list is not looked at. */
	bool all;
	cpumask_var_t cpus;
};

/*
 * What one CPU saw of the last stop. Times are of the clock that now_ns() reads; 0: it did not
 * happen.
 */
struct stand {
	u64 entered_ns;
	u64 left_ns;
	/* When the timer was due, in the middle of the stop, and when it got its interrupt. */
	u64 due_ns;
	u64 fired_ns;
	bool interrupts_off;
	struct hrtimer timer;
	struct work_struct work;
};

static DEFINE_PER_CPU(struct stand, stands);

enum gate { GATE_CLOSED, GATE_OPEN, GATE_GIVEN_UP };

/* The stop that goes on, or the last one. */
static struct {
	unsigned int msecs;
	u64 length_ns;
	bool all;
	/* When the first CPU was there, and when every CPU may go on; 0 until then. */
	atomic64_t first_ns;
	atomic64_t end_ns;
	bool clock_failed;
	/* Timers that have not fired. */
	atomic_t timers;
	/* Of a list: how many CPUs are awaited, how many have come, and whether they may begin. */
	unsigned int wanted;
	atomic_t arrived;
	atomic_t gate;
	struct completion go;
	/* What came of it. */
	u64 achieved_ns;
	int result;
} stop;

/*
 * Held by who stops the machine. A second one is sent away and does not wait: its stop would come
 * as a surprise.
 */
static DEFINE_MUTEX(one_stop);

/* Guards stands and stop: held while they change, and by who reads them. */
static DEFINE_MUTEX(report);

/* CPUs that the last stop held; guarded by report. */
static cpumask_var_t held;

static struct workqueue_struct *holders;

/*
 * The clock that ends a stop. It must go on while nobody keeps time: jiffies stand still when all
 * interrupts are off, and so may the scheduler's clock, which is bounded by the tick where time
 * stamp counters cannot be trusted. This one reads the counter under the kernel's own clock,
 * needs no lock that a stopped CPU could hold, and reads the same on every CPU. It holds as long
 * as that counter does not wrap around since time was last kept: refuse_clock() knows the
 * counters that might, and hold() sees it if one does.
 *
 * And not mdelay(): it counts loops, by a speed that was measured at boot. On an emulated CPU
 * that is off by more than half.
 */
static u64 now_ns(void)
{
	return ktime_get_mono_fast_ns();
}

/*
 * All stand still before the first is here, with interrupts off, so the first says for all when
 * it ends. The CPUs of a list come one by one, so each has the end put off until it will have
 * been held long enough; but not for ever, as the first ones are held all the time. No CPU is
 * held longer than longest_msecs() says.
 */
static void agree_on_end(u64 now)
{
	u64 first = atomic64_cmpxchg(&stop.first_ns, 0, now);
	u64 end = now + stop.length_ns;
	s64 old = 0;

	if (!first)
		first = now;
	if (stop.all)
		end = first + stop.length_ns;
	else
		end = min(end, first + stop.length_ns + GATHER_MSECS * NSEC_PER_MSEC);
	while (old < (s64)end && !atomic64_try_cmpxchg(&stop.end_ns, &old, end))
		;
}

/*
 * Holds this CPU, which has its interrupts off, until the end.
 *
 * Watchdogs are touched once a millisecond, while the clock stands still, and last of all at the
 * end: an interrupt that cannot be masked may ask at any time whether this CPU hangs, and the
 * others will ask at once when interrupts are on again.
 */
static int hold(void *unused)
{
	struct stand *stand = this_cpu_ptr(&stands);
	u64 now = now_ns(), before, touched = now;
	unsigned int reads = 0;

	stand->interrupts_off = irqs_disabled();
	stand->entered_ns = now;
	agree_on_end(now);
	stand->due_ns = atomic64_read(&stop.end_ns) - stop.length_ns / 2;
	atomic_inc(&stop.timers);
	hrtimer_start(&stand->timer, ns_to_ktime(stand->due_ns), HRTIMER_MODE_ABS_PINNED_HARD);

	while (now < (u64)atomic64_read(&stop.end_ns) && !READ_ONCE(stop.clock_failed)) {
		cpu_relax();
		before = now;
		now = now_ns();
		reads = now == before ? reads + 1 : 0;
		/*
		 * A counter that has wrapped around, or that needs interrupts to count, would
		 * never reach the end. Small steps back are none of that: the clock may make them
		 * when time is kept.
		 */
		if (now + NSEC_PER_MSEC < before || reads > READS_WITHOUT_CHANGE) {
			WRITE_ONCE(stop.clock_failed, true);
			now = before;
		}
		if ((s64)(now - touched) >= NSEC_PER_MSEC || (reads + 1) % READS_UNTOUCHED == 0) {
			touch_nmi_watchdog();
			touched = now;
		}
	}
	touch_nmi_watchdog();
	stand->interrupts_off = stand->interrupts_off && irqs_disabled();
	stand->left_ns = now;
	return 0;
}

/* The interrupt that was due in the middle. It says how long interrupts were held back. */
static enum hrtimer_restart fired(struct hrtimer *timer)
{
	struct stand *stand = container_of(timer, struct stand, timer);

	stand->fired_ns = now_ns();
	/*
	 * Again, as the watchdog of the workqueues counts in jiffies, which have only now caught
	 * up.
	 */
	touch_nmi_watchdog();
	atomic_dec(&stop.timers);
	return HRTIMER_NORESTART;
}

/* Opens or gives up the gate, whichever comes first. */
static void decide(enum gate gate)
{
	if (atomic_cmpxchg(&stop.gate, GATE_CLOSED, gate) == GATE_CLOSED)
		complete_all(&stop.go);
}

/*
 * A CPU of a list. It waits for the others asleep, so that nothing that needs this CPU can be
 * what keeps them. Once its interrupts are off it waits for nobody, only for the end, so none can
 * wait for another in a circle.
 */
static void hold_listed(struct work_struct *work)
{
	if (atomic_inc_return(&stop.arrived) == stop.wanted)
		decide(GATE_OPEN);
	wait_for_completion(&stop.go);
	if (atomic_read(&stop.gate) != GATE_OPEN)
		return;
	local_irq_disable();
	hold(NULL);
	local_irq_enable();
}

/* Has the CPUs of a list held. None goes away meanwhile. */
static int stop_listed(const struct cpumask *listed)
{
	unsigned int cpu;
	int error = 0;

	cpus_read_lock();
	if (!cpumask_subset(listed, cpu_online_mask)) {
		cpus_read_unlock();
		return -EINVAL;
	}
	for_each_cpu(cpu, listed)
		queue_work_on(cpu, holders, &per_cpu_ptr(&stands, cpu)->work);
	if (!wait_for_completion_timeout(&stop.go, msecs_to_jiffies(GATHER_MSECS)))
		decide(GATE_GIVEN_UP);
	if (atomic_read(&stop.gate) == GATE_GIVEN_UP)
		error = -ETIMEDOUT;
	for_each_cpu(cpu, listed) {
		struct work_struct *work = &per_cpu_ptr(&stands, cpu)->work;

		/* One whose CPU never came to it is taken back. */
		if (error)
			cancel_work_sync(work);
		else
			flush_work(work);
	}
	cpus_read_unlock();
	return error;
}

/* Writes what was said to the console, as nobody will do it during a stop. */
static void flush_console(void)
{
	console_lock();
	console_unlock();
}

/* How long all that were held stood still together, in ns. */
static u64 stood_still(void)
{
	u64 first = U64_MAX, last = 0, leaving = U64_MAX, left = 0;
	unsigned int cpu;

	for_each_cpu(cpu, held) {
		struct stand *stand = per_cpu_ptr(&stands, cpu);

		first = min(first, stand->entered_ns);
		last = max(last, stand->entered_ns);
		leaving = min(leaving, stand->left_ns);
		left = max(left, stand->left_ns);
	}
	/*
	 * In stop_machine() the one that comes last and the one that leaves first stand still
	 * there, too.
	 */
	if (stop.all)
		return left > first ? left - first : 0;
	return leaving > last ? leaving - last : 0;
}

/* Whether one that was held went on before its time, as the end had been put off enough. */
static bool left_early(void)
{
	unsigned int cpu;

	for_each_cpu(cpu, held) {
		struct stand *stand = per_cpu_ptr(&stands, cpu);

		if (stand->left_ns - stand->entered_ns < stop.length_ns)
			return true;
	}
	return false;
}

/* Forgets the last stop and takes up the next. */
static void take_up(const struct order *order)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct stand *stand = per_cpu_ptr(&stands, cpu);

		stand->entered_ns = 0;
		stand->left_ns = 0;
		stand->due_ns = 0;
		stand->fired_ns = 0;
	}
	stop.msecs = order->msecs;
	stop.length_ns = (u64)order->msecs * NSEC_PER_MSEC;
	stop.all = order->all;
	stop.clock_failed = false;
	stop.wanted = cpumask_weight(order->cpus);
	atomic64_set(&stop.first_ns, 0);
	atomic64_set(&stop.end_ns, 0);
	atomic_set(&stop.timers, 0);
	atomic_set(&stop.arrived, 0);
	atomic_set(&stop.gate, GATE_CLOSED);
	reinit_completion(&stop.go);
}

/* Puts down what came of a stop, says it, and gives the error that it was after all. */
static int put_down(const struct order *order, int error)
{
	unsigned int cpu;
	u64 millis;
	u32 rest;

	cpumask_clear(held);
	for_each_possible_cpu(cpu)
		if (per_cpu_ptr(&stands, cpu)->entered_ns)
			cpumask_set_cpu(cpu, held);
	stop.achieved_ns = cpumask_empty(held) ? 0 : stood_still();
	if (!error && !stop.all && left_early())
		error = -ETIMEDOUT;
	stop.result = error;

	if (error == -EIO)
		pr_err("the kernel's clock failed, CPUs %*pbl went on early\n",
		       cpumask_pr_args(held));
	else if (error == -EINVAL)
		pr_err("CPUs %*pbl are not all online any more\n", cpumask_pr_args(order->cpus));
	else if (error == -ETIMEDOUT)
		pr_err("CPUs %*pbl did not come together, %s\n", cpumask_pr_args(order->cpus),
		       cpumask_empty(held) ? "nothing was stopped" : "some went on early");
	else if (error)
		pr_err("stop_machine() failed with error %d\n", error);
	if (cpumask_empty(held))
		return error;
	millis = div_u64_rem(div_u64(stop.achieved_ns, NSEC_PER_USEC), USEC_PER_MSEC, &rest);
	pr_info("asked for %u ms, CPUs %*pbl stood still for %llu.%03u ms\n", order->msecs,
		cpumask_pr_args(held), millis, rest);
	return error;
}

/*
 * Stops what the order names. Nothing is left to refuse but CPUs that went away meanwhile.
 *
 * Lines on the console enclose the stop as closely as can be, so that a clock outside can time it.
 */
static int perform(const struct order *order)
{
	bool suppressed;
	unsigned int cpu, tries;
	int error;

	mutex_lock(&report);
	take_up(order);
	pr_info("stopping CPUs %*pbl for %u ms\n",
		cpumask_pr_args(order->all ? cpu_online_mask : order->cpus), order->msecs);
	flush_console();

	/*
	 * A grace period that waits for a stopped CPU would be called stalled when jiffies catch
	 * up, or by a CPU that is not held. RCU has nothing to touch for that; it has this
	 * switch.
	 */
	suppressed = cmpxchg(&rcu_cpu_stall_suppress, 0, 1) == 0;
	error = order->all ? stop_machine(hold, NULL, cpu_online_mask) : stop_listed(order->cpus);
	if (!error && stop.clock_failed)
		error = -EIO;
	error = put_down(order, error);

	if (suppressed) {
		/* After these, no grace period is left that has seen the stop. */
		synchronize_rcu();
		synchronize_rcu_expedited();
		cmpxchg(&rcu_cpu_stall_suppress, 1, 0);
	}
	/* Timers were due long ago. Counted in naps, not in jiffies: those might still catch up. */
	for (tries = 0; atomic_read(&stop.timers) && tries < 1000; tries++)
		usleep_range(1000, 2000);
	for_each_possible_cpu(cpu)
		hrtimer_cancel(&per_cpu_ptr(&stands, cpu)->timer);
	mutex_unlock(&report);
	return error;
}

/* For how long a CPU may be held, in ms: those of a list wait for the one that comes last. */
static unsigned int longest_msecs(const struct order *order)
{
	return order->all ? order->msecs : order->msecs + GATHER_MSECS;
}

/* A switch that makes a panic of what a watchdog sees, and when that watchdog loses patience. */
static const struct panic_switch {
	const char *path;
	const char *patience;
	/* How many milliseconds its patience has for each unit in that file. */
	unsigned int unit_msecs;
} panic_switches[] = {
	{ "/proc/sys/kernel/softlockup_panic", "/proc/sys/kernel/watchdog_thresh", 2000 },
	{ "/proc/sys/kernel/hardlockup_panic", "/proc/sys/kernel/watchdog_thresh", 1000 },
	{ "/proc/sys/kernel/panic_on_rcu_stall",
	  "/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout", 1000 },
	{ "/proc/sys/kernel/panic_on_rcu_stall",
	  "/sys/module/rcupdate/parameters/rcu_exp_cpu_stall_timeout", 1 },
	{ "/proc/sys/kernel/hung_task_panic", "/proc/sys/kernel/hung_task_timeout_secs", 1000 },
	{ "/sys/module/workqueue/parameters/panic_on_stall",
	  "/sys/module/workqueue/parameters/watchdog_thresh", 1000 },
};

/*
 * Reads the line that a small file holds, or its beginning. Whoever asks may see something else at
 * that place: it is not waited for, and only a file is read.
 */
static int line_in(const char *path, char *line, size_t size)
{
	struct file *file = filp_open(path, O_RDONLY | O_NONBLOCK, 0);
	ssize_t length = -EINVAL;
	loff_t from = 0;

	if (IS_ERR(file))
		return PTR_ERR(file);
	if (S_ISREG(file_inode(file)->i_mode))
		length = kernel_read(file, line, size - 1, &from);
	filp_close(file, NULL);
	if (length < 0)
		return length;
	line[length] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

/* Reads the number that a file holds. */
static int number_in(const char *path, long *number)
{
	char line[24];
	int error = line_in(path, line, sizeof(line));

	return error ? error : kstrtol(line, 10, number);
}

/*
 * Refuses a stop that would end in a panic.
 *
 * The switches are not exported to modules, so they are read where everybody reads them, as the
 * process that asks for the stop sees them. A switch that is not there means a watchdog that is
 * not there, if only /proc and /sys are. Half of a watchdog's patience is taken for the whole: it
 * looks from time to time, and its last look lies before the stop.
 */
static int refuse_panic(const struct order *order)
{
	/* Two files that are there on every kernel that can load this module. */
	static const char * const always[] = {
		"/proc/sys/kernel/panic",
		"/sys/module/rcupdate/parameters/rcu_cpu_stall_suppress",
	};
	const unsigned int longest = longest_msecs(order);
	const char *unreadable = NULL;
	long number, patience;
	int index, error;

	for (index = 0; index < ARRAY_SIZE(always); index++)
		if (number_in(always[index], &number))
			unreadable = always[index];
	for (index = 0; index < ARRAY_SIZE(panic_switches); index++) {
		const struct panic_switch *on = &panic_switches[index];

		error = number_in(on->path, &number);
		if (error && error != -ENOENT)
			unreadable = on->path;
		if (error || !number)
			continue;
		if (number_in(on->patience, &patience)) {
			unreadable = on->patience;
			continue;
		}
		/* No patience means that nobody watches, or that another row says when. */
		if (patience > 0 && 2ULL * longest >= (u64)patience * on->unit_msecs) {
			pr_err("refused: with %s, %u ms might end in a panic\n", on->path, longest);
			return -EPERM;
		}
	}
	if (!unreadable || order->force)
		return 0;
	pr_err("refused: no force, and %s cannot be read, so a panic cannot be excluded\n",
	       unreadable);
	return -EPERM;
}

/*
 * Counters that are too narrow to bridge every stop. Nearly all others have 56 bits or more; what
 * wraps around all the same is found by hold().
 */
static const struct narrow_counter {
	const char *name;
	unsigned int bits;
} narrow_counters[] = {
	{ "hpet", 32 },
	{ "acpi_pm", 24 },
	/* Interrupts count these, for pit as well, whose counter only runs from one to the next. */
	{ "pit", 0 },
	{ "refined-jiffies", 0 },
	{ "jiffies", 0 },
};

/*
 * How long nobody need keep time with a counter of so many bits, in ms. Half the way around is as
 * far as the kernel follows it, and an eighth is left for safety. How fast it counts is not told
 * to modules, so it is watched for a moment.
 */
static u64 bridged_msecs(unsigned int bits)
{
	struct system_time_snapshot from, to;
	u64 nanos, cycles;

	if (!bits)
		return 0;
	ktime_get_snapshot(&from);
	usleep_range(1000, 2000);
	ktime_get_snapshot(&to);
	nanos = ktime_to_ns(ktime_sub(to.raw, from.raw));
	cycles = (to.cycles - from.cycles) & GENMASK_ULL(bits - 1, 0);
	if (!cycles)
		return 0;
	return div_u64(mul_u64_u64_div_u64(BIT_ULL(bits) * 7 / 16, nanos, cycles), NSEC_PER_MSEC);
}

/*
 * Refuses a stop that the kernel's clock would not live through: it would lose the time of the
 * stop, and nobody could say how long that was.
 */
static int refuse_clock(const struct order *order)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char name[32];
	int index;

	if (line_in(path, name, sizeof(name))) {
		if (order->force)
			return 0;
		pr_err("refused: no force, and %s cannot be read\n", path);
		return -EPERM;
	}
	for (index = 0; index < ARRAY_SIZE(narrow_counters); index++) {
		const struct narrow_counter *narrow = &narrow_counters[index];
		u64 bridged;

		if (strcmp(name, narrow->name) != 0)
			continue;
		bridged = bridged_msecs(narrow->bits);
		if (longest_msecs(order) <= bridged)
			return 0;
		pr_err("refused: the clock source %s bridges %llu ms and no %u ms\n", name,
		       bridged, longest_msecs(order));
		return -EPERM;
	}
	return 0;
}

/* Reads which CPUs are meant. All that are online are the same as all. */
static int parse_cpus(const char *text, struct order *order)
{
	int error = 0;

	order->all = strcmp(text, "all") == 0;
	if (order->all)
		return 0;
	error = cpulist_parse(text, order->cpus);
	cpus_read_lock();
	if (error || cpumask_empty(order->cpus) || !cpumask_subset(order->cpus, cpu_online_mask))
		error = -EINVAL;
	else
		order->all = cpumask_equal(order->cpus, cpu_online_mask);
	cpus_read_unlock();
	if (error)
		pr_err("%s: not a list of CPUs that are online\n", text);
	return error;
}

/* Holds an order against what is allowed. */
static int check(const struct order *order)
{
	int error;

	if (!order->msecs || order->msecs > LONGEST_MSECS) {
		pr_err("%u ms: not between 1 and %d\n", order->msecs, LONGEST_MSECS);
		return -EINVAL;
	}
	if (order->msecs > LONGEST_UNFORCED_MSECS && !order->force) {
		pr_err("refused: %u ms are more than %d, and no force\n", order->msecs,
		       LONGEST_UNFORCED_MSECS);
		return -EPERM;
	}
	error = refuse_panic(order);
	return error ? error : refuse_clock(order);
}

/* Reads "MSECS [CPUS] [force]". */
static int parse(char *text, struct order *order)
{
	char *word;
	bool named = false;

	text = strim(text);
	word = strsep(&text, " \t");
	if (kstrtouint(word, 10, &order->msecs)) {
		pr_err("%s: not a number of milliseconds\n", word);
		return -EINVAL;
	}
	order->all = true;
	while ((word = strsep(&text, " \t"))) {
		int error = 0;

		if (!*word)
			continue;
		if (!order->force && strcmp(word, "force") == 0) {
			order->force = true;
		} else if (!named && !order->force) {
			error = parse_cpus(word, order);
			named = true;
		} else {
			pr_err("%s: not a word for \"MSECS [CPUS] [force]\"\n", word);
			error = -EINVAL;
		}
		if (error)
			return error;
	}
	return 0;
}

static ssize_t device_write(struct file *file, const char __user *from, size_t count, loff_t *ppos)
{
	struct order order = {};
	char *text;
	int error;

	if (count >= PAGE_SIZE)
		return -EINVAL;
	text = memdup_user_nul(from, count);
	if (IS_ERR(text))
		return PTR_ERR(text);
	if (!zalloc_cpumask_var(&order.cpus, GFP_KERNEL)) {
		kfree(text);
		return -ENOMEM;
	}
	error = parse(text, &order);
	if (!error && !mutex_trylock(&one_stop)) {
		pr_err("refused: the machine is being stopped already\n");
		error = -EBUSY;
	} else if (!error) {
		error = check(&order);
		if (!error)
			error = perform(&order);
		mutex_unlock(&one_stop);
	}
	free_cpumask_var(order.cpus);
	kfree(text);
	return error ? error : count;
}

/* The last stop, a key and a value on each line; nothing before the first. */
static int device_show(struct seq_file *out, void *unused)
{
	unsigned int cpu;

	if (mutex_lock_interruptible(&report))
		return -ERESTARTSYS;
	if (stop.msecs) {
		seq_printf(out, "requested_ms %u\n", stop.msecs);
		seq_printf(out, "achieved_ns %llu\n", stop.achieved_ns);
		seq_printf(out, "error %d\n", -stop.result);
		seq_printf(out, "by %s\n", stop.all ? "stop_machine" : "workers");
		seq_printf(out, "cpus %*pbl\n", cpumask_pr_args(held));
		for_each_cpu(cpu, held) {
			struct stand *stand = per_cpu_ptr(&stands, cpu);

			seq_printf(out, "cpu%u.entered_ns %llu\n", cpu, stand->entered_ns);
			seq_printf(out, "cpu%u.left_ns %llu\n", cpu, stand->left_ns);
			seq_printf(out, "cpu%u.held_ns %llu\n", cpu,
				   stand->left_ns - stand->entered_ns);
			seq_printf(out, "cpu%u.interrupts_off %d\n", cpu, stand->interrupts_off);
			if (stand->fired_ns)
				seq_printf(out, "cpu%u.timer_late_ns %lld\n", cpu,
					   (s64)(stand->fired_ns - stand->due_ns));
		}
	}
	mutex_unlock(&report);
	return 0;
}

/*
 * Who opens it for writing must be allowed to stop the machine; what it then does with the file
 * is its own affair.
 */
static int device_open(struct inode *inode, struct file *file)
{
	if ((file->f_mode & FMODE_WRITE) && !capable(CAP_SYS_BOOT))
		return -EPERM;
	/* A misc device leaves itself there, and single_open() wants the place empty. */
	file->private_data = NULL;
	return single_open(file, device_show, NULL);
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = device_open,
	.read = seq_read,
	.write = device_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = KBUILD_MODNAME,
	.mode = 0600,
	.fops = &operations,
};

static void __init prepare(struct stand *stand)
{
	INIT_WORK(&stand->work, hold_listed);
	compat_hrtimer_setup(&stand->timer, fired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
}

/*
 * Whatever can be refused is refused before the device is there, as somebody may open that at
 * once. And a stop that has been is no error, whatever came of it: an insmod may try again, and
 * stop the machine twice.
 */
static int __init stop_machine_init(void)
{
	struct order order = { .msecs = msecs, .force = force };
	unsigned int cpu;
	int error = -ENOMEM;

	init_completion(&stop.go);
	for_each_possible_cpu(cpu)
		prepare(per_cpu_ptr(&stands, cpu));
	if (!zalloc_cpumask_var(&order.cpus, GFP_KERNEL))
		return error;
	if (!zalloc_cpumask_var(&held, GFP_KERNEL))
		goto free_order;
	/* Workers of a pool with precedence, that no other work waits behind. */
	holders = alloc_workqueue(KBUILD_MODNAME, WQ_HIGHPRI | WQ_CPU_INTENSIVE, 0);
	if (!holders)
		goto free_held;
	mutex_lock(&one_stop);
	error = parse_cpus(cpus, &order);
	if (!error && msecs)
		error = check(&order);
	if (!error)
		error = misc_register(&device);
	if (!error && msecs)
		perform(&order);
	mutex_unlock(&one_stop);
	if (!error)
		goto free_order;
	destroy_workqueue(holders);
free_held:
	free_cpumask_var(held);
free_order:
	free_cpumask_var(order.cpus);
	return error;
}

/* No stop goes on: it would be in a file that is open, and so this module would be in use. */
static void __exit stop_machine_exit(void)
{
	misc_deregister(&device);
	destroy_workqueue(holders);
	free_cpumask_var(held);
}

module_init(stop_machine_init);
module_exit(stop_machine_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Stops the machine for a time");
