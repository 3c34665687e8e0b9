//! Who looks at this process's system calls, and makes each of them dearer: filters and tracers.

use std::fs;

/// Where the kernel says it; `proc_pid_status(5)`.
const STATUS: &str = "/proc/self/status";

/// What `seccomp(2)` does with the calls of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seccomp {
    /// Nothing.
    Off,
    /// It runs filters over each call: how many, where the kernel says so (since 5.9).
    Filters(Option<u64>),
}

/// Who looks at the system calls of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchers {
    /// Filters. None where the kernel does not say.
    pub seccomp: Option<Seccomp>,
    /// The number of the process that traces this one, 0 if nobody does. None where the kernel does not say.
    pub tracer: Option<u64>,
}

impl Watchers {
    /// Those of this process.
    ///
    /// # Errors
    /// The file that cannot be read, and why.
    pub fn of_this_process() -> Result<Self, String> {
        fs::read_to_string(STATUS)
            .map(|text| Self::parse(&text))
            .map_err(|error| format!("{STATUS}: {error}"))
    }

    fn parse(status: &str) -> Self {
        let number = |name: &str| {
            let mut lines = status.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(known, _)| *known == name).and_then(|(_, value)| value.trim().parse::<u64>().ok())
        };
        let seccomp = match number("Seccomp") {
            Some(0) => Some(Seccomp::Off),
            // Strict mode (1) forbids to open this file, so nobody reads that of itself.
            Some(2) => Some(Seccomp::Filters(number("Seccomp_filters"))),
            _ => None,
        };
        Self { seccomp, tracer: number("TracerPid") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_and_tracers_are_read_as_the_kernel_writes_them() {
        let cases = [
            ("TracerPid:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n", Some(Seccomp::Off), Some(0)),
            ("TracerPid:\t81\nSeccomp:\t2\nSeccomp_filters:\t3\n", Some(Seccomp::Filters(Some(3))), Some(81)),
            ("Name:\tx\nSeccomp:\t2\n", Some(Seccomp::Filters(None)), None),
            ("Seccomp:\t7\nTracerPid:\tnone\n", None, None),
            ("", None, None),
        ];
        for (status, seccomp, tracer) in cases {
            assert_eq!(Watchers::parse(status), Watchers { seccomp, tracer }, "{status}");
        }
    }

    #[test]
    fn this_process_can_say_it_of_itself() {
        assert!(Watchers::of_this_process().is_ok());
    }
}
