//! The published tester: whether what comes is one line over and over, and if not, where it first is not.
//!
//! Unlike the published one it compares blocks with a text that repeats, so it is not what a fast `yes` waits
//! for, and it knows an input that ended from one that goes on: the published one would have compared the
//! line before once more.

use std::fmt;
use std::io::{self, Read};

use super::text::fill;
use super::words::Lines;
use tenbin_model::words::counted;

/// What one read may bring.
const BLOCK: usize = 256 << 10;

/// What is shown of a line on either side of its first wrong byte.
const SHOWN: usize = 32;

/// How far a wrong line is read on for the sake of showing it.
const READ_ON: usize = 4 * SHOWN;

/// What a test found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Right lines, from the first on.
    pub lines: u64,
    /// Why it looked no further.
    pub end: Halt,
}

/// Why a test looked no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// It saw as many lines as it was asked to.
    Enough,
    /// The input ended. This many right bytes of another line came before: whoever cut it, cut it there.
    Input {
        /// Bytes of the unfinished line.
        of_a_line: usize,
    },
    /// The input ended before as many lines as it was asked for.
    TooFew {
        /// How many those are.
        asked: u64,
    },
    /// No byte came: there is nothing to say about it.
    Nothing,
    /// The next line was wrong.
    Wrong(Wrong),
}

/// The first line that was not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Its first wrong byte, from 1.
    pub byte: usize,
    /// What should have come, around that byte.
    pub expected: String,
    /// What came there.
    pub actual: String,
}

impl Report {
    /// Whether what was examined is at fault.
    pub fn is_fault(&self) -> bool {
        matches!(self.end, Halt::Wrong(_) | Halt::TooFew { .. })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.lines;
        let (number, are) = (counted(lines as usize, "line"), if lines == 1 { "is" } else { "are" });
        let right = format!("{number} {are} right");
        match &self.end {
            Halt::Enough => write!(f, "{right}, as many as were asked for."),
            Halt::Input { of_a_line: 0 } => write!(f, "{right}; then the input ended."),
            Halt::Input { of_a_line } => {
                let bytes = counted(*of_a_line, "right byte");
                write!(f, "{right}; then the input ended within a line, after {bytes} of it.")
            }
            Halt::TooFew { asked } => {
                let (right, were) =
                    (counted(lines as usize, "right line"), if *asked == 1 { "was" } else { "were" });
                write!(
                    f,
                    "Implementation error in what was examined: it ended after {right}, and {asked} {were} asked for."
                )
            }
            Halt::Nothing => write!(f, "Refused: no byte came, so there is nothing to say about it."),
            Halt::Wrong(Wrong { byte, expected, actual }) => write!(
                f,
                "Implementation error in what was examined: line {} is wrong from its byte {byte} on.\n\
                 expected: {expected}\n\
                 found:    {actual}",
                lines.saturating_add(1)
            ),
        }
    }
}

/// Reads `input` and compares it with `line`, its newline included, over and over.
///
/// # Errors
/// Those of reading.
///
/// # Panics
/// If the line is empty.
pub fn verify(input: &mut impl Read, line: &[u8], lines: Lines) -> io::Result<Report> {
    assert!(!line.is_empty(), "a line has at least its newline");
    let mut expected = vec![0; line.len() + BLOCK];
    fill(&mut expected, line);
    let mut block = vec![0; BLOCK];
    let most = u128::from(lines.most()) * line.len() as u128;
    let mut seen: u128 = 0;
    while seen < most {
        let room = usize::try_from(most - seen).map_or(BLOCK, |left| left.min(BLOCK));
        let length = read(input, &mut block[..room])?;
        let phase = (seen % line.len() as u128) as usize;
        if length == 0 {
            return Ok(ended(seen, phase, line.len(), lines));
        }
        let (actual, expected) = (&block[..length], &expected[phase..phase + length]);
        if actual != expected {
            let right = actual.iter().zip(expected).take_while(|(one, other)| one == other).count();
            let right_lines = (seen + right as u128) / line.len() as u128;
            let place = (phase + right) % line.len();
            let mut rest = actual[right..].to_vec();
            read_on(input, &mut rest)?;
            return Ok(Report { lines: right_lines as u64, end: Halt::Wrong(wrong(line, place, &rest)) });
        }
        seen += length as u128;
    }
    Ok(Report { lines: lines.most(), end: Halt::Enough })
}

