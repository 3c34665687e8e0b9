//! Random programs of a few harts, and the text of the litmus test that each of them is.

use std::fmt::Write as _;

/// The only source of chance: SplitMix64, so that a seed means the same tests everywhere.
///
/// Source: G. Steele, D. Lea, C. Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn of<T: Copy>(&mut self, several: &[T]) -> T {
        several[self.below(several.len())]
    }
}

/// A location: bytes, and whether its type is a signed one. The last one may hold an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) bytes: u32,
    pub(crate) signed: bool,
    pub(crate) pointer: bool,
}

/// `.aq` and `.rl`, as they are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) aq: bool,
    pub(crate) rl: bool,
}

/// Where an access goes: to a location by a register that holds its address, after an addition of 0 perhaps
/// that was computed from a register, or to where a register says that was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Place(usize),
    Depends { place: usize, on: u8 },
    Through(u8),
}

pub(crate) const AMOS: &[&str] =
    &["amoswap", "amoadd", "amoxor", "amoand", "amoor", "amomin", "amomax", "amominu", "amomaxu"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Load { signed: bool },
    Store,
    Reserve,
    Conditional,
    Amo(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) kind: Kind,
    /// The register that takes what is read, or whether it succeeds; x0 for a store.
    pub(crate) rd: u8,
    /// The register that is stored; x0 for what only loads.
    pub(crate) source: u8,
    pub(crate) bytes: u32,
    pub(crate) target: Target,
    pub(crate) mark: Mark,
}

/// A line of a hart, or two that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Statement {
    Access(Access),
    // `li`
    Number { rd: u8, value: i64 },
    // `xor rd,from,from` and `ori rd,rd,value`: a number that depends on a register.
    Dependent { rd: u8, from: u8, value: i64 },
    // A copy: `addi rd,from,0`.
    Copy { rd: u8, from: u8 },
    // `beq` (or `bne`) of a register and x0 over so many of the lines that follow.
    Branch { equal: bool, register: u8, over: usize },
    // Sets of accesses, of the letters `iorw`; `None` is `fence.tso`.
    Fence(Option<(&'static str, &'static str)>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) places: Vec<Place>,
    pub(crate) harts: Vec<Vec<Statement>>,
}

/// Registers that hold the locations' addresses: this one and the following ones.
pub(crate) const ADDRESSES: u8 = 10;

/// What is computed on the way to an address, and a number to store.
const SCRATCH: u8 = 20;
const NUMBER: u8 = 22;

const FIRST_RESULT: u8 = 5;

const MOST_RESULTS: u8 = 5;

pub(crate) fn results() -> impl Iterator<Item = u8> {
    FIRST_RESULT..FIRST_RESULT + MOST_RESULTS
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Whole,
    /// Words of small numbers, and no unsigned minimum or maximum: what herd reads and prints as we do.
    Words,
}

const SETS: &[&str] = &["r", "w", "rw", "iorw", "ir", "ow", "i", "o"];

/// A random program. What it may have follows from its number of harts, so that all its executions can be
/// looked at.
pub(crate) fn random(chance: &mut Chance, scope: Scope) -> Program {
    let harts = chance.of(&[2, 2, 2, 3, 3, 4]);
    let accesses = [4, 3, 2][harts - 2];
    let mut places = Vec::new();
    // Chains on one location are a kind of their own.
    for _ in 0..chance.of(&[1, 2, 2, 2, 3]) {
        let bytes = if scope == Scope::Words { 4 } else { chance.of(&[4, 4, 4, 8, 8, 1, 2]) };
        let signed = scope == Scope::Words || chance.once_in(2);
        places.push(Place { bytes, signed, pointer: false });
    }
    // A pointer points to one of the first two, of which then each access must fit both.
    if scope == Scope::Whole && places.len() == 2 && chance.once_in(4) {
        places[1] = places[0];
        places.push(Place { bytes: 8, signed: true, pointer: true });
    }
    let chained = chance.once_in(6);
    let harts = (0..harts).map(|_| hart(chance, scope, &places, accesses, chained)).collect();
    Program { places, harts }
}

