//! Reads logs and tables of strace, so that they answer the questions of a profile.
//!
//! A log is read once, line by line: what is kept is bounded by the threads that are alive at a time, by the
//! names of calls, and by limits below. So a log of many gigabytes needs no more memory than a small one.
//! Whatever a log does not say is a sentence of [`Profile::unseen`].
//!
//! Reading order: `log/line.rs`, `log/clock.rs`, `log/threads.rs`, `log/table.rs`, `log/totals.rs`,
//! `log/unseen.rs`.

mod clock;
mod line;
mod table;
#[cfg(test)]
mod tests;
mod threads;
mod totals;
mod unseen;

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use rustc_hash::FxHashMap;
use tenbin_model::Profile;
use tenbin_model::profile::Kind;

use self::clock::Clock;
use self::line::{Event, Line, Outcome, Returned};
use self::table::Tables;
use self::threads::{Pending, Thread, Threads};
use self::totals::between;

/// Names of calls that a log may have. Linux has some 400; a log that has more is not one of strace.
const NAMES: usize = 1 << 12;

/// Threads that are listed one by one.
const LISTED: u64 = 1 << 12;

/// The longest line that is read, in bytes. By default strace writes 32 bytes of a string, so a line has some
/// hundred.
const LONGEST_LINE: usize = 16 << 20;

/// Letters of a line that a sentence shows.
const EXCERPT: usize = 60;

/// The name of the activity that is no system call.
const USER_CODE: &str = "user code";

/// Why a text is no profile.
#[derive(Debug)]
pub enum Unread {
    /// It could not be read to its end.
    Reading(io::Error),
    /// There is nothing in it.
    Empty,
    /// None of its lines is of strace.
    NotStrace {
        /// How many lines it has.
        lines: u64,
        /// Its first line that is not empty, shortened.
        first: String,
    },
    /// It is a table of `strace -c` in which no time is.
    NoTime {
        /// The titles of its columns.
        titles: String,
    },
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reading(error) => write!(f, "the log could not be read to its end: {error}"),
            Self::Empty => {
                write!(f, "the log of strace is empty; make one with `strace -f -T -ttt -o LOG COMMAND`")
            }
            Self::NotStrace { lines, first } => write!(
                f,
                "this is neither a log nor a table of strace: none of its {lines} lines is a system call, and \
                 the first is `{first}`; write a profile with `tenbin profile -o FILE.json COMMAND`, or a log with \
                 `strace -f -T -ttt -o LOG COMMAND`"
            ),
            Self::NoTime { titles } => write!(
                f,
                "this table of strace has no column of the time of all calls, only {titles}; make a log with \
                 `strace -f -T -ttt -o LOG COMMAND`, or a table with `strace -f -c -w -o LOG COMMAND`"
            ),
        }
    }
}

impl std::error::Error for Unread {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Reading(error) => Some(error),
            _ => None,
        }
    }
}

/// Where the time of a command went, by what strace wrote of it: a log, with any options, or a table (`-c`).
///
/// Of a log with stamps and times (`-T`), a thread's `user` is the time between its calls, `blocked` that in
/// calls that wait for others ([`Kind::Wait`]), and `kernel` that in all others; without `-T` they are 0, and
/// without stamps a thread's wall time is that of its calls. `count` and `errors` of an activity are of calls
/// that returned, as in the tables of strace; those that did not are `in_flight`, and where there are stamps
/// `total` contains their time. A thread whose number the log leaves out is 0.
///
/// # Errors
/// What could not be read, or is nothing of strace.
pub fn read(text: &mut dyn Read) -> Result<Profile, Unread> {
    let mut log = Log::default();
    log.lines(text).map_err(Unread::Reading)?;
    log.profile()
}

/// What the calls of one name did. Times are nanoseconds.
#[derive(Default)]
struct Call {
    name: String,
    waits: bool,
    makes: bool,
    count: u64,
    errors: u64,
    total: u64,
    longest: u64,
    histogram: Vec<u64>,
    in_flight: u64,
    in_flight_total: u64,
}

/// A call whose line has no result: the rest of it may be in the next lines, which the command or strace
/// itself began with something else.
struct Torn {
    line: u64,
    excerpt: String,
    thread: Option<u32>,
    time: Option<u64>,
    call: usize,
    arguments: Vec<u8>,
    resumed: bool,
}

