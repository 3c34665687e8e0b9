//! A machine that a debugger holds: its harts stand still, and step when they are told to.
//!
//! The other end is QEMU's server for GDB, on one end of a pair of sockets: no name in the file system, no
//! port, and nothing left of it when either end is gone. What is asked is the few packets that stepping,
//! looking and planting need.
//!
//! Source: *Debugging with GDB*, appendix "GDB Remote Serial Protocol", sections "Packets", "General Query
//! Packets" and "Stop Reply Packets"; QEMU's manual, "GDB usage".

#![expect(clippy::disallowed_methods, reason = "an emulator has a deadline")]

mod packet;

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use packet::Received;

/// How long the answer to a packet may take that only asks.
const PATIENCE: Duration = Duration::from_secs(20);

/// The number of the program counter among the registers; those before it are x0 to x31
/// (`riscv-64bit-cpu.xml` of GDB).
pub(crate) const PC: u8 = 32;

/// Why there is no answer from the debugger's port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Trouble {
    /// Nobody is at the other end any more.
    #[error("the emulator is gone")]
    Gone,
    /// No answer came within the time to this packet.
    #[error("no answer came to the packet `{0}`")]
    Late(String),
    /// An answer that cannot be meant, in words.
    #[error("{0}")]
    Unexpected(String),
    /// The system's reason.
    #[error("the debugger's port: {0}")]
    System(String),
}

/// What is asked of a machine whose harts stand still. A register is a number, 0 to 31 or [`PC`].
pub(crate) trait Harts {
    /// Executes one instruction of `hart`, while all others stand.
    fn step(&mut self, hart: u32) -> Result<(), Trouble>;
    /// Lets these harts run for no longer than `time`. Gives the one that came to a breakpoint, if one did
    /// before.
    fn run(&mut self, harts: &[u32], time: Duration) -> Result<Option<u32>, Trouble>;
    /// What a register of `hart` holds.
    fn register(&mut self, hart: u32, number: u8) -> Result<u64, Trouble>;
    /// Sets a register of `hart`.
    fn set_register(&mut self, hart: u32, number: u8, value: u64) -> Result<(), Trouble>;
    /// Where `hart` is.
    fn pc(&mut self, hart: u32) -> Result<u64, Trouble> {
        self.register(hart, PC)
    }
    /// Moves `hart` to another instruction.
    fn set_pc(&mut self, hart: u32, pc: u64) -> Result<(), Trouble> {
        self.set_register(hart, PC, pc)
    }
    /// The `bytes` (at most 8) of memory at `address`, as a number. `None` where there is none.
    fn memory(&mut self, address: u64, bytes: u32) -> Result<Option<u64>, Trouble>;
    /// Writes the low `bytes` (at most 8) of `value` to memory, and reads them back: says whether they are
    /// there.
    fn set_memory(&mut self, address: u64, bytes: u32, value: u64) -> Result<bool, Trouble>;
    /// Stops whatever hart comes to `address` by running.
    fn set_breakpoint(&mut self, address: u64) -> Result<(), Trouble>;
    /// Takes a breakpoint away.
    fn clear_breakpoint(&mut self, address: u64) -> Result<(), Trouble>;
}

/// One end of the protocol.
///
/// Every wait has an end: [`PATIENCE`] for one packet, and the moment that [`Debugger::new`] is given for all
/// of them.
pub(crate) struct Debugger {
    stream: UnixStream,
    /// What came and was not taken yet.
    waiting: Vec<u8>,
    until: Instant,
    /// The hart that questions about registers are about, if it was said.
    chosen: Option<u32>,
}