struct Draft<'a> {
    chance: &'a mut Chance,
    places: &'a [Place],
    scope: Scope,
    lines: Vec<Statement>,
    results: u8,
    /// The last register that took a result, and what it may hold.
    last: Option<u8>,
    /// The last register that took an address.
    pointer: Option<u8>,
}

fn hart(chance: &mut Chance, scope: Scope, places: &[Place], most: usize, chained: bool) -> Vec<Statement> {
    let mut draft = Draft { chance, places, scope, lines: Vec::new(), results: 0, last: None, pointer: None };
    let mut accesses = 0;
    while accesses < most {
        let begin = draft.lines.len();
        accesses += draft.step(chained);
        // A branch over a whole step keeps what belongs together together.
        let over = draft.lines.len() - begin;
        if draft.chance.once_in(8)
            && let Some(register) = draft.last.filter(|_| begin > 0)
            && !draft.lines[begin..].iter().any(|line| writes(line) == Some(register))
        {
            let (equal, over) = (draft.chance.once_in(2), if draft.chance.once_in(2) { over } else { 0 });
            draft.lines.insert(begin, Statement::Branch { equal, register, over });
            // What was perhaps never loaded is no address.
            if over > 0 {
                draft.pointer = None;
            }
        }
        if draft.chance.once_in(4) {
            let sets = |chance: &mut Chance| {
                let all = if scope == Scope::Whole && chance.once_in(3) { SETS } else { &SETS[..3] };
                chance.of(all)
            };
            let before = sets(draft.chance);
            let fence = (!draft.chance.once_in(6)).then(|| (before, sets(draft.chance)));
            draft.lines.push(Statement::Fence(fence));
        }
        if draft.chance.once_in(5) {
            break;
        }
    }
    draft.lines
}

fn writes(line: &Statement) -> Option<u8> {
    match *line {
        Statement::Access(Access { rd, .. })
        | Statement::Number { rd, .. }
        | Statement::Dependent { rd, .. }
        | Statement::Copy { rd, .. } => Some(rd),
        _ => None,
    }
}

