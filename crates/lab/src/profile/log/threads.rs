//! The threads of a log: which are alive, what each is in, and how long they ran.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use tenbin_model::Order;

/// How many threads may be alive; beyond that, those that said nothing for longest are given up.
const ALIVE: usize = 1 << 16;

/// How many threads may be known that have not said anything yet.
const EXPECTED: usize = 1 << 12;

#[derive(Clone, Debug, Default)]
pub(super) struct Thread {
    /// Its number; 0 where the log does not say.
    pub(super) number: u32,
    pub(super) process: u32,
    /// Its name, as far as that is known.
    pub(super) name: String,
    /// How many threads began before.
    pub(super) order: u64,
    /// Its first line, and its latest.
    pub(super) lines: (u64, u64),
    /// When its first line was.
    pub(super) begin: Option<u64>,
    /// Until when it is known to have run.
    pub(super) end: Option<u64>,
    /// Nanoseconds in calls that ended and do not wait for others, and in those that do.
    pub(super) in_calls: u64,
    /// See `in_calls`.
    pub(super) in_waits: u64,
    /// The longest time between two calls.
    pub(super) longest_between: u64,
    pub(super) pending: Option<Pending>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) call: usize,
    pub(super) begin: Option<u64>,
    /// In which line.
    pub(super) line: u64,
    /// Whether what it makes is a thread of the same process.
    pub(super) makes_thread: bool,
    /// Whether the log says that it never returned.
    pub(super) never: bool,
}

/// A thread that was made and has not said anything.
struct Expected {
    process: u32,
    name: String,
}

/// Those that are alive.
#[derive(Default)]
pub(super) struct Threads {
    alive: Vec<Thread>,
    places: FxHashMap<u32, usize>,
    expected: FxHashMap<u32, Expected>,
    pub(super) begun: u64,
    pub(super) first: Option<u32>,
    pub(super) named: bool,
    /// Threads that are no longer followed, and whose end was not seen.
    pub(super) given_up: Vec<Thread>,
    last: Option<u32>,
    last_place: usize,
}

impl Threads {
    fn is_at(&self, place: usize, number: u32) -> bool {
        self.alive.get(place).is_some_and(|thread| thread.number == number)
    }

    /// The thread of a line, which `resumes` a call or not.
    pub(super) fn of_line(&mut self, number: Option<u32>, line: u64, resumes: Option<usize>) -> &mut Thread {
        let number = match number {
            // Most lines are of the thread of the line before.
            Some(number) if self.last == Some(number) && self.is_at(self.last_place, number) => {
                let thread = &mut self.alive[self.last_place];
                thread.lines.1 = line;
                return thread;
            }
            Some(number) => {
                self.named = true;
                if !self.places.contains_key(&number) {
                    self.adopt(number, resumes);
                }
                number
            }
            None => self.unnamed(),
        };
        if !self.places.contains_key(&number) {
            self.give_up();
            self.begin(number, line);
        }
        (self.last, self.last_place) = (Some(number), self.places[&number]);
        let thread = &mut self.alive[self.last_place];
        thread.lines.1 = line;
        thread
    }

    /// The thread of a line without a number: strace leaves numbers out while it follows only one.
    fn unnamed(&self) -> u32 {
        match self.alive.as_slice() {
            [only] => only.number,
            _ if self.places.contains_key(&0) => 0,
            _ => self.last.unwrap_or(0),
        }
    }

    /// A number that nobody announced is that of the thread whose lines had none, unless that is in another
    /// call.
    fn adopt(&mut self, number: u32, resumes: Option<usize>) {
        let Some(&place) = self.places.get(&0) else { return };
        let unnamed = &mut self.alive[place];
        let fits = unnamed.pending.is_none_or(|pending| Some(pending.call) == resumes);
        if fits && !self.expected.contains_key(&number) {
            let process = if unnamed.process == 0 { number } else { unnamed.process };
            (unnamed.number, unnamed.process) = (number, process);
            self.places.remove(&0);
            self.places.insert(number, place);
            if self.first == Some(0) {
                self.first = Some(number);
            }
        }
    }

    fn begin(&mut self, number: u32, line: u64) {
        let expected = self.expected.remove(&number);
        let (process, name) = expected.map_or((number, String::new()), |it| (it.process, it.name));
        let thread =
            Thread { number, process, name, order: self.begun, lines: (line, line), ..Thread::default() };
        self.begun += 1;
        self.first.get_or_insert(number);
        self.places.insert(number, self.alive.len());
        self.alive.push(thread);
    }

    /// A thread with this number was made by another: as part of the same process or not, by a call that
    /// began in `line`.
    pub(super) fn made(&mut self, number: u32, parent: &Thread, makes_thread: bool, line: u64) {
        let process = if makes_thread { parent.process } else { number };
        match self.places.get(&number) {
            // It may have begun before the call that made it returned.
            Some(&place) => {
                let child = &mut self.alive[place];
                if child.lines.0 >= line {
                    child.process = process;
                    if child.name.is_empty() {
                        child.name.clone_from(&parent.name);
                    }
                }
            }
            None => self.expect(number, Expected { process, name: parent.name.clone() }),
        }
    }

    /// strace said that it follows a thread with this number.
    pub(super) fn attached(&mut self, number: u32) {
        if !self.places.contains_key(&number) {
            self.expect(number, Expected { process: number, name: String::new() });
        }
    }