/// What was read so far.
#[derive(Default)]
struct Log {
    lines: u64,
    /// Lines of which nobody knows what they are, and the first with its number.
    unread: u64,
    first_unread: Option<(u64, String)>,
    first: Option<String>,
    /// Lines that are of strace, and no notes.
    events: u64,
    /// The last line has no line feed: it may have lost its end.
    cut: bool,
    /// Calls that were resumed and not begun, and that were begun and neither resumed nor in flight.
    without_begin: u64,
    without_end: u64,
    calls: Vec<Call>,
    names: FxHashMap<Box<[u8]>, usize>,
    threads: Threads,
    listed: Vec<Option<Thread>>,
    clock: Clock,
    tables: Tables,
    torn: Option<Torn>,
    /// Whether a call has its time (`-T`), and with how many decimals.
    times: bool,
    decimals: u8,
    /// Time between calls, of all threads that have ended, and the longest.
    between: u64,
    longest_between: u64,
    /// The words of the command that the log begins with; none where strace came later.
    command: Option<Vec<String>>,
    /// Threads and processes that calls made.
    made: u64,
    ended: Option<(Option<u64>, Option<u64>)>,
}

impl Log {
    fn lines(&mut self, text: &mut dyn Read) -> io::Result<()> {
        let mut text = BufReader::with_capacity(1 << 18, text);
        let mut line = Vec::new();
        loop {
            line.clear();
            let limit = LONGEST_LINE as u64;
            if text.by_ref().take(limit).read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            self.lines += 1;
            if line.last() == Some(&b'\n') {
                line.pop();
                self.line(&line, true);
            } else if line.len() < LONGEST_LINE {
                self.line(&line, false);
            } else {
                self.is_unread(self.lines, excerpt(&line));
                skip_line(&mut text)?;
                line.shrink_to(1 << 16);
            }
        }
    }

    /// Takes a line, which has a line feed or is the last one and has none.
    fn line(&mut self, text: &[u8], whole: bool) {
        if self.first.is_none() && !text.trim_ascii().is_empty() {
            self.first = Some(excerpt(text));
        }
        if self.tables.within() && self.tables.takes(text) {
            return;
        }
        let line = Line::of(text);
        let time = line.stamp.and_then(|stamp| self.clock.time(stamp));
        let read = match line.event {
            Event::Called { .. } | Event::Resumed { .. } | Event::Begun { .. } | Event::Torn { .. }
                if !whole =>
            {
                self.cut = true;
                return self.is_unread(self.lines, excerpt(text));
            }
            // A leader of which the event is lost.
            Event::Note if !whole && !text.ends_with(b"---") && !text.trim_ascii().is_empty() => {
                self.cut = true;
                return self.is_unread(self.lines, excerpt(text));
            }
            Event::Called { call, arguments, returned } => {
                self.interned(call).map(|call| self.called(&line, time, call, arguments, returned)).is_some()
            }
            Event::Begun { call, arguments } => {
                self.interned(call).map(|call| self.begun(&line, time, call, arguments)).is_some()
            }
            Event::Resumed { call, returned } => {
                self.interned(call).map(|call| self.resumed(&line, time, call, returned)).is_some()
            }
            Event::Torn { call, arguments, resumed } => {
                return self.tears(text, &line, time, call, arguments, resumed);
            }
            Event::Ended { status } => {
                self.ends(&line, time, status);
                true
            }
            Event::Superseded { by } => {
                self.superseded(&line, time, by);
                true
            }
            Event::Attached { thread } => {
                self.threads.attached(thread);
                true
            }
            Event::Note => {
                if let Some(time) = time {
                    self.clock.reaches(time);
                }
                true
            }
            Event::Other(rest) => self.mends(rest) || self.tables.takes(text),
        };
        if !read {
            self.is_unread(self.lines, excerpt(text));
            self.cut |= !whole;
        }
        for thread in std::mem::take(&mut self.threads.given_up) {
            self.settle(thread, None);
        }
    }

    fn is_unread(&mut self, line: u64, excerpt: String) {
        self.unread += 1;
        if self.first_unread.as_ref().is_none_or(|(first, _)| line < *first) {
            self.first_unread = Some((line, excerpt));
        }
    }

    /// The place of a name in the table of calls; none where there are too many.
    fn interned(&mut self, name: &[u8]) -> Option<usize> {
        if let Some(&place) = self.names.get(name) {
            return Some(place);
        }
        if self.calls.len() == NAMES {
            return None;
        }
        let text = String::from_utf8_lossy(name).into_owned();
        let place = self.calls.len();
        let waits = Kind::of_call(&text) == Kind::Wait;
        self.calls.push(Call { waits, makes: threads::makes(name), name: text, ..Call::default() });
        self.names.insert(name.into(), place);
        Some(place)
    }

