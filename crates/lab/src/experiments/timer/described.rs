//! What `timer` says about itself: its variants, its parameter, its sources.

use tenbin_analysis::Analysis;
use tenbin_metal::timers::{Slack, TOO_SOON};
use tenbin_model::{Descriptor, Parameter, Picoseconds, Quantity, Source, Variant};

use super::analysis::Lateness;

use super::{MEASURED, SLACK, WAYS};

/// Names and what they do, in the order of [`WAYS`].
const NAMES: [(&str, &str); WAYS.len()] = [
    ("timerfd", "one-shot timerfd_settime, and a read that blocks"),
    ("setitimer", "ITIMER_REAL, its signal blocked and fetched by sigtimedwait"),
    ("clock_nanosleep", "a relative sleep on CLOCK_MONOTONIC, with the timer slack of this process"),
    ("clock_nanosleep with 1 ns of slack", "the same after PR_SET_TIMERSLACK"),
    ("a futex time-out", "FUTEX_WAIT on a word that nobody changes, with the timer slack of this process"),
    ("a futex time-out with 1 ns of slack", "the same after PR_SET_TIMERSLACK"),
    ("ppoll", "a time-out for no files: it may be late by a thousandth of its time, up to 100 ms"),
    ("20 µs too soon", "reads the clock at the end of its sleep, and not for long enough"),
    ("a timer that goes on", "a timerfd that fires again when asked to fire once"),
    ("a caller that does not sleep", "reads the clock until the time has passed"),
];

/// The variants where a process has this timer slack.
pub(super) fn variants(slack: Picoseconds) -> Vec<Variant> {
    let variant = |((name, what), (place, (way, which))): (&(&str, &str), (usize, &(_, Slack)))| {
        let way: &tenbin_metal::timers::Way = way;
        let nanoseconds = match which {
            Slack::AsFound => slack.0 / 1_000,
            Slack::Least => 1,
        };
        if place >= MEASURED {
            Variant::sabotage(name, what)
        } else if way.has_slack() {
            Variant::measured(name, what).at(&[(SLACK, nanoseconds)])
        } else {
            Variant::measured(name, what)
        }
    };
    NAMES.iter().zip(WAYS.iter().enumerate()).map(variant).collect()
}

/// What the kernel gives a process unless somebody changed it.
const USUAL: Picoseconds = Picoseconds::from_micros(50);

pub(super) fn describe() -> Descriptor {
    debug_assert_eq!(TOO_SOON, Picoseconds::from_micros(20), "the name of the planted fault says so");
    Descriptor {
        name: "timer".into(),
        question: "When does a timer of T fire?".into(),
        requirement: "whoever asks for a time gets a later one, and the call used decides by how much".into(),
        specification: "a timer fires once and never before its time, and whoever waits for it sleeps".into(),
        subject: "A timer".into(),
        quantity: Quantity::Lateness,
        analysis: Lateness.name().into(),
        variants: variants(USUAL),
        parameters: vec![Parameter::new(
            "times",
            "50us,500us,1ms,10ms,100ms,1s (with --thorough also 10s, with --quick only 1ms)",
            "lengths of timers, 50us to 10s, with ns, us, ms or s; those from 100ms on wait many at a time",
        )],
        margin: 0.05,
        // As `atomics`: different instructions on a core that another guest's thread may share.
        sway: 0.15,
        touches: "none; timer slack is set in processes of its own".into(),
        sources: Source::list(&[
            (
                "S. Takeuchi, \"How an interface inside of the kernel changed\" (in Japanese)",
                "the question, and ten seconds as the longest time",
            ),
            ("prctl(2), PR_SET_TIMERSLACK", "which calls may be late on purpose, and by how much"),
            ("Linux, fs/select.c, select_estimate_accuracy", "how late poll and select may be"),
            ("timerfd_create(2), setitimer(2), clock_nanosleep(2), futex(2)", "what each call promises"),
            (
                "S. S. Wilks, \"Determination of Sample Sizes for Setting Tolerance Limits\", 1941",
                "how many firings it takes before a tail can be stated",
            ),
        ]),
        ..Descriptor::default()
    }
}
