//! Which files calls are about.

use aya::maps::{Array, HashMap};
use aya::{Ebpf, EbpfLoader, Pod};
use syscalls::Sysno;

use super::layout::RawUse;
use super::{CALLS, Doing, Nanoseconds, ROWS, SLOTS, letters};
use crate::bpf::{Unattached, chain, map, unattached};

/// Files and calls that are told apart.
const MOST: u32 = 16 << 10;

/// `NAMES` and `LETTERS` in `bpf/file.h`.
const NAMES: usize = 8;
const LETTERS: usize = 32;

/// `GIVEN` and `ROOTED`.
const GIVEN: u32 = u32::MAX;
const ROOTED: u32 = u32::MAX - 1;

/// `struct subject`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct RawSubject {
    row: u32,
    device: u32,
    names: [[u8; LETTERS]; NAMES],
}

// SAFETY: integers and arrays of bytes in C's layout, without a gap; any bytes are a value.
unsafe impl Pod for RawSubject {}

/// How a file was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileName {
    /// The path that a program gave, as it gave it, up to 255 bytes; or one from its root on.
    Given(String),
    /// A place in a file system.
    Placed {
        /// The number of its device (`MKDEV` of the kernel).
        device: u32,
        /// The names from below its root down to the file. None for the root.
        names: Vec<String>,
        /// Whether there are more above these.
        is_cut: bool,
    },
    /// What has neither name nor place, as a socket: the kind of its file system, `sockfs`.
    Nameless(String),
}

/// What a system call did with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileUse {
    /// The file.
    pub file: FileName,
    /// The call.
    pub doing: Doing,
    /// How often.
    pub count: u64,
    /// How often that failed.
    pub errors: u64,
    /// For how long.
    pub spent: Nanoseconds,
}

/// `NO_FILE` and what follows it.
#[derive(Clone, Copy)]
enum By {
    FirstIsPath = 1,
    SecondIsPath = 2,
    Descriptor = 3,
}

/// Calls by the argument that says what file they are about (syscalls(2)). Of two files it is the first.
const CALLS_ABOUT_FILES: [(By, &str); 3] = [
    (
        By::FirstIsPath,
        "access acct chdir chmod chown chroot creat execve getxattr lchown lgetxattr link listxattr llistxattr \
         lremovexattr lsetxattr lstat mkdir mknod open readlink removexattr rename rmdir setxattr stat statfs \
         swapoff swapon truncate umount2 unlink uselib utime utimes",
    ),
    (
        By::SecondIsPath,
        "execveat faccessat faccessat2 fchmodat fchmodat2 fchownat futimesat inotify_add_watch linkat mkdirat \
         mknodat name_to_handle_at newfstatat openat openat2 readlinkat renameat renameat2 statx unlinkat \
         utimensat",
    ),
    (
        By::Descriptor,
        "accept accept4 bind close connect copy_file_range epoll_ctl epoll_pwait epoll_wait fadvise64 fallocate \
         fchdir fchmod fchown fcntl fdatasync fgetxattr flistxattr flock fremovexattr fsetxattr fstat fstatfs \
         fsync ftruncate getdents getdents64 getpeername getsockname getsockopt ioctl listen lseek pread64 preadv \
         preadv2 pwrite64 pwritev pwritev2 read readahead readv recvfrom recvmmsg recvmsg sendfile sendmmsg \
         sendmsg sendto setsockopt shutdown splice sync_file_range syncfs tee vmsplice write writev",
    ),
];

/// Room for files, where nobody asks for them there is next to none.
pub(super) fn make_room(loader: &mut EbpfLoader<'_>) {
    loader.map_max_entries("subjects", SLOTS).map_max_entries("uses", MOST);
}

/// Tells the programs which calls are about files.
pub(super) fn fill(loaded: &mut Ebpf) -> Result<(), Unattached> {
    let unfilled = |error| unattached("fill a BPF map", &error);
    let mut arguments = Array::<_, u32>::try_from(map(loaded, "arguments")?).map_err(unfilled)?;
    for (by, names) in CALLS_ABOUT_FILES {
        // Some exist on some architectures only.
        for call in names.split_whitespace().filter_map(|name| name.parse::<Sysno>().ok()) {
            let row = CALLS + u32::try_from(call.id()).unwrap_or(0);
            arguments.set(row, by as u32, 0).map_err(unfilled)?;
        }
    }
    Ok(())
}

pub(super) fn read(loaded: &Ebpf) -> Result<Vec<FileUse>, String> {
    let text = |error: aya::maps::MapError| chain(&error);
    let uses = loaded.map("uses").ok_or("no map uses")?;
    let uses = HashMap::<_, RawSubject, RawUse>::try_from(uses).map_err(text)?;
    let mut read = Vec::new();
    for entry in uses.iter() {
        let (subject, RawUse { count, errors, split }) = entry.map_err(text)?;
        // The others were made to measure what observing costs.
        if subject.row < ROWS {
            let doing = Doing::of(subject.row);
            read.push(FileUse { file: name(&subject), doing, count, errors, spent: split });
        }
    }
    Ok(read)
}

fn name(subject: &RawSubject) -> FileName {
    let RawSubject { device, names, .. } = *subject;
    if device == GIVEN {
        return FileName::Given(letters(names.as_flattened()));
    }
    let names = names.map(|name| letters(&name));
    match &names {
        [own, ..] if own == "/" => FileName::Placed { device, names: Vec::new(), is_cut: false },
        [own, kind, ..] if own.is_empty() && device != ROOTED => FileName::Nameless(kind.clone()),
        _ => {
            let is_cut = names.iter().all(|name| !name.is_empty());
            let names: Vec<String> = names.into_iter().filter(|name| !name.is_empty()).rev().collect();
            if device == ROOTED && !is_cut {
                return FileName::Given(format!("/{}", names.join("/")));
            }
            FileName::Placed { device, names, is_cut }
        }
    }
}
