//! A guest's console, line by line, with the time at which each line came.
//!
//! The emulator writes the console into a pipe, byte by byte as the guest does; a thread reads it at once
//! and says when. The clock is this machine's and not the guest's, which may stand still or be emulated.

use std::collections::VecDeque;
use std::io::{PipeReader, Read};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// How much of a console's beginning is kept, and as much of its end, in bytes: text, and [`COST`] a line.
const KEPT: usize = 4 << 20;

/// What a line costs beside its text, in bytes. Without it, empty lines would cost nothing and fill the
/// memory.
const COST: usize = 64;

/// How long a line may become, in bytes. What is longer is cut into several, all but the last without an end.
const LONGEST: usize = 64 << 10;

const BUFFER: usize = 64 << 10;

/// How much a pipe can hold at most if nobody changed the kernel's settings, in bytes (pipe(7),
/// `/proc/sys/fs/pipe-max-size`): so much may still be there when the emulator is gone.
const IN_PIPE: usize = 1 << 20;

/// A line of a guest's console. Its times are those of this machine's monotonic clock, from the start of the
/// emulator on, and say when the bytes were read here: a moment after the guest wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsoleLine {
    /// When its first byte came.
    pub began: Duration,
    /// When the byte came that ended it; none came for the last line of a guest that broke off, and for one
    /// that was too long and goes on in the next.
    pub ended: Option<Duration>,
    /// Its bytes, without what ended it: a line feed, and carriage returns before that.
    pub text: Vec<u8>,
}

impl ConsoleLine {
    /// The line as text that moves no terminal's cursor: without control characters but the tabulator, and
    /// without white space at its end.
    pub fn plain(&self) -> String {
        let text = String::from_utf8_lossy(&self.text);
        let plain = text.chars().filter(|&letter| letter == '\t' || !letter.is_control());
        plain.collect::<String>().trim_end().to_owned()
    }

    fn cost(&self) -> usize {
        self.text.len() + COST
    }
}

/// What was left out of a console that said too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// How many lines before it are kept; the others came after it.
    pub after: usize,
    /// How many lines are left out.
    pub lines: u64,
    /// How many bytes of text stood in them.
    pub bytes: u64,
}

/// What a guest wrote to its console.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Console {
    /// Its lines in the order in which they came.
    pub lines: Vec<ConsoleLine>,
    /// What is missing among them: the first 4 MiB are kept, and the last.
    pub gap: Option<Gap>,
}

impl Console {
    /// Its lines without their times, as [`ConsoleLine::plain`] gives them; one in brackets says what is left
    /// out.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (index, line) in self.lines.iter().enumerate() {
            if let Some(gap) = self.gap.filter(|gap| gap.after == index) {
                text.push_str(&format!("[{} lines with {} bytes are left out here]\n", gap.lines, gap.bytes));
            }
            text.push_str(&line.plain());
            text.push('\n');
        }
        text
    }
}

/// Makes lines of what is read, and keeps the first and the last.
struct Recorder<'a> {
    /// Told of every line that is over, kept or not.
    each: &'a mut dyn FnMut(&ConsoleLine),
    /// How much each of the two parts may hold.
    room: usize,
    first: Vec<ConsoleLine>,
    /// None once a line did not fit: what comes later goes to the end.
    first_room: Option<usize>,
    last: VecDeque<ConsoleLine>,
    last_size: usize,
    lines: u64,
    bytes: u64,
    open: Option<ConsoleLine>,
}

impl<'a> Recorder<'a> {
    fn new(room: usize, each: &'a mut dyn FnMut(&ConsoleLine)) -> Self {
        Self {
            each,
            room,
            first: Vec::new(),
            first_room: Some(room),
            last: VecDeque::new(),
            last_size: 0,
            lines: 0,
            bytes: 0,
            open: None,
        }
    }

