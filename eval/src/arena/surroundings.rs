//! The machine and the hour of an arena: figures mean nothing without them.

use std::fs;

use xtask::command::Command;
use xtask::failure::Failure;

pub(super) struct Surroundings {
    /// When the arena began: ISO 8601, UTC, fit for the name of a folder.
    pub(super) stamp: String,
    /// The CPU that every tool was held on.
    cpu: usize,
    /// As `/proc/loadavg` had it when the arena began.
    load: String,
}

impl Surroundings {
    pub(super) fn look(cpu: usize) -> Result<Self, Failure> {
        // The shell's clock does: nothing is measured with it.
        let stamp = Command::new("date").arguments(["-u", "+%Y-%m-%dT%H-%M-%SZ"]).read()?.trim().to_owned();
        Ok(Self { stamp, cpu, load: load() })
    }

    /// The lines of the table that tell of them. The load is looked at again.
    pub(super) fn lines(&self) -> String {
        let Self { stamp, cpu, load } = self;
        format!(
            "- begun {stamp}\n- {}\n\
             - every tool was held on CPU {cpu} with `taskset`, as tenbin holds itself on one\n\
             - load average before: {load}; after: {}\n",
            machine("\n- "),
            self::load()
        )
    }
}

/// The processor, its CPUs and the kernel, with this before the last.
pub(crate) fn machine(before_kernel: &str) -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    format!(
        "processor: {}; CPUs online: {}{before_kernel}kernel: Linux {}",
        processor(&read("/proc/cpuinfo")),
        read("/sys/devices/system/cpu/online").trim(),
        read("/proc/sys/kernel/osrelease").trim()
    )
}

/// The name that the kernel has for the processor; on some architectures it has none.
fn processor(cpuinfo: &str) -> String {
    let fields = || cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let named = ["model name", "uarch", "CPU part"].iter().find_map(|wanted| {
        fields().find(|(name, _)| name.trim() == *wanted).map(|(_, value)| value.trim().to_owned())
    });
    named.unwrap_or_else(|| "not named by the kernel".into())
}

/// Over one, five and fifteen minutes.
pub(crate) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_named_as_its_architecture_does() {
        assert_eq!(processor("processor\t: 0\nmodel name\t: A 1\nmodel name\t: B 2\n"), "A 1");
        assert_eq!(processor("hart : 0\nuarch : sifive,u74\n"), "sifive,u74");
        assert_eq!(processor(""), "not named by the kernel");
    }
}
