//! One process that speaks the protocol of workers: it is asked for work, and times it itself.

use std::fs::File;
use std::process::Command;
use std::time::Duration;

use tenbin_metal::child::{Bounds, Dialogue, End, Reply};
use tenbin_metal::{Counts, Fault};
use tenbin_model::{Cpu, Picoseconds};

use crate::ending;
use crate::experiment::{Failure, Seen};

/// Bytes of one answer, and of standard error that are kept.
const MOST_OUTPUT: usize = 1 << 16;

/// More of what is no answer is not quoted.
const QUOTED: usize = 60;

/// A worker, as long as its process lives. The process is ended with all that it started when this is
/// dropped.
pub(crate) struct Worker {
    dialogue: Dialogue,
    within: Duration,
    /// Variants that it was timed at since it started.
    warm: Vec<usize>,
}

/// What a worker answered when it was asked for work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Work {
    /// The time that it took, by the worker's clock.
    pub(crate) elapsed: Picoseconds,
    /// The time by the middle one of the calls that it was done in, if it was divided into calls.
    pub(crate) middle_call: Option<Picoseconds>,
    /// The time until the answer had come, by this process's clock.
    pub(crate) asked: Picoseconds,
    /// What shows that it was done; empty where it shows nothing.
    pub(crate) evidence: String,
}

impl Worker {
    /// Starts `command` on a CPU. No answer may take longer than `within`.
    pub(crate) fn start(command: Command, cpu: Option<Cpu>, within: Duration) -> Result<Self, Fault> {
        let bounds = Bounds { output: MOST_OUTPUT, cpu, ..Bounds::within(within) };
        Ok(Self { dialogue: Dialogue::start(command, bounds)?, within, warm: Vec::new() })
    }

    /// Gives it all of a file, for what starts the worker to take in.
    pub(crate) fn feed(&mut self, file: File) {
        self.dialogue.feed(file, self.within);
    }

    /// Has it end by itself, if it does so within the time.
    pub(crate) fn finish(&mut self, within: Duration) {
        self.dialogue.finish(within);
    }

    /// Whether the variant of this number was not timed yet since it started; from now on it was.
    pub(super) fn is_cold(&mut self, number: usize) -> bool {
        let is_cold = !self.warm.contains(&number);
        if is_cold {
            self.warm.push(number);
        }
        is_cold
    }

    /// The names of what it can do; a `!` before one says that it is wrong on purpose.
    pub(crate) fn variants(&mut self) -> Result<Vec<String>, Failure> {
        let (line, _) = self.ask("variants")?;
        let names: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        if names.is_empty() {
            Err(nonsense("variants", &line, "names, with spaces between them"))
        } else {
            Ok(names)
        }
    }

    /// Whether the variant of this number does what it has to, by its own word.
    pub(crate) fn check(&mut self, number: usize) -> Result<Seen, Failure> {
        let question = format!("check {number}");
        let (line, _) = self.ask(&question)?;
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match word {
            "ok" => Ok(Seen::Met(rest.to_owned())),
            "wrong" => Ok(Seen::Broken(rest.to_owned())),
            _ => Err(nonsense(&question, &line, "`ok`, or `wrong` and what is wrong")),
        }
    }

    /// Has the variant of this number done so many operations.
    pub(crate) fn run(&mut self, number: usize, operations: u64) -> Result<Work, Failure> {
        self.work(&format!("run {number} {operations}"))
    }

    /// The same in several calls: a question that only the runner is asked.
    pub(super) fn calls(&mut self, number: usize, operations: u64) -> Result<Work, Failure> {
        let work = self.work(&format!("calls {number} {operations}"))?;
        let Some((evidence, middle)) = work.evidence.split_once(' ') else { return Ok(work) };
        Ok(Work { middle_call: nanoseconds(middle), evidence: evidence.to_owned(), ..work })
    }

    fn work(&mut self, question: &str) -> Result<Work, Failure> {
        let (line, asked) = self.ask(question)?;
        let (time, evidence) = line.split_once(' ').unwrap_or((&line, ""));
        let elapsed = nanoseconds(time).ok_or_else(|| nonsense(question, &line, "a time in nanoseconds"))?;
        // The last unit of a clock may have been rounded up.
        if elapsed > asked + Picoseconds::from_micros(1) {
            return Err(Failure::Wrong(format!(
                "asked `{question}`, it says that this took {elapsed}, and answered within {asked}: its clock is wrong"
            )));
        }
        Ok(Work { elapsed, middle_call: None, asked, evidence: evidence.to_owned() })
    }

    /// What hardware counted of the latest work in user space: a question that only the runner is asked. None
    /// where it counts nothing. It counts from the first such question on.
    pub(super) fn counts(&mut self) -> Result<Option<Counts>, Failure> {
        let (line, _) = self.ask("counts")?;
        let mut numbers = line.split_whitespace().map(|number| number.parse().ok());
        let counts = numbers.next().flatten().zip(numbers.next().flatten());
        Ok(counts.map(|(instructions, cycles)| Counts { instructions, cycles }))
    }

