//! A program's own calls, each held against what a caller must see to.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tenbin_metal::Fault;
use tenbin_metal::child::{self, End};
use tenbin_model::{Attributed, Attribution, Watched};

use super::contract::{Contract, Input, Outcome, Specification};
use super::ending::{Ending, breach, deed, judge};
use super::wire::Reader;
use super::{PROGRAM, Request};
use crate::compiled::{Kind, Workshop};
use crate::ending;
use crate::experiment::Unfit;
use crate::shortage;
use crate::source::source;

/// What the reports of the watcher are called in `watch.c`.
mod kind {
    pub(super) const WATCHING: i32 = 0;
    pub(super) const CALLED: i32 = 1;
    pub(super) const CALLED_AND_WATCHED: i32 = 2;
    pub(super) const CAME_BACK: i32 = 3;
    pub(super) const TOO_MANY: i32 = 4;
    pub(super) const NOT_FOUND: i32 = 5;
    pub(super) const FAULTED: i32 = 6;
}

struct Call<I, O> {
    input: I,
    /// What came of it, where that is known.
    ending: Option<Ending<O>>,
    /// When it was made, where its end was waited for and did not come.
    open_since: Option<Duration>,
}

struct Log<I, O> {
    watching: bool,
    cut: bool,
    not_found: bool,
    calls: Vec<Call<I, O>>,
}

/// Runs the program of `request` (it and its arguments, at least one word), forwards its calls to the
/// library, or to the function that it would have called, and says whose fault what is. A call may take as
/// long as `within`, and the program twice that: so one that was open for all of `within` is told from one
/// that was cut off by the end of the program.
///
/// # Errors
/// A usage error where the program cannot be run or watched; what is missing where there is no compiler.
pub(super) fn watch<I: Input, O: Outcome>(
    contract: &Contract<I, O>,
    specification: &Specification<I, O>,
    request: &Request,
    progress: &dyn Fn(Option<&str>),
) -> Result<(Watched, Vec<Attributed>), Unfit> {
    let Some((name, arguments)) = request.program.split_first() else {
        return Err(Unfit::Usage("no program is named".into()));
    };
    let (library, within) = (request.libraries.first(), request.within.unwrap_or(PROGRAM));
    progress(Some("compiling what watches the program"));
    let workshop = Workshop::open("what watches the program is compiled here")?;
    let source =
        format!("#define SYMBOL \"{}\"\n{}\n{}", contract.symbol, source!("watch.c"), contract.watch);
    // Not a builtin, and no loop of ours may be turned into a call of the very function.
    let options = ["-fno-builtin", "-fno-tree-loop-distribute-patterns", "-ldl"];
    let watcher = workshop.compile("watch.so", &source, Kind::Library, &options)?;
    let path = workshop.path().join("calls");
    let tried = |what: &str, error| Fault::system(format!("{what} {}", path.display()), error);
    File::create(&path).map_err(|error| tried("make", error))?;
    let mut command = Command::new(name);
    let mut preload = watcher.into_os_string();
    if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    command.args(arguments).env("LD_PRELOAD", preload).env("TENBIN_BLAME_LOG", &path);
    if let Some(library) = library {
        let absolute =
            std::path::absolute(library).map_err(|error| Fault::system("find the library", error))?;
        command.env("TENBIN_BLAME_LIBRARY", absolute);
    }
    if request.output_aside {
        let aside = std::io::stderr().as_fd().try_clone_to_owned();
        command.stdout(aside.map_err(|error| Fault::system("open standard error once more", error))?);
    }
    let whole = within.saturating_mul(2);
    progress(None);
    let end = child::through(command, whole).map_err(|fault| {
        if shortage::is_limit(&fault) { shortage::unfit(fault) } else { Unfit::Usage(fault.to_string()) }
    })?;
    let until = child::monotonic();
    let mut log = read(contract, &fs::read(&path).map_err(|error| tried("read", error))?);
    let name = Path::new(name).display().to_string();
    if !log.watching {
        return Err(Unfit::Usage(format!(
            "{name}: it was run and cannot be watched: nothing can be loaded before it, as with a static \
             program or one that runs with another user's rights"
        )));
    }
    if log.not_found {
        return Err(Unfit::Usage(format!(
            "{name}: it calls {}(), and nothing but the watcher has that: name the library",
            contract.symbol
        )));
    }
    if end == End::OutOfTime {
        conclude(&mut log, until, within);
    }
    let outside = log.calls.iter().filter(|call| !is_proper(contract, &call.input)).count() as u64;
    let watched = Watched {
        program: name,
        calls: log.calls.len() as u64,
        outside,
        cut: log.cut,
        ended: ended(end, whole),
    };
    let implementation = match library {
        Some(library) => format!("{}() of {}", contract.symbol, library.display()),
        None => format!("{}() that it uses", contract.symbol),
    };
    let mut findings = usage_errors(contract, specification, &watched, &log, within);
    findings.extend(implementation_errors(contract, specification, &implementation, &log, within));
    Ok((watched, findings))
}