impl Debugger {
    /// Speaks to the machine at the other end of `stream`, until `until` at the latest.
    ///
    /// # Errors
    /// Where the other end does not answer, or does not know what is needed here.
    pub(crate) fn new(stream: UnixStream, until: Instant) -> Result<Self, Trouble> {
        let mut debugger = Self { stream, waiting: Vec::new(), until, chosen: None };
        let features = debugger.ask("qSupported:multiprocess+;vContSupported+")?;
        if !String::from_utf8_lossy(&features).contains("multiprocess+") {
            return Err(Trouble::Unexpected("the debugger's port does not number processes".to_owned()));
        }
        let ways = debugger.ask("vCont?")?;
        if !ways.starts_with(b"vCont") || !ways.windows(2).any(|way| way == b";s") {
            return Err(Trouble::Unexpected("the debugger's port cannot step".to_owned()));
        }
        // QEMU answers questions about one register only to whoever has asked for their description.
        debugger.ask("qXfer:features:read:target.xml:0,ffb")?;
        Ok(debugger)
    }

    /// Gives a command to the emulator's monitor, and what it says.
    pub(crate) fn monitor(&mut self, command: &str) -> Result<String, Trouble> {
        let packet = format!("qRcmd,{}", packet::digits(command.as_bytes()));
        let mut answer = self.ask(&packet)?;
        let mut output = Vec::new();
        while let Some(bytes) = answer.strip_prefix(b"O").and_then(packet::bytes) {
            output.extend(bytes);
            answer = self.answer(&packet, PATIENCE)?;
        }
        match answer.as_slice() {
            b"OK" => Ok(String::from_utf8_lossy(&output).into_owned()),
            other => Err(unexpected("an answer of the monitor", other)),
        }
    }

    fn choose(&mut self, hart: u32) -> Result<(), Trouble> {
        if self.chosen != Some(hart) {
            self.command(&format!("Hg{}", thread(hart)))?;
            self.chosen = Some(hart);
        }
        Ok(())
    }

    fn command(&mut self, payload: &str) -> Result<(), Trouble> {
        match self.ask(payload)?.as_slice() {
            b"OK" => Ok(()),
            other => Err(unexpected(&format!("`{payload}`"), other)),
        }
    }

    fn ask(&mut self, payload: &str) -> Result<Vec<u8>, Trouble> {
        self.send(payload)?;
        self.answer(payload, PATIENCE)
    }

    fn send(&mut self, payload: &str) -> Result<(), Trouble> {
        self.left(payload, PATIENCE)?;
        self.stream.set_write_timeout(Some(PATIENCE)).map_err(trouble)?;
        self.stream.write_all(&packet::framed(payload.as_bytes())).map_err(trouble)
    }

    /// How much of `time` there is, which began now.
    fn left(&self, payload: &str, time: Duration) -> Result<Duration, Trouble> {
        let left = self.until.saturating_duration_since(Instant::now()).min(time);
        if left.is_zero() { Err(Trouble::Late(payload.to_owned())) } else { Ok(left) }
    }

    /// The next packet; it was asked for by `payload`.
    fn answer(&mut self, payload: &str, time: Duration) -> Result<Vec<u8>, Trouble> {
        let until = Instant::now() + time;
        loop {
            match packet::received(&self.waiting) {
                Received::Part => {
                    let left = self.left(payload, until.saturating_duration_since(Instant::now()))?;
                    self.stream.set_read_timeout(Some(left)).map_err(trouble)?;
                    let mut bytes = [0; 4096];
                    match self.stream.read(&mut bytes) {
                        Ok(0) => return Err(Trouble::Gone),
                        Ok(count) => self.waiting.extend(&bytes[..count]),
                        // Whether it is late is asked above.
                        Err(error)
                            if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                        Err(error) => return Err(trouble(error)),
                    }
                }
                Received::Acknowledged => {
                    self.waiting.remove(0);
                }
                // A socket loses and changes nothing, so there is nothing to send again.
                Received::Again => {
                    return Err(Trouble::Unexpected(format!("`{payload}` did not arrive whole")));
                }
                Received::Packet(payload, taken) => {
                    self.waiting.drain(..taken);
                    self.stream.write_all(b"+").map_err(trouble)?;
                    return Ok(payload);
                }
                Received::Broken(what) => return Err(Trouble::Unexpected(what)),
            }
        }
    }
}

impl Harts for Debugger {
    fn step(&mut self, hart: u32) -> Result<(), Trouble> {
        let stop = self.ask(&format!("vCont;s:{}", thread(hart)))?;
        match stopped(&stop) {
            Some(stopped) if stopped == hart => Ok(()),
            _ => Err(unexpected("a step", &stop)),
        }
    }

