//! One writer and one reader, with a pipe between them.

use std::io::Read;
use std::process::{self, Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Program;
use crate::bench::c2c::Pair;
use xtask::failure::Failure;

/// Stands for the number of bytes in a reader's words.
pub(super) const BYTES: &str = "BYTES";

/// Whoever takes longer is ended; a third of a second was wanted.
const PATIENCE: Duration = Duration::from_secs(60);

/// A pair of programs, each on its CPU.
#[derive(Clone, Copy)]
pub(super) struct Cell<'a> {
    pub(super) writer: usize,
    pub(super) reader: usize,
    pub(super) source: &'a Program,
    pub(super) program: &'a Program,
    pub(super) cpus: Pair,
}

impl Cell<'_> {
    /// Carries so many bytes and returns the seconds from the reader's start to its end.
    pub(super) fn carry(&self, bytes: u64) -> Result<f64, Failure> {
        let mut writer = self.writer()?;
        let started = Instant::now();
        let reader = self.start_reader(&mut writer, bytes, Stdio::null());
        let ended = reader.and_then(|mut reader| self.end(&mut reader, true));
        let seconds = started.elapsed().as_secs_f64();
        // The writer loses its reader, whatever became of that one.
        self.end(&mut writer, false)?;
        ended.map(|()| seconds)
    }

    /// Carries so many bytes and compares them. What a reader takes and does not give on is read from the
    /// writer.
    pub(super) fn verify(&self, bytes: u64) -> Result<(), Failure> {
        let mut writer = self.writer()?;
        let gives_on = !["splice", "read"].contains(&self.program.name);
        let mut reader = match gives_on {
            true => Some(self.start_reader(&mut writer, bytes, Stdio::piped())?),
            false => None,
        };
        let output = reader.as_mut().unwrap_or(&mut writer).stdout.take();
        let right = output.map_or(0, |output| right_bytes(output, bytes));
        for child in reader.iter_mut().chain([&mut writer]) {
            self.end(child, false)?;
        }
        if right == bytes {
            return Ok(());
        }
        let reason = format!("only {right} of {bytes} bytes were right");
        Err(self.failure(reason, "find out which of the two is wrong"))
    }

    fn writer(&self) -> Result<Child, Failure> {
        let mut command = on(self.cpus.0, &self.source.words);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.spawn().map_err(|error| self.failure(error, "run the writer by hand"))
    }

    fn start_reader(&self, writer: &mut Child, bytes: u64, to: Stdio) -> Result<Child, Failure> {
        let words = self.program.words.iter();
        let words = words.map(|word| if word == BYTES { bytes.to_string() } else { word.clone() });
        let mut command = on(self.cpus.1, &words.collect::<Vec<_>>());
        command.stdin(writer.stdout.take().map_or_else(Stdio::null, Stdio::from)).stdout(to);
        command.spawn().map_err(|error| self.failure(error, "run the reader by hand"))
    }

    /// Waits for a program, and ends it when it takes too long.
    fn end(&self, child: &mut Child, must_succeed: bool) -> Result<(), Failure> {
        let started = Instant::now();
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if started.elapsed() < PATIENCE => thread::sleep(Duration::from_micros(200)),
                late => {
                    // It is a failure whether or not it could still be killed.
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(self.failure(format!("it did not end: {late:?}"), "run both by hand"));
                }
            }
        };
        if must_succeed && !status.success() {
            return Err(self.failure(format!("the reader ended with {status}"), "run both by hand"));
        }
        Ok(())
    }

    fn failure(&self, reason: impl std::fmt::Display, remedy: &str) -> Failure {
        let tried = format!("carry lines from {} to {}", self.source.name, self.program.name);
        Failure::new(tried, reason, remedy)
    }
}

fn on(cpu: usize, words: &[String]) -> process::Command {
    let mut command = process::Command::new("taskset");
    command.args(["--cpu-list", &cpu.to_string()]).args(words);
    command
}

/// How many bytes of the first `bytes` are those of lines `y`.
fn right_bytes(mut input: impl Read, bytes: u64) -> u64 {
    const EXPECTED: &[u8] = b"y\n";
    let mut block = vec![0; 64 << 10];
    let expected = EXPECTED.repeat(block.len());
    let mut right = 0;
    while right < bytes {
        let room = (bytes - right).min(block.len() as u64) as usize;
        let count = match input.read(&mut block[..room]) {
            Ok(0) | Err(_) => return right,
            Ok(count) => count,
        };
        let phase = (right % EXPECTED.len() as u64) as usize;
        if block[..count] != expected[phase..phase + count] {
            let same =
                block[..count].iter().zip(&expected[phase..]).take_while(|(byte, wanted)| byte == wanted);
            return right + same.count() as u64;
        }
        right += count as u64;
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_byte_and_a_missing_one_are_counted() {
        let lines = b"y\n".repeat(100_000);
        assert_eq!(right_bytes(lines.as_slice(), 200_000), 200_000);
        assert_eq!(right_bytes(lines.as_slice(), 1_001), 1_001);
        assert_eq!(right_bytes(lines.as_slice(), 200_001), 200_000);
        let mut wrong = lines;
        wrong[131_071] = b'x';
        assert_eq!(right_bytes(wrong.as_slice(), 200_000), 131_071);
    }
}
