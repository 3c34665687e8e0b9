//! One line of strace, as `printleader`, `syscall_exiting_trace` and `print_event_exit` of its source write
//! it (`src/strace.c` and `src/syscall.c`, releases 6.1 to 7.2).

use super::clock::{Stamp, number, seconds};
use crate::ending::SIGNALS;

/// The largest number that Linux gives a thread (`PID_MAX_LIMIT` on 64 bits); a larger one is seconds.
const LARGEST_THREAD: u64 = 1 << 22;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Line<'a> {
    /// The thread that it is of, where it says so.
    pub(super) thread: Option<u32>,
    /// The name of that thread (`-Y`).
    pub(super) name: Option<&'a [u8]>,
    pub(super) stamp: Option<Stamp>,
    pub(super) event: Event<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Event<'a> {
    /// `read(3, "", 10) = 0 <0.000010>`.
    Called { call: &'a [u8], arguments: &'a [u8], returned: Returned },
    /// `read(3,  <unfinished ...>`.
    Begun { call: &'a [u8], arguments: &'a [u8] },
    /// `<... read resumed>"", 10) = 0 <0.000010>`.
    Resumed { call: &'a [u8], returned: Returned },
    /// A call, or the rest of one (`resumed`), without its result: the next lines may have that.
    Torn { call: &'a [u8], arguments: &'a [u8], resumed: bool },
    /// `+++ exited with 0 +++`, `+++ killed by SIGKILL +++`: the status, or 256 and the number of the signal;
    /// none where the signal has no number here.
    Ended { status: Option<u64> },
    /// `+++ superseded by execve in pid 123 +++`: that thread goes on under this number.
    Superseded { by: u32 },
    /// `strace: Process 123 attached`.
    Attached { thread: u32 },
    /// A signal, a stop, a dump of data, a frame of a stack, a note of strace's, an empty line: nothing that
    /// has a time.
    Note,
    /// None of these.
    Other(&'a [u8]),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Returned {
    /// Whether it did, and well.
    pub(super) outcome: Outcome,
    /// What it returned, where that is a natural number in decimal.
    pub(super) value: Option<u64>,
    /// For how long it ran, in nanoseconds (`-T`).
    pub(super) took: Option<u64>,
    /// How many decimals that has.
    pub(super) decimals: u8,
}

/// Whether a call returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It did, or strace could not see what.
    Succeeded,
    /// It did, with an error.
    Failed,
    /// Its thread ended in it.
    Never,
}

impl<'a> Line<'a> {
    /// Takes a line apart, which ends before its line feed.
    pub(super) fn of(line: &'a [u8]) -> Self {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let leader = Leader::of(line);
        let event = Event::of(&line[leader.length..]);
        Self { thread: leader.thread, name: leader.name, stamp: leader.stamp, event }
    }
}

/// What stands before the event of a line.
#[derive(Default)]
struct Leader<'a> {
    thread: Option<u32>,
    name: Option<&'a [u8]>,
    stamp: Option<Stamp>,
    length: usize,
}

impl<'a> Leader<'a> {
    fn of(line: &'a [u8]) -> Self {
        let mut leader = Self::default();
        // Spaces that are no part of a number: `-r` pads its seconds to six places, and nothing else is
        // padded.
        let mut usual = 0;
        if let Some((thread, name, length, spaces)) = bracketed(line).or_else(|| prefixed(line)) {
            (leader.thread, leader.name, leader.length, usual) = (Some(thread), name, length, spaces);
        }
        loop {
            let rest = &line[leader.length..];
            let spaces = rest.iter().take_while(|&&byte| byte == b' ').count();
            let here = &rest[spaces..];
            let length = match here.first() {
                Some(b'0'..=b'9') if leader.stamp.is_none() => match Stamp::of(here, spaces > usual) {
                    Some((stamp, length)) => {
                        leader.stamp = Some(stamp);
                        length
                    }
                    None => break,
                },
                // `-tt -r`: `(+     0.000012)`.
                Some(b'(') if here.starts_with(b"(+ ") || here.starts_with(b"(+0") => {
                    match here.iter().position(|&byte| byte == b')') {
                        Some(end) => end + 1,
                        None => break,
                    }
                }
                // The number of the call (-n), its place in the code (-i), a security context.
                Some(b'[') if !here.starts_with(b"[{") => {
                    match here.iter().take(200).position(|&byte| byte == b']') {
                        Some(end) if here.get(end + 1) == Some(&b' ') => end + 1,
                        _ => break,
                    }
                }
                // A frame of a stack and a dump of data are known by the space before them.
                Some(b'>' | b'|') => break,
                _ => {
                    leader.length += if leader.length > 0 { spaces } else { 0 };
                    break;
                }
            };
            leader.length += spaces + length;
            usual = 1;
        }
        leader
    }
}

/// A number, a name, how long both are, and how many spaces stand behind where no padded number follows.
type Prefix<'a> = (u32, Option<&'a [u8]>, usize, usize);

