//! Every way that there is here, against the others and against what the standard library says.

use std::os::unix::process::parent_id;

use proptest::prelude::*;

use super::*;
use crate::pin::{Pin, allowed_cpus};

const CLOCKS: [ClockName; 6] = [
    ClockName::Monotonic,
    ClockName::Realtime,
    ClockName::MonotonicCoarse,
    ClockName::RealtimeCoarse,
    ClockName::MonotonicRaw,
    ClockName::ProcessCpu,
];

/// Every way to ask that this process has; at least the kernel, where the architecture has the call.
fn ways(question: Question) -> Vec<Call> {
    let vdso = Vdso::of_this_process().ok();
    let of_the_vdso = vdso.and_then(|vdso| Call::of_the_vdso(&vdso, question));
    let ways = [
        Call::of_the_kernel(question),
        of_the_vdso,
        Call::of_the_library(question),
        Call::of_the_librarys_syscall(question),
    ];
    ways.into_iter().flatten().collect()
}

#[test]
fn a_parent_is_named_alike_by_everyone() {
    let ways = ways(Question::Parent);
    assert_eq!(ways.len(), 3, "the kernel, the library, and its syscall()");
    for call in ways {
        for n in [1, 2, 1000] {
            assert_eq!(call.run(n).returned, i64::from(parent_id()), "{call:?}");
        }
        assert_eq!(call.run(0).returned, 0);
    }
    let own = Call::of_the_kernel(Question::Own).unwrap();
    assert_eq!(own.run(3).returned, i64::from(std::process::id()));
}

#[test]
fn a_number_that_stands_for_no_call_is_refused_as_such() {
    let call = Call::of_the_kernel(Question::Unknown).unwrap();
    assert_eq!(call.run(1).returned, UNKNOWN);
    assert_eq!(answer_to_unknown(), UNKNOWN);
    // The library turns the error into -1.
    let call = Call::of_the_librarys_syscall(Question::Unknown).unwrap();
    assert_eq!(call.run(1).returned, -1);
}

/// Each answer lies between one of the kernel before and one after it; a coarse clock may stand still
/// meanwhile.
#[test]
fn clocks_go_on_from_one_way_to_the_next() {
    for clock in CLOCKS {
        let kernel = Call::of_the_kernel(Question::Clock(clock)).unwrap();
        for call in ways(Question::Clock(clock)) {
            let answers = [&kernel, &call, &call, &kernel].map(|call| call.run(2));
            assert!(answers.iter().all(|answer| answer.returned == 0), "{call:?}: {answers:?}");
            let times = answers.map(|answer| answer.nanoseconds());
            assert!(times[0] > 0 && times.is_sorted(), "{call:?}: {times:?}");
        }
    }
}

#[test]
fn dates_agree() {
    let of = |clock| Call::of_the_kernel(Question::Clock(clock)).unwrap().run(1);
    for call in ways(Question::TimeOfDay) {
        let before = of(ClockName::Realtime).nanoseconds() / 1000;
        let answer = call.run(2);
        let after = of(ClockName::Realtime).nanoseconds() / 1000;
        let seen = answer.microseconds();
        assert!(answer.returned == 0 && (before..=after).contains(&seen), "{before} {answer:?} {after}");
    }
    for call in ways(Question::Seconds) {
        let before = of(ClockName::RealtimeCoarse).written[0];
        let answer = call.run(2);
        let after = of(ClockName::RealtimeCoarse).written[0];
        assert!((before..=after).contains(&answer.written[0]), "{before} {answer:?} {after}");
        assert_eq!(answer.returned as u64, answer.written[0]);
    }
}

#[test]
fn the_cpu_is_the_one_that_is_held() {
    for cpu in allowed_cpus().unwrap() {
        let _pin = Pin::hold(cpu).unwrap();
        let mut nodes = Vec::new();
        for call in ways(Question::Cpu) {
            let answer = call.run(2);
            let (seen, node) = answer.cpu_and_node();
            assert_eq!((answer.returned, seen), (0, cpu.0), "{call:?}");
            nodes.push(node);
        }
        nodes.dedup();
        assert_eq!(nodes.len(), 1, "the node is one");
    }
}

#[test]
fn the_step_of_a_clock_is_said_alike() {
    for clock in CLOCKS {
        let mut steps: Vec<u128> =
            ways(Question::Resolution(clock)).iter().map(|call| call.run(1).nanoseconds()).collect();
        assert!(!steps.is_empty() && steps[0] > 0);
        steps.dedup();
        assert_eq!(steps.len(), 1, "{clock:?}: {steps:?}");
    }
}

#[test]
fn random_bytes_are_others_each_time() {
    for call in ways(Question::Random) {
        let answers = [1, 1, 1000].map(|n| call.run(n));
        for answer in answers {
            assert_eq!(answer.returned, RANDOM_BYTES as i64, "{call:?}");
            // A word of zeros is met once in 2^62 tests.
            assert!(answer.written.iter().all(|&word| word != 0), "{answer:?}");
        }
        assert!(answers[0] != answers[1] && answers[1] != answers[2], "{answers:?}");
    }
}

#[test]
fn what_is_not_there_is_none() {
    assert!(Call::of_the_library(Question::Cpu).is_none());
    assert_eq!(Call::of_the_kernel(Question::Seconds).is_some(), cfg!(target_arch = "x86_64"));
    let Ok(vdso) = Vdso::of_this_process() else { return };
    assert!(Call::of_the_vdso(&vdso, Question::Parent).is_none());
}

proptest! {
    #[test]
    fn a_sum_is_the_number_of_calls(n in 0..5_000_u64) {
        for sum in [Sum::Loop, Sum::Inlined, Sum::Called, Sum::Linked] {
            prop_assert_eq!(sum.run(n), n);
        }
    }
}
