//! Stamps of lines, as nanoseconds of one clock.

/// When a line was begun, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Of what it is the time.
    pub(super) kind: StampKind,
    /// How long ago that is.
    pub(super) nanoseconds: u64,
    /// How many decimals of a second it has.
    pub(super) decimals: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StampKind {
    /// The line before (`-r`).
    LineBefore,
    /// 1970 (`-ttt`).
    Epoch,
    /// Midnight (`-t`, `-tt`).
    Midnight,
}

impl Stamp {
    /// The stamp that a text begins with, and its length: a space follows. Only `-r` pads its seconds.
    pub(super) fn of(text: &[u8], padded: bool) -> Option<(Self, usize)> {
        let (stamp, length) = if text.get(2) == Some(&b':') {
            let part = |at: usize, most: u64| {
                let (value, digits) = number(&text[at..(at + 2).min(text.len())])?;
                (digits == 2 && value <= most).then_some(value)
            };
            let (hours, minutes) = (part(0, 23)?, part(3, 59)?);
            let (rest, decimals, length) = seconds(text.get(6..)?)?;
            if text.get(5) != Some(&b':') || rest >= 61 * SECOND {
                return None;
            }
            let nanoseconds = (hours * 60 + minutes) * 60 * SECOND + rest;
            (Self { kind: StampKind::Midnight, nanoseconds, decimals }, 6 + length)
        } else {
            let (nanoseconds, decimals, length) = seconds(text)?;
            let kind = if padded { StampKind::LineBefore } else { StampKind::Epoch };
            (Self { kind, nanoseconds, decimals }, length)
        };
        (text.get(length) == Some(&b' ')).then_some((stamp, length))
    }
}

const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 86_400 * SECOND;

/// Makes times of stamps.
#[derive(Default)]
pub(super) struct Clock {
    /// What its stamps count from, as the first one has it; others are no stamps.
    pub(super) kind: Option<StampKind>,
    pub(super) first: u64,
    pub(super) latest: u64,
    /// The largest number of decimals of a stamp.
    pub(super) decimals: u8,
    /// Times that were earlier than the line before, by more than threads that write one log explain.
    pub(super) set_back: u64,
    /// Midnights within the log.
    pub(super) midnights: u64,
    last: u64,
}

impl Clock {
    pub(super) fn time(&mut self, stamp: Stamp) -> Option<u64> {
        let begins = self.kind.is_none();
        let mut stamp = stamp;
        // A day of silence has six digits of seconds, and no padding.
        if self.kind == Some(StampKind::LineBefore) && stamp.nanoseconds < 1_000 * DAY {
            stamp.kind = StampKind::LineBefore;
        }
        if *self.kind.get_or_insert(stamp.kind) != stamp.kind {
            return None;
        }
        self.decimals = self.decimals.max(stamp.decimals);
        let time = match stamp.kind {
            // What was before the first line is no time of the log.
            StampKind::LineBefore if begins => 0,
            StampKind::LineBefore => self.last.saturating_add(stamp.nanoseconds),
            StampKind::Epoch => stamp.nanoseconds,
            StampKind::Midnight => self.of_day(stamp.nanoseconds),
        };
        if begins {
            self.first = time;
        } else if time.saturating_add(SECOND / 10) < self.last {
            self.set_back += 1;
        }
        self.last = time;
        self.reaches(time);
        Some(time)
    }

    /// Something lasted until this time.
    pub(super) fn reaches(&mut self, time: u64) {
        self.latest = self.latest.max(time);
    }

    /// A time of day, on the day that it must be: more than half a day back is the next one, and nearly a day
    /// ahead a line of the day before that was written late.
    fn of_day(&mut self, nanoseconds: u64) -> u64 {
        let before = self.last.saturating_sub(self.midnights * DAY);
        if nanoseconds.saturating_add(DAY / 2) < before {
            self.midnights += 1;
        } else if self.midnights > 0 && nanoseconds > before.saturating_add(DAY / 24 * 23) {
            return (self.midnights - 1) * DAY + nanoseconds;
        }
        self.midnights * DAY + nanoseconds
    }
}

/// The natural number that a text begins with, and how many digits it has: at most 19.
pub(super) fn number(text: &[u8]) -> Option<(u64, usize)> {
    // One loop, as each line has several: what is built to be small has no closure inlined.
    let (mut value, mut digits) = (0_u64, 0);
    while let Some(digit @ b'0'..=b'9') = text.get(digits) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        digits += 1;
    }
    (1..20).contains(&digits).then_some((value, digits))
}

/// A length of time in nanoseconds, from seconds and their decimals: `12`, `12.345`; how many decimals there
/// are and how many letters. None above 317 years.
pub(super) fn seconds(text: &[u8]) -> Option<(u64, u8, usize)> {
    let (whole, digits) = number(text)?;
    if whole > 9_999_999_999 {
        return None;
    }
    if text.get(digits) != Some(&b'.') {
        return Some((whole * 1_000_000_000, 0, digits));
    }
    let (part, decimals) = number(&text[digits + 1..])?;
    let decimals = u8::try_from(decimals).ok().filter(|&decimals| decimals <= 9)?;
    let nanoseconds = whole * 1_000_000_000 + part * 10_u64.pow(9 - u32::from(decimals));
    Some((nanoseconds, decimals, digits + 1 + usize::from(decimals)))
}
