//! What is asked, by the words of the command line and the symbols of a file, and how it is told what was
//! found.

use crate::answer::{Boot, BootAction, BootVerdict, Counterexample, Effort, Fault, Hex, Planted, Writer};
use crate::axiomatic::Model;
use crate::check::{Doing, End, Expectation, Finding, Landmarks, Milestone, Refused, Report, Step, Trace};
use crate::examine::{answer, counterexample};
use crate::image::{FetchError, Image, Segment, Symbol, SymbolKind};
use crate::isa::{Decoded, Instruction, Register, Width};
use crate::pool::MEANS;
use crate::request::{Models, Request};
use crate::sentence::Story;
use crate::symbols::Firmware;
use crate::view::unexamined;
use tenbin_model::lines::Lines;

/// Hart 0 sets `flag`; hart 1 waits for it. `fixtures/isa/image/README.md` says how it was made.
const TWO_HARTS: &[u8] = include_bytes!("../../../fixtures/isa/image/two_harts-dwarf5.elf");

/// What these options of the command line ask.
fn asked(words: &[&str]) -> Request {
    fn each<T: std::str::FromStr<Err = String>>(list: &str) -> Vec<T> {
        list.split(',').map(|one| one.parse().expect("it is right")).collect()
    }
    let memory = Models(vec![Model::Sc, Model::Tso, Model::Rvwmo]);
    let mut request = Request { memory, window: 8, ..Request::default() };
    for word in words {
        let (name, value) = word.split_once('=').expect("it is an option with a value");
        let right = "the words are right";
        match name {
            "--harts" => request.harts = Some(value.parse().expect(right)),
            "--boot-hart" => request.boot_hart = Some(value.parse().expect(right)),
            "--memory" => request.memory = value.parse().expect(right),
            "--window" => request.window = value.parse().expect(right),
            "--set" => request.set.push(value.parse().expect(right)),
            "--ram" => request.ram.push(value.parse().expect(right)),
            "--arrived" => request.arrived = each(value),
            "--all-arrived" => request.all_arrived = each(value),
            "--primary" => request.primary = Some(value.parse().expect(right)),
            "--started" => request.started = Some(value.parse().expect(right)),
            "--tell" => request.tell = each(value),
            "--tell-all" => request.tell_all = each(value),
            "--cleared" => request.cleared = Some(value.parse().expect(right)),
            "--bss" => request.bss = Some(value.parse().expect(right)),
            "--expect" => request.expect.push(value.parse().expect(right)),
            other => panic!("{other}"),
        }
    }
    request
}

/// An image with code at 0x1000, words that the file holds at 0x2000, and words that it does not hold at
/// 0x3000.
fn image(symbols: &[(&str, u64, u64, SymbolKind)]) -> Image {
    let segment = |address, bytes: usize, size, executable: bool| Segment {
        address,
        bytes: vec![0; bytes],
        size,
        writable: !executable,
        executable,
    };
    let symbols = symbols.iter().map(|&(name, address, size, kind)| Symbol {
        name: name.to_owned(),
        address,
        size,
        kind,
    });
    Image {
        entry: 0x1000,
        segments: vec![
            segment(0x1000, 0x100, 0x100, true),
            segment(0x2000, 0x20, 0x20, false),
            segment(0x3000, 0, 0x100, false),
        ],
        symbols: symbols.collect(),
    }
}

/// All that is looked for by itself.
const USUAL: &[(&str, u64, u64, SymbolKind)] = &[
    ("argument", 0x100, 0, SymbolKind::Absolute),
    ("stack_size", 0x20, 0, SymbolKind::Absolute),
    ("primary", 0x1004, 0, SymbolKind::Label),
    ("cleared", 0x1008, 0, SymbolKind::Label),
    ("tell", 0x100c, 0, SymbolKind::Label),
    ("started", 0x1010, 0, SymbolKind::Label),
    ("all_arrived", 0x1014, 0, SymbolKind::Label),
    ("arrived", 0x1018, 0, SymbolKind::Label),
    ("arrived", 0x101c, 0, SymbolKind::Label),
    ("harts", 0x2000, 8, SymbolKind::Object),
    ("boot_hart", 0x2008, 4, SymbolKind::Object),
    ("small", 0x200c, 1, SymbolKind::Object),
    ("bss_start", 0x3000, 0, SymbolKind::Label),
    ("flag", 0x3000, 8, SymbolKind::Object),
    ("bss_end", 0x3010, 0, SymbolKind::Label),
    ("stacks", 0x3040, 0x80, SymbolKind::Object),
];

