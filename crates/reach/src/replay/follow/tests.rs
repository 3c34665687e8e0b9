//! Runs on a toy: those that happen are followed, and every other one is noticed.

use std::time::Duration;

use tenbin_boot::{Fault, HartEnd, Stood};

use super::toy::{Instruction, Toy};
use super::*;

/// Words of the programs below.
const DATA: u64 = 0x1000;
const FLAG: u64 = 0x1008;

/// Where harts arrive.
const GOALS: [u64; 2] = [0x80, 0x180];

/// Hart 0 writes data and then the flag. Hart 1 waits for the flag, and reads the data.
fn message() -> Toy {
    let writer = [
        Instruction::Set(5, DATA),
        Instruction::Set(6, FLAG),
        Instruction::Set(7, 7),
        Instruction::Store(7, 5),
        Instruction::Set(7, 1),
        Instruction::Store(7, 6),
        Instruction::Go(0x80),
    ];
    let reader = [
        Instruction::Set(5, DATA),
        Instruction::Set(6, FLAG),
        Instruction::Load(7, 6),
        Instruction::IfZero(7, 0x108),
        Instruction::Load(8, 5),
        Instruction::Go(0x180),
    ];
    let goals = GOALS.map(|goal| (goal, [Instruction::Go(goal)]));
    Toy::new(
        &[(0, &writer), (0x100, &reader), (goals[0].0, &goals[0].1), (goals[1].0, &goals[1].1)],
        &[0, 0x100],
        &[(DATA, 0), (FLAG, 0)],
    )
}

/// Places in it: the stores of hart 0, the loads of hart 1.
const STORE_DATA: u64 = 0xc;
const STORE_FLAG: u64 = 0x14;
const LOAD_FLAG: u64 = 0x108;
const LOAD_DATA: u64 = 0x110;

fn step(hart: u32, pc: u64, overtakes: u32, action: BootAction) -> BootStep {
    let (place, instruction) = (String::new(), String::new());
    BootStep { hart, pc: Hex(pc), place, source: None, instruction, action, overtakes, events: vec![] }
}

fn read(address: u64, value: u64, from: Writer) -> BootAction {
    BootAction::Read { address: Hex(address), name: String::new(), bytes: 8, value: Hex(value), from }
}

fn wrote(address: u64, value: u64) -> BootAction {
    BootAction::Wrote { address: Hex(address), name: "word".into(), bytes: 8, value: Hex(value) }
}

fn run(fault: Fault, steps: Vec<BootStep>, ends: &[u64]) -> Counterexample {
    let end = |&pc: &u64| HartEnd {
        pc: Hex(pc),
        place: String::new(),
        arrived: GOALS.contains(&pc),
        doing: String::new(),
        astray: false,
    };
    Counterexample {
        fault,
        sentence: String::new(),
        garbage: vec![],
        reordered: steps.iter().any(|it| it.overtakes > 0),
        values: Vec::new(),
        steps,
        repeats_from: None,
        ends: ends.iter().map(end).collect(),
    }
}

/// What came of following: the work, the harts, and the machine.
fn followed(toy: &Toy, run: &Counterexample) -> Result<(Work, Vec<ReplayedHart>, Toy), Parted> {
    let mut machine = toy.clone();
    let program = toy.program.clone();
    let code = |pc| Toy::code(&program, pc);
    let mut follower = Follower::new(&mut machine, run, &code, toy.registers.len() as u32);
    follower.plant(&run.garbage)?;
    follower.follow()?;
    let left = follower.leave(&GOALS)?;
    let work = follower.work;
    Ok((work, left, machine))
}

/// What became of harts that ran freely behind a run; `None` if all arrived.
fn freed(toy: &Toy, run: &Counterexample) -> Result<Option<Vec<Stood>>, Parted> {
    let mut machine = toy.clone();
    let program = toy.program.clone();
    let code = |pc| Toy::code(&program, pc);
    let mut follower = Follower::new(&mut machine, run, &code, toy.registers.len() as u32);
    follower.follow()?;
    follower.leave(&GOALS)?;
    // Its end is never waited for: the toy's time is its own.
    Ok(follower.set_free(&GOALS, Duration::from_secs(600))?.map(|free| free.harts))
}

