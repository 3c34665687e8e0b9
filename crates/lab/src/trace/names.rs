//! The names of numbers: flags, operations, signals. Values from the kernel's user headers (include/uapi).
//!
//! The three architectures agree on all of them but some of open(2), where arm64 has its own.

use tenbin_model::Architecture;

use crate::ending;

/// A number and what it is called.
pub(super) type Named = (u64, &'static str);

macro_rules! named {
    ($($number:literal: $name:ident,)*) => { &[$(($number, stringify!($name))),*] };
}

/// clone(2), linux/sched.h. The lowest byte of clone's own flags is a signal.
pub(super) const CLONE: &[Named] = named! {
    0x100: CLONE_VM, 0x200: CLONE_FS, 0x400: CLONE_FILES, 0x800: CLONE_SIGHAND, 0x1000: CLONE_PIDFD,
    0x2000: CLONE_PTRACE, 0x4000: CLONE_VFORK, 0x8000: CLONE_PARENT, 0x1_0000: CLONE_THREAD,
    0x2_0000: CLONE_NEWNS, 0x4_0000: CLONE_SYSVSEM, 0x8_0000: CLONE_SETTLS, 0x10_0000: CLONE_PARENT_SETTID,
    0x20_0000: CLONE_CHILD_CLEARTID, 0x40_0000: CLONE_DETACHED, 0x80_0000: CLONE_UNTRACED,
    0x100_0000: CLONE_CHILD_SETTID, 0x200_0000: CLONE_NEWCGROUP, 0x400_0000: CLONE_NEWUTS,
    0x800_0000: CLONE_NEWIPC, 0x1000_0000: CLONE_NEWUSER, 0x2000_0000: CLONE_NEWPID,
    0x4000_0000: CLONE_NEWNET, 0x8000_0000: CLONE_IO, 0x1_0000_0000: CLONE_CLEAR_SIGHAND,
    0x2_0000_0000: CLONE_INTO_CGROUP,
};

/// `CLONE_THREAD`: what is made is a thread of the same process.
pub(super) const CLONE_THREAD: u64 = 0x1_0000;

/// mmap(2), asm-generic/mman-common.h.
pub(super) const PROTECTION: &[Named] =
    &[(1, "PROT_READ"), (2, "PROT_WRITE"), (4, "PROT_EXEC"), (0x100_0000, "PROT_GROWSDOWN")];

/// mmap(2), asm-generic/mman.h and mman-common.h.
pub(super) const MAPPING: &[Named] = named! {
    0x1: MAP_SHARED, 0x2: MAP_PRIVATE, 0x10: MAP_FIXED, 0x20: MAP_ANONYMOUS, 0x40: MAP_32BIT,
    0x100: MAP_GROWSDOWN, 0x800: MAP_DENYWRITE, 0x1000: MAP_EXECUTABLE, 0x2000: MAP_LOCKED,
    0x4000: MAP_NORESERVE, 0x8000: MAP_POPULATE, 0x1_0000: MAP_NONBLOCK, 0x2_0000: MAP_STACK,
    0x4_0000: MAP_HUGETLB, 0x10_0000: MAP_FIXED_NOREPLACE,
};

/// open(2), asm-generic/fcntl.h; the access mode is the two lowest bits.
const OPENING: &[Named] = named! {
    0o100: O_CREAT, 0o200: O_EXCL, 0o400: O_NOCTTY, 0o1000: O_TRUNC, 0o2000: O_APPEND, 0o4000: O_NONBLOCK,
    0o2_0000: O_ASYNC, 0o401_0000: O_SYNC, 0o1_0000: O_DSYNC, 0o100_0000: O_NOATIME, 0o200_0000: O_CLOEXEC,
    0o1000_0000: O_PATH,
};

/// Where the generic values and those of arm64 differ (arch/arm64/include/uapi/asm/fcntl.h).
const OPENING_GENERIC: &[Named] = named! {
    0o2020_0000: O_TMPFILE, 0o4_0000: O_DIRECT, 0o10_0000: O_LARGEFILE, 0o20_0000: O_DIRECTORY,
    0o40_0000: O_NOFOLLOW,
};
const OPENING_AARCH64: &[Named] = named! {
    0o2004_0000: O_TMPFILE, 0o4_0000: O_DIRECTORY, 0o10_0000: O_NOFOLLOW, 0o20_0000: O_DIRECT,
    0o40_0000: O_LARGEFILE,
};

/// futex(2), linux/futex.h; the two highest are flags.
const FUTEX: &[Named] = named! {
    0: FUTEX_WAIT, 1: FUTEX_WAKE, 3: FUTEX_REQUEUE, 4: FUTEX_CMP_REQUEUE, 5: FUTEX_WAKE_OP, 6: FUTEX_LOCK_PI,
    7: FUTEX_UNLOCK_PI, 8: FUTEX_TRYLOCK_PI, 9: FUTEX_WAIT_BITSET, 10: FUTEX_WAKE_BITSET,
};
const FUTEX_FLAGS: &[Named] = &[(0x80, "FUTEX_PRIVATE_FLAG"), (0x100, "FUTEX_CLOCK_REALTIME")];

/// `AT_FDCWD`, linux/fcntl.h, as an int.
pub(super) const CURRENT_FOLDER: i32 = -100;

/// The flags of the calls ending in `at`, linux/fcntl.h.
pub(super) const AT: &[Named] = named! {
    0x100: AT_SYMLINK_NOFOLLOW, 0x200: AT_REMOVEDIR, 0x400: AT_SYMLINK_FOLLOW, 0x800: AT_NO_AUTOMOUNT,
    0x1000: AT_EMPTY_PATH,
};

/// linux/time.h.
pub(super) const CLOCK: &[Named] = named! {
    0: CLOCK_REALTIME, 1: CLOCK_MONOTONIC, 2: CLOCK_PROCESS_CPUTIME_ID, 3: CLOCK_THREAD_CPUTIME_ID,
    4: CLOCK_MONOTONIC_RAW, 5: CLOCK_REALTIME_COARSE, 6: CLOCK_MONOTONIC_COARSE, 7: CLOCK_BOOTTIME,
};

/// clock_nanosleep(2).
pub(super) const SLEEPING: &[Named] = &[(1, "TIMER_ABSTIME")];

/// asm-generic/signal-defs.h.
pub(super) const MASKING: &[Named] = &[(0, "SIG_BLOCK"), (1, "SIG_UNBLOCK"), (2, "SIG_SETMASK")];

/// linux/wait.h.
pub(super) const WAITING: &[Named] = named! {
    1: WNOHANG, 2: WUNTRACED, 4: WEXITED, 8: WCONTINUED, 0x100_0000: WNOWAIT, 0x4000_0000: __WALL,
};

/// linux/random.h.
pub(super) const RANDOM: &[Named] = &[(1, "GRND_NONBLOCK"), (2, "GRND_RANDOM"), (4, "GRND_INSECURE")];

/// asm-generic/mman-common.h.
pub(super) const ADVICE: &[Named] =
    &[(3, "MADV_WILLNEED"), (4, "MADV_DONTNEED"), (8, "MADV_FREE"), (14, "MADV_HUGEPAGE")];

/// asm-generic/ioctls.h.
pub(super) const CONTROL: &[Named] =
    &[(0x5401, "TCGETS"), (0x5413, "TIOCGWINSZ"), (0x541b, "FIONREAD"), (0x802c_542a, "TCGETS2")];

/// linux/fcntl.h.
pub(super) const FILE_CONTROL: &[Named] = named! {
    0: F_DUPFD, 1: F_GETFD, 2: F_SETFD, 3: F_GETFL, 4: F_SETFL, 1030: F_DUPFD_CLOEXEC,
};

/// linux/prctl.h.
pub(super) const PROCESS_CONTROL: &[Named] = &[(0x5356_4d41, "PR_SET_VMA")];

/// A set of flags by their names, what is left as a number, and `0` where there are none.
pub(super) fn set(value: u64, names: &[Named]) -> String {
    let mut left = value;
    let mut parts = Vec::new();
    for &(bits, name) in names {
        if left & bits == bits {
            parts.push(name.to_owned());
            left &= !bits;
        }
    }
    if left != 0 || parts.is_empty() {
        parts.push(if left == 0 { "0".into() } else { format!("{left:#x}") });
    }
    parts.join("|")
}

/// One of several by its name, or as a number.
pub(super) fn one(value: u64, names: &[Named]) -> String {
    let named = names.iter().find(|(number, _)| *number == value);
    named.map_or_else(|| format!("{value:#x}"), |(_, name)| (*name).to_owned())
}

pub(super) fn signal(number: u64) -> String {
    let named = i32::try_from(number).ok().and_then(ending::signal_name);
    named.map_or_else(|| number.to_string(), str::to_owned)
}

/// The flags of clone: names, and the signal that the parent gets at the child's end in the lowest byte.
pub(super) fn clone(flags: u64) -> String {
    let (names, ended) = (set(flags & !0xff, CLONE), flags & 0xff);
    match (flags & !0xff, ended) {
        (_, 0) => names,
        (0, _) => signal(ended),
        _ => format!("{names}|{}", signal(ended)),
    }
}

/// Either of the flags of open with which access rights are passed: `O_CREAT`, and `O_TMPFILE` without the
/// `O_DIRECTORY` that is part of its name. They are the same on all three architectures.
pub(super) const MAKES_A_FILE: u64 = 0o100 | 0o2000_0000;

/// The flags of open, on the architecture `on`.
pub(super) fn opening(flags: u64, on: Architecture) -> String {
    let mode = ["O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"][(flags & 3) as usize];
    match flags & !3 {
        0 => mode.into(),
        rest => format!("{mode}|{}", descriptor(rest, on)),
    }
}

/// The flags that open, pipe2 and dup3 have in common, on the architecture `on`.
pub(super) fn descriptor(flags: u64, on: Architecture) -> String {
    let own = if on == Architecture::Aarch64 { OPENING_AARCH64 } else { OPENING_GENERIC };
    let names: Vec<Named> = OPENING.iter().chain(own).copied().collect();
    set(flags, &names)
}

pub(super) fn futex(operation: u64) -> String {
    let command = one(operation & 0x7f, FUTEX);
    match operation & !0x7f {
        0 => command,
        flags => format!("{command}|{}", set(flags, FUTEX_FLAGS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_flags_of_clone_and_the_signal_in_them() {
        let table = [
            (0x0120_0011, "CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD"),
            (0x4111, "CLONE_VM|CLONE_VFORK|SIGCHLD"),
            (
                0x003d_0f00,
                "CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD|CLONE_SYSVSEM|CLONE_SETTLS|\
                 CLONE_PARENT_SETTID|CLONE_CHILD_CLEARTID",
            ),
            (17, "SIGCHLD"),
            (0, "0"),
            (0x1_0000_4100, "CLONE_VM|CLONE_VFORK|CLONE_CLEAR_SIGHAND"),
        ];
        for (flags, names) in table {
            assert_eq!(clone(flags), names);
        }
    }

    #[test]
    fn the_flags_of_open_are_arm64s_own_where_they_differ() {
        for (flags, generic, arm) in [
            (0o2, "O_RDWR", "O_RDWR"),
            (0o200_0000, "O_RDONLY|O_CLOEXEC", "O_RDONLY|O_CLOEXEC"),
            (0o20_0000, "O_RDONLY|O_DIRECTORY", "O_RDONLY|O_DIRECT"),
            (0o4_0000, "O_RDONLY|O_DIRECT", "O_RDONLY|O_DIRECTORY"),
            (0o1101, "O_WRONLY|O_CREAT|O_TRUNC", "O_WRONLY|O_CREAT|O_TRUNC"),
        ] {
            assert_eq!(opening(flags, Architecture::X86_64), generic);
            assert_eq!(opening(flags, Architecture::Riscv64), generic);
            assert_eq!(opening(flags, Architecture::Aarch64), arm);
        }
    }

    #[test]
    fn operations_signals_and_what_has_no_name() {
        assert_eq!(futex(0x80), "FUTEX_WAIT|FUTEX_PRIVATE_FLAG");
        assert_eq!(futex(0x189), "FUTEX_WAIT_BITSET|FUTEX_PRIVATE_FLAG|FUTEX_CLOCK_REALTIME");
        assert_eq!(
            (signal(6), signal(17), signal(31)),
            ("SIGABRT".into(), "SIGCHLD".into(), "SIGSYS".into())
        );
        assert_eq!((signal(0), signal(64)), ("0".into(), "64".into()));
        assert_eq!(set(0x22, MAPPING), "MAP_PRIVATE|MAP_ANONYMOUS");
        assert_eq!(set(0x4000_0002, MAPPING), "MAP_PRIVATE|0x40000000");
        assert_eq!(one(0x5401, CONTROL), "TCGETS");
        assert_eq!(one(77, CLOCK), "0x4d");
    }

    proptest! {
        /// No bit is lost and none is invented: names and rest add up to the value again.
        #[test]
        fn the_names_of_a_set_add_up_to_it(value: u64) {
            for names in [CLONE, MAPPING, PROTECTION, AT, WAITING] {
                let written = set(value, names);
                let total = written.split('|').map(|part| {
                    let named = names.iter().find(|(_, name)| *name == part).map(|(bits, _)| *bits);
                    let number = part.strip_prefix("0x").unwrap_or(part);
                    named.unwrap_or_else(|| u64::from_str_radix(number, 16).unwrap())
                });
                prop_assert_eq!(total.fold(0, |all, bits| all | bits), value);
            }
        }
    }
}