    /// Takes the bytes that came at `now`.
    fn take(&mut self, bytes: &[u8], now: Duration) {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (part, ended) = match part.strip_suffix(b"\n") {
                Some(part) => (part, true),
                None => (part, false),
            };
            self.add(part, now);
            if ended {
                let mut line =
                    self.open.take().unwrap_or(ConsoleLine { began: now, ended: None, text: vec![] });
                let length = line.text.iter().rposition(|&byte| byte != b'\r').map_or(0, |last| last + 1);
                line.text.truncate(length);
                line.ended = Some(now);
                self.keep(line);
            }
        }
    }

    /// Adds to the open line; what is too long becomes several.
    fn add(&mut self, mut part: &[u8], now: Duration) {
        while !part.is_empty() {
            let mut line = self.open.take().unwrap_or(ConsoleLine { began: now, ended: None, text: vec![] });
            let (fits, rest) = part.split_at(part.len().min(LONGEST - line.text.len()));
            line.text.extend_from_slice(fits);
            part = rest;
            if line.text.len() == LONGEST {
                self.keep(line);
            } else {
                self.open = Some(line);
            }
        }
    }

    fn keep(&mut self, line: ConsoleLine) {
        (self.each)(&line);
        let cost = line.cost();
        self.first_room = self.first_room.and_then(|room| room.checked_sub(cost));
        if self.first_room.is_some() {
            self.first.push(line);
            return;
        }
        self.last_size += cost;
        self.last.push_back(line);
        while self.last_size > self.room
            && self.last.len() > 1
            && let Some(line) = self.last.pop_front()
        {
            self.last_size -= line.cost();
            self.lines += 1;
            self.bytes += line.text.len() as u64;
        }
    }

    /// All that is kept, the line that nobody ended included.
    fn finish(mut self) -> Console {
        if let Some(line) = self.open.take() {
            self.keep(line);
        }
        let gap = Gap { after: self.first.len(), lines: self.lines, bytes: self.bytes };
        let mut lines = self.first;
        lines.extend(self.last);
        Console { lines, gap: (gap.lines > 0).then_some(gap) }
    }
}

