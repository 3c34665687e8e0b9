//! The program that calls a library: compiled here, bounded, and heard.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tenbin_metal::Fault;
use tenbin_metal::child::{self, Bounds, End, Finished};

use super::contract::{Contract, Input, Outcome};
use super::ending::Ending;
use super::wire::Reader;
use crate::compiled::{Kind, Workshop};
use crate::ending;
use crate::experiment::Unfit;
use crate::shortage;
use crate::source::source;

/// Where the guard page lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    Behind,
    InFront,
}

impl Guard {
    pub(super) const BOTH: [Self; 2] = [Self::Behind, Self::InFront];
}

/// What the program that calls is bound to, in words: what fails for want of more is no fault by itself.
pub(super) const BOUNDS: &str = "512 MiB of address space, files that do not grow";

/// Calls that do not return, after which nothing more is called: `MOST_LATE` in `call.c`.
pub(super) const MOST_LATE: usize = 3;

/// The status with which the program gives up: its memory or its files are no more what they were.
const BROKEN: i32 = 101;

/// What the records of the program are called in `call.c`.
mod kind {
    pub(super) const RETURNED: i32 = 0;
    pub(super) const EXITED: i32 = 1;
    pub(super) const SIGNALLED: i32 = 2;
    pub(super) const LATE: i32 = 3;
    pub(super) const TRESPASSED: i32 = 4;
    pub(super) const LOADED: i32 = 5;
    pub(super) const UNLOADABLE: i32 = 6;
    pub(super) const NO_SYMBOL: i32 = 7;
    pub(super) const UNREADY: i32 = 8;
}

pub(super) struct Harness<I: 'static, O: 'static> {
    contract: &'static Contract<I, O>,
    workshop: Workshop,
    program: PathBuf,
    /// How long a call may take.
    pub(super) within: Duration,
}

impl<I: Input, O: Outcome> Harness<I, O> {
    /// Compiles the program. A call may take as long as `within`.
    ///
    /// # Errors
    /// What is missing where there is no compiler; a fault where it does not compile.
    pub(super) fn new(contract: &'static Contract<I, O>, within: Duration) -> Result<Self, Unfit> {
        let workshop = Workshop::open("the program that calls the library is compiled here")?;
        let source =
            format!("#define SYMBOL \"{}\"\n{}\n{}", contract.symbol, source!("call.c"), contract.call);
        // Neither may the compiler know what the function does, nor turn what calls it into another function.
        let program = workshop.compile("call", &source, Kind::Program, &["-fno-builtin", "-ldl"])?;
        Ok(Self { contract, workshop, program, within })
    }

    /// Calls the library with each input, in one process for as long as that lives. None for what was not
    /// called any more: behind a few calls that did not return there are no others.
    ///
    /// # Errors
    /// A usage error where the library cannot be loaded; a fault where the program cannot be run.
    pub(super) fn call(
        &self,
        library: &Path,
        cases: &[(&I, Guard)],
    ) -> Result<Vec<Option<Ending<O>>>, Unfit> {
        let path = self.workshop.path().join("cases");
        let open = |what: &str, error| Fault::system(format!("{what} {}", path.display()), error);
        fs::write(&path, self.encoded(cases)).map_err(|error| open("write", error))?;
        let within = u64::try_from(self.within.as_millis()).unwrap_or(u64::MAX).max(1);
        let absolute =
            std::path::absolute(library).map_err(|error| Fault::system("find the library", error))?;
        let mut command = Command::new(&self.program);
        command.arg(absolute).arg(within.to_string());
        command.stdin(File::open(&path).map_err(|error| open("read", error))?);
        // The program keeps the deadlines of calls itself; this one is for the program.
        let calls = u32::try_from(cases.len()).unwrap_or(u32::MAX).saturating_add(1);
        let deadline = self.within.saturating_mul(calls).saturating_add(Duration::from_secs(180));
        let finished = child::run(command, Bounds { output: 256 << 20, ..Bounds::within(deadline) })
            .map_err(shortage::unfit)?;
        self.heard(library, cases, &finished)
    }

