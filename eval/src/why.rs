//! Is the cause named right?
//!
//! One program is asked for twice, with a part that differs: more calls, a slower device, a lock, touched
//! pages, and so on. `tenbin weigh --why` has to name what was planted, and nothing else; "not explained"
//! where many small things add up; and nothing at all where only the order differs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEntry, ReplyOpen, Request,
};
use tenbin_model::words::comma;
use xtask::architecture::Architecture;
use xtask::command::Command;
use xtask::failure::Failure;
use xtask::requirement::{self, Requirement};
use xtask::workspace::{Profile, Workspace};

/// What `cargo xtask why` may be told.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How often each difference is planted.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// How long each verdict may take, in seconds, before it is asked why.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    within: u64,
    /// Ask this program instead of building tenbin.
    #[arg(long, value_name = "PROGRAM")]
    tenbin: Option<PathBuf>,
    /// Plant only what has this in its name.
    #[arg(value_name = "NAME")]
    only: Option<String>,
}

/// What `cargo xtask why` starts itself as, in a mount namespace of its own.
#[derive(clap::Args)]
pub(crate) struct Slow {
    /// Where two files are to be, of which one is slow.
    place: PathBuf,
    /// What is run beside them.
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

/// A difference.
struct Planted {
    name: &'static str,
    /// The words of both sides.
    sides: [&'static str; 2],
    /// One of these is the largest share.
    first: &'static [&'static str],
    /// What may have a share besides: what belongs to the planted thing.
    besides: &'static [&'static str],
}

const fn planted(
    name: &'static str,
    sides: [&'static str; 2],
    first: &'static [&'static str],
    besides: &'static [&'static str],
) -> Planted {
    Planted { name, sides, first, besides }
}

const PLANTED: [Planted; 14] = [
    planted("more calls", ["calls=1000", "calls=100000"], &["getppid"], &[]),
    planted("more files opened", ["opens=100", "opens=20000"], &["openat"], &["close"]),
    planted("calls that fail", ["failing=100", "failing=50000"], &["access", "faccessat"], &[]),
    planted("a longer sleep", ["sleep=1000", "sleep=31000"], &["clock_nanosleep"], &[]),
    planted("more user code", ["spin=1000", "spin=40000"], &["user code"], &[]),
    // The touch itself; and what gives the pages back.
    planted(
        "more pages touched",
        ["pages=100", "pages=20000"],
        &["page fault"],
        &["user code", "exit_group", "munmap"],
    ),
    planted("a lock, its holder asleep", ["lock=100", "lock=30000"], &["clock_nanosleep"], &[]),
    // Longer than the tick after which the holder gets a CPU if it was put on that of the waiter.
    planted("a lock, its holder busy", ["busy-lock=100", "busy-lock=300000"], &["user code"], &[]),
    planted(
        "more processes",
        ["forks=2", "forks=150"],
        &["clone", "wait4"],
        &["clone", "wait4", "page fault", "exit_group", "user code"],
    ),
    planted("longer reads", ["short-reads=400", "long-reads=400"], &["pread64"], &["page fault"]),
    planted("a slower device", ["quick-device=50", "slow-device=50"], &["pread64"], &[]),
    planted("more syncs", ["syncs=1", "syncs=60"], &["fsync"], &["pwrite64"]),
    planted("many kinds of calls", ["kinds=100", "kinds=60000"], &[], &[]),
    planted("another order", ["calls=30000 pages=3000", "pages=3000 calls=30000"], &[], &[]),
];

/// What an answer is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Worth {
    Right,
    /// Nothing is named where something was planted.
    Refused,
    Wrong,
}

/// What is named where something else had the CPU. It is true, and of no command.
const QUEUE: &str = "queue for a CPU";