/// Reads `pipe` until nobody has it open for writing, or until the other end of `over` is closed and the
/// pipe is empty. Every line goes to `each` when it is over.
///
/// Somebody whom the emulator left behind may hold the pipe open for ever, so its end alone is not waited
/// for.
pub(crate) fn watch(
    mut pipe: PipeReader,
    over: PipeReader,
    start: Instant,
    each: &mut dyn FnMut(&ConsoleLine),
) -> Console {
    let mut recorder = Recorder::new(KEPT, each);
    let mut buffer = vec![0; BUFFER];
    // How much may still come. Unknown while the emulator runs.
    let mut left = None;
    while left != Some(0) {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut ends = [PollFd::new(&pipe, PollFlags::IN), PollFd::new(&over, PollFlags::IN)];
        match poll(&mut ends, left.is_some().then_some(&at_once)) {
            Ok(0) => break,
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            // What cannot be waited for cannot be read.
            Err(_) => break,
        }
        let [readable, ended] = ends.map(|end| !end.revents().is_empty());
        if readable {
            let most = left.unwrap_or(BUFFER).min(BUFFER);
            match pipe.read(&mut buffer[..most]) {
                Ok(0) => break,
                Ok(length) => {
                    recorder.take(&buffer[..length], start.elapsed());
                    left = left.map(|left| left - length);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        } else if left.is_some() {
            // Only `over` is ready, as it is from now on.
            break;
        }
        if ended && left.is_none() {
            left = Some(IN_PIPE);
        }
    }
    recorder.finish()
}

#[cfg(test)]
mod tests {
    use std::io::{Write, pipe};

    use proptest::prelude::*;

    use super::*;

    fn milliseconds(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    /// The console of what came at each time, with so much room for each part; and what `each` was told.
    fn record(room: usize, parts: &[(&[u8], u64)]) -> (Console, Vec<ConsoleLine>) {
        let mut reported = Vec::new();
        let mut each = |line: &ConsoleLine| reported.push(line.clone());
        let mut recorder = Recorder::new(room, &mut each);
        for (bytes, at) in parts {
            recorder.take(bytes, milliseconds(*at));
        }
        let console = recorder.finish();
        (console, reported)
    }

    fn line(began: u64, ended: Option<u64>, text: &str) -> ConsoleLine {
        ConsoleLine { began: milliseconds(began), ended: ended.map(milliseconds), text: text.into() }
    }

    #[test]
    fn a_line_has_the_times_of_its_first_byte_and_of_its_end() {
        let parts: &[(&[u8], u64)] =
            &[(b"one\r\ntw", 1), (b"o", 2), (b"\r", 3), (b"\n", 4), (b"\n", 5), (b"a\rb\r\nlast", 6)];
        let expected = [
            line(1, Some(1), "one"),
            line(1, Some(4), "two"),
            line(5, Some(5), ""),
            line(6, Some(6), "a\rb"),
            line(6, None, "last"),
        ];
        let (console, reported) = record(KEPT, parts);
        assert_eq!((console.lines, console.gap), (expected.to_vec(), None));
        assert_eq!(reported, expected);
    }

    #[test]
    fn of_a_flood_both_ends_are_kept_and_the_gap_is_told() {
        let flood = (0..1000).map(|number| format!("{number:03}\n")).collect::<String>();
        // Room for ten lines of three letters.
        let (console, reported) = record(10 * (COST + 3), &[(flood.as_bytes(), 1)]);
        assert_eq!(reported.len(), 1000);
        assert_eq!(console.gap, Some(Gap { after: 10, lines: 980, bytes: 3 * 980 }));
        let text = console.text();
        let lines = text.lines().collect::<Vec<_>>();
        assert_eq!((lines.len(), lines[0], lines[9]), (21, "000", "009"));
        assert_eq!(lines[10], "[980 lines with 2940 bytes are left out here]");
        assert_eq!((lines[11], lines[20]), ("990", "999"));
    }

    #[test]
    fn a_line_without_an_end_is_cut_and_loses_nothing() {
        let endless = vec![b'x'; 2 * LONGEST + 5];
        let (console, _) = record(KEPT, &[(&endless, 1), (b"y\n", 2)]);
        let lengths = console.lines.iter().map(|line| (line.text.len(), line.ended)).collect::<Vec<_>>();
        assert_eq!(lengths, [(LONGEST, None), (LONGEST, None), (6, Some(milliseconds(2)))]);
    }

    #[test]
    fn a_plain_line_moves_no_cursor() {
        assert_eq!(line(0, None, "\u{1b}[2Jtwo\t\r ").plain(), "[2Jtwo");
        let broken = ConsoleLine { began: Duration::ZERO, ended: None, text: b"third\xff".to_vec() };
        assert_eq!(broken.plain(), "third\u{fffd}");
    }

    proptest! {
        /// However the bytes are parted on their way, the lines are the same.
        #[test]
        fn parts_do_not_matter(text in "[ab\n\r]{0,60}", cuts in prop::collection::vec(0_usize..60, 0..5)) {
            let mut cuts = cuts.into_iter().map(|cut| cut.min(text.len())).collect::<Vec<_>>();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let parts = cuts.windows(2)
                .map(|pair| (&text.as_bytes()[pair[0]..pair[1]], 7)).collect::<Vec<_>>();
            let lines = |parts: &[(&[u8], u64)]| record(KEPT, parts).0.lines;
            prop_assert_eq!(lines(&parts), lines(&[(text.as_bytes(), 7)]));
        }

        /// Whatever comes, no part is larger than its room and one line, and nothing is lost without a word.
        #[test]
        fn what_is_kept_is_bounded_and_what_is_not_is_counted(
            lengths in prop::collection::vec(0_usize..300, 0..60),
            room in 0_usize..2000,
        ) {
            let text = lengths.iter().map(|&length| "x".repeat(length) + "\n").collect::<String>();
            let (console, _) = record(room, &[(text.as_bytes(), 1)]);
            let gap = console.gap.unwrap_or(Gap { after: 0, lines: 0, bytes: 0 });
            prop_assert_eq!(console.lines.len() as u64 + gap.lines, lengths.len() as u64);
            let kept = console.lines.iter().map(|line| line.text.len() as u64).sum::<u64>();
            prop_assert_eq!(kept + gap.bytes, lengths.iter().sum::<usize>() as u64);
            let size = console.lines.iter().map(ConsoleLine::cost).sum::<usize>();
            prop_assert!(size <= 2 * room + 300 + COST);
        }
    }

    /// Runs `watch` over what `script` writes, and lets it know by the end of the other pipe.
    fn watched(script: impl FnOnce(&mut std::io::PipeWriter), closed: bool) -> Console {
        let (reader, mut writer) = pipe().unwrap();
        let (over, alive) = pipe().unwrap();
        std::thread::scope(|scope| {
            #[expect(clippy::disallowed_methods, reason = "a console is told by time")]
            let start = Instant::now();
            let thread = scope.spawn(move || watch(reader, over, start, &mut |_| {}));
            script(&mut writer);
            // Either end is enough; the other one stays open.
            let mut open = (Some(writer), Some(alive));
            if closed {
                open.0 = None;
            } else {
                open.1 = None;
            }
            thread.join().unwrap()
        })
    }

    #[test]
    fn a_console_is_over_when_closed_or_when_the_emulator_is_gone() {
        for closed in [true, false] {
            let console = watched(|pipe| pipe.write_all(b"one\r\ntwo").unwrap(), closed);
            let texts = console.lines.iter().map(|line| &line.text[..]).collect::<Vec<_>>();
            assert_eq!(texts, [&b"one"[..], b"two"], "closed: {closed}");
            let [first, second] = &console.lines[..] else { panic!("two lines") };
            assert!(first.ended.is_some_and(|ended| first.began <= ended && ended <= second.began));
            assert_eq!(second.ended, None);
        }
    }

    #[test]
    fn what_is_larger_than_a_pipe_comes_whole() {
        let line = [&[b'x'; 99][..], b"\n"].concat();
        let console = watched(|pipe| (0..5000).for_each(|_| pipe.write_all(&line).unwrap()), true);
        assert_eq!((console.lines.len(), console.gap), (5000, None));
        assert!(console.lines.windows(2).all(|pair| pair[0].ended <= pair[1].ended));
    }
}