    fn run(&mut self, harts: &[u32], time: Duration) -> Result<Option<u32>, Trouble> {
        let mut packet = "vCont".to_owned();
        for &hart in harts {
            packet.push_str(&format!(";c:{}", thread(hart)));
        }
        self.send(&packet)?;
        let stop = match self.answer(&packet, time) {
            Err(Trouble::Late(_)) => None,
            stop => Some(stop?),
        };
        let stop = match stop {
            Some(stop) => stop,
            None => {
                // The byte of Ctrl-C stands alone, outside of packets.
                self.stream.write_all(&[3]).map_err(trouble)?;
                self.answer("^C", PATIENCE)?
            }
        };
        match (stop.get(..3), stopped(&stop)) {
            (Some(b"T05"), Some(hart)) => Ok(Some(hart)),
            (Some(b"T02" | b"T00"), _) => Ok(None),
            _ => Err(unexpected("a stop", &stop)),
        }
    }

    fn register(&mut self, hart: u32, number: u8) -> Result<u64, Trouble> {
        self.choose(hart)?;
        let answer = self.ask(&format!("p{number:x}"))?;
        let bytes = packet::bytes(&answer).and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
        bytes.map(u64::from_le_bytes).ok_or_else(|| unexpected("a register", &answer))
    }

    fn set_register(&mut self, hart: u32, number: u8, value: u64) -> Result<(), Trouble> {
        self.choose(hart)?;
        self.command(&format!("P{number:x}={}", packet::digits(&value.to_le_bytes())))
    }

    fn memory(&mut self, address: u64, bytes: u32) -> Result<Option<u64>, Trouble> {
        let answer = self.ask(&format!("m{address:x},{bytes:x}"))?;
        if answer.starts_with(b"E") {
            return Ok(None);
        }
        let mut number = [0; 8];
        match packet::bytes(&answer) {
            Some(read) if read.len() == bytes as usize && read.len() <= number.len() => {
                number[..read.len()].copy_from_slice(&read);
                Ok(Some(u64::from_le_bytes(number)))
            }
            _ => Err(unexpected("memory", &answer)),
        }
    }

    fn set_memory(&mut self, address: u64, bytes: u32, value: u64) -> Result<bool, Trouble> {
        let low = &value.to_le_bytes()[..bytes.min(8) as usize];
        let answer = self.ask(&format!("M{address:x},{bytes:x}:{}", packet::digits(low)))?;
        if answer.starts_with(b"E") {
            return Ok(false);
        }
        let there = self.memory(address, bytes)?;
        Ok(there.is_some_and(|there| there.to_le_bytes()[..low.len()] == *low))
    }

    fn set_breakpoint(&mut self, address: u64) -> Result<(), Trouble> {
        self.command(&format!("Z0,{address:x},2"))
    }

    fn clear_breakpoint(&mut self, address: u64) -> Result<(), Trouble> {
        self.command(&format!("z0,{address:x},2"))
    }
}

/// The name of a hart in packets: all harts are threads of one process, from 1.
fn thread(hart: u32) -> String {
    format!("p1.{:x}", hart + 1)
}

/// The hart that a stop names.
fn stopped(stop: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(stop.get(3..)?).ok()?;
    let name = text.split(';').find_map(|pair| pair.strip_prefix("thread:"))?;
    let (process, thread) = name.strip_prefix('p')?.split_once('.')?;
    let number = |digits| u32::from_str_radix(digits, 16).ok();
    (number(process)? == 1).then_some(())?;
    number(thread)?.checked_sub(1)
}

fn unexpected(what: &str, answer: &[u8]) -> Trouble {
    Trouble::Unexpected(format!(
        "the debugger's port said `{}` where {what} was asked for",
        String::from_utf8_lossy(answer)
    ))
}

fn trouble(error: io::Error) -> Trouble {
    match error.kind() {
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => Trouble::Gone,
        _ => Trouble::System(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
