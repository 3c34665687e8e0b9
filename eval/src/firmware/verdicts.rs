//! What `tenbin boot check` must say of every file on 2 and 3 harts, under each memory model.
//!
//! The table is a part of that in `docs/boot.md`. What it says of the first three files under SC is known by
//! hand too (`firmware/README.md`) and from SPIN; the rest is what the checker said when the table was
//! written. From then on no verdict changes unless somebody changes the table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use super::answer::{self, Checked, Machine, Verdict};
use xtask::command::{Command, Output};
use xtask::failure::Failure;

/// Far longer than any question takes, in a build that is not optimised and on a machine that is busy.
const DEADLINE: Duration = Duration::from_secs(3600);

/// Memory models.
const ALL: &[&str] = &["sc", "tso", "rvwmo"];
const STRONG: &[&str] = &["sc", "tso"];
const WEAK: &[&str] = &["rvwmo"];

/// Which boot harts a row is about.
#[derive(Clone, Copy)]
enum Boots {
    Zero,
    Others,
    Each,
    /// The file appoints nobody.
    Nobody,
}
use Boots::{Each, Nobody, Others, Zero};

impl Boots {
    fn harts(self, harts: u64) -> Vec<Option<u64>> {
        match self {
            Self::Zero => vec![Some(0)],
            Self::Others => (1..harts).map(Some).collect(),
            Self::Each => (0..harts).map(Some).collect(),
            Self::Nobody => vec![None],
        }
    }
}

/// A file, numbers of harts, boot harts, memory models, and the faults on all these machines: none if they
/// are sound.
type Row = (&'static str, &'static [u64], Boots, &'static [&'static str], &'static [&'static str]);

/// Nothing can go wrong.
const SOUND: &[&str] = &[];

const TABLE: &[Row] = &[
    ("one_flag", &[2], Zero, ALL, &["dead", "stale", "started_early"]),
    ("one_flag", &[2], Others, ALL, &["stale", "started_early"]),
    ("one_flag", &[3], Each, STRONG, &["dead", "shared_stack", "stale", "started_early"]),
    ("two_flags", &[2], Zero, STRONG, SOUND),
    ("two_flags", &[2], Zero, WEAK, &["dead", "stale"]),
    ("two_flags", &[2], Others, ALL, &["dead", "stale", "started_early"]),
    ("two_flags", &[3], Zero, STRONG, &["dead"]),
    ("two_flags", &[3], Others, STRONG, &["dead", "stale", "started_early"]),
    ("wake_kept", &[2], Each, STRONG, SOUND),
    ("wake_kept", &[2], Each, WEAK, &["dead", "stale"]),
    ("wake_kept", &[3], Each, STRONG, &["dead"]),
    ("slots", &[2, 3], Each, ALL, SOUND),
    ("change", &[2, 3], Each, ALL, SOUND),
    ("lottery", &[2, 3], Nobody, ALL, SOUND),
    ("lottery_broken", &[2], Nobody, ALL, &["dead"]),
    ("lottery_broken", &[3], Nobody, STRONG, &["dead"]),
    ("lottery_broken", &[3], Nobody, WEAK, &["dead", MORE]),
    ("doorbell", &[2, 3], Each, ALL, SOUND),
    ("doorbell_broken", &[2, 3], Each, ALL, &["livelock"]),
    ("own", &[2], Nobody, ALL, SOUND),
    ("own_forgotten", &[2], Nobody, STRONG, SOUND),
    ("own_forgotten", &[2], Nobody, WEAK, &["dead"]),
    ("reserved", &[2], Nobody, ALL, SOUND),
    ("reserved_misplaced", &[2], Nobody, STRONG, SOUND),
    ("reserved_misplaced", &[2], Nobody, WEAK, &["dead"]),
    // Cases. A load passes a jump that is not known yet, and accesses to control and status registers.
    ("park", &[2, 3], Nobody, ALL, SOUND),
    ("park_forgotten", &[2, 3], Nobody, STRONG, SOUND),
    ("park_forgotten", &[2, 3], Nobody, WEAK, &["stale"]),
    ("mailbox", &[2], Nobody, ALL, SOUND),
    ("mailbox_forgotten", &[2], Nobody, STRONG, SOUND),
    ("mailbox_forgotten", &[2], Nobody, WEAK, &["stale"]),
    ("start_lines", &[2, 3], Nobody, ALL, SOUND),
    ("start_lines_forgotten", &[2, 3], Nobody, STRONG, SOUND),
    ("start_lines_forgotten", &[2], Nobody, WEAK, &["shared_stack", "stale"]),
    // With more than two harts what goes wrong is answered at once, and there may be more.
    ("start_lines_forgotten", &[3], Nobody, WEAK, &["shared_stack", "stale", MORE]),
    ("queue", &[2, 3], Nobody, ALL, SOUND),
    ("queue_relaxed", &[2, 3], Nobody, STRONG, SOUND),
    ("queue_relaxed", &[2], Nobody, WEAK, &["dead"]),
    ("queue_relaxed", &[3], Nobody, WEAK, &["dead", MORE]),
    ("queue_no_release", &[2, 3], Nobody, STRONG, SOUND),
    ("queue_no_release", &[2], Nobody, WEAK, &["dead"]),
    ("queue_no_release", &[3], Nobody, WEAK, &["dead", MORE]),
    ("reserve", &[2, 3], Nobody, ALL, SOUND),
    ("reserve_plain", &[2, 3], Nobody, STRONG, SOUND),
    ("reserve_plain", &[2], Nobody, WEAK, &["dead"]),
    ("reserve_plain", &[3], Nobody, WEAK, &["dead", MORE]),
    ("overlap", &[2, 3], Nobody, ALL, &["astray"]),
    ("top_byte", &[2], Nobody, ALL, &["stale"]),
    ("nowhere", &[2], Nobody, ALL, &["astray"]),
    ("jump", &[2], Nobody, ALL, &["astray"]),
    // QEMU takes both in its stride.
    ("misaligned", &[2], Nobody, ALL, &["astray"]),
    ("uart", &[2], Nobody, ALL, &["astray"]),
];

