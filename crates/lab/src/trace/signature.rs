//! What the arguments of a call are, and how they are written.
//!
//! The order of a system call's arguments is the kernel's (syscalls(2), and man-pages section 2 of each), not
//! that of the function of the same name.

use tenbin_model::Architecture;
use tenbin_model::words::comma;

use super::names::{self, Named};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number with a sign, as wide as an int.
    Number,
    /// A number without.
    Size,
    Pointer,
    /// A file descriptor, or the current folder.
    Descriptor,
    /// The address of a text that ends with a zero byte.
    Text,
    /// The address of bytes that are read; the argument of that number says how many.
    Bytes(usize),
    /// The address of a list of `struct iovec` that are read; the argument of that number says how many.
    Vector(usize),
    /// Access rights of a file that is made, if the flags of open in the argument of that number make one.
    Mode(usize),
    Signal,
    Set(&'static [Named]),
    One(&'static [Named]),
    Clone,
    /// The address of a `struct clone_args`.
    CloneArguments,
    Opening,
    /// The flags of a new descriptor: those of open without a way to access.
    DescriptorFlags,
    Futex,
    /// The address of a `struct timespec`.
    Time,
}

/// An argument: its name and what it is.
pub(super) type Parameter = (&'static str, Kind);

macro_rules! parameters {
    ($name:ident => $($($call:literal)|+ $(if $guard:expr)? => $($argument:ident: $kind:expr),*;)*) => {
        Some(match $name {
            $($($call)|+ $(if $guard)? => &[$((stringify!($argument), $kind)),*],)*
            _ => return None,
        })
    };
}

/// What the arguments of the system call `name` are on the architecture `on`; none where the table lacks it.
pub(super) fn of(name: &str, on: Architecture) -> Option<&'static [Parameter]> {
    use Kind::*;
    parameters! { name =>
        // clone(2): the two last change places with the architecture.
        "clone" if on == Architecture::X86_64 => flags: Clone, stack: Pointer, parent_tid: Pointer,
            child_tid: Pointer, tls: Pointer;
        "clone" => flags: Clone, stack: Pointer, parent_tid: Pointer, tls: Pointer, child_tid: Pointer;
        "clone3" => cl_args: CloneArguments, size: Size;
        "fork" | "vfork" | "getpid" | "getppid" | "gettid" | "sched_yield" | "rt_sigreturn" | "getuid" |
            "geteuid" | "getgid" | "getegid" =>;
        "execve" => path: Text, argv: Pointer, envp: Pointer;
        "exit" | "exit_group" => status: Number;
        "wait4" => pid: Number, status: Pointer, options: Set(names::WAITING), rusage: Pointer;
        "waitid" => which: Number, pid: Number, info: Pointer, options: Set(names::WAITING), rusage: Pointer;
        "read" => fd: Descriptor, buf: Pointer, count: Size;
        "write" => fd: Descriptor, buf: Bytes(2), count: Size;
        "pread64" => fd: Descriptor, buf: Pointer, count: Size, offset: Size;
        "readv" => fd: Descriptor, iov: Pointer, iovcnt: Number;
        "writev" => fd: Descriptor, iov: Vector(2), iovcnt: Number;
        "lseek" => fd: Descriptor, offset: Number, whence: Number;
        "open" => path: Text, flags: Opening, mode: Mode(1);
        "openat" => dirfd: Descriptor, path: Text, flags: Opening, mode: Mode(2);
        "close" => fd: Descriptor;
        "pipe2" => fds: Pointer, flags: DescriptorFlags;
        "dup" => fd: Descriptor;
        "dup2" => old: Descriptor, new: Descriptor;
        "dup3" => old: Descriptor, new: Descriptor, flags: DescriptorFlags;
        "fcntl" => fd: Descriptor, command: One(names::FILE_CONTROL), argument: Pointer;
        "ioctl" => fd: Descriptor, request: One(names::CONTROL), argument: Pointer;
        "stat" | "lstat" => path: Text, buf: Pointer;
        "fstat" => fd: Descriptor, buf: Pointer;
        "newfstatat" => dirfd: Descriptor, path: Text, buf: Pointer, flags: Set(names::AT);
        "statx" => dirfd: Descriptor, path: Text, flags: Set(names::AT), mask: Pointer, buf: Pointer;
        "access" => path: Text, mode: Number;
        "faccessat" => dirfd: Descriptor, path: Text, mode: Number;
        "getdents64" => fd: Descriptor, buf: Pointer, count: Size;
        "brk" => end: Pointer;
        "mmap" => addr: Pointer, length: Size, prot: Set(names::PROTECTION), flags: Set(names::MAPPING),
            fd: Descriptor, offset: Size;
        "munmap" => addr: Pointer, length: Size;
        "mremap" => addr: Pointer, old: Size, new: Size, flags: Size;
        "mprotect" => addr: Pointer, length: Size, prot: Set(names::PROTECTION);
        "madvise" => addr: Pointer, length: Size, advice: One(names::ADVICE);
        "futex" => addr: Pointer, op: Futex, val: Size, timeout: Pointer, addr2: Pointer, val3: Size;
        "set_robust_list" => head: Pointer, length: Size;
        "set_tid_address" => tidptr: Pointer;
        "rseq" => rseq: Pointer, length: Size, flags: Size, signature: Pointer;
        "rt_sigaction" => signal: Signal, act: Pointer, oldact: Pointer, setsize: Size;
        "rt_sigprocmask" => how: One(names::MASKING), set: Pointer, oldset: Pointer, setsize: Size;
        "kill" => pid: Number, signal: Signal;
        "tkill" => tid: Number, signal: Signal;
        "tgkill" => tgid: Number, tid: Number, signal: Signal;
        "clock_gettime" => clock: One(names::CLOCK), time: Pointer;
        "gettimeofday" => time: Pointer, zone: Pointer;
        "time" => time: Pointer;
        "nanosleep" => request: Time, remain: Pointer;
        "clock_nanosleep" => clock: One(names::CLOCK), flags: Set(names::SLEEPING), request: Time,
            remain: Pointer;
        "getrandom" => buf: Pointer, count: Size, flags: Set(names::RANDOM);
        "prctl" => option: One(names::PROCESS_CONTROL), first: Pointer, second: Pointer;
        "prlimit64" => pid: Number, resource: Number, new: Pointer, old: Pointer;
    }
}

/// Those of `parameters` that a call with these values takes. Access rights are passed only with flags that
/// make a file (open(2)); without, their register holds what an earlier call left there.
pub(super) fn taken<'p>(parameters: &'p [Parameter], values: &[u64]) -> &'p [Parameter] {
    let idle = |kind: &Kind| match *kind {
        Kind::Mode(flags) => values.get(flags).is_none_or(|flags| flags & names::MAKES_A_FILE == 0),
        _ => false,
    };
    let end = parameters.iter().position(|(_, kind)| idle(kind));
    &parameters[..end.unwrap_or(parameters.len())]
}

