//! How much memory the program takes on this machine, by the kernel's own count, and what it says to a
//! request for more than there is.

#![allow(clippy::unwrap_used)]

use std::fs;

use serde_json::Value;

#[allow(dead_code)] // What it has for the other tests is not all used here.
mod place;

use place::{Place, ending, joined, text};

/// Runs the program and returns its report, its exit status and the most memory that it held, in bytes.
///
/// The kernel forgets the peak when the process ends, so it is read again and again until then; it only
/// rises.
fn watched(arguments: &[&str]) -> (Value, i32, u64) {
    watched_in(&Place::new(), &[arguments, &["--no-store"]].concat())
}

fn watched_in(place: &Place, arguments: &[&str]) -> (Value, i32, u64) {
    let answer = place.path("answer.json");
    let mut child = place.command(arguments).args(["--json", "-o"]).arg(&answer).spawn().unwrap();
    let path = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let status = loop {
        peak = fs::read_to_string(&path).ok().and_then(|text| high_water(&text)).unwrap_or(0).max(peak);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::yield_now();
    };
    (serde_json::from_slice(&fs::read(answer).unwrap()).unwrap(), status.code().unwrap(), peak)
}

/// `VmHWM` of a `/proc/PID/status` (proc(5)): the most that was resident at once. Not there once the process
/// has ended.
fn high_water(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// What was free when the program looked, by its own report.
fn free(report: &Value) -> u64 {
    let free = &report["machine"]["memory_available"]["known"];
    free.as_u64().unwrap_or_else(|| panic!("what is free is not known: {free}"))
}

#[test]
fn a_run_takes_less_than_half_of_what_is_free_or_refuses() {
    let (null, _, program) = watched(&["run", "null", "--quick"]);
    let cpus = null["machine"]["cpus"].as_array().unwrap().len();
    // Where 64 GiB a buffer can be had, nobody shall wait for them; and one CPU is refused for another
    // reason.
    let too_large = free(&null) < 128 << 30 && cpus > 1;
    // The caches are measured first, because it builds on them.
    let with_caches = ["run", "numa", "--quick", "--set", "buffer=65536"];
    let (report, status, peak) =
        watched(if too_large { &with_caches } else { &["run", "caches", "--quick"] });
    let half = free(&report) / 2;
    assert!(peak - program <= half, "{} MiB were taken, half is {} MiB", (peak - program) >> 20, half >> 20);
    let of = |name: &str| {
        report["answers"].as_array().unwrap().iter().find(|answer| answer["experiment"] == name).unwrap()
    };
    let walked = of("caches");
    assert!(peak > program + (1 << 20), "caches took no memory: {walked}");
    if !too_large {
        eprintln!("skipped: a buffer of 64 GiB is refused for {cpus} CPUs and {} GiB", free(&report) >> 30);
        return;
    }
    assert_eq!(status, 3);
    let refused = of("numa");
    assert_eq!(refused["verdict"], "refused", "{refused}");
    let reached = refused["refusal"]["reached"].as_str().unwrap();
    assert!(reached.contains("buffers of 64 GiB") && reached.contains("may be taken"), "{reached}");
    assert!(refused["refusal"]["needs"].as_str().unwrap().contains("GiB free"), "{refused}");
}

#[test]
fn a_request_for_too_much_memory_is_refused_with_the_figure() {
    const FIGURE: &str = "may be taken: half of the ";
    let place = Place::new();
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap();
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:")).unwrap();
    let total = total.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10;
    let all = format!("bytes={total}");
    let mut requests = vec![("faults", all.as_str(), FIGURE)];
    if total < 256 << 30 {
        requests.push(("caches", "largest=65536", FIGURE));
    } else {
        eprintln!("skipped: sizes up to 64 GiB can be had of {} GiB", total >> 30);
    }
    for (experiment, setting, figure) in requests {
        let output = place.tenbin(&["run", experiment, "--set", setting, "--no-store"]);
        assert_eq!(ending(&output).0, 3, "{experiment}: {}", text(&output.stdout));
        let stdout = joined(&text(&output.stdout));
        assert!(stdout.contains("Refused: ") && stdout.contains(figure), "{stdout}");
        let after = stdout.split(figure).nth(1).unwrap();
        assert!(after.starts_with(|c: char| c.is_ascii_digit()) && after.contains("iB"), "{stdout}");
    }
}

#[test]
fn a_log_takes_no_more_memory_the_longer_it_is() {
    let place = Place::new();
    let log = place.path("strace.log");
    let lines = "7 1000.000000 read(0, \"\", 65536) = 0 <0.000010>\n".repeat(1 << 20);
    fs::write(&log, &lines).unwrap();
    let (profile, status, peak) = watched_in(&place, &["profile", "--from", log.to_str().unwrap()]);
    assert_eq!(status, 0);
    let read = profile["activities"].as_array().unwrap().iter().find(|it| it["name"] == "read").unwrap();
    assert_eq!(read["count"], 1 << 20);
    assert!(peak > 1 << 20 && peak < lines.len() as u64, "{} MiB of {}", peak >> 20, lines.len() >> 20);
}
