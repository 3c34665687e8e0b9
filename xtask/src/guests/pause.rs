//! Pauses of a guest that are planted from without, by QEMU's monitor: stops, and a snapshot that it is set
//! back to.

use std::io::{BufRead, BufReader, Error, ErrorKind, Result as Answer, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::watch::insist_named;
use super::{answered, unless_panicked};
use crate::architecture::Architecture;
use crate::command::Command;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// What a guest does.
const SCRIPT: &str = concat!(include_str!("pause.sh"), include_str!("watch_end.sh"));

/// How often everything is planted, and how many gaps that are.
const ROUNDS: &str = "2";
const EACH: usize = 4;

/// How long the monitor may take for an answer, and for a job.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn check(workspace: &Workspace, tenbin: &Path) -> Result<(), Failure> {
    let folder = workspace.scratch("guests")?;
    let (socket, disk) = (folder.join("monitor"), folder.join("disk"));
    let output = unless_panicked(|| {
        let mut plant = |line: &str| {
            println!("{line}");
            let planted = line.split("please ").nth(1).and_then(|words| words.split_once(' '));
            let Some((cause, length)) = planted else { return };
            let done = match cause {
                "pause" => Command::new(tenbin)
                    .arguments(["stall", "vm"])
                    .argument(&socket)
                    .arguments([format!("{}ms", length.trim())])
                    .run()
                    .map_err(|failure| Error::other(failure.to_string())),
                _ => set_back(&socket, &disk, length.trim().parse().unwrap_or_default()),
            };
            // What is not done the guest does not see, and that is judged below.
            done.unwrap_or_else(|error| println!("{line}: {error}"));
        };
        Command::new("sh")
            .arguments(["-c", "exec \"$@\" 2>&1", "sh"])
            .argument(tenbin)
            .arguments(["guest", "run", "--arch", Architecture::HERE.name(), "--kernel", "trixie"])
            .arguments(["--seconds", "300", "--cpus", "2", "--console", "--monitor"])
            .argument(&socket)
            .arguments(["--", "sh", "-c", SCRIPT, "sh", ROUNDS])
            .follow(&mut plant)
    })?;
    answered(&output, "watch a guest that is paused", 0, &["at the end", "\"summary\""])?;
    insist_named(&output.text, ROUNDS.parse::<usize>().unwrap_or_default() * EACH)
}

/// Keeps the guest as it is, and sets it back to that after so many milliseconds.
fn set_back(socket: &Path, disk: &Path, length: u64) -> Answer<()> {
    let mut monitor = Monitor::connect(socket)?;
    let name = disk.display();
    // A disk of its own, that the guest does not see, takes the snapshot.
    let (file, blocks) = ("tenbin-file", "tenbin-disk");
    let _ = monitor.ask(&format!(r#"{{"execute":"blockdev-del","arguments":{{"node-name":"{blocks}"}}}}"#));
    let _ = monitor.ask(&format!(r#"{{"execute":"blockdev-del","arguments":{{"node-name":"{file}"}}}}"#));
    let _ = std::fs::remove_file(disk);
    monitor
        .job("blockdev-create", &format!(r#""options":{{"driver":"file","filename":"{name}","size":0}}"#))?;
    monitor.ask(&format!(
        r#"{{"execute":"blockdev-add","arguments":{{"node-name":"{file}","driver":"file","filename":"{name}"}}}}"#
    ))?;
    let options = format!(r#""options":{{"driver":"qcow2","file":"{file}","size":4096}}"#);
    monitor.job("blockdev-create", &options)?;
    monitor.ask(&format!(
        r#"{{"execute":"blockdev-add","arguments":{{"node-name":"{blocks}","driver":"qcow2","file":"{file}"}}}}"#
    ))?;
    let snapshot = format!(r#""tag":"before","vmstate":"{blocks}","devices":["{blocks}"]"#);
    let begin = Instant::now();
    monitor.job("snapshot-save", &snapshot)?;
    thread::sleep(Duration::from_millis(length));
    monitor.job("snapshot-load", &snapshot)?;
    println!("the guest was set back by {} ms", begin.elapsed().as_millis());
    Ok(())
}

/// QEMU's monitor (`docs/interop/qmp-spec.rst` of QEMU).
struct Monitor {
    socket: UnixStream,
    answers: BufReader<UnixStream>,
}

impl Monitor {
    fn connect(path: &Path) -> Answer<Self> {
        let socket = UnixStream::connect(path)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let answers = BufReader::new(socket.try_clone()?);
        let mut monitor = Self { socket, answers };
        monitor.ask(r#"{"execute":"qmp_capabilities"}"#)?;
        Ok(monitor)
    }

    /// The line that says this, and those before it are nothing.
    fn line_with(&mut self, words: &[&str]) -> Answer<String> {
        loop {
            let mut line = String::new();
            if self.answers.read_line(&mut line)? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            if words.iter().any(|words| line.contains(words)) {
                return Ok(line);
            }
        }
    }

    fn ask(&mut self, command: &str) -> Answer<()> {
        writeln!(self.socket, "{command}")?;
        match self.line_with(&["\"return\"", "\"error\""])? {
            line if line.contains("\"error\"") => Err(Error::other(format!("{command}: {line}"))),
            _ => Ok(()),
        }
    }

    /// Has a job done, to its end.
    fn job(&mut self, name: &str, arguments: &str) -> Answer<()> {
        writeln!(self.socket, r#"{{"execute":"{name}","arguments":{{"job-id":"job",{arguments}}}}}"#)?;
        let (mut is_begun, mut is_over) = (false, false);
        while !is_begun || !is_over {
            let line = self.line_with(&["\"return\"", "\"error\"", "\"concluded\""])?;
            if line.contains("\"error\"") {
                return Err(Error::other(format!("{name}: {line}")));
            }
            is_begun |= line.contains("\"return\"");
            is_over |= line.contains("\"concluded\"");
        }
        writeln!(self.socket, r#"{{"execute":"query-jobs"}}"#)?;
        let answer = self.line_with(&["\"return\""])?;
        self.ask(r#"{"execute":"job-dismiss","arguments":{"id":"job"}}"#)?;
        match answer.contains("\"error\"") {
            true => Err(Error::other(format!("{name}: {answer}"))),
            false => Ok(()),
        }
    }
}
