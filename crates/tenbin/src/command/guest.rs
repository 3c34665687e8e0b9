//! `tenbin guest`: the wiring of a guest to the terminal.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenbin_reach::{Accelerator, Architecture, Cargo, Error, File, Guest, Kvm, Line};

use super::modules::{Choice, remarked, told};
use crate::arguments::GuestRun;
use crate::output::{Answer, Exit, Trouble, pass_on, say, write_whole};
use crate::terminal::Progress;

/// Where tenbin is in a guest.
const TENBIN: &str = "/bin/tenbin";

/// How long a guest under KVM may take to show that it works. Where it works, a second or two are enough.
const PATIENCE: Duration = Duration::from_secs(20);

/// Boots a guest, runs the command in it, and passes on what it left.
///
/// What kept the guest from an answer is said under a name of its own: a tenbin that runs in the guest and fails says
/// `tenbin:`, and its status may be the same.
///
/// # Errors
/// A usage error.
pub(super) fn run(arguments: GuestRun) -> Result<Answer, Trouble> {
    let mut remarks = Vec::new();
    let (failed, exit) = match passed_on(arguments, &mut remarks) {
        Err(trouble) if trouble.exit == Exit::Usage => return Err(remarked(trouble, &remarks)),
        Err(Trouble { exit, message }) => (Some(format!("tenbin guest: {message}")), exit),
        Ok(status) => (None, Exit::PassedOn(status)),
    };
    let lines = failed.into_iter().chain(told(&remarks)).collect::<Vec<_>>();
    let remark = (!lines.is_empty()).then(|| lines.join("\n"));
    Ok(Answer { text: String::new(), to: None, remark, exit })
}

/// The status of the command, after all else that it left was passed on.
fn passed_on(arguments: GuestRun, remarks: &mut Vec<String>) -> Result<u8, Trouble> {
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
    accelerator.insist(architecture, arguments.cpus).map_err(trouble)?;
    // First, because the kernel may have to be fetched anew for them.
    let modules = choice.modules(&arguments.module, remarks)?;
    let kernel = choice.kernel(remarks)?;
    let mut guest = Guest::new(architecture, kernel, arguments.command);
    guest.cpus = arguments.cpus;
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
    for word in &arguments.carry {
        guest.cargo.push(carried(word)?);
    }
    guest.bring = arguments.bring;
    if accelerator == Accelerator::Kvm
        && let Kvm::Fails(why) = guest.try_kvm(PATIENCE.min(guest.deadline)).map_err(trouble)?
    {
        remarks.push(format!("KVM does not work here, so the guest is emulated: {why}"));
        guest.accelerator = Accelerator::Emulated;
    }
    let mut show = |line: &Line| say(&format!("[{:8.3}] {}", line.began.as_secs_f64(), line.plain()));
    let progress = Progress::new();
    let mut follow = |line: &Line| {
        progress.doing(&format!("a guest, {:.0} s: {}", line.began.as_secs_f64(), line.plain()));
    };
    let outcome =
        if arguments.console { guest.run_watched(&mut show) } else { guest.run_watched(&mut follow) };
    progress.finish();
    let outcome = outcome.map_err(trouble)?;
    pass_on(&outcome.stdout, &outcome.stderr)?;
    for file in &outcome.files {
        keep(file, arguments.into.as_deref().unwrap_or(Path::new(".")))?;
    }
    remarks.extend(outcome.absent.iter().map(|place| format!("not brought: the guest has no file {place}")));
    Ok(outcome.status)
}

/// A tenbin for `architecture`: this one, or one that was built beside it: `tenbin-ARCHITECTURE` in the same
/// folder, or cargo's for another target.
fn tenbin_for(architecture: Architecture) -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    if Architecture::host() == Some(architecture) {
        return Some(this);
    }
    let folder = this.parent()?;
    let triple = match architecture {
        Architecture::X86_64 => "x86_64-unknown-linux-gnu",
        Architecture::Aarch64 => "aarch64-unknown-linux-gnu",
        Architecture::Riscv64 => "riscv64gc-unknown-linux-gnu",
    };
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

pub(super) fn trouble(error: Error) -> Trouble {
    let exit = match &error {
        Error::Missing(_) => Exit::Missing,
        Error::Request(_) => Exit::Usage,
        Error::Silent { .. } => Exit::Fault,
        _ => Exit::Internal,
    };
    Trouble { exit, message: error.to_string() }
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