    fn ask(&mut self, question: &str) -> Result<(String, Picoseconds), Failure> {
        let (reply, asked) = self.dialogue.ask(question, self.within)?;
        let wrong = match reply {
            Reply::Line(line) => return Ok((line, asked)),
            Reply::Interrupted => return Err(interrupted()),
            Reply::Ended(end) => {
                let how = match end {
                    End::Exited(status) => format!("ended with status {status}"),
                    End::Signalled(signal) => format!("was ended by {}", ending::signal(signal)),
                    End::OutOfTime => "ended".into(),
                };
                format!("asked `{question}`, it {how}{}", ending::last_words(self.dialogue.errors()))
            }
            Reply::Silence { begun: 0 } => {
                format!(
                    "asked `{question}`, it did not answer within {:?}{}",
                    self.within,
                    ending::last_words(self.dialogue.errors())
                )
            }
            Reply::Silence { begun } => {
                format!("asked `{question}`, it wrote {begun} bytes and no newline")
            }
        };
        Err(Failure::Wrong(wrong))
    }
}

/// Whoever asked for the end drops what was measured.
fn interrupted() -> Failure {
    Failure::Machine(Fault::system("wait for a worker", std::io::ErrorKind::Interrupted))
}

fn nonsense(question: &str, line: &str, wanted: &str) -> Failure {
    let mut quoted: String = line.chars().take(QUOTED).collect();
    if quoted.len() < line.len() {
        quoted.push('…');
    }
    Failure::Wrong(format!("asked `{question}`, it answered `{quoted}`, which is not {wanted}"))
}

/// A time in nanoseconds, with a fraction or without.
fn nanoseconds(text: &str) -> Option<Picoseconds> {
    let value: f64 = text.parse().ok()?;
    let picoseconds = value * 1e3;
    // A day in picoseconds is far below what a number holds.
    (value.is_finite() && (0.0..1e17).contains(&picoseconds))
        .then_some(Picoseconds(picoseconds.round() as u64))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::workers::growth::growth;

    /// A worker of one function of C, `body`, in which `until(TIME)` waits so many nanoseconds from its call
    /// on.
    fn of_function(folder: &Path, body: &str) -> Worker {
        let path = |name: &str| folder.join(name);
        let function = format!(
            "#include <time.h>
            #include \"tenbin.h\"
            static int64_t now(void)
            {{
                struct timespec now;
                clock_gettime(CLOCK_MONOTONIC, &now);
                return now.tv_sec * 1000000000LL + now.tv_nsec;
            }}
            static void until(int64_t time)
            {{
                for (int64_t end = now() + time; now() < end;)
                    ;
            }}
            uint64_t tenbin_run(void *state, uint64_t n) {{ {body} return n; }}"
        );
        for (name, text) in [
            ("tenbin.h", crate::workers::HEADER),
            ("runner.c", include_str!("runner.c")),
            ("side.c", &function),
        ] {
            std::fs::write(path(name), text).unwrap();
        }
        let mut build = Command::new("cc");
        build
            .args(["-O1", "-pthread", "-o"])
            .arg(path("side"))
            .args(["runner.c", "side.c"].map(path))
            .arg("-lm");
        assert!(build.status().unwrap().success());
        let mut worker = Worker::start(Command::new(path("side")), None, Duration::from_secs(600)).unwrap();
        // The first answer waits until the process has started.
        worker.variants().unwrap();
        worker
    }

    #[test]
    fn what_is_not_timed_is_no_part_of_the_time_of_calls() {
        let folder = tempfile::tempdir().unwrap();
        // More operations at once than any call of 543 in parts has take no time.
        let mut worker = of_function(folder.path(), "if (n <= 60) until(10000 * n);");
        // Whatever is answered has passed: a clock that is wrong would be an error.
        let work = worker.calls(0, 543).unwrap();
        assert!(work.elapsed >= Picoseconds::from_micros(5_400), "{work:?}");
        assert_eq!(work.evidence, "543");
    }

    #[test]
    fn what_is_disturbed_for_a_while_has_not_removed_its_work() {
        let folder = tempfile::tempdir().unwrap();
        // The first hundred calls take what a neighbour leaves them, however much they do.
        let disturbed = "static int calls; until(calls++ < 100 ? 8000000 : 100000 * n);";
        let mut worker = of_function(folder.path(), disturbed);
        assert_eq!(growth(&mut worker, 0, "word".into()).unwrap(), Seen::Met("word".into()));
        let removed = "until(8000000);";
        let mut worker = of_function(folder.path(), removed);
        assert!(matches!(growth(&mut worker, 0, "word".into()).unwrap(), Seen::Broken(_)));
    }

    #[test]
    fn times_are_numbers_of_nanoseconds() {
        for (text, picoseconds) in
            [("0", Some(0)), ("1", Some(1_000)), ("12.5", Some(12_500)), ("1e3", Some(1_000_000))]
        {
            assert_eq!(nanoseconds(text), picoseconds.map(Picoseconds), "{text}");
        }
        for text in ["", "-1", "nan", "inf", "1ms", "1e30"] {
            assert_eq!(nanoseconds(text), None, "{text}");
        }
    }
}