impl Planted {
    /// What these names are worth, the largest share first.
    fn worth(&self, named: &[String]) -> Worth {
        let mut names = named.iter().map(String::as_str).filter(|&name| name != QUEUE);
        match names.next() {
            None if self.first.is_empty() => Worth::Right,
            None => Worth::Refused,
            Some(first) if !self.first.contains(&first) => Worth::Wrong,
            Some(_) if names.all(|name| self.besides.contains(&name)) => Worth::Right,
            Some(_) => Worth::Wrong,
        }
    }
}

/// What reading of a slow file waits for.
const DELAY: Duration = Duration::from_micros(500);

/// Plant, ask, print what was named. Fails if a name was wrong.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode, Failure> {
    requirement::insist(&needs())?;
    let host = Architecture::HERE;
    let binary = match &arguments.tenbin {
        Some(binary) => std::path::absolute(binary).unwrap_or_else(|_| binary.clone()),
        None => workspace.build(host, Profile::Dist)?,
    };
    let folder = workspace.scratch("why")?;
    let source = workspace.root().join("eval/src/why/plant.c");
    let compile = Command::new("cc").arguments(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-pthread", "-o"]);
    compile.argument(folder.join("plant")).argument(source).run()?;
    let files = folder.join("files");
    std::fs::create_dir_all(&files)
        .map_err(|error| Failure::new(format!("make {}", files.display()), error, "make room there"))?;
    let mut tally = [0; 3];
    let planted =
        PLANTED.iter().filter(|it| arguments.only.as_ref().is_none_or(|only| it.name.contains(only)));
    let planted: Vec<_> = planted.collect();
    for round in 1..=arguments.rounds {
        for it in &planted {
            let text = ask(&binary, &folder, it, arguments)?;
            let named = named(&text);
            let worth = it.worth(&named);
            tally[worth as usize] += 1;
            println!("round {round}: {}: {worth:?}: {}", it.name, sentence(&text));
            if worth == Worth::Wrong {
                println!("  named: {}; planted: {}", comma(&named), comma(it.first));
            }
        }
    }
    let [right, refused, wrong] = tally;
    println!("{right} of {} named right, {refused} not named, {wrong} named wrong", right + refused + wrong);
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn needs() -> Vec<Requirement> {
    vec![
        Requirement::program("gcc", "cc"),
        Requirement::program("util-linux", "unshare"),
        Requirement::file("kmod", "/dev/fuse"),
    ]
}

fn ask(binary: &Path, folder: &Path, it: &Planted, arguments: &Arguments) -> Result<String, Failure> {
    let failure = |reason: String| Failure::new("ask tenbin why", reason, "ask it by hand");
    let here = std::env::current_exe().map_err(|error| failure(error.to_string()))?;
    // What is mounted there is gone with the last process that is in it.
    let command = Command::new("unshare").argument("--mount").argument(here).argument("slow-files");
    let weigh = command.argument(folder.join("files")).argument("--").argument(binary);
    let within = format!("{}s", arguments.within);
    let asked = weigh.arguments(["weigh", "--why", "--no-store", "--within", &within]);
    let asked = asked.arguments(it.sides.map(|side| format!("./plant {side}")));
    let output = asked.directory(folder).capture_quietly()?;
    // A verdict may be refused; why is another question.
    if output.is_answer() { Ok(output.text) } else { Err(failure(output.ending())) }
}

/// The part of an answer that says why.
fn why(text: &str) -> impl Iterator<Item = &str> {
    text.lines().skip_while(|line| !line.starts_with("why "))
}

fn sentence(text: &str) -> String {
    let lines = why(text).take_while(|line| !line.trim().is_empty());
    lines.flat_map(str::split_whitespace).skip(1).collect::<Vec<_>>().join(" ")
}

/// The first column of the table, up to what is not explained.
fn named(text: &str) -> Vec<String> {
    let rows = why(text).skip_while(|line| !line.trim_start().starts_with("left ")).skip(1);
    let names = rows.filter_map(|row| row.trim_start().split_once("  ")).map(|(name, _)| name.to_owned());
    names.take_while(|name| name != "not explained").collect()
}

/// Mounts two files, runs the command, and ends as it does.
pub(crate) fn beside_slow_files(slow: &Slow) -> Result<ExitCode, Failure> {
    let failure =
        |tried: &str, error: std::io::Error| Failure::new(tried, error, "run it as root, with /dev/fuse");
    let mut options = Config::default();
    options.mount_options = vec![MountOption::RO, MountOption::FSName("slow-files".into())];
    let mounted = fuser::spawn_mount(Files, &slow.place, &options)
        .map_err(|error| failure("mount files that are slow", error))?;
    let (program, words) = slow.command.split_first().ok_or_else(|| {
        Failure::new("run a command beside slow files", "there is none", "name one after --")
    })?;
    let status = std::process::Command::new(program).args(words).status();
    drop(mounted);
    let status = status.map_err(|error| failure("run a command beside slow files", error))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Two files of zeros, `quick` and `slow`.
struct Files;

/// For how long what is known of a file holds.
const KNOWN: Duration = Duration::from_secs(60);

const QUICK: INodeNo = INodeNo(2);
const SLOW: INodeNo = INodeNo(3);

fn attributes(ino: INodeNo) -> FileAttr {
    let time = std::time::UNIX_EPOCH;
    let is_folder = ino == INodeNo::ROOT;
    FileAttr {
        ino,
        size: if is_folder { 0 } else { 1 << 20 },
        blocks: 0,
        atime: time,
        mtime: time,
        ctime: time,
        crtime: time,
        kind: if is_folder { FileType::Directory } else { FileType::RegularFile },
        perm: if is_folder { 0o755 } else { 0o444 },
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        flags: 0,
        blksize: 4096,
    }
}

impl Filesystem for Files {
    fn lookup(&self, _: &Request, _: INodeNo, name: &std::ffi::OsStr, reply: ReplyEntry) {
        match name.to_str() {
            Some("quick") => reply.entry(&KNOWN, &attributes(QUICK), Generation(0)),
            Some("slow") => reply.entry(&KNOWN, &attributes(SLOW), Generation(0)),
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&KNOWN, &attributes(ino));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // Nothing of it is cached: each read is one here.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        _: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if ino == SLOW {
            std::thread::sleep(DELAY);
        }
        reply.data(&vec![0; size as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = "\
./plant opens=20000  2x\n\nwhy       Profiled, `b` takes 46.0 ms longer than `a`: 67 % of that is\n          \
openat, and so on.\n\n                 left  right  wall time  share  by their number\n  openat           1      \
2    +13.3 ms   67 %         +10.2 ms\n  queue for a CPU  –      –     +1.0 ms   29 %                –\n  \
not explained    –      –    +493 µs    4 %                –\n";

    #[test]
    fn names_are_read_from_the_table() {
        assert_eq!(named(ANSWER), ["openat", "queue for a CPU"]);
        assert!(sentence(ANSWER).starts_with("Profiled, `b` takes"));
        assert!(sentence(ANSWER).ends_with("and so on."));
        assert!(named("why       Nothing to explain.\n").is_empty());
    }

    #[test]
    fn a_name_is_right_or_wrong() {
        let opens = &PLANTED[1];
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(opens.worth(&names(&["openat", "close"])), Worth::Right);
        assert_eq!(opens.worth(&names(&[QUEUE, "openat"])), Worth::Right);
        assert_eq!(opens.worth(&names(&["close", "openat"])), Worth::Wrong);
        assert_eq!(opens.worth(&names(&["openat", "read"])), Worth::Wrong);
        assert_eq!(opens.worth(&names(&[QUEUE])), Worth::Refused);
        assert_eq!(PLANTED[13].worth(&[]), Worth::Right);
        assert_eq!(PLANTED[13].worth(&names(&["openat"])), Worth::Wrong);
    }
}
