//! `tenbin yes` beside GNU's, and byte for byte against the line itself.
//!
//! Every writer here ends because its reader leaves or its output is full; one that does not is killed after
//! a minute, and its test fails.

#![allow(clippy::unwrap_used)]

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::pipe::{SpliceFlags, fcntl_setpipe_size, splice, tee};
use rustix::process::{Pid, Signal, kill_process};

use tempfile::TempDir;

/// Nothing here takes a second; only what hangs takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

const GNU: &str = "/usr/bin/yes";

/// This machine's `yes`, if it is GNU's.
fn gnu() -> Option<PathBuf> {
    let output = Command::new(GNU).arg("--version").output();
    let is_gnu = output.is_ok_and(|output| text(&output.stdout).starts_with("yes (GNU coreutils)"));
    if !is_gnu {
        eprintln!("skipped: {GNU} is not GNU's, so there is nothing to stand beside");
    }
    is_gnu.then(|| GNU.into())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn link(folder: &TempDir) -> PathBuf {
    let link = folder.path().join("yes");
    symlink(env!("CARGO_BIN_EXE_tenbin"), &link).unwrap();
    link
}

/// The child's end and what it said, or a failed test after a minute.
fn ended(child: Child) -> Output {
    let pid = Pid::from_child(&child);
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output().unwrap()));
    receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        let _ = kill_process(pid, Signal::KILL);
        panic!("it has not ended after {PATIENCE:?}")
    })
}

/// How it ended, and what it said behind its name.
#[derive(Debug, PartialEq, Eq)]
struct Ending {
    code: Option<i32>,
    signal: Option<i32>,
    stderr: String,
}

fn ending_of(program: &Path, output: &Output) -> Ending {
    let stderr = text(&output.stderr).replace(program.to_str().unwrap(), "yes");
    Ending { code: output.status.code(), signal: output.status.signal(), stderr }
}

/// It complains of this.
fn complaint(what: &str) -> Ending {
    Ending { code: Some(1), signal: None, stderr: format!("yes: {what}\n") }
}

/// Its reader has left.
fn left() -> Ending {
    Ending { code: None, signal: Some(13), stderr: String::new() }
}

/// Runs the same for GNU's `yes` and for the link, and insists that both ended alike; gives the ending.
fn beside(what: &str, run: impl Fn(&Path) -> Output) -> Ending {
    let folder = TempDir::new().unwrap();
    let link = link(&folder);
    let ours = ending_of(&link, &run(&link));
    if let Some(gnu) = gnu() {
        assert_eq!(ours, ending_of(&gnu, &run(&gnu)), "{what}");
    }
    ours
}

fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LC_ALL", "C").env_remove("POSIXLY_CORRECT").stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

fn tenbin(words: &[&str]) -> Command {
    let mut command = command(Path::new(env!("CARGO_BIN_EXE_tenbin")));
    command.args(words).stdout(Stdio::piped());
    command
}

/// What a shell runs: `$0` is the program.
fn shell(program: &Path, script: &str) -> Command {
    let mut shell = command(Path::new("sh"));
    shell.args(["-c", script]).arg(program);
    shell
}

/// Takes the first `bytes` bytes and leaves.
fn some(mut child: Child, bytes: usize) -> (Vec<u8>, Output) {
    let mut taken = vec![0; bytes];
    child.stdout.take().unwrap().read_exact(&mut taken).unwrap();
    (taken, ended(child))
}

fn words(words: &[&[u8]]) -> Vec<OsString> {
    words.iter().map(|word| OsString::from_vec(word.to_vec())).collect()
}

#[test]
fn lines_are_those_of_gnu() {
    let cases: &[(&[&[u8]], &[u8])] = &[
        (&[], b"y\n"),
        (&[b""], b"\n"),
        (&[b"", b""], b" \n"),
        (&[b"a", b"b  c"], b"a b  c\n"),
        (&[b"-"], b"-\n"),
        (&[b"--"], b"y\n"),
        (&[b"--", b"--help"], b"--help\n"),
        (&[b"a", b"--", b"-x"], b"a -x\n"),
        (&[b"\xff\xfe", b"\xe3\x81"], b"\xff\xfe \xe3\x81\n"),
        (&[b"two\nlines"], b"two\nlines\n"),
    ];
    for (given, line) in cases {
        let ending = beside(&format!("{given:?}"), |program| {
            let child = command(program).args(words(given)).stdout(Stdio::piped()).spawn().unwrap();
            let (taken, output) = some(child, 10_000);
            assert!(taken.chunks(line.len()).all(|piece| piece == &line[..piece.len()]), "{given:?}");
            output
        });
        assert_eq!(ending, left(), "{given:?}");
    }
}

