//! Sources of noise, planted one by one in a guest that has none but its emulation: `tenbin doctor` names
//! each, and no other one.

use std::path::Path;

use super::{guest, unless_panicked};
use crate::architecture::Architecture;
use crate::command::{Output, status_in_words};
use crate::failure::Failure;

/// What a guest does whose second CPU is isolated. A line has what was planted, and the sources that are
/// named.
const SCRIPT: &str = include_str!("noise.sh");

/// What a guest does whose kernel was started otherwise, and which has one CPU less.
const OTHERWISE: &str = r#"
echo 0 > /sys/devices/system/cpu/cpu1/online
echo "planted start: $(tenbin doctor | sed -n '/^Does not/q; s/^  \([A-Za-z-][A-Za-z -]*\):.*/\1/p' | tr '\n' ,)"
"#;

/// What is planted, and the sources that are named then, beside the emulation.
const PLANTED: &[(&str, &[&str])] = &[
    ("nothing", &[]),
    ("nothing, as nobody", &[]),
    ("huge pages", &["transparent huge pages"]),
    ("balancing", &["NUMA balancing"]),
    ("merging", &["same-page merging"]),
    ("layout", &["address randomisation"]),
    ("server", &["deadline server"]),
    ("clock", &["clock source"]),
    ("tracer", &["tracing"]),
    ("no counters, as nobody", &["hardware counters"]),
    ("statistics", &["tracing"]),
    ("slack", &["timer slack"]),
    ("niceness", &["priority"]),
    ("mask", &["CPU mask"]),
    ("hog", &["other work"]),
    ("hog, as nobody", &["other work"]),
    ("quota", &["CPU quota"]),
    ("idle group", &["priority"]),
    ("reserved pages", &["reserved huge pages"]),
    ("irqbalance", &["interrupt balancing"]),
    ("tenbin", &["another tenbin"]),
    ("nothing again", &[]),
];

/// What comes and goes with whatever runs in the guest, the script too, where CPUs are emulated.
const PASSING: [&str; 2] = ["pressure", "runnable tasks"];

/// What is always there.
const EMULATION: &str = "emulation";

pub(super) fn check(tenbin: &Path) -> Result<(), Failure> {
    let output = noisy(tenbin, &["isolcpus=1", "nohz_full=1", "rcu_nocbs=1", "irqaffinity=0"], SCRIPT)?;
    for (planted, expected) in PLANTED {
        let named = named(&output, planted)?;
        if named != *expected {
            let reason = format!("where `{planted}` was planted it names {named:?}, not {expected:?}");
            return Err(failure(reason));
        }
    }
    let output = noisy(tenbin, &["mitigations=off"], OTHERWISE)?;
    let named = named(&output, "start")?;
    match ["mitigations", "isolation", "CPU mask", "device interrupts"]
        .iter()
        .find(|name| !named.contains(name))
    {
        Some(lacking) => Err(failure(format!("it does not name {lacking}"))),
        None => Ok(()),
    }
}

fn noisy(tenbin: &Path, words: &[&str], script: &str) -> Result<Output, Failure> {
    let output = unless_panicked(|| {
        guest(tenbin, Architecture::HERE, "600")
            .arguments(["--kernel", "trixie", "--cpus", "2", "--nodes", "2"])
            .arguments(words.iter().flat_map(|word| ["--append", word]))
            .arguments(["--", "sh", "-c", script])
            .capture()
    })?;
    print!("{}{}", output.text, output.diagnostics);
    match output.code {
        Some(0) => Ok(output),
        code => Err(failure(status_in_words(code))),
    }
}

/// The sources that were named where this was planted, in the order of their names.
fn named<'a>(output: &'a Output, planted: &str) -> Result<Vec<&'a str>, Failure> {
    let line = output
        .text
        .lines()
        .find_map(|line| line.strip_prefix("planted ")?.strip_prefix(planted)?.strip_prefix(": "));
    let line = line.ok_or_else(|| failure(format!("the guest says nothing of `{planted}`")))?;
    let mut named: Vec<&str> = line.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if !named.contains(&EMULATION) {
        return Err(failure(format!("where `{planted}` was planted it does not name the emulation")));
    }
    named.retain(|name| *name != EMULATION && !PASSING.contains(name));
    named.sort_unstable();
    Ok(named)
}

fn failure(reason: String) -> Failure {
    Failure::new("have tenbin name noise in a guest", reason, "run the command that is printed above")
}