/// In order: hart 1 looks too early once, then at the right time.
fn in_order() -> Counterexample {
    let steps = vec![
        step(1, LOAD_FLAG, 0, read(FLAG, 0, Writer::Garbage)),
        step(0, STORE_DATA, 0, wrote(DATA, 7)),
        step(0, STORE_FLAG, 0, wrote(FLAG, 1)),
        step(1, LOAD_FLAG, 0, read(FLAG, 1, Writer::Step(2))),
        step(1, LOAD_DATA, 0, read(DATA, 7, Writer::Step(1))),
    ];
    run(Fault::Stale, steps, &GOALS)
}

/// The store of the data is late.
fn late_store() -> Counterexample {
    let steps = vec![
        step(0, STORE_FLAG, 1, wrote(FLAG, 1)),
        step(1, LOAD_FLAG, 0, read(FLAG, 1, Writer::Step(0))),
        step(1, LOAD_DATA, 0, read(DATA, 0, Writer::Garbage)),
        step(0, STORE_DATA, 0, wrote(DATA, 7)),
    ];
    run(Fault::Stale, steps, &GOALS)
}

/// The load of the data is early, and so is the first look at the flag.
fn early_loads() -> Counterexample {
    let steps = vec![
        step(1, LOAD_DATA, 2, read(DATA, 0, Writer::Garbage)),
        step(1, LOAD_FLAG, 0, read(FLAG, 0, Writer::Garbage)),
        step(0, STORE_DATA, 0, wrote(DATA, 7)),
        step(0, STORE_FLAG, 0, wrote(FLAG, 1)),
        step(1, LOAD_FLAG, 0, read(FLAG, 1, Writer::Step(3))),
    ];
    run(Fault::Stale, steps, &GOALS)
}

#[test]
fn a_run_that_happens_is_followed() {
    let (work, left, machine) = followed(&message(), &in_order()).unwrap();
    assert_eq!((work.out_of_order, work.passed_over), (0, 0));
    assert_eq!(
        left.iter().map(|it| (it.pc.0, it.arrived)).collect::<Vec<_>>(),
        GOALS.map(|goal| (goal, true))
    );
    assert_eq!(machine.registers[1][8], 7);
}

#[test]
fn a_step_that_was_not_taken_is_asked_for_again() {
    let mut toy = message();
    toy.lazy = true;
    for run in [in_order(), late_store(), early_loads()] {
        let (work, ..) = followed(&message(), &run).unwrap();
        assert_eq!(followed(&toy, &run).unwrap().0.instructions, work.instructions);
    }
}

#[test]
fn what_is_performed_before_its_turn_is_played() {
    for run in [late_store(), early_loads()] {
        let (work, _, machine) = followed(&message(), &run).unwrap();
        assert_eq!((work.out_of_order, work.passed_over), (1, 1));
        assert_eq!(machine.registers[1][8], 0, "the data were read before they were written");
        assert_eq!((machine.words[&DATA], machine.words[&FLAG]), (7, 1));
    }
}

#[test]
fn what_the_store_buffer_holds_at_the_end_is_performed() {
    let mut run = late_store();
    run.steps.pop();
    run.fault = Fault::Dead;
    run.ends[0] = HartEnd { pc: Hex(STORE_DATA), arrived: false, ..run.ends[0].clone() };
    let (_, left, machine) = followed(&message(), &run).unwrap();
    assert_eq!((left[0].pc.0, machine.words[&DATA]), (STORE_DATA, 0));
    // Both arrive: this run is no hang, whoever says so.
    assert_eq!(freed(&message(), &run), Ok(None));
}