fn firmware(image: Image, words: &[&str]) -> Result<Firmware, String> {
    Firmware::of("x.elf", image, Lines::default(), &asked(words))
}

fn usual(words: &[&str]) -> Result<Firmware, String> {
    firmware(image(USUAL), words)
}

/// The usual image without some of its symbols.
fn without(names: &[&str], words: &[&str]) -> Result<Firmware, String> {
    let left = USUAL.iter().filter(|(name, ..)| !names.contains(name)).copied().collect::<Vec<_>>();
    firmware(image(&left), words)
}

fn register(name: &str) -> Register {
    Register::named(name).expect("it is a register")
}

#[test]
fn symbols_say_what_places_mean() {
    let firmware = usual(&[]).expect("it has all symbols");
    let landmarks = Landmarks {
        arrived: vec![0x1018, 0x101c],
        all_arrived: vec![0x1014],
        primary: Some(0x1004),
        started: Some(0x1010),
        tell: vec![0x100c],
        tell_all: vec![],
        cleared: Some(0x1008),
        to_clear: Some((0x3000, 0x3010)),
    };
    assert_eq!(firmware.landmarks, landmarks);
    let sp = Expectation { register: Register::SP, base: 0x3060, step: 0x20 };
    let a1 = Expectation { register: register("a1"), base: 0x100, step: 1 };
    assert_eq!(firmware.expected, [sp, a1]);

    // Options come before symbols, each for itself.
    let words = "--arrived=0x1020,tell+2 --primary=_start+0x0 --tell-all=0x1002 --bss=flag,flag+8 --expect=a1=7+hart*-1+flag";
    let mut named = USUAL.to_vec();
    named.push(("_start", 0x1000, 0, SymbolKind::Label));
    let firmware = firmware_of(&named, words).expect("all of it is there");
    let changed = Landmarks {
        arrived: vec![0x1020, 0x100e],
        primary: Some(0x1000),
        tell_all: vec![0x1002],
        to_clear: Some((0x3000, 0x3008)),
        ..landmarks
    };
    assert_eq!(firmware.landmarks, changed);
    let a1 = Expectation { register: register("a1"), base: 0x3007, step: u64::MAX };
    assert_eq!(firmware.expected, [a1, sp]);
    assert_eq!(usual(&["--expect=none"]).map(|it| it.expected), Ok(vec![]));
    assert_eq!(
        usual(&["--expect=none", "--expect=sp=1", "--expect=sp=0x3060+0x20*hart"]).map(|it| it.expected),
        Ok(vec![sp])
    );
}

fn firmware_of(symbols: &[(&str, u64, u64, SymbolKind)], words: &str) -> Result<Firmware, String> {
    firmware(image(symbols), &words.split(' ').collect::<Vec<_>>())
}

/// A C variable may be called as a place is.
#[test]
fn a_variable_is_no_place_in_the_code() {
    let places = ["primary", "cleared", "tell", "tell_all", "started", "all_arrived", "arrived"]
        .map(|name| (name, 0x3020));
    let variables = places.map(|(name, address)| (name, address, 8, SymbolKind::Object));
    let constant = ("arrived", 0x10f0, 8, SymbolKind::Object);
    let both = [USUAL, &variables, &[constant]].concat();
    assert_eq!(firmware_of(&both, "--window=8").map(|it| it.landmarks), usual(&[]).map(|it| it.landmarks));
    let refused = firmware_of(&variables, "--window=8").err().unwrap_or_default();
    assert!(refused.contains("no symbol `arrived` in its code"), "{refused}");
    let mut one = vec![("arrived", 0x1018, 0, SymbolKind::Label)];
    one.extend(variables);
    let landmarks = Landmarks { arrived: vec![0x1018], all_arrived: vec![0x1018], ..Landmarks::default() };
    assert_eq!(firmware_of(&one, "--window=8").map(|it| it.landmarks), Ok(landmarks));
}