/// Among the faults of a row: a limit was reached, and there may be more.
const MORE: &str = "more";

/// Files, and what is asked of them.
pub(super) struct Question {
    /// What the answer's file is called.
    pub(super) name: &'static str,
    files: &'static [&'static str],
    words: &'static [&'static str],
    /// Whether QEMU follows every run of the answer: no run of it is out of order.
    pub(super) replayed: bool,
    /// Whether QEMU is known to execute what the run ends before, so that it shows nothing.
    pub(super) executed: bool,
}

/// Those of Zephyr. Under RVWMO 3 harts have more states than a test has time for.
const ZEPHYR: &[&str] = &["one_flag", "two_flags", "wake_kept"];
const OURS: &[&str] = &["slots", "change", "doorbell", "doorbell_broken"];
const LOTTERIES: &[&str] = &["lottery", "lottery_broken"];
const EXAMPLES: &[&str] =
    &["example/own", "example/own_forgotten", "example/reserved", "example/reserved_misplaced"];
const CASES: &[&str] = &[
    "cases/park",
    "cases/park_forgotten",
    "cases/start_lines",
    "cases/start_lines_forgotten",
    "cases/queue",
    "cases/queue_relaxed",
    "cases/queue_no_release",
    "cases/reserve",
    "cases/reserve_plain",
];
/// What goes wrong in order too.
const FAULTY: &[&str] = &["cases/top_byte", "cases/nowhere", "cases/jump"];
const EXECUTED: &[&str] = &["cases/misaligned", "cases/uart"];
const MESSAGES: &[&str] = &["cases/mailbox", "cases/mailbox_forgotten"];
const OVERLAP: &[&str] = &["cases/overlap"];

