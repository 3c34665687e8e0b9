//! The functions of the C library that can be traced, and how the probe calls each.

use super::names;
use super::signature::{Kind, Parameter};

/// A function.
#[derive(Debug)]
pub(super) struct Api {
    /// Its name, which is that of its symbol.
    pub(super) name: &'static str,
    /// Its arguments that are passed in registers, in order.
    pub(super) parameters: &'static [Parameter],
    /// How it is called.
    pub(super) cases: &'static [Case],
}

/// One way to call it.
#[derive(Debug)]
pub(super) struct Case {
    /// What the probe is told.
    pub(super) told: &'static str,
    /// What is said of it behind the name: `to a pipe`. Empty where there is one way only.
    pub(super) said: &'static str,
    /// Whether standard output is a terminal, and not a pipe.
    pub(super) terminal: bool,
    /// Whether what comes after it has returned belongs to it, to the end of the process.
    pub(super) to_the_end: bool,
}

/// A case that is called as the function is.
const fn plain(name: &'static str) -> Case {
    Case { told: name, said: "", terminal: false, to_the_end: false }
}

const fn sized(told: &'static str, said: &'static str) -> Case {
    Case { told, said, terminal: false, to_the_end: false }
}

const fn printed(told: &'static str, terminal: bool) -> Case {
    Case { told, said: if terminal { "to a terminal" } else { "to a pipe" }, terminal, to_the_end: true }
}

use Kind::{Bytes, Descriptor, Number, Opening, Pointer, Signal, Size, Text};

macro_rules! apis {
    ($($name:literal ($($argument:literal: $kind:expr),*) $($case:expr),*;)*) => {
        &[$(Api {
            name: $name,
            parameters: &[$(($argument, $kind)),*],
            cases: apis!(@cases $name $($case),*),
        }),*]
    };
    (@cases $name:literal) => { &[plain($name)] };
    (@cases $name:literal $($case:expr),+) => { &[$($case),+] };
}

/// All of them.
pub(super) const APIS: &[Api] = apis! {
    "fork" ();
    "vfork" ();
    "posix_spawn" ("pid": Pointer, "path": Text, "actions": Pointer, "attributes": Pointer, "argv": Pointer,
        "envp": Pointer);
    "pthread_create" ("thread": Pointer, "attributes": Pointer, "routine": Pointer, "argument": Pointer);
    "printf" ("format": Text, "first": Text, "second": Number) printed("printf", false), printed("printf", true);
    "puts" ("s": Text) printed("puts", false), printed("puts", true);
    "read" ("fd": Descriptor, "buf": Pointer, "count": Size);
    "write" ("fd": Descriptor, "buf": Bytes(2), "count": Size);
    "open" ("path": Text, "flags": Opening);
    "close" ("fd": Descriptor);
    "malloc" ("size": Size) sized("malloc-small", "of 100 bytes"), sized("malloc-large", "of 1 MiB");
    "free" ("ptr": Pointer) sized("free-small", "of 100 bytes"), sized("free-large", "of 1 MiB");
    "getpid" ();
    "getppid" ();
    "gettid" ();
    "time" ("tloc": Pointer);
    "gettimeofday" ("tv": Pointer, "tz": Pointer);
    "clock_gettime" ("clock": Kind::One(names::CLOCK), "tp": Pointer);
    "nanosleep" ("request": Kind::Time, "remain": Pointer);
    "sleep" ("seconds": Size);
    "system" ("command": Text);
    "popen" ("command": Text, "type": Text);
    "exit" ("status": Number);
    "abort" ();
    "raise" ("signal": Signal);
    "sem_wait" ("sem": Pointer);
    "pthread_mutex_lock" ("mutex": Pointer);
    "dlopen" ("file": Text, "mode": Size);
    "signal" ("signal": Signal, "handler": Pointer);
    "sigaction" ("signal": Signal, "act": Pointer, "oldact": Pointer);
    "mmap" ("addr": Pointer, "length": Size, "prot": Kind::Set(names::PROTECTION),
        "flags": Kind::Set(names::MAPPING), "fd": Descriptor, "offset": Size);
    "brk" ("addr": Pointer);
    "sbrk" ("increment": Number);
    "getrandom" ("buf": Pointer, "count": Size, "flags": Kind::Set(names::RANDOM));
    "arc4random" ();
    "stat" ("path": Text, "buf": Pointer);
    "opendir" ("name": Text);
    "isatty" ("fd": Descriptor);
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
    fn every_case_stands_in_the_probe_once_and_every_name_is_given_once() {
        let probe = include_str!("probe.c");
        let mut names = BTreeSet::new();
        for api in APIS {
            assert!(names.insert(api.name), "{}", api.name);
            assert!(!api.cases.is_empty());
            for case in api.cases {
                let entry = format!("{{\"{}\", ", case.told);
                assert_eq!(probe.matches(&entry).count(), 1, "{entry}");
            }
            assert!(api.cases.len() == 1 || api.cases.iter().all(|case| !case.said.is_empty()));
            assert!(probe.contains(&format!("{}(", api.name)), "{}", api.name);
        }
        // One more: the case of a child that has nothing to do.
        let told: BTreeSet<_> = APIS.iter().flat_map(|api| api.cases).map(|case| case.told).collect();
        let lines = probe.lines().filter(|line| line.starts_with("\t{\"")).count();
        assert_eq!(lines, told.len() + 1);
        assert!(USUAL.iter().all(|name| find(name).is_some()));
        assert!(find("no_such_function").is_none());
    }
}