#[test]
fn what_is_not_there_is_not_asked_about() {
    let bare = [("done", 0x1018, 0, SymbolKind::Label), ("stacks", 0x3040, 0, SymbolKind::Label)];
    let firmware = firmware_of(&bare, "--arrived=done").expect("one place is enough");
    let landmarks = Landmarks { arrived: vec![0x1018], all_arrived: vec![0x1018], ..Landmarks::default() };
    assert_eq!((firmware.landmarks, firmware.expected), (landmarks, vec![]));
    // A start is too early only where somebody is told.
    assert_eq!(without(&["tell"], &[]).map(|it| it.landmarks.started), Ok(None));
    assert_eq!(without(&["tell"], &["--tell-all=0x1000"]).map(|it| it.landmarks.started), Ok(Some(0x1010)));
    // A store is lost only where it is known who clears memory, and when.
    for unknown in ["primary", "cleared"] {
        assert_eq!(without(&[unknown], &[]).map(|it| it.landmarks.to_clear), Ok(None), "{unknown}");
        let named = format!("--{unknown}=0x1000");
        let cleared = without(&[unknown], &[&named]).map(|it| it.landmarks.to_clear);
        assert_eq!(cleared, Ok(Some((0x3000, 0x3010))), "{unknown}");
    }

    let wrong = |left_out: &[&str], words: &[&str], expected: &str| {
        let error = without(left_out, words).err().unwrap_or_default();
        assert!(error.contains(expected), "{words:?}: {error}");
    };
    wrong(
        &["arrived"],
        &[],
        "no symbol `arrived` in its code: say where a hart has arrived with --arrived PLACE",
    );
    wrong(&["arrived"], &[], "its code has primary, cleared, tell, started, all_arrived");
    wrong(&[], &["--arrived=Arrived"], "it has no symbol `Arrived`");
    wrong(&[], &["--primary=flag"], "--primary: no code is at 0x3000");
    wrong(&[], &["--all-arrived=arrived,0"], "--all-arrived: no code is at 0x0");
    wrong(&["tell"], &["--started=started"], "--started needs to know where a hart is told");
    wrong(&[], &["--bss=bss_end,bss_start"], "begins at 0x3010 and ends before it, at 0x3000");
    wrong(
        &["primary"],
        &["--bss=flag,flag+8"],
        "--bss needs to know who clears memory, and where it is clear",
    );
    wrong(&["cleared"], &["--bss=flag,flag+8"], "it is clear: --primary and --cleared");
    wrong(&[], &["--expect=sp=top"], "it has no symbol `top`");
    let stripped = |words: &str| firmware_of(&[], words).err().unwrap_or_default();
    assert!(stripped("--window=8").contains("no symbols in its code; an address may be given"));
    assert!(stripped("--arrived=done").contains("it has no symbols (was it stripped?)"));
}