/// `[pid   123]`, `[pid   123<sh>]`.
fn bracketed(line: &[u8]) -> Option<Prefix<'_>> {
    let rest = line.strip_prefix(b"[pid ")?;
    let spaces = rest.iter().take_while(|&&byte| byte == b' ').count();
    let (thread, digits) = number(&rest[spaces..])?;
    let behind = &rest[spaces + digits..];
    let (name, length) = match behind.first()? {
        b'<' => named(behind)?,
        _ => (None, 0),
    };
    let thread = u32::try_from(thread).ok()?;
    (behind.get(length) == Some(&b']')).then_some((thread, name, 5 + spaces + digits + length + 1, 1))
}

/// `123   ` and `123<sh> `, in a file that strace wrote itself.
fn prefixed(line: &[u8]) -> Option<Prefix<'_>> {
    let (thread, digits) = number(line)?;
    let thread = u32::try_from(thread).ok().filter(|&thread| u64::from(thread) <= LARGEST_THREAD)?;
    match line.get(digits)? {
        b' ' => Some((thread, None, digits, 5_usize.saturating_sub(digits) + 1)),
        b'<' => {
            let (name, length) = named(&line[digits..])?;
            (line.get(digits + length) == Some(&b' ')).then_some((thread, name, digits + length, 1))
        }
        _ => None,
    }
}

/// `<sh>`: what is within, and the length of all.
fn named(text: &[u8]) -> Option<(Option<&[u8]>, usize)> {
    let end = text.iter().take(80).position(|&byte| byte == b'>')?;
    Some((Some(&text[1..end]), end + 1))
}

const UNFINISHED: &[u8] = b"<unfinished ...>";

impl<'a> Event<'a> {
    fn of(text: &'a [u8]) -> Self {
        let name = text.iter().take_while(|&&byte| byte.is_ascii_alphanumeric() || byte == b'_').count();
        let is_call = (1..=64).contains(&name) && !text[0].is_ascii_digit() && text.get(name) == Some(&b'(');
        if is_call {
            let (call, arguments) = (&text[..name], &text[name + 1..]);
            if let Some(arguments) = without_end(arguments) {
                return Self::Begun { call, arguments };
            }
            return match returned(arguments) {
                Some((end, returned)) => Self::Called { call, arguments: &arguments[..end], returned },
                None => Self::Torn { call, arguments, resumed: false },
            };
        }
        match text.first() {
            None => Self::Note,
            Some(b'<') => resumed(text).unwrap_or(Self::Other(text)),
            Some(b'+') => ended(text).unwrap_or(Self::Other(text)),
            Some(b'-') if text.starts_with(b"--- ") && text.ends_with(b" ---") => Self::Note,
            Some(b' ') if text.starts_with(b" | ") || text.starts_with(b" > ") => Self::Note,
            Some(b's' | b'/') => note(text).unwrap_or(Self::Other(text)),
            _ => Self::Other(text),
        }
    }
}

/// The arguments of a call whose line ends in `<unfinished ...>` or `<detached ...>`.
fn without_end(text: &[u8]) -> Option<&[u8]> {
    text.strip_suffix(UNFINISHED).or_else(|| text.strip_suffix(b"<detached ...>"))
}

/// `<... read resumed>"", 10) = 0 <0.000010>`; strace before 4.21 had a space behind it.
fn resumed(text: &[u8]) -> Option<Event<'_>> {
    let rest = text.strip_prefix(b"<... ")?;
    let name = rest.iter().take(65).position(|&byte| byte == b' ')?;
    let arguments = rest[name..].strip_prefix(b" resumed>")?;
    let call = &rest[..name];
    if without_end(arguments).is_some() {
        return Some(Event::Note);
    }
    Some(match returned(arguments) {
        Some((_, returned)) => Event::Resumed { call, returned },
        None => Event::Torn { call, arguments, resumed: true },
    })
}

fn ended(text: &[u8]) -> Option<Event<'_>> {
    let within = text.strip_prefix(b"+++ ")?.strip_suffix(b" +++")?;
    if let Some(status) = within.strip_prefix(b"exited with ") {
        return Some(Event::Ended { status: number(status).map(|(status, _)| status) });
    }
    if let Some(signal) = within.strip_prefix(b"killed by ") {
        let name = signal.split(|&byte| byte == b' ').next().unwrap_or_default();
        return Some(Event::Ended { status: signal_number(name).map(|number| 256 + number) });
    }
    let by = number(within.strip_prefix(b"superseded by execve in pid ")?)?.0;
    u32::try_from(by).ok().map(|by| Event::Superseded { by })
}

/// What strace says beside its log: `strace: Process 123 attached`.
fn note(text: &[u8]) -> Option<Event<'_>> {
    let program = text.iter().take(200).position(|&byte| byte == b':')?;
    let remark = text[program..].strip_prefix(b": ")?;
    if !text[..program].ends_with(b"strace") {
        return None;
    }
    let attached = || {
        let (thread, digits) = number(remark.strip_prefix(b"Process ")?)?;
        remark[8 + digits..].starts_with(b" attached").then(|| u32::try_from(thread).ok())?
    };
    Some(attached().map_or(Event::Note, |thread| Event::Attached { thread }))
}

