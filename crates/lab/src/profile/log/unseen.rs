//! What a log does not say, as sentences.

use tenbin_model::words::{and, counted};

use super::Log;
use super::clock::StampKind;
use super::table::Column;

const STOPS: &str = "strace stops a command twice in each call, and its times contain that: short calls take \
                     tens of times as long as without it.";

impl Log {
    /// What is not in this log, or could not be read.
    pub(super) fn unseen(&self) -> Vec<String> {
        let mut unseen = self.unknown_times();
        unseen.extend(self.unknown_stamps());
        if self.made > 0 && !self.threads.named {
            unseen.push(format!(
                "It made {}, of which the log says nothing: `strace -f` follows them.",
                match self.made {
                    1 => "another process or thread".into(),
                    made => format!("{made} processes or threads"),
                }
            ));
        }
        unseen.extend(self.unread_lines());
        if self.without_begin > 0 {
            unseen.push(format!(
                "{} in the log and began outside it; they are counted.",
                calls(self.without_begin, "ends", "end")
            ));
        }
        if self.without_end > 0 {
            unseen.push(format!(
                "{} in the log without an end, though the thread went on; they are not counted.",
                calls(self.without_end, "begins", "begin")
            ));
        }
        unseen
    }

    fn unknown_times(&self) -> Vec<String> {
        let mut unseen = Vec::new();
        match (self.times, self.clock.kind) {
            (false, _) => unseen.push(
                "How long its calls took is not in the log: `strace -T` writes it. Their counts and errors \
                 are."
                .into(),
            ),
            (true, None) => unseen.push(
                "The log has no stamps, so wall time and the time between calls are not known: `strace -ttt` \
                 writes them. The time of a thread is that of its calls."
                    .into(),
            ),
            (true, Some(_)) => unseen.push(
                "`user code` is all time between the calls of the log, an upper bound: threads also waited for \
                 a CPU in it, were stopped by strace, or made calls that were left out (`strace -e`)."
                    .into(),
            ),
        }
        if self.times {
            unseen.push(STOPS.into());
            unseen.push(
                "Whether a thread was on a CPU in a call is not in the log: of threads, calls that wait for \
                 others (as `poll`) are taken for blocked, and all others for time in the kernel."
                    .into(),
            );
        }
        if self.times && self.decimals < 6 {
            unseen.push(format!(
                "The times of calls are in whole {}: shorter ones count nothing.",
                unit(self.decimals)
            ));
        }
        unseen
    }

    fn unknown_stamps(&self) -> Vec<String> {
        let mut unseen = Vec::new();
        if self.clock.kind.is_some() && self.clock.decimals < 6 {
            unseen.push(format!(
                "The stamps of the log are in whole {}: times between calls are no more exact.",
                unit(self.clock.decimals)
            ));
        }
        if self.clock.set_back > 0 {
            let line = if self.clock.set_back == 1 { "line has a stamp" } else { "lines have stamps" };
            unseen.push(format!(
                "{} {line} that are earlier than the line before by more than 0.1 s: somebody set the clock, or \
                 strace wrote lines late (`-z`).",
                self.clock.set_back
            ));
        }
        if self.clock.kind == Some(StampKind::Midnight) && self.clock.midnights > 0 {
            unseen.push(format!(
                "The stamps have no date, and midnight passed {}: a silence of half a day or more is not seen.",
                if self.clock.midnights == 1 { "once".into() } else { format!("{} times", self.clock.midnights) }
            ));
        }
        unseen
    }

    fn unread_lines(&self) -> Option<String> {
        let (first, text) = self.first_unread.as_ref()?;
        let (are, cut) =
            (self.unread - u64::from(self.cut), if self.cut { "The last line is cut off." } else { "" });
        let lines = match are {
            0 => return Some(cut.into()),
            1 => format!("1 of {} lines could not be read: line {first}, `{text}`.", self.lines),
            _ => format!(
                "{are} of {} lines could not be read; the first is line {first}: `{text}`.",
                self.lines
            ),
        };
        Some(format!("{lines} {cut}").trim_end().into())
    }

    pub(super) fn unseen_in_table(&self) -> Vec<String> {
        let tables = &self.tables;
        let mut unseen = vec![
            "A table of strace has sums: when calls were made, by which thread, and what was between them is \
             not in it (`strace -f -T -ttt -o LOG COMMAND` writes a log)."
                .to_string(),
            STOPS.into(),
        ];
        if !tables.has_wall() {
            unseen.push(
                "Whether its times are those on a CPU in the kernel (`strace -c`) or from begin to end \
                 (`strace -c -w`) is not in the table; the first are without all waiting."
                    .into(),
            );
        } else if tables.splits() {
            unseen.push(
                "What a call was not on a CPU is taken for blocked: it may have waited for a CPU too.".into(),
            );
        }
        let missing: Vec<&str> =
            [(Column::Calls, "how often each call was made"), (Column::Errors, "how many failed")]
                .iter()
                .filter(|(column, _)| !tables.has(*column))
                .map(|(_, what)| *what)
                .collect();
        if !missing.is_empty() {
            unseen.push(format!("The table does not say {}.", and(missing)));
        }
        if !tables.has(if tables.has_wall() { Column::WallTotal } else { Column::Seconds }) {
            unseen.push("Its times are averages in whole µs, times the number of calls.".into());
        }
        if tables.ended < tables.begun {
            unseen.push("The table has no row of its sum: it is cut off, and rows may be missing.".into());
        }
        unseen.extend(self.unread_lines());
        unseen
    }
}

/// `1 call ends`, `2 calls end`.
fn calls(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", counted(whole(count), "call"), if count == 1 { one } else { many })
}

fn whole(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// The unit of the last of so many decimals of a second.
fn unit(decimals: u8) -> &'static str {
    match decimals {
        0 => "seconds",
        1 | 2 => "hundredths of a second",
        _ => "milliseconds",
    }
}
