//! Stops that would end in a panic of the kernel: detectors of lockups that are told to.

use std::time::Duration;

use tenbin_metal::machine::{Root, integer};

/// A detector: what it is called, where it is switched on, where it is told to panic, and after how long.
struct Detector {
    name: &'static str,
    on: Option<&'static str>,
    panics: &'static str,
    limit: fn(Root<'_>) -> Option<u64>,
}

/// `Documentation/admin-guide/lockup-watchdogs.rst`, `Documentation/RCU/stallwarn.rst`.
const DETECTORS: [Detector; 3] = [
    Detector {
        name: "the watchdog for hard lockups",
        on: Some("/proc/sys/kernel/nmi_watchdog"),
        panics: "/proc/sys/kernel/hardlockup_panic",
        limit: threshold,
    },
    Detector {
        name: "the watchdog for soft lockups",
        on: Some("/proc/sys/kernel/soft_watchdog"),
        panics: "/proc/sys/kernel/softlockup_panic",
        limit: |root| threshold(root).map(|seconds| 2 * seconds),
    },
    Detector {
        name: "the detector of RCU stalls",
        on: None,
        panics: "/proc/sys/kernel/panic_on_rcu_stall",
        limit: |root| number(root, "/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout"),
    },
];

fn number(root: Root<'_>, path: &str) -> Option<u64> {
    root.parsed(path, integer).ok()
}

fn threshold(root: Root<'_>) -> Option<u64> {
    number(root, "/proc/sys/kernel/watchdog_thresh").filter(|seconds| *seconds > 0)
}

/// Why CPUs that are held for this time would end in a panic; none where they would not.
pub(super) fn panics(root: Root<'_>, duration: Duration) -> Option<String> {
    DETECTORS.iter().find_map(|detector| {
        let is_set = |path: &str| number(root, path).is_some_and(|value| value > 0);
        let is_on = detector.on.is_none_or(is_set) && is_set(detector.panics);
        let limit = Duration::from_secs((detector.limit)(root).filter(|_| is_on)?);
        // It had counted before the stop began.
        (duration >= limit / 2).then(|| {
            format!("{} panics after {} s ({} is set)", detector.name, limit.as_secs(), detector.panics)
        })
    })
}
