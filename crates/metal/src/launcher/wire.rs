//! What a launcher and whoever asks it tell each other: frames of a kind, a length and that many bytes.

use std::ffi::CString;
use std::io::{self, Read, Write};
use std::time::Duration;

use tenbin_model::Cpu;

use super::{Launch, Sink};

/// To the launcher: a command to run.
pub(super) const LAUNCH: u8 = 1;
/// To the launcher: end what runs.
pub(super) const CANCEL: u8 = 2;
/// From the launcher: bytes of standard output.
pub(super) const OUTPUT: u8 = 3;
/// From the launcher: how the command ended, the numbers of [`super::Launched`].
pub(super) const ENDED: u8 = 4;
/// From the launcher: which step towards the command failed, and the error number.
pub(super) const FAILED: u8 = 5;
/// From the launcher: it is there.
pub(super) const READY: u8 = 6;
/// From the launcher: bytes of standard error.
pub(super) const ERRORS: u8 = 7;

/// Bytes before a frame's own.
pub(super) const HEADER: usize = 5;

pub(super) fn header(kind: u8, length: usize) -> [u8; HEADER] {
    let mut header = [kind, 0, 0, 0, 0];
    header[1..].copy_from_slice(&(length as u32).to_le_bytes());
    header
}

/// Reads a frame. None at the end of the stream.
pub(super) fn read_frame(from: &mut impl Read) -> io::Result<Option<(u8, Vec<u8>)>> {
    let mut header = [0; HEADER];
    match from.read_exact(&mut header) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let [kind, length @ ..] = header;
    let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
    from.read_exact(&mut bytes)?;
    Ok(Some((kind, bytes)))
}

/// Writes a frame.
pub(super) fn write_frame(to: &mut impl Write, kind: u8, bytes: &[u8]) -> io::Result<()> {
    to.write_all(&header(kind, bytes.len()))?;
    to.write_all(bytes)
}

/// Numbers, each of eight bytes.
pub(super) fn numbers(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The numbers that [`numbers`] wrote. None where there are not `COUNT` of them.
pub(super) fn as_numbers<const COUNT: usize>(bytes: &[u8]) -> Option<[u64; COUNT]> {
    let words: Vec<u64> =
        bytes.chunks_exact(8).filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?))).collect();
    words.try_into().ok()
}

impl Launch {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let text = |bytes: &mut Vec<u8>, text: &CString| {
            bytes.extend_from_slice(&(text.as_bytes().len() as u64).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        };
        let list = |bytes: &mut Vec<u8>, list: &[CString]| {
            bytes.extend_from_slice(&(list.len() as u64).to_le_bytes());
            list.iter().for_each(|item| text(bytes, item));
        };
        text(&mut bytes, &self.program);
        list(&mut bytes, &self.arguments);
        list(&mut bytes, &self.environment);
        list(&mut bytes, self.folder.as_slice());
        list(&mut bytes, self.input.as_slice());
        for sink in [&self.output, &self.errors] {
            let (kind, file) = match sink {
                Sink::Null => (0, None),
                Sink::Discard => (1, None),
                Sink::Inherit => (2, None),
                Sink::HandOver => (3, None),
                Sink::File(path) => (4, Some(path.clone())),
            };
            bytes.extend_from_slice(&numbers(&[kind]));
            list(&mut bytes, file.as_slice());
        }
        let nanoseconds = u64::try_from(self.deadline.as_nanos()).unwrap_or(u64::MAX);
        bytes.extend_from_slice(&numbers(&[
            nanoseconds,
            u64::from(self.leaves),
            u64::from(self.small),
            u64::from(self.counted),
            self.first.map_or(u64::MAX, |cpu| u64::from(cpu.0)),
            self.cpus.len() as u64,
        ]));
        let cpus: Vec<u64> = self.cpus.iter().map(|cpu| u64::from(cpu.0)).collect();
        bytes.extend_from_slice(&numbers(&cpus));
        bytes
    }

    /// None where the bytes are not those of [`encode`](Self::encode).
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = Rest(bytes);
        let program = rest.text()?;
        let (arguments, environment) = (rest.list()?, rest.list()?);
        let (folder, input) = (rest.list()?.pop(), rest.list()?.pop());
        let mut sink = || {
            let (kind, file) = (rest.number()?, rest.list()?.pop());
            Some(match (kind, file) {
                (0, None) => Sink::Null,
                (1, None) => Sink::Discard,
                (2, None) => Sink::Inherit,
                (3, None) => Sink::HandOver,
                (4, Some(path)) => Sink::File(path),
                _ => return None,
            })
        };
        let (output, errors) = (sink()?, sink()?);
        let deadline = Duration::from_nanos(rest.number()?);
        let [leaves, small, counted] = [rest.number()?, rest.number()?, rest.number()?].map(|it| it != 0);
        let first = Some(rest.number()?).filter(|&first| first != u64::MAX).map(|first| Cpu(first as u32));
        let cpus = (0..rest.number()?).map(|_| Some(Cpu(rest.number()? as u32)));
        let cpus = cpus.collect::<Option<_>>()?;
        Some(Self {
            program,
            arguments,
            environment,
            folder,
            cpus,
            first,
            input,
            output,
            errors,
            deadline,
            leaves,
            small,
            counted,
        })
    }
}

/// What of a frame has not been read.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn number(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*word))
    }

    fn text(&mut self) -> Option<CString> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        CString::new(text).ok()
    }

    fn list(&mut self) -> Option<Vec<CString>> {
        (0..self.number()?).map(|_| self.text()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_comes_out_as_it_went_in() {
        let text = |text: &str| CString::new(text).unwrap();
        let launch = Launch {
            program: text("/bin/true"),
            arguments: vec![text("true"), text(""), text("two words")],
            environment: vec![text("A=b")],
            folder: Some(text("/")),
            cpus: vec![Cpu(3), Cpu(1)],
            first: Some(Cpu(1)),
            input: None,
            output: Sink::File(text("/tmp/x")),
            errors: Sink::HandOver,
            deadline: Duration::from_millis(1_500),
            leaves: true,
            small: true,
            counted: true,
        };
        let bytes = launch.encode();
        assert_eq!(Launch::decode(&bytes), Some(launch));
        assert!((0..bytes.len()).all(|length| Launch::decode(&bytes[..length]).is_none()));
    }

    #[test]
    fn a_stream_that_ends_between_two_frames_has_ended() {
        let mut stream = Vec::new();
        write_frame(&mut stream, OUTPUT, b"abc").unwrap();
        let mut from = stream.as_slice();
        assert_eq!(read_frame(&mut from).unwrap(), Some((OUTPUT, b"abc".to_vec())));
        assert_eq!(read_frame(&mut from).unwrap(), None);
        assert!(read_frame(&mut &stream[..6]).is_err());
    }
}
