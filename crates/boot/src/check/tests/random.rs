//! Random boots: what is found when all steps of all runs are looked at is found too when only those are that
//! are enough.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::super::program::Learned;
use super::super::{BootQuestion, CheckLimits, Extent, Refused, search_within};
use super::assembled::{Assembled, DATA, SIZE};
use crate::answer::Fault;
use crate::axiomatic::Model;

/// States of a boot that is looked at; larger ones are left to others.
const MOST_STATES: u64 = 5_000;

/// One step of a hart, on one of three words; the numbers choose.
type Step = (u8, u8, u8);

fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    // Rare ones: those that end all, but for the one that asks whether something was read.
    let kind = prop_oneof![
        12 => 0..4_u8, 4 => 4..7_u8, 9 => 7..22_u8, 1 => 22..26_u8,
        3 => 24..25_u8, 4 => 26..28_u8, 3 => 28..30_u8
    ];
    prop::collection::vec((kind, 0..3_u8, 0..3_u8), 1..=most)
}

/// The lines of one step. Registers: s0 is the memory's address, s2 that of the software interrupts, t2 what
/// was read last.
fn lines(hart: usize, index: usize, &(kind, word, value): &Step) -> String {
    let at = 4 * word;
    let name = format!("h{hart}_{index}");
    match kind {
        0 | 1 => format!("li t0,1\nsw t0,{at}(s0)\n"),
        2 => format!("lw t2,{at}(s0)\n"),
        // Waits.
        3 => format!("{name}: lw t2,{at}(s0)\nbeqz t2,{name}\n"),
        4 => format!("li t0,1\n{name}: lw t2,{at}(s0)\nbne t2,t0,{name}\n"),
        5 => format!("{name}: lw t2,{at}(s0)\nbeqz t2,{name}\nfence r,rw\n"),
        6 => ["fence rw,rw\n", "fence w,w\n", "fence r,rw\n"][usize::from(value)].to_owned(),
        7 => format!("addi t3,s0,{at}\nli t0,{value}\namoswap.w t2,t0,(t3)\n"),
        // A lock, and what opens it.
        8 => format!("addi t3,s0,{at}\nli t0,1\n{name}: amoswap.w.aq t2,t0,(t3)\nbnez t2,{name}\n"),
        9 => format!("fence rw,w\nsw zero,{at}(s0)\n"),
        10 => format!(
            "addi t3,s0,{at}\nli t0,1\n{name}: lr.w.aq t2,(t3)\nbnez t2,{name}\nsc.w t4,t0,(t3)\nbnez t4,{name}\n"
        ),
        // What follows is done or not, as the last value has it.
        11 => format!("beqz t2,{name}\nli t0,{value}\nsw t0,{at}(s0)\n{name}: li t0,0\n"),
        12 => format!("sw t2,{at}(s0)\n"),
        13 => format!("addi t3,s0,{at}\nli t0,1\namoadd.w t2,t0,(t3)\n"),
        14 if value == 0 => "li sp,16\n".to_owned(),
        14 => format!("li t5,{}\nbeq t2,t5,{name}\nli t0,1\nsw t0,{at}(s0)\n{name}: li t0,0\n", 70 * value),
        // Bytes of the same words.
        15 => format!("lbu t2,{}(s0)\n", at + value),
        16 => format!("{name}: lbu t2,{at}(s0)\nbeqz t2,{name}\n"),
        17 => format!("li t0,1\nsb t0,{}(s0)\n", at + value),
        18 => format!("{name}: lhu t2,{at}(s0)\nbeqz t2,{name}\n"),
        // A stack: words of 8 bytes that mostly are the hart's own.
        19 => format!("sd t2,{}(s0)\n", 64 + 8 * hart),
        20 => format!("ld t2,{}(s0)\n", 64 + 8 * hart),
        21 => format!("ld t2,{}(s0)\n", 64 + 8 * word),
        22 => format!("csrsi mie,8\n{name}: wfi\nlw t2,{}(s2)\nbeqz t2,{name}\n", 4 * hart),
        23 => format!("li t0,1\nsw t0,{}(s2)\n", 4 * word),
        26 => "csrsi mie,8\nwfi\n".to_owned(),
        // What the value goes through, and what it does not.
        28 => {
            ["csrw mscratch,t2\n", "csrr t5,mepc\n", "csrrw t2,mscratch,t2\n"][usize::from(value)].to_owned()
        }
        // A jump to a place that is not known before something was read: here, or one further.
        29 => format!(
            "lw t4,{at}(s0)\nsltu t4,zero,t4\nslli t4,t4,2\nauipc t5,0\nadd t5,t5,t4\njr 12(t5)\nli t2,0\nli t0,0\n"
        ),
        // A store of which it is not known where it goes before something was read.
        27 => format!(
            "lw t4,{at}(s0)\nsltu t4,zero,t4\nslli t4,t4,3\nadd t4,t4,s0\nsd t2,{}(t4)\n",
            64 + 8 * (hart.min(1))
        ),
        // What must have been written by now.
        24 => format!("lw t2,{at}(s0)\nbnez t2,{name}\nlw t0,0(zero)\n{name}: li t0,0\n"),
        _ => format!("{name}: bnez t2,{name}\n"),
    }
}

