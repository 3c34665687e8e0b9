//! Runs of the handshakes in `firmware/`, written by hand, with the addresses of one build of them. Memory is
//! kept while a run is written, so what a step reads, and from whom, is never a guess.

use std::collections::BTreeMap;

use crate::answer::{
    Boot, BootAction, BootCheck, BootMachine, BootStep, BootVerdict, Counterexample, Effort, Fault, HartEnd,
    Hex, NamedValue, Planted, Writer,
};
use crate::axiomatic::Model;

pub(super) struct Script {
    symbols: Vec<(u64, &'static str)>,
    memory: BTreeMap<u64, (u64, Writer)>,
    garbage: Vec<Planted>,
    steps: Vec<BootStep>,
}

/// Where something is done: address, line of source, instruction.
pub(super) type CodePlace = (u64, &'static str, &'static str);

impl Script {
    pub(super) fn new(symbols: &[(u64, &'static str)]) -> Self {
        Self { symbols: symbols.to_vec(), memory: BTreeMap::new(), garbage: Vec::new(), steps: Vec::new() }
    }

    /// With the symbols that all firmware has, and these.
    fn of(own: &[(u64, &'static str)]) -> Self {
        let mut symbols = [&ALL, own].concat();
        symbols.sort_unstable();
        Self::new(&symbols)
    }

    pub(super) fn file(mut self, word: &str, value: u64) -> Self {
        let address = self.address(word);
        self.memory.insert(address, (value, Writer::File));
        self
    }

    pub(super) fn garbage(mut self, word: &str, value: u64) -> Self {
        let address = self.address(word);
        self.memory.insert(address, (value, Writer::Garbage));
        self.garbage.push(planted(address, &self.name(address), value));
        self
    }

    pub(super) fn read(&mut self, hart: u32, at: CodePlace, word: &str) -> &mut Self {
        let address = self.address(word);
        let (value, from) = self.memory[&address];
        let (address, name, value) = (Hex(address), self.name(address), Hex(value));
        self.step(hart, at, BootAction::Read { address, name, bytes: 8, value, from })
    }

    pub(super) fn write(&mut self, hart: u32, at: CodePlace, word: &str, value: u64) -> &mut Self {
        let address = self.address(word);
        self.memory.insert(address, (value, Writer::Step(self.steps.len())));
        let (address, name, value) = (Hex(address), self.name(address), Hex(value));
        self.step(hart, at, BootAction::Wrote { address, name, bytes: 8, value })
    }

    pub(super) fn swap(&mut self, hart: u32, at: CodePlace, word: &str, value: u64) -> &mut Self {
        let address = self.address(word);
        let (read, from) = self.memory[&address];
        self.memory.insert(address, (value, Writer::Step(self.steps.len())));
        let (address, name, value) = (Hex(address), self.name(address), Hex(value));
        self.step(
            hart,
            at,
            BootAction::Swapped { address, name, bytes: 8, read: Some(Hex(read)), value, from },
        )
    }

    pub(super) fn step(
        &mut self,
        hart: u32,
        (pc, source, instruction): CodePlace,
        action: BootAction,
    ) -> &mut Self {
        self.steps.push(BootStep {
            hart,
            pc: Hex(pc),
            place: self.name(pc),
            source: (!source.is_empty()).then(|| source.to_owned()),
            instruction: instruction.to_owned(),
            action,
            overtakes: 0,
            events: Vec::new(),
        });
        self
    }

    pub(super) fn event(&mut self, event: &str) -> &mut Self {
        self.steps.last_mut().unwrap().events.push(event.to_owned());
        self
    }

    /// The last step is performed before so many older instructions.
    pub(super) fn early(&mut self, overtakes: u32) -> &mut Self {
        self.steps.last_mut().unwrap().overtakes = overtakes;
        self
    }

    pub(super) fn ends(self, fault: Fault, sentence: &str, ends: &[(u64, &str)]) -> Counterexample {
        let ends = ends.iter().map(|&(pc, doing)| HartEnd {
            pc: Hex(pc),
            place: self.name(pc),
            arrived: doing == "arrived",
            astray: doing == "went where nothing is",
            doing: doing.to_owned(),
        });
        let addresses = self.steps.iter().filter_map(|step| match step.action {
            BootAction::Read { value, .. } | BootAction::Wrote { value, .. } => Some(value),
            _ => None,
        });
        // What lies below the first symbol, or far above the last, is no address.
        let named = |value: &Hex| value.0 >= self.symbols[0].0 && value.0 < 0x9000_0000;
        let values: BTreeMap<u64, String> =
            addresses.filter(named).map(|value| (value.0, self.name(value.0))).collect();
        Counterexample {
            values: values.into_iter().map(|(value, name)| NamedValue { value: Hex(value), name }).collect(),
            fault,
            sentence: sentence.to_owned(),
            garbage: self.garbage.clone(),
            ends: ends.collect(),
            repeats_from: None,
            reordered: self.steps.iter().any(|step| step.overtakes > 0),
            steps: self.steps,
        }
    }

    fn address(&self, word: &str) -> u64 {
        let (symbol, distance) = word.split_once('+').unwrap_or((word, "0"));
        let distance: u64 = distance.parse().unwrap();
        self.symbols.iter().find(|(_, name)| *name == symbol).unwrap().0 + distance
    }

    fn name(&self, address: u64) -> String {
        let (start, name) = self.symbols.iter().rev().find(|(start, _)| *start <= address).unwrap();
        if address == *start { (*name).to_owned() } else { format!("{name}+{}", address - start) }
    }
}

/// A word of 8 bytes that holds this at first.
fn planted(address: u64, name: &str, value: u64) -> Planted {
    Planted { address: Hex(address), name: name.to_owned(), bytes: 8, value: Hex(value) }
}

/// Symbols of all of them.
const ALL: [(u64, &str); 11] = [
    (0x8000_0000, "_start"),
    (0x8000_0018, "primary"),
    (0x8000_0028, "clear"),
    (0x8000_0044, "cleared"),
    (0x8000_004c, "all_arrived"),
    (0x8000_004e, "started"),
    (0x8000_0060, "arrived"),
    (0x8000_006e, "start_all"),
    (0x8000_00a8, "secondary"),
    (0x8000_1000, "start_argument"),
    (0x8000_1040, "start_stack"),
];
/// Those of `one_flag.elf`.
const ONE_FLAG: [(u64, &str); 6] = [
    (0x8000_00d4, "start_hart"),
    (0x8000_0100, "tell"),
    (0x8000_0108, "harts"),
    (0x8000_0110, "boot_hart"),
    (0x8000_1048, "wake_flag"),
    (0x8000_1080, "stacks"),
];
/// Those of `two_flags.elf` and `wake_kept.elf`; the flag lies elsewhere.
const TWO_FLAGS: [(u64, &str); 7] = [
    (0x8000_00f0, "start_hart"),
    (0x8000_0124, "tell"),
    (0x8000_0138, "harts"),
    (0x8000_0140, "boot_hart"),
    (0x8000_1048, "boot_flag"),
    (0x8000_1080, "stacks"),
    (0x8000_1880, "wake_flag"),
];

fn asks(script: &mut Script, hart: u32) {
    script.read(hart, (0x8000_000c, "start.S:42", "ld t0,0(t0)"), "boot_hart");
}

/// The boot hart clears .bss and comes to `start_all`, where it pushes registers.
fn clears(script: &mut Script) {
    asks(script, 0);
    for word in 0..10 {
        let word = format!("start_argument+{}", 8 * word);
        script.write(0, (0x8000_003c, "start.S:55", "sd zero,0(t0)"), &word, 0);
    }
    script.event(".bss is clear");
    for (pc, instruction, slot, value) in [
        (0x8000_0070, "sd s2,0(sp)", 224, 0),
        (0x8000_0072, "sd ra,24(sp)", 248, 0x8000_004c),
        (0x8000_0074, "sd s0,16(sp)", 240, 0),
        (0x8000_0076, "sd s1,8(sp)", 232, 0),
    ] {
        script.write(0, (pc, "start.c:22", instruction), &format!("stacks+{slot}"), value);
    }
    script.read(0, (0x8000_007c, "start.c:7", "ld s2,144(s2)"), "harts");
}

/// The hang of `one_flag` with two harts: the flag holds 1 by chance.
pub(super) fn garbage_starts_a_hart() -> Counterexample {
    let mut script = Script::of(&ONE_FLAG)
        .file("boot_hart", 0)
        .file("harts", 2)
        .garbage("start_argument+8", 0x5eed_0000_0000_0001)
        .garbage("start_stack", 0x5eed_0000_0000_0002)
        .garbage("wake_flag", 1);
    let it = &mut script;
    asks(it, 1);
    it.read(1, (0x8000_00b0, "one_flag.S:9", "ld t0,0(t0)"), "wake_flag")
        .read(1, (0x8000_00c0, "one_flag.S:12", "ld sp,0(t0)"), "start_stack")
        .write(1, (0x8000_00cc, "one_flag.S:14", "sd zero,0(t0)"), "wake_flag", 0)
        .event("hart 1 starts")
        .read(1, (0x8000_005c, "start.S:80", "ld a1,0(t0)"), "start_argument+8")
        .event("hart 1 has arrived");
    clears(it);
    it.write(0, (0x8000_00e6, "one_flag.c:10", "sd a3,0(a4)"), "start_argument+8", 0x101)
        .write(0, (0x8000_00fe, "one_flag.c:11", "sd a5,0(a4)"), "start_stack", 0x8000_1280)
        .write(0, (0x8000_0100, "one_flag.c:13", "sd a0,8(a4)"), "wake_flag", 1)
        .event("hart 1 is told");
    script.ends(
        Fault::Dead,
        "Hart 0 waits for ever for wake_flag to change from 1, and no hart is left that would write it",
        &[(0x8000_0102, "reads wake_flag, which holds 1, for ever"), (0x8000_0060, "arrived")],
    )
}

/// The hang of `wake_kept` with three harts: the late hart 2 wipes out what hart 1 answered.
pub(super) fn an_answer_is_wiped_out() -> Counterexample {
    let mut script = Script::of(&TWO_FLAGS).file("boot_hart", 0).file("harts", 3);
    let it = &mut script;
    clears(it);
    it.write(0, (0x8000_0102, "two_flags.c:15", "sd a3,0(a4)"), "start_argument+8", 0x101);
    it.write(0, (0x8000_011a, "two_flags.c:16", "sd a5,0(a4)"), "start_stack", 0x8000_1280);
    asks(it, 1);
    it.write(1, (0x8000_00b2, "two_flags.S:10", "sd t1,0(t0)"), "wake_flag", u64::MAX)
        .write(1, (0x8000_00be, "two_flags.S:12", "sd zero,0(t0)"), "boot_flag", 0)
        .write(0, (0x8000_0120, "two_flags.c:17", "sd zero,8(a4)"), "boot_flag", 0)
        .write(0, (0x8000_012c, "two_flags.c:21", "sd a0,0(a3)"), "wake_flag", 1)
        .event("hart 1 is told")
        .read(1, (0x8000_00ca, "two_flags.S:14", "ld t1,0(t0)"), "wake_flag")
        .read(1, (0x8000_00da, "two_flags.S:17", "ld sp,0(t0)"), "start_stack")
        .write(1, (0x8000_00e8, "two_flags.S:20", "sd t1,0(t0)"), "boot_flag", 1)
        .event("hart 1 starts");
    asks(it, 2);
    it.write(2, (0x8000_00b2, "two_flags.S:10", "sd t1,0(t0)"), "wake_flag", u64::MAX)
        .write(2, (0x8000_00be, "two_flags.S:12", "sd zero,0(t0)"), "boot_flag", 0)
        .read(1, (0x8000_005c, "start.S:80", "ld a1,0(t0)"), "start_argument+8")
        .event("hart 1 has arrived");
    script.ends(
        Fault::Dead,
        "Hart 0 waits for ever for boot_flag to change from 0, and no hart is left that would write it",
        &[
            (0x8000_012c, "writes wake_flag = 1 and reads boot_flag, which holds 0, for ever"),
            (0x8000_0060, "arrived"),
            (0x8000_00ca, "reads wake_flag, which holds 1, for ever"),
        ],
    )
}

/// RVWMO lets the boot hart's flag come before the stack pointer that it speaks of.
pub(super) fn the_flag_comes_before_the_stack() -> Counterexample {
    let mut script = Script::of(&TWO_FLAGS).file("boot_hart", 0).file("harts", 2);
    let it = &mut script;
    clears(it);
    asks(it, 1);
    it.write(1, (0x8000_00b2, "two_flags.S:10", "sd t1,0(t0)"), "wake_flag", u64::MAX)
        .write(0, (0x8000_012c, "two_flags.c:21", "sd a0,0(a3)"), "wake_flag", 1)
        .early(3)
        .event("hart 1 is told")
        .read(1, (0x8000_00ca, "two_flags.S:14", "ld t1,0(t0)"), "wake_flag")
        .early(1)
        .read(1, (0x8000_00da, "two_flags.S:17", "ld sp,0(t0)"), "start_stack")
        .early(1)
        .write(1, (0x8000_00be, "two_flags.S:12", "sd zero,0(t0)"), "boot_flag", 0)
        .event("hart 1 starts")
        .write(0, (0x8000_0102, "two_flags.c:15", "sd a3,0(a4)"), "start_argument+8", 0x101)
        .read(1, (0x8000_005c, "start.S:80", "ld a1,0(t0)"), "start_argument+8")
        .early(1)
        .event("hart 1 has arrived");
    script.ends(
        Fault::Stale,
        "Hart 1 arrives with sp = 0, and it should be stacks+512",
        &[(0x8000_011a, "has something to do"), (0x8000_0060, "arrived")],
    )
}

pub(super) fn machine(harts: u32, boot_hart: u32, memory: Model) -> BootMachine {
    let word = |address, name, value: u32| planted(address, name, value.into());
    let set = vec![word(0x8000_0138, "harts", harts), word(0x8000_0140, "boot_hart", boot_hart)];
    BootMachine { harts, boot_hart: Some(boot_hart), memory, window: 8, set, controls: Vec::new() }
}

pub(super) fn check(file: &str, machine: BootMachine, verdict: BootVerdict) -> BootCheck {
    let states = 40 * u64::from(machine.harts).pow(4) + u64::from(machine.boot_hart.unwrap_or(0));
    let effort = Effort { states, transitions: 2 * states, bytes: 64 * states, seconds: states as f64 / 1e5 };
    let goals = vec![Hex(0x8000_0060), Hex(0x8000_00b8)];
    BootCheck { file: file.to_owned(), sha256: None, machine, goals, verdict, retries: Vec::new(), effort }
}

pub(super) fn faulty(faults: &[Counterexample]) -> BootVerdict {
    BootVerdict::Faulty { faults: faults.to_vec(), whole: true, remarks: Vec::new() }
}

pub(super) fn sound(window_full: bool) -> BootVerdict {
    BootVerdict::Sound { window_full, partly: false, held: Vec::new(), remarks: vec![lost()] }
}

pub(super) fn lost() -> Counterexample {
    let mut script = Script::of(&TWO_FLAGS).file("boot_hart", 0);
    asks(&mut script, 1);
    script.write(1, (0x8000_00be, "two_flags.S:12", "sd zero,0(t0)"), "boot_flag", 2);
    script.ends(Fault::LostStore, "Hart 1 writes boot_flag = 2, which is still to be cleared", &[])
}

/// Three files on machines of two to four harts, every boot hart, every memory.
pub(super) fn sweep() -> Boot {
    let mut checks = Vec::new();
    for file in ["firmware/build/one_flag.elf", "firmware/build/wake_kept.elf", "firmware/build/change.elf"] {
        for harts in 2..=4 {
            for boot in 0..harts {
                for memory in [Model::Sc, Model::Tso, Model::Rvwmo] {
                    let verdict = match (file, harts, boot, memory) {
                        ("firmware/build/one_flag.elf", _, 0, _) => faulty(&[garbage_starts_a_hart()]),
                        ("firmware/build/one_flag.elf", ..) => {
                            let mut early = garbage_starts_a_hart();
                            early.fault = Fault::StartedEarly;
                            early.sentence = "Hart 0 starts before it is told".to_owned();
                            early.steps.truncate(5);
                            early.ends.clear();
                            faulty(&[garbage_starts_a_hart(), early])
                        }
                        ("firmware/build/wake_kept.elf", 2, _, Model::Rvwmo) => {
                            faulty(&[the_flag_comes_before_the_stack()])
                        }
                        ("firmware/build/wake_kept.elf", 2, ..) => sound(memory == Model::Tso),
                        ("firmware/build/wake_kept.elf", _, _, Model::Rvwmo) => {
                            faulty(&[an_answer_is_wiped_out(), the_flag_comes_before_the_stack()])
                        }
                        ("firmware/build/wake_kept.elf", ..) => faulty(&[an_answer_is_wiped_out()]),
                        (_, 4, _, Model::Rvwmo) => BootVerdict::Refused {
                            why: "4.0 GiB reached at 31000000 states; fewer harts (4 → 3) would need less"
                                .to_owned(),
                        },
                        _ => BootVerdict::Sound {
                            window_full: memory != Model::Sc,
                            partly: false,
                            held: Vec::new(),
                            remarks: Vec::new(),
                        },
                    };
                    checks.push(check(file, machine(harts, boot, memory), verdict));
                }
            }
        }
    }
    Boot { schema: Boot::SCHEMA.to_owned(), checks }
}

/// A livelock of so many steps on so many harts, with every kind of step and hostile names.
pub(super) fn long(harts: u32, steps: usize) -> Counterexample {
    let symbols = [
        (0x1000, "<wait>"),
        (0x2000, "a_symbol_with_a_name_that_is_much_longer_than_any_column_would_like"),
        (0x3000, "flag"),
        (0x3004, "next\u{1b}[31m"),
    ];
    let mut script = Script::new(&symbols).garbage("flag", 0xffff_fffe).garbage("<wait>", 7);
    let at = |index: usize| {
        let source = if index.is_multiple_of(3) { "" } else { "own&.S:7" };
        (0x1000 + 4 * (index as u64 % 8), source, "amoswap.d.aqrl a0,a1,(a2)")
    };
    for index in 0..steps {
        let hart = (index * 7 % harts as usize) as u32;
        match index % 7 {
            0 => script.read(hart, at(index), "flag"),
            1 => script.write(hart, at(index), symbols[1].1, index as u64),
            2 => script.swap(hart, at(index), "flag", u64::from(hart)),
            3 => script.read(hart, at(index), "<wait>").early(2),
            4 => script.step(hart, at(index), BootAction::Failed),
            5 => script.step(hart, at(index), BootAction::Woke { called: index.is_multiple_of(2) }),
            _ => script.step(hart, at(index), BootAction::Failed).event("hart is <told>").event("\u{202e}x"),
        };
    }
    let ends: Vec<(u64, &str)> =
        (0..harts).map(|hart| (0x1000, if hart == 2 { "arrived" } else { "sleeps" })).collect();
    let mut example = script.ends(Fault::Livelock, "All step & none <arrives>", &ends);
    example.repeats_from = Some(steps / 2);
    example
}
