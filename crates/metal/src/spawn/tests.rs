//! Children of this very process, which is a large one with threads: whatever can be made at all can be made
//! from it.

use super::*;

const WAYS: [Way; 7] =
    [Way::Fork, Way::ForkExec, Way::Vfork, Way::PosixSpawn, Way::Clone3, Way::Clone3Shared, Way::Thread];

/// Those ways that there are here; the others are said aloud.
fn here(spawner: &Spawner) -> Vec<Way> {
    let there = |way: &Way| match spawner.missing(*way) {
        None => true,
        Some(why) => {
            eprintln!("skipped: {why}");
            false
        }
    };
    WAYS.into_iter().filter(there).collect()
}

#[test]
fn a_child_runs_once_and_shares_what_it_should() {
    let spawner = Spawner::new().unwrap();
    let here = here(&spawner);
    assert!(here.contains(&Way::Fork), "every Linux has it");
    for way in here {
        for answer in [1, u64::MAX, 0x1234_5678_9abc_def0] {
            spawner.watch(way, answer);
            let watched = spawner.watched(way).unwrap();
            assert_eq!(watched.status, way.status(), "{way:?}");
            if way == Way::PosixSpawn {
                assert_eq!((watched.runs, watched.seen_by_parent), (None, false));
            } else {
                assert_eq!((watched.runs, watched.read), (Some(1), answer), "{way:?}");
                assert_eq!(Some(watched.seen_by_parent), way.shares_memory(), "{way:?}");
            }
        }
    }
}

#[test]
fn what_is_planted_is_seen() {
    let spawner = Spawner::new().unwrap();
    spawner.watch(Way::ForkWithAnotherStatus, 7);
    assert_eq!(spawner.watched(Way::ForkWithAnotherStatus).unwrap().status, Some(ASKED + 1));
    spawner.repeat(Way::ForkWithAnotherStatus, &Clock::kernel(), 3, || {});
    let tally = spawner.tally(&Clock::kernel());
    assert_eq!((tally.wrong, tally.error), (3, 0));
    match spawner.missing(Way::Clone3Shared) {
        None => {
            spawner.watch(Way::ForkThatShares, 7);
            let watched = spawner.watched(Way::ForkThatShares).unwrap();
            assert_eq!((watched.runs, watched.status), (Some(1), Some(ASKED)));
            assert!(watched.seen_by_parent && Way::ForkThatShares.shares_memory() == Some(false));
        }
        Some(why) => eprintln!("skipped: {why}"),
    }
}

#[test]
fn a_thread_ends_without_a_status_and_all_others_with_one() {
    assert_eq!(WAYS.map(Way::status), [0, 1, 2, 3, 4, 5, 6].map(|way| (way < 6).then_some(ASKED)));
    assert_eq!(WAYS[6], Way::Thread);
}

/// Two children that shared the memory would share a stack as well.
#[test]
fn who_asks_for_a_child_while_there_is_another_is_refused() {
    let spawner = Spawner::new().unwrap();
    for way in here(&spawner) {
        let meanwhile = std::cell::Cell::new(None);
        let ended = spawner.child(way, false, || meanwhile.set(Some(spawner.child(Way::Fork, false, || {}))));
        assert_eq!((ended, meanwhile.get()), (Ok(way.status()), Some(Err(libc::EBUSY))), "{way:?}");
        assert_eq!(spawner.child(way, false, || {}), Ok(way.status()), "{way:?}: afterwards there is room");
    }
}

#[test]
fn children_in_a_row_are_all_waited_for() {
    let (spawner, clock) = (Spawner::new().unwrap(), Clock::kernel());
    for way in here(&spawner) {
        let started = clock.now();
        let done_before = std::cell::Cell::new(0);
        spawner.repeat(way, &clock, 5, || done_before.set(done_before.get() + 1));
        let whole = clock.between(started, clock.now());
        let tally = spawner.tally(&clock);
        assert_eq!((tally.wrong, tally.error), (0, 0), "{way:?}");
        assert_eq!(done_before.get(), 5);
        let within = Picoseconds::ZERO < tally.calls && tally.calls <= tally.lives && tally.lives <= whole;
        assert!(within, "{way:?}: {tally:?} of {whole}");
    }
    spawner.repeat(Way::Fork, &clock, 0, || {});
    assert_eq!(spawner.tally(&clock), Tally::default());
}

#[test]
fn the_program_in_memory_has_three_instructions() {
    let bytes = program::bytes(&program::CODE);
    assert_eq!(bytes[..4], *b"\x7fELF");
    assert_eq!(bytes.len(), 64 + 56 + 12);
    let spawner = Spawner::new().unwrap();
    // By two ways, each of which says so if the kernel does not execute it.
    for way in [Way::ForkExec, Way::PosixSpawn] {
        match spawner.missing(way) {
            None => {
                spawner.watch(way, 1);
                assert_eq!(spawner.watched(way).unwrap().status, Some(ASKED));
            }
            Some(why) => eprintln!("skipped: {why}"),
        }
    }
}

#[test]
fn a_footprint_is_read_from_the_kernels_words() {
    let status = "Name:\tx\nVmRSS:\t    1234 kB\nVmPTE:\t      56 kB\n";
    let expected = Footprint { resident: Bytes::from_kib(1234), page_tables: Bytes::from_kib(56) };
    assert_eq!(footprint_by(status), Some(expected));
    assert_eq!(footprint_by("VmRSS:\t 1 kB\n"), None);
    assert_eq!(footprint_by("VmRSS:\t 1 MB\nVmPTE:\t 1 kB\n"), None);
    match footprint(std::process::id()) {
        Ok(usage) => assert!(usage.resident > Bytes(0)),
        Err(fault) => eprintln!("skipped: {fault}"),
    }
}