/// Harts that each go their own way to the end. Hart 0 tells all others to start by one of its stores, and
/// they start somewhere.
fn text(harts: &[Vec<Step>], noticed: usize, started: usize) -> String {
    let mut text = "lui s0,0x20\nlui s2,0x2000\nli t2,0\ncsrw mscratch,zero\n".to_owned();
    for hart in 1..harts.len() {
        text.push_str(&format!("li t1,{hart}\nbeq a0,t1,hart{hart}\n"));
    }
    for (hart, steps) in harts.iter().enumerate() {
        text.push_str(if hart == 0 { "primary:\n" } else { "" });
        text.push_str(&format!("hart{hart}:\n"));
        for (index, step) in steps.iter().enumerate() {
            text.push_str(if hart == 0 && index == noticed { "tell_all:\n" } else { "" });
            text.push_str(if hart == 1 && index == started { "started:\n" } else { "" });
            text.push_str(&lines(hart, index, step));
        }
        text.push_str(if hart == 0 { "j all_arrived\n" } else { "j arrived\n" });
    }
    text + "all_arrived: j all_arrived\narrived: j arrived\n"
}

/// What an exploration comes to.
#[derive(Debug, PartialEq, Eq)]
enum Exploration {
    To {
        faults: BTreeSet<Fault>,
        /// What garbage was compared with.
        compared: BTreeSet<u64>,
    },
    /// Parts of a shared word are needed.
    Mixed,
}

/// What comes of it; none where there are too many states.
fn explored(
    question: &BootQuestion<'_>,
    reduces: bool,
    has_own: bool,
) -> Result<Option<Exploration>, TestCaseError> {
    let mut learned = Learned::of(question);
    if !has_own {
        learned.shared = (DATA..DATA + SIZE).step_by(8).collect();
    }
    // It is asked now and then, so some that are let through have a few more.
    let stop = |states| states > if reduces { 2 * MOST_STATES } else { MOST_STATES };
    let limits = CheckLimits { bytes: 1 << 30, stop: Some(&stop) };
    match search_within(question, limits, &Extent::whole(reduces), &mut learned, &[]) {
        Ok(Some(report)) if report.whole => {
            let faults = report.findings.iter().map(|each| each.fault).collect();
            Ok(Some(Exploration::To { faults, compared: learned.compared }))
        }
        Ok(_) | Err(Refused::Stopped(_)) => Ok(None),
        Err(Refused::Mixed { .. }) => Ok(Some(Exploration::Mixed)),
        Err(error) => Err(TestCaseError::fail(error.to_string())),
    }
}