/// Reads memory of the thread that called: at most so many bytes at an address, fewer where it ends.
pub(super) type Memory<'a> = &'a dyn Fn(u64, usize) -> Vec<u8>;

/// The most bytes of a text that are shown.
const SHOWN: usize = 48;

/// The argument `number` of `values` in words.
pub(super) fn written(
    kind: Kind,
    number: usize,
    values: &[u64],
    on: Architecture,
    memory: Memory<'_>,
) -> String {
    let value = values.get(number).copied().unwrap_or_default();
    let int = value as i32;
    match kind {
        Kind::Number => int.to_string(),
        Kind::Size => value.to_string(),
        Kind::Pointer => pointer(value),
        Kind::Descriptor if int == names::CURRENT_FOLDER => "AT_FDCWD".into(),
        Kind::Descriptor => int.to_string(),
        Kind::Text if value == 0 => pointer(value),
        Kind::Text => {
            let bytes = memory(value, SHOWN + 1);
            match bytes.iter().position(|&byte| byte == 0) {
                Some(end) => quoted(&bytes[..end], false),
                None if bytes.is_empty() => pointer(value),
                None => quoted(&bytes[..bytes.len().min(SHOWN)], true),
            }
        }
        Kind::Bytes(length) => bytes(value, values.get(length).copied().unwrap_or_default(), memory),
        Kind::Vector(count) => {
            // Two words each: where, and how many bytes.
            let count = values.get(count).copied().unwrap_or_default().min(PARTS);
            let words = words(&memory(value, 16 * count as usize));
            let (parts, _) = words.as_chunks::<2>();
            let parts = parts.iter().map(|&[at, length]| bytes(at, length, memory));
            format!("[{}]", comma(parts))
        }
        Kind::Mode(_) => format!("{value:#o}"),
        Kind::Signal => names::signal(value),
        Kind::Set(names) => names::set(value, names),
        Kind::One(names) => names::one(value & 0xffff_ffff, names),
        Kind::Clone => names::clone(value),
        Kind::CloneArguments => {
            let size = values.get(number + 1).copied().unwrap_or_default();
            clone_arguments(&memory(value, usize::try_from(size).unwrap_or_default().min(CLONE_ARGUMENTS)))
        }
        Kind::Opening => names::opening(value, on),
        Kind::DescriptorFlags => names::descriptor(value, on),
        Kind::Futex => names::futex(value),
        Kind::Time => match words(&memory(value, 16)).as_slice() {
            &[seconds, nanoseconds] => format!("{{{seconds} s, {nanoseconds} ns}}"),
            _ => pointer(value),
        },
    }
}