/// The number of a signal; strace names real-time signals `SIGRTMIN`, `SIGRT_1` ….
fn signal_number(name: &[u8]) -> Option<u64> {
    if name == b"SIGRTMIN" {
        return Some(32);
    }
    if let Some(nth) = name.strip_prefix(b"SIGRT_") {
        return number(nth).map(|(nth, _)| 32 + nth).filter(|&number| number <= 64);
    }
    SIGNALS.split(' ').zip(1..).find(|(known, _)| known.as_bytes() == name).map(|(_, number)| number)
}

/// Bytes at which [`returned`] stops.
const STOPS: [bool; 256] = {
    let mut stops = [false; 256];
    stops[b'"' as usize] = true;
    stops[b'<' as usize] = true;
    stops[b')' as usize] = true;
    stops
};

/// Where the arguments end, and the result behind them: the first `) = RESULT` that stands neither within a
/// string nor within a decoration (`3</tmp/a) = 0>`).
pub(super) fn returned(text: &[u8]) -> Option<(usize, Returned)> {
    let mut at = 0;
    // Whether a `<` was without its `>`: then the next ones are too, and to look for it again and again would
    // take the square of the length.
    let mut open = false;
    loop {
        at += text[at..].iter().position(|&byte| STOPS[usize::from(byte)])?;
        at = match text[at] {
            b'"' => past_string(text, at)?,
            b'<' if !open => match past_decoration(text, at) {
                Some(end) => end,
                None => {
                    open = true;
                    at + 1
                }
            },
            b')' => {
                let rest = &text[at + 1..];
                let spaces = rest.iter().take_while(|&&byte| byte == b' ').count();
                let result = rest[spaces..].strip_prefix(b"= ").filter(|_| spaces > 0);
                if let Some(returned) = result.and_then(Returned::of) {
                    return Some((at, returned));
                }
                at + 1
            }
            _ => at + 1,
        };
    }
}

/// The place behind the string that begins at a quote.
fn past_string(text: &[u8], quote: usize) -> Option<usize> {
    let mut at = quote + 1;
    loop {
        at += text[at..].iter().position(|&byte| byte == b'"' || byte == b'\\')?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
        if at > text.len() {
            return None;
        }
    }
}

/// The place behind the decoration that begins here: `<pipe:[123]>`, `</dev/pts/0<char 136:0>>`,
/// `<TCP:[10.0.0.1:22->10.0.0.2:1234]>`. Shifts (`21<<MAP_HUGE_SHIFT`) are none. In a path, `<` and `>` are
/// escaped.
fn past_decoration(text: &[u8], begin: usize) -> Option<usize> {
    if text.get(begin + 1) == Some(&b'<') {
        return Some(begin + 2);
    }
    let (mut at, mut depth) = (begin + 1, 1);
    while depth > 0 {
        match text.get(at)? {
            b'"' => {
                at = past_string(text, at)?;
                continue;
            }
            b'\\' => at += 1,
            b'-' if text.get(at + 1) == Some(&b'>') => at += 1,
            b'<' => depth += 1,
            b'>' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    Some(at)
}

impl Returned {
    /// What stands behind `= `.
    fn of(text: &[u8]) -> Option<Self> {
        let negative = text.first() == Some(&b'-');
        let digits = &text[usize::from(negative)..];
        let (length, value) = match digits.first()? {
            b'?' => (1, None),
            b'0' if digits.get(1) == Some(&b'x') => {
                (2 + digits[2..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count(), None)
            }
            _ => {
                let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
                (length, number(digits).map(|(value, _)| value).filter(|_| !negative))
            }
        };
        let behind = &digits[length..];
        if length == 0 || !matches!(behind.first(), None | Some(b' ' | b'<')) {
            return None;
        }
        let is_error = behind.starts_with(b" E") || behind.starts_with(b" (errno ");
        let outcome = match digits[0] {
            b'?' if is_error => Outcome::Failed,
            // strace counts a call of which it could not see the end as one that returned.
            b'?' if !behind.starts_with(b" <unavailable>") => Outcome::Never,
            _ if negative && is_error => Outcome::Failed,
            _ => Outcome::Succeeded,
        };
        let (took, decimals) = duration(behind).unzip();
        Some(Self { outcome, value, took, decimals: decimals.unwrap_or(0) })
    }
}

/// ` <0.000012>` at the end of a line.
fn duration(text: &[u8]) -> Option<(u64, u8)> {
    let within = text.strip_suffix(b">")?;
    let begin = within.iter().rev().take(24).position(|&byte| byte == b'<')?;
    let begin = within.len() - begin;
    let (nanoseconds, decimals, length) = seconds(&within[begin..])?;
    let alone = begin >= 2 && within[begin - 2] == b' ' && begin + length == within.len();
    alone.then_some((nanoseconds, decimals))
}
