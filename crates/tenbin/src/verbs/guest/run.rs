//! `tenbin guest run`: the wiring of a guest to the terminal.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tenbin_model::Architecture;
use tenbin_reach::{Accelerator, Cargo, ConsoleLine, File, Guest, Kvm, Module, insist_place};

use super::{Choice, architectures, remarked};
use crate::output::{Answer, Exit, Trouble, pass_on, prefixed, say, write_whole};
use crate::terminal::Progress;
use crate::verbs::{Verb, Work};

/// Boot a guest, run one command in it, and pass on its output and its exit status
///
/// The guest has a busybox, this tenbin (/bin/tenbin, if it is here for that architecture), what is
/// carried, no disk and no network. Its CPU is emulated, unless --accel says otherwise. Its kernel is
/// fetched from Debian once and kept in a folder of its own; nothing else here changes. Takes about ten
/// seconds and what the command takes, the first time for a kernel also its download.
#[derive(Args)]
#[command(after_help = STATUS)]
pub struct Run {
    /// x86_64, aarch64 or riscv64; this machine's if not given
    #[arg(long, value_name = "ARCHITECTURE")]
    arch: Option<Architecture>,
    /// bookworm (Linux 6.1), backports or trixie (Linux 6.12), host, or a kernel's image; bookworm, but for
    /// riscv64
    #[arg(long, value_name = "bookworm|backports|trixie|host|FILE")]
    kernel: Option<PathBuf>,
    /// Carry a kernel module of tenbin's, built for that kernel, as /modules/NAME.ko; COMMAND may load it
    #[arg(long, value_name = "stop_machine|oneshot_timer|fibdrv")]
    module: Vec<Module>,
    /// Carry a file; it lies in /tmp, where the command runs, unless a place is given
    #[arg(long, value_name = "FILE[:/PLACE]")]
    carry: Vec<OsString>,
    /// Lay all of a folder over the guest's root
    #[arg(long, value_name = "FOLDER")]
    carry_tree: Vec<PathBuf>,
    /// Bring back a file or a folder of the guest
    #[arg(long, value_name = "/PLACE", requires = "into")]
    bring: Vec<String>,
    /// Where to put what is brought back: its path in the guest, below this folder
    #[arg(long, value_name = "FOLDER", requires = "bring")]
    into: Option<PathBuf>,
    /// Have QEMU's monitor (QMP) listen on a socket while the guest runs: for `tenbin stall vm`, say
    #[arg(long, value_name = "SOCKET")]
    monitor: Option<PathBuf>,
    /// How long the guest may take, its boot of about ten seconds counted in; fetching a kernel is not
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// CPUs of the guest
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    cpus: u32,
    /// Memory nodes of the guest, among which its CPUs and memory are divided; no more than CPUs
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    nodes: u32,
    /// tcg emulates the CPUs; kvm takes this machine's, if a short guest shows first that it works
    #[arg(long, value_name = "tcg|kvm", default_value = "tcg")]
    accel: Accelerator,
    /// Let the guest's clock count instructions, a nanosecond each: one CPU, emulated
    #[arg(long)]
    count_instructions: bool,
    /// Show the guest's console on standard error while it runs, each line with the time since the start
    #[arg(long)]
    console: bool,
    /// A word for the kernel's command line
    #[arg(long, value_name = "WORD")]
    append: Vec<String>,
    /// Where kernels are kept; tenbin/guest under the XDG folder of caches if not given
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    /// The command and its words, after --
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const STATUS: &str = "\
Exit status: that of the command, 127 if the guest has no such command. If there is none,
standard error begins with `tenbin guest:` and says why: 1 the guest could not be made, 4 it hung,
panicked or broke off, 5 something is missing on this machine. 2 is a usage error, prefixed as ever.";

pub const VERB: Verb = Verb {
    words: &[
        ("arch", architectures),
        ("module", || Module::ALL.iter().map(|module| module.name().to_owned()).collect()),
    ],
    ..Verb::of::<Run>("run")
};

const TENBIN: &str = "/bin/tenbin";

/// How long a guest under KVM may take to show that it works. Where it works, a second or two are enough.
const PATIENCE: Duration = Duration::from_secs(20);

/// What kept the guest from an answer is said under a name of its own: a tenbin that runs in the guest and
/// fails says `tenbin:`, and its status may be the same.
impl Work for Run {
    fn run(self) -> Result<Answer, Trouble> {
        let mut remarks = Vec::new();
        let (failed, exit) = match passed_on(self, &mut remarks) {
            Err(trouble) if trouble.exit == Exit::Usage => return Err(remarked(trouble, &remarks)),
            Err(Trouble { exit, message }) => (Some(format!("tenbin guest: {message}")), exit),
            Ok(status) => (None, Exit::PassedOn(status)),
        };
        let remarks = failed.into_iter().chain(prefixed(&remarks)).collect();
        Ok(Answer { remarks, exit, ..Answer::default() })
    }
}

/// The status of the command, after all else that it left was passed on.
fn passed_on(arguments: Run, remarks: &mut Vec<String>) -> Result<u8, Trouble> {
    let choice = Choice::of(arguments.arch, arguments.kernel.as_deref(), arguments.cache.as_deref())?;
    let architecture = choice.architecture;
    let accelerator = match (arguments.accel, arguments.count_instructions) {
        (accelerator, false) => accelerator,
        (Accelerator::Kvm, true) => {
            return Err(Trouble::usage(
                "KVM counts no instructions: leave out --accel or --count-instructions",
            ));
        }
        (_, true) => Accelerator::Counted,
    };
    accelerator.insist(architecture, arguments.cpus)?;
    if arguments.nodes > arguments.cpus {
        let (nodes, cpus) = (arguments.nodes, arguments.cpus);
        let why = format!("--nodes {nodes}: each node needs a CPU, and --cpus says {cpus}");
        return Err(Trouble::usage(why));
    }
    // Before anything is fetched for it: whoever waits for a boot shall not learn then that a name was
    // mistyped.
    let carried = arguments.carry.iter().map(|word| carried(word)).collect::<Result<Vec<_>, _>>()?;
    for cargo in &carried {
        if let Cargo::File { from, to, .. } = cargo {
            insist_place(to)?;
            let readable = fs::File::open(from).and_then(|file| file.metadata()).map(|it| it.is_file());
            can_be_read("--carry", from, "it is not a file", readable)?;
        }
    }
    for folder in &arguments.carry_tree {
        can_be_read("--carry-tree", folder, "it is not a folder", fs::read_dir(folder).map(|_| true))?;
    }
    if let Some(place) = arguments.bring.iter().find(|place| !place.starts_with('/')) {
        let why = format!("--bring {place}: paths in the guest begin at its root: /tmp/{place}, say");
        return Err(Trouble::usage(why));
    }
    for place in &arguments.bring {
        insist_place(Path::new(place))?;
    }
    if let Some(socket) = &arguments.monitor
        && fs::symlink_metadata(socket).is_ok_and(|there| !there.file_type().is_socket())
    {
        let why = format!("--monitor {}: there is a file that is no socket", socket.display());
        return Err(Trouble::usage(why));
    }
    let into = arguments.into.as_deref().unwrap_or(Path::new("."));
    can_hold(into)?;
    let progress = Progress::new();
    if !choice.is_here() {
        progress.doing("fetching the kernel, once");
    } else if !arguments.module.is_empty() {
        progress.doing("building kernel modules");
    }
    // First, because the kernel may have to be fetched anew for them.
    let modules = choice.modules(&arguments.module, remarks)?;
    let kernel = choice.kernel(remarks)?;
    let mut guest = Guest::new(architecture, kernel, arguments.command);
    guest.cpus = arguments.cpus;
    guest.nodes = arguments.nodes;
    guest.accelerator = accelerator;
    guest.parameters = arguments.append;
    guest.deadline = Duration::from_secs(arguments.seconds);
    if let Some(from) = tenbin_for(architecture) {
        remarks.push(format!("carried as {TENBIN}: {}", from.display()));
        guest.cargo.push(Cargo::File { from, to: TENBIN.into(), mode: Some(0o755) });
    }
    for (module, from) in arguments.module.iter().zip(modules) {
        let to = Path::new("/modules").join(module.file());
        guest.cargo.push(Cargo::File { from, to, mode: Some(0o644) });
    }
    guest.cargo.extend(arguments.carry_tree.into_iter().map(Cargo::Tree));
    guest.cargo.extend(carried);
    guest.bring = arguments.bring;
    guest.monitor = arguments.monitor;
    if accelerator == Accelerator::Kvm {
        progress.doing("trying whether KVM works");
    }
    if accelerator == Accelerator::Kvm
        && let Kvm::Fails(why) = guest.try_kvm(PATIENCE.min(guest.deadline))?
    {
        remarks.push(format!("KVM does not work here, so the guest is emulated: {why}"));
        guest.accelerator = Accelerator::Emulated;
    }
    if arguments.console {
        progress.finish();
    } else {
        progress.doing(&format!("the guest boots and runs, {} s at most", arguments.seconds));
    }
    let mut show = |line: &ConsoleLine| say(&format!("[{:8.3}] {}", line.began.as_secs_f64(), line.plain()));
    let mut follow = |line: &ConsoleLine| {
        progress.doing(&format!("a guest, {:.0} s: {}", line.began.as_secs_f64(), line.plain()));
    };
    let outcome =
        if arguments.console { guest.run_watched(&mut show) } else { guest.run_watched(&mut follow) };
    progress.finish();
    let outcome = outcome?;
    pass_on(&outcome.stdout, &outcome.stderr)?;
    for file in &outcome.files {
        keep(file, into)?;
    }
    let mut absent = outcome.absent.iter().map(|place| format!("not brought: the guest has no file {place}"));
    // Of a command that failed its own status says more. Of one that did not, somebody waits for what it did
    // not leave.
    if outcome.status == 0
        && let Some(first) = absent.next()
    {
        remarks.splice(0..0, absent);
        return Err(Trouble::internal(first));
    }
    remarks.extend(absent);
    Ok(outcome.status)
}

/// A usage error where what is to be carried cannot be read, or `is_such` says that it is something else.
fn can_be_read(option: &str, path: &Path, otherwise: &str, is_such: io::Result<bool>) -> Result<(), Trouble> {
    let why = match is_such {
        Ok(true) => return Ok(()),
        Ok(false) => otherwise.to_owned(),
        Err(error) => error.to_string(),
    };
    Err(Trouble::usage(format!("{option} {}: {why}", path.display())))
}

/// A usage error where nothing can be put into `folder`, which need not be there yet.
fn can_hold(folder: &Path) -> Result<(), Trouble> {
    let there = folder.ancestors().find(|it| it.as_os_str().is_empty() || it.exists());
    let there = there.filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let wrong = |why: &dyn std::fmt::Display| Trouble::usage(format!("--into {}: {why}", folder.display()));
    if !there.is_dir() {
        return Err(wrong(&format!("{} is no folder", there.display())));
    }
    let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    rustix::fs::access(there, access).map_err(|error| wrong(&io::Error::from(error)))
}

/// A tenbin for `architecture`: this one, or one that was built beside it: `tenbin-ARCHITECTURE` in the same
/// folder, or cargo's for another target.
fn tenbin_for(architecture: Architecture) -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    if Architecture::host() == Some(architecture) {
        return Some(this);
    }
    let folder = this.parent()?;
    let triple = architecture.names().target;
    let released = folder.join(format!("tenbin-{architecture}"));
    let built = || Some(folder.parent()?.parent()?.join(triple).join(folder.file_name()?).join("tenbin"));
    [Some(released), built()].into_iter().flatten().find(|path| path.is_file())
}