fn ended(end: End, within: Duration) -> String {
    match end {
        End::Exited(status) => format!("exited with status {status}"),
        End::Signalled(signal) => format!("was ended by {}", ending::signal(signal)),
        End::OutOfTime => {
            format!("was ended here because it was still running after {} s", within.as_secs_f64())
        }
    }
}

/// Whether a caller saw to all that it must.
fn is_proper<I, O>(contract: &Contract<I, O>, input: &I) -> bool {
    contract.precondition.iter().all(|condition| (condition.holds)(input))
}

fn read<I: Input, O: Outcome>(contract: &Contract<I, O>, bytes: &[u8]) -> Log<I, O> {
    let mut log = Log { watching: false, cut: false, not_found: false, calls: Vec::new() };
    // By process and thread: the call that is open there, by its number, and its place in the log.
    let mut open: BTreeMap<(i32, i32), (i32, usize)> = BTreeMap::new();
    let mut reader = Reader(bytes);
    let mut next = || {
        let (kind, process, thread) = (reader.word()?, reader.word()?, reader.word()?);
        let number = reader.word()?;
        let (low, high) = (reader.word()?.cast_unsigned(), reader.word()?.cast_unsigned());
        let time = Duration::from_millis(u64::from(high) << 32 | u64::from(low));
        let size = usize::try_from(reader.word()?).ok()?;
        Some((kind, (process, thread), number, time, reader.bytes(size)?))
    };
    while let Some((kind, caller, number, time, body)) = next() {
        match kind {
            kind::WATCHING => log.watching = true,
            kind::TOO_MANY => log.cut = true,
            kind::NOT_FOUND => log.not_found = true,
            kind::CALLED | kind::CALLED_AND_WATCHED => {
                // A thread that calls again has left its last call, by a jump if not by a return.
                if let Some((_, place)) = open.remove(&caller) {
                    log.calls[place].open_since = None;
                }
                let Some(input) = (contract.decode_input)(body) else { continue };
                let awaited = kind == kind::CALLED_AND_WATCHED;
                if awaited {
                    open.insert(caller, (number, log.calls.len()));
                }
                log.calls.push(Call { input, ending: None, open_since: awaited.then_some(time) });
            }
            kind::CAME_BACK | kind::FAULTED => {
                let Some((_, place)) = open.remove(&caller).filter(|(which, _)| *which == number) else {
                    continue;
                };
                let call = &mut log.calls[place];
                call.open_since = None;
                call.ending = if kind == kind::FAULTED {
                    Reader(body).word().map(Ending::Signalled)
                } else {
                    let outcome = (contract.decode)(&call.input, body);
                    outcome.map(|outcome| Ending::Returned { outcome, printed: 0 })
                };
            }
            _ => {}
        }
    }
    log
}

/// A program was ended `until` then. Calls that had been open for all of `within` did not return; of others
/// that were cut off nothing is said, nor of those that a signal from outside or another thread ended.
fn conclude<I, O>(log: &mut Log<I, O>, until: Duration, within: Duration) {
    for call in &mut log.calls {
        if call.open_since.is_some_and(|since| until.saturating_sub(since) >= within) {
            call.ending = Some(Ending::Late);
        }
    }
}