#[test]
fn as_a_command_of_tenbin_the_words_are_the_same() {
    for given in [&["--", "--help"][..], &["a", "--", "-x"], &["--", "--verify"], &["a", "--json"]] {
        let child = tenbin(&["yes"]).args(given).spawn().unwrap();
        if given.contains(&"--json") {
            let output = ended(child);
            let stderr =
                "tenbin yes: unrecognized option '--json'\nTry 'tenbin yes --help' for more information.\n";
            assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(1), stderr));
            continue;
        }
        let (taken, _) = some(child, 9);
        let line = given.iter().filter(|word| **word != "--").copied().collect::<Vec<_>>().join(" ") + "\n";
        assert_eq!(text(&taken), line.repeat(9)[..9]);
    }
}

#[test]
fn options_are_understood_and_misunderstood_as_by_gnu() {
    let cases: &[(&[&[u8]], i32)] = &[
        (&[b"--help"], 0),
        (&[b"--version"], 0),
        (&[b"a", b"--h"], 0),
        (&[b"a", b"--ver", b"-x"], 0),
        (&[b"-x", b"--help"], 1),
        (&[b"a", b"-hx"], 1),
        (&[b"-\xc3\xa9"], 1),
        (&[b"--foo=bar"], 1),
        (&[b"--verify"], 1),
        (&[b"--he=3"], 1),
        (&[b"--="], 1),
    ];
    for (given, code) in cases {
        let ending = beside(&format!("{given:?}"), |program| {
            let output = ended(command(program).args(words(given)).stdout(Stdio::piped()).spawn().unwrap());
            assert_eq!(output.stdout.is_empty(), *code != 0, "{given:?}");
            output
        });
        assert_eq!(ending.code, Some(*code), "{given:?}");
    }
    // Where POSIX rules, the first string ends the options.
    beside("POSIXLY_CORRECT", |program| {
        let mut command = command(program);
        let child = command.args(["a", "--version"]).env("POSIXLY_CORRECT", "").stdout(Stdio::piped());
        let (taken, output) = some(child.spawn().unwrap(), 24);
        assert_eq!(text(&taken), "a --version\na --version\n");
        output
    });
}

#[test]
fn an_output_that_takes_nothing_is_complained_of_as_by_gnu() {
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    for (words, what) in
        [(&[][..], "standard output"), (&["--version"], "write error"), (&["--help"], "write error")]
    {
        let ending = beside("/dev/full", |program| {
            ended(command(program).args(words).stdout(full()).spawn().unwrap())
        });
        assert_eq!(ending, complaint(&format!("{what}: No space left on device")));
        let ending = beside("closed", |program| {
            ended(shell(program, "exec \"$0\" \"$@\" >&-").args(words).spawn().unwrap())
        });
        assert_eq!(ending, complaint(&format!("{what}: Bad file descriptor")));
    }
    let ending = beside("read only", |program| {
        ended(command(program).stdout(File::open("/dev/null").unwrap()).spawn().unwrap())
    });
    assert_eq!(ending, complaint("standard output: Bad file descriptor"));
    // The reading end of a pipe: nothing may be written into the memory of whoever asks.
    let ending = beside("a reading end", |program| {
        let (reader, writer) = io::pipe().unwrap();
        let output = ended(command(program).stdout(reader).spawn().unwrap());
        drop(writer);
        output
    });
    assert_eq!(ending, complaint("standard output: Bad file descriptor"));
}