impl Draft<'_> {
    fn result(&mut self) -> u8 {
        let register = FIRST_RESULT + self.results % MOST_RESULTS;
        self.results += 1;
        // What is overwritten is no address any more.
        self.pointer = self.pointer.filter(|&pointer| pointer != register);
        register
    }

    fn mark(&mut self) -> Mark {
        if self.chance.once_in(2) {
            return Mark::default();
        }
        Mark { aq: self.chance.once_in(2), rl: self.chance.once_in(2) }
    }

    /// Puts a number into a register: any, or one that is computed from what was loaded, or that itself.
    fn number(&mut self, place: Place) -> u8 {
        let top = 1_i64 << (8 * place.bytes - 1);
        let value = match self.scope {
            Scope::Words => self.chance.of(&[1, 2, 3]),
            Scope::Whole => self.chance.of(&[1, 2, 1, 2, -1, top, top.wrapping_sub(1), top | 1]),
        };
        match (self.last, self.chance.below(4)) {
            (Some(from), 0) => {
                let value = self.chance.of(&[0, 1, 2]);
                self.lines.push(Statement::Dependent { rd: NUMBER, from, value });
            }
            (Some(from), 1) if !place.pointer && Some(from) != self.pointer => {
                self.lines.push(Statement::Copy { rd: NUMBER, from });
            }
            _ => self.lines.push(Statement::Number { rd: NUMBER, value }),
        }
        NUMBER
    }

    /// A step: an access, or `lr` and `sc` with perhaps one between them. How many accesses that were.
    fn step(&mut self, chained: bool) -> usize {
        let mut index = if chained { 0 } else { self.chance.below(self.places.len()) };
        let through = self.pointer.filter(|_| self.chance.once_in(2));
        let target = match (through, self.last) {
            (Some(register), _) => {
                index = 0;
                Target::Through(register)
            }
            (None, Some(on)) if self.chance.once_in(4) => Target::Depends { place: index, on },
            _ => Target::Place(index),
        };
        let place = self.places[index];
        let mark = self.mark();
        if place.pointer {
            return self.pointer_step(target, mark);
        }
        let bytes = place.bytes;
        let none = Access { kind: Kind::Store, rd: 0, source: 0, bytes, target, mark };
        let choice = match (bytes >= 4, chained) {
            (true, true) => self.chance.of(&[2, 2, 2, 3, 4, 5]),
            (true, false) => self.chance.of(&[0, 0, 0, 1, 1, 1, 2, 3, 4, 5, 6]),
            (false, _) => self.chance.below(2),
        };
        match choice {
            0 => {
                let rd = self.result();
                let signed = self.scope == Scope::Words || bytes == 8 || self.chance.once_in(2);
                // Ordinary accesses are annotated by herd's leave only.
                let mark = if self.chance.once_in(3) { mark } else { Mark::default() };
                self.lines.push(Statement::Access(Access { kind: Kind::Load { signed }, rd, mark, ..none }));
                self.last = Some(rd);
                1
            }
            1 => {
                let source = self.number(place);
                let mark = if self.chance.once_in(3) { mark } else { Mark::default() };
                self.lines.push(Statement::Access(Access { source, mark, ..none }));
                1
            }
            2 | 3 => {
                let source = self.number(place);
                let rd = self.result();
                let count = if self.scope == Scope::Words { AMOS.len() - 2 } else { AMOS.len() };
                let kind = Kind::Amo(self.chance.of(&AMOS[..count]));
                self.lines.push(Statement::Access(Access { kind, rd, source, ..none }));
                self.last = Some(rd);
                1
            }
            6 => {
                let rd = self.result();
                self.lines.push(Statement::Access(Access { kind: Kind::Reserve, rd, ..none }));
                self.last = Some(rd);
                1
            }
            _ => {
                // Where a pair goes must not have to be found out.
                let target = if through.is_some() { Target::Place(index) } else { target };
                let source = self.number(place);
                let rd = self.result();
                // Each of the four marks as often as the others.
                let mark = Mark { aq: self.chance.once_in(2), rl: self.chance.once_in(2) };
                let pair = Access { target, ..none };
                self.lines.push(Statement::Access(Access { kind: Kind::Reserve, rd, mark, ..pair }));
                let mut accesses = 2;
                if self.chance.once_in(4) {
                    let other = self.chance.below(self.places.len());
                    let Place { bytes, pointer, .. } = self.places[other];
                    if !pointer {
                        let (target, mark) = (Target::Place(other), Mark::default());
                        let between = if self.chance.once_in(2) {
                            Access { kind: Kind::Load { signed: true }, rd: self.result(), ..none }
                        } else {
                            Access { source, ..none }
                        };
                        self.lines.push(Statement::Access(Access { bytes, target, mark, ..between }));
                        accesses += 1;
                    }
                }
                let rd = self.result();
                self.lines.push(Statement::Access(Access { kind: Kind::Conditional, rd, source, ..pair }));
                self.last = Some(rd);
                accesses
            }
        }
    }

    /// An address is loaded, or stored.
    fn pointer_step(&mut self, target: Target, mark: Mark) -> usize {
        let store = Access { kind: Kind::Store, rd: 0, source: 0, bytes: 8, target, mark };
        if self.chance.once_in(2) {
            let rd = self.result();
            self.lines.push(Statement::Access(Access { kind: Kind::Load { signed: true }, rd, ..store }));
            (self.last, self.pointer) = (Some(rd), Some(rd));
        } else {
            let source = ADDRESSES + self.chance.below(2) as u8;
            self.lines.push(Statement::Access(Access { source, ..store }));
        }
        1
    }
}

pub(crate) const NAMES: &[&str] = &["x", "y", "z"];

