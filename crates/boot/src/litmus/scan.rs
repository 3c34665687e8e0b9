//! Text to words, with the line of each.

use super::ReadError;
use crate::isa::Register;

/// A word of the initial state or of the condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// Letters, digits, `_`, `.` and `$` that begin with no digit.
    Name(String),
    /// A number, decimal or after `0x`, with its sign.
    Number(i128),
    /// Anything else: a bracket, `=`, `/\` and so on.
    Sign(&'static str),
}

/// Longer signs first: the first that fits is taken.
const SIGNS: &[&str] = &[
    "/\\", "\\/", "&&", "||", "=>", "<>", "!=", "==", "=", "~", "(", ")", "[", "]", "{", "}", ";", ":", ",",
    "*", "&", "!",
];

/// The text with every comment `(* … *)`, which may be nested, replaced by blanks; its lines stay where they
/// are.
///
/// What is never closed and begins before the first brace is no comment: free text stands there.
pub(super) fn without_comments(text: &str) -> Result<String, ReadError> {
    let brace = text.find('{').unwrap_or(0);
    blanked(text).or_else(|(opened, error)| {
        if opened >= brace {
            return Err(error);
        }
        let rest = blanked(&text[brace..]).map_err(|(_, error)| {
            let line = error.line + text[..brace].matches('\n').count();
            ReadError { line, ..error }
        })?;
        Ok(text[..brace].to_owned() + &rest)
    })
}

/// The text without its comments, or where one is opened that is never closed.
fn blanked(text: &str) -> Result<String, (usize, ReadError)> {
    let mut out = String::with_capacity(text.len());
    let (mut depth, mut line, mut opened) = (0_usize, 1, (0, 1));
    let mut rest = text.char_indices().peekable();
    while let Some((at, each)) = rest.next() {
        let next = rest.peek().map(|&(_, next)| next);
        if each == '(' && next == Some('*') {
            if depth == 0 {
                opened = (at, line);
            }
            depth += 1;
            rest.next();
            out.push_str("  ");
        } else if depth > 0 && each == '*' && next == Some(')') {
            depth -= 1;
            rest.next();
            out.push_str("  ");
        } else if each == '\n' {
            line += 1;
            out.push('\n');
        } else {
            out.push(if depth > 0 { ' ' } else { each });
        }
    }
    if depth > 0 {
        let (at, line) = opened;
        return Err((at, ReadError { line, reason: "a comment is opened and never closed".to_owned() }));
    }
    Ok(out)
}

/// The words of `text`, whose first line is line `first`.
pub(super) fn words(text: &str, first: usize) -> Result<Vec<(Token, usize)>, ReadError> {
    let mut words = Vec::new();
    for (number, whole) in text.lines().enumerate() {
        let line = first + number;
        let mut rest = whole.trim_start();
        while let Some(begin) = rest.chars().next() {
            let (word, length) = if begin.is_ascii_digit() || (begin == '-' && digit_follows(rest)) {
                let length = 1 + span(&rest[1..], |each| each.is_ascii_alphanumeric());
                let reason = || format!("`{}` is not a number", &rest[..length]);
                let number =
                    number_of(&rest[..length]).ok_or_else(|| ReadError { line, reason: reason() })?;
                (Token::Number(number), length)
            } else if is_name(begin) {
                let length = span(rest, |each| is_name(each) || each.is_ascii_digit());
                (Token::Name(rest[..length].to_owned()), length)
            } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                (Token::Sign(sign), sign.len())
            } else {
                return Err(ReadError { line, reason: format!("`{begin}` has no meaning here") });
            };
            words.push((word, line));
            rest = rest[length..].trim_start();
        }
    }
    Ok(words)
}

/// A number as it is written in a test: decimal or after `0x`, with a sign or without.
pub(super) fn number_of(text: &str) -> Option<i128> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let magnitude = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16),
        None => digits.parse(),
    };
    let magnitude = i128::from(magnitude.ok()?);
    Some(if negative { -magnitude } else { magnitude })
}

fn digit_follows(text: &str) -> bool {
    text[1..].starts_with(|each: char| each.is_ascii_digit())
}

fn is_name(each: char) -> bool {
    each.is_ascii_alphabetic() || matches!(each, '_' | '.' | '$')
}

fn span(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|each| !belongs(each)).unwrap_or(text.len())
}

/// How deep conditions may stand in each other: the reader's stack must hold them.
const DEEPEST: usize = 100;

pub(super) struct Tokens {
    words: Vec<(Token, usize)>,
    next: usize,
    last_line: usize,
    depth: usize,
}

impl Tokens {
    pub(super) fn new(words: Vec<(Token, usize)>, last_line: usize) -> Self {
        Self { words, next: 0, last_line, depth: 0 }
    }

    pub(super) fn peek(&self) -> Option<&Token> {
        self.words.get(self.next).map(|(word, _)| word)
    }

    pub(super) fn second(&self) -> Option<&Token> {
        self.words.get(self.next + 1).map(|(word, _)| word)
    }

    pub(super) fn take(&mut self) -> Option<Token> {
        let word = self.peek().cloned();
        self.next += usize::from(word.is_some());
        word
    }

    pub(super) fn accept(&mut self, sign: &str) -> bool {
        let fits = self.peek() == Self::sign(sign).as_ref();
        self.next += usize::from(fits);
        fits
    }

    pub(super) fn accept_name(&mut self, name: &str) -> bool {
        let fits = matches!(self.peek(), Some(Token::Name(each)) if each == name);
        self.next += usize::from(fits);
        fits
    }

    /// A register that is named.
    pub(super) fn register(&mut self) -> Result<Register, ReadError> {
        let Some(Token::Name(name)) = self.peek() else {
            return Err(self.error("a register is expected"));
        };
        let unknown = || self.error(format!("RISC-V has no register `{name}`"));
        let register = Register::named(name).ok_or_else(unknown)?;
        self.next += 1;
        Ok(register)
    }

    pub(super) fn expect(&mut self, sign: &str) -> Result<(), ReadError> {
        if self.accept(sign) { Ok(()) } else { Err(self.error(format!("`{sign}` is expected"))) }
    }

    /// Reads what stands inside of something else, with a bound to how deep that goes.
    pub(super) fn inside<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        if self.depth == DEEPEST {
            return Err(self.error(format!("conditions may be nested {DEEPEST} deep, and no deeper")));
        }
        self.depth += 1;
        let inner = read(self);
        self.depth -= 1;
        inner
    }

    pub(super) fn error(&self, reason: impl Into<String>) -> ReadError {
        let line = self.words.get(self.next).map_or(self.last_line, |&(_, line)| line);
        ReadError { line, reason: reason.into() }
    }

    fn sign(sign: &str) -> Option<Token> {
        SIGNS.iter().find(|each| **each == sign).map(|each| Token::Sign(each))
    }
}