/// All of them together are the table.
pub(super) const QUESTIONS: &[Question] = &[
    question("zephyr-sc", ZEPHYR, &["--harts=2,3", "--boot-hart=all", "--memory=sc"]).followed(),
    question("zephyr-tso", ZEPHYR, &["--harts=2,3", "--boot-hart=all", "--memory=tso"]),
    question("zephyr-rvwmo", ZEPHYR, &["--harts=2", "--boot-hart=all", "--memory=rvwmo"]),
    question("ours-sc", OURS, &["--harts=2,3", "--boot-hart=all", "--memory=sc"]).followed(),
    question("ours", OURS, &["--harts=2,3", "--boot-hart=all", "--memory=tso,rvwmo"]),
    question("lottery-sc", LOTTERIES, &["--harts=2,3", "--memory=sc"]).followed(),
    question("lottery", LOTTERIES, &["--harts=2,3", "--memory=tso,rvwmo"]),
    question("example", EXAMPLES, &["--harts=2", "--arrived=parked", "--all-arrived=kernel"]),
    question("cases", CASES, &["--harts=2,3"]),
    question("messages", MESSAGES, &["--harts=2"]),
    question("faulty-sc", FAULTY, &["--harts=2", "--memory=sc"]).followed(),
    question("faulty", FAULTY, &["--harts=2", "--memory=tso,rvwmo"]),
    question("overlap-sc", OVERLAP, &["--harts=2,3", "--memory=sc"]).followed(),
    question("overlap", OVERLAP, &["--harts=2,3", "--memory=tso,rvwmo"]),
    question("executed-sc", EXECUTED, &["--harts=2", "--memory=sc"]).followed().executed(),
    question("executed", EXECUTED, &["--harts=2", "--memory=tso,rvwmo"]),
];

const fn question(
    name: &'static str,
    files: &'static [&'static str],
    words: &'static [&'static str],
) -> Question {
    Question { name, files, words, replayed: false, executed: false }
}

impl Question {
    const fn followed(mut self) -> Self {
        self.replayed = true;
        self
    }

    const fn executed(mut self) -> Self {
        self.executed = true;
        self
    }

    /// Ask tenbin about the files in the folder `out`: its verdicts, and its answer as it stands.
    pub(super) fn ask(&self, tenbin: Command, out: &Path) -> Result<(Vec<Checked>, String), Failure> {
        let files = self.files.iter().map(|name| out.join(format!("{name}.elf")));
        let command = tenbin.arguments(["boot", "check"]).arguments(files);
        let command = command.arguments(self.words.iter().copied()).argument("--json");
        let Output { code, text, diagnostics, .. } = command.patience(DEADLINE).capture()?;
        Ok((answer::judge(code, &text, &diagnostics)?, text))
    }
}

/// The table, a machine each.
pub(super) fn expected() -> BTreeMap<Machine, BTreeSet<String>> {
    let mut expected = BTreeMap::new();
    for &(file, harts, boots, memories, faults) in TABLE {
        for &harts in harts {
            for boot_hart in boots.harts(harts) {
                for &memory in memories {
                    let machine = Machine { file: file.into(), harts, boot_hart, memory: memory.into() };
                    expected.insert(machine, faults.iter().copied().map(String::from).collect());
                }
            }
        }
    }
    expected
}

/// Every machine of which something else was said than expected, or nothing, or of which nothing is expected.
pub(super) fn differences(
    expected: &BTreeMap<Machine, BTreeSet<String>>,
    verdicts: &BTreeMap<Machine, Verdict>,
) -> Vec<String> {
    let machines = expected.keys().chain(verdicts.keys()).collect::<BTreeSet<_>>();
    let mut differences = Vec::new();
    for machine in machines {
        let (expected, verdict) = (expected.get(machine).cloned().map(whole), verdicts.get(machine).cloned());
        if expected != verdict {
            let words =
                |verdict: Option<Verdict>| verdict.as_ref().map_or("nothing".into(), answer::in_words);
            let (expected, verdict) = (words(expected), words(verdict));
            differences.push(format!("{machine}: `{expected}` was expected, and tenbin says `{verdict}`"));
        }
    }
    differences
}