#[test]
fn a_reader_that_leaves_is_no_fault_unless_sigpipe_is_ignored() {
    for words in [&[][..], &["--help"]] {
        let ending = beside("ignored", |program| {
            let (reader, writer) = io::pipe().unwrap();
            drop(reader);
            let mut shell = shell(program, "trap '' PIPE; exec \"$0\" \"$@\"");
            ended(shell.args(words).stdout(writer).spawn().unwrap())
        });
        let what = if words.is_empty() { "standard output" } else { "write error" };
        assert_eq!(ending, complaint(&format!("{what}: Broken pipe")));
        let ending = beside("default", |program| {
            let (reader, writer) = io::pipe().unwrap();
            drop(reader);
            ended(command(program).args(words).stdout(writer).spawn().unwrap())
        });
        assert_eq!(ending, left());
    }
    let ending = beside("ignored, later", |program| {
        let child = shell(program, "trap '' PIPE; exec \"$0\"").stdout(Stdio::piped()).spawn().unwrap();
        some(child, 1 << 20).1
    });
    assert_eq!(ending, complaint("standard output: Broken pipe"));
}

#[test]
fn a_nonblocking_output_ends_it_when_it_is_full() {
    let ending = beside("O_NONBLOCK", |program| {
        let (mut reader, writer) = io::pipe().unwrap();
        rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK).unwrap();
        let output = ended(command(program).arg("ab").stdout(writer).spawn().unwrap());
        let mut taken = Vec::new();
        reader.read_to_end(&mut taken).unwrap();
        assert!(!taken.is_empty() && taken.chunks(3).all(|piece| piece == &b"ab\n"[..piece.len()]));
        output
    });
    assert_eq!(ending, complaint("standard output: Resource temporarily unavailable"));
}

#[test]
fn a_socket_is_written_to_like_any_other_output() {
    let folder = TempDir::new().unwrap();
    let link = link(&folder);
    for program in [Some(link), gnu()].into_iter().flatten() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let child = command(&program).stdout(OwnedFd::from(theirs)).spawn().unwrap();
        let mut taken = vec![0; 1 << 20];
        ours.read_exact(&mut taken).unwrap();
        assert!(taken.chunks_exact(2).all(|line| line == b"y\n"));
        // Not closed before the writer has ended: what was not read then would be another error.
        ours.shutdown(Shutdown::Read).unwrap();
        let ending = ending_of(&program, &ended(child));
        // Linux sends no signal to a writer that waits for room in a socket when its reader leaves.
        assert!([complaint("standard output: Broken pipe"), left()].contains(&ending), "{ending:?}");
    }
    // Messages have borders: they are as long as GNU's, whole lines.
    for (word, length) in [("y", 8192), ("ab", 8190)] {
        let ending = beside("datagrams", |program| {
            let (ours, theirs) = UnixDatagram::pair().unwrap();
            let child = command(program).arg(word).stdout(OwnedFd::from(theirs)).spawn().unwrap();
            let mut taken = vec![0; 1 << 20];
            for _ in 0..20 {
                assert_eq!(ours.recv(&mut taken).unwrap(), length);
            }
            drop(ours);
            ended(child)
        });
        assert_eq!(ending, complaint("standard output: Connection refused"));
    }
}

#[test]
fn a_terminal_gets_lines_and_a_terminal_that_goes_away_ends_it() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let ending = beside("a terminal", |program| {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
        let slave = rustix::fs::open(name.as_c_str(), flags, rustix::fs::Mode::empty()).unwrap();
        let child = command(program).stdout(slave).spawn().unwrap();
        let mut master = File::from(master);
        let mut taken = vec![0; 3000];
        master.read_exact(&mut taken).unwrap();
        assert!(taken.chunks_exact(3).all(|line| line == b"y\r\n"));
        drop(master);
        ended(child)
    });
    assert_eq!(ending, complaint("standard output: Input/output error"));
}

#[test]
fn a_file_is_filled_to_its_limit() {
    for redirection in [">", ">>"] {
        let ending = beside("RLIMIT_FSIZE", |program| {
            let folder = TempDir::new().unwrap();
            let file = folder.path().join("lines");
            fs::write(&file, "y\n").unwrap();
            let script = format!("ulimit -c 0; ulimit -f 64; exec \"$0\" {redirection} \"$1\"");
            let output = ended(shell(program, &script).arg(&file).spawn().unwrap());
            let lines = fs::read(&file).unwrap();
            assert!([64 << 9, 64 << 10].contains(&lines.len()), "{}", lines.len());
            assert!(lines.chunks_exact(2).all(|line| line == b"y\n"));
            output
        });
        assert_eq!(ending.signal, Some(Signal::XFSZ.as_raw()));
    }
}

