//! Remedies planned and taken on a machine that is a tree of files.

use std::fs;
use std::path::PathBuf;

use tenbin_metal::allowed_cpus;

use super::*;

/// A machine of four CPUs on which everything can be switched.
const MACHINE: &[(&str, &str)] = &[
    ("/sys/devices/system/cpu/online", "0-3\n"),
    ("/sys/devices/system/cpu/nohz_full", "2-3\n"),
    ("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
    ("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n"),
    ("/sys/devices/system/cpu/cpufreq/policy2/scaling_governor", "powersave\n"),
    ("/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference", "balance_performance\n"),
    ("/sys/devices/system/cpu/cpufreq/policy2/energy_performance_preference", "performance\n"),
    ("/proc/irq/default_smp_affinity", "f\n"),
    ("/proc/irq/24/smp_affinity_list", "0-3\n"),
    ("/proc/irq/25/smp_affinity_list", "0-1\n"),
    ("/proc/irq/26/smp_affinity_list", "2\n"),
    ("/sys/devices/virtual/workqueue/cpumask", "f\n"),
    ("/proc/sys/kernel/numa_balancing", "1\n"),
    ("/sys/kernel/mm/ksm/run", "0\n"),
    ("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
    ("/proc/sys/kernel/nmi_watchdog", "0\n"),
    ("/proc/sys/kernel/soft_watchdog", "1\n"),
    ("/proc/sys/vm/stat_interval", "1\n"),
    ("/sys/kernel/debug/sched/fair_server/cpu2/runtime", "50000000\n"),
    ("/sys/kernel/debug/sched/fair_server/cpu3/runtime", "0\n"),
    ("/proc/self/cgroup", "0::/box\n"),
    ("/proc/self/mountinfo", "41 31 0:38 / /cg rw,relatime - cgroup2 cgroup2 rw\n"),
    ("/cg/cgroup.controllers", "cpuset cpu memory\n"),
    ("/cg/cgroup.subtree_control", "cpu memory\n"),
    ("/cg/box/cgroup.procs", ""),
];

/// Those of which no process is part.
const OF_THE_MACHINE: &[&str] = &[
    "energy-preference",
    "governor",
    "turbo",
    "interrupts",
    "workqueues",
    "numa-balancing",
    "huge-pages",
    "watchdogs",
    "statistics",
    "deadline-server",
];

struct Tree(tempfile::TempDir);

impl Tree {
    fn new(without: &[&str]) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        for (path, text) in MACHINE.iter().filter(|(path, _)| !without.contains(path)) {
            fs::create_dir_all(tree.path(path).parent().unwrap()).unwrap();
            fs::write(tree.path(path), text).unwrap();
        }
        tree
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path.trim_start_matches('/'))
    }

    fn plan(&self, cpus: Option<&[u32]>, what: &[&str]) -> Result<Plan, Unfit> {
        let what: Vec<String> = what.iter().map(|word| (*word).to_owned()).collect();
        let cpus = cpus.map(|cpus| cpus.iter().copied().map(Cpu).collect());
        Plan::under(Root::new(self.0.path()), cpus, &what)
    }

    fn take(&self, plan: Plan) -> Result<Quiet, Unfit> {
        plan.take_with(&self.path("journal"))
    }

    fn contents(&self) -> Vec<(&'static str, String)> {
        MACHINE.iter().map(|(path, _)| (*path, fs::read_to_string(self.path(path)).unwrap())).collect()
    }

    fn says(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap().trim().to_owned()
    }
}

fn remedy<'a>(remedies: &'a Remedies, name: &str) -> &'a Remedy {
    remedies.remedies.iter().find(|remedy| remedy.name == name).unwrap()
}

#[test]
fn each_remedy_says_what_it_would_do() {
    let tree = Tree::new(&[]);
    let plan = tree.plan(Some(&[3, 2]), &["usual", "huge-pages", "layout"]).unwrap();
    // What is there of the machine's own devices is not in the tree.
    let planned = plan.remedies().remedies.into_iter().filter(|remedy| remedy.name != "idle-states");
    let planned: Vec<String> =
        planned.map(|remedy| format!("{:?} {}: {}", remedy.state, remedy.name, remedy.words)).collect();
    insta::assert_snapshot!(planned.join("\n"));
}

#[test]
fn without_cpus_those_that_need_them_say_so() {
    let remedies = Tree::new(&[]).plan(None, &[]).unwrap().remedies();
    for name in ["interrupts", "workqueues", "deadline-server", "partition", "cpus"] {
        let remedy = remedy(&remedies, name);
        assert_eq!(remedy.state, RemedyState::Impossible, "{name}");
        assert!(remedy.words.contains("--cpus LIST"), "{name}: {}", remedy.words);
    }
    let remedies = Tree::new(&[]).plan(Some(&[0, 1, 2, 3]), &[]).unwrap().remedies();
    assert_eq!(remedy(&remedies, "interrupts").words, "the command has every CPU");
    assert_eq!(remedy(&remedies, "cpus").state, RemedyState::Possible);
}

#[test]
fn what_is_not_there_is_named() {
    for (lacking, name, words) in [
        ("/proc/sys/kernel/numa_balancing", "numa-balancing", "no such file"),
        ("/proc/irq/default_smp_affinity", "interrupts", "default_smp_affinity: no such file"),
        ("/sys/devices/system/cpu/intel_pstate/no_turbo", "turbo", "policy*/boost: no such file"),
        ("/cg/cgroup.controllers", "partition", "cgroup.controllers: no such file"),
    ] {
        let remedies = Tree::new(&[lacking]).plan(Some(&[2, 3]), &[]).unwrap().remedies();
        let remedy = remedy(&remedies, name);
        assert_eq!(remedy.state, RemedyState::Impossible, "{name}");
        assert!(remedy.words.contains(words), "{name}: {}", remedy.words);
    }
    let refused = Tree::new(&[]).plan(None, &["governer"]).map(drop).unwrap_err();
    assert!(
        matches!(refused, Unfit::Usage(why) if why.contains("there is no such remedy; there are usual, "))
    );
}

