//! A run as a sequence diagram.
//!
//! Every hart has a line, every word through which harts can meet has a band, and time goes down. A band
//! shows what its word holds and who put it there, in that hart's colour: so one sees a value that is lost,
//! and a value that nobody wrote. What no other hart can see is one bar.

use std::ops::Range;

use super::grid::{shown, wrapped};
use super::memory::{AccessedWord, groups, word_of, words};
use super::steps::{done, numbers, older, place, unseen};
use super::svg::{Anchor, Canvas, characters, text_width};
use super::words::{ValueNames, hangs, machine, sentence};
use crate::answer::{Boot, BootAction, BootCheck, BootStep, Counterexample, HartEnd, Writer};
use tenbin_model::words::comma;

const ROW: i64 = 28;
/// How much more a step needs that is performed early: it is written below its arrow.
const EARLY: i64 = 10;
const EVENT: i64 = 26;
const LINE: i64 = 15;
/// The least room on either side of a hart's line.
const HALF: i64 = 62;
const HEAD: i64 = 34;
/// After so much a long band says again what its word holds.
const AGAIN: i64 = 20 * ROW;
/// Longer names are cut, and in full where one points at them.
const LONGEST: usize = 26;

/// The first run that goes wrong as an SVG file, for a light and a dark background. The same run gives the
/// same bytes.
pub fn picture(answer: &Boot) -> Option<String> {
    let worst = answer.checks.iter().find_map(|check| Some((check, check.verdict.faults().first()?)));
    worst.map(|(check, run)| drawn(check, run))
}

pub(super) fn drawn(check: &BootCheck, example: &Counterexample) -> String {
    let words = words(example);
    let names = ValueNames::of(example);
    let groups = groups(example, &words);
    let plan = Plan::of(check, example, &words, &names, &groups);
    let file = shown(&check.file);
    let title = format!("{file} with {}: {}", machine(&check.machine), example.fault.name());
    let mut drawing = Drawing { example, words: &words, names, plan, canvas: Canvas::default(), y: 0 };
    drawing.heading(&title);
    drawing.columns(&groups);
    let (width, height) = (drawing.plan.width, drawing.y + 16);
    drawing.canvas.finished(width, height, &title, &description(example))
}

/// The run in words, for whoever cannot see it.
fn description(example: &Counterexample) -> String {
    let names = ValueNames::of(example);
    let mut text = format!("{} ", sentence(example));
    for planted in &example.garbage {
        text.push_str(&format!("{} by chance. ", names.planted(planted)));
    }
    for (index, step) in example.steps.iter().enumerate() {
        text.push_str(&format!("{} ", step_sentence(index, step, &names)));
    }
    for (hart, end) in example.ends.iter().enumerate() {
        text.push_str(&format!("Hart {hart} {}. ", shown(&end.doing)));
    }
    text.trim_end().to_owned()
}

fn step_sentence(index: usize, step: &BootStep, names: &ValueNames) -> String {
    let place =
        if step.source.is_some() { format!("{}, {}", place(step), shown(&step.place)) } else { place(step) };
    let mut text = format!(
        "Step {index}: hart {} at {place}, {}, {}",
        step.hart,
        shown(&step.instruction),
        done(&step.action, names)
    );
    if step.overtakes > 0 {
        text.push_str(&format!(", before {}", older(step.overtakes)));
    }
    for event in &step.events {
        text.push_str(&format!("; {}", shown(event)));
    }
    text + "."
}

struct Plan {
    harts: Vec<Lane>,
    /// The middle of every word that has a band, by the number of the word.
    bands: Vec<Option<i64>>,
    half_bands: Vec<i64>,
    numbers: i64,
    width: i64,
}

#[derive(Clone, Copy)]
struct Lane {
    line: i64,
    left: i64,
    right: i64,
    /// To which side memory is: 1 or -1.
    side: i64,
}

impl Lane {
    /// The end of a text beside the line that is at the line.
    fn anchor(self) -> Anchor {
        if self.side > 0 { Anchor::Start } else { Anchor::End }
    }
}

