//! What a machine has counted up to a moment: two of them tell what happened between.

use tenbin_metal::machine::{CPUS, Reading, Root, control_groups, integer};
use tenbin_model::{Cpu, Order};

/// The counters at one moment.
pub(super) struct Moment {
    /// `/proc/stat`.
    stat: Reading<String>,
    /// `/proc/interrupts`.
    interrupts: Reading<String>,
    /// `/proc/vmstat`.
    vmstat: Reading<String>,
    /// The control group's `cpu.stat`.
    group: Reading<String>,
    processes: Reading<Vec<Process>>,
    /// CPU time of this process, in ticks.
    own: u64,
    parent: u32,
    pressures: [(&'static str, Reading<String>); 3],
    throttled: Reading<u64>,
}

/// A process that is not this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) name: String,
    /// CPU time of all its threads, in ticks.
    ticks: u64,
    parent: u32,
    /// The CPU that its first thread ran on last.
    pub(super) cpu: Cpu,
}

/// Time that a CPU spent on everything but waiting, and what of it was stolen, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent {
    pub(super) busy: u64,
    pub(super) stolen: u64,
    pub(super) all: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interrupt {
    /// Its number, or the kernel's short name: `24`, `LOC`.
    pub(super) name: String,
    /// What is behind it: `virtio0-input.0`.
    pub(super) device: String,
    counts: Vec<(Cpu, u64)>,
}

impl Moment {
    /// Reads them; those for heat of these CPUs.
    pub(super) fn of(root: Root<'_>, cpus: &[Cpu]) -> Self {
        let pressure = |name: &'static str| (name, root.text(&format!("/proc/pressure/{name}")));
        let stat = root.text("/proc/stat");
        // At once: what this process does between the two would be somebody else's.
        let own = root.text("/proc/self/stat").ok().and_then(|stat| process(0, &stat));
        Self {
            stat,
            own: own.as_ref().map_or(0, |own| own.ticks),
            parent: own.as_ref().map_or(0, |own| own.parent),
            interrupts: root.text("/proc/interrupts"),
            vmstat: root.text("/proc/vmstat"),
            group: control_groups(&root, "cpu").and_then(|folders| {
                let own = folders.first().ok_or("no control group")?;
                root.text(&format!("{own}/cpu.stat"))
            }),
            processes: processes(root),
            pressures: ["cpu", "memory", "io"].map(pressure),
            throttled: cpus.iter().map(|cpu| throttled(root, *cpu)).sum(),
        }
    }

    /// Microseconds in which some task waited for each resource.
    pub(super) fn pressures(&self) -> Reading<Vec<(&'static str, u64)>> {
        let total = |(name, text): &(&'static str, Reading<String>)| {
            let text = text.as_ref().map_err(Clone::clone)?;
            let some = text.lines().find(|line| line.starts_with("some "));
            let total = some.and_then(|line| line.split_once("total="));
            Ok((*name, integer(total.ok_or_else(|| format!("/proc/pressure/{name}: no total"))?.1)?))
        };
        self.pressures.iter().map(total).collect()
    }

    /// A number of `/proc/vmstat`; 0 where the kernel does not count that.
    pub(super) fn counted(&self, name: &str) -> Reading<u64> {
        numbered(self.vmstat.as_ref().map_err(Clone::clone)?, name)
    }

    /// A number of the control group's `cpu.stat`; 0 where it is not there.
    pub(super) fn of_group(&self, name: &str) -> Reading<u64> {
        numbered(self.group.as_ref().map_err(Clone::clone)?, name)
    }

    /// How many tasks run or wait for a CPU.
    pub(super) fn runnable(&self) -> Reading<u64> {
        numbered(self.stat.as_ref().map_err(Clone::clone)?, "procs_running")
    }

    /// How these CPUs spent their time since they came up (`proc_stat(5)`), together.
    pub(super) fn spent(&self, cpus: &[Cpu]) -> Reading<Spent> {
        let text = self.stat.as_ref().map_err(Clone::clone)?;
        let mut spent = Spent::default();
        for cpu in cpus {
            let name = format!("cpu{}", cpu.0);
            let line = text.lines().find(|line| line.split(' ').next() == Some(name.as_str()));
            let line = line.ok_or_else(|| format!("/proc/stat: no line `{name}`"))?;
            // user nice system idle iowait irq softirq steal.
            let ticks: Vec<u64> =
                line.split_ascii_whitespace().skip(1).take(8).map_while(|n| n.parse().ok()).collect();
            let [user, nice, system, idle, waiting, hard, soft, stolen] = ticks[..] else {
                return Err(format!("/proc/stat: `{name}` has no eight columns"));
            };
            let busy = user + nice + system + hard + soft;
            spent.busy += busy;
            spent.stolen += stolen;
            spent.all += busy + idle + waiting + stolen;
        }
        Ok(spent)
    }

    /// How they spent their time since `before`, without what this process did.
    pub(super) fn spent_since(&self, before: &Self, cpus: &[Cpu]) -> Reading<Spent> {
        let mut spent = self.spent(cpus)?.since(before.spent(cpus)?);
        spent.busy = spent.busy.saturating_sub(self.own.saturating_sub(before.own));
        Ok(spent)
    }

