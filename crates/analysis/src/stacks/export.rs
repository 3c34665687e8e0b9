//! Stacks in the files of other tools: what each of these opens is written here, and no viewer of our own.

use tenbin_model::stacks::State;
use tenbin_model::words::or;
use tenbin_model::{Order, Picoseconds, Stacks};

use super::{firefox, folded, perfetto, pprof, speedscope};

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A line a stack, for flame graphs.
    Folded,
    /// speedscope.app.
    Speedscope,
    /// `go tool pprof`.
    Pprof,
    /// profiler.firefox.com.
    Firefox,
    /// ui.perfetto.dev.
    Perfetto,
}

impl Kind {
    const ALL: [(&str, Self); 5] = [
        ("folded", Self::Folded),
        ("speedscope", Self::Speedscope),
        ("pprof", Self::Pprof),
        ("firefox", Self::Firefox),
        ("perfetto", Self::Perfetto),
    ];

    /// The file of this kind.
    pub fn written(self, stacks: &Stacks) -> Vec<u8> {
        match self {
            Self::Folded => folded::written(stacks).into_bytes(),
            Self::Speedscope => speedscope::written(stacks).into_bytes(),
            Self::Pprof => pprof::written(stacks),
            Self::Firefox => firefox::written(stacks).into_bytes(),
            Self::Perfetto => perfetto::written(stacks),
        }
    }
}

impl std::str::FromStr for Kind {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let known = Self::ALL.iter().find(|(name, _)| *name == word).map(|(_, kind)| *kind);
        known.ok_or_else(|| {
            format!("`{word}` is no kind of file here; use {}", or(Self::ALL.map(|(name, _)| name)))
        })
    }
}

/// What stands as the innermost frame of a thread that is on no CPU, in files that know only stacks.
pub(super) fn mark(state: State) -> Option<&'static str> {
    match state {
        State::OnCpu => None,
        State::Queued => Some("[queued]"),
        State::Blocked => Some("[blocked]"),
    }
}

/// What stands in place of a stack that could not be walked.
pub(super) const UNKNOWN: &str = "[unknown]";

/// Whole nanoseconds: those of a recording are.
pub(super) fn nanoseconds(time: Picoseconds) -> u64 {
    time.0 / 1000
}

/// The places of the samples of each thread, in the order of time.
pub(super) fn by_thread(stacks: &Stacks) -> Vec<Vec<usize>> {
    let mut threads = vec![Vec::new(); stacks.threads.len()];
    for (sample, place) in stacks.samples.iter().zip(0..) {
        threads[sample.thread as usize].push(place);
    }
    for places in &mut threads {
        places.order_by_key(|&place| (stacks.samples[place].at, place));
    }
    threads
}

/// The command as a title.
pub(super) fn title(stacks: &Stacks) -> String {
    stacks.command.join(" ")
}

/// A thread as a title.
pub(super) fn thread(stacks: &Stacks, place: usize) -> String {
    let thread = &stacks.threads[place];
    format!("{} {}", thread.name, thread.thread)
}