/// The kinds of faults; none where there are too many states.
fn faults_of(
    question: &BootQuestion<'_>,
    reduces: bool,
    has_own: bool,
) -> Result<Option<BTreeSet<Fault>>, TestCaseError> {
    match explored(question, reduces, has_own)? {
        Some(Exploration::To { faults, .. }) => Ok(Some(faults)),
        Some(Exploration::Mixed) => Err(TestCaseError::reject("parts of a word")),
        None => Ok(None),
    }
}

fn compare(
    harts: &[Vec<Step>],
    (noticed, started, known, window): (usize, usize, usize, u32),
) -> Result<(), TestCaseError> {
    let text = text(harts, noticed, started);
    // Some words hold zeros, and nobody knows what the others hold.
    let assembled = Assembled::of(&text, &[0; 88][..if known == 3 { 88 } else { 4 * known }]);
    for model in [Model::Sc, Model::Tso, Model::Rvwmo] {
        let question = BootQuestion { window, ..assembled.question(harts.len() as u32, model) };
        let Some(all) = explored(&question, false, true)? else { continue };
        let Some(enough) = explored(&question, true, true)? else {
            return Err(TestCaseError::fail(format!(
                "{model}, window {window}: more states than all\n{text}"
            )));
        };
        prop_assert_eq!(&all, &enough, "{}, window {}, {} words known\n{}", model, window, known, text);
        let Exploration::To { faults: all, .. } = all else { continue };
        // A hart's own words are nobody else's business. They take no room in the window, so more may be
        // found.
        if let Some(shared) = faults_of(&question, false, false)? {
            prop_assert!(
                if window < 8 { shared.is_subset(&all) } else { shared == all },
                "own, {}, window {}, {} words known: {:?} and {:?}\n{}",
                model,
                window,
                known,
                shared,
                all,
                text
            );
        }
    }
    Ok(())
}

fn setting() -> impl Strategy<Value = (usize, usize, usize, u32)> {
    (0..3_usize, 0..8_usize, 0..4_usize, prop_oneof![Just(1_u32), Just(3), Just(8)])
}

/// A message from hart 0 to hart 1, with random steps before the store that announces it, and before the look
/// at it.
fn message(mut before: Vec<Step>, mut after: Vec<Step>) -> [Vec<Step>; 2] {
    before.insert(0, (0, 0, 0));
    before.push((0, 1, 0));
    after.insert(0, (3, 1, 0));
    after.push((24, 0, 0));
    [before, after]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn enough_steps_of_two_harts_find_what_all_do(one in steps(4), two in steps(4), setting in setting()) {
        compare(&[one, two], setting)?;
    }

    #[test]
    fn enough_steps_of_a_message_find_what_all_do(one in steps(2), two in steps(2), setting in setting()) {
        compare(&message(one, two), setting)?;
    }

    #[test]
    fn enough_steps_of_three_harts_find_what_all_do(
        one in steps(3), two in steps(3), three in steps(3), setting in setting(),
    ) {
        compare(&[one, two, three], setting)?;
    }
}

/// Hart 0 calls, hart 1 may take the call back before it sleeps, and hart 2 is busy: while hart 1 sleeps for
/// ever, the others go on.
#[test]
fn a_sleep_for_ever_is_found_by_few_steps_too() {
    let text = "lui s0,0x20\nlui s2,0x2000\nli t1,2\nbeq a0,t1,noise\nbnez a0,one
        primary: li t0,1\nsw t0,0(s0)\nsw t0,4(s2)\nwait: lw t1,8(s0)\nbeqz t1,wait\nj all_arrived
        one: csrsi mie,8\nlw t1,0(s0)\nbnez t1,go\nsw zero,4(s2)\nwfi
        again: lw t1,0(s0)\nbeqz t1,again\ngo: li t0,1\nsw t0,8(s0)\nj arrived
        noise: sw zero,32(s0)\nj arrived
        all_arrived: j all_arrived\narrived: j arrived";
    let assembled = Assembled::of(text, &[0; 88]);
    for model in [Model::Sc, Model::Tso, Model::Rvwmo] {
        for reduces in [false, true] {
            let faults_of = faults_of(&assembled.question(3, model), reduces, true).unwrap().unwrap();
            assert!(faults_of.contains(&Fault::Livelock), "{model}, {reduces}: {faults_of:?}");
        }
    }
}

