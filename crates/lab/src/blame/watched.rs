//! A program's own calls, each held against what a caller must see to.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tenbin_metal::Fault;
use tenbin_metal::child::{self, End};
use tenbin_model::{Attributed, Attribution, Watched};

use super::came::{Came, judge, signal_in_words};
use super::contract::{Contract, Input, Outcome, Specification};
use super::wire::Reader;
use crate::compiled::{Kind, Workshop};
use crate::experiment::Unfit;

const HOST: &str = include_str!("watch.c");

/// What the reports of the watcher are called in `watch.c`.
mod kind {
    pub(super) const WATCHING: i32 = 0;
    pub(super) const CALLED: i32 = 1;
    pub(super) const CALLED_AND_WATCHED: i32 = 2;
    pub(super) const CAME_BACK: i32 = 3;
    pub(super) const TOO_MANY: i32 = 4;
    pub(super) const NOT_FOUND: i32 = 5;
}

/// A call that a program made.
struct Call<I, O> {
    input: I,
    /// What came of it, where that is known.
    came: Option<Came<O>>,
}

/// All calls that a program made.
struct Log<I, O> {
    watching: bool,
    cut: bool,
    not_found: bool,
    calls: Vec<Call<I, O>>,
}

/// Runs `program` (it and its arguments, at least one word), forwards its calls to `library`, or to the function
/// that it would have called, and says whose fault what is.
///
/// # Errors
/// A usage error where the program cannot be run or watched; what is missing where there is no compiler.
pub(super) fn watch<I: Input, O: Outcome>(
    contract: &Contract<I, O>,
    specification: &Specification<I, O>,
    library: Option<&Path>,
    program: &[OsString],
    within: Duration,
) -> Result<(Watched, Vec<Attributed>), Unfit> {
    let Some((name, arguments)) = program.split_first() else {
        return Err(Unfit::Usage("no program is named".into()));
    };
    let workshop = Workshop::open("what watches the program is compiled here")?;
    let source = format!("#define SYMBOL \"{}\"\n{HOST}\n{}", contract.symbol, contract.watch);
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
    let end = child::through(command, within).map_err(|fault| Unfit::Usage(fault.to_string()))?;
    let mut log = read(contract, &fs::read(&path).map_err(|error| tried("read", error))?);
    let name = Path::new(name).display().to_string();
    if !log.watching {
        return Err(Unfit::Usage(format!(
            "{name}: it was run and cannot be watched: nothing can be loaded before it, as into a static program \
             or one that runs with another user's rights"
        )));
    }
    if log.not_found {
        return Err(Unfit::Usage(format!(
            "{name}: it calls {}(), and nothing but the watcher has that: name the library",
            contract.symbol
        )));
    }
    conclude(&mut log, end);
    let outside = log.calls.iter().filter(|call| breach(contract, &call.input).is_some()).count() as u64;
    let watched = Watched {
        program: name,
        calls: log.calls.len() as u64,
        outside,
        cut: log.cut,
        ended: ended(end, within),
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
        End::Signalled(signal) => format!("ended by {}", signal_in_words(signal)),
        End::OutOfTime => format!("still running after {} s, and ended here", within.as_secs_f64()),
    }
}

/// The first thing that a caller did not see to.
fn breach<I, O>(contract: &Contract<I, O>, input: &I) -> Option<&'static str> {
    contract.precondition.iter().find(|condition| !(condition.holds)(input)).map(|condition| condition.text)
}

fn read<I: Input, O: Outcome>(contract: &Contract<I, O>, bytes: &[u8]) -> Log<I, O> {
    let mut log = Log { watching: false, cut: false, not_found: false, calls: Vec::new() };
    let mut open: BTreeMap<(i32, i32), usize> = BTreeMap::new();
    let mut reader = Reader::new(bytes);
    let mut next = || {
        let (kind, process, number) = (reader.word()?, reader.word()?, reader.word()?);
        let size = usize::try_from(reader.word()?).ok()?;
        Some((kind, (process, number), reader.bytes(size)?))
    };
    while let Some((kind, key, body)) = next() {
        match kind {
            kind::WATCHING => log.watching = true,
            kind::TOO_MANY => log.cut = true,
            kind::NOT_FOUND => log.not_found = true,
            kind::CALLED | kind::CALLED_AND_WATCHED => {
                let Some(input) = (contract.decode_input)(body) else { continue };
                if kind == kind::CALLED_AND_WATCHED {
                    open.insert(key, log.calls.len());
                }
                log.calls.push(Call { input, came: None });
            }
            kind::CAME_BACK => {
                let Some(call) = open.remove(&key).and_then(|place| log.calls.get_mut(place)) else {
                    continue;
                };
                let outcome = (contract.decode)(&call.input, body);
                call.came = outcome.map(|outcome| Came::Returned { outcome, printed: 0 });
            }
            _ => {}
        }
    }
    for place in open.into_values() {
        // How it ended is known only of the whole program; see `conclude`.
        log.calls[place].came = Some(Came::Late);
    }
    log
}

/// Calls that never returned ended as the program did. One that exited may have left a call by `exit` or by a jump:
/// of that nothing is said.
fn conclude<I, O>(log: &mut Log<I, O>, end: End) {
    for call in log.calls.iter_mut().filter(|call| matches!(call.came, Some(Came::Late))) {
        call.came = match end {
            End::Signalled(signal) => Some(Came::Signalled(signal)),
            End::OutOfTime => Some(Came::Late),
            End::Exited(_) => None,
        };
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
        let got = match &first.came {
            Some(came @ Came::Returned { outcome, .. }) => {
                let kept = judge(specification, &first.input, came, within).is_none();
                let kept = if kept { ", as the specification says" } else { "" };
                Some(format!("{}{kept}", (contract.show_outcome)(&first.input, outcome)))
            }
            _ => None,
        };
        let answer = got.as_ref().map(|got| format!("; got: {got}")).unwrap_or_default();
        let sentence = format!(
            "Usage error: {program} calls {}() outside of its specification, by which {}. {} of {} calls; \
             the first: {input}{answer}.",
            contract.symbol,
            condition.text,
            breaking().count(),
            watched.calls
        );
        findings.push(Attributed {
            attribution: Attribution::UsageError,
            subject: program.clone(),
            sentence,
            clause: Some(condition.text.into()),
            aspect: None,
            input: Some(input),
            expected: Some(condition.text.into()),
            got,
        });
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
        let Some(came) = call.came.as_ref().filter(|_| breach(contract, &call.input).is_none()) else {
            continue;
        };
        let Some(broken) = judge(specification, &call.input, came, within) else { continue };
        if seen.contains(&broken) {
            continue;
        }
        let clause = specification.clauses[broken.clause].text;
        let (input, deed) = ((contract.show_input)(&call.input), broken.deed(specification));
        let got = match came {
            Came::Returned { outcome, .. } => (contract.show_outcome)(&call.input, outcome),
            ended => format!("it {}", super::came::deed(ended, within)),
        };
        findings.push(Attributed {
            attribution: Attribution::ImplementationError,
            subject: implementation.into(),
            sentence: format!(
                "Implementation error: {implementation} breaks the specification: it {deed}. \
                 First called with: {input}; expected: {clause}; got: {got}."
            ),
            clause: Some(clause.into()),
            aspect: None,
            input: Some(input),
            expected: Some(clause.into()),
            got: Some(got),
        });
        seen.push(broken);
    }
    findings
}