    /// The thread of a line.
    fn thread(&mut self, line: &Line<'_>, time: Option<u64>, resumes: Option<usize>) -> &mut Thread {
        self.events += 1;
        let thread = self.threads.of_line(line.thread, self.lines, resumes);
        thread.begin = thread.begin.or(time);
        if let Some(name) = line.name
            && name != thread.name.as_bytes()
        {
            thread.name = String::from_utf8_lossy(name).into_owned();
        }
        thread
    }

    fn called(
        &mut self,
        line: &Line<'_>,
        time: Option<u64>,
        call: usize,
        arguments: &[u8],
        returned: Returned,
    ) {
        self.begun(line, time, call, arguments);
        self.returns(line, time, call, returned);
    }

    fn begun(&mut self, line: &Line<'_>, time: Option<u64>, call: usize, arguments: &[u8]) {
        if self.events == 0 && self.calls[call].name == "execve" {
            self.command = Some(threads::words(arguments));
        }
        let makes_thread = self.calls[call].makes && threads::makes_thread(arguments);
        let number = self.lines;
        let mut thread = self.thread(line, time, None);
        match thread.pending {
            // Its number is that of another thread now, and the end of the first one is not in the log.
            Some(pending) if pending.never => {
                let number = thread.number;
                let first = self.threads.take(number);
                self.settle(first.unwrap_or_default(), time);
                thread = self.thread(line, time, None);
            }
            Some(_) => {
                thread.pending = None;
                self.without_end += 1;
                thread = self.thread(line, time, None);
            }
            None => {}
        }
        if let (Some(begin), Some(end)) = (time, thread.end) {
            thread.longest_between = thread.longest_between.max(begin.saturating_sub(end));
        }
        thread.pending = Some(Pending { call, begin: time, line: number, makes_thread, never: false });
        if let Some(name) = threads::new_name(self.calls[call].name.as_bytes(), arguments)
            && line.name.is_none()
        {
            self.thread(line, time, None).name = name;
        }
    }

    fn resumed(&mut self, line: &Line<'_>, time: Option<u64>, call: usize, returned: Returned) {
        let thread = self.thread(line, time, Some(call));
        match thread.pending {
            Some(pending) if pending.call == call => {}
            other => {
                thread.pending = None;
                self.without_begin += 1;
                self.without_end += u64::from(other.is_some());
                // A log that was cut in front: the call began as long ago as it took.
                let begin = time.zip(returned.took).map(|(end, took)| end.saturating_sub(took));
                let pending = Pending { call, begin, line: self.lines, makes_thread: false, never: false };
                self.thread(line, time, Some(call)).pending = Some(pending);
            }
        }
        self.returns(line, time, call, returned);
    }

    /// The call that a thread is in has returned, or never does.
    fn returns(&mut self, line: &Line<'_>, time: Option<u64>, call: usize, returned: Returned) {
        let waits = self.calls[call].waits;
        let thread = self.thread(line, time, Some(call));
        if returned.outcome == Outcome::Never {
            if let Some(pending) = &mut thread.pending {
                pending.never = true;
            }
            return;
        }
        let pending = thread.pending.take();
        let begin = pending.and_then(|pending| pending.begin);
        let end = begin.zip(returned.took).map(|(begin, took)| begin.saturating_add(took)).or(time);
        thread.end = thread.end.max(end);
        let took = returned.took.unwrap_or(0);
        let within = if waits { &mut thread.in_waits } else { &mut thread.in_calls };
        *within = within.saturating_add(took);
        if let Some(end) = end {
            self.clock.reaches(end);
        }
        let sum = &mut self.calls[call];
        sum.count += 1;
        sum.errors += u64::from(returned.outcome == Outcome::Failed);
        if returned.took.is_some() {
            sum.total = sum.total.saturating_add(took);
            sum.longest = sum.longest.max(took);
            let power = took.max(1).ilog2() as usize;
            if sum.histogram.len() <= power {
                sum.histogram.resize(power + 1, 0);
            }
            sum.histogram[power] += 1;
            (self.times, self.decimals) = (true, self.decimals.max(returned.decimals));
        }
        if sum.makes && returned.outcome == Outcome::Succeeded {
            self.makes(line, time, call, pending, returned.value);
        }
    }

    /// A call made a thread or process: it returned twice, and 0 in what it made.
    fn makes(
        &mut self,
        line: &Line<'_>,
        time: Option<u64>,
        call: usize,
        pending: Option<Pending>,
        made: Option<u64>,
    ) {
        let Some(number) = made.and_then(|made| u32::try_from(made).ok()).filter(|&made| made > 0) else {
            return;
        };
        self.made += 1;
        let parent = self.thread(line, time, Some(call));
        let parent = Thread { process: parent.process, name: parent.name.clone(), ..Thread::default() };
        let (makes_thread, begun) =
            pending.map_or((false, self.lines), |pending| (pending.makes_thread, pending.line));
        self.threads.made(number, &parent, makes_thread, begun);
    }