impl Program {
    /// What herd and tenbin read.
    pub(crate) fn text(&self, name: &str) -> String {
        let mut text = format!("RISCV {name}\n{{\n");
        for (place, name) in self.places.iter().zip(NAMES) {
            let sign = if place.signed { "" } else { "u" };
            let _ = match place {
                Place { pointer: true, .. } => writeln!(text, "{name}=x;"),
                Place { bytes: 4, signed: true, .. } => writeln!(text, "{name}=0;"),
                Place { bytes, .. } => writeln!(text, "{sign}int{}_t {name}=0;", 8 * bytes),
            };
        }
        for hart in 0..self.harts.len() {
            for (index, name) in NAMES.iter().enumerate().take(self.places.len()) {
                let _ = write!(text, "{hart}:x{}={name}; ", usize::from(ADDRESSES) + index);
            }
            text.push('\n');
        }
        let columns = self.harts.iter().map(|lines| column(lines)).collect::<Vec<_>>();
        let heads = (0..columns.len()).map(|hart| format!("P{hart}")).collect::<Vec<_>>();
        let _ = writeln!(text, "}}\n {} ;", heads.join(" | "));
        for row in 0..columns.iter().map(Vec::len).max().unwrap_or_default() {
            let cells = columns.iter().map(|column| column.get(row).map_or("", String::as_str));
            let _ = writeln!(text, " {} ;", cells.collect::<Vec<_>>().join(" | "));
        }
        let _ = write!(text, "locations [");
        for name in NAMES.iter().take(self.places.len()) {
            let _ = write!(text, "{name}; ");
        }
        for hart in 0..self.harts.len() {
            for register in results() {
                let _ = write!(text, "{hart}:x{register}; ");
            }
        }
        text + "]\n"
    }
}

fn column(lines: &[Statement]) -> Vec<String> {
    let mut column = Vec::new();
    let mut labels: Vec<(usize, String)> = Vec::new();
    let named = |labels: &[(usize, String)], index: usize| {
        let here = labels.iter().filter(|(at, _)| *at == index);
        here.map(|(_, label)| format!("{label}: ")).collect::<String>()
    };
    for (index, line) in lines.iter().enumerate() {
        let label = named(&labels, index);
        let first = column.len();
        match line {
            Statement::Access(Access { kind, rd, source, bytes, target, mark }) => {
                let at = address(&mut column, *target);
                let (letter, mark) = (letter(*bytes), suffix(*mark));
                column.push(match kind {
                    Kind::Load { signed: false } if *bytes < 8 => format!("l{letter}u{mark} x{rd},0(x{at})"),
                    Kind::Load { .. } => format!("l{letter}{mark} x{rd},0(x{at})"),
                    Kind::Store => format!("s{letter}{mark} x{source},0(x{at})"),
                    Kind::Reserve => format!("lr.{letter}{mark} x{rd},0(x{at})"),
                    Kind::Conditional => format!("sc.{letter}{mark} x{rd},x{source},0(x{at})"),
                    Kind::Amo(op) => format!("{op}.{letter}{mark} x{rd},x{source},(x{at})"),
                });
            }
            Statement::Number { rd, value } => column.push(format!("li x{rd},{value}")),
            Statement::Dependent { rd, from, value } => {
                column.push(format!("xor x{rd},x{from},x{from}"));
                column.push(format!("ori x{rd},x{rd},{value}"));
            }
            Statement::Copy { rd, from } => column.push(format!("addi x{rd},x{from},0")),
            Statement::Branch { equal, register, over } => {
                let label = format!("L{index}");
                let word = if *equal { "beq" } else { "bne" };
                column.push(format!("{word} x{register},x0,{label}"));
                labels.push((index + 1 + over, label));
            }
            Statement::Fence(Some((before, after))) => column.push(format!("fence {before},{after}")),
            Statement::Fence(None) => column.push("fence.tso".to_owned()),
        }
        column[first].insert_str(0, &label);
    }
    let label = named(&labels, lines.len());
    if !label.is_empty() {
        column.push(format!("{label}li x31,0"));
    }
    column
}

/// The register that has the address, after the lines that compute it.
fn address(column: &mut Vec<String>, target: Target) -> u8 {
    match target {
        Target::Place(place) => ADDRESSES + place as u8,
        Target::Through(register) => register,
        Target::Depends { place, on } => {
            column.push(format!("xor x{SCRATCH},x{on},x{on}"));
            column.push(format!("add x{},x{SCRATCH},x{}", SCRATCH + 1, usize::from(ADDRESSES) + place));
            SCRATCH + 1
        }
    }
}

const fn letter(bytes: u32) -> char {
    match bytes {
        1 => 'b',
        2 => 'h',
        4 => 'w',
        _ => 'd',
    }
}

const fn suffix(mark: Mark) -> &'static str {
    match (mark.aq, mark.rl) {
        (true, true) => ".aq.rl",
        (true, false) => ".aq",
        (false, true) => ".rl",
        (false, false) => "",
    }
}