/// A hart that sees its own store before all others do, in a loop: the instances of one load come in program
/// order.
#[test]
fn instances_of_one_instruction_are_told_apart() {
    let program = [
        Instruction::Set(5, DATA),
        Instruction::Set(6, FLAG),
        Instruction::Set(7, 1),
        Instruction::Store(7, 5),
        Instruction::Load(8, 6),
        Instruction::IfZero(8, 0x10),
        Instruction::Go(0x80),
    ];
    let other =
        [Instruction::Set(6, FLAG), Instruction::Set(7, 1), Instruction::Store(7, 6), Instruction::Go(0x180)];
    let goals = GOALS.map(|goal| [Instruction::Go(goal)]);
    let toy = Toy::new(
        &[(0, &program), (0x100, &other), (0x80, &goals[0]), (0x180, &goals[1])],
        &[0, 0x100],
        &[(DATA, 0), (FLAG, 0)],
    );
    let load = |overtakes, value| step(0, 0x10, overtakes, read(FLAG, value, Writer::Garbage));
    let store = step(0, 0xc, 0, wrote(DATA, 1));
    let flag = step(1, 0x108, 0, wrote(FLAG, 1));
    // Before the store is performed, a look or two; after it, the rest.
    for (steps, early) in [
        (vec![load(1, 0), flag.clone(), store.clone(), load(0, 1)], 1),
        (vec![load(1, 0), flag.clone(), load(1, 1), store.clone()], 2),
        (vec![load(1, 0), load(1, 0), store.clone(), flag.clone(), load(0, 1)], 2),
        // The second look before the first, which is before the store.
        (vec![flag.clone(), store.clone(), load(0, 1)], 0),
        (vec![load(2, 0), load(1, 0), flag.clone(), store.clone(), load(0, 1)], 2),
    ] {
        let (work, left, _) = followed(&toy, &run(Fault::Stale, steps, &GOALS)).unwrap();
        assert_eq!((work.out_of_order, work.passed_over), (early, early));
        assert!(left.iter().all(|it| it.arrived));
    }
}

/// Standing before an access that is said to go astray shows nothing: the machine may take it.
#[test]
fn who_goes_astray_is_stepped_and_must_trap() {
    let program = [Instruction::Set(5, 0x9000), Instruction::Load(6, 5), Instruction::Go(0x80)];
    let tried = |trap, flagged: bool| {
        let mut toy = Toy::new(&[(0, &program)], &[0], &[(DATA, 0)]);
        toy.trap = trap;
        let mut run = run(Fault::Astray, vec![], &[4]);
        run.ends[0].astray = flagged;
        let lines = toy.program.clone();
        let code = |pc| Toy::code(&lines, pc);
        let mut follower = Follower::new(&mut toy, &run, &code, 1);
        follower.follow().and_then(|()| follower.leave(&GOALS)).unwrap();
        follower.trap()
    };
    assert_eq!(tried(Some(0x40), true), Ok(()));
    assert!(matches!(tried(None, true), Err(Parted::Cannot(why)) if why.contains("the emulator executes")));
    // An older answer does not say who.
    assert!(matches!(tried(Some(0x40), false), Err(Parted::Cannot(why)) if why.contains("which hart")));
}

