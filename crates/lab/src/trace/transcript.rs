//! What was seen of one call.

use tenbin_metal::child::End;

use super::image::Library;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Argument {
    pub(super) register: &'static str,
    pub(super) value: u64,
    pub(super) name: &'static str,
    /// The value as what it means.
    pub(super) text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) number: u64,
    pub(super) arguments: Vec<Argument>,
    /// Whose code made it.
    pub(super) issuer: String,
    /// The result, or the error's name; none where it did not come back.
    pub(super) outcome: Option<Result<String, String>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Call(Call),
    /// A function of the vDSO runs, in user mode: its name.
    Vdso(String),
    Note(String),
}

impl What {
    pub(super) fn call(&self) -> Option<&Call> {
        match self {
            Self::Call(call) => Some(call),
            Self::Vdso(_) | Self::Note(_) => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Its place in the list of names; 0 is the process that called.
    pub(super) actor: usize,
    /// Whether the function had returned by then.
    pub(super) after: bool,
    pub(super) what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Definition {
    /// With its version: `fork@@GLIBC_2.2.5`.
    pub(super) symbol: String,
    pub(super) library: String,
}

/// What a program's call is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    /// What the program asks for: `fork@GLIBC_2.2.5`.
    pub(super) wanted: String,
    pub(super) definition: Option<Definition>,
    /// The indirect function that chose it, if one did.
    pub(super) chooser: Option<Definition>,
    /// The file that the function's code lies in.
    pub(super) path: String,
    /// The C library that this file is, if it is one.
    pub(super) library: Option<Library>,
    pub(super) c_library: Option<Library>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Transcript {
    pub(super) called: bool,
    pub(super) bound: Option<Bound>,
    pub(super) arguments: Vec<Argument>,
    /// The file that the call came from, which is the program.
    pub(super) called_from: String,
    /// Who took part, in the order of appearance; the process that called first.
    pub(super) actors: Vec<String>,
    pub(super) steps: Vec<Step>,
    /// What the function returned; none where it did not.
    pub(super) result: Option<u64>,
    pub(super) ended: Option<End>,
    /// What it wrote to standard error, the beginning of it, in a line. Empty where it wrote nothing.
    pub(super) complaint: String,
}

impl Transcript {
    pub(super) fn new() -> Self {
        Self { actors: vec!["the process".into()], ..Self::default() }
    }

    /// A name for one more `child` or `thread`, and its place: the second is `the child 2`.
    pub(super) fn name(&mut self, kind: &str) -> usize {
        let alike = self.actors.iter().filter(|actor| actor.split(' ').nth(1) == Some(kind)).count();
        let name = if alike == 0 { format!("the {kind}") } else { format!("the {kind} {}", alike + 1) };
        self.actors.push(name);
        self.actors.len() - 1
    }

    /// The system calls that `actor` made before the function returned, or after it had.
    pub(super) fn calls(&self, actor: usize, after: bool) -> impl Iterator<Item = &Call> {
        self.steps.iter().filter_map(move |step| {
            if step.actor == actor && step.after == after { step.what.call() } else { None }
        })
    }
}
