//! A machine on which nothing disturbs, and each source planted in it alone.

use std::fs;
use std::path::Path;

use tenbin_metal::machine::{CPUS, Facts, observe};
use tenbin_model::{Bytes, Cpu};

use super::*;

/// A file, below [`CPUS`] where its path begins with no slash, and what is in it.
type File<'a> = (&'a str, &'a str);

/// A machine of two cores with two CPUs each, of which this process may use all, that is set up for
/// measuring.
const QUIET: &[File<'_>] = &[
    ("/proc/cmdline", "quiet"),
    ("/proc/cpuinfo", "processor\t: 0\nmodel name\t: a model\n"),
    ("/proc/self/cgroup", "0::/box\n"),
    ("/proc/self/mountinfo", "41 31 0:38 / /cg rw,relatime - cgroup2 cgroup2 rw\n"),
    ("/cg/box/cpu.max", "max 100000\n"),
    ("/cg/box/cpu.stat", "usage_usec 5\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"),
    ("/cg/box/cpu.idle", "0\n"),
    ("/cg/box/memory.max", "max\n"),
    ("/proc/self/status", "Name:\tx\nSeccomp:\t0\nCpus_allowed_list:\t0-3\n"),
    (
        "/proc/self/stat",
        "7 (a b) R 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 2 0 0 0\n",
    ),
    ("/proc/self/personality", "00000000\n"),
    ("/proc/self/timerslack_ns", "50000\n"),
    ("/proc/stat", STAT),
    (
        "/proc/interrupts",
        "  CPU0 CPU1 CPU2 CPU3\n 24: 0 0 0 9 PCI-MSI 1-edge eth0\nLOC: 5 5 5 5 Local timer interrupts\nTLB: 1 1 1 1 TLB shootdowns\n",
    ),
    ("/proc/irq/24/effective_affinity_list", "3\n"),
    (
        "/proc/vmstat",
        "pswpin 5\npswpout 5\nthp_collapse_alloc 7\nnuma_pte_updates 0\nallocstall_normal 0\nallocstall_movable 0\n",
    ),
    ("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n"),
    ("/proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"),
    ("/proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"),
    ("/proc/meminfo", MEMORY),
    ("/proc/sys/kernel/numa_balancing", "0\n"),
    ("/proc/sys/kernel/randomize_va_space", "2\n"),
    ("/proc/sys/kernel/nmi_watchdog", "0\n"),
    ("/proc/sys/kernel/osrelease", "6.12.0\n"),
    ("/proc/sys/kernel/bpf_stats_enabled", "0\n"),
    ("/sys/kernel/tracing/current_tracer", "nop\n"),
    ("/sys/kernel/tracing/set_event", ""),
    ("/sys/kernel/tracing/tracing_on", "1\n"),
    ("/sys/kernel/debug/sched/fair_server/cpu0/runtime", "0\n"),
    (HUGE_PAGES, "always [madvise] never\n"),
    ("/sys/kernel/mm/ksm/run", "0\n"),
    ("/sys/class/power_supply/BAT0/type", "Battery\n"),
    ("/sys/class/power_supply/BAT0/status", "Full\n"),
    ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm\n"),
    ("online", "0-3\n"),
    ("present", "0-3\n"),
    ("isolated", "0-1\n"),
    ("nohz_full", "0-1\n"),
    ("vulnerabilities/l1tf", "Not affected\n"),
    ("intel_pstate/no_turbo", "1\n"),
    ("/sys/devices/system/node/online", "0\n"),
    ("/sys/devices/system/node/node0/cpulist", "0-3\n"),
    ("/sys/devices/system/node/node0/distance", "10\n"),
];

const STAT: &str = "cpu  0 0 0 0 0 0 0 0\ncpu0 100 0 100 900 0 0 0 0\ncpu1 100 0 100 900 0 0 0 0\n\
                    cpu2 9 0 9 900 0 0 0 0\ncpu3 9 0 9 900 0 0 0 0\nprocs_running 1\n";

/// What it says from the second moment on: of CPU 0, and of CPU 3; CPU 1 was idle.
fn stat(of_0: &str, of_3: &str) -> String {
    format!("cpu0 {of_0}\ncpu1 100 0 100 910 0 0 0 0\ncpu2 9 0 9 900 0 0 0 0\ncpu3 {of_3}\nprocs_running 1\n")
}

const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

const MEMORY: &str = "MemTotal: 1000000 kB\nMemAvailable: 900000 kB\nDirty: 4 kB\nWriteback: 0 kB\nSwapTotal: 0 kB\n\
                      SwapFree: 0 kB\nHugetlb: 0 kB\n";

