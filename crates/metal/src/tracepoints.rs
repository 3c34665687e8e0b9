//! Events of the kernel's own tracepoints, counted or recorded for one thread while it works, with privilege.
//!
//! All of it hangs on file descriptors (`perf_event_open(2)`): no setting of the tracing file system is
//! changed, and what a killed process was counting ends with its descriptors.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use perf_event::events::Tracepoint;
use perf_event::{Builder, SampleFlag, Sampler};
use tenbin_model::words::comma;

use crate::counters::Counters;
use crate::sampling::{RECORD_LOST, RECORD_SAMPLE, long};

/// Where the tracing file system is mounted: since Linux 4.1, and before (`Documentation/trace/ftrace.rst`).
const MOUNTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Bytes of the ring of one event that is recorded. Together they are emptied between two pieces of work, so
/// one ring holds what one piece leaves: at 100 bytes a record some 2 600 of them.
const RING: usize = 256 << 10;

/// Why nothing could be counted.
#[derive(Debug)]
pub enum Uncounted {
    /// No tracing file system is mounted, or this kernel has none.
    NotMounted,
    /// This user may not look; what was tried, and the kernel's word.
    NotPermitted(String, io::Error),
    /// The kernel has none of these tracepoints.
    NotThere(String),
    /// Something else: what was tried, and the kernel's word.
    Failed(String, io::Error),
}

impl fmt::Display for Uncounted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMounted => {
                write!(
                    f,
                    "the tracing file system is not mounted: `mount -t tracefs nodev {}` as root",
                    MOUNTS[0]
                )
            }
            Self::NotPermitted(tried, error) => {
                write!(f, "this user may not count the kernel's events ({tried}: {error}): run as root")
            }
            Self::NotThere(names) => write!(f, "this kernel has none of the tracepoints {names}"),
            Self::Failed(tried, error) => write!(f, "{tried}: {error}"),
        }
    }
}

impl Uncounted {
    fn of(tried: &str, error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => Self::NotPermitted(tried.to_owned(), error),
            _ => Self::Failed(tried.to_owned(), error),
        }
    }
}

/// Numbers of tracepoints by name, of those that this kernel has.
fn numbers(mounts: &[PathBuf], names: &[&'static str]) -> Result<Vec<(&'static str, u64)>, Uncounted> {
    let mut numbers = Vec::new();
    let mut mounted = false;
    for mount in mounts {
        let events = mount.join("events");
        match fs::read_dir(&events) {
            Ok(_) => mounted = true,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(Uncounted::of(&reading(&events), error));
            }
            Err(_) => continue,
        }
        for &name in names {
            let path = events.join(name).join("id");
            match fs::read_to_string(&path) {
                Ok(text) => {
                    let number = text.trim().parse().map_err(|_| {
                        Uncounted::Failed(reading(&path), io::Error::from(io::ErrorKind::InvalidData))
                    })?;
                    numbers.push((name, number));
                }
                // Names come and go with versions of the kernel; the others still count.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Uncounted::of(&reading(&path), error)),
            }
        }
        break;
    }
    match (mounted, numbers.is_empty()) {
        (false, _) => Err(Uncounted::NotMounted),
        (true, true) => Err(Uncounted::NotThere(comma(names))),
        (true, false) => Ok(numbers),
    }
}

