//! How runs went in an emulator, as text.

use crate::answer::Hex;
use crate::replay::{BootReplay, FreeRun, ReplayOutcome, Replayed, Shown, Stood};
use tenbin_model::words::{comma, folded, semicolon};

/// A paragraph for each run; of several, how many were shown.
pub fn replay(answer: &BootReplay, width: usize) -> String {
    let mut text = answer.replays.iter().map(|it| folded(&paragraph(it, answer.times), 0, width) + "\n");
    let mut text = text.by_ref().collect::<String>();
    if answer.replays.len() > 1 {
        text.push_str(&folded(&summary(answer), 0, width));
    } else {
        text.truncate(text.trim_end().len());
        text.push_str(if text.is_empty() { "" } else { "\n" });
    }
    text
}

fn paragraph(replayed: &Replayed, times: u32) -> String {
    let Replayed { file, machine, fault, steps, outcome } = replayed;
    let boot_hart = machine.boot_hart.map_or(String::new(), |hart| format!(", boot hart {hart}"));
    let name = fault.name();
    let run = format!(
        "{file}, {} harts{boot_hart}, {}, {name}",
        machine.harts,
        machine.memory.to_string().to_uppercase()
    );
    match outcome {
        ReplayOutcome::Shown(shown) => format!("{run}: {}", shown_in_words(shown, *steps, times)),
        ReplayOutcome::Departed { shown, step, why } => {
            let at = step.map_or_else(|| "after its last step".to_owned(), |step| format!("at step {step}"));
            format!(
                "{run}: NOT SHOWN, only {shown} of {times} times. The emulator departs from the run {at}: \
                 {why}. tenbin or the emulator is wrong here."
            )
        }
        ReplayOutcome::NotReplayable { why } => format!("{run}: not replayable: {why}."),
    }
}

fn shown_in_words(shown: &Shown, steps: usize, times: u32) -> String {
    let mut text = format!(
        "shown {} of {times} {}. The emulator did all {steps} steps of the run, in {} instructions",
        shown.times,
        if times == 1 { "time" } else { "times" },
        shown.instructions
    );
    if times > 1 {
        text.push_str(", and was started afresh each time");
    }
    text.push('.');
    if !shown.planted.is_empty() {
        let words = shown.planted.iter().map(|word| format!("{} = {}", word.name, word.value));
        text.push_str(&format!(" The debugger planted {}.", comma(words)));
    }
    if shown.out_of_order > 0 {
        let (accesses, were) = count(shown.out_of_order, "access", "accesses");
        text.push_str(&format!(
            " The emulator reorders nothing: the debugger performed {accesses} that {were} reordered."
        ));
    }
    if shown.passed_over > 0 {
        let (instructions, _) = count(shown.passed_over, "instruction", "instructions");
        text.push_str(&format!(" It moved harts past {instructions}."));
    }
    if shown.rounds > 0 {
        text.push_str(&format!(" The repeating part was run {} more times.", shown.rounds));
    }
    match &shown.free {
        Some(free) => text.push_str(&freely(free, shown)),
        None => {
            let harts = shown.harts.iter().enumerate().map(|(number, hart)| {
                let Hex(sp) = hart.sp;
                let arrived = if hart.arrived { ", arrived," } else { "" };
                format!("hart {number}{arrived} at {} with sp {sp:#x} and a1 {}", hart.place, hart.a1)
            });
            text.push_str(&format!(" In the end: {}.", semicolon(harts)));
        }
    }
    text
}

fn freely(free: &FreeRun, shown: &Shown) -> String {
    let harts = free.harts.iter().zip(&shown.harts).enumerate().map(|(number, (stood, hart))| match stood {
        Stood::Arrived => format!("hart {number} had arrived"),
        Stood::ArrivedLater => format!("hart {number} arrived"),
        Stood::GoesRound => format!("hart {number} loops at {}", hart.place),
        Stood::Sleeps => format!("hart {number} sleeps"),
        Stood::WentOn => format!("hart {number} went on from {} and did not arrive", hart.place),
    });
    let harts = semicolon(harts);
    format!(" Then all harts ran freely, {} times {} s: {harts}.", free.pieces, free.seconds)
}

fn count(number: u32, one: &str, more: &str) -> (String, &'static str) {
    if number == 1 { (format!("1 {one}"), "is") } else { (format!("{number} {more}"), "are") }
}