    fn expect(&mut self, number: u32, thread: Expected) {
        if self.expected.len() == EXPECTED {
            self.expected.clear();
        }
        match self.expected.entry(number) {
            // A call says more than the note that strace follows what it made.
            Entry::Occupied(mut known) if !thread.name.is_empty() || thread.process != number => {
                known.insert(thread);
            }
            Entry::Occupied(_) => {}
            Entry::Vacant(free) => {
                free.insert(thread);
            }
        }
    }

    /// Takes a thread that has ended.
    pub(super) fn take(&mut self, number: u32) -> Option<Thread> {
        let place = self.places.remove(&number)?;
        let thread = self.alive.swap_remove(place);
        if let Some(moved) = self.alive.get(place) {
            self.places.insert(moved.number, place);
        }
        Some(thread)
    }

    /// A thread goes on under another number: that of its process, after an execve.
    pub(super) fn rename(&mut self, from: u32, to: u32) {
        if let Some(place) = self.places.remove(&from) {
            self.alive[place].number = to;
            self.places.insert(to, place);
        }
    }

    /// Takes all.
    pub(super) fn rest(&mut self) -> Vec<Thread> {
        self.places.clear();
        std::mem::take(&mut self.alive)
    }

    /// Where too many are alive, those that said nothing for longest are: a log may leave out their ends.
    fn give_up(&mut self) {
        if self.alive.len() < ALIVE {
            return;
        }
        self.alive.order_by_key(|thread| thread.lines.1);
        self.given_up.extend(self.alive.drain(..ALIVE / 2));
        self.places = self.alive.iter().enumerate().map(|(place, thread)| (thread.number, place)).collect();
    }
}

/// What the arguments of a call say of the thread that makes it, where they do: its new name.
pub(super) fn new_name(call: &[u8], arguments: &[u8]) -> Option<String> {
    let text = match call {
        b"execve" | b"execveat" => {
            string(arguments.get(arguments.iter().position(|&byte| byte == b'"')?..)?)?
        }
        b"prctl" => string(arguments.strip_prefix(b"PR_SET_NAME, ")?)?,
        _ => return None,
    };
    let name = text.rsplit('/').next().unwrap_or_default();
    // The kernel keeps fifteen bytes of it.
    Some(name.chars().take(15).collect())
}

/// The words of a command from the arguments of `execve`: as many as strace wrote, each as far as it did.
pub(super) fn words(arguments: &[u8]) -> Vec<String> {
    let Some(list) = arguments.windows(3).position(|part| part == b", [") else { return Vec::new() };
    let mut rest = &arguments[list + 3..];
    let mut words = Vec::new();
    while let Some((word, length)) = quoted(rest) {
        rest = &rest[length..];
        let cut = rest.starts_with(b"...");
        words.push(if cut { format!("{word}...") } else { word });
        rest = rest.strip_prefix(b"...").unwrap_or(rest);
        match rest.strip_prefix(b", ") {
            Some(next) => rest = next,
            None => break,
        }
        if rest.starts_with(b"...") {
            words.push("...".into());
        }
    }
    words
}

fn string(text: &[u8]) -> Option<String> {
    quoted(text).map(|(string, _)| string)
}

/// The string that a text begins with, without its quotes and escapes, and how many bytes it takes.
fn quoted(text: &[u8]) -> Option<(String, usize)> {
    if text.first() != Some(&b'"') {
        return None;
    }
    let (mut bytes, mut at) = (Vec::new(), 1);
    loop {
        let byte = *text.get(at)?;
        at += 1;
        match byte {
            b'"' => return Some((String::from_utf8_lossy(&bytes).into_owned(), at)),
            b'\\' => {
                let escaped = *text.get(at)?;
                let (byte, length) = unescaped(escaped, &text[at..]);
                bytes.push(byte);
                at += length;
            }
            _ => bytes.push(byte),
        }
    }
}

/// The byte that an escape of C stands for, and how long it is behind its backslash.
fn unescaped(letter: u8, text: &[u8]) -> (u8, usize) {
    match letter {
        b'n' => (b'\n', 1),
        b't' => (b'\t', 1),
        b'r' => (b'\r', 1),
        b'v' => (0x0b, 1),
        b'f' => (0x0c, 1),
        b'x' => {
            let digits = text[1..].iter().take(2).take_while(|byte| byte.is_ascii_hexdigit()).count();
            let hex = std::str::from_utf8(&text[1..1 + digits]).unwrap_or_default();
            (u8::from_str_radix(hex, 16).unwrap_or(b'?'), 1 + digits)
        }
        b'0'..=b'7' => {
            let digits = text.iter().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
            let value = text[..digits]
                .iter()
                .fold(0_u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0'));
            (value, digits)
        }
        _ => (letter, 1),
    }
}

/// Whether a call returns the number of a thread that it made.
pub(super) fn makes(call: &[u8]) -> bool {
    matches!(call, b"clone" | b"clone3" | b"fork" | b"vfork")
}

/// Whether the arguments of a call that makes a thread make one of the same process.
pub(super) fn makes_thread(arguments: &[u8]) -> bool {
    arguments.windows(12).any(|part| part == b"CLONE_THREAD")
}