    fn encoded(&self, cases: &[(&I, Guard)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (input, guard) in cases {
            let input = (self.contract.encode)(input);
            let size = u32::try_from(input.len() + 1).unwrap_or(u32::MAX);
            bytes.extend_from_slice(&size.to_ne_bytes());
            bytes.push(u8::from(*guard == Guard::InFront));
            bytes.extend_from_slice(&input);
        }
        bytes
    }

    fn heard(
        &self,
        library: &Path,
        cases: &[(&I, Guard)],
        finished: &Finished,
    ) -> Result<Vec<Option<Ending<O>>>, Unfit> {
        let mut endings: Vec<Option<Ending<O>>> = vec![None; cases.len()];
        let mut reader = Reader(&finished.stdout);
        let mut loaded = false;
        let mut next = || {
            let (number, kind, detail) = (reader.word()?, reader.word()?, reader.word()?);
            let (printed, size) = (reader.word()?, reader.word()?);
            Some((number, kind, detail, printed, reader.bytes(usize::try_from(size).ok()?)?))
        };
        while let Some((number, kind, detail, printed, body)) = next() {
            let Ok(place) = usize::try_from(number) else {
                loaded |= kind == kind::LOADED;
                if kind == kind::UNREADY {
                    let tried = format!(
                        "start the program that calls {}: {}",
                        library.display(),
                        String::from_utf8_lossy(body)
                    );
                    return Err(Unfit::Refused(shortage::refused(tried, detail)));
                }
                if kind != kind::LOADED {
                    return Err(Unfit::Usage(unloadable(library, kind, detail, body)));
                }
                continue;
            };
            let (Some(slot), Some((input, _))) = (endings.get_mut(place), cases.get(place)) else { continue };
            *slot = Some(match kind {
                kind::RETURNED => match (self.contract.decode)(input, body) {
                    Some(outcome) => Ending::Returned { outcome, printed },
                    None => Ending::Garbled,
                },
                kind::EXITED if detail == BROKEN => Ending::Garbled,
                kind::EXITED => Ending::Exited(detail),
                kind::SIGNALLED => Ending::Signalled(detail),
                kind::LATE => Ending::Late,
                kind::TRESPASSED => Ending::Trespassed(String::from_utf8_lossy(body).into_owned()),
                _ => Ending::Garbled,
            });
        }
        if finished.end != End::Exited(0) {
            // The program itself ends with 0. What else ends it is the library's doing: a worker may kill its
            // parent.
            let lost = match finished.end {
                End::Signalled(signal) => Ending::Signalled(signal),
                End::Exited(status) => Ending::Exited(status),
                End::OutOfTime => Ending::Late,
            };
            match endings.iter_mut().find(|slot| slot.is_none()) {
                Some(slot) if loaded || matches!(finished.end, End::Signalled(_)) => *slot = Some(lost),
                _ => {
                    let error = std::io::Error::other(format!("it ended so: {:?}", finished.end));
                    return Err(Fault::system("call a library from a program of its own", error).into());
                }
            }
        }
        Ok(endings)
    }
}

/// Why nothing of a library could be called.
fn unloadable(library: &Path, kind: i32, detail: i32, body: &[u8]) -> String {
    let library = library.display();
    match kind {
        kind::UNLOADABLE => {
            format!("{library}: it cannot be loaded: {}", String::from_utf8_lossy(body))
        }
        kind::NO_SYMBOL => format!("{library}: the loader does not find its function"),
        kind::SIGNALLED => {
            format!("{library}: {} ends the process that loads it", ending::signal(detail))
        }
        kind::EXITED => format!("{library}: it ends the process that loads it with status {detail}"),
        _ => format!("{library}: loading it does not finish"),
    }
}