/// What `FILE[:/PLACE]` names. The last colon with a slash behind it parts the two.
fn carried(word: &OsStr) -> Result<Cargo, Trouble> {
    let bytes = word.as_bytes();
    if let Some(colon) = bytes.windows(2).rposition(|pair| pair == b":/") {
        let part = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec()));
        return Ok(Cargo::File { from: part(&bytes[..colon]), to: part(&bytes[colon + 1..]), mode: None });
    }
    let from = PathBuf::from(word);
    let nameless = || Trouble::usage(format!("--carry {}: it names no file", from.display()));
    let to = Path::new("/tmp").join(from.file_name().ok_or_else(nameless)?);
    Ok(Cargo::File { from, to, mode: None })
}

/// Writes a file that came back below `folder`, with the permissions that it had.
fn keep(file: &File, folder: &Path) -> Result<(), Trouble> {
    let path = folder.join(&file.path);
    let trouble = |error| Trouble::usage(format!("write {}: {error}", path.display()));
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(trouble)?;
    }
    write_whole(&path, |out| std::io::Write::write_all(out, &file.content))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(file.mode & 0o777)).map_err(trouble)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_to_carry_may_have_a_place() {
        let cases = [
            ("a/b", "a/b", "/tmp/b"),
            ("a:/c", "a", "/c"),
            ("a:b", "a:b", "/tmp/a:b"),
            ("a:/b:/c/d", "a:/b", "/c/d"),
        ];
        for (word, from, to) in cases {
            let expected = Cargo::File { from: from.into(), to: to.into(), mode: None };
            assert_eq!(carried(word.as_ref()).unwrap(), expected, "{word}");
        }
        assert_eq!(carried("..".as_ref()).unwrap_err().exit, Exit::Usage);
    }
}
