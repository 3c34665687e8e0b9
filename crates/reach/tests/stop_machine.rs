//! The kernel module `stop_machine`, loaded and used in guests with two CPUs, on Linux 6.1 and 6.12. On
//! 64-bit ARM, too: interrupts that are off are another number there than 1, which this module once took for
//! on.
//!
//! What happens in a guest is in `stop_machine.sh`. None of it depends on how fast the machine is: it is
//! asked what was seen during a stop, and never how long anything else took. How exact a stop is can only be
//! told on a quiet machine, and is not asked here.

mod archive;

use std::collections::BTreeMap;

use tenbin_model::Architecture;
use tenbin_reach::{Cargo, Module, Suite};

/// What the guest does.
const SCRIPT: &str = include_str!("stop_machine.sh");

/// What `/proc/uptime` does not say of a time, in ns: it is cut off after hundredths of a second.
const CUT_OFF: u64 = 10_000_000;

/// What the guest wrote, by parts.
struct Parts(BTreeMap<String, Vec<String>>);

impl Parts {
    fn of(architecture: Architecture, suite: Suite, last: &str) -> Self {
        let command = ["sh", "/script"].into_iter().chain(last.split(' '));
        let mut guest = archive::guest(architecture, suite, &[Module::StopMachine], command);
        guest.cpus = 2;
        guest.cargo.push(Cargo::Bytes { to: "/script".into(), mode: 0o644, content: SCRIPT.into() });
        let outcome = guest.run().expect("the guest answers");
        let (stdout, stderr) =
            (String::from_utf8_lossy(&outcome.stdout), String::from_utf8_lossy(&outcome.stderr));
        assert_eq!(outcome.status, 0, "{stdout}\n{stderr}");
        let mut parts = BTreeMap::<_, Vec<_>>::new();
        let mut name = String::new();
        for line in stdout.lines() {
            match line.strip_prefix("== ") {
                Some(next) => name = next.to_owned(),
                None => parts.entry(name.clone()).or_default().push(line.to_owned()),
            }
        }
        Self(parts)
    }

    fn lines(&self, part: &str) -> &[String] {
        self.0.get(part).unwrap_or_else(|| panic!("there is a part {part}"))
    }

    /// What came of each request in that part: the system's words for it, and what the module said.
    fn answers(&self, part: &str) -> BTreeMap<&str, (&str, &str)> {
        let answers = self.lines(part).iter().filter_map(|line| {
            let (words, answer) = line.split_once(": ")?;
            Some((words, answer.split_once(';').map(|(errno, message)| (errno, message.trim()))?))
        });
        answers.collect()
    }
}

/// One stop: what the device said of it, and what somebody saw who looked at the time on each CPU.
struct Stop<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Stop<'a> {
    fn of(parts: &'a Parts, part: &str) -> Self {
        Self(parts.lines(part).iter().filter_map(|line| line.split_once(' ')).collect())
    }

    fn all(&self, key: &str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(name, _)| *name == key).map(|(_, value)| *value)
    }

    fn text(&self, key: &str) -> &'a str {
        self.all(key)
            .next()
            .unwrap_or_else(|| panic!("there is {key} in {:?}", &self.0[..self.0.len().min(30)]))
    }

    fn number(&self, key: &str) -> u64 {
        self.text(key).parse().unwrap_or_else(|error| panic!("{key}: {error}"))
    }

    /// How often somebody looked before a time span of the kernel's clock in ns, within it, and after it.
    fn looks(&self, cpu: u32, from: u64, to: u64) -> (usize, usize, usize) {
        let (mut before, mut within, mut after) = (0, 0, 0);
        for look in self.all(&format!("cpu{cpu}.saw")) {
            let digits = look.replace('.', "");
            let time = digits.parse::<u64>().expect("a time with hundredths") * CUT_OFF;
            // A look happened in the hundredth of a second that begins at this time.
            match (time < from, time >= to) {
                (true, _) => before += 1,
                (_, true) => after += 1,
                _ if time > from && time + CUT_OFF < to => within += 1,
                _ => (),
            }
        }
        (before, within, after)
    }

    /// A CPU stood still, interrupts off, from when it says to when it says.
    fn held(&self, cpu: u32) {
        let number = |what: &str| self.number(&format!("cpu{cpu}.{what}"));
        let (entered, left) = (number("entered_ns"), number("left_ns"));
        assert_eq!(number("held_ns"), left - entered);
        assert_eq!(number("interrupts_off"), 1);
        let (before, within, after) = self.looks(cpu, entered, left);
        assert!(before > 0 && after > 0, "nobody looked on CPU {cpu}: {before} and {after} times");
        assert_eq!(within, 0, "CPU {cpu} worked between {entered} and {left}");
        // Due in the middle, and it came after the end.
        let late = number("timer_late_ns");
        let half = self.number("requested_ms") * 1_000_000 / 2;
        assert!(late >= half, "an interrupt on CPU {cpu} was {late} ns late, and {half} was the least");
    }

    /// It was a stop of so many milliseconds, of these CPUs, by these means; and how long it really was.
    fn was(&self, millis: u64, cpus: &str, by: &str) -> String {
        assert_eq!((self.number("status"), self.number("error")), (0, 0));
        assert_eq!((self.number("requested_ms"), self.text("cpus"), self.text("by")), (millis, cpus, by));
        let achieved = self.number("achieved_ns");
        assert!(achieved >= millis * 1_000_000, "{achieved} ns were achieved of {millis} ms");
        format!("asked for {millis} ms of CPUs {cpus}, achieved {achieved} ns by {by}")
    }
}