/// A field of a record: its name, its offset and its size in bytes.
pub(crate) type Field = (&'static str, usize, usize);

/// Checks that the records of an event (`sched/sched_switch`) have fields where a program reads them: of each
/// its name, its offset and its size in bytes.
///
/// # Errors
/// What is not as it has to be (`Documentation/trace/events.rst`, event formats).
pub(crate) fn check_fields(event: &str, fields: &[Field]) -> Result<(), String> {
    let paths: Vec<PathBuf> =
        here().iter().map(|mount| mount.join("events").join(event).join("format")).collect();
    let format = paths.iter().find_map(|path| fs::read_to_string(path).ok());
    let Some(format) = format else {
        return Err(format!(
            "none of these can be read: {}; as root, `mount -t tracefs nodev {}`",
            comma(paths.iter().map(|path| path.display())),
            MOUNTS[0]
        ));
    };
    match fields.iter().find(|field| !has_field(&format, field)) {
        None => Ok(()),
        Some((name, offset, size)) => Err(format!(
            "records of {event} do not have {name} as {size} bytes at {offset}, as in all kernels that were tried"
        )),
    }
}

/// Whether a format has a field in that place: a line `field:pid_t next_pid; offset:56; size:4; signed:1;`,
/// with tabs.
fn has_field(format: &str, &(name, offset, size): &Field) -> bool {
    format.lines().any(|line| {
        let mut parts = line.trim().split(';').map(str::trim);
        let is_named = parts.next().and_then(|part| part.rsplit(' ').next()) == Some(name);
        is_named
            && parts.next() == Some(format!("offset:{offset}").as_str())
            && parts.next() == Some(format!("size:{size}").as_str())
    })
}

fn here() -> Vec<PathBuf> {
    MOUNTS.iter().map(PathBuf::from).collect()
}

/// What is tried when a counter is opened, for messages.
const CALL: &str = "perf_event_open";

/// What is tried when a file is read, for messages.
fn reading(path: &Path) -> String {
    format!("read {}", path.display())
}

/// Counters of tracepoints for the thread that opened them, each under its name ("kmem/kmalloc").
pub struct Tracepoints(Counters);

impl Tracepoints {
    /// Counters of those of `names` that this kernel has. They stand still.
    ///
    /// # Errors
    /// What keeps this thread from counting, with what helps.
    pub fn open(names: &[&'static str]) -> Result<Self, Uncounted> {
        let mut counters = Vec::new();
        for (name, number) in numbers(&here(), names)? {
            let mut builder = Builder::new(Tracepoint::with_id(number));
            builder.include_kernel();
            let counter = builder.build().map_err(|error| Uncounted::of(CALL, error))?;
            counters.push((name, counter));
        }
        Ok(Self(Counters { counters }))
    }

    /// Runs `work` on this thread and returns what it returned, and how often this thread passed each
    /// tracepoint meanwhile, by name. The counts are exact: every event is counted, none is sampled.
    ///
    /// # Errors
    /// A counter could not be switched or read.
    pub fn around<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<(T, Vec<(&'static str, u64)>)> {
        self.0.around(work)
    }
}

/// A recorder of tracepoints for the thread that opened it: every event becomes a record in a ring, as a
/// tracer has it.
///
/// It stands for the cost of being traced. A tracer that writes another kind of record, or writes those of
/// the whole machine, costs something else.
pub struct Recorder {
    rings: Vec<Sampler>,
}

impl Recorder {
    /// A recorder of those of `names` that this kernel has: time, address and the event's own fields. It
    /// stands still.
    ///
    /// # Errors
    /// As [`Tracepoints::open`].
    pub fn open(names: &[&'static str]) -> Result<Self, Uncounted> {
        let mut rings = Vec::new();
        for (_, number) in numbers(&here(), names)? {
            let mut builder = Builder::new(Tracepoint::with_id(number));
            builder
                .include_kernel()
                .sample(SampleFlag::TIME | SampleFlag::TID | SampleFlag::CPU | SampleFlag::RAW)
                .sample_period(1);
            let ring = builder.build().and_then(|counter| counter.sampled(RING));
            rings.push(ring.map_err(|error| Uncounted::of(CALL, error))?);
        }
        Ok(Self { rings })
    }

    /// Begins to record.
    ///
    /// # Errors
    /// An event could not be switched on.
    pub fn start(&mut self) -> io::Result<()> {
        self.rings.iter_mut().try_for_each(|ring| ring.enable())
    }

    /// Ends recording.
    ///
    /// # Errors
    /// An event could not be switched off.
    pub fn stop(&mut self) -> io::Result<()> {
        self.rings.iter_mut().try_for_each(|ring| ring.disable())
    }

    /// Empties the rings: how many events were recorded, and how many were dropped for want of room.
    pub fn take(&mut self) -> (u64, u64) {
        let (mut recorded, mut lost) = (0, 0);
        for ring in &mut self.rings {
            while let Some(record) = ring.next_record() {
                match record.ty() {
                    RECORD_SAMPLE => recorded += 1,
                    // An identifier, then how many.
                    RECORD_LOST => lost += long(&record.to_contiguous(), 8).unwrap_or(0),
                    _ => {}
                }
            }
        }
        (recorded, lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tracing file system as files: these events, under a folder of its own.
    fn mount(events: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("events")).unwrap();
        for (name, number) in events {
            let path = folder.path().join("events").join(name);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("id"), number).unwrap();
        }
        folder
    }

    #[test]
    fn those_that_are_there_are_found_by_name_in_the_first_mount() {
        let (first, second) =
            (mount(&[("kmem/kmalloc", "412\n"), ("kmem/kfree", "409\n")]), mount(&[("kmem/kmalloc", "7")]));
        let mounts = [PathBuf::from("/nowhere"), first.path().to_owned(), second.path().to_owned()];
        let known = numbers(&mounts, &["kmem/kmalloc", "kmem/kmalloc_node", "kmem/kfree"]).unwrap();
        assert_eq!(known, [("kmem/kmalloc", 412), ("kmem/kfree", 409)]);
    }

    #[test]
    fn fields_are_where_the_format_has_them() {
        let format = "ID: 325\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\t\
                      field:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\t\
                      field:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n";
        assert!(has_field(format, &("prev_state", 32, 8)));
        for elsewhere in [("prev_state", 36, 8), ("prev_state", 32, 4), ("state", 32, 8), ("next_pid", 56, 4)]
        {
            assert!(!has_field(format, &elsewhere), "{elsewhere:?}");
        }
    }

    #[test]
    fn what_is_missing_is_told_apart() {
        let empty = mount(&[]);
        let odd = mount(&[("kmem/kmalloc", "many")]);
        let reason = |mount: &Path| numbers(&[mount.to_owned()], &["kmem/kmalloc"]).unwrap_err().to_string();
        assert!(reason(Path::new("/nowhere")).contains("mount -t tracefs nodev /sys/kernel/tracing"));
        assert!(reason(empty.path()).contains("none of the tracepoints kmem/kmalloc"));
        assert!(reason(odd.path()).contains("kmem/kmalloc/id"));
        let refused = Uncounted::of(CALL, io::Error::from_raw_os_error(libc::EACCES));
        assert!(refused.to_string().contains("run as root"), "{refused}");
        assert!(matches!(
            Uncounted::of("x", io::Error::from_raw_os_error(libc::EMFILE)),
            Uncounted::Failed(..)
        ));
    }

    /// Wherever a system call can be counted, one thread's are, exactly; elsewhere the reason is said.
    #[test]
    fn a_threads_own_events_are_counted_exactly() {
        let names = &["syscalls/sys_enter_getppid"];
        let asked = |times: u64| crate::kernels::parent_process(times);
        let mut counters = match Tracepoints::open(names) {
            Ok(counters) => counters,
            Err(why) => {
                eprintln!("skipped: {why}");
                return;
            }
        };
        for times in [1, 7, 100] {
            let (_, counted) = counters.around(|| asked(times)).unwrap();
            assert_eq!(counted, [(names[0], times)]);
        }
        let mut recorder = Recorder::open(names).unwrap();
        recorder.start().unwrap();
        asked(40);
        recorder.stop().unwrap();
        asked(3);
        assert_eq!(recorder.take(), (40, 0));
        assert_eq!(recorder.take(), (0, 0));
    }
}