fn place_and_value(action: &mut BootAction) -> (&mut Hex, &mut Hex) {
    match action {
        BootAction::Read { address, value, .. } | BootAction::Wrote { address, value, .. } => {
            (address, value)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_step_that_does_not_happen_is_noticed_there() {
    type Spoil = fn(&mut BootStep);
    let spoils: [Spoil; 6] = [
        |step| step.pc.0 += 4,
        |step| step.hart = 1 - step.hart,
        |step| step.hart = 9,
        |step| place_and_value(&mut step.action).0.0 ^= 8,
        |step| place_and_value(&mut step.action).1.0 ^= 0x100,
        |step| step.action = BootAction::Failed,
    ];
    let good = in_order();
    for at in 0..good.steps.len() {
        for (number, spoil) in spoils.iter().enumerate() {
            let mut bad = good.clone();
            spoil(&mut bad.steps[at]);
            match followed(&message(), &bad) {
                Err(Parted::Departed { step: Some(step), .. }) => assert_eq!(step, at, "{number}"),
                other => panic!("{number} at {at}: {:?}", other.map(|it| it.0)),
            }
        }
    }
}

#[test]
fn a_step_left_out_is_done_later_unless_a_hart_waits_for_it() {
    for (good, needed) in [(in_order(), 2), (late_store(), 0), (early_loads(), 3)] {
        for at in 0..good.steps.len() {
            let mut bad = good.clone();
            bad.steps.remove(at);
            assert_eq!(followed(&message(), &bad).is_err(), at == needed, "{at} of {good:?}");
        }
    }
}

#[test]
fn an_early_access_that_fails_is_noticed_by_its_turn() {
    for (good, early) in [(late_store(), 0), (early_loads(), 0)] {
        type Spoil = fn(&mut BootAction);
        let spoils: [Spoil; 2] =
            [|action| place_and_value(action).0.0 ^= 8, |action| place_and_value(action).1.0 = 9];
        for spoil in spoils {
            let mut bad = good.clone();
            spoil(&mut bad.steps[early].action);
            let parted = followed(&message(), &bad).map(|it| it.0);
            assert!(matches!(parted, Err(Parted::Departed { .. })), "{parted:?}");
        }
    }
}

#[test]
fn harts_that_cannot_arrive_are_seen_not_to() {
    // Hart 0 writes the flag before hart 1 clears it.
    let mut toy = message();
    toy.program.insert(0x104, Instruction::Set(7, 0));
    toy.program.insert(0x100, Instruction::Set(6, FLAG));
    toy.program.insert(0x108, Instruction::Store(7, 6));
    toy.program.insert(0x10c, Instruction::Load(7, 6));
    toy.program.insert(0x110, Instruction::IfZero(7, 0x10c));
    let steps = vec![
        step(0, STORE_DATA, 0, wrote(DATA, 7)),
        step(0, STORE_FLAG, 0, wrote(FLAG, 1)),
        step(1, 0x108, 0, wrote(FLAG, 0)),
    ];
    let hang = run(Fault::Dead, steps.clone(), &[0x18, 0x10c]);
    assert_eq!(freed(&toy, &hang), Ok(Some(vec![Stood::ArrivedLater, Stood::GoesRound])));
    // The same, but it sleeps.
    toy.program.insert(0x10c, Instruction::Wait);
    toy.program.insert(0x110, Instruction::Go(0x10c));
    let asleep = run(Fault::Dead, steps, &[0x80, 0x10c]);
    assert_eq!(freed(&toy, &asleep), Ok(Some(vec![Stood::Arrived, Stood::Sleeps])));
    // Whoever is said not to arrive, and does.
    let mut early = in_order();
    early.steps.truncate(2);
    early.ends = run(Fault::Dead, vec![], &[STORE_FLAG, LOAD_FLAG]).ends;
    assert_eq!(freed(&message(), &early), Ok(None));
}

/// Nobody arrives while nobody runs, which says nothing.
#[test]
fn a_hart_that_got_no_turn_does_not_hang() {
    let mut early = in_order();
    early.steps.truncate(2);
    early.ends = run(Fault::Dead, vec![], &[STORE_FLAG, LOAD_FLAG]).ends;
    let mut toy = message();
    for busy in 0..20 {
        toy.busy = busy;
        assert_eq!(freed(&toy, &early), Ok(None), "{busy}");
    }
    toy.busy = u32::MAX;
    assert!(matches!(freed(&toy, &early), Err(Parted::Cannot(why)) if why.contains("never came round")));
    // Who does hang is found to, as soon as there is time for it: hart 0 never writes the flag.
    let mut toy = message();
    toy.program.insert(STORE_FLAG, Instruction::Go(STORE_FLAG));
    let steps =
        vec![step(0, STORE_DATA, 0, wrote(DATA, 7)), step(1, LOAD_FLAG, 0, read(FLAG, 0, Writer::Garbage))];
    let hang = run(Fault::Dead, steps, &[STORE_FLAG, LOAD_FLAG]);
    for busy in 0..20 {
        toy.busy = busy;
        assert_eq!(freed(&toy, &hang), Ok(Some(vec![Stood::GoesRound; 2])), "{busy}");
    }
    // Neither do two that go round at one place, in one instruction.
    toy.program.insert(LOAD_FLAG, Instruction::Go(STORE_FLAG));
    let hang = run(Fault::Dead, vec![], &[STORE_FLAG, STORE_FLAG]);
    toy.busy = 3;
    assert_eq!(freed(&toy, &hang), Ok(Some(vec![Stood::GoesRound; 2])));
}

#[test]
fn a_part_that_repeats_is_gone_through_again() {
    let program = [
        Instruction::Set(5, FLAG),
        Instruction::Set(6, 3),
        Instruction::Swap(7, 6, 5),
        Instruction::Store(0, 5),
        Instruction::Go(8),
    ];
    let toy = Toy::new(&[(0, &program)], &[0], &[(FLAG, 5)]);
    let swapped = |read, value| BootAction::Swapped {
        address: Hex(FLAG),
        name: String::new(),
        bytes: 8,
        read,
        value: Hex(value),
        from: Writer::Garbage,
    };
    let steps = |read| {
        vec![
            step(0, 8, 0, swapped(Some(Hex(5)), 3)),
            step(0, 0xc, 0, wrote(FLAG, 0)),
            step(0, 8, 0, swapped(Some(Hex(0)), 3)),
            step(0, 0xc, 0, wrote(FLAG, read)),
        ]
    };
    let repeat = |run: &Counterexample| {
        let (mut machine, program) = (toy.clone(), toy.program.clone());
        let code = |pc| Toy::code(&program, pc);
        let mut follower = Follower::new(&mut machine, run, &code, 1);
        follower.follow()?;
        follower.repeat(3)
    };
    let mut livelock = run(Fault::Livelock, steps(0), &[8]);
    assert!(matches!(repeat(&livelock), Err(Parted::Cannot(_))), "it does not say what repeats");
    livelock.repeats_from = Some(2);
    assert_eq!(repeat(&livelock), Ok(()));
    // From the beginning it does not repeat: the garbage is gone.
    livelock.repeats_from = Some(0);
    assert!(matches!(repeat(&livelock), Err(Parted::Departed { step: Some(0), .. })));
}

#[test]
fn what_a_debugger_cannot_do_is_said() {
    // The store is to where no memory is, and before its turn.
    let mut toy = message();
    toy.words.remove(&FLAG);
    assert!(matches!(followed(&toy, &late_store()), Err(Parted::Cannot(why)) if why.contains("word")));
    let mut run = in_order();
    run.garbage.push(Planted { address: Hex(0x5000), name: "far".into(), bytes: 8, value: Hex(1) });
    assert!(matches!(followed(&message(), &run), Err(Parted::Cannot(why)) if why.contains("far")));
}

#[test]
fn what_may_happen_for_no_reason_is_played() {
    let program = [
        Instruction::Set(5, FLAG),
        Instruction::Conditional(7, 6, 5),
        Instruction::Wait,
        Instruction::Conditional(8, 6, 5),
        Instruction::Go(0x80),
    ];
    let toy = Toy::new(&[(0, &program), (0x80, &[Instruction::Go(0x80)])], &[0], &[(FLAG, 5)]);
    let succeeded = BootAction::Swapped {
        address: Hex(FLAG),
        name: String::new(),
        bytes: 8,
        read: None,
        value: Hex(0),
        from: Writer::Garbage,
    };
    let steps = vec![
        step(0, 4, 0, BootAction::Failed),
        step(0, 8, 0, BootAction::Woke { called: false }),
        step(0, 0xc, 0, succeeded),
    ];
    let (work, _, machine) = followed(&toy, &run(Fault::Stale, steps, &[0x80])).unwrap();
    assert_eq!((work.passed_over, work.out_of_order), (2, 0));
    assert_eq!((machine.registers[0][7], machine.registers[0][8], machine.words[&FLAG]), (1, 0, 0));
}

#[test]
fn one_stack_is_one_only_if_two_that_arrived_have_it() {
    let hart =
        |sp, arrived| ReplayedHart { pc: Hex(0x80), place: String::new(), sp: Hex(sp), a1: Hex(0), arrived };
    assert_eq!(share(&[hart(1, true), hart(2, true), hart(1, true)]), Ok(()));
    for other in [[hart(1, true), hart(1, false)], [hart(1, true), hart(2, true)]] {
        assert!(share(&other).is_err(), "{other:?}");
    }
}

#[test]
fn low_bytes_are_extended_as_registers_hold_them() {
    for (value, bytes, signed, expected) in [
        (0x80, 1, true, 0xffff_ffff_ffff_ff80),
        (0x80, 1, false, 0x80),
        (0x1_8000_0000, 4, true, 0xffff_ffff_8000_0000),
        (u64::MAX, 8, false, u64::MAX),
    ] {
        assert_eq!(extended(value, bytes, signed), expected);
    }
    assert_eq!((low(0x1234, 1), low(u64::MAX, 8)), (0x34, u64::MAX));
}
