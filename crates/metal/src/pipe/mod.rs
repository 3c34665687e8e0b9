//! Lines through a pipe: the ways to put them in, and the ways to take them out.
//!
//! Both ends are owned by the side that uses them. A side that fails drops its end, so the other
//! one sees the end of the pipe instead of waiting for ever.

mod reader;
mod text;
mod writer;

use std::io;
use std::os::fd::OwnedFd;

use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

pub use reader::{Discard, Held, Keep, Reader, Verify, Wrong, hold};
pub use text::Text;
pub use writer::{How, LARGE, PUBLISHED_WRITE, Writer, probe, writer};

use crate::fault::Fault;

/// A pipe's two ends and what it holds.
#[derive(Debug)]
pub struct Pipe {
    /// Where lines go in.
    pub input: OwnedFd,
    /// Where they come out.
    pub output: OwnedFd,
    /// Bytes that fit, as the kernel rounded them up.
    pub capacity: usize,
}

impl Pipe {
    /// Makes a pipe that holds `capacity` bytes.
    ///
    /// # Errors
    /// [`Fault::System`]; without privileges the kernel allows up to `/proc/sys/fs/pipe-max-size`.
    pub fn new(capacity: usize) -> Result<Self, Fault> {
        let (output, input) =
            pipe_with(PipeFlags::CLOEXEC).map_err(|error| Fault::system("make a pipe", error))?;
        let capacity = fcntl_setpipe_size(&input, capacity).map_err(|error| {
            let tried = format!("give a pipe {capacity} bytes (see /proc/sys/fs/pipe-max-size)");
            Fault::system(tried, error)
        })?;
        Ok(Self { input, output, capacity })
    }

    /// Writes `buffer` and reads it back, `times` times, and returns the bytes that came back.
    ///
    /// # Errors
    /// What the kernel said. The buffer must fit into the pipe, or the first write waits for ever.
    ///
    /// # Panics
    /// If the buffer is longer than the pipe.
    pub fn echo(&self, buffer: &mut [u8], times: u64) -> io::Result<u64> {
        assert!(buffer.len() <= self.capacity, "nobody would read what does not fit");
        let mut echoed = 0;
        for _ in 0..times {
            let written = uninterrupted(|| rustix::io::write(&self.input, buffer))?;
            echoed += uninterrupted(|| rustix::io::read(&self.output, &mut buffer[..written]))? as u64;
        }
        Ok(echoed)
    }
}