/// One finding for each condition that calls broke, with the first such call.
fn usage_errors<I: Input, O: Outcome>(
    contract: &Contract<I, O>,
    specification: &Specification<I, O>,
    watched: &Watched,
    log: &Log<I, O>,
    within: Duration,
) -> Vec<Attributed> {
    let mut findings = Vec::new();
    for condition in contract.precondition {
        let breaking = || log.calls.iter().filter(|call| !(condition.holds)(&call.input));
        let Some(first) = breaking().next() else { continue };
        let (input, program) = ((contract.show_input)(&first.input), &watched.program);
        let got = match &first.ending {
            Some(ending @ Ending::Returned { outcome, .. }) => {
                let kept = judge(specification, &first.input, ending, within).is_none();
                let says = specification.speaks_of(&first.input);
                let kept = if says && kept { ", as the specification says" } else { "" };
                Some(format!("{}{kept}", (contract.show_outcome)(&first.input, outcome)))
            }
            _ => None,
        };
        let answer = got.as_ref().map(|got| format!("; got: {got}")).unwrap_or_default();
        let sentence = format!(
            "Usage error: {program} calls {}() and breaks an obligation of its caller: {}. {} of {} calls; \
             the first: {input}{answer}.",
            contract.symbol,
            condition.text,
            breaking().count(),
            watched.calls
        );
        let (attribution, subject) = (Attribution::UsageError, program.clone());
        findings.push(breach(attribution, subject, sentence, condition.text, input, got));
    }
    findings
}

/// One finding for each line that a call with a proper input shows to be broken.
fn implementation_errors<I: Input, O: Outcome>(
    contract: &Contract<I, O>,
    specification: &Specification<I, O>,
    implementation: &str,
    log: &Log<I, O>,
    within: Duration,
) -> Vec<Attributed> {
    let mut seen = Vec::new();
    let mut findings = Vec::new();
    for call in &log.calls {
        let Some(ending) = call.ending.as_ref().filter(|_| is_proper(contract, &call.input)) else {
            continue;
        };
        let Some(broken) = judge(specification, &call.input, ending, within) else { continue };
        if seen.contains(&broken) {
            continue;
        }
        let clause = specification.clauses[broken.clause].text;
        let (input, broke) = ((contract.show_input)(&call.input), broken.deed(specification));
        let got = match ending {
            Ending::Returned { outcome, .. } => (contract.show_outcome)(&call.input, outcome),
            other => format!("it {}", deed(other, within)),
        };
        let sentence = format!(
            "Implementation error: {implementation} breaks the specification: it {broke}. \
             First called with: {input}; expected: {clause}; got: {got}."
        );
        let (attribution, subject) = (Attribution::ImplementationError, implementation.into());
        findings.push(breach(attribution, subject, sentence, clause, input, Some(got)));
        seen.push(broken);
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::contracts::sort::{CONTRACT, People, Sorted};
    use super::super::wire::Writer;
    use super::*;

    /// A report of process 7, thread 8, at this second.
    fn report(kind: i32, number: i32, second: i32, body: &[u8]) -> Vec<u8> {
        let size = i32::try_from(body.len()).unwrap();
        Writer::default().words(&[kind, 7, 8, number, second * 1000, 0, size]).bytes(body).0
    }

    fn two_calls(second_made: i32) -> Vec<u8> {
        let input = Writer::default().words(&[1, 0, 1, 5]).0;
        let back = Writer::default().words(&[0, 0, 0, 0]).0;
        [
            report(kind::CALLED_AND_WATCHED, 1, 1, &input),
            report(kind::CAME_BACK, 1, 2, &back),
            report(kind::CALLED_AND_WATCHED, 2, second_made, &input),
        ]
        .concat()
    }

    fn last(log: &Log<People, Sorted>) -> Option<&Ending<Sorted>> {
        log.calls.last().and_then(|call| call.ending.as_ref())
    }

    #[test]
    fn only_a_call_that_was_open_for_all_its_time_did_not_return() {
        let (until, within) = (Duration::from_secs(20), Duration::from_secs(10));
        for (made, late) in [(3, true), (10, true), (11, false), (19, false)] {
            let mut log = read(&CONTRACT, &two_calls(made));
            conclude(&mut log, until, within);
            assert_eq!(last(&log) == Some(&Ending::Late), late, "made at {made} s");
            assert!(matches!(log.calls[0].ending, Some(Ending::Returned { .. })));
        }
    }

    #[test]
    fn a_fault_is_the_librarys_where_the_calls_thread_reports_it() {
        let fault = Writer::default().word(11).0;
        let faulted = [two_calls(3), report(kind::FAULTED, 2, 4, &fault)].concat();
        assert_eq!(last(&read(&CONTRACT, &faulted)), Some(&Ending::Signalled(11)));
        let another_call = [two_calls(3), report(kind::FAULTED, 1, 4, &fault)].concat();
        assert_eq!(last(&read(&CONTRACT, &another_call)), None);
    }
}
