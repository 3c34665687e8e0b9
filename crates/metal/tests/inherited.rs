//! A crew that is forked later has no mapping of an earlier one: alone in its process, so that nobody else
//! maps anything.

use tenbin_metal::crew::Shared;
use tenbin_metal::{Clock, Crew, allowed_cpus};

/// Mappings that a process shares with others, by the kernel's list; `/proc/PID/maps` marks each with an `s`.
fn shared_by(process: u32) -> usize {
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).expect("a child that lives");
    maps.lines()
        .filter(|line| line.split_whitespace().nth(1).is_some_and(|access| access.ends_with('s')))
        .count()
}

#[test]
fn crews_that_are_forked_later_have_the_same_mappings() {
    let cpus = &allowed_cpus().unwrap()[..1];
    let kept: Shared<std::sync::atomic::AtomicU64> = Shared::zeroed(1).unwrap();
    let crews: Vec<Crew> = (0..4).map(|_| Crew::gather(Clock::kernel(), cpus, Vec::new()).unwrap()).collect();
    let shared: Vec<usize> = crews.iter().map(|crew| shared_by(crew.processes()[0])).collect();
    // What is no crew's own is inherited: the one above, and the two that a crew has.
    assert_eq!(shared, [3; 4]);
    drop((crews, kept));
}
