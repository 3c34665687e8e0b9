//! Boots as a user sees them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use proptest::prelude::*;

use super::picture::drawn;
use super::specimen::*;
use super::*;
use crate::answer::{BootAction, BootStep, Counterexample, Fault, HartEnd, Hex, NamedValue, Planted, Writer};
use crate::axiomatic::Model;

fn one(check: BootCheck) -> Boot {
    Boot { schema: Boot::SCHEMA.to_owned(), checks: vec![check] }
}

fn one_flag() -> BootCheck {
    check("one_flag.elf", machine(2, 0, Model::Sc), faulty(&[garbage_starts_a_hart()]))
}

fn wake_kept() -> BootCheck {
    check("wake_kept.elf", machine(3, 0, Model::Sc), faulty(&[an_answer_is_wiped_out()]))
}

fn stale() -> BootCheck {
    check("wake_kept.elf", machine(2, 0, Model::Rvwmo), faulty(&[the_flag_comes_before_the_stack()]))
}

/// The text, which must fit.
fn fits(boots: &Boot, width: usize) -> String {
    let text = boot(boots, width);
    for line in text.lines() {
        let wide = line.chars().count();
        assert!(wide <= width, "{wide} of {width} columns: {line}");
        assert_eq!(line.trim_end(), line);
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
    text
}

#[test]
fn a_hang_is_told_step_by_step() {
    for (name, check) in [("one_flag", one_flag()), ("wake_kept", wake_kept()), ("stale", stale())] {
        for width in [80, 120] {
            insta::assert_snapshot!(format!("{name}_{width}"), fits(&one(check.clone()), width));
        }
    }
}

#[test]
fn what_is_sound_and_what_was_refused_is_a_sentence() {
    let why = "4.0 GiB reached at 31000000 states; fewer harts (4 → 3) would need less".to_owned();
    let mut text = String::new();
    for verdict in [sound(false), sound(true), BootVerdict::Refused { why }] {
        let mut check = check("change.elf", machine(4, 1, Model::Rvwmo), verdict);
        check.machine.set.push(Planted { address: Hex(64), name: "speed".into(), bytes: 4, value: Hex(9) });
        writeln!(text, "{}", fits(&one(check), 80)).unwrap();
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_sweep_is_a_table_and_each_fault_once() {
    let boots = sweep();
    insta::assert_snapshot!("sweep_120", fits(&boots, 120));
    let text = fits(&boots, 80);
    insta::assert_snapshot!("sweep_table_80", text.split("\n\n").next().unwrap());
    // Each kind of fault of each file has one run, the shortest.
    let runs = text
        .lines()
        .filter(|line| line.contains("for ever  where") || line.contains("then    where"))
        .count();
    let shortest = text.matches("The shortest").count();
    assert_eq!((shortest, runs), (4, 3), "one of the four runs has no ends:\n{text}");
}

/// Found by chance: all columns at their narrowest were wider than the narrowest terminal.
#[test]
fn the_widest_table_fits_the_narrowest_terminal() {
    let mut checks = Vec::new();
    for boot in [0, 2, 4, 6] {
        let mut verdict = sound(false);
        if boot > 0 {
            verdict = faulty(&[an_answer_is_wiped_out(), the_flag_comes_before_the_stack()]);
        }
        let mut check = check("a_file_with_a_long_name.elf", machine(8, boot, Model::Rvwmo), verdict);
        check.effort.states = u64::MAX;
        check.effort.seconds = 1e9;
        checks.push(check);
    }
    fits(&Boot { schema: String::new(), checks }, 60);
}

#[test]
fn the_run_with_the_fewest_steps_is_shown() {
    let mut long = an_answer_is_wiped_out();
    long.sentence = "The long one".into();
    let mut short = long.clone();
    short.sentence = "The short one".into();
    short.steps.truncate(5);
    let mut checks = Vec::new();
    for (boot, run) in [(0, long.clone()), (1, short), (2, long)] {
        checks.push(check("a.elf", machine(3, boot, Model::Sc), faulty(&[run])));
    }
    let text = fits(&Boot { schema: String::new(), checks }, 100);
    assert!(text.contains("The short one.") && !text.contains("The long one"), "{text}");
    assert!(
        text.contains("on all 3 machines. The shortest run has 5 steps, with 3 harts, boot hart 1"),
        "{text}"
    );
}

#[test]
fn what_was_not_looked_at_is_said() {
    let whole = one_flag();
    let mut part = whole.clone();
    let BootVerdict::Faulty { whole: is_whole, .. } = &mut part.verdict else { unreachable!() };
    *is_whole = false;
    let (all, some) = (fits(&one(whole.clone()), 80), fits(&one(part.clone()), 80));
    assert!(!all.contains("limit") && some.contains("A limit was reached: there may be more."), "{some}");
    let both = fits(&Boot { schema: String::new(), checks: vec![whole, part] }, 100);
    assert!(both.contains(" dead ") && both.contains(" dead, and maybe more"), "{both}");
}

#[test]
fn a_row_is_for_all_boot_harts_of_which_the_same_is_true() {
    // For each boot hart, whether it hangs; then the row's boot harts, and how they are said of the run.
    let cases: [(&[bool], &str, &str); 5] = [
        (&[true, true, true], "any", "on all 3 machines"),
        (&[false, true, true], "1, 2", "on 2 of 3 machines (3 harts, any boot hart but 0: sc)"),
        (&[true, false, true], "0, 2", "on 2 of 3 machines (3 harts, any boot hart but 1: sc)"),
        (&[false, true, false], "1", "on 1 of 3 machines (3 harts, boot hart 1: sc)"),
        (&[true, false, true, true, false], "0, 2, 3", "on 3 of 5 machines (5 harts, boot hart 0, 2, 3: sc)"),
    ];
    for (hangs, boots, words) in cases {
        let harts = hangs.len() as u32;
        let verdict = |hangs: bool| if hangs { faulty(&[garbage_starts_a_hart()]) } else { sound(false) };
        let checks = (0..harts)
            .zip(hangs)
            .map(|(boot, &hangs)| check("a.elf", machine(harts, boot, Model::Sc), verdict(hangs)))
            .collect();
        let text = fits(&Boot { schema: String::new(), checks }, 100);
        let row = format!("{harts}  {boots:>9}  sc      dead ");
        assert!(text.contains(&row), "{row}\n{text}");
        assert!(text.contains(words), "{words}\n{text}");
    }
    let mut lottery = one_flag();
    lottery.machine.boot_hart = None;
    let text = fits(&Boot { schema: String::new(), checks: vec![lottery.clone(), lottery] }, 100);
    assert!(text.contains("2          –  sc      dead "), "{text}");
}

#[test]
fn a_file_is_called_by_its_folder_only_where_it_must() {
    let named = |files: &[&str]| {
        let checks = files.iter().map(|file| check(file, machine(2, 0, Model::Sc), sound(false))).collect();
        fits(&Boot { schema: String::new(), checks }, 100)
    };
    let text = named(&["a/one.elf", "a/two.elf"]);
    assert!(text.contains("\n  one.elf  ") && text.contains("\n  two.elf  "), "{text}");
    let text = named(&["a/one.elf", "b/one.elf"]);
    assert!(text.contains("\n  a/one.elf  ") && text.contains("\n  b/one.elf  "), "{text}");
}

#[test]
fn values_are_read_as_one_means_them() {
    let names = ValueNames::of(&an_answer_is_wiped_out());
    let table = [
        (0, 8, "0"),
        (4095, 8, "4095"),
        (4096, 8, "0x1000"),
        (u64::MAX, 8, "-1"),
        (0xffff_ffff, 4, "-1"),
        (0xffff_ffff, 8, "0xffffffff"),
        (0xff, 1, "255"),
        (0xffff, 2, "-1"),
        (u64::MAX - 4095, 8, "0xfffffffffffff000"),
        (0x8000_1880, 8, "wake_flag"),
        (0x8000_1018, 8, "start_argument+24"),
        // Far behind a name there may be another that the run does not know.
        (0x8000_1800, 8, "0x80001800"),
        // ...unless the run names the value.
        (0x8000_1280, 8, "stacks+512"),
        (0x9000_0000, 8, "0x90000000"),
        (i64::MIN as u64, 8, "0x8000000000000000"),
    ];
    for (value, bytes, words) in table {
        assert_eq!(names.value(Hex(value), bytes), words, "{value:#x} in {bytes} bytes");
    }
}

/// The text of a picture's elements in order, if it is well formed. An own reader: what a browser forgives is
/// not forgiven here.
fn texts(svg: &str) -> Result<Vec<String>, String> {
    let mut open: Vec<&str> = Vec::new();
    let mut texts = Vec::new();
    let mut rest = svg;
    while let Some(start) = rest.find('<') {
        let text = &rest[..start];
        let plain = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"]
            .iter()
            .fold(text.to_owned(), |t, it| t.replace(it, ""));
        if plain.contains(['&', '>']) || text.chars().any(|it| it.is_control() && it != '\n') {
            return Err(format!("not escaped: {text:?}"));
        }
        if matches!(open.last(), Some(&("text" | "title" | "desc"))) && !text.trim().is_empty() {
            texts.push(format!("{} {text}", open.last().unwrap()));
        }
        let end = rest.find('>').ok_or("a tag has no end")?;
        let tag = &rest[start + 1..end];
        if tag.contains(['<', '&']) || !tag.matches('"').count().is_multiple_of(2) {
            return Err(format!("no tag: {tag}"));
        }
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if let Some(ended) = tag.strip_prefix('/') {
            if open.pop() != Some(ended) {
                return Err(format!("</{ended}> ends nothing"));
            }
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        if name == "script" || tag.contains(" on") || tag.contains("href") {
            return Err(format!("active: {tag}"));
        }
        rest = &rest[end + 1..];
    }
    if open.is_empty() && !texts.is_empty() { Ok(texts) } else { Err(format!("open: {open:?}")) }
}

#[test]
fn what_is_no_picture_is_noticed() {
    for wrong in [
        "<svg><text>a<b</text></svg>",
        "<svg><text>a & b</text></svg>",
        "<svg><text>a > b</text></svg>",
        "<svg><text>\u{1b}</text></svg>",
        "<svg><text>a</svg></text>",
        "<svg><text>a</text>",
        "<svg><text class=\"a>a</text></svg>",
        "<svg><script/><text>a</text></svg>",
        "<svg><text onclick=\"a\">a</text></svg>",
    ] {
        assert!(texts(wrong).is_err(), "{wrong}");
    }
    assert_eq!(texts("<svg><text x=\"1\">a &lt; b</text></svg>").unwrap(), ["text a &lt; b"]);
}

#[test]
fn a_picture_says_in_order_what_happens() {
    for (name, check) in [("one_flag", one_flag()), ("wake_kept", wake_kept()), ("stale", stale())] {
        let picture = drawn(&check, &check.verdict.faults()[0]);
        insta::assert_snapshot!(format!("picture_of_{name}"), texts(&picture).unwrap().join("\n"));
    }
    assert!(drawn(&stale(), &stale().verdict.faults()[0]).contains("@media (prefers-color-scheme:dark)"));
}

#[test]
fn names_out_of_a_file_stay_names() {
    let hostile = check("<x>&\"'.elf", machine(8, 3, Model::Rvwmo), faulty(&[long(8, 200)]));
    let picture = drawn(&hostile, &hostile.verdict.faults()[0]);
    let texts = texts(&picture).unwrap();
    assert!(texts.iter().any(|text| text == "text &lt;wait&gt;"), "{texts:?}");
    assert!(!picture.contains('\u{1b}') && !picture.contains('\u{202e}'));
    assert!(picture.contains("from here on, again and again"));
    let text = fits(&one(hostile), 80);
    assert!(!text.contains('\u{202e}') && text.contains("↻ 100"), "{text}");
}

#[test]
fn a_run_without_steps_is_told_and_drawn() {
    let mut empty = garbage_starts_a_hart();
    empty.steps.clear();
    empty.garbage.clear();
    let check = check("a.elf", machine(2, 0, Model::Sc), faulty(&[empty.clone()]));
    assert!(fits(&one(check.clone()), 80).contains("This run reads no garbage"));
    assert!(texts(&drawn(&check, &empty)).is_ok());
    empty.ends.clear();
    assert!(texts(&drawn(&check, &empty)).is_ok());
    assert_eq!(boot(&Boot { schema: String::new(), checks: Vec::new() }, 80), "");
}

fn numbers(svg: &str, attribute: &str) -> Vec<i64> {
    svg.split(&format!(" {attribute}=\""))
        .skip(1)
        .filter_map(|rest| rest.split('"').next()?.parse().ok())
        .collect()
}

/// Where every text begins and ends, as far as a typeface of one width lets one say.
fn extents(svg: &str) -> Vec<(i64, i64)> {
    let texts = svg.split("<text ").skip(1).map(|rest| rest.split("</text>").next().unwrap());
    texts
        .map(|text| {
            let (tag, words) = text.split_once('>').unwrap();
            let size = if tag.contains("\"title\"") { 15 } else { 11 };
            let plain = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"]
                .iter()
                .fold(words.to_owned(), |t, it| t.replace(it, "x"));
            let long = plain.chars().count() as i64 * size * 6 / 10;
            let x = numbers(&format!(" {tag}"), "x")[0];
            match tag {
                tag if tag.contains("\"middle\"") => (x - long / 2, x + long / 2),
                tag if tag.contains("\"end\"") => (x - long, x),
                _ => (x, x + long),
            }
        })
        .collect()
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z_]{1,12}(\\+[0-9]{1,3})?",
        Just("<x>&'\"".to_owned()),
        Just("\u{1b}[2J\u{0}\u{202e}".to_owned()),
        "[a-z]{90}",
        ".{0,20}",
        Just(String::new()),
    ]
}

fn step(index: usize) -> impl Strategy<Value = BootStep> {
    let word = (0..6u64, any::<bool>(), name());
    let value = prop_oneof![0..4u64, Just(u64::MAX), any::<u64>()];
    let from = prop_oneof![
        Just(Writer::File),
        Just(Writer::Garbage),
        Just(Writer::Forwarded),
        (0..index.max(1)).prop_map(Writer::Step)
    ];
    let action = (0..6u8, word, value, from).prop_map(|(kind, (word, half, name), value, from)| {
        let (address, bytes) = (Hex(0x8000 + 8 * word), if half { 4 } else { 8 });
        let value = Hex(value);
        match kind {
            0 | 1 => BootAction::Read { address, name, bytes, value, from },
            2 => BootAction::Wrote { address, name, bytes, value },
            3 => {
                let read = half.then_some(value);
                BootAction::Swapped { address, name, bytes, read, value, from }
            }
            4 => BootAction::Failed,
            _ => BootAction::Woke { called: half },
        }
    });
    let events = prop::collection::vec(name(), 0..3);
    let rest = (name(), prop::option::of(name()), name(), prop_oneof![4 => Just(0u32), 1 => 1..9u32]);
    (0..8u32, action, events, rest).prop_map(
        |(hart, action, events, (place, source, instruction, overtakes))| BootStep {
            hart,
            pc: Hex(0x1000),
            place,
            source,
            instruction,
            action,
            overtakes,
            events,
        },
    )
}

fn run() -> impl Strategy<Value = Counterexample> {
    let steps = (0..200usize).prop_flat_map(|count| (0..count).map(step).collect::<Vec<_>>());
    let ends = prop::collection::vec((name(), any::<bool>(), name()), 0..9);
    let planted = prop::collection::vec((any::<u64>(), name(), any::<u64>()), 0..4);
    let fault = prop_oneof![Just(Fault::Dead), Just(Fault::Livelock), Just(Fault::Stale)];
    (steps, ends, planted, fault, name(), 0..200usize).prop_map(
        |(steps, ends, planted, fault, sentence, repeats)| {
            let end =
                |(place, arrived, doing)| HartEnd { pc: Hex(0x1000), place, arrived, doing, astray: false };
            let word =
                |(address, name, value)| Planted { address: Hex(address), name, bytes: 8, value: Hex(value) };
            Counterexample {
                values: vec![NamedValue { value: Hex(2), name: "\u{1b}a_name+7".to_owned() }],
                fault,
                sentence,
                garbage: planted.into_iter().map(word).collect(),
                repeats_from: (repeats < steps.len()).then_some(repeats),
                ends: ends.into_iter().map(end).collect(),
                reordered: steps.iter().any(|step| step.overtakes > 0),
                steps,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn any_run_fits_the_terminal_and_its_page(run in run(), width in 60..200usize, file in name()) {
        let check = check(&file, machine(8, 2, Model::Rvwmo), faulty(std::slice::from_ref(&run)));
        fits(&one(check.clone()), width);
        fits(&Boot { schema: String::new(), checks: vec![check.clone(), stale(), check.clone()] }, width);
        let picture = drawn(&check, &run);
        prop_assert_eq!(&picture, &drawn(&check, &run));
        let texts = texts(&picture);
        prop_assert!(texts.is_ok(), "{:?}", texts);
        let (width, height) = (numbers(&picture, "width")[0], numbers(&picture, "height")[0]);
        for (from, to) in extents(&picture) {
            prop_assert!(from >= 0 && to <= width, "a text from {from} to {to} of {width}");
        }
        for (attribute, most) in [("x", width), ("x1", width), ("x2", width), ("cx", width), ("y", height), ("y1", height), ("y2", height), ("cy", height)] {
            for number in numbers(&picture, attribute) {
                prop_assert!((0..=most).contains(&number), "{attribute} is {number} of {most}");
            }
        }
    }

    #[test]
    fn nothing_that_matters_is_hidden(run in run()) {
        let words = memory::words(&run);
        let mut next = 0;
        let mut hidden = BTreeSet::new();
        for group in memory::groups(&run, &words) {
            prop_assert_eq!(group.start, next);
            prop_assert!(!group.is_empty());
            next = group.end;
            if group.len() > 1 {
                hidden.extend(group);
            }
        }
        prop_assert_eq!(next, run.steps.len());
        for (index, step) in run.steps.iter().enumerate().filter(|(index, _)| hidden.contains(index)) {
            prop_assert!(step.events.is_empty() && step.overtakes == 0);
            let access = step.action.access().unwrap();
            prop_assert!(!matches!(access.read, Some((_, Writer::Garbage))));
            let others = run.steps.iter().filter(|other| other.hart != step.hart);
            for other in others.filter_map(|other| other.action.access()) {
                let apart = other.address + u64::from(other.bytes) <= access.address
                    || access.address + u64::from(access.bytes) <= other.address;
                prop_assert!(apart || (other.written.is_none() && access.written.is_none()), "step {index}");
            }
        }
    }
}