#[test]
fn what_is_taken_is_put_back() {
    let tree = Tree::new(&[]);
    let before = tree.contents();
    let quiet = tree.take(tree.plan(Some(&[2, 3]), OF_THE_MACHINE).unwrap()).unwrap();
    for remedy in &quiet.remedies.remedies {
        assert_eq!(remedy.state, RemedyState::InForce, "{remedy:?}");
    }
    for (path, value) in [
        ("/sys/devices/system/cpu/intel_pstate/no_turbo", "1"),
        ("/sys/devices/system/cpu/cpufreq/policy2/scaling_governor", "performance"),
        ("/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference", "performance"),
        ("/proc/irq/default_smp_affinity", "3"),
        ("/proc/irq/24/smp_affinity_list", "0-1"),
        ("/proc/irq/25/smp_affinity_list", "0-1"),
        ("/proc/irq/26/smp_affinity_list", "0-1"),
        ("/sys/devices/virtual/workqueue/cpumask", "3"),
        ("/sys/kernel/mm/transparent_hugepage/enabled", "never"),
        ("/proc/sys/kernel/soft_watchdog", "0"),
        ("/proc/sys/vm/stat_interval", "3600"),
        ("/sys/kernel/debug/sched/fair_server/cpu2/runtime", "0"),
    ] {
        assert_eq!(tree.says(path), value, "{path}");
    }
    // Two at a time would put back what the other one set.
    let nested = tree.take(tree.plan(None, &["statistics"]).unwrap());
    assert!(nested.is_ok(), "it is so already");
    let nested = tree.take(tree.plan(Some(&[0]), &["interrupts"]).unwrap()).map(drop);
    assert!(matches!(nested, Err(Unfit::Fault(fault)) if fault.to_string().contains("switched")));

    assert_eq!(quiet.restore().unwrap(), []);
    let trimmed = |contents: Vec<(&'static str, String)>| -> Vec<_> {
        contents.into_iter().map(|(path, text)| (path, text.trim().to_owned())).collect()
    };
    let (mut before, mut after) = (trimmed(before), trimmed(tree.contents()));
    // A file is no setting: what is written is all that it says.
    before.retain(|(path, _)| !path.contains("transparent_hugepage"));
    after.retain(|(path, _)| !path.contains("transparent_hugepage"));
    assert_eq!(before, after);
    assert_eq!(tree.says("/sys/kernel/mm/transparent_hugepage/enabled"), "always");
    assert!(!tree.path("journal").exists());
}

#[test]
fn what_is_asked_for_by_name_is_had_or_refused() {
    let tree = Tree::new(&["/sys/kernel/mm/ksm/run"]);
    let before = tree.says("/proc/sys/vm/stat_interval");
    let refused = tree.take(tree.plan(None, &["statistics", "page-merging"]).unwrap()).map(drop);
    let Err(Unfit::Refused(refusal)) = refused else { panic!("{refused:?}") };
    assert!(refusal.reached.starts_with("page-merging: "), "{refusal:?}");
    assert_eq!(tree.says("/proc/sys/vm/stat_interval"), before);
    // A file that takes any value and has none: that only shows when it is set.
    fs::remove_file(tree.path("/proc/sys/vm/stat_interval")).unwrap();
    std::os::unix::fs::symlink("/dev/null", tree.path("/proc/sys/vm/stat_interval")).unwrap();
    let refused = tree.take(tree.plan(None, &["numa-balancing", "statistics"]).unwrap()).map(drop);
    assert!(matches!(refused, Err(Unfit::Refused(_))), "{refused:?}");
    assert_eq!(tree.says("/proc/sys/kernel/numa_balancing"), "1");
}

#[test]
fn a_mask_has_the_shape_of_the_one_that_was_there() {
    for (cpus, shape, expected) in [
        (&[0, 1][..], "f", "3"),
        (&[0, 4], "ff", "11"),
        (&[0, 33], "00000003,ffffffff", "00000002,00000001"),
        (&[7], "0ff", "080"),
    ] {
        let cpus: Vec<Cpu> = cpus.iter().copied().map(Cpu).collect();
        assert_eq!(mask(&cpus, shape), expected, "{cpus:?} as {shape}");
    }
}

/// An attribute is this thread's, and that of whatever it starts.
#[test]
fn a_command_has_what_was_set_for_it() {
    let last = *allowed_cpus().unwrap().last().unwrap();
    let tree = Tree::new(&[]);
    let plan = tree.plan(Some(&[last.0]), &["cpus", "timer-slack"]).unwrap();
    let output = std::thread::spawn(move || {
        let _quiet = plan.take_with(Path::new("/nowhere")).unwrap();
        let words = ["cat", "/proc/self/timerslack_ns", "/proc/self/status"].map(str::to_owned);
        command(&words).unwrap().output().unwrap()
    });
    let text = String::from_utf8(output.join().unwrap().stdout).unwrap();
    assert!(text.starts_with("1\n"), "{text}");
    assert!(text.contains(&format!("Cpus_allowed_list:\t{}\n", last.0)), "{text}");
    assert!(matches!(command(&["/nowhere/nothing".into()]), Err(Unfit::Usage(_))));
}
