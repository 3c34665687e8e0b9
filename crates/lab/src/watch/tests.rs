use tenbin_metal::watch::Clocks;
use tenbin_metal::watch::kernel::Work;

use super::cause::Facts;
use super::*;

/// Milliseconds.
const fn ms(time: u64) -> u64 {
    time * 1_000_000
}

fn late(cpu: u32, before: u64, due: u64, seen: u64, queued: Option<u64>) -> Late {
    Late { cpu: Cpu(cpu), before: ms(before), due: ms(due), seen: ms(seen), queued: queued.map(ms) }
}

fn event(cpu: u32, began: u64, ended: u64, work: Work) -> Event {
    Event { began: ms(began), ended: ms(ended), cpu, work }
}

fn task(name: &str, priority: u32) -> Work {
    Work::Task { number: 42, name: name.into(), priority }
}

/// What is said of these signs on two CPUs: length in ms, the uncertainty in µs, CPUs and cause.
fn seen(events: Option<&[Event]>, lates: &[Late], facts: &Facts) -> Vec<String> {
    let function = |address| format!("function_{address}");
    let cpus = [Cpu(0), Cpu(1)];
    let sight = Sight { events, function: &function, cpus: &cpus, least: ms(2), is_guest: false };
    let of_events = events.into_iter().flatten().filter_map(|event| sight.suspect(event));
    let suspects = of_events.chain(lates.iter().map(|late| sight.tick(late, facts))).collect();
    let words = |gap: &Gap| {
        let cpus: Vec<u32> = gap.cpus.iter().map(|cpu| cpu.0).collect();
        let (length, uncertainty) = (gap.length.0 / 1_000_000_000, gap.uncertainty.0 / 1_000_000);
        format!("{length} ± {uncertainty} on {cpus:?}: {}", gap.cause())
    };
    sight.gaps(suspects, facts).iter().map(words).collect()
}