fn uninterrupted<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            other => return other.map_err(io::Error::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const CAPACITY: usize = 64 << 10;
    const PAGE: usize = 4096;

    /// Sends `rounds` pipefuls of numbered lines and returns what the verifying reader says.
    fn verified(how: How, text: &Text, expected: &Text, rounds: usize) -> Result<u64, Wrong> {
        let pipe = Pipe::new(CAPACITY).unwrap();
        let mut sender = writer(how, pipe.input, CAPACITY, text).unwrap();
        let mut verify = Verify::new(pipe.output, expected.clone());
        thread::scope(|scope| {
            scope.spawn(move || {
                for _ in 0..rounds {
                    sender.send(CAPACITY).unwrap();
                }
            });
            verify.take(rounds * CAPACITY).unwrap();
        });
        verify.verdict()
    }

    fn all() -> Vec<(How, Text)> {
        let long = Text::numbered(65_537);
        let page = Text::numbered(PAGE / Text::NUMBERED);
        vec![
            (How::Puts, long.clone()),
            (How::Write { room: PUBLISHED_WRITE }, long.clone()),
            (How::Write { room: 1 << 20 }, long.clone()),
            (How::TwoBuffers { gift: false }, long.clone()),
            (How::TwoBuffers { gift: true }, long),
            (How::Constant { huge: false }, page.clone()),
            (How::Tee, page.clone()),
            (How::TeeLarge, page.clone()),
            (How::Splice, page),
        ]
    }

    #[test]
    fn every_way_carries_every_line_in_order() {
        for (how, text) in all() {
            let lines = verified(how, &text, &text, 40).unwrap_or_else(|wrong| panic!("{how:?}: {wrong:?}"));
            assert_eq!(lines, (40 * CAPACITY / Text::NUMBERED) as u64, "{how:?}");
        }
    }

    /// Lines that fill no page: every way sends whole ones, in each pipeful.
    #[test]
    fn every_way_carries_lines_of_any_length() {
        for line in ["no", "a longer line", &"x".repeat(254)] {
            for (how, _) in all() {
                let text = Text::of(line);
                let pipe = Pipe::new(CAPACITY).unwrap();
                let length = text.pipeful(CAPACITY);
                let mut sender = writer(how, pipe.input, CAPACITY, &text).unwrap();
                let mut verify = Verify::new(pipe.output, text);
                thread::scope(|scope| {
                    // Pipefuls one by one and two by two, as epochs have them.
                    scope.spawn(move || [1, 2, 1, 7].map(|count| sender.send(count * length).unwrap()));
                    verify.take(11 * length).unwrap();
                });
                let lines = verify.verdict().unwrap_or_else(|wrong| panic!("{how:?}: {wrong:?}"));
                assert_eq!(lines, (11 * length / (line.len() + 1)) as u64, "{how:?}");
            }
        }
    }

    #[test]
    fn one_wrong_byte_is_found_and_named() {
        let text = Text::numbered(65_537);
        let damaged = text.damaged_at(1_000);
        let wrong = verified(How::Write { room: PUBLISHED_WRITE }, &damaged, &text, 2).unwrap_err();
        assert_eq!(wrong.line, 1_000);
        assert_eq!(wrong.expected, "0001000");
        assert_ne!(wrong.actual, wrong.expected);
    }

    #[test]
    fn held_pages_change_under_two_buffers_and_stay_when_constant() {
        let gives_pages = |how: &How| !matches!(how, How::Puts | How::Write { .. });
        for (how, text) in all().into_iter().filter(|(how, _)| gives_pages(how)) {
            let pipe = Pipe::new(CAPACITY).unwrap();
            let mut sender = writer(how, pipe.input, CAPACITY, &text).unwrap();
            let held = thread::scope(|scope| {
                scope.spawn(move || (0..4).for_each(|_| sender.send(CAPACITY).unwrap()));
                hold(pipe.output, CAPACITY, 4, &text).unwrap()
            });
            let live = matches!(how, How::TwoBuffers { .. });
            assert_eq!(held.lines, (CAPACITY / Text::NUMBERED) as u64, "{how:?}");
            assert_eq!(held.changed, if live { held.lines } else { 0 }, "{how:?}");
        }
    }

    /// A child that is forked between two pipefuls has every page in common with the writer: the next write
    /// to one would copy it.
    #[test]
    fn a_child_that_is_forked_meanwhile_changes_no_hazard() {
        let how = How::TwoBuffers { gift: false };
        let text = Text::numbered(65_537);
        let pipe = Pipe::new(CAPACITY).unwrap();
        let mut sender = writer(how, pipe.input, CAPACITY, &text).unwrap();
        let held = thread::scope(|scope| {
            let sent = scope.spawn(move || {
                sender.send(CAPACITY).unwrap();
                // SAFETY: the child calls two functions that are safe after a fork of several threads, and
                // ends by a signal.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    loop {
                        // SAFETY: as above.
                        unsafe { libc::alarm(60) };
                        // SAFETY: as above.
                        unsafe { libc::pause() };
                    }
                }
                (0..3).for_each(|_| sender.send(CAPACITY).unwrap());
                child
            });
            let held = hold(pipe.output, CAPACITY, 4, &text).unwrap();
            let child = sent.join().unwrap();
            // SAFETY: the child is this process's own and was not waited for.
            unsafe { libc::kill(child, libc::SIGKILL) };
            // SAFETY: as above; no status is asked for.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
            held
        });
        assert_eq!(held.changed, held.lines);
    }

    #[test]
    fn a_reader_that_leaves_ends_the_writer() {
        for (how, text) in all() {
            let pipe = Pipe::new(CAPACITY).unwrap();
            let mut sender = writer(how, pipe.input, CAPACITY, &text).unwrap();
            drop(pipe.output);
            let error = (0..4).find_map(|_| sender.send(CAPACITY).err());
            assert_eq!(error.map(|error| error.kind()), Some(io::ErrorKind::BrokenPipe), "{how:?}");
        }
    }

    #[test]
    fn a_writer_that_leaves_ends_the_reader() {
        let pipe = Pipe::new(CAPACITY).unwrap();
        drop(pipe.input);
        let error = Keep::new(pipe.output).take(1).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