/// What it means that the input ended after `seen` right bytes, `phase` of them of an unfinished line.
fn ended(seen: u128, phase: usize, line: usize, lines: Lines) -> Report {
    let end = match lines {
        Lines::Exactly(asked) => Halt::TooFew { asked },
        Lines::Seed | Lines::All if seen == 0 => Halt::Nothing,
        Lines::Seed | Lines::All => Halt::Input { of_a_line: phase },
    };
    Report { lines: (seen / line as u128) as u64, end }
}

/// One read, however often a signal interrupts it.
fn read(input: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Reads until `rest` holds the end of a line or enough to be shown.
fn read_on(input: &mut impl Read, rest: &mut Vec<u8>) -> io::Result<()> {
    while rest.len() < READ_ON && !rest.contains(&b'\n') {
        let mut more = [0; READ_ON];
        match read(input, &mut more)? {
            0 => break,
            length => rest.extend_from_slice(&more[..length]),
        }
    }
    Ok(())
}

/// Both lines around the first wrong byte, at `place`; `rest` is what came from there on.
fn wrong(line: &[u8], place: usize, rest: &[u8]) -> Wrong {
    let from = place.saturating_sub(SHOWN);
    // The last byte that came may be the wrong one itself, a newline too early.
    let actual = [&line[from..place], rest].concat();
    let shown = |bytes: &[u8]| {
        let whole = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
        let end = whole.min(place - from + SHOWN);
        let (before, after) = (if from > 0 { "…" } else { "" }, if end < whole { "…" } else { "" });
        let text: String =
            String::from_utf8_lossy(&bytes[..end]).chars().flat_map(char::escape_debug).collect();
        format!("{before}{text}{after}")
    };
    Wrong { byte: place + 1, expected: shown(&line[from..]), actual: shown(&actual) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gives what it holds in pieces of a length.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(self.0.len()).min(into.len());
            let (now, later) = self.0.split_at(length);
            into[..length].copy_from_slice(now);
            self.0 = later;
            Ok(length)
        }
    }

    fn verified(input: &[u8], line: &[u8], lines: Lines) -> Report {
        let whole = verify(&mut Pieces(input, usize::MAX), line, lines).unwrap();
        for length in [1, 2, 3, 7] {
            assert_eq!(verify(&mut Pieces(input, length), line, lines).unwrap(), whole, "by {length}");
        }
        whole
    }

    fn wrong(lines: u64, byte: usize, expected: &str, actual: &str) -> Report {
        let wrong = Wrong { byte, expected: expected.into(), actual: actual.into() };
        Report { lines, end: Halt::Wrong(wrong) }
    }

    #[test]
    fn every_way_to_end_is_told_from_the_others() {
        let report = |lines, end| Report { lines, end };
        let cases: &[(&[u8], &[u8], Lines, Report)] = &[
            (b"y\ny\ny\n", b"y\n", Lines::Seed, report(3, Halt::Input { of_a_line: 0 })),
            (b"y\ny\ny", b"y\n", Lines::All, report(2, Halt::Input { of_a_line: 1 })),
            (b"abc\nab", b"abc\n", Lines::All, report(1, Halt::Input { of_a_line: 2 })),
            (b"", b"y\n", Lines::All, report(0, Halt::Nothing)),
            (b"", b"y\n", Lines::Exactly(1), report(0, Halt::TooFew { asked: 1 })),
            (b"y\ny\nx\n", b"y\n", Lines::Exactly(2), report(2, Halt::Enough)),
            (b"y\ny", b"y\n", Lines::Exactly(2), report(1, Halt::TooFew { asked: 2 })),
            (b"\n\n", b"\n", Lines::All, report(2, Halt::Input { of_a_line: 0 })),
            // The two published runs that must fail.
            (b"y\ny\n", b"aaaaaaaa\n", Lines::Seed, wrong(0, 1, "aaaaaaaa", "y")),
            (b"aaaaaaaa\naaaaaaaa\n", b"y\n", Lines::Seed, wrong(0, 1, "y", "aaaaaaaa")),
            (b"y\ny\nyy\n", b"y\n", Lines::All, wrong(2, 2, "y", "yy")),
            (b"ab\nab\na\n", b"ab\n", Lines::All, wrong(2, 2, "ab", "a")),
            (b"ab\n\nab\n", b"ab\n", Lines::All, wrong(1, 1, "ab", "")),
            (b"\xff\tb\n", b"\xff\tc\n", Lines::All, wrong(0, 3, "\u{fffd}\\tc", "\u{fffd}\\tb")),
            (b"ab\nax", b"ab\n", Lines::All, wrong(1, 2, "ab", "ax")),
        ];
        for (input, line, lines, expected) in cases {
            assert_eq!(verified(input, line, *lines), *expected, "{:?}", String::from_utf8_lossy(input));
        }
    }

    #[test]
    fn what_was_found_is_said_in_the_right_number() {
        let cases = [
            (
                0,
                Halt::Input { of_a_line: 1 },
                "0 lines are right; then the input ended within a line, after 1 right byte of it.",
            ),
            (
                1,
                Halt::Input { of_a_line: 2 },
                "1 line is right; then the input ended within a line, after 2 right bytes of it.",
            ),
            (2, Halt::Input { of_a_line: 0 }, "2 lines are right; then the input ended."),
            (1, Halt::Enough, "1 line is right, as many as were asked for."),
            (
                0,
                Halt::TooFew { asked: 1 },
                "Implementation error in what was examined: it ended after 0 right lines, and 1 was asked for.",
            ),
            (
                1,
                Halt::TooFew { asked: 2 },
                "Implementation error in what was examined: it ended after 1 right line, and 2 were asked for.",
            ),
            (0, Halt::Nothing, "Refused: no byte came, so there is nothing to say about it."),
        ];
        for (lines, end, expected) in cases {
            assert_eq!(Report { lines, end }.to_string(), expected);
        }
    }

    #[test]
    fn a_long_line_is_shown_around_its_first_wrong_byte() {
        let line = [vec![b'a'; 1000], b"\n".to_vec()].concat();
        let mut input = line.repeat(2);
        input[1001 + 500] = b'b';
        let around = |byte| format!("…{}{byte}{}…", "a".repeat(32), "a".repeat(31));
        assert_eq!(verified(&input, &line, Lines::All), wrong(1, 501, &around('a'), &around('b')));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn one_wrong_byte_is_always_found(
            length in 1_usize..70_000, count in 1_usize..9,
            place: prop::sample::Index, pieces in 1_usize..300_000,
        ) {
            let line: Vec<u8> = (0..length).map(|byte| b'a' + (byte % 23) as u8).chain([b'\n']).collect();
            let mut input = line.repeat(count);
            let place = place.index(input.len());
            input[place] ^= 0x20;
            let report = verify(&mut Pieces(&input, pieces), &line, Lines::All).unwrap();
            prop_assert_eq!(report.lines, (place / line.len()) as u64);
            let Halt::Wrong(wrong) = report.end else { panic!("not found") };
            prop_assert_eq!(wrong.byte, place % line.len() + 1);
            prop_assert_ne!(wrong.expected, wrong.actual);
        }
    }
}