#[test]
fn machines_are_told_apart_by_words() {
    let machines = |firmware: &Firmware, words: &[&str]| {
        let jobs = firmware.jobs(&asked(words)).expect("there are machines");
        let machines = jobs.iter().map(|job| {
            let words = job.machine.set.iter().map(|word| format!(" {}={}", word.name, word.value));
            let boots = job.machine.boot_hart.map_or("any".to_owned(), |hart| hart.to_string());
            format!("{} {boots} {}{}", job.machine.harts, job.machine.memory, words.collect::<String>())
        });
        machines.collect::<Vec<_>>()
    };
    let file = usual(&[]).expect("it has all symbols");
    assert_eq!(machines(&file, &[]).len(), 2 * 3 + 3 * 3);
    assert_eq!(
        machines(&file, &["--harts=3,2", "--boot-hart=2,0", "--memory=sc"]),
        [
            "3 2 sc harts=0x3 boot_hart=0x2",
            "3 0 sc harts=0x3 boot_hart=0x0",
            "2 0 sc harts=0x2 boot_hart=0x0"
        ]
    );
    assert_eq!(
        machines(
            &file,
            &["--harts=2", "--boot-hart=any", "--memory=tso,sc", "--set=small=-1", "--set=harts=9"]
        ),
        ["2 any tso small=0xff harts=0x9", "2 any sc small=0xff harts=0x9"]
    );
    // What has no such word says itself who boots.
    assert_eq!(
        machines(&file, &["--harts=2", "--boot-hart=any", "--memory=sc", "--set=boot_hart=1"]),
        ["2 any sc harts=0x2 boot_hart=0x1"]
    );
    let lottery = without(&["boot_hart"], &[]).expect("it has all others");
    assert_eq!(machines(&lottery, &["--memory=sc"]), ["2 any sc harts=0x2", "3 any sc harts=0x3"]);
    // All that may boot in turn are any, where no word chooses.
    assert_eq!(
        machines(&lottery, &["--memory=sc", "--boot-hart=all"]),
        ["2 any sc harts=0x2", "3 any sc harts=0x3"]
    );
    let fixed = without(&["boot_hart", "harts"], &[]).expect("it has all others");
    assert_eq!(machines(&fixed, &["--memory=rvwmo", "--harts=4"]), ["4 any rvwmo"]);

    // Memory is what the words say.
    let words = ["--harts=3", "--boot-hart=1", "--memory=sc", "--set=0x2010:2=0x1234"];
    let image = file.jobs(&asked(&words)).expect("there is one")[0].image();
    let bytes = (0x2000..0x2014).map(|at| image.byte(at).expect("the file holds it")).collect::<Vec<_>>();
    assert_eq!(bytes, [3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x34, 0x12, 0, 0]);

    let wrong = |firmware: &Firmware, words: &[&str], expected: &str| {
        let error = firmware.jobs(&asked(words)).expect_err("it is wrong");
        assert!(error.starts_with("x.elf: ") && error.contains(expected), "{error}");
    };
    wrong(&fixed, &[], "say it with --harts N");
    wrong(&lottery, &["--boot-hart=0"], "it has no word `boot_hart` to set");
    wrong(
        &file,
        &["--harts=2,3", "--boot-hart=3"],
        "no machine that is asked about has a hart with that number",
    );
    for words in [&["--set=boot_hart=1"][..], &["--boot-hart=0", "--set=0x200b:1=1"]] {
        wrong(
            &file,
            words,
            ": --boot-hart already sets that word, to every hart in turn by default; say --boot-hart any",
        );
    }
    wrong(&file, &["--set=flag=1"], "`flag` cannot be set: the file holds nothing at 0x3000.");
    wrong(&file, &["--set=0x201c=1"], "the file holds nothing at 0x2020");
    wrong(&file, &["--set=small=256"], "0x100 does not fit into the 1 bytes of `small`");
    wrong(&file, &["--set=nothing=1"], "it has no symbol `nothing`");
}

/// What is called `harts` or `boot_hart` and is no word that can be set is not there.
#[test]
fn only_words_that_the_file_holds_make_a_machine() {
    let without_words = without(&["harts", "boot_hart"], &[]).expect("it has all others");
    let others = USUAL.iter().filter(|(name, ..)| !["harts", "boot_hart"].contains(name));
    let others = others.copied().collect::<Vec<_>>();
    let kinds = [
        (0x1020, 0x40, SymbolKind::Function),
        (0x1020, 0, SymbolKind::Label),
        // No bytes, not all bytes, no memory at all.
        (0x3020, 8, SymbolKind::Object),
        (0x201c, 8, SymbolKind::Object),
        (4, 0, SymbolKind::Absolute),
    ];
    let machines = |firmware: &Firmware, words: &[&str]| match firmware.jobs(&asked(words)) {
        Ok(jobs) => jobs.into_iter().map(|job| format!("{:?}", job.machine)).collect::<Vec<_>>(),
        Err(wrong) => vec![wrong],
    };
    for (address, size, kind) in kinds {
        let mut symbols = others.clone();
        symbols.extend(["harts", "boot_hart"].map(|name| (name, address, size, kind)));
        let firmware = firmware_of(&symbols, "--window=8").expect("it has all others");
        for words in [&[][..], &["--harts=2"], &["--harts=2", "--boot-hart=0"]] {
            assert_eq!(machines(&firmware, words), machines(&without_words, words), "{kind:?} {words:?}");
        }
        // A word of the same name is found behind it.
        symbols.push(("harts", 0x2018, 4, SymbolKind::Label));
        let firmware = firmware_of(&symbols, "--window=8").expect("it has all others");
        let job = &firmware.jobs(&asked(&["--memory=sc"])).expect("it says how many")[0];
        let set = job.machine.set.iter().map(|word| (word.address.0, word.bytes, word.value.0));
        assert_eq!(set.collect::<Vec<_>>(), [(0x2018, 4, 2)], "{kind:?}");
    }
}