    pub(super) fn interrupts(&self) -> Reading<Vec<Interrupt>> {
        let text = self.interrupts.as_ref().map_err(Clone::clone)?;
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default();
        let cpus: Vec<Cpu> = header
            .split_ascii_whitespace()
            .filter_map(|word| Some(Cpu(word.strip_prefix("CPU")?.parse().ok()?)))
            .collect();
        let interrupt = |line: &str| {
            let (name, rest) = line.trim().split_once(':')?;
            let mut words = rest.split_ascii_whitespace().peekable();
            let mut counts = Vec::new();
            for &cpu in &cpus {
                let Some(count) = words.peek().and_then(|word| word.parse().ok()) else { break };
                counts.push((cpu, count));
                words.next();
            }
            let device = words.next_back().unwrap_or_default().to_owned();
            Some(Interrupt { name: name.to_owned(), device, counts })
        };
        Ok(lines.filter_map(interrupt).collect())
    }

    /// The processes that used CPU time since `before`, with the ticks, those that used most first.
    pub(super) fn used(&self, before: &Self) -> Reading<Vec<(Process, u64)>> {
        let earlier = before.processes.as_ref().map_err(Clone::clone)?;
        let mut used: Vec<(Process, u64)> = Vec::new();
        for process in self.processes.as_ref().map_err(Clone::clone)? {
            let ticks = earlier.iter().find(|other| other.pid == process.pid).map_or(0, |other| other.ticks);
            if process.ticks > ticks {
                used.push((process.clone(), process.ticks - ticks));
            }
        }
        used.order_by_key(|(_, ticks)| std::cmp::Reverse(*ticks));
        Ok(used)
    }

    /// How often the processor slowed these CPUs' cores and packages down for heat, since they came up.
    pub(super) fn throttled(&self) -> Reading<u64> {
        self.throttled.clone()
    }

    pub(super) fn named(&self, name: &str) -> Reading<Vec<&Process>> {
        let processes = self.processes.as_ref().map_err(Clone::clone)?;
        Ok(processes.iter().filter(|process| process.name == name).collect())
    }

    /// Whether this process runs below that one.
    pub(super) fn descends_from(&self, process: &Process) -> bool {
        let processes = self.processes.as_deref().unwrap_or_default();
        let mut parent = self.parent;
        // A process that is gone meanwhile ends the chain; no chain is longer than there are processes.
        for _ in 0..=processes.len() {
            if parent == process.pid {
                return true;
            }
            match processes.iter().find(|other| other.pid == parent) {
                Some(next) => parent = next.parent,
                None => break,
            }
        }
        false
    }
}

impl Spent {
    /// What was spent since an earlier moment. A kernel's counts may go back a little (`proc_stat(5)`).
    fn since(self, earlier: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(earlier.busy),
            stolen: self.stolen.saturating_sub(earlier.stolen),
            all: self.all.saturating_sub(earlier.all),
        }
    }
}

impl Interrupt {
    /// How often it came on any CPU.
    pub(super) fn total(&self) -> u64 {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    pub(super) fn on(&self, cpus: &[Cpu]) -> u64 {
        self.counts.iter().filter(|(cpu, _)| cpus.contains(cpu)).map(|(_, count)| count).sum()
    }
}

/// The number in the line `name number`; 0 where there is none.
fn numbered(text: &str, name: &str) -> Reading<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.map_or(Ok(0), integer)
}

/// All processes but this one.
fn processes(root: Root<'_>) -> Reading<Vec<Process>> {
    let own = std::process::id();
    let names = root.names("/proc")?;
    let others = names.iter().filter_map(|name| name.parse().ok()).filter(|pid| *pid != own);
    // One that is gone meanwhile is no other process any more.
    Ok(others.filter_map(|pid| process(pid, &root.text(&format!("/proc/{pid}/stat")).ok()?)).collect())
}

/// `pid (name) state ppid …`, where a name may hold anything (`proc_pid_stat(5)`): `utime` and `stime` are
/// fields 14 and 15, `processor` is 39.
fn process(pid: u32, stat: &str) -> Option<Process> {
    let (before, after) = stat.rsplit_once(") ")?;
    let name = before.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = after.split(' ').collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let cpu = Cpu(u32::try_from(field(39)?).ok()?);
    let parent = u32::try_from(field(4)?).ok()?;
    Some(Process { pid, name, ticks: field(14)? + field(15)?, parent, cpu })
}

/// How often the processor slowed this CPU's core and package down (`arch/x86/kernel/cpu/mce/therm_throt.c`).
fn throttled(root: Root<'_>, cpu: Cpu) -> Reading<u64> {
    let count =
        |what: &str| root.parsed(&format!("{CPUS}/cpu{}/thermal_throttle/{what}", cpu.0), integer::<u64>);
    Ok(count("core_throttle_count")? + count("package_throttle_count")?)
}
