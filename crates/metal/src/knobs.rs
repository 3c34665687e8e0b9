//! Settings of the kernel that are switched for a while, and put back whatever becomes of this process.

use std::ffi::CString;
use std::fs;
use std::io;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, pidfd_open, setsid, waitpid,
};

use crate::fault::Fault;
use crate::signals::Held;

/// A file that holds a setting, and what it said before.
#[derive(Debug)]
struct Knob {
    path: String,
    before: String,
}

/// Settings as they were, with a guardian that puts them back.
///
/// The guardian is a process of its own, in a session of its own, that no signal reaches but SIGKILL. It
/// waits for the end of this process, however that comes (SIGKILL, a crash, a panic that aborts), writes back
/// what was there and ends. Whoever kills both at once (a control group that is killed, the end of the
/// machine) leaves what was set.
#[derive(Debug)]
pub struct Switched {
    knobs: Vec<Knob>,
    guardian: Option<Pid>,
}

/// Whether this process may set what the file at `path` holds. It is opened, and nothing is written.
///
/// # Errors
/// [`Fault::System`] with the kernel's reason.
pub fn can_be_set(path: &str) -> Result<(), Fault> {
    let opened = fs::OpenOptions::new().write(true).open(path);
    opened.map(drop).map_err(|error| Fault::system(format!("open {path} to set it"), error))
}

/// What the file says now: its word, or the one in brackets where all that it may be are listed.
fn word(path: &str) -> Result<String, Fault> {
    let text = fs::read_to_string(path).map_err(|error| Fault::system(format!("read {path}"), error))?;
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    Ok(bracketed.map_or(text.as_str(), |(chosen, _)| chosen).trim().to_owned())
}

fn write(path: &str, value: &str) -> Result<(), Fault> {
    fs::write(path, value).map_err(|error| Fault::system(format!("write {value} to {path}"), error))
}

impl Switched {
    /// Notes what the files at `paths` say and starts the guardian. Nothing is changed yet.
    ///
    /// # Errors
    /// [`Fault::System`] where one cannot be read or set, or no guardian can be had.
    pub fn guard(paths: &[&str]) -> Result<Self, Fault> {
        let knob = |path: &&str| {
            can_be_set(path)?;
            Ok(Knob { path: (*path).to_owned(), before: word(path)? })
        };
        let knobs: Vec<Knob> = paths.iter().map(knob).collect::<Result<_, Fault>>()?;
        let guardian = Some(guardian(&knobs)?);
        Ok(Self { knobs, guardian })
    }

    /// What the file at `path` said before, if it is one of those that are guarded.
    pub fn before(&self, path: &str) -> Option<&str> {
        self.knobs.iter().find(|knob| knob.path == path).map(|knob| knob.before.as_str())
    }

    /// Sets one of the settings that are guarded.
    ///
    /// # Errors
    /// [`Fault::System`] where it is not guarded, or the kernel does not take the value.
    pub fn set(&self, path: &str, value: &str) -> Result<(), Fault> {
        if self.before(path).is_none() {
            let error = io::Error::other("nobody would put it back");
            return Err(Fault::system(format!("set {path}"), error));
        }
        write(path, value)
    }

    /// Puts everything back, reads it, and lets the guardian go.
    ///
    /// # Errors
    /// [`Fault::System`] that names the first setting that is not what it was. The guardian is left to try
    /// again when this process ends.
    pub fn restore(mut self) -> Result<(), Fault> {
        self.put_back()
    }

    fn put_back(&mut self) -> Result<(), Fault> {
        let Some(guardian) = self.guardian.take() else { return Ok(()) };
        for Knob { path, before } in &self.knobs {
            write(path, before)?;
            let now = word(path)?;
            if now != *before {
                let error = io::Error::other(format!("it says {now}"));
                return Err(Fault::system(format!("put {path} back to {before}"), error));
            }
        }
        // Our own child: it is there until it is waited for, and it has nothing left to do.
        let _ = kill_process(guardian, Signal::KILL);
        let _ = waitpid(Some(guardian), WaitOptions::empty());
        Ok(())
    }
}

impl Drop for Switched {
    fn drop(&mut self) {
        // What cannot be put back now the guardian tries once more.
        let _ = self.put_back();
    }
}

