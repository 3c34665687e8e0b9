//! What is found beside the lateness: the slack that was in force, what the CPU does meanwhile, and what
//! wakes it.

use tenbin_metal::timers::{Idle, State, Way};
use tenbin_model::words::{and, comma};
use tenbin_model::{Cpu, Finding, Picoseconds, order};

use super::{MEASURED, WAYS};

/// Timers on a coarser grid than this are not of high resolution.
const FINE: Picoseconds = Picoseconds::from_micros(1);

pub(super) fn finding(sentence: String, evidence: String, confidence: &str) -> Finding {
    Finding { experiment: "timer".into(), sentence, evidence, confidence: confidence.into() }
}

pub(super) fn of_slack(inherited: Picoseconds, least: Picoseconds) -> Finding {
    let names = |wanted: fn(&Way) -> bool| {
        let ways = WAYS[..MEASURED].iter().map(|(way, _)| way).filter(|way| wanted(way));
        and(order::firsts(ways.map(|way| way.name())))
    };
    // One call does not stop at the thread's slack (`select_estimate_accuracy`, `fs/select.c`).
    let steady = names(|way| way.has_slack() && *way != Way::Poll);
    let growing = names(|way| *way == Way::Poll);
    let none = names(|way| !way.has_slack());
    let sentence = match inherited {
        // As a thread of a real-time class has it, of which nothing else is asked either.
        Picoseconds::ZERO => {
            format!("Timer slack lets {steady} and {growing} be late by nothing here; {none} have none.")
        }
        inherited => format!(
            "Timer slack lets {steady} be late by {inherited} here, and {growing} by a thousandth of its time up to 100 ms where \
             that is more; {none} have none."
        ),
    };
    finding(
        sentence,
        format!(
            "the waiting process has {inherited}, and {least} where 1 ns was set (PR_GET_TIMERSLACK); what {growing} adds is \
             what the kernel's source says (fs/select.c), for a process that is not nice"
        ),
        "the kernel's own word; which calls have slack is the manual's",
    )
}

pub(super) fn of_waking(cpu: Cpu, idle: &Idle, resolution: Picoseconds) -> Finding {
    let known = |what: &str, value: &Option<String>| value.as_ref().map(|value| format!("{what} {value}"));
    let sleep = match (&idle.driver, &idle.governor) {
        (None, None) => format!("{cpu} waits in a way that the kernel does not name"),
        (driver, governor) => {
            let by = [known("the driver", driver), known("the governor", governor)];
            format!("{cpu} sleeps by {}", and(by.into_iter().flatten()))
        }
    };
    let device = known("is woken by", &idle.device).unwrap_or_else(|| "is woken by an unnamed device".into());
    let grid = if resolution <= FINE {
        format!("timers are of high resolution ({resolution})")
    } else {
        format!("timers fire only at ticks, {resolution} apart")
    };
    let state = |state: &State| format!("{} {} µs", state.name, state.microseconds);
    let states = match idle.states.as_slice() {
        [] => "no sleep states are listed".to_owned(),
        states => format!("time to leave each sleep state: {}", comma(states.iter().map(state))),
    };
    let built = idle.preemption.as_deref().unwrap_or("no word on preemption");
    finding(
        format!("While nothing is due, {sleep} and {device}; {grid}."),
        format!("{states}; kernel built with {built}"),
        "sysfs and clock_getres; in a guest the host's sleep and wake-up are in the lateness and not named here",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rehearsal::says;

    #[test]
    fn what_is_unknown_is_said_and_not_made_up() {
        let finding = of_waking(Cpu(1), &Idle::default(), Picoseconds::from_millis(4));
        says(&finding.sentence, &["CPU 1 waits in a way that the kernel does not name"]);
        says(&finding.sentence, &["timers fire only at ticks, 4.00 ms apart"]);
        says(&finding.evidence, &["no sleep states are listed"]);
    }

    #[test]
    fn governor_device_and_states_are_named() {
        let idle = Idle {
            governor: Some("menu".into()),
            driver: Some("intel_idle".into()),
            states: vec![State { name: "C6".into(), microseconds: 133 }],
            device: Some("lapic-deadline".into()),
            preemption: Some("PREEMPT_RT".into()),
        };
        let finding = of_waking(Cpu(0), &idle, Picoseconds::from_nanos(1));
        assert_eq!(
            finding.sentence,
            "While nothing is due, CPU 0 sleeps by the driver intel_idle and the governor menu and is woken by \
             lapic-deadline; timers are of high resolution (1.00 ns)."
        );
        says(&finding.evidence, &["C6 133 µs", "PREEMPT_RT"]);
    }

    #[test]
    fn slack_is_said_with_the_calls_that_have_it() {
        let finding = of_slack(Picoseconds::from_micros(50), Picoseconds::from_nanos(1));
        assert_eq!(
            finding.sentence,
            "Timer slack lets clock_nanosleep and a futex time-out be late by 50.0 µs here, and ppoll by a thousandth of its \
             time up to 100 ms where that is more; timerfd and setitimer have none."
        );
        assert!(of_slack(Picoseconds::ZERO, Picoseconds::ZERO).sentence.contains("late by nothing here"));
    }
}
