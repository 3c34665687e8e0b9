//! The functions of the C library that can be traced, and how the probe calls each.

use super::names;
use super::signature::{Kind, Parameter, pointer};

#[derive(Debug)]
pub(super) struct Api {
    pub(super) name: &'static str,
    /// Its arguments that are passed in registers, in order.
    pub(super) parameters: &'static [Parameter],
    pub(super) result: Given,
    pub(super) cases: &'static [Case],
}

/// What a function gives back, in the register for results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// Nothing: it is void, or does not return.
    Nothing,
    /// A number with a sign, as wide as an int. The register's upper half is left open.
    Int,
    /// A number without, as wide.
    Unsigned,
    /// A number with a sign, as wide as the register.
    Long,
    Address,
}

impl Given {
    /// The contents `value` of the register as what they mean; none where they mean nothing.
    pub(super) fn written(self, value: u64) -> Option<String> {
        Some(match self {
            Self::Nothing => return None,
            Self::Int => (value as i32).to_string(),
            Self::Unsigned => (value as u32).to_string(),
            Self::Long => value.cast_signed().to_string(),
            Self::Address => pointer(value),
        })
    }
}

#[derive(Debug)]
pub(super) struct Case {
    /// The argument by which the probe knows it.
    pub(super) argument: &'static str,
    /// What stands behind the function's name: ` to a pipe`. Empty where there is one way only.
    pub(super) suffix: &'static str,
    /// Whether standard output is a terminal, and not a pipe.
    pub(super) terminal: bool,
    /// Whether what comes after it has returned belongs to it, to the end of the process.
    pub(super) to_the_end: bool,
}

const fn quiet(argument: &'static str, suffix: &'static str) -> Case {
    Case { argument, suffix, terminal: false, to_the_end: false }
}

const fn printed(argument: &'static str, terminal: bool) -> Case {
    let suffix = if terminal { " to a terminal" } else { " to a pipe" };
    Case { argument, suffix, terminal, to_the_end: true }
}

use Given::{Address, Int, Long, Nothing, Unsigned};
use Kind::{Bytes, Descriptor, Number, Opening, Pointer, Signal, Size, Text};

macro_rules! apis {
    ($($name:literal ($($argument:literal: $kind:expr),*) -> $result:ident $(, $case:expr)*;)*) => {
        &[$(Api {
            name: $name,
            parameters: &[$(($argument, $kind)),*],
            result: $result,
            cases: apis!(@cases $name $($case),*),
        }),*]
    };
    (@cases $name:literal) => { &[quiet($name, "")] };
    (@cases $name:literal $($case:expr),+) => { &[$($case),+] };
}