/// The verdict of a row: whether all of it was looked at is a part of it.
fn whole(mut faults: BTreeSet<String>) -> Verdict {
    let more = faults.remove(MORE);
    let faults = Ok(faults);
    if more { Err(format!("{}, and maybe more", answer::in_words(&faults))) } else { faults }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specimen() -> BTreeMap<Machine, Verdict> {
        expected().into_iter().map(|(machine, faults)| (machine, whole(faults))).collect()
    }

    fn machine(file: &str, harts: u64, boot_hart: Option<u64>, memory: &str) -> Machine {
        Machine { file: file.into(), harts, boot_hart, memory: memory.into() }
    }

    #[test]
    fn no_machine_has_two_rows_and_the_story_is_in_the_table() {
        let machines = TABLE.iter().map(|(_, harts, boots, memories, _)| {
            harts.iter().map(|harts| boots.harts(*harts).len() * memories.len()).sum::<usize>()
        });
        let expected = expected();
        assert_eq!(machines.sum::<usize>(), expected.len());
        for (machine, faults) in [
            (machine("one_flag", 2, Some(0), "sc"), "dead, stale, started_early"),
            (machine("two_flags", 2, Some(0), "sc"), "sound"),
            (machine("two_flags", 2, Some(1), "sc"), "dead, stale, started_early"),
            (machine("wake_kept", 2, Some(1), "sc"), "sound"),
            (machine("wake_kept", 3, Some(2), "sc"), "dead"),
            (machine("wake_kept", 2, Some(0), "rvwmo"), "dead, stale"),
            (machine("change", 3, Some(1), "rvwmo"), "sound"),
            (machine("own_forgotten", 2, None, "rvwmo"), "dead"),
        ] {
            let verdict = expected.get(&machine).cloned().map(Ok);
            assert_eq!(verdict.as_ref().map(answer::in_words).as_deref(), Some(faults), "{machine}");
        }
    }

    #[test]
    fn every_row_is_asked_about_and_only_runs_in_order_are_followed() {
        for (file, ..) in TABLE {
            let asked = |it: &&Question| it.files.iter().any(|path| Path::new(path).ends_with(file));
            assert!(QUESTIONS.iter().any(|it| asked(&it)), "{file}");
        }
        for question in QUESTIONS {
            assert_eq!(question.replayed, question.words.contains(&"--memory=sc"), "{}", question.name);
        }
    }

    #[test]
    fn a_difference_names_the_machine_and_both_verdicts() {
        let expected = expected();
        assert_eq!(differences(&expected, &specimen()), Vec::<String>::new());
        let hart = machine("two_flags", 3, Some(2), "tso");
        let verdicts: [(Option<Verdict>, &str); 5] = [
            (Some(Ok(BTreeSet::new())), "sound"),
            (Some(Ok(["dead".into()].into())), "dead"),
            (Some(Ok(["dead", "stale", "started_early", "astray"].map(String::from).into())), "astray, dead"),
            (Some(Err("refused: no time".into())), "refused: no time"),
            (None, "nothing"),
        ];
        for (verdict, words) in verdicts {
            let mut verdicts = specimen();
            match verdict {
                Some(verdict) => verdicts.insert(hart.clone(), verdict),
                None => verdicts.remove(&hart),
            };
            let differences = differences(&expected, &verdicts);
            assert_eq!(differences.len(), 1, "{differences:?}");
            let known = "two_flags, 3 harts, boot hart 2, tso: `dead, stale, started_early` was expected";
            assert!(differences[0].starts_with(known), "{differences:?}");
            assert!(differences[0].contains(&format!("tenbin says `{words}")), "{differences:?}");
        }
    }

    #[test]
    fn a_wrong_expectation_and_a_machine_in_no_row_fail() {
        let mut wrong = expected();
        let change = machine("change", 2, Some(0), "sc");
        wrong.insert(change.clone(), ["livelock".into()].into());
        let faults = differences(&wrong, &specimen());
        assert_eq!(
            faults,
            ["change, 2 harts, boot hart 0, sc: `livelock` was expected, and tenbin says `sound`"]
        );
        wrong.remove(&change);
        let faults = differences(&wrong, &specimen());
        assert_eq!(
            faults,
            ["change, 2 harts, boot hart 0, sc: `nothing` was expected, and tenbin says `sound`"]
        );
    }
}