#[test]
fn memory_that_the_file_does_not_name_is_asked_for() {
    let read = |image: Image, words: &[&str]| Firmware::of("x.elf", image, Lines::default(), &asked(words));
    let file = read(image(USUAL), &["--ram=0x2ff8,0x3200", "--ram=boot_hart,0x2028"]).expect("it is right");
    let is_memory =
        |at| file.image.segment(at).is_some_and(|segment| segment.writable && !segment.executable);
    let places = [0x2007, 0x2020, 0x2027, 0x2028, 0x2ff7, 0x2ff8, 0x3000, 0x30ff, 0x3100, 0x31ff, 0x3200];
    assert_eq!(places.map(is_memory), [true, true, true, false, false, true, true, true, true, true, false]);
    // What the file holds, it still holds.
    assert_eq!((file.image.byte(0x2008), file.image.byte(0x2020)), (Some(0), None));
    let wrong = read(image(USUAL), &["--ram=0x3000,0x2000"]).expect_err("it is the wrong way round");
    assert_eq!(wrong, "--ram: the memory begins at 0x3000 and ends before it, at 0x2000");
    let astray = Image { entry: 0x2000, ..image(USUAL) };
    assert_eq!(read(astray, &[]).err().as_deref(), Some("no code is at its entry, 0x2000"));
}

fn two_harts(words: &[&str]) -> Firmware {
    let image = Image::read(TWO_HARTS).expect("it is an image");
    let words = [&["--arrived=done"], words].concat();
    Firmware::of("two_harts.elf", image, Lines::read(TWO_HARTS), &asked(&words)).expect("`done` is there")
}

const FLAG: u64 = 0x8000_1008;

/// What the hart does at `pc`.
fn step(hart: u32, pc: u64, action: BootAction, events: &[Milestone]) -> Step {
    let decoded = Image::read(TWO_HARTS).expect("it is an image").fetch(pc).expect("code is there");
    Step { hart, pc, decoded, action, overtakes: 0, events: events.to_vec() }
}

fn wrote(value: u64) -> Step {
    let action = BootAction::Wrote { address: Hex(FLAG), name: "flag".into(), bytes: 4, value: Hex(value) };
    step(0, 0x8000_0014, action, &[Milestone::Notified(1)])
}

/// A load from the flag.
fn reads(bytes: u32, value: u64, from: Writer) -> BootAction {
    BootAction::Read { address: Hex(FLAG), name: "flag".into(), bytes, value: Hex(value), from }
}

fn read(value: u64, from: Writer) -> Step {
    step(1, 0x8000_0018, reads(4, value, from), &[])
}

/// What comes to an event by what the hart reads.
fn came_by(hart: u32, event: Milestone) -> Step {
    Step { hart, events: vec![event], ..read(1, Writer::File) }
}

fn finding(fault: Fault, steps: Vec<Step>, ends: &[(u64, Doing)]) -> Finding {
    let garbage =
        vec![Planted { address: Hex(FLAG), name: "flag".into(), bytes: 4, value: Hex(u32::MAX.into()) }];
    let ends = ends.iter().map(|&(pc, doing)| End { pc, doing }).collect();
    Finding { fault, culprit: Some(1), trace: Trace { garbage, steps, repeats_from: None, ends } }
}

fn run_of(firmware: &Firmware, finding: &Finding) -> Counterexample {
    counterexample(&Story { names: firmware.names(), expected: &firmware.expected, finding })
}

#[test]
fn a_run_is_told_by_names() {
    let waits = Doing::Waits { address: FLAG, bytes: 4, value: 0, alone: false };
    let late = Step { overtakes: 2, ..read(0, Writer::Step(1)) };
    let steps = vec![read(0, Writer::Garbage), wrote(0), late, came_by(0, Milestone::Arrived)];
    let finding = finding(Fault::Dead, steps, &[(0x8000_0020, Doing::Arrived), (0x8000_001a, waits)]);
    let run = run_of(&two_harts(&[]), &finding);
    assert_eq!(run.fault, Fault::Dead);
    assert_eq!(
        run.sentence,
        "No run from here brings every hart to its goal: hart 1, at wait+2 (two_harts.s:16), reads flag, which \
         holds 0, for ever; hart 0 has arrived."
    );
    assert_eq!(
        (run.garbage[0].name.as_str(), run.garbage[0].value, run.garbage[0].bytes),
        ("flag", Hex(0xffff_ffff), 4)
    );
    let step = &run.steps[2];
    assert_eq!((step.place.as_str(), step.source.as_deref()), ("wait", Some("two_harts.s:15")));
    assert_eq!((step.instruction.as_str(), step.overtakes), ("lw a2,0(a1)", 2));
    assert_eq!(step.action, reads(4, 0, Writer::Step(1)));
    assert_eq!(run.steps[1].events, ["hart 1 is told"]);
    assert_eq!(run.steps[3].events, ["hart 0 has arrived"]);
    assert!(run.reordered && run.ends[0].arrived && !run.ends[1].arrived);
    assert_eq!(run.ends[1].doing, "reads flag, which holds 0, for ever");
}

