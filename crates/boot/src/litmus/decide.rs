//! Decides litmus tests, and tells what each may end with.

use super::answer::{Decided, Litmus, Settled, Tried};
use super::{ReadError, Test};
use crate::axiomatic::{Limits, Model, NoAnswer, outcomes};
use crate::pool::{self, Means, Turn};

const INTERRUPTED: &str = "tenbin was interrupted before it was decided";

/// A file that was named, and what it holds, or why that cannot be read. It is asked for when the file has
/// its turn.
pub struct File<'a> {
    /// The name.
    pub name: String,
    /// The text.
    pub text: Box<dyn Fn() -> Result<String, String> + Sync + 'a>,
}

/// Decides the tests in all files. Instructions are executed `unroll` times at most.
pub fn decide(files: &[File<'_>], memory: Model, unroll: u32, means: &Means<'_>) -> Litmus {
    let one = |file: &File<'_>, turn: &Turn<'_>| {
        let (name, settled) = match (file.text)().map_err(|why| (None, why)).and_then(|text| read(&text)) {
            Ok(test) => {
                let settled = settle(&test, memory, unroll, turn, means);
                (Some(test.name), settled)
            }
            Err((line, why)) => (None, Settled::Unreadable { line, why }),
        };
        (means.progress)((turn.answered)() + 1, files.len(), 0);
        Tried { file: file.name.clone(), name, settled }
    };
    let needs_more = |tried: &Tried| {
        matches!(tried.settled, Settled::NotFinished { memory: Some(_), .. }) && !(means.interrupted)()
    };
    let tests = pool::all(files, means, one, needs_more);
    Litmus { schema: Litmus::SCHEMA.into(), memory, unroll, seconds: means.seconds, tests }
}

fn read(text: &str) -> Result<Test, (Option<usize>, String)> {
    Test::read(text).map_err(|ReadError { line, reason }| (Some(line), reason))
}

/// Decides a test. Its time begins when it has been read.
fn settle(test: &Test, memory: Model, unroll: u32, turn: &Turn<'_>, means: &Means<'_>) -> Settled {
    let time = means.timer();
    let stop = || means.is_over(time());
    let limits = Limits { unroll, steps: u64::MAX, bytes: turn.bytes, stop: Some(&stop) };
    match outcomes(test, memory, limits) {
        Ok(outcomes) => Settled::Decided(Decided {
            asked: test.question.quantifier,
            condition: test.proposition(&test.question.proposition),
            states: outcomes.states.iter().map(|state| test.outcome(state)).collect(),
            having: outcomes.having(test),
            holds: outcomes.holds(test),
            cut: outcomes.cut,
            steps: outcomes.steps,
        }),
        Err(NoAnswer::NotFinished { .. }) if (means.interrupted)() => {
            Settled::Refused { why: INTERRUPTED.into() }
        }
        Err(NoAnswer::NotFinished { steps }) => Settled::NotFinished { steps, memory: None },
        Err(NoAnswer::Memory { bytes, steps }) => Settled::NotFinished { steps, memory: Some(bytes) },
        Err(refused @ NoAnswer::Refused(_)) => Settled::Refused { why: refused.to_string() },
    }
}
