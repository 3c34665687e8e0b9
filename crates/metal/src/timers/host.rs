//! What a CPU does while nothing runs on it, and which device wakes it: what sysfs says.

use std::fs;
use std::path::Path;

use tenbin_model::Cpu;

/// What is known of a CPU that waits. Each field is none where this kernel does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Idle {
    /// Who chooses how deep it sleeps (`Documentation/admin-guide/pm/cpuidle.rst`).
    pub governor: Option<String>,
    /// What puts it to sleep.
    pub driver: Option<String>,
    /// The ways to sleep that are not switched off, the lightest first. Empty where no driver is at work.
    pub states: Vec<State>,
    /// The device that interrupts it when a timer is due.
    pub device: Option<String>,
    /// How the kernel was built to preempt, by its version: `PREEMPT_DYNAMIC`, `PREEMPT_RT`; none where it
    /// names nothing.
    pub preemption: Option<String>,
}

/// One way in which a CPU can sleep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Its name.
    pub name: String,
    /// How long it takes to leave it, in microseconds, as the driver says.
    pub microseconds: u64,
}

impl Idle {
    pub(super) fn of(root: &Path, cpu: Cpu) -> Self {
        let word = |path: &str| {
            let text = fs::read_to_string(root.join(path)).ok()?;
            let text = text.trim();
            (!text.is_empty() && text != "none").then(|| text.to_owned())
        };
        const ALL: &str = "sys/devices/system/cpu/cpuidle";
        let state = |number: usize| {
            let of = |file: &str| {
                word(&format!("sys/devices/system/cpu/cpu{}/cpuidle/state{number}/{file}", cpu.0))
            };
            let state = State { name: of("name")?, microseconds: of("latency")?.parse().ok()? };
            Some((state, of("disable").is_some_and(|off| off != "0")))
        };
        let states = (0..).map_while(state).filter(|(_, off)| !off).map(|(state, _)| state).collect();
        let version = word("proc/sys/kernel/version");
        let preemption = version.and_then(|version| {
            version.split_whitespace().find(|part| part.starts_with("PREEMPT")).map(str::to_owned)
        });
        Self {
            // The read-only name is there on every kernel with cpuidle, that which can be written only on
            // some.
            governor: word(&format!("{ALL}/current_governor_ro"))
                .or_else(|| word(&format!("{ALL}/current_governor"))),
            driver: word(&format!("{ALL}/current_driver")),
            states,
            device: word(&format!("sys/devices/system/clockevents/clockevent{}/current_device", cpu.0)),
            preemption,
        }
    }
}
