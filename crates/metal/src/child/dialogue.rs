//! A child that answers each line with a line.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tenbin_model::Picoseconds;

use super::{Bounds, End, Running, start, wait_for};
use crate::fault::Fault;
use crate::interrupt;

/// How often it is asked whether all of a file was taken in.
const INSTANT: Duration = Duration::from_millis(5);

/// How often it is asked whether this process is to end, while an answer is waited for.
const PATIENCE: Duration = Duration::from_millis(100);

/// A child and the two ends of a conversation with it. It is killed with its group when this is dropped.
#[derive(Debug)]
pub struct Dialogue {
    running: Running,
    /// None once it was told that there is no more to come.
    input: Option<ChildStdin>,
}

/// What comes of a line that a child was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A line, without its end; what is no Unicode in it is replaced.
    Line(String),
    /// No line, but the end of the child.
    Ended(End),
    /// No line within the time, or none that comes to an end within the bound of output.
    Silence {
        /// Bytes of a line that was begun.
        begun: usize,
    },
    /// This process was asked to end before an answer came.
    Interrupted,
}

impl Dialogue {
    /// Starts `command` within `bounds`, whose deadline is not looked at: each question has one of its own.
    ///
    /// # Errors
    /// As [`super::run`].
    pub fn start(mut command: Command, bounds: Bounds) -> Result<Self, Fault> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = start(command, bounds)?;
        let input = running.child.stdin.take();
        Ok(Self { running, input })
    }

    /// Gives it all of a file. Who has not taken that in within the time is given nothing any more.
    pub fn feed(&mut self, mut file: File, within: Duration) {
        let Some(mut input) = self.input.take() else { return };
        // It ends with the file, or with the child: nobody reads then.
        let feeding = thread::spawn(move || {
            let _ = io::copy(&mut file, &mut input);
            input
        });
        let asked = Instant::now();
        while !feeding.is_finished() && interrupt::requested().is_none() {
            if asked.elapsed() > within {
                return;
            }
            thread::park_timeout(INSTANT);
        }
        self.input = feeding.join().ok();
    }

    /// Gives it `line`, and waits for the line that it answers. With that comes the time from before the one
    /// was written to after the other was read.
    ///
    /// # Errors
    /// A fault where the child cannot be watched. What it does is no fault.
    pub fn ask(&mut self, line: &str, within: Duration) -> Result<(Reply, Picoseconds), Fault> {
        let asked = Instant::now();
        let reply = self.reply(line, asked, within)?;
        let took = u64::try_from(asked.elapsed().as_nanos()).unwrap_or(u64::MAX / 1_000);
        Ok((reply, Picoseconds::from_nanos(took)))
    }

    fn reply(&mut self, line: &str, asked: Instant, within: Duration) -> Result<Reply, Fault> {
        if let Some(input) = &mut self.input {
            match input.write_all(format!("{line}\n").as_bytes()) {
                Ok(()) => {}
                // Whoever does not read any more may have ended, which is seen below.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => self.input = None,
                Err(error) => return Err(self.running.fault("write to", error)),
            }
        }
        loop {
            if let Some(line) = self.line()? {
                return Ok(Reply::Line(line));
            }
            let begun = self.running.stdout.kept.len();
            let left = within.saturating_sub(asked.elapsed());
            if left.is_zero() || begun >= self.running.stdout.most {
                return Ok(Reply::Silence { begun });
            }
            if interrupt::requested().is_some() {
                return Ok(Reply::Interrupted);
            }
            let streams = [&self.running.stdout, &self.running.stderr];
            let ended = wait_for(&self.running.pidfd, &streams, left.min(PATIENCE));
            if ended.map_err(|error| self.running.fault("watch", error))? {
                // What it wrote last may stand there still.
                return Ok(match self.line()? {
                    Some(line) => Reply::Line(line),
                    None => {
                        let end =
                            self.running.end().map_err(|error| self.running.fault("wait for", error))?;
                        // Killed, and not gone within the time for that.
                        Reply::Ended(end.map_or(End::OutOfTime, End::from))
                    }
                });
            }
        }
    }

    /// The next whole line that it wrote, if there is one.
    fn line(&mut self) -> Result<Option<String>, Fault> {
        self.running.drain(&mut |_| {})?;
        let kept = &mut self.running.stdout.kept;
        let Some(length) = kept.iter().position(|&byte| byte == b'\n') else { return Ok(None) };
        let line: Vec<u8> = kept.drain(..=length).collect();
        let line = String::from_utf8_lossy(&line);
        Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()))
    }

    /// Gives it nothing any more, and waits for its end, for so long at most.
    pub fn finish(&mut self, within: Duration) {
        self.input = None;
        let asked = Instant::now();
        let mut left = within;
        while !left.is_zero() && interrupt::requested().is_none() {
            // Whether it has ended is all that matters here: it is killed otherwise.
            if !matches!(wait_for(&self.running.pidfd, &[], left.min(PATIENCE)), Ok(false)) {
                break;
            }
            left = within.saturating_sub(asked.elapsed());
        }
    }

    /// The number of its process.
    pub fn process(&self) -> u32 {
        self.running.child.id()
    }

    /// What it wrote that nobody asked for: whole lines or parts of one.
    pub fn unasked(&mut self) -> Result<String, Fault> {
        self.running.drain(&mut |_| {})?;
        Ok(String::from_utf8_lossy(&self.running.stdout.kept).into_owned())
    }

    /// What it wrote to standard error so far, up to the bound.
    pub fn errors(&self) -> &[u8] {
        &self.running.stderr.kept
    }
}