pub(super) const APIS: &[Api] = apis! {
    "fork" () -> Int;
    "vfork" () -> Int;
    "posix_spawn" ("pid": Pointer, "path": Text, "actions": Pointer, "attributes": Pointer, "argv": Pointer,
        "envp": Pointer) -> Int;
    "pthread_create" ("thread": Pointer, "attributes": Pointer, "routine": Pointer, "argument": Pointer) -> Int;
    "printf" ("format": Text, "first": Text, "second": Number) -> Int, printed("printf", false), printed("printf", true);
    "puts" ("s": Text) -> Int, printed("puts", false), printed("puts", true);
    "read" ("fd": Descriptor, "buf": Pointer, "count": Size) -> Long;
    "write" ("fd": Descriptor, "buf": Bytes(2), "count": Size) -> Long;
    "open" ("path": Text, "flags": Opening) -> Int;
    "close" ("fd": Descriptor) -> Int;
    "malloc" ("size": Size) -> Address, quiet("malloc-small", " of 100 bytes"), quiet("malloc-large", " of 1 MiB");
    "free" ("ptr": Pointer) -> Nothing, quiet("free-small", " of 100 bytes"), quiet("free-large", " of 1 MiB");
    "getpid" () -> Int;
    "getppid" () -> Int;
    "gettid" () -> Int;
    "time" ("tloc": Pointer) -> Long;
    "gettimeofday" ("tv": Pointer, "tz": Pointer) -> Int;
    "clock_gettime" ("clock": Kind::One(names::CLOCK), "tp": Pointer) -> Int;
    "nanosleep" ("request": Kind::Time, "remain": Pointer) -> Int;
    "sleep" ("seconds": Size) -> Unsigned;
    "system" ("command": Text) -> Int;
    "popen" ("command": Text, "type": Text) -> Address;
    "exit" ("status": Number) -> Nothing;
    "abort" () -> Nothing;
    "raise" ("signal": Signal) -> Int;
    "sem_wait" ("sem": Pointer) -> Int;
    "pthread_mutex_lock" ("mutex": Pointer) -> Int;
    "dlopen" ("file": Text, "mode": Size) -> Address;
    "signal" ("signal": Signal, "handler": Pointer) -> Address;
    "sigaction" ("signal": Signal, "act": Pointer, "oldact": Pointer) -> Int;
    "mmap" ("addr": Pointer, "length": Size, "prot": Kind::Set(names::PROTECTION),
        "flags": Kind::Set(names::MAPPING), "fd": Descriptor, "offset": Size) -> Address;
    "brk" ("addr": Pointer) -> Int;
    "sbrk" ("increment": Number) -> Address;
    "getrandom" ("buf": Pointer, "count": Size, "flags": Kind::Set(names::RANDOM)) -> Long;
    "arc4random" () -> Unsigned;
    "stat" ("path": Text, "buf": Pointer) -> Int;
    "opendir" ("name": Text) -> Address;
    "isatty" ("fd": Descriptor) -> Int;
};

/// The functions to trace where none are named.
pub const USUAL: &[&str] =
    &["fork", "vfork", "posix_spawn", "pthread_create", "printf", "read", "malloc", "clock_gettime"];

/// The names of all functions that can be traced.
pub fn known() -> impl Iterator<Item = &'static str> {
    APIS.iter().map(|api| api.name)
}

pub(super) fn find(name: &str) -> Option<&'static Api> {
    APIS.iter().find(|api| api.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn results_are_written_as_what_they_are() {
        let minus = u64::MAX;
        for (given, value, expected) in [
            (Given::Int, 77, Some("77")),
            // The upper half is what an earlier call left there.
            (Given::Int, 0x7fff_ffff_ffff, Some("-1")),
            (Given::Unsigned, minus, Some("4294967295")),
            (Given::Long, minus, Some("-1")),
            (Given::Address, 0x7000, Some("0x7000")),
            (Given::Address, 0, Some("NULL")),
            (Given::Nothing, 77, None),
        ] {
            assert_eq!(given.written(value).as_deref(), expected, "{given:?}");
        }
    }

    #[test]
    fn every_case_stands_in_the_probe_once() {
        let probe = include_str!("probe.c");
        let mut names = BTreeSet::new();
        for api in APIS {
            assert!(names.insert(api.name), "{}", api.name);
            assert!(!api.cases.is_empty());
            for case in api.cases {
                let entry = format!("{{\"{}\", ", case.argument);
                assert_eq!(probe.matches(&entry).count(), 1, "{entry}");
            }
            assert!(api.cases.len() == 1 || api.cases.iter().all(|case| !case.suffix.is_empty()));
            assert!(probe.contains(&format!("{}(", api.name)), "{}", api.name);
        }
        // One more: the case of a child that has nothing to do.
        let arguments: BTreeSet<_> =
            APIS.iter().flat_map(|api| api.cases).map(|case| case.argument).collect();
        let lines = probe.lines().filter(|line| line.starts_with("\t{\"")).count();
        assert_eq!(lines, arguments.len() + 1);
        assert!(USUAL.iter().all(|name| find(name).is_some()));
        assert!(find("no_such_function").is_none());
    }
}
