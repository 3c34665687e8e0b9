//! Random litmus tests, for properties that must hold for all of them: two words of memory, fences of all
//! kinds, acquire and release, atomic operations, reservations, and dependencies through addresses, data and
//! branches, both those that matter and those that are only written down.

use proptest::prelude::*;

use super::Test;

/// One step of a hart: an access or two, with what leads to it, and perhaps a fence behind it.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    kind: u8,
    /// Whether it goes to the second word.
    second: bool,
    /// `.aq`, `.rl`, both or none.
    mark: &'static str,
    fence: Option<&'static str>,
    value: u8,
}

const KINDS: u8 = 16;

/// What stands behind `fence`; nothing is `iorw,iorw`.
const FENCES: &[&str] = &[
    " rw,rw", " rw,w", " r,rw", " r,r", " w,w", " w,r", " r,w", " rw,r", " w,rw", ".tso", "", " ir,ow",
    " i,o",
];

/// What one hart does: at least one step and at most so many.
pub(crate) fn hart(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let mark = prop_oneof![9 => Just(""), 1 => Just(".aq"), 1 => Just(".rl"), 1 => Just(".aq.rl")];
    let fence = prop_oneof![4 => Just(None), 1 => prop::sample::select(FENCES).prop_map(Some)];
    // Plain accesses are what memory orders differ in most.
    let kind = prop_oneof![1 => 0..2_u8, 1 => 2..KINDS];
    let step = (kind, any::<bool>(), mark, fence, 1..3_u8)
        .prop_map(|(kind, second, mark, fence, value)| Step { kind, second, mark, fence, value });
    prop::collection::vec(step, 1..=most)
}

impl Step {
    fn accesses(&self) -> usize {
        match self.kind {
            5 => 2,
            12 => 3,
            _ => 1,
        }
    }

    /// Its lines, and whether its result is one that a later step may depend on.
    fn lines(&self, index: usize, source: &str) -> (Vec<String>, bool) {
        let Self { mark, value, .. } = self;
        let (at, other) = if self.second { ("x11", "x10") } else { ("x10", "x11") };
        let result = format!("x{}", 5 + index);
        let depend = format!("xor x20,{source},{source}\nadd x21,x20,{at}");
        // Where the value that was read says: the first word, or the second, which is `SPACING` bytes
        // further.
        let choose = format!("andi x20,{source},1\nslli x20,x20,8\nadd x21,x20,x10");
        let load = format!("li x22,{value}");
        let (lines, is_source) = match self.kind {
            0 => (format!("lw{mark} {result},0({at})"), true),
            1 => (format!("{load}\nsw{mark} x22,0({at})"), false),
            2 => (format!("{load}\namoswap.w{mark} {result},x22,({at})"), true),
            3 => (format!("{depend}\nlw {result},0(x21)"), true),
            4 => (format!("ori x23,{source},{value}\nsw x23,0({at})"), false),
            5 => (format!("lr.w{mark} x24,({at})\n{load}\nsc.w {result},x22,({at})"), true),
            6 => (format!("bne {source},x0,L{index}\nL{index}: {load}\nsw x22,0({at})"), false),
            7 => (format!("amoadd.w{mark} {result},x0,({at})"), true),
            8 => (format!("{depend}\n{load}\nsw x22,0(x21)"), false),
            9 => (format!("{choose}\nlw {result},0(x21)"), true),
            10 => (format!("{choose}\n{load}\nsw x22,0(x21)"), false),
            11 => {
                let store = format!("{load}\nsw{mark} x22,0({at})");
                (format!("bne {source},x0,L{index}\n{store}\nL{index}: li x25,0"), false)
            }
            12 => {
                let between =
                    if *value == 1 { format!("lw x26,0({at})") } else { format!("sw x22,0({other})") };
                (format!("{load}\nlr.w x24,({at})\n{between}\nsc.w{mark} {result},x22,({at})"), true)
            }
            13 => {
                let load = format!("lw{mark} {result},0({at})");
                (format!("beq {source},x0,L{index}\n{load}\nL{index}: li x25,0"), true)
            }
            14 => (format!("{choose}\namoor.w{mark} {result},{source},(x21)"), true),
            _ => {
                let xor = format!("xor x20,{source},{source}");
                (format!("{xor}\nori x23,x20,{value}\nsw{mark} x23,0({at})"), false)
            }
        };
        (lines.lines().map(str::to_owned).collect(), is_source)
    }
}

/// The lines of a hart, of its steps those that have at most so many accesses in all.
fn lines(steps: &[Step], most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut last, mut accesses) = ("x0".to_owned(), 0);
    for (index, step) in steps.iter().enumerate() {
        accesses += step.accesses();
        if accesses > most {
            break;
        }
        let (own, is_source) = step.lines(index, &last);
        lines.extend(own);
        lines.extend(step.fence.map(|sides| format!("fence{sides}")));
        if is_source {
            last = format!("x{}", 5 + index);
        }
    }
    lines
}

/// The text of a test of these harts, each of which makes at most so many accesses.
pub(crate) fn text(harts: &[Vec<Step>], most: usize) -> String {
    let harts: Vec<Vec<String>> = harts.iter().map(|steps| lines(steps, most)).collect();
    let mut text = "RISCV random\n{\n".to_owned();
    for hart in 0..harts.len() {
        text.push_str(&format!("{hart}:x10=x; {hart}:x11=y;\n"));
    }
    let names = (0..harts.len()).map(|hart| format!("P{hart}")).collect::<Vec<_>>();
    text.push_str(&format!("}}\n{} ;\n", names.join(" | ")));
    for row in 0..harts.iter().map(Vec::len).max().unwrap_or_default() {
        let cells = harts.iter().map(|lines| lines.get(row).map_or("", String::as_str)).collect::<Vec<_>>();
        text.push_str(&format!("{} ;\n", cells.join(" | ")));
    }
    let observed = |hart| [5, 6, 7, 8, 24, 26].map(|register| format!(" {hart}:x{register};")).concat();
    text.push_str(&format!("locations [x; y;{}]\n", (0..harts.len()).map(observed).collect::<String>()));
    text
}

/// A test of these harts, with its text.
pub(crate) fn test(harts: &[Vec<Step>], most: usize) -> Result<(String, Test), TestCaseError> {
    let text = text(harts, most);
    let test = Test::read(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
    Ok((text, test))
}