/// Refused with these words of the system, and with a line that contains these.
fn refused(answers: &BTreeMap<&str, (&str, &str)>, expected: &[(&str, &str, &str)]) {
    for (words, errno, why) in expected {
        let (answer, message) =
            answers.get(words).unwrap_or_else(|| panic!("{words} was asked: {answers:?}"));
        assert!(answer == errno && message.contains(why), "{words}: {answer}; {message}");
    }
}

const INVALID: &str = "Invalid argument";
const DENIED: &str = "Operation not permitted";
const BUSY: &str = "Device or resource busy";

/// Loads and uses it, at last for so many milliseconds, and gives the times that were seen: to be read, as no
/// test depends on them.
fn works(architecture: Architecture, suite: Suite, last: u64) -> String {
    let loading = if last > 8000 { format!("msecs={last} force=1") } else { format!("msecs={last}") };
    let parts = Parts::of(architecture, suite, &loading);

    // Wrong parameters: nothing is loaded, so there is no device whose name would follow.
    let answers = parts.answers("refused");
    let table = [
        ("msecs=9000", DENIED, "9000 ms are more than 8000"),
        ("msecs=-1", INVALID, "invalid for parameter"),
        ("msecs=60001 force=1", INVALID, "60001 ms: not between 1 and 60000"),
        ("msecs=10 cpus=9", INVALID, "9: not a list of CPUs"),
        ("msecs=10 cpus=0,2", INVALID, "0,2: not a list of CPUs"),
        ("cpus=", INVALID, "not a list of CPUs"),
    ];
    refused(&answers, &table);
    assert_eq!(parts.lines("refused").len(), table.len(), "{:?}", parts.lines("refused"));

    // As published: the module is loaded, and the time jumps for who looks once a second.
    let seed = Stop::of(&parts, "seed");
    let mut times = vec![seed.was(2000, "0-1", "stop_machine")];
    seed.held(0);
    seed.held(1);
    let seconds = seed.all("second").map(|time| time.parse::<f64>().expect("a time")).collect::<Vec<_>>();
    let jump = seconds.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
    times.push(format!("who looked once a second saw a jump of {jump:.2} s"));
    let (entered, left) = (seed.number("cpu1.entered_ns"), seed.number("cpu1.left_ns"));
    #[expect(clippy::cast_precision_loss, reason = "seconds of a guest's life")]
    let within = |time: &f64| *time > entered as f64 / 1e9 && *time + 0.01 < left as f64 / 1e9;
    assert!(seconds.len() >= 3 && !seconds.iter().any(within), "{seconds:?} between {entered} and {left}");

    // Words that are wrong, and stops that would end badly.
    let answers = parts.answers("again");
    refused(
        &answers,
        &[
            ("0", INVALID, "0 ms: not between"),
            ("-1", INVALID, "-1: not a number"),
            ("60001", INVALID, "60001 ms: not between"),
            ("60001 force", INVALID, "60001 ms: not between"),
            ("8001", DENIED, "no force"),
            ("9000 1", DENIED, "no force"),
            ("100 2", INVALID, "2: not a list of CPUs"),
            ("100 0,5", INVALID, "0,5: not a list of CPUs"),
            ("100 all all", INVALID, "all: not a word"),
            ("100 force all", INVALID, "all: not a word"),
            ("100 all force force", INVALID, "force: not a word"),
            ("100 ,x", INVALID, ",x: not a list of CPUs"),
            ("word", INVALID, "word: not a number"),
            ("", INVALID, "not a number"),
            ("100ms", INVALID, "100ms: not a number"),
            ("4000", DENIED, "softlockup_panic"),
            ("4000 1", DENIED, "softlockup_panic"),
            ("4000 all force", DENIED, "softlockup_panic"),
            ("1", "done", "stopping CPUs 0-1 for 1 ms"),
            ("10000 force", DENIED, "softlockup_panic"),
            ("10500 force", DENIED, "panic_on_rcu_stall"),
            ("60000 force", DENIED, "hung_task_panic"),
            ("2", DENIED, "/proc/sys/kernel/panic cannot be read"),
            ("nobody", DENIED, ""),
        ],
    );
    // Debian's 6.1 has no watchdog for hard lockups on ARM.
    if architecture != Architecture::Aarch64 {
        refused(&answers, &[("5000", DENIED, "hardlockup_panic")]);
    }
    if architecture == Architecture::X86_64 {
        refused(&answers, &[("3000", DENIED, "acpi_pm bridges 20")]);
    }

    // A list of all CPUs is all. A list of one leaves the other alone.
    let all = Stop::of(&parts, "all");
    times.push(all.was(500, "0-1", "stop_machine"));
    all.held(0);
    all.held(1);
    let list = Stop::of(&parts, "list");
    times.push(list.was(2000, "1", "workers"));
    list.held(1);
    let (_, worked, _) = list.looks(0, list.number("cpu1.entered_ns"), list.number("cpu1.left_ns"));
    assert!(worked > 0, "CPU 0 did nothing while only CPU 1 was held");

    refused(&parts.answers("busy"), &[("1", BUSY, "being stopped already")]);

    let unload = parts.lines("unload");
    refused(&parts.answers("unload"), &[(&loading, "loaded", &format!("for {last} ms"))]);
    assert_eq!((&unload[1], unload[3].as_str()), (&format!("requested_ms {last}"), "error 0"), "{unload:?}");
    assert_eq!((unload.len(), unload[4].as_str()), (5, "unloaded"), "{unload:?}");

    // Nothing that was refused was a stop.
    let begun = parts.lines("log").iter().filter_map(|line| line.split_once("stop_machine: stopping CPUs "));
    let begun = begun.map(|(_, what)| what).collect::<Vec<_>>();
    let expected = ["0-1 for 2000 ms", "0-1 for 1 ms", "0-1 for 500 ms", "1 for 2000 ms", "1 for 1000 ms"];
    assert_eq!(begun[..expected.len()], expected);
    assert_eq!(begun.last(), Some(&&*format!("0-1 for {last} ms")));

    // What the kernel found remarkable since the module was first loaded.
    let log = parts.lines("log").iter().skip_while(|line| !line.contains("stop_machine:"));
    let log = log.filter(|line| !line.contains("stop_machine:")).collect::<Vec<_>>();
    let complaints = ["BUG", "WARNING", "stall", "lockup", "hung", "Call Trace", "hogged", "throttl"];
    let wrong = log.iter().filter(|line| complaints.iter().any(|word| line.contains(word)));
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<&&String>::new());
    times.join("\n")
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn linux_6_1_is_stopped_on_x86_64() {
    println!("{}", works(Architecture::X86_64, Suite::Bookworm, 1000));
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn linux_6_12_is_stopped_on_riscv64() {
    let Some((riscv64, trixie)) = archive::riscv64() else { return };
    println!("{}", works(riscv64, trixie, 8001));
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn linux_6_1_is_stopped_on_aarch64() {
    println!("{}", works(Architecture::Aarch64, Suite::Bookworm, 1000));
}