/// The most parts of a vector that are shown.
const PARTS: u64 = 8;

/// Bytes that a call takes, quoted; their address where they cannot be read.
fn bytes(at: u64, length: u64, memory: Memory<'_>) -> String {
    let shown = usize::try_from(length).unwrap_or(SHOWN).min(SHOWN);
    let bytes = memory(at, shown);
    if bytes.len() < shown { pointer(at) } else { quoted(&bytes, length > SHOWN as u64) }
}

/// Bytes of `struct clone_args` (linux/sched.h, `CLONE_ARGS_SIZE_VER2`).
const CLONE_ARGUMENTS: usize = 88;

/// `struct clone_args` by its fields; those that are zero are left out.
fn clone_arguments(bytes: &[u8]) -> String {
    const FIELDS: &str = "flags pidfd child_tid parent_tid exit_signal stack stack_size tls \
                          set_tid set_tid_size cgroup";
    let fields = FIELDS.split(' ').zip(words(bytes)).filter(|(_, value)| *value != 0);
    let fields = fields.map(|(field, value)| match field {
        "flags" => format!("flags={}", names::set(value, names::CLONE)),
        "exit_signal" => format!("exit_signal={}", names::signal(value)),
        "stack_size" | "set_tid_size" => format!("{field}={value}"),
        _ => format!("{field}={}", pointer(value)),
    });
    format!("{{{}}}", comma(fields))
}

/// The flags that a call which makes a process or a thread is asked for.
pub(super) fn birth_flags(name: &str, values: &[u64], memory: Memory<'_>) -> Option<u64> {
    match name {
        "clone" => values.first().copied(),
        "clone3" => words(&memory(values.first().copied()?, 8)).first().copied(),
        _ => None,
    }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|&word| u64::from_le_bytes(word)).collect()
}

pub(super) fn pointer(value: u64) -> String {
    if value == 0 { "NULL".into() } else { format!("{value:#x}") }
}

fn quoted(bytes: &[u8], cut: bool) -> String {
    format!("\"{}\"{}", bytes.escape_ascii(), if cut { "…" } else { "" })
}

