use std::path::PathBuf;
use std::process::Command;

use rustix::process::{Signal, WaitOptions, getpid, kill_process, waitpid};

use super::*;

/// The process that a test starts finds here which folder it is to switch in, and how it is to end.
const SWITCHED: &str = "TENBIN_SWITCHED";

/// A machine of two files as the kernel has them, a number and the chosen of several words, with a journal.
struct Files {
    folder: PathBuf,
    /// None where it is another process's to remove.
    _owned: Option<tempfile::TempDir>,
}

impl Files {
    fn new() -> Self {
        let owned = tempfile::tempdir().unwrap();
        let files = Self { folder: owned.path().to_owned(), _owned: Some(owned) };
        fs::write(files.path("balancing"), "1\n").unwrap();
        fs::write(files.path("huge"), "always [madvise] never\n").unwrap();
        files
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).to_str().unwrap().to_owned()
    }

    fn contents(&self) -> [String; 2] {
        ["balancing", "huge"].map(|name| word(&self.path(name)).unwrap())
    }

    fn journal(&self) -> PathBuf {
        self.folder.join("journal")
    }

    fn switches(&self) -> Vec<Switch> {
        vec![
            Switch::setting(self.path("balancing"), "0"),
            Switch::Setting {
                path: self.path("huge"),
                values: vec!["never".into(), "always".into()],
                back: None,
            },
        ]
    }

    fn guarded(&self) -> Switched {
        Switched::guard(self.switches(), &self.journal()).unwrap()
    }

    fn switched(&self) -> Switched {
        let switched = self.guarded();
        switched.set(&self.path("balancing"), "0").unwrap();
        switched.set(&self.path("huge"), "never").unwrap();
        switched
    }

    /// A process that switches them and ends so: by a signal, a panic, or `both`, which is a SIGKILL that
    /// takes the guardian along.
    fn ended(&self, end: &str) {
        let own = "knobs::tests::however_the_process_ends_the_settings_are_put_back";
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", own, "--nocapture"]).env(SWITCHED, format!("{end} {}", self.path("")));
        let output = child.output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains("switched"), "{end}: {output:?}");
        assert!(!output.status.success(), "{end}: {output:?}");
    }
}

const BEFORE: [&str; 2] = ["1", "madvise"];

#[test]
fn what_was_switched_is_put_back_and_the_guardian_is_gone() {
    let files = Files::new();
    let switched = files.switched();
    assert_eq!(files.contents(), ["0", "never"]);
    let guardian = switched.guardian.as_ref().unwrap().pid();
    switched.reset(&files.path("huge")).unwrap();
    assert_eq!(files.contents(), ["0", "madvise"]);
    switched.set(&files.path("huge"), "always").unwrap();
    assert_eq!(switched.restore().unwrap(), []);
    assert_eq!(files.contents(), BEFORE);
    assert!(waitpid(Some(guardian), WaitOptions::NOHANG).is_err(), "it was waited for");
    drop(files.switched());
    assert_eq!(files.contents(), BEFORE);
    assert!(!files.journal().exists());
}

#[test]
fn unguarded_knobs_stay_and_unsettable_ones_are_refused() {
    let files = Files::new();
    let guarded = files.guarded();
    for (name, value) in [("other", "0"), ("huge", "madvise"), ("balancing", "2")] {
        let error = guarded.set(&files.path(name), value).unwrap_err().to_string();
        assert!(error.contains("nobody would put it back"), "{name}: {error}");
    }
    assert_eq!(guarded.before(&files.path("balancing")).as_deref(), Some("1"));
    drop(guarded);
    let absent = files.path("absent");
    let refused = Switched::guard(vec![Switch::setting(&*absent, "1")], &files.journal());
    assert!(refused.unwrap_err().to_string().contains("absent to set it"));
    assert!(!Path::new(&absent).exists());
}

/// Killed, ended, interrupted, crashed or panicked: a process of its own, whose guardian holds its output
/// open until it has done its work.
#[test]
fn however_the_process_ends_the_settings_are_put_back() {
    if let Ok(asked) = std::env::var(SWITCHED) {
        let (end, folder) = asked.split_once(' ').unwrap();
        let switched = Files { folder: folder.into(), _owned: None }.switched();
        println!("switched");
        let signal = if end == "both" {
            kill_process(switched.guardian.as_ref().unwrap().pid(), Signal::KILL).unwrap();
            Some(Signal::KILL)
        } else {
            end.parse().ok().and_then(Signal::from_named_raw)
        };
        match signal {
            Some(signal) => {
                // Whoever started the tests may ignore it, as nohup(1) does; SIGKILL takes no disposition.
                let _ = crate::signals::default(signal.as_raw());
                kill_process(getpid(), signal).unwrap();
            }
            None => panic!("as it was asked to"),
        }
        // Another thread may take the signal, and this one go on for a moment: it puts nothing back.
        loop {
            std::thread::park();
        }
    }
    let signals = [Signal::KILL, Signal::TERM, Signal::INT, Signal::ABORT, Signal::HUP];
    let ends = signals.iter().map(|signal| signal.as_raw().to_string()).chain(["panic".to_owned()]);
    for end in ends {
        let files = Files::new();
        files.ended(&end);
        assert_eq!(files.contents(), BEFORE, "{end}");
        assert!(!files.journal().exists(), "{end}");
    }
}

