//! How an answer comes back from a guest: one tar stream, which is whole or no answer.
//!
//! Its members are those that `init.sh` names: `status`, `stdout`, `stderr`, what was asked for below
//! `files/`, and `end`. A stream that is cut off anywhere lacks `end`.

use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// A file that a guest sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Where it was in the guest, from the root, without the slash in front. It has no `..`.
    pub path: PathBuf,
    /// Its permission bits.
    pub mode: u32,
    /// Its content.
    pub content: Vec<u8>,
}

/// Which way an answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// A virtio port: memory that guest and host share.
    Virtio,
    /// A serial line on the PCI bus, a byte at a time: for kernels whose virtio drivers cannot be loaded.
    Serial,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Exit status of the command as a shell gives it: 128 and the signal's number if one ended it.
    pub(crate) status: u8,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) files: Vec<File>,
}

/// Reads a stream. Of what was asked for, files are kept, and the targets of links are not: a folder that is
/// brought comes as the files in it. All contents together may have `most` bytes: a stream can announce
/// holes, which are large and cost it nothing.
///
/// # Errors
/// What is missing or wrong, to stand in brackets.
pub(crate) fn read(stream: impl Read, most: u64) -> Result<Answer, String> {
    let broken = |error: std::io::Error| format!("its stream breaks off: {error}");
    let (mut status, mut stdout, mut stderr, mut ended) = (None, None, None, false);
    let mut files = Vec::new();
    let mut left = most;
    for entry in tar::Archive::new(stream).entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        if ended {
            return Err("its stream goes on after its end".to_owned());
        }
        let path = entry.path().map_err(broken)?.into_owned();
        let plain = entry.header().entry_type().is_file();
        let mode = entry.header().mode().map_err(broken)? & 0o7777;
        let mut content = Vec::new();
        entry.by_ref().take(left.saturating_add(1)).read_to_end(&mut content).map_err(broken)?;
        left = left.checked_sub(content.len() as u64).ok_or("its stream holds more than it may send")?;
        match path.to_str() {
            Some("status") => status = Some(content),
            Some("stdout") => stdout = Some(content),
            Some("stderr") => stderr = Some(content),
            Some("end") => ended = true,
            _ if !plain => {}
            _ => files.push(File { path: inside(&path)?, mode, content }),
        }
    }
    let status = status.as_deref().map(|text| String::from_utf8_lossy(text).trim().parse::<u8>());
    match (status, stdout, stderr) {
        (Some(Ok(status)), Some(stdout), Some(stderr)) if ended => {
            Ok(Answer { status, stdout, stderr, files })
        }
        (None, None, None) => Err("it sent nothing".to_owned()),
        (Some(Err(error)), ..) => Err(format!("its exit status is not a number: {error}")),
        _ => Err("its stream has no end".to_owned()),
    }
}

/// The path below `files`, if it stays there.
fn inside(path: &Path) -> Result<PathBuf, String> {
    let strange = || format!("it sent {}, which nobody asked for", path.display());
    let path = path.strip_prefix("files").map_err(|_| strange())?;
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if plain { Ok(path.to_path_buf()) } else { Err(strange()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Member = (&'static str, &'static [u8]);

    fn stream(members: &[Member]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, content) in members {
            let mut header = tar::Header::new_gnu();
            // Written by hand: `set_path` would not write a path that leaves the folder.
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            header.set_size(content.len() as u64);
            header.set_mode(0o640);
            header.set_cksum();
            builder.append(&header, *content).unwrap();
        }
        builder.into_inner().unwrap()
    }

    const MOST: u64 = 1000;

    const WHOLE: [Member; 5] = [
        ("status", b"7\n"),
        ("stdout", b"out\xff"),
        ("stderr", b""),
        ("files/tmp/x", b"content"),
        ("end", b"end\n"),
    ];

    #[test]
    fn a_whole_stream_is_an_answer() {
        let file = File { path: "tmp/x".into(), mode: 0o640, content: b"content".to_vec() };
        let expected = Answer { status: 7, stdout: b"out\xff".to_vec(), stderr: vec![], files: vec![file] };
        assert_eq!(read(&stream(&WHOLE)[..], MOST), Ok(expected));
    }

    #[test]
    fn a_stream_that_holds_too_much_is_none() {
        let size = WHOLE.iter().map(|(_, content)| content.len() as u64).sum();
        assert!(read(&stream(&WHOLE)[..], size).is_ok());
        let error = read(&stream(&WHOLE)[..], size - 1).unwrap_err();
        assert!(error.contains("its stream holds more"), "{error}");
    }

    #[test]
    fn a_stream_that_is_cut_off_anywhere_is_none() {
        let whole = stream(&WHOLE);
        // A header and its content fill blocks of 512 bytes; the last header begins 2 blocks before the two
        // empty blocks of the end of an archive.
        let end = whole.len() - 4 * 512;
        for length in (0..=end).chain([end + 1, end + 511]) {
            assert!(read(&whole[..length], MOST).is_err(), "{length} of {} bytes", whole.len());
        }
        assert_eq!(read(&b""[..], MOST), Err("it sent nothing".to_owned()));
    }

    #[test]
    fn what_is_missing_wrong_or_strange_is_no_answer() {
        for left_out in 0..3 {
            let mut members = WHOLE.to_vec();
            members.remove(left_out);
            assert_eq!(
                read(&stream(&members)[..], MOST),
                Err("its stream has no end".to_owned()),
                "{left_out}"
            );
        }
        let cases: [(usize, Member, &str); 4] = [
            (0, ("status", b"256"), "not a number"),
            (3, ("files/../x", b""), "nobody asked"),
            (3, ("/etc/x", b""), "nobody asked"),
            (2, ("end", b""), "after its end"),
        ];
        for (place, member, expected) in cases {
            let mut members = WHOLE.to_vec();
            members[place] = member;
            let error = read(&stream(&members)[..], MOST).unwrap_err();
            assert!(error.contains(expected), "{member:?}: {error}");
        }
    }
}