/// Words that make a line of `length` bytes, its newline included. One word may not have more than 128 KiB.
fn line(length: usize) -> (Vec<OsString>, Vec<u8>) {
    let mut bytes: Vec<u8> = (0..length - 1).map(|byte| b'!' + (byte * 7 % 89) as u8).collect();
    for place in (100_000..length.saturating_sub(2)).step_by(100_000) {
        bytes[place] = b' ';
    }
    if let Some(first) = bytes.first_mut() {
        *first = b'x';
    }
    let words = bytes
        .chunk_by(|_, &next| next != b' ')
        .map(|word| OsString::from_vec(word.strip_prefix(b" ").unwrap_or(word).to_vec()));
    // A line that is a newline only is made by a word that is empty.
    let words = if length == 1 { vec![OsString::new()] } else { words.collect() };
    bytes.push(b'\n');
    (words, bytes)
}

const LENGTHS: [usize; 14] =
    [1, 2, 3, 4095, 4096, 4097, 20_000, 29_000, 32_767, 32_768, 32_769, 70_000, 300_000, 1_000_000];

/// Holds bytes that come in pieces against a line that repeats.
struct Against<'a> {
    line: &'a [u8],
    at: usize,
}

impl Against<'_> {
    fn hold(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let phase = self.at % self.line.len();
            let length = rest.len().min(self.line.len() - phase);
            assert!(
                rest[..length] == self.line[phase..phase + length],
                "line of {}, near byte {}",
                self.line.len(),
                self.at
            );
            self.at += length;
            rest = &rest[length..];
        }
    }
}

fn yes(words: &[OsString]) -> Child {
    tenbin(&["yes", "--"]).args(words).spawn().unwrap()
}

/// Reads so many bytes, a block at a time, and holds each against the line; then leaves, which ends the
/// child.
fn hold(what: &str, line: &[u8], child: Child, mut output: impl Read, bytes: usize, room: usize) {
    let mut against = Against { line, at: 0 };
    let mut block = vec![0; room];
    while against.at < bytes {
        let count = output.read(&mut block).unwrap();
        assert_ne!(count, 0, "{what}");
        against.hold(&block[..count]);
    }
    drop(output);
    assert_eq!(ended(child).status.signal(), Some(13), "{what}");
}

#[test]
fn every_byte_is_right_however_it_is_read() {
    for length in LENGTHS {
        let (words, line) = line(length);
        for room in [65_536, 4_093, 777_777] {
            let mut child = yes(&words);
            let output = child.stdout.take().unwrap();
            hold("plain reads", &line, child, output, 12 << 20, room);
        }
    }
}

#[test]
fn every_byte_is_right_when_buffers_are_moved_and_held() {
    for length in LENGTHS {
        let (words, line) = line(length);
        let mut child = yes(&words);
        let output = child.stdout.take().unwrap();
        // What is held is looked at last, when everything else has been sent.
        let (mut held, holder) = io::pipe().unwrap();
        let kept = tee(&output, &holder, 1 << 20, SpliceFlags::empty()).unwrap();
        let (mut moved, mover) = io::pipe().unwrap();
        fcntl_setpipe_size(&mover, 256 << 10).unwrap();
        let mut against = Against { line: &line, at: 0 };
        let mut block = vec![0; 1 << 20];
        while against.at < 12 << 20 {
            // An odd number of bytes splits buffers.
            let bytes = splice(&output, None, &mover, None, 99_991, SpliceFlags::empty()).unwrap();
            assert_ne!(bytes, 0);
            moved.read_exact(&mut block[..bytes]).unwrap();
            against.hold(&block[..bytes]);
        }
        assert_ne!(kept, 0);
        held.read_exact(&mut block[..kept]).unwrap();
        Against { line: &line, at: 0 }.hold(&block[..kept]);
        drop(output);
        assert_eq!(ended(child).status.signal(), Some(13));
    }
}