impl Plan {
    /// The boot hart to the left, then memory, then the other harts: most arrows then cross few lines.
    fn of(
        check: &BootCheck,
        example: &Counterexample,
        words: &[AccessedWord],
        names: &ValueNames,
        groups: &[Range<usize>],
    ) -> Self {
        let most = example.steps.iter().map(|step| step.hart as usize + 1).max().unwrap_or(0);
        let count = most.max(check.machine.harts as usize).max(example.ends.len());
        // The room that a hart needs on the side where memory is, and on the other.
        let mut rooms = vec![(HALF, HALF); count];
        for group in groups {
            let step = &example.steps[group.start];
            let shown = if group.len() == 1 { label(step, words, names) } else { bar(group.len()) };
            let (inner, outer) = &mut rooms[step.hart as usize];
            let early = if step.overtakes > 0 { early(step).chars().count() } else { 0 };
            *inner = (*inner).max(text_width(shown.chars().count().max(early)) + 24);
            for event in &step.events {
                let half = text_width(event.chars().count()) / 2 + 16;
                *inner = (*inner).max(half);
                *outer = (*outer).max(half);
            }
        }
        let number = groups.iter().map(|group| numbers(group).chars().count()).max().unwrap_or(0);
        let numbers = 20 + text_width(number);
        let places = groups.iter().map(|group| mark(group, example).chars().count()).max().unwrap_or(0);
        let mut plan = Self {
            harts: vec![Lane { line: 0, left: 0, right: 0, side: 1 }; count],
            bands: vec![None; words.len()],
            half_bands: words.iter().map(|word| half_band(word, example, names)).collect(),
            numbers,
            width: 0,
        };
        let first = check.machine.boot_hart.map_or(0, |hart| hart as usize);
        let mut x = numbers + 10 + text_width(places) + 10;
        if let Some(&(inner, outer)) = rooms.get(first) {
            plan.harts[first] = Lane { line: x + outer, left: x, right: x + outer + inner, side: 1 };
            x += outer + inner;
        }
        for (index, _) in words.iter().enumerate().filter(|(_, word)| word.matters) {
            plan.bands[index] = Some(x + 8 + plan.half_bands[index]);
            x += 2 * plan.half_bands[index] + 16;
        }
        for (other, &(inner, outer)) in rooms.iter().enumerate().filter(|&(other, _)| other != first) {
            plan.harts[other] = Lane { line: x + inner, left: x, right: x + inner + outer, side: -1 };
            x += inner + outer;
        }
        plan.width = (x + 12).max(640);
        plan
    }
}

/// Half of the width of a band: its name and all of its values fit.
fn half_band(word: &AccessedWord, example: &Counterexample, names: &ValueNames) -> i64 {
    let accesses = example.steps.iter().filter_map(|step| step.action.access());
    let values = accesses.filter(|access| word.bytes.contains(&access.address)).flat_map(|access| {
        let read = access.read.map(|(value, _)| value);
        [read, access.written].into_iter().flatten().map(move |value| names.value(value, access.bytes))
    });
    let texts = values.chain([shown(&word.name), "the file".to_owned()]);
    text_width(texts.map(|text| cut(&text).chars().count()).max().unwrap_or(0)) / 2 + 8
}

struct Held {
    from: i64,
    value: String,
    writer: Writer,
    hart: Option<u32>,
}

struct Drawing<'a> {
    example: &'a Counterexample,
    words: &'a [AccessedWord],
    names: ValueNames,
    plan: Plan,
    canvas: Canvas,
    y: i64,
}