#[test]
fn with_programs_in_the_kernel_each_cause_is_named() {
    let none = Facts::default();
    let away = |woken: u64, state: u32| Work::Away { name: watch::NAME.into(), woken: ms(woken), state };
    let long = |work: Work| vec![event(1, 100, 120, work)];
    let gone = |woken: u64, state: u32| vec![event(1, 99, 120, away(woken, state))];
    let tick: &[Late] = &[late(1, 99, 100, 120, None)];
    let unknown = "20 ± 0 on [1]: ambiguous: interrupts off or hypervisor or firmware, unseen";
    let throttled = Facts { throttled: ms(18), ..Facts::default() };
    let stolen = Facts { stolen: vec![(Cpu(1), ms(20))], ..Facts::default() };
    let restored = Facts { disruption: Disruption::Restored, ..Facts::default() };
    let paused = Facts { disruption: Disruption::None, ..Facts::default() };
    for (events, lates, facts, expected) in [
        // A callback in an interrupt that a task was interrupted by: the innermost is meant.
        (
            vec![event(1, 100, 120, Work::Timer(5)), event(1, 90, 121, task("cc1", 120))],
            tick,
            &none,
            "20 ± 0 on [1]: timer function_5",
        ),
        (
            vec![event(0, 100, 120, task("migration/0", 0)), event(1, 100, 120, task("migration/1", 0))],
            tick,
            &none,
            "20 ± 0 on [0, 1]: stop_machine, of all CPUs",
        ),
        // On one CPU it is another thing that the thread is for, or the host's.
        (long(task("migration/1", 0)), &[], &none, "20 ± 0 on [1]: another task ran"),
        (long(task("migration/1", 0)), &[], &stolen, "20 ± 0 on [1]: the host ran something else (steal)"),
        (long(task("hog", 49)), &[], &none, "20 ± 0 on [1]: hog (42) ran"),
        // An ordinary task is a gap for as long as a tick waited for it.
        (vec![event(1, 90, 120, task("cc1", 120))], &[], &none, ""),
        (
            vec![event(1, 90, 120, task("cc1", 120)), event(1, 99, 119, away(112, 1))],
            &[late(1, 99, 112, 119, None)],
            &none,
            "7 ± 0 on [1]: cc1 (42) ran",
        ),
        (
            vec![event(1, 99, 120, away(119, 4)), event(0, 100, 120, away(119, 4))],
            tick,
            &none,
            "20 ± 0 on [0, 1]: stopped by a signal (SIGSTOP)",
        ),
        (gone(119, 8), tick, &none, "20 ± 0 on [1]: stopped by a tracer"),
        (
            vec![event(0, 99, 119, Work::Frozen)],
            &[late(0, 98, 100, 120, None), tick[0]],
            &none,
            "20 ± 0 on [0, 1]: its control group was frozen",
        ),
        (gone(100, 1), tick, &throttled, "20 ± 500 on [1]: its control group was throttled (cpu.max)"),
        // What is throttled does not explain a thread that was not woken.
        (
            gone(119, 1),
            tick,
            &throttled,
            "19 ± 500 on [1]: ambiguous: interrupts off or hypervisor or firmware, unseen",
        ),
        (long(Work::Late(9)), &[], &stolen, "20 ± 0 on [1]: the host ran something else (steal)"),
        // No task keeps a timer from expiring, whatever waited for it meanwhile.
        (
            vec![
                event(1, 90, 121, task("cc1", 120)),
                event(1, 101, 119, Work::Late(9)),
                event(1, 99, 120, away(100, 1)),
            ],
            tick,
            &none,
            unknown,
        ),
        (
            vec![event(1, 100, 120, task("hog", 49)), event(1, 105, 112, Work::Late(9))],
            &[],
            &none,
            "20 ± 0 on [1]: hog (42) ran",
        ),
        // The same cause on two CPUs, for a long time and for a short one.
        (
            vec![event(0, 100, 120, task("hog", 49)), event(1, 118, 122, task("hog", 49))],
            &[],
            &none,
            "20 ± 0 on [0]: hog (42) ran; 4 ± 0 on [1]: hog (42) ran",
        ),
        // A tick whose thread was late for a moment, and then queued.
        (
            vec![event(
                1,
                99,
                103,
                Work::Away { name: watch::NAME.into(), woken: ms(101) + 700_000, state: 1 },
            )],
            &[late(1, 99, 100, 103, None)],
            &none,
            "",
        ),
        // A tick that was late for a moment, perhaps since long before; then a timer that was for longer.
        (vec![], &[late(1, 90, 100, 101, None)], &none, ""),
        (
            vec![event(1, 98, 101, Work::Late(9))],
            &[late(1, 90, 100, 101, None)],
            &none,
            "3 ± 0 on [1]: ambiguous: interrupts off or hypervisor or firmware, unseen",
        ),
        // A hypervisor's own word.
        (long(Work::Late(9)), &[], &restored, "20 ± 0 on [1]: virtual machine restored from a snapshot"),
        (
            long(Work::Soft(3)),
            &[],
            &restored,
            "20 ± 0 on [1]: ambiguous: soft interrupt NET_RX or virtual machine restored from a \
             snapshot",
        ),
        (long(Work::Soft(3)), &[], &paused, "20 ± 0 on [1]: soft interrupt NET_RX"),
        (
            long(Work::Soft(3)),
            &[],
            &stolen,
            "20 ± 0 on [1]: ambiguous: soft interrupt NET_RX or the host ran something else (steal)",
        ),
        // A short interrupt within a long gap is not its cause, and a gap of its own.
        (
            vec![event(1, 105, 108, Work::Interrupt { number: 24, name: "eth0".into() })],
            tick,
            &none,
            "20 ± 500 on [1]: ambiguous: interrupts off or hypervisor or firmware, unseen; \
             3 ± 0 on [1]: interrupt 24 (eth0)",
        ),
        // Two within the time that a tick waited.
        (
            vec![event(1, 100, 112, Work::Timer(5)), event(1, 114, 120, Work::Soft(3))],
            tick,
            &none,
            "12 ± 0 on [1]: timer function_5; 6 ± 0 on [1]: soft interrupt NET_RX",
        ),
        // A task that lost its CPU to another one for a moment.
        (
            vec![event(1, 100, 109, task("hog", 49)), event(1, 109, 120, task("hog", 49))],
            tick,
            &none,
            "20 ± 0 on [1]: hog (42) ran",
        ),
        (vec![event(1, 100, 101, Work::Call(3)), event(5, 100, 120, Work::Call(3))], &[], &none, ""),
    ] {
        assert_eq!(seen(Some(&events), lates, facts).join("; "), expected, "{events:?}");
    }
}