/// What each CPU has of its own.
const OF_EACH: &[File<'_>] = &[
    ("cpufreq/scaling_governor", "performance\n"),
    ("cpufreq/scaling_cur_freq", "2000000\n"),
    ("thermal_throttle/core_throttle_count", "0\n"),
    ("thermal_throttle/package_throttle_count", "0\n"),
    ("cpuidle/state0/name", "POLL\n"),
    ("cpuidle/state0/latency", "0\n"),
    ("cpuidle/state1/name", "C6\n"),
    ("cpuidle/state1/latency", "133\n"),
    ("cpuidle/state1/disable", "1\n"),
];

/// What the kernel says of a process behind its parent: it used no time so far.
const REST: &str = "7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 2 0 0 0\n";

/// A process that used 5 ticks so far, and ran on CPU 0.
const HOG: &str =
    "55 (hog) R 1 7 7 0 -1 0 0 0 0 0 5 0 0 0 20 0 1 0 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0\n";

fn write(root: &Path, path: &str, text: &str) {
    let place = match path.strip_prefix('/') {
        Some(path) => root.join(path),
        None => root.join(&CPUS[1..]).join(path),
    };
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(place, text).unwrap();
}

/// What is seen on CPUs of a quiet machine where these files differ, and these from the second moment on.
fn seen(always: &[File<'_>], later: &[File<'_>], facts: &Facts, cpus: &[u32]) -> Vec<Noise> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for (file, text) in QUIET {
        write(path, file, text);
    }
    for cpu in 0..4 {
        for (file, text) in OF_EACH {
            write(path, &format!("cpu{cpu}/{file}"), text);
        }
        let of_core = format!("cpu{cpu}/topology/thread_siblings_list");
        write(path, &of_core, &format!("{cpu}\n"));
    }
    for (file, text) in always {
        write(path, file, text);
    }
    let root = Root::new(path);
    let cpus: Vec<Cpu> = cpus.iter().copied().map(Cpu).collect();
    let before = Moment::of(root, &cpus);
    for (file, text) in later {
        write(path, file, text);
    }
    let after = Moment::of(root, &cpus);
    let machine = observe(path, facts);
    let sight = Sight { root, machine: &machine, cpus: &cpus, before: &before, after: &after };
    sight.noises(&survey::named(&survey::names()).unwrap())
}

/// What such a machine answers without a file.
fn facts() -> Facts {
    Facts {
        architecture: "x86_64".into(),
        allowed: Observed::Known((0..4).map(Cpu).collect()),
        page_size: Bytes(4096),
        hypervisor_vendors: Observed::Known(Vec::new()),
        cache_leaves: Observed::Known(Vec::new()),
        cache_vector: Observed::Known(Vec::new()),
        counter_frequency: Observed::NotObservable("x86".into()),
        interpreter: Observed::Known(None),
        counters: Observed::Known("counters".into()),
    }
}

fn at_work(noises: &[Noise]) -> Vec<(&str, Disturbance)> {
    let noises = noises.iter().filter(|noise| noise.state < Disturbance::Quiet);
    noises.map(|noise| (noise.source.as_str(), noise.state)).collect()
}

#[test]
fn a_quiet_machine_has_no_source_and_none_is_unseen() {
    let noises = seen(&[], &[], &facts(), &[0, 1]);
    let unquiet: Vec<&Noise> = noises.iter().filter(|noise| noise.state != Disturbance::Quiet).collect();
    assert!(unquiet.is_empty(), "{unquiet:#?}");
    assert_eq!(noises.len(), sources().count());
}

/// That this source alone is named where these files differ, and these from the second moment on.
fn planted(source: &str, state: Disturbance, always: &[File<'_>], later: &[File<'_>]) {
    let noises = seen(always, later, &facts(), &[0, 1]);
    assert_eq!(at_work(&noises), [(source, state)], "{noises:#?}");
}

