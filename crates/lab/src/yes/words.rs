//! What the words of a command line ask of `yes`.
//!
//! GNU's `yes` reads them by `getopt_long(3)` with no letters and the two names `help` and `version`: the
//! first option decides, wherever it stands, a name may be cut short as long as one meaning is left, and the
//! first `--` is taken away. What is wrong is said in the C library's own words.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Options that GNU's `yes` knows, without their dashes.
const OPTIONS: [(&str, Asked); 2] = [("help", Asked::Help), ("version", Asked::Version)];

/// Where options may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Anywhere before `--`, as GNU has it.
    Any,
    /// Before the first word that is none, as POSIX has it (`POSIXLY_CORRECT`).
    First,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// This line without end; its newline is part of it.
    Line(Vec<u8>),
    /// What it does.
    Help,
    /// Which version it is.
    Version,
    /// Something that it does not understand; the bytes say what, as GNU's does. Options are bytes, not text.
    Nothing(Vec<u8>),
}

/// How many lines a test takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// As many as the published tester, or fewer where the input ends.
    Seed,
    /// To the end of the input.
    All,
    /// This many, and fewer are a fault.
    Exactly(u64),
}

impl Lines {
    /// The published loop runs from 1 while it is below `0xfffffff`.
    pub const SEED: u64 = 0xfff_ffff - 1;

    /// The number at which a test stops.
    pub fn most(self) -> u64 {
        match self {
            Self::Seed => Self::SEED,
            Self::All => u64::MAX,
            Self::Exactly(lines) => lines,
        }
    }
}

/// A test of what another `yes` writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The line that is expected; its newline is part of it.
    pub line: Vec<u8>,
    /// How many of them.
    pub lines: Lines,
}

/// What the words after the program's name ask for.
pub fn read(words: &[OsString], placement: Placement) -> Asked {
    let mut strings = Vec::new();
    for (place, word) in words.iter().enumerate() {
        let bytes = word.as_bytes();
        if bytes == b"--" {
            strings.extend(&words[place + 1..]);
            break;
        }
        if bytes.len() > 1 && bytes[0] == b'-' {
            return option(bytes);
        }
        if placement == Placement::First {
            strings.extend(&words[place..]);
            break;
        }
        strings.push(word);
    }
    Asked::Line(joined(&strings))
}

/// What one option asks for, by the rules of `getopt_long(3)`.
fn option(word: &[u8]) -> Asked {
    let Some(long) = word.strip_prefix(b"--") else {
        return Asked::Nothing([b"invalid option -- '", &word[1..2], b"'"].concat());
    };
    let (name, has_value) = match long.iter().position(|&byte| byte == b'=') {
        Some(place) => (&long[..place], true),
        None => (long, false),
    };
    let meant: Vec<_> = OPTIONS.iter().filter(|(known, _)| known.as_bytes().starts_with(name)).collect();
    match meant.as_slice() {
        [] => Asked::Nothing([b"unrecognized option '", word, b"'"].concat()),
        [(known, _)] if has_value => {
            Asked::Nothing(format!("option '--{known}' doesn't allow an argument").into_bytes())
        }
        [(_, asked)] => asked.clone(),
        several => {
            let names: String = several.iter().map(|(known, _)| format!(" '--{known}'")).collect();
            let message = [b"option '", word, b"' is ambiguous; possibilities:", names.as_bytes()];
            Asked::Nothing(message.concat())
        }
    }
}

/// What the words after `--verify` ask for: `--lines N`, then strings. A string that begins with a dash comes
/// after `--`.
///
/// # Errors
/// What is wrong with them, for a usage error.
pub fn read_test(words: &[OsString]) -> Result<Test, String> {
    let mut lines = Lines::Seed;
    let mut rest = words;
    while let Some((word, others)) = rest.split_first() {
        match word.as_bytes() {
            b"--" => {
                rest = others;
                break;
            }
            b"--lines" => {
                let (number, others) = others.split_first().ok_or("--lines needs a number, or `all`")?;
                (lines, rest) = (number_of_lines(number)?, others);
            }
            bytes if bytes.starts_with(b"--lines=") => {
                (lines, rest) = (number_of_lines(OsStr::from_bytes(&bytes[b"--lines=".len()..]))?, others);
            }
            bytes if bytes.len() > 1 && bytes[0] == b'-' => {
                let word = word.to_string_lossy();
                return Err(format!(
                    "--verify knows no option {word}; a string that begins with a dash comes after --"
                ));
            }
            _ => break,
        }
    }
    Ok(Test { line: joined(&rest.iter().collect::<Vec<_>>()), lines })
}