/// A result as the kernel gives it: a number, an address, or the name of an error.
pub(super) fn outcome(name: &str, result: i64) -> Result<String, String> {
    match i32::try_from(result.wrapping_neg()) {
        Ok(number @ 1..=4095) => {
            Err(syscalls::Errno::new(number).name().map_or_else(|| format!("error {number}"), str::to_owned))
        }
        _ if matches!(name, "mmap" | "mremap" | "brk") => Ok(pointer(result.cast_unsigned())),
        _ => Ok(result.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::architecture::Convention;
    use super::*;

    /// A page at 0x1000 that holds `bytes` and then ends.
    fn page(bytes: &[u8]) -> impl Fn(u64, usize) -> Vec<u8> {
        move |at, most| match at.checked_sub(0x1000).and_then(|at| bytes.get(at as usize..)) {
            Some(rest) => rest[..rest.len().min(most)].to_vec(),
            None => Vec::new(),
        }
    }

    fn call(name: &str, on: Architecture, values: &[u64], memory: &[u8]) -> String {
        let arguments =
            taken(of(name, on).unwrap(), values).iter().enumerate().map(|(number, (argument, kind))| {
                format!("{argument}={}", written(*kind, number, values, on, &page(memory)))
            });
        format!("{name}({})", comma(arguments))
    }

    #[test]
    fn calls_are_written_as_each_architecture_orders_them() {
        use Architecture::*;
        let time = [3_u64.to_le_bytes(), 250_u64.to_le_bytes()].concat();
        let memory = [b"/dev/null\0behind".to_vec(), time].concat();
        type Row<'a> = (Architecture, &'a [u64], &'a str);
        let table: &[Row<'_>] = &[
            (
                X86_64,
                &[0x0120_0011, 0, 0, 0xa10, 0],
                "clone(flags=CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD, stack=NULL, parent_tid=NULL, \
                 child_tid=0xa10, tls=NULL)",
            ),
            (
                Aarch64,
                &[0x0120_0011, 0, 0, 0, 0xa10],
                "clone(flags=CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD, stack=NULL, parent_tid=NULL, \
                 tls=NULL, child_tid=0xa10)",
            ),
            (
                Riscv64,
                &[0x4111, 0x7000, 0, 0, 0],
                "clone(flags=CLONE_VM|CLONE_VFORK|SIGCHLD, stack=0x7000, parent_tid=NULL, tls=NULL, \
                 child_tid=NULL)",
            ),
            (
                Aarch64,
                &[u64::MAX - 99, 0x1000, 0o4_0000, 0],
                "openat(dirfd=AT_FDCWD, path=\"/dev/null\", flags=O_RDONLY|O_DIRECTORY)",
            ),
            // What an earlier call left in the register is no mode.
            (X86_64, &[0x1000, 0o1001, 0o7777], "open(path=\"/dev/null\", flags=O_WRONLY|O_TRUNC)"),
            (
                Riscv64,
                &[u64::MAX - 99, 0x1000, 0o101, 0o640],
                "openat(dirfd=AT_FDCWD, path=\"/dev/null\", flags=O_WRONLY|O_CREAT, mode=0o640)",
            ),
            (
                X86_64,
                &[0x1000, 0o2020_0002, 0o600],
                "open(path=\"/dev/null\", flags=O_RDWR|O_TMPFILE, mode=0o600)",
            ),
            (Aarch64, &[0x2000, 0o200_0000], "pipe2(fds=0x2000, flags=O_CLOEXEC)"),
            (X86_64, &[0x2000, 0], "pipe2(fds=0x2000, flags=0)"),
            (X86_64, &[3, 4, 0o200_0000], "dup3(old=3, new=4, flags=O_CLOEXEC)"),
            (Riscv64, &[1, 0x1000, 3], "write(fd=1, buf=\"/de\", count=3)"),
            (X86_64, &[1, 0x9000, 3], "write(fd=1, buf=0x9000, count=3)"),
            (
                X86_64,
                &[0, 0, 0x1010, 0],
                "clock_nanosleep(clock=CLOCK_REALTIME, flags=0, request={3 s, 250 ns}, remain=NULL)",
            ),
            (
                X86_64,
                &[0, 4096, 3, 0x22, 0xffff_ffff, 0],
                "mmap(addr=NULL, length=4096, prot=PROT_READ|PROT_WRITE, flags=MAP_PRIVATE|MAP_ANONYMOUS, fd=-1, \
                 offset=0)",
            ),
            (X86_64, &[0xffff_ffff], "exit_group(status=-1)"),
            (X86_64, &[7, 7, 6], "tgkill(tgid=7, tid=7, signal=SIGABRT)"),
        ];
        for (on, values, expected) in table {
            let (name, _) = expected.split_once('(').unwrap();
            assert_eq!(call(name, *on, values, &memory), *expected);
        }
    }

    #[test]
    fn the_arguments_of_clone3_are_read_as_far_as_their_size_says() {
        let mut bytes = Vec::new();
        for word in [0x4100_u64, 0, 0, 0, 17, 0x7000, 0x9000, 0, 0, 0, 0] {
            bytes.extend(word.to_le_bytes());
        }
        let whole = "clone3(cl_args={flags=CLONE_VM|CLONE_VFORK, exit_signal=SIGCHLD, stack=0x7000, \
                     stack_size=36864}, size=88)";
        for on in Architecture::ALL {
            assert_eq!(call("clone3", on, &[0x1000, 88], &bytes), whole);
        }
        let first = "clone3(cl_args={flags=CLONE_VM|CLONE_VFORK}, size=8)";
        assert_eq!(call("clone3", Architecture::X86_64, &[0x1000, 8], &bytes), first);
        // Sizes from a program that is wrong ask for nothing that is not there.
        assert_eq!(
            call("clone3", Architecture::X86_64, &[0x9000, u64::MAX], &bytes),
            format!("clone3(cl_args={{}}, size={})", u64::MAX)
        );
        assert_eq!(birth_flags("clone3", &[0x1000, 88], &page(&bytes)), Some(0x4100));
        assert_eq!(birth_flags("clone", &[17], &page(b"")), Some(17));
        assert_eq!(birth_flags("clone3", &[0, 0], &page(b"")), None);
    }

    #[test]
    fn the_parts_of_a_vector_are_shown_as_far_as_they_can_be_read() {
        let mut page = Vec::new();
        for word in [0x1030_u64, 3, 0x9000, 5, 0x1033, 2] {
            page.extend(word.to_le_bytes());
        }
        page.extend(b"ten42");
        let whole = "writev(fd=1, iov=[\"ten\", 0x9000, \"42\"], iovcnt=3)";
        assert_eq!(call("writev", Architecture::X86_64, &[1, 0x1000, 3], &page), whole);
        let none = "writev(fd=1, iov=[], iovcnt=-1)";
        assert_eq!(call("writev", Architecture::X86_64, &[1, 0x9000, u64::MAX], &page), none);
    }

    #[test]
    fn long_texts_are_cut_and_unreadable_ones_are_addresses() {
        let long = "x".repeat(100);
        let shown = |bytes: &[u8], at: u64| written(Kind::Text, 0, &[at], Architecture::X86_64, &page(bytes));
        assert_eq!(shown(long.as_bytes(), 0x1000), format!("\"{}\"…", "x".repeat(SHOWN)));
        assert_eq!(shown(b"a\nb\0", 0x1000), "\"a\\nb\"");
        assert_eq!(shown(b"", 0x5000), "0x5000");
        assert_eq!(shown(b"", 0), "NULL");
    }

    #[test]
    fn results_are_numbers_addresses_or_errors() {
        assert_eq!(outcome("read", 7), Ok("7".into()));
        assert_eq!(outcome("mmap", 0x7000_0000), Ok("0x70000000".into()));
        assert_eq!(outcome("open", -2), Err("ENOENT".into()));
        assert_eq!(outcome("futex", -110), Err("ETIMEDOUT".into()));
        assert_eq!(outcome("lseek", -4096), Ok("-4096".into()));
        assert_eq!(outcome("mmap", i64::MIN), Ok(pointer(1 << 63)));
    }

    #[test]
    fn no_call_has_more_arguments_than_registers() {
        for on in Architecture::ALL {
            for name in (0..600).filter_map(|number| Convention::of(on).call_name(number)) {
                let parameters = of(name, on).unwrap_or_default();
                assert!(parameters.len() <= 6, "{name}");
                for (_, kind) in parameters {
                    if let Kind::Bytes(length) | Kind::Vector(length) | Kind::Mode(length) = kind {
                        assert!(*length < parameters.len(), "{name}");
                    }
                }
            }
        }
    }
}