/// The random boots are worth something only if some are sound, some are not, and some faults need a weak
/// memory.
#[test]
fn random_boots_are_of_many_kinds() {
    let mut runner = TestRunner::deterministic();
    let (mut sound, mut weak, mut kinds) = (0, 0, BTreeSet::new());
    let mut random = |most| steps(most).new_tree(&mut runner).unwrap().current();
    for number in 0..160 {
        let harts = if number % 2 == 0 { message(random(2), random(2)) } else { [random(4), random(4)] };
        let assembled = Assembled::of(&text(&harts, 0, 9), &[0; 16]);
        let [Some(sc), Some(rvwmo)] = [Model::Sc, Model::Rvwmo]
            .map(|model| faults_of(&assembled.question(2, model), false, true).unwrap_or(None))
        else {
            continue;
        };
        sound += u32::from(rvwmo.is_empty());
        weak += u32::from(sc != rvwmo);
        kinds.extend(rvwmo);
    }
    assert!(sound >= 10 && weak >= 5 && kinds.len() >= 3, "{sound} {weak} {kinds:?}");
}

/// Each with what it was about, its setting, and perhaps a fault that there is, or is not, under this model.
#[test]
fn what_was_once_found_by_chance_is_right() {
    type Case<'a> = (&'a str, Vec<Vec<Step>>, (usize, usize, usize, u32), Option<(Model, Fault, bool)>);
    let swap = |word| (7, word, 0);
    let cases: [Case<'_>; 5] = [
        (
            "flags side by side in 8 bytes know nothing of one another",
            vec![vec![swap(2)], vec![swap(1), swap(0), (0, 0, 0)], vec![(0, 0, 0)]],
            (0, 2, 0, 1),
            Some((Model::Sc, Fault::StartedEarly, true)),
        ),
        (
            "a byte may be 0 in a word that is not, whichever of them is looked at first",
            vec![vec![(24, 2, 0)], vec![(16, 2, 0)]],
            (0, 0, 0, 1),
            Some((Model::Sc, Fault::Dead, true)),
        ),
        (
            "hart 0 knows late that it stores to where it has read, and has to wait for what it stores",
            vec![vec![(2, 0, 0), (27, 1, 0), (20, 0, 0)], vec![(26, 0, 0)]],
            (0, 0, 1, 8),
            Some((Model::Rvwmo, Fault::Dead, false)),
        ),
        (
            "what a walk only takes to be possible was compared with garbage, and tried as garbage",
            vec![vec![(15, 1, 0), (13, 1, 0), (3, 1, 0)], vec![(4, 0, 0)]],
            (0, 0, 0, 1),
            None,
        ),
        (
            "−1 without its sign was taken for something that only undetermined memory holds",
            vec![vec![(0, 0, 0)], vec![(15, 0, 0), (13, 1, 0), (3, 0, 0), (0, 0, 0)]],
            (0, 0, 0, 1),
            None,
        ),
    ];
    for (about, harts, setting, fault) in cases {
        compare(&harts, setting).unwrap();
        let Some((model, fault, is_there)) = fault else { continue };
        let (noticed, started, known, window) = setting;
        let assembled = Assembled::of(&text(&harts, noticed, started), &[0; 88][..4 * known]);
        let question = BootQuestion { window, ..assembled.question(harts.len() as u32, model) };
        let faults = faults_of(&question, is_there, true).unwrap().unwrap();
        assert_eq!(faults.contains(&fault), is_there, "{about}: {faults:?}");
    }
}