fn number_of_lines(word: &OsStr) -> Result<Lines, String> {
    let wrong = || format!("--lines takes a number from 1 on, or `all`, not {}", word.to_string_lossy());
    match word.to_str() {
        Some("all") => Ok(Lines::All),
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().ok().filter(|&lines| lines > 0).map(Lines::Exactly).ok_or_else(wrong)
        }
        _ => Err(wrong()),
    }
}

/// The strings with a space between them and a newline at the end; `y` if there is none.
fn joined(strings: &[&OsString]) -> Vec<u8> {
    let mut line = match strings {
        [] => b"y".to_vec(),
        [first, rest @ ..] => {
            let mut line = first.as_os_str().to_owned();
            for string in rest {
                line.push(" ");
                line.push(string);
            }
            line.into_vec()
        }
    };
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&[u8]]) -> Vec<OsString> {
        words.iter().map(|word| OsStr::from_bytes(word).to_owned()).collect()
    }

    fn line(bytes: &[u8]) -> Asked {
        Asked::Line(bytes.to_vec())
    }

    fn nothing(bytes: &[u8]) -> Asked {
        Asked::Nothing(bytes.to_vec())
    }

    #[test]
    fn words_mean_what_they_mean_to_gnu() {
        use Placement::{Any, First};
        let cases: &[(Placement, &[&[u8]], Asked)] = &[
            (Any, &[], line(b"y\n")),
            (Any, &[b"a", b"b"], line(b"a b\n")),
            (Any, &[b""], line(b"\n")),
            (Any, &[b"", b""], line(b" \n")),
            (Any, &[b"\xff\xfe", b"\xc3"], line(b"\xff\xfe \xc3\n")),
            (Any, &[b"-"], line(b"-\n")),
            (Any, &[b"--"], line(b"y\n")),
            (Any, &[b"--", b"--help"], line(b"--help\n")),
            (Any, &[b"a", b"--", b"b"], line(b"a b\n")),
            (Any, &[b"a", b"--", b"--", b"b"], line(b"a -- b\n")),
            (Any, &[b"--help"], Asked::Help),
            (Any, &[b"a", b"--h"], Asked::Help),
            (Any, &[b"--version", b"--help"], Asked::Version),
            (Any, &[b"a", b"--ver", b"-x"], Asked::Version),
            (Any, &[b"-x", b"--help"], nothing(b"invalid option -- 'x'")),
            (Any, &[b"-hx"], nothing(b"invalid option -- 'h'")),
            (Any, &[b"-\xc3\xa9"], nothing(b"invalid option -- '\xc3'")),
            (Any, &[b"--foo=bar"], nothing(b"unrecognized option '--foo=bar'")),
            (Any, &[b"--helpx"], nothing(b"unrecognized option '--helpx'")),
            (Any, &[b"--he=3"], nothing(b"option '--help' doesn't allow an argument")),
            (Any, &[b"--=x"], nothing(b"option '--=x' is ambiguous; possibilities: '--help' '--version'")),
            (First, &[b"a", b"--version"], line(b"a --version\n")),
            (First, &[b"a", b"--", b"-x"], line(b"a -- -x\n")),
            (First, &[b"--", b"a", b"--", b"-x"], line(b"a -- -x\n")),
            (First, &[b"--version", b"a"], Asked::Version),
        ];
        for (placement, given, expected) in cases {
            assert_eq!(read(&words(given), *placement), *expected, "{placement:?} {:?}", words(given));
        }
    }

    #[test]
    fn a_test_takes_a_number_of_lines_and_strings() {
        let test = |line: &[u8], lines| Some(Test { line: line.to_vec(), lines });
        let cases: &[(&[&[u8]], Option<Test>)] = &[
            (&[], test(b"y\n", Lines::Seed)),
            (&[b"a", b"b"], test(b"a b\n", Lines::Seed)),
            (&[b"--lines", b"7", b"a"], test(b"a\n", Lines::Exactly(7))),
            (&[b"--lines=all"], test(b"y\n", Lines::All)),
            (&[b"--lines=1", b"--", b"--lines"], test(b"--lines\n", Lines::Exactly(1))),
            (&[b"a", b"--lines"], test(b"a --lines\n", Lines::Seed)),
            (&[b"-"], test(b"-\n", Lines::Seed)),
            (&[b"--lines"], None),
            (&[b"--lines", b"0"], None),
            (&[b"--lines=+1"], None),
            (&[b"--lines="], None),
            (&[b"--lines=18446744073709551616"], None),
            (&[b"--line=1"], None),
            (&[b"-x"], None),
        ];
        for (given, expected) in cases {
            assert_eq!(read_test(&words(given)).ok(), *expected, "{:?}", words(given));
        }
    }
}