#[test]
fn what_somebody_else_has_set_since_stays() {
    let files = Files::new();
    let switched = files.switched();
    fs::write(files.path("balancing"), "2\n").unwrap();
    let stays = Overridden { path: files.path("balancing"), now: "2".into() };
    assert_eq!(switched.restore().unwrap(), [stays]);
    assert_eq!(files.contents(), ["2", "madvise"]);
}

#[test]
fn a_journal_left_behind_is_undone_by_whoever_comes_next() {
    let left = || {
        let files = Files::new();
        files.ended("both");
        assert_eq!(files.contents(), ["0", "never"]);
        files
    };
    let files = left();
    let back = |overridden| Restored::Back { settings: 2, overridden };
    assert_eq!(restore(&files.journal()).unwrap(), back(vec![]));
    assert_eq!(files.contents(), BEFORE);
    assert_eq!(restore(&files.journal()).unwrap(), Restored::Nothing);

    let files = left();
    let guarded = files.guarded();
    assert_eq!(files.contents(), BEFORE, "before anything is switched");
    drop(guarded);
    assert_eq!(files.contents(), BEFORE);

    let files = left();
    fs::write(files.path("huge"), "[always] madvise never\n").unwrap();
    fs::write(files.path("balancing"), "7\n").unwrap();
    let stays = Overridden { path: files.path("balancing"), now: "7".into() };
    assert_eq!(restore(&files.journal()).unwrap(), back(vec![stays]), "always is ours as well");
    assert_eq!(files.contents(), ["7", "madvise"]);
}

#[test]
fn a_journal_of_another_boot_or_torn_is_discarded() {
    let files = Files::new();
    files.ended("both");
    let journal = fs::read_to_string(files.journal()).unwrap();
    let boot = word("/proc/sys/kernel/random/boot_id").unwrap();
    let of_another = journal.replace(&boot, "8d0e5e41-45b7-4b64-8c3c-1c5f5e0d9a11");
    let torn = (0..journal.len()).filter(|length| journal.is_char_boundary(*length));
    let torn = torn.map(|length| (journal[..length].to_owned(), Restored::Nothing));
    for (text, expected) in [(of_another, Restored::OfAnotherBoot)].into_iter().chain(torn) {
        fs::write(files.journal(), &text).unwrap();
        assert_eq!(restore(&files.journal()).unwrap(), expected, "{text}");
        assert_eq!(files.contents(), ["0", "never"], "{text}");
        assert!(!files.journal().exists(), "{text}");
    }
}

#[test]
fn settings_are_switched_by_one_process_at_a_time() {
    let files = Files::new();
    let first = files.guarded();
    for refused in [
        Switched::guard(files.switches(), &files.journal()).unwrap_err().to_string(),
        restore(&files.journal()).unwrap_err().to_string(),
    ] {
        let holder = format!("process {} has settings of this machine switched", std::process::id());
        assert!(refused.contains(&holder), "{refused}");
    }
    drop(first);
    drop(files.guarded());
}

/// Files stand for what a kernel makes of values: it may take one and have another.
#[test]
fn a_value_that_does_not_stick_is_undone_at_once() {
    let files = Files::new();
    let path = files.path("balancing");
    let value = Value { write: "+1".into(), reads: "1 2".into() };
    let switch = Switch::Setting { path: path.clone(), values: vec![value], back: None };
    let switched = Switched::guard(vec![switch], &files.journal()).unwrap();
    let error = switched.set(&path, "+1").unwrap_err().to_string();
    assert!(error.contains("it said +1 then, and is as before"), "{error}");
    assert_eq!(word(&path).unwrap(), "1");
}

#[test]
fn a_control_group_is_removed_by_its_own_rules() {
    let files = Files::new();
    let group = Switch::Group { path: files.path("group"), back: files.path("cgroup.procs") };
    let switched = Switched::guard(vec![group], &files.journal()).unwrap();
    switched.set(&files.path("group"), "").unwrap();
    assert!(Path::new(&files.path("group")).is_dir());
    assert_eq!(switched.restore().unwrap(), []);
    assert!(!Path::new(&files.path("group")).exists());
    // Somebody else's is not made, and so never removed.
    fs::create_dir(files.path("group")).unwrap();
    let group = Switch::Group { path: files.path("group"), back: files.path("cgroup.procs") };
    assert!(Switched::guard(vec![group], &files.journal()).is_err());
    assert!(Path::new(&files.path("group")).is_dir());
}