/// Forks the process that puts `knobs` back when this one has ended.
fn guardian(knobs: &[Knob]) -> Result<Pid, Fault> {
    let fault = |error: io::Error| Fault::system("start a guardian for the kernel's settings", error);
    // Everything that it needs is made before the fork.
    let path = |knob: &Knob| CString::new(knob.path.as_str()).map_err(|error| fault(error.into()));
    let paths: Vec<CString> = knobs.iter().map(path).collect::<Result<_, _>>()?;
    let parent = pidfd_open(getpid(), PidfdFlags::empty()).map_err(|error| fault(error.into()))?;
    // The child keeps them blocked for ever.
    let held = Held::all()?;
    // SAFETY: the child runs the lines up to its exit alone: system calls, and reads of values that were made
    // before the fork. It allocates nothing, takes no lock, unwinds nowhere and drops nothing, as a child of
    // a process with several threads must (fork(2)).
    let forked = unsafe { libc::fork() };
    if forked == 0 {
        let _ = setsid();
        let mut ended = [PollFd::new(&parent, PollFlags::IN)];
        // With every signal blocked nothing interrupts it but a stop; then it waits on.
        while poll(&mut ended, None).is_err() {}
        for (knob, path) in knobs.iter().zip(&paths) {
            if let Ok(file) = open(path.as_c_str(), OFlags::WRONLY | OFlags::TRUNC, Mode::empty()) {
                let _ = rustix::io::write(&file, knob.before.as_bytes());
            }
        }
        // SAFETY: it ends the process at once, without handlers or destructors.
        unsafe { libc::_exit(0) };
    }
    let error = io::Error::last_os_error();
    drop(held);
    Pid::from_raw(forked).filter(|_| forked > 0).ok_or_else(|| fault(error))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// The process that a test starts finds here which files it is to switch, and how it is to end.
    const SWITCHED: &str = "TENBIN_SWITCHED";

    /// Two files as the kernel has them: a number, and the chosen of several words.
    fn files() -> (tempfile::TempDir, [String; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let paths = [path("balancing"), path("huge")];
        fs::write(&paths[0], "1\n").unwrap();
        fs::write(&paths[1], "always [madvise] never\n").unwrap();
        (folder, paths)
    }

    fn contents(paths: &[String; 2]) -> [String; 2] {
        paths.each_ref().map(|path| word(path).unwrap())
    }

    fn switched(paths: &[String; 2]) -> Switched {
        let switched = Switched::guard(&[&paths[0], &paths[1]]).unwrap();
        switched.set(&paths[0], "0").unwrap();
        switched.set(&paths[1], "never").unwrap();
        switched
    }

    #[test]
    fn what_was_switched_is_put_back_and_the_guardian_is_gone() {
        let (_folder, paths) = files();
        let before = switched(&paths);
        assert_eq!(contents(&paths), ["0", "never"]);
        let guardian = before.guardian.unwrap();
        before.restore().unwrap();
        assert_eq!(contents(&paths), ["1", "madvise"]);
        assert!(waitpid(Some(guardian), WaitOptions::NOHANG).is_err(), "it was waited for");
        drop(switched(&paths));
        assert_eq!(contents(&paths), ["1", "madvise"]);
    }

    #[test]
    fn unguarded_knobs_stay_and_unsettable_ones_are_refused() {
        let (folder, paths) = files();
        let guarded = Switched::guard(&[&paths[0]]).unwrap();
        assert!(
            guarded.set(&paths[1], "never").unwrap_err().to_string().contains("nobody would put it back")
        );
        assert_eq!(guarded.before(&paths[0]), Some("1"));
        let absent = folder.path().join("absent");
        assert!(
            Switched::guard(&[absent.to_str().unwrap()])
                .unwrap_err()
                .to_string()
                .contains("absent to set it")
        );
        assert!(!absent.exists());
    }

    /// Killed, ended, interrupted, crashed or panicked: a process of its own, whose guardian holds its output
    /// open until it has done its work.
    #[test]
    fn however_the_process_ends_the_settings_are_put_back() {
        if let Ok(asked) = std::env::var(SWITCHED) {
            let (end, paths) = asked.split_once(' ').unwrap();
            let (one, other) = paths.split_once(' ').unwrap();
            let paths = [one.to_owned(), other.to_owned()];
            let _switched = switched(&paths);
            assert_eq!(contents(&paths), ["0", "never"]);
            println!("switched");
            match end.parse().ok().and_then(Signal::from_named_raw) {
                Some(signal) => kill_process(getpid(), signal).unwrap(),
                None => panic!("as it was asked to"),
            }
            unreachable!("it has ended");
        }
        let signals = [Signal::KILL, Signal::TERM, Signal::INT, Signal::ABORT, Signal::HUP];
        let ends = signals.iter().map(|signal| signal.as_raw().to_string()).chain(["panic".to_owned()]);
        for end in ends {
            let (_folder, paths) = files();
            let own = "knobs::tests::however_the_process_ends_the_settings_are_put_back";
            let mut child = Command::new(std::env::current_exe().unwrap());
            child
                .args(["--exact", own, "--nocapture"])
                .env(SWITCHED, format!("{end} {} {}", paths[0], paths[1]));
            let output = child.output().unwrap();
            assert!(String::from_utf8_lossy(&output.stdout).contains("switched"), "{end}: {output:?}");
            assert!(!output.status.success(), "{end}: {output:?}");
            assert_eq!(contents(&paths), ["1", "madvise"], "{end}");
        }
    }
}
