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
pub struct Finding {
    /// Right lines, from the first on.
    pub lines: u64,
    /// Why it looked no further.
    pub end: End,
}

/// Why a test looked no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
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
    pub found: String,
}

impl Finding {
    /// Whether what was examined is at fault.
    pub fn is_fault(&self) -> bool {
        matches!(self.end, End::Wrong(_) | End::TooFew { .. })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.lines;
        let (number, are) = (counted(lines as usize, "line"), if lines == 1 { "is" } else { "are" });
        let right = format!("{number} {are} right");
        match &self.end {
            End::Enough => write!(f, "{right}, as many as were asked for."),
            End::Input { of_a_line: 0 } => write!(f, "{right}; then the input ended."),
            End::Input { of_a_line } => {
                let bytes = counted(*of_a_line, "right byte");
                write!(f, "{right}; then the input ended within a line, after {bytes} of it.")
            }
            End::TooFew { asked } => {
                let (right, were) =
                    (counted(lines as usize, "right line"), if *asked == 1 { "was" } else { "were" });
                write!(
                    f,
                    "Implementation error of what was examined: it ended after {right}, and {asked} {were} asked for."
                )
            }
            End::Nothing => write!(f, "Refused: no byte came, so there is nothing to say about it."),
            End::Wrong(Wrong { byte, expected, found }) => write!(
                f,
                "Implementation error of what was examined: line {} is wrong from its byte {byte} on.\n\
                 expected: {expected}\n\
                 found:    {found}",
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
pub fn verify(input: &mut impl Read, line: &[u8], lines: Lines) -> io::Result<Finding> {
    assert!(!line.is_empty(), "a line has at least its newline");
    let mut expected = vec![0; line.len() + BLOCK];
    fill(&mut expected, line);
    let mut block = vec![0; BLOCK];
    let most = u128::from(lines.most()) * line.len() as u128;
    let mut seen: u128 = 0;
    while seen < most {
        let room = usize::try_from(most - seen).map_or(BLOCK, |left| left.min(BLOCK));
        let came = read(input, &mut block[..room])?;
        let phase = (seen % line.len() as u128) as usize;
        if came == 0 {
            return Ok(ended(seen, phase, line.len(), lines));
        }
        let (found, expected) = (&block[..came], &expected[phase..phase + came]);
        if found != expected {
            let right = found.iter().zip(expected).take_while(|(found, expected)| found == expected).count();
            let right_lines = (seen + right as u128) / line.len() as u128;
            let place = (phase + right) % line.len();
            let mut rest = found[right..].to_vec();
            read_on(input, &mut rest)?;
            return Ok(Finding { lines: right_lines as u64, end: End::Wrong(wrong(line, place, &rest)) });
        }
        seen += came as u128;
    }
    Ok(Finding { lines: lines.most(), end: End::Enough })
}

/// What it means that the input ended after `seen` right bytes, `phase` of them of an unfinished line.
fn ended(seen: u128, phase: usize, line: usize, lines: Lines) -> Finding {
    let end = match lines {
        Lines::Exactly(asked) => End::TooFew { asked },
        Lines::Seed | Lines::All if seen == 0 => End::Nothing,
        Lines::Seed | Lines::All => End::Input { of_a_line: phase },
    };
    Finding { lines: (seen / line as u128) as u64, end }
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
            came => rest.extend_from_slice(&more[..came]),
        }
    }
    Ok(())
}

/// Both lines around the first wrong byte, at `place`; `rest` is what came from there on.
fn wrong(line: &[u8], place: usize, rest: &[u8]) -> Wrong {
    let from = place.saturating_sub(SHOWN);
    // The last byte that came may be the wrong one itself, a newline too early.
    let found = [&line[from..place], rest].concat();
    let shown = |bytes: &[u8]| {
        let whole = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
        let end = whole.min(place - from + SHOWN);
        let (before, after) = (if from > 0 { "…" } else { "" }, if end < whole { "…" } else { "" });
        let text: String =
            String::from_utf8_lossy(&bytes[..end]).chars().flat_map(char::escape_debug).collect();
        format!("{before}{text}{after}")
    };
    Wrong { byte: place + 1, expected: shown(&line[from..]), found: shown(&found) }
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

    fn found(input: &[u8], line: &[u8], lines: Lines) -> Finding {
        let whole = verify(&mut Pieces(input, usize::MAX), line, lines).unwrap();
        for length in [1, 2, 3, 7] {
            assert_eq!(verify(&mut Pieces(input, length), line, lines).unwrap(), whole, "by {length}");
        }
        whole
    }

    fn wrong(lines: u64, byte: usize, expected: &str, found: &str) -> Finding {
        let wrong = Wrong { byte, expected: expected.into(), found: found.into() };
        Finding { lines, end: End::Wrong(wrong) }
    }

    #[test]
    fn every_way_to_end_is_told_from_the_others() {
        let finding = |lines, end| Finding { lines, end };
        let cases: &[(&[u8], &[u8], Lines, Finding)] = &[
            (b"y\ny\ny\n", b"y\n", Lines::Seed, finding(3, End::Input { of_a_line: 0 })),
            (b"y\ny\ny", b"y\n", Lines::All, finding(2, End::Input { of_a_line: 1 })),
            (b"abc\nab", b"abc\n", Lines::All, finding(1, End::Input { of_a_line: 2 })),
            (b"", b"y\n", Lines::All, finding(0, End::Nothing)),
            (b"", b"y\n", Lines::Exactly(1), finding(0, End::TooFew { asked: 1 })),
            (b"y\ny\nx\n", b"y\n", Lines::Exactly(2), finding(2, End::Enough)),
            (b"y\ny", b"y\n", Lines::Exactly(2), finding(1, End::TooFew { asked: 2 })),
            (b"\n\n", b"\n", Lines::All, finding(2, End::Input { of_a_line: 0 })),
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
            assert_eq!(found(input, line, *lines), *expected, "{:?}", String::from_utf8_lossy(input));
        }
    }

    #[test]
    fn what_was_found_is_said_in_the_right_number() {
        let cases = [
            (
                0,
                End::Input { of_a_line: 1 },
                "0 lines are right; then the input ended within a line, after 1 right byte of it.",
            ),
            (
                1,
                End::Input { of_a_line: 2 },
                "1 line is right; then the input ended within a line, after 2 right bytes of it.",
            ),
            (2, End::Input { of_a_line: 0 }, "2 lines are right; then the input ended."),
            (1, End::Enough, "1 line is right, as many as were asked for."),
            (
                0,
                End::TooFew { asked: 1 },
                "Implementation error of what was examined: it ended after 0 right lines, and 1 was asked for.",
            ),
            (
                1,
                End::TooFew { asked: 2 },
                "Implementation error of what was examined: it ended after 1 right line, and 2 were asked for.",
            ),
            (0, End::Nothing, "Refused: no byte came, so there is nothing to say about it."),
        ];
        for (lines, end, expected) in cases {
            assert_eq!(Finding { lines, end }.to_string(), expected);
        }
    }

    #[test]
    fn a_long_line_is_shown_around_its_first_wrong_byte() {
        let line = [vec![b'a'; 1000], b"\n".to_vec()].concat();
        let mut input = line.repeat(2);
        input[1001 + 500] = b'b';
        let around = |byte| format!("…{}{byte}{}…", "a".repeat(32), "a".repeat(31));
        assert_eq!(found(&input, &line, Lines::All), wrong(1, 501, &around('a'), &around('b')));
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
            let finding = verify(&mut Pieces(&input, pieces), &line, Lines::All).unwrap();
            prop_assert_eq!(finding.lines, (place / line.len()) as u64);
            let End::Wrong(wrong) = finding.end else { panic!("not found") };
            prop_assert_eq!(wrong.byte, place % line.len() + 1);
            prop_assert_ne!(wrong.expected, wrong.found);
        }
    }
}