fn summary(answer: &BootReplay) -> String {
    let has = |what: fn(&ReplayOutcome) -> bool| answer.replays.iter().filter(|it| what(&it.outcome)).count();
    let shown = has(|it| matches!(it, ReplayOutcome::Shown(_)));
    let cannot = has(|it| matches!(it, ReplayOutcome::NotReplayable { .. }));
    let departed = has(|it| matches!(it, ReplayOutcome::Departed { .. }));
    let all = answer.replays.len();
    let times = if answer.times == 1 { "once".to_owned() } else { format!("{} times", answer.times) };
    let mut text =
        format!("{shown} of {all} runs are shown by {}", answer.emulator.as_deref().unwrap_or("QEMU"));
    text.push_str(&format!(", each {times}"));
    if cannot > 0 {
        text.push_str(&format!("; {cannot} cannot be replayed"));
    }
    if departed > 0 {
        text.push_str(&format!("; in {departed} the emulator does something else"));
    }
    text + "."
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{BootMachine, Fault, Planted};
    use crate::axiomatic::Model;
    use crate::replay::ReplayedHart;

    fn hart(place: &str, arrived: bool) -> ReplayedHart {
        ReplayedHart { pc: Hex(1), place: place.into(), sp: Hex(0x80), a1: Hex(0x101), arrived }
    }

    fn shown(free: Option<FreeRun>) -> Shown {
        let flag = Planted { address: Hex(8), name: "flag".into(), bytes: 8, value: Hex(1) };
        Shown {
            times: 100,
            instructions: 321,
            planted: vec![flag],
            out_of_order: 0,
            passed_over: 0,
            harts: vec![hart("start_hart+46", false), hart("arrived", true)],
            free,
            rounds: 0,
        }
    }

    fn replayed(fault: Fault, outcome: ReplayOutcome) -> Replayed {
        let (memory, set) = (Model::Sc, vec![]);
        let machine =
            BootMachine { harts: 2, boot_hart: Some(0), memory, window: 8, set, controls: Vec::new() };
        Replayed { file: "a.elf".into(), machine, fault, steps: 14, outcome }
    }

    fn text(replays: Vec<Replayed>) -> String {
        let (schema, emulator) = (BootReplay::SCHEMA.into(), Some("QEMU 7.2".into()));
        replay(&BootReplay { schema, emulator, times: 100, replays }, 1000)
    }

    #[test]
    fn a_hang_is_told_with_what_became_of_the_harts() {
        let free = FreeRun { seconds: 0.3, pieces: 2, harts: vec![Stood::GoesRound, Stood::Arrived] };
        let outcome = ReplayOutcome::Shown(shown(Some(free)));
        assert_eq!(
            text(vec![replayed(Fault::Dead, outcome)]),
            "a.elf, 2 harts, boot hart 0, SC, dead: shown 100 of 100 times. The emulator did all 14 steps of the run, in 321 instructions, \
             and was started afresh each time. The debugger planted flag = 0x1. Then all harts ran freely, 2 times 0.3 s: hart 0 loops at \
             start_hart+46; hart 1 had arrived.\n"
        );
    }

    #[test]
    fn what_the_debugger_played_is_told() {
        let outcome =
            ReplayOutcome::Shown(Shown { out_of_order: 1, passed_over: 2, rounds: 3, ..shown(None) });
        let text = text(vec![replayed(Fault::Stale, outcome)]);
        for words in [
            "performed 1 access that is reordered",
            "past 2 instructions",
            "run 3 more times",
            "hart 1, arrived, at arrived with sp 0x80 and a1 0x101",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn what_was_not_shown_is_not_called_shown() {
        let departed = |step| ReplayOutcome::Departed { shown: 3, step, why: "x7 holds 1".into() };
        let cannot = ReplayOutcome::NotReplayable { why: "a device".into() };
        let text = text(vec![
            replayed(Fault::Dead, departed(Some(5))),
            replayed(Fault::Dead, departed(None)),
            replayed(Fault::Stale, cannot),
        ]);
        for words in [
            "NOT SHOWN, only 3 of 100 times",
            "at step 5: x7 holds 1.",
            "after its last step: x7 holds 1.",
            "stale: not replayable: a device.",
            "0 of 3 runs are shown by QEMU 7.2, each 100 times; 1 cannot be replayed; in 2 the emulator does something else.",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains(": shown"), "{text}");
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        assert_eq!(text(vec![]), "");
    }
}