impl Drawing<'_> {
    /// What is shown, and what must be so at first.
    fn heading(&mut self, title: &str) {
        let room = self.plan.width - 32;
        self.y = 28;
        for line in wrapped(title, (characters(room) * 11 / 15).max(20)) {
            self.canvas.text(16, self.y, "title", Anchor::Start, &line);
            self.y += 20;
        }
        let mut texts = vec![("", sentence(self.example))];
        if !self.example.garbage.is_empty() {
            let garbage: Vec<String> = self.example.garbage.iter().map(|it| self.names.planted(it)).collect();
            texts.push(("garbage", format!("Garbage: {}.", comma(&garbage))));
        }
        let mut legend =
            "A band is a word: what it holds, in the colour of the hart that wrote it.".to_owned();
        if self.example.steps.iter().any(|step| step.overtakes > 0) {
            legend.push_str(" Dashed: performed before an older instruction of the same hart.");
        }
        texts.push(("faint", legend));
        for (class, text) in texts {
            for line in wrapped(&text, characters(room).max(20)) {
                self.canvas.text(16, self.y, class, Anchor::Start, &line);
                self.y += LINE;
            }
        }
        self.y += 6;
    }

    /// Heads, steps and ends. Lines and bands lie below the steps, so their lengths must be known before: the
    /// steps are drawn on a sheet of their own.
    fn columns(&mut self, groups: &[Range<usize>]) {
        let top = self.y;
        self.y += HEAD + 8;
        let under = std::mem::take(&mut self.canvas);
        let mut held = self.at_first();
        let mut bands = Vec::new();
        let mut rows = Vec::new();
        // What memory holds at first is written above the first step.
        if held.iter().any(Option::is_some) {
            self.y += 2 * LINE + 2;
        }
        let mut again = None;
        for group in groups {
            if self.example.repeats_from == Some(group.start) {
                again = Some(self.y);
                self.y += EVENT;
            }
            rows.push(self.y);
            self.group(group, &mut held, &mut bands);
        }
        self.y += 10;
        let bottom = self.y;
        for (word, held) in held.into_iter().enumerate() {
            bands.extend(held.map(|held| (word, held, bottom)));
        }
        self.ends();
        let steps = std::mem::replace(&mut self.canvas, under);
        for row in rows {
            self.canvas.line((16, row), (self.plan.width - 16, row), "row");
        }
        self.lines(top, bottom);
        for (word, held, to) in bands {
            self.band(word, &held, to);
        }
        if let Some(from) = again {
            self.canvas.block((12, from), self.plan.width - 24, bottom - from, "again grey");
            self.canvas.repeat(26, from + 14, "grey");
            let text = "from here on, again and again";
            self.canvas.text(40, from + 18, "faint", Anchor::Start, text);
        }
        self.heads(top);
        self.canvas.append(steps);
    }

    /// What the words hold before the first step, as far as somebody reads it then.
    fn at_first(&self) -> Vec<Option<Held>> {
        let first = |word: &AccessedWord| {
            let accesses = self.example.steps.iter().filter_map(|step| step.action.access());
            let access = accesses.into_iter().find(|access| word.bytes.contains(&access.address))?;
            let (value, writer) = access.read?;
            let value = self.names.value(value, access.bytes);
            let initial = matches!(writer, Writer::File | Writer::Garbage);
            initial.then_some(Held { from: self.y, value, writer, hart: None })
        };
        self.words.iter().map(|word| if word.matters { first(word) } else { None }).collect()
    }

    /// One step, or several that nobody else sees.
    fn group(
        &mut self,
        group: &Range<usize>,
        held: &mut [Option<Held>],
        bands: &mut Vec<(usize, Held, i64)>,
    ) {
        let step = &self.example.steps[group.start];
        let is_one = group.len() == 1;
        let middle = self.y + ROW / 2 + 2;
        let lane = self.plan.harts[step.hart as usize];
        let colour = colour(step.hart as usize);
        self.canvas.open(&if is_one {
            step_sentence(group.start, step, &self.names)
        } else {
            let unseen = unseen(group, self.example, &self.names);
            format!("Steps {} to {}: hart {}: {unseen}", group.start, group.end - 1, step.hart)
        });
        self.canvas.text(self.plan.numbers, middle + 4, "faint", Anchor::End, &numbers(group));
        self.canvas.text(self.plan.numbers + 10, middle + 4, "", Anchor::Start, &mark(group, self.example));
        if is_one {
            self.access(step, middle, held, bands);
            self.y += if step.overtakes > 0 { ROW + EARLY } else { ROW };
            for event in &step.events {
                self.event(lane.line, &colour, event);
            }
        } else {
            self.canvas.line((lane.line, middle - 8), (lane.line, middle + 8), &format!("{colour} quiet"));
            let x = lane.line + lane.side * 10;
            self.canvas.text(x, middle + 4, "faint", lane.anchor(), &bar(group.len()));
            self.y += ROW;
        }
        self.canvas.close();
    }

    /// The arrow of a step, and what it does to a band.
    fn access(
        &mut self,
        step: &BootStep,
        y: i64,
        held: &mut [Option<Held>],
        bands: &mut Vec<(usize, Held, i64)>,
    ) {
        let lane = self.plan.harts[step.hart as usize];
        let Lane { line: x, side, .. } = lane;
        let colour = colour(step.hart as usize);
        let access = step.action.access();
        let word = access.and_then(|access| word_of(self.words, &access));
        let band = word.and_then(|word| self.plan.bands[word].map(|middle| (word, middle)));
        let dashed = if step.overtakes > 0 { format!("{colour} dashed") } else { colour.clone() };
        if let (Some(access), Some((word, middle))) = (access, band) {
            let edge = middle - side * self.plan.half_bands[word];
            let own = matches!(access.read, Some((_, Writer::Forwarded)));
            match (access.read, access.written) {
                (_, Some(value)) => {
                    self.canvas.arrow(y, x, edge, &dashed);
                    let value = self.names.value(value, access.bytes);
                    // The hart is not known from a step's number alone if the step is not shown.
                    let now = Held { from: y - 10, value, writer: Writer::Step(0), hart: Some(step.hart) };
                    if let Some(before) = held[word].replace(now) {
                        bands.push((word, before, y - 10));
                    }
                }
                // Its own store has not come to memory yet, so no band has it.
                (Some(_), None) if own => self.canvas.arrow(y, x + side * 30, x, &dashed),
                (Some((value, writer)), None) => {
                    self.canvas.arrow(y, edge, x + side * 4, &dashed);
                    if held[word].is_none() {
                        let value = self.names.value(value, access.bytes);
                        held[word] = Some(Held { from: y - 10, value, writer, hart: None });
                    }
                }
                (None, None) => {}
            }
        }
        self.canvas.dot(x, y, &colour);
        let label = label(step, self.words, &self.names);
        let garbage = matches!(access.and_then(|access| access.read), Some((_, Writer::Garbage)));
        let class = if garbage { "garbage" } else { "" };
        self.canvas.text(x + side * 9, y - 5, class, lane.anchor(), &label);
        if step.overtakes > 0 {
            self.canvas.text(x + side * 9, y + 13, "early", lane.anchor(), &early(step));
        }
    }

    /// What a step means, as a box on the hart's line.
    fn event(&mut self, x: i64, colour: &str, event: &str) {
        let text = shown(event);
        let width = text_width(text.chars().count()) + 16;
        self.canvas.block((x - width / 2, self.y + 1), width, EVENT - 6, &format!("{colour} event"));
        self.canvas.text(x, self.y + 15, "inside", Anchor::Middle, &text);
        self.y += EVENT;
    }

    /// The lines of harts, and of words that hold what is not known.
    fn lines(&mut self, top: i64, bottom: i64) {
        for (hart, Lane { line: x, .. }) in self.plan.harts.iter().enumerate() {
            self.canvas.line((*x, top + HEAD - 6), (*x, bottom + 6), &format!("{} life", colour(hart)));
        }
        for x in self.plan.bands.iter().flatten() {
            self.canvas.line((*x, top + HEAD - 6), (*x, bottom), "grey life dashed");
        }
    }

    fn band(&mut self, word: usize, held: &Held, to: i64) {
        let Some(middle) = self.plan.bands[word] else { return };
        let half = self.plan.half_bands[word];
        let (class, whose) = match (held.hart, held.writer) {
            (Some(hart), _) => (colour(hart as usize), None),
            (None, Writer::Garbage) => ("garbage".to_owned(), Some("garbage")),
            (None, _) => ("grey".to_owned(), Some("the file")),
        };
        self.canvas.block((middle - half, held.from), 2 * half, to - held.from, "paper");
        self.canvas.block((middle - half, held.from), 2 * half, to - held.from, &format!("{class} band"));
        let text = if whose == Some("garbage") { "inside garbage" } else { "inside" };
        self.canvas.text(middle, held.from + 14, text, Anchor::Middle, &cut(&held.value));
        // Who looks at the end of a long band has not seen its beginning.
        for again in (held.from + AGAIN..to - LINE).step_by(AGAIN as usize) {
            self.canvas.text(middle, again, text, Anchor::Middle, &cut(&held.value));
        }
        if let Some(whose) = whose.filter(|_| to - held.from >= 2 * LINE + 2) {
            self.canvas.text(middle, held.from + 14 + LINE, text, Anchor::Middle, whose);
        }
    }

    fn heads(&mut self, y: i64) {
        for (hart, &Lane { line: x, .. }) in self.plan.harts.iter().enumerate() {
            let name = format!("hart {hart}");
            let width = text_width(name.len()) + 20;
            self.canvas.block((x - width / 2, y), width, HEAD - 10, &format!("{} solid", colour(hart)));
            self.canvas.text(x, y + 16, "head", Anchor::Middle, &name);
        }
        for (word, middle) in self.words.iter().zip(&self.plan.bands) {
            let Some(middle) = middle else { continue };
            let name = shown(&word.name);
            self.canvas.open(&format!("{name} at {:#x}", word.bytes.start));
            self.canvas.text(*middle, y + 16, "", Anchor::Middle, &cut(&name));
            self.canvas.close();
        }
    }

    fn ends(&mut self) {
        let hang = hangs(self.example.fault);
        self.y += 8;
        let mut lowest = self.y;
        for (hart, end) in self.example.ends.iter().enumerate() {
            let Some(&Lane { left, right, .. }) = self.plan.harts.get(hart) else { continue };
            let x = (left + right) / 2;
            let lines = end_lines(end, characters(right - left - 30));
            let height = 22 + LINE * i64::try_from(lines.len()).unwrap_or(0);
            let colour = colour(hart);
            self.canvas.open(&format!("Hart {hart} at {}: {}", shown(&end.place), shown(&end.doing)));
            self.canvas.block((left + 4, self.y), right - left - 8, height, &format!("{colour} end"));
            match (end.arrived, hang) {
                (true, _) => self.canvas.tick(x, self.y + 12, &colour),
                (false, true) => self.canvas.repeat(x, self.y + 13, &colour),
                (false, false) => self.canvas.dot(x, self.y + 12, &colour),
            }
            for (line, y) in lines.iter().zip((self.y + 32..).step_by(LINE as usize)) {
                self.canvas.text(x, y, "inside", Anchor::Middle, line);
            }
            self.canvas.close();
            lowest = lowest.max(self.y + height);
        }
        self.y = lowest;
    }
}