#[test]
fn each_fault_has_a_sentence() {
    let waits = Doing::Waits { address: FLAG, bytes: 4, value: 0xffff_ffff, alone: false };
    let ends = [(0x8000_0024, Doing::Sleeps), (0x8000_0018, waits)];
    let firmware = two_harts(&["--expect=a2=flag+8*hart", "--expect=sp=0"]);
    // The load is of four bytes, so it does not say what a register of eight holds: the general sentence.
    let steps = || vec![wrote(1), read(1, Writer::Step(0))];
    // A load of a register that something is expected of.
    let loaded = |from| {
        let instruction = Instruction::Load {
            width: Width::Double,
            signed: true,
            rd: register("a2"),
            base: register("a1"),
            offset: 0,
        };
        let action = reads(8, 0x8000_100c, from);
        Step { decoded: Decoded { instruction, length: 4 }, ..step(1, 0x8000_0018, action, &[]) }
    };
    let cases = [
        (
            Fault::Livelock,
            steps(),
            "for ever without ever reaching their goals: hart 0, at done+4 (two_harts.s:20), sleeps in wfi; hart 1, at wait (two_harts.s:15), reads flag, which holds -1, for ever.",
        ),
        (
            Fault::StartedEarly,
            steps(),
            "Hart 1 starts before it is told to; it read flag = 1, which hart 0 stored at _start+20 (two_harts.s:12).",
        ),
        (
            Fault::StartedEarly,
            vec![read(7, Writer::Garbage)],
            "Hart 1 starts before it is told to; it read flag = 7, garbage that was there before.",
        ),
        (Fault::StartedEarly, vec![], "Hart 1 starts before it is told to."),
        (
            Fault::StartedTwice,
            vec![came_by(0, Milestone::Primary), came_by(1, Milestone::Primary)],
            "Hart 1 boots, and so does hart 0.",
        ),
        (Fault::StartedTwice, steps(), "Hart 1 starts a second time; it read flag = 1, which hart 0 stored"),
        (
            Fault::SharedStack,
            vec![came_by(0, Milestone::Arrived), came_by(1, Milestone::Arrived)],
            "Hart 1 arrives with the stack pointer of hart 0.",
        ),
        (Fault::SharedStack, steps(), "Hart 1 arrives with the stack pointer of another one."),
        (
            Fault::Stale,
            vec![loaded(Writer::File)],
            "Hart 1 arrives with a wrong a2: it read flag = after, as the file has it, and after+4 was meant for it.",
        ),
        (Fault::Stale, steps(), "Hart 1 arrives without what was meant for it: a2 = after+4, sp = 0."),
        (
            Fault::Astray,
            steps(),
            "Hart 1 goes astray from wait (two_harts.s:15): it accesses memory that neither the file nor --ram names, or an address that is not a multiple of the access size, on which a hart may trap.",
        ),
        (
            Fault::LostStore,
            vec![Step { hart: 1, ..wrote(0xffff_ffff) }],
            "Hart 1 stores to memory that is still to be cleared: flag = -1, at _start+20 (two_harts.s:12).",
        ),
    ];
    for (fault, steps, expected) in cases {
        let sentence = run_of(&firmware, &finding(fault, steps, &ends)).sentence;
        assert!(sentence.contains(expected), "{sentence}");
    }
    // Nobody waits for ever who only waits at the end of a run.
    let run = run_of(&firmware, &finding(Fault::StartedEarly, steps(), &ends));
    assert_eq!(run.ends[1].doing, "reads flag, which holds -1");
    // Nothing that a finding lacks is missed.
    for fault in [Fault::Dead, Fault::Stale, Fault::Astray, Fault::LostStore, Fault::SharedStack] {
        let bare = Finding { culprit: None, ..finding(fault, vec![], &[]) };
        assert!(run_of(&firmware, &bare).sentence.ends_with('.'), "{fault:?}");
    }
}