#[test]
fn without_them_what_cannot_be_told_apart_is_ambiguous() {
    let both = [late(0, 98, 100, 120, Some(0)), late(1, 99, 100, 120, Some(0))];
    let queued = [late(1, 99, 100, 120, Some(19))];
    let unknown = "[1]: ambiguous: an interrupt handler, interrupts off or hypervisor or firmware, unseen";
    let none = Facts::default();
    let throttled = Facts { throttled: ms(20), ..Facts::default() };
    let continued = Facts { continued: true, ..Facts::default() };
    let frozen = Facts { frozen: true, ..Facts::default() };
    for (lates, facts, expected) in [
        (&both[1..], &none, unknown),
        (
            &both,
            &none,
            "[0, 1]: ambiguous: stop_machine, of all CPUs, an interrupt handler, interrupts off or hypervisor \
             or firmware, unseen",
        ),
        (&queued, &none, "[1]: another task ran"),
        (&queued, &throttled, "[1]: its control group was throttled (cpu.max)"),
        (&both, &continued, "[0, 1]: stopped by a signal (SIGSTOP)"),
        (&both, &frozen, "[0, 1]: its control group was frozen"),
        // One CPU alone is neither stopped nor frozen.
        (&both[1..], &continued, unknown),
        (&both[1..], &frozen, unknown),
    ] {
        assert_eq!(seen(None, lates, facts), [format!("20 ± 500 on {expected}")], "{facts:?}");
    }
}

fn request() -> Request {
    Request { cpus: vec![Cpu(0)], duration: None, least: Picoseconds::from_millis(2), tick: None }
}

/// The beginning of a watch on a machine that shows nothing.
fn course(request: &Request) -> Course<'_> {
    let root = Root::new(Path::new("/nonexistent"));
    Course::begin(request, ms(2), Sources::open(root, &request.cpus).0, None)
}

#[test]
fn clocks_that_went_on_tell_a_pause_from_a_sleep() {
    let at = |counter, monotonic, boottime| {
        let clocks = Clocks { counter: ms(counter), monotonic: ms(monotonic), boottime: ms(boottime) };
        let mut look = Look::default();
        look.clocks = clocks;
        look
    };
    let request = request();
    let mut course = course(&request);
    course.looks = vec![at(1000, 1000, 1000), at(3000, 3000, 3000)];
    for (look, expected) in [
        (at(3100, 3100, 3100), None),
        (at(3100, 3100, 8100), Some((5000, "the machine was suspended"))),
        (
            at(3400, 3100, 3100),
            Some((
                300,
                "ambiguous: virtual machine paused, virtual machine migrated or virtual machine restored \
                 from a snapshot",
            )),
        ),
    ] {
        let gaps = course.stopped_clocks(&look);
        let seen = gaps.first().map(|gap| (gap.length.0 / 1_000_000_000, gap.cause()));
        assert_eq!(seen, expected.map(|(length, cause)| (length, cause.to_owned())));
    }
}

#[test]
fn a_clock_on_a_battery_that_went_on_alone_tells_of_a_pause() {
    let request = request();
    let mut course = course(&request);
    // Its interrupts are served up to 3 ms late; a day ends; then 320 ms pass for it alone, as two of its
    // seconds show.
    let seen: Vec<Option<u64>> =
        [(86_398, 1003), (86_399, 2000), (0, 3001), (1, 4000), (2, 5003), (3, 5750), (4, 6680), (6, 8681)]
            .map(|(second, at)| {
                course.paused(Edge { second, monotonic: ms(at) }).map(|gap| gap.length.0 / 1_000_000_000)
            })
            .to_vec();
    assert_eq!(seen, [None, None, None, None, None, None, None, Some(320)]);
}