#[test]
fn a_call_that_a_filter_refuses_is_done_without() {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
    use std::collections::BTreeMap;
    let numbers = [
        ("tee", libc::SYS_tee),
        ("splice", libc::SYS_splice),
        ("vmsplice", libc::SYS_vmsplice),
        ("socketpair", libc::SYS_socketpair),
        ("sendto", libc::SYS_sendto),
        ("pipe2", libc::SYS_pipe2),
    ];
    let sets: &[&[&str]] = &[
        &["tee"],
        &["splice"],
        &["socketpair"],
        &["sendto"],
        &["pipe2"],
        &["tee", "vmsplice"],
        &["splice", "socketpair", "vmsplice"],
    ];
    for (refused, errno) in
        sets.iter().flat_map(|set| [libc::EPERM, libc::ENOSYS, libc::EINVAL].map(|errno| (*set, errno)))
    {
        for length in [2, 20_000] {
            let (words, line) = line(length);
            // A filter holds for the thread that applies it and for what it starts.
            let child = thread::spawn(move || {
                let (reader, writer) = io::pipe().unwrap();
                let mut command = tenbin(&["yes"]);
                command.args(&words).stdout(writer).stderr(Stdio::inherit());
                let rules = numbers.iter().filter(|(name, _)| refused.contains(name));
                let rules: BTreeMap<i64, Vec<_>> = rules.map(|(_, number)| (*number, Vec::new())).collect();
                assert_eq!(rules.len(), refused.len());
                let filter = SeccompFilter::new(
                    rules,
                    SeccompAction::Allow,
                    SeccompAction::Errno(errno.cast_unsigned()),
                    std::env::consts::ARCH.try_into().unwrap(),
                );
                let program: BpfProgram = filter.unwrap().try_into().unwrap();
                apply_filter(&program).map_err(|error| error.to_string())?;
                Ok::<_, String>((command.spawn().unwrap(), reader))
            });
            let (child, output) = match child.join().unwrap() {
                Ok(started) => started,
                Err(why) => return eprintln!("skipped: no filter can be applied here: {why}"),
            };
            hold(&format!("{refused:?}"), &line, child, output, 3 << 20, 65_536);
        }
    }
}

fn verified(words: &[&str], input: &[u8]) -> (i32, String) {
    let mut child = tenbin(&["yes", "--verify"]).args(words).stdin(Stdio::piped()).spawn().unwrap();
    // One that finds its request wrong does not read, and may be gone before it is written to.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = ended(child);
    (output.status.code().unwrap(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn a_test_counts_right_lines_or_names_the_first_wrong_one() {
    let fault = "Implementation error in what was examined: ";
    let cases: &[(&[&str], &[u8], i32, &str)] = &[
        (&[], b"y\ny\n", 0, "2 lines are right; then the input ended.\n"),
        (
            &["a", "b"],
            b"a b\na",
            0,
            "1 line is right; then the input ended within a line, after 1 right byte of it.\n",
        ),
        (&["--lines", "2"], b"y\ny\nx\n", 0, "2 lines are right, as many as were asked for.\n"),
        (&["--lines=3"], b"y\ny\n", 4, "it ended after 2 right lines, and 3 were asked for.\n"),
        (&[], b"", 3, "Refused: no byte came"),
        (&["--lines", "0"], b"y\n", 2, "--lines takes a number from 1 on"),
        (&["-x"], b"", 2, "a string that begins with a dash comes after --"),
        // The two published runs that must fail.
        (
            &["aaaaaaaa"],
            b"y\ny\n",
            4,
            "line 1 is wrong from its byte 1 on.\nexpected: aaaaaaaa\nfound:    y\n",
        ),
        (&[], b"aaaaaaaa\n", 4, "line 1 is wrong from its byte 1 on.\nexpected: y\nfound:    aaaaaaaa\n"),
    ];
    for (words, input, code, expected) in cases {
        let (status, text) = verified(words, input);
        assert_eq!((status, text.contains(expected)), (*code, true), "{words:?}: {text}");
        assert_eq!(text.starts_with(fault), *code == 4, "{text}");
    }
}

#[test]
fn yes_passes_its_own_test_and_stops_when_the_test_does() {
    let mut writer = yes(&[OsString::from("ab")]);
    let verify = ["yes", "--verify", "--lines", "5000000", "ab"];
    // The command holds the end that the test reads from: it must be gone before.
    let reader = tenbin(&verify).stdin(writer.stdout.take().unwrap()).spawn().unwrap();
    let output = ended(reader);
    assert_eq!(text(&output.stdout), "5000000 lines are right, as many as were asked for.\n");
    assert_eq!(ended(writer).status.signal(), Some(13));
}