#[test]
fn verdicts_are_what_was_found() {
    let firmware = two_harts(&[]);
    let words = asked(&["--harts=3", "--memory=rvwmo"]);
    let job = &firmware.jobs(&words).expect("there is one")[0];
    let effort = Effort { states: 31, transitions: 40, bytes: 3 << 29, seconds: 0.0 };
    let report = |findings| {
        let (held, retries) = (vec![], vec![]);
        Ok(Report { findings, whole: false, partly: false, window_full: true, held, retries, effort })
    };
    let lost = || finding(Fault::LostStore, vec![], &[]);
    let verdict = |result| answer(job, (result, 0.5), &MEANS).verdict;
    match verdict(report(vec![lost()])) {
        BootVerdict::Sound { window_full: true, partly: false, remarks, .. } => {
            assert_eq!(remarks[0].fault, Fault::LostStore)
        }
        other => panic!("{other:?}"),
    }
    match verdict(report(vec![finding(Fault::Dead, vec![], &[]), lost()])) {
        BootVerdict::Faulty { faults, whole: false, remarks } => {
            assert_eq!((faults.len(), faults[0].fault, remarks.len()), (1, Fault::Dead, 1));
        }
        other => panic!("{other:?}"),
    }
    let less = "fewer harts (3 → 2), a smaller window (8 → 4) or a stronger memory model would need less";
    let cases = [
        (Refused::Memory(effort), format!("1.5 GiB reached at 31 states (--limit); {less}")),
        (Refused::Stopped(effort), format!("not finished in 600 s (--seconds), at 31 states; {less}")),
        (
            Refused::Fetch(FetchError::Undetermined(FLAG)),
            "nothing in the file determines the instruction at 0x80001008, in flag".to_owned(),
        ),
        (
            Refused::Overwritten { address: FLAG + 4 },
            "a store to 0x8000100c changes code, which is not supported, at after".to_owned(),
        ),
        (
            Refused::Unsupported { pc: 0x8000_0020, instruction: Instruction::Ecall },
            "at 0x80000020: `ecall` is not supported, in done (two_harts.s:19)".to_owned(),
        ),
    ];
    for (refused, expected) in cases {
        let check = answer(job, (Err(refused.clone()), 0.5), &MEANS);
        assert_eq!(check.verdict, BootVerdict::Refused { why: expected.clone() });
        let states = if matches!(refused, Refused::Memory(_) | Refused::Stopped(_)) { 31 } else { 0 };
        assert_eq!((check.effort.states, check.effort.seconds), (states, 0.5));
        let answer = Boot { schema: Boot::SCHEMA.into(), checks: vec![check] };
        assert_eq!(unexamined(&answer), Some(format!("two_harts.elf: refused: {expected}")));
    }
    // Under SC a window does not matter.
    let words = asked(&["--harts=2", "--memory=sc"]);
    let job = &firmware.jobs(&words).expect("there is one")[0];
    let BootVerdict::Refused { why } = answer(job, (Err(Refused::Stopped(effort)), 0.5), &MEANS).verdict
    else {
        panic!("it was stopped");
    };
    assert!(why.ends_with("a nearer goal (--arrived, --all-arrived) would need less"), "{why}");
    assert_eq!(job.machine.memory, Model::Sc);
}

/// What lets a hart go on is what a branch compares, and not what it loads behind that.
#[test]
fn the_read_that_decides_is_told() {
    let (address, name) = (Hex(0x8000_1000), "data".into());
    let later = BootAction::Read { address, name, bytes: 8, value: Hex(5), from: Writer::File };
    // No branch follows `lw` there: the code is that of `done`.
    let later = Step { pc: 0x8000_0020, ..step(1, 0x8000_0018, later, &[]) };
    let run =
        run_of(&two_harts(&[]), &finding(Fault::StartedEarly, vec![read(7, Writer::Garbage), later], &[]));
    assert!(run.sentence.contains("it read flag = 7, garbage"), "{}", run.sentence);
    // So a hart does not wait for what it is about to read once: `auipc` stands for a load that no branch
    // follows.
    let waits = Doing::Waits { address: FLAG, bytes: 4, value: 0, alone: false };
    let ends = [(0x8000_0004, waits), (0x8000_0018, waits)];
    let run = run_of(&two_harts(&[]), &finding(Fault::Dead, vec![], &ends));
    let doing = run.ends.iter().map(|end| end.doing.as_str()).collect::<Vec<_>>();
    assert_eq!(doing, ["is about to read flag, which holds 0", "reads flag, which holds 0, for ever"]);
}
