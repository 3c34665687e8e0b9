//! The specification of each rung: it answers what the plain system call would have answered.

use std::os::unix::process::parent_id;

use tenbin_metal::calls::{Answer, Call, ClockName, Question, RANDOM_BYTES, UNKNOWN};
use tenbin_model::Cpu;

use super::rungs::{Subject, What};
use crate::experiment::Seen;

/// Calls in a row of a pass that is checked; one alone goes before them.
const CHECKED: u64 = 1_000;

/// Looks at a clock of the kernel's until it has moved: some tenths of a second, where a coarse clock takes
/// some milliseconds.
const LOOKS: u32 = 1_000_000;

/// What a rung promises, and what is known of earlier answers.
pub(super) struct Promise {
    what: What,
    /// The CPU that everything is called on.
    cpu: Cpu,
    /// The parent, as of the last look.
    parent: u32,
    /// What the kernel said after the last epoch; an answer of the next one comes later.
    reached: u128,
    /// The last epoch's last answer.
    before: Answer,
}

impl Promise {
    pub(super) fn of(what: What, cpu: Cpu) -> Self {
        Self { what, cpu, parent: parent_id(), reached: 0, before: Answer::default() }
    }

    /// Calls `subject` on a pass that is not timed, and holds its answers against the kernel's own.
    pub(super) fn held(&self, subject: &Subject) -> Seen {
        let question = match self.what {
            What::Sum(_) => return sums(subject),
            What::Asked(_, question) => question,
        };
        let before = by_the_kernel(question);
        let first = subject.call(1);
        let moved = moved_beyond(question, &first);
        let answers = [first, subject.call(CHECKED)];
        let after = by_the_kernel(question);
        let (parent, cpu) = (parent_id(), self.cpu.0);
        for answer in answers {
            if let Err(seen) = returned(question, &answer, &[parent]) {
                return Seen::Broken(seen);
            }
            if question == Question::Cpu && answer.cpu_and_node().0 != cpu {
                return Seen::Broken(format!("CPU {} on {}", answer.cpu_and_node().0, self.cpu));
            }
        }
        match question {
            Question::Unknown => Seen::Met("ENOSYS".into()),
            Question::Parent | Question::Own => Seen::Met(format!("process {parent}, which is the parent")),
            Question::Cpu => Seen::Met(format!("CPU {cpu}, where it is held")),
            Question::Random if answers[0].written == answers[1].written => {
                Seen::Broken("the same random bytes twice".into())
            }
            Question::Random => Seen::Met(format!("{RANDOM_BYTES} bytes, and others the next time")),
            Question::Resolution(_) => {
                let stated = answers[1].nanoseconds();
                let seen = format!("{stated} ns, and {before} ns by system call");
                if stated == before { Seen::Met(seen) } else { Seen::Broken(seen) }
            }
            Question::Clock(_) | Question::TimeOfDay | Question::Seconds => {
                let unit = unit(question);
                let [first, last] = answers.map(|answer| in_answer(question, &answer));
                if first > 0 && [before, first, moved, last, after].is_sorted() {
                    let between = after - before;
                    Seen::Met(format!("between two answers of the kernel, {between} {unit} apart"))
                } else {
                    Seen::Broken(format!(
                        "{first} and {last} {unit}; the kernel said {before} before, {moved} in between and {after} after"
                    ))
                }
            }
        }
    }

    /// Holds the last answer of an epoch of `calls` against what can be known without a pass of its own.
    ///
    /// A clock that can be set may go back for that reason alone, so its order is a matter of the check.
    ///
    /// # Errors
    /// What was seen instead.
    pub(super) fn held_while_timed(&mut self, answer: &Answer, calls: u64) -> Result<(), String> {
        let question = match self.what {
            What::Sum(_) if answer.returned as u64 == calls => return Ok(()),
            What::Sum(_) => return Err(format!("the sum is {} after {calls} calls", answer.returned)),
            What::Asked(_, question) => question,
        };
        // The parent of before may have ended during the epoch.
        let parents = [self.parent, parent_id()];
        self.parent = parents[1];
        returned(question, answer, &parents)?;
        let before = std::mem::replace(&mut self.before, *answer);
        match question {
            Question::Clock(clock) if clock != ClockName::Realtime && clock != ClockName::RealtimeCoarse => {
                let (seen, now) = (answer.nanoseconds(), by_the_kernel(question));
                let reached = std::mem::replace(&mut self.reached, now);
                if (reached..=now).contains(&seen) {
                    Ok(())
                } else {
                    Err(format!("{seen} ns between {reached} and {now} of the kernel"))
                }
            }
            Question::Cpu if answer.cpu_and_node().0 != self.cpu.0 => {
                Err(format!("CPU {} on {}", answer.cpu_and_node().0, self.cpu))
            }
            Question::Random if answer.written == before.written => Err("the same random bytes twice".into()),
            _ => Ok(()),
        }
    }
}

/// Sums of one call, of two and of many.
fn sums(subject: &Subject) -> Seen {
    for calls in [1, 2, CHECKED] {
        let sum = subject.call(calls).returned;
        if sum as u64 != calls {
            return Seen::Broken(format!("the sum is {sum} after {calls} calls"));
        }
    }
    Seen::Met(format!("the sum is {CHECKED} after {CHECKED} calls"))
}

fn returned(question: Question, answer: &Answer, parents: &[u32]) -> Result<(), String> {
    let returned = answer.returned;
    let as_promised = match question {
        Question::Unknown => returned == UNKNOWN,
        Question::Parent | Question::Own => parents.iter().any(|&parent| i64::from(parent) == returned),
        Question::Seconds => returned as u64 == answer.written[0],
        Question::Random => returned == RANDOM_BYTES as i64,
        Question::Clock(_) | Question::TimeOfDay | Question::Cpu | Question::Resolution(_) => returned == 0,
    };
    if as_promised { Ok(()) } else { Err(format!("it returned {returned}")) }
}

/// What the plain system call says now, in the unit of the question; 0 where it says no number. The date in
/// seconds is one of the kernel's last tick, as that of `time` is.
fn by_the_kernel(question: Question) -> u128 {
    let (asked, divisor) = match question {
        Question::TimeOfDay => (Question::Clock(ClockName::Realtime), 1_000),
        Question::Seconds => (Question::Clock(ClockName::RealtimeCoarse), 1_000_000_000),
        Question::Clock(_) | Question::Resolution(_) => (question, 1),
        _ => return 0,
    };
    let answer = Call::of_the_kernel(asked).map(|call| call.run(1)).unwrap_or_default();
    answer.nanoseconds() / divisor
}

/// The kernel's clock once it is beyond `answer`: a clock that stands still has fallen behind it by then. A
/// second is not waited for, and neither is a clock of the kernel's that stands still itself.
fn moved_beyond(question: Question, answer: &Answer) -> u128 {
    let answer = in_answer(question, answer);
    let mut looks = match question {
        Question::Clock(_) | Question::TimeOfDay => LOOKS,
        _ => 1,
    };
    loop {
        let now = by_the_kernel(question);
        looks -= 1;
        if looks == 0 || now > answer {
            return now;
        }
    }
}

/// The time that this answer says, in the unit of the question.
fn in_answer(question: Question, answer: &Answer) -> u128 {
    match question {
        Question::TimeOfDay => answer.microseconds(),
        Question::Seconds => u128::from(answer.written[0]),
        _ => answer.nanoseconds(),
    }
}

fn unit(question: Question) -> &'static str {
    match question {
        Question::TimeOfDay => "µs",
        Question::Seconds => "s",
        _ => "ns",
    }
}
