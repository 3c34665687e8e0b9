//! The machine and the hour of an arena: figures mean nothing without them.

use std::fs;

use xtask::command::Command;
use xtask::failure::Failure;

pub(super) struct Surroundings {
    /// When the arena began: ISO 8601, UTC, fit for the name of a folder.
    pub(super) stamp: String,
    processor: String,
    kernel: String,
    cpus: String,
    /// The CPU that every tool was held on.
    cpu: usize,
    /// As `/proc/loadavg` had it when the arena began.
    load: String,
}

impl Surroundings {
    pub(super) fn look(cpu: usize) -> Result<Self, Failure> {
        // The shell's clock does: nothing is measured with it.
        let stamp = Command::new("date").arguments(["-u", "+%Y-%m-%dT%H-%M-%SZ"]).read()?.trim().to_owned();
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Ok(Self {
            stamp,
            processor: processor(&read("/proc/cpuinfo")),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            cpus: read("/sys/devices/system/cpu/online").trim().to_owned(),
            cpu,
            load: load(),
        })
    }

    /// The lines of the table that tell of them. The load is looked at again.
    pub(super) fn lines(&self) -> String {
        let Self { stamp, processor, kernel, cpus, cpu, load } = self;
        format!(
            "- begun {stamp}\n- processor: {processor}; CPUs online: {cpus}\n- kernel: Linux {kernel}\n\
             - every tool was held on CPU {cpu} with `taskset`, as tenbin holds itself on one\n\
             - load average before: {load}; after: {}\n",
            self::load()
        )
    }
}

/// The name that the kernel has for the processor; on some architectures it has none.
pub(crate) fn processor(cpuinfo: &str) -> String {
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