/// The class of a hart's colour. There are eight; a machine with more has them again.
fn colour(hart: usize) -> String {
    format!("h{}", hart % 8)
}

fn early(step: &BootStep) -> String {
    format!("before {} older", step.overtakes)
}

/// Where a hart is and what it does there, in lines.
fn end_lines(end: &HartEnd, room: usize) -> Vec<String> {
    let mut lines = wrapped(&shown(&end.doing), room);
    if !end.arrived {
        lines.extend(wrapped(&format!("at {}", shown(&end.place)), room));
    }
    lines
}

fn mark(group: &Range<usize>, example: &Counterexample) -> String {
    cut(&place(&example.steps[group.start]))
}

/// What stands at a hart's line: a value, and the name of a word that has no band.
fn label(step: &BootStep, words: &[AccessedWord], names: &ValueNames) -> String {
    let value = |value, bytes| cut(&names.value(value, bytes));
    let access = step.action.access();
    let banded = access.and_then(|access| word_of(words, &access)).is_some_and(|word| words[word].matters);
    let name =
        access.filter(|_| !banded).map_or_else(String::new, |it| format!("{} = ", cut(&shown(it.name))));
    match &step.action {
        BootAction::Read { bytes, value: read, from, .. } => {
            let own = if matches!(from, Writer::Forwarded) { ", its own" } else { "" };
            format!("reads {name}{}{own}", value(*read, *bytes))
        }
        BootAction::Wrote { bytes, value: written, .. }
        | BootAction::Swapped { bytes, read: None, value: written, .. } => {
            format!("writes {name}{}", value(*written, *bytes))
        }
        BootAction::Swapped { bytes, read: Some(read), value: written, .. } => {
            format!("swaps {name}{} for {}", value(*read, *bytes), value(*written, *bytes))
        }
        BootAction::Failed => "fails to store".to_owned(),
        BootAction::Woke { .. } => "wakes".to_owned(),
    }
}

/// What stands beside the bar of steps that no other hart sees.
fn bar(count: usize) -> String {
    format!("{count} that no other hart sees")
}

fn cut(name: &str) -> String {
    match name.char_indices().nth(LONGEST - 1) {
        Some((end, _)) if name.chars().count() > LONGEST => format!("{}…", &name[..end]),
        _ => name.to_owned(),
    }
}