    /// A line has a call without its result.
    fn tears(
        &mut self,
        text: &[u8],
        line: &Line<'_>,
        time: Option<u64>,
        call: &[u8],
        arguments: &[u8],
        resumed: bool,
    ) {
        self.gives_up_torn();
        let Some(call) = self.interned(call) else { return self.is_unread(self.lines, excerpt(text)) };
        self.torn = Some(Torn {
            line: self.lines,
            excerpt: excerpt(text),
            thread: line.thread,
            time,
            call,
            arguments: arguments[..arguments.len().min(1 << 12)].to_vec(),
            resumed,
        });
    }

    fn gives_up_torn(&mut self) {
        if let Some(torn) = self.torn.take() {
            self.is_unread(torn.line, torn.excerpt);
        }
    }

    /// Takes a line that is the rest of a call, if it is: `)   = 6`, `, child_tidptr=0x7f66) = 4079`,
    /// ` <unfinished ...>`.
    fn mends(&mut self, rest: &[u8]) -> bool {
        if self.torn.is_none() || !matches!(rest.first(), Some(b')' | b',' | b' ')) {
            return false;
        }
        let begins = rest.ends_with(b"<unfinished ...>");
        let returned = line::returned(rest).map(|(_, returned)| returned);
        if !begins && returned.is_none() {
            return false;
        }
        let Some(torn) = self.torn.take() else { return false };
        let line = Line { thread: torn.thread, name: None, stamp: None, event: Event::Note };
        match (torn.resumed, returned) {
            (true, Some(returned)) if !begins => self.resumed(&line, torn.time, torn.call, returned),
            (false, Some(returned)) if !begins => {
                self.called(&line, torn.time, torn.call, &torn.arguments, returned);
            }
            (false, _) => self.begun(&line, torn.time, torn.call, &torn.arguments),
            (true, _) => {}
        }
        true
    }

    fn ends(&mut self, line: &Line<'_>, time: Option<u64>, status: Option<u64>) {
        let number = self.thread(line, time, None).number;
        if self.threads.first == Some(number) && self.ended.is_none() {
            self.ended = Some((time, status));
        }
        if let Some(thread) = self.threads.take(number) {
            self.settle(thread, time);
        }
    }

    /// A thread that is not the first of its process has become another program: the others end, and it goes
    /// on under the number of the first.
    fn superseded(&mut self, line: &Line<'_>, time: Option<u64>, by: u32) {
        let number = self.thread(line, time, None).number;
        if let Some(thread) = self.threads.take(number) {
            self.settle(thread, time);
        }
        self.threads.rename(by, number);
    }

    /// Adds up a thread that has ended, at a time if that is known.
    fn settle(&mut self, mut thread: Thread, time: Option<u64>) {
        thread.end = thread.end.max(time);
        if let Some(pending) = thread.pending {
            let took = pending.begin.zip(thread.end).map_or(0, |(begin, end)| end.saturating_sub(begin));
            let sum = &mut self.calls[pending.call];
            sum.in_flight += 1;
            sum.in_flight_total = sum.in_flight_total.saturating_add(took);
            let within = if sum.waits { &mut thread.in_waits } else { &mut thread.in_calls };
            *within = within.saturating_add(took);
        }
        self.between = self.between.saturating_add(between(&thread));
        self.longest_between = self.longest_between.max(thread.longest_between);
        if thread.order < LISTED {
            let place = usize::try_from(thread.order).expect("a thread that is listed");
            if self.listed.len() <= place {
                self.listed.resize(place + 1, None);
            }
            self.listed[place] = Some(thread);
        }
    }
}

/// The begin of a line, as a sentence may show it.
fn excerpt(line: &[u8]) -> String {
    let line = line.trim_ascii();
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * EXCERPT)]);
    let mut letters = text.chars();
    let shown: String = letters.by_ref().take(EXCERPT).collect();
    let more = if letters.next().is_some() { "…" } else { "" };
    let shown: String =
        shown.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect();
    format!("{shown}{more}")
}

/// Reads on behind the next line feed.
fn skip_line(text: &mut impl BufRead) -> io::Result<()> {
    loop {
        let here = text.fill_buf()?;
        let (length, end) = match here.iter().position(|&byte| byte == b'\n') {
            Some(place) => (place + 1, true),
            None => (here.len(), here.is_empty()),
        };
        text.consume(length);
        if end {
            return Ok(());
        }
    }
}