#[test]
fn each_planted_source_is_named_alone() {
    use Disturbance::{Active, Possible};
    let process = |name: &str| format!("55 ({name}) S 1 {REST}");
    for (source, state, path, text) in [
        ("frequency governor", Possible, "cpu1/cpufreq/scaling_governor", "powersave"),
        ("turbo", Possible, "intel_pstate/no_turbo", "0"),
        ("frequency", Possible, "cpu1/cpufreq/scaling_cur_freq", "1800000"),
        ("thermal throttling", Possible, "cpu1/thermal_throttle/core_throttle_count", "3"),
        ("power supply", Active, "/sys/class/power_supply/BAT0/status", "Discharging"),
        ("idle states", Possible, "cpu0/cpuidle/state1/disable", "0"),
        ("another tenbin", Active, "/proc/55/stat", &process("tenbin")),
        ("SMT siblings", Possible, "cpu1/topology/thread_siblings_list", "1,3"),
        ("CPU quota", Possible, "/cg/box/cpu.max", "50000 100000"),
        ("CPU mask", Possible, "/proc/self/status", "Seccomp:\t0\nCpus_allowed_list:\t0-1\n"),
        ("CPU mask", Possible, "present", "0-7"),
        (
            "priority",
            Possible,
            "/proc/self/stat",
            &format!("7 (a) R 1 {}", REST.replace("20 0 1", "39 19 1")),
        ),
        ("priority", Possible, "/cg/box/cpu.idle", "1"),
        ("device interrupts", Possible, "/proc/irq/24/effective_affinity_list", "0-1"),
        ("interrupt balancing", Possible, "/proc/55/stat", &process("irqbalance")),
        ("isolation", Possible, "isolated", ""),
        ("isolation", Possible, "isolated", "2-3"),
        ("isolation", Possible, "nohz_full", " (null)"),
        ("deadline server", Possible, "/sys/kernel/debug/sched/fair_server/cpu0/runtime", "50000000"),
        ("clock source", Active, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet"),
        ("timer slack", Active, "/proc/self/timerslack_ns", "90000"),
        ("watchdogs", Possible, "/proc/sys/kernel/nmi_watchdog", "1"),
        ("tracing", Active, "/sys/kernel/tracing/current_tracer", "function"),
        ("tracing", Active, "/sys/kernel/tracing/set_event", "sched:sched_switch"),
        ("tracing", Active, "/proc/sys/kernel/bpf_stats_enabled", "1"),
        ("seccomp filter", Active, "/proc/self/status", "Seccomp:\t2\nCpus_allowed_list:\t0-3\n"),
        ("mitigations", Possible, "/proc/cmdline", "quiet mitigations=off"),
        ("transparent huge pages", Possible, HUGE_PAGES, "[always] madvise never"),
        ("same-page merging", Active, "/sys/kernel/mm/ksm/run", "1"),
        ("address randomisation", Active, "/proc/sys/kernel/randomize_va_space", "0"),
        ("address randomisation", Active, "/proc/self/personality", "00040000"),
        ("swap", Possible, "/proc/meminfo", &MEMORY.replace("SwapTotal: 0 kB", "SwapTotal: 10 kB")),
        ("free memory", Possible, "/proc/meminfo", &MEMORY.replace("900000 kB", "90000 kB")),
        ("reserved huge pages", Possible, "/proc/meminfo", &MEMORY.replace("Hugetlb: ", "Hugetlb: 50000")),
        ("dirty pages", Active, "/proc/meminfo", &MEMORY.replace("Dirty: 4", "Dirty: 40000")),
    ] {
        planted(source, state, &[(path, text)], &[]);
    }
    for (source, path, text) in [
        ("thermal throttling", "cpu1/thermal_throttle/core_throttle_count", "3"),
        ("steal", "/proc/stat", &stat("100 0 100 909 0 0 0 1", "9 0 9 900 0 0 0 0")),
        ("pressure", "/proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=9000\n"),
        (
            "device interrupts",
            "/proc/interrupts",
            "  CPU0 CPU1 CPU2 CPU3\n 24: 0 4 0 9 PCI-MSI 1-edge eth0\n",
        ),
        (
            "interrupts between CPUs",
            "/proc/interrupts",
            "  CPU0 CPU1 CPU2 CPU3\n 24: 0 0 0 9 PCI-MSI 1-edge eth0\nTLB: 31 1 1 1 TLB shootdowns\n",
        ),
        ("swap", "/proc/vmstat", "pswpin 6\npswpout 5\n"),
        ("free memory", "/proc/vmstat", "pswpin 5\npswpout 5\nallocstall_normal 2\n"),
    ] {
        planted(source, Active, &[], &[(path, text)]);
    }
    let working = stat("105 0 100 905 0 0 0 0", "9 0 9 900 0 0 0 0");
    planted("other work", Active, &[], &[("/proc/stat", &working), ("/proc/55/stat", HOG)]);
    let balancing = ("/proc/sys/kernel/numa_balancing", "1");
    let nodes = [
        balancing,
        ("/sys/devices/system/node/online", "0-1\n"),
        ("/sys/devices/system/node/node1/cpulist", ""),
        ("/sys/devices/system/node/node1/distance", "20 10"),
    ];
    planted("NUMA balancing", Possible, &nodes, &[]);
    let sibling_works = stat("100 0 100 910 0 0 0 0", "18 0 9 901 0 0 0 0");
    for (source, always, later) in [
        (
            "SMT siblings",
            ("cpu1/topology/thread_siblings_list", "1,3"),
            ("/proc/stat", sibling_works.as_str()),
        ),
        ("CPU quota", ("/cg/box/cpu.max", "50000 100000"), ("/cg/box/cpu.stat", "nr_throttled 2\n")),
        (
            "transparent huge pages",
            (HUGE_PAGES, "[always] madvise never"),
            ("/proc/vmstat", "pswpin 5\npswpout 5\nthp_collapse_alloc 8\n"),
        ),
        ("NUMA balancing", balancing, ("/proc/vmstat", "pswpin 5\npswpout 5\nnuma_pte_updates 8\n")),
    ] {
        planted(source, Active, &[always], &[later]);
    }
}

#[test]
fn tasks_that_run_are_counted_without_this_one() {
    let stat = |running: &str| STAT.replace("procs_running 1", &format!("procs_running {running}"));
    for (running, expected) in
        [("1", None), ("3", Some(Disturbance::Possible)), ("9", Some(Disturbance::Active))]
    {
        let noises = seen(&[("/proc/stat", &stat(running))], &[], &facts(), &[0, 1]);
        let tasks = noises.iter().find(|noise| noise.source == "runnable tasks").unwrap();
        assert_eq!(Some(tasks.state).filter(|state| *state < Disturbance::Quiet), expected);
    }
}

#[test]
fn what_is_no_file_is_a_source_too() {
    let hypervisor = Facts { hypervisor_vendors: Observed::Known(vec!["KVMKVMKVM".into()]), ..facts() };
    assert_eq!(at_work(&seen(&[], &[], &hypervisor, &[0, 1])), [("virtualisation", Disturbance::Possible)]);
    let emulated = Facts { interpreter: Observed::Known(Some("qemu-user".into())), ..facts() };
    assert_eq!(at_work(&seen(&[], &[], &emulated, &[0, 1])), [("emulation", Disturbance::Active)]);
    let refused = Observed::NotObservable("perf_event_open for instructions: not permitted (EACCES)".into());
    let counters = Facts { counters: refused, ..facts() };
    assert_eq!(at_work(&seen(&[], &[], &counters, &[0, 1])), [("hardware counters", Disturbance::Possible)]);
}

#[test]
fn an_interrupt_that_is_given_anew_counts_from_0() {
    let before = [("/proc/interrupts", "  CPU0 CPU1\n 24: 70 0 PCI-MSI 1-edge eth0\n")];
    let after = [("/proc/interrupts", "  CPU0 CPU1\n 24: 2 0 PCI-MSI 1-edge eth1\n")];
    let noises = seen(&before, &after, &facts(), &[0, 1]);
    assert!(at_work(&noises).is_empty(), "{noises:#?}");
}

#[test]
fn a_tenbin_that_runs_this_one_is_no_other() {
    let own = format!("7 (tenbin) R 60 {REST}");
    let (shell, quiet) = (format!("60 (sh) S 55 {REST}"), format!("55 (tenbin) S 1 {REST}"));
    let under = [("/proc/self/stat", &*own), ("/proc/60/stat", &shell), ("/proc/55/stat", &quiet)];
    let noises = seen(&under, &[], &facts(), &[0, 1]);
    assert!(at_work(&noises).is_empty(), "{noises:#?}");
}

#[test]
fn the_process_that_used_the_cpus_is_named() {
    let later = [
        ("/proc/stat", "cpu0 105 0 100 905 0 0 0 0\ncpu1 100 0 100 910 0 0 0 0\nprocs_running 1\n"),
        ("/proc/55/stat", HOG),
    ];
    let noises = seen(&[], &later, &facts(), &[0, 1]);
    let work = noises.iter().find(|noise| noise.source == "other work").unwrap();
    assert_eq!(work.seen, "25 % of the time of CPUs 0-1, most by hog (55)");
}

/// What is seen for these questions on a machine without a file.
fn of_nothing(names: &[String]) -> Vec<Noise> {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path());
    let moment = Moment::of(root, &[Cpu(0)]);
    let machine = Machine::unobserved("a test");
    let sight = Sight { root, machine: &machine, cpus: &[Cpu(0)], before: &moment, after: &moment };
    sight.noises(&survey::named(names).unwrap())
}

#[test]
fn a_machine_that_shows_nothing_is_no_quiet_one() {
    let noises = of_nothing(&survey::names());
    let quiet: Vec<&str> = noises
        .iter()
        .filter(|noise| noise.state == Disturbance::Quiet)
        .map(|noise| noise.source.as_str())
        .collect();
    // Of these two it is said that none was seen.
    assert_eq!(quiet, ["emulation", "virtualisation"]);
}

#[test]
fn a_question_is_told_what_matters_to_it() {
    let noises = of_nothing(&["caches".to_owned()]);
    let named = |source: &str| noises.iter().find(|noise| noise.source == source);
    assert_eq!(named("same-page merging").unwrap().matters_to, ["caches"]);
    assert!(named("steal").unwrap().matters_to.is_empty());
    assert!(named("dirty pages").is_none());
}
