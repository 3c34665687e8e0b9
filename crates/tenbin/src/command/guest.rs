//! `tenbin guest`: the wiring of a guest to the terminal.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenbin_reach::{Architecture, Cargo, Error, File, Guest};

use super::modules::{Choice, told};
use crate::arguments::GuestRun;
use crate::output::{Answer, Exit, Trouble, pass_on, write_whole};

/// Where tenbin is in a guest.
const TENBIN: &str = "/bin/tenbin";

/// Boots a guest, runs the command in it, and passes on what it left.
///
/// What kept the guest from an answer is said under a name of its own: a tenbin that runs in the guest and fails says
/// `tenbin:`, and its status may be the same.
///
/// # Errors
/// A usage error.
pub(super) fn run(arguments: GuestRun) -> Result<Answer, Trouble> {
    match passed_on(arguments) {
        Err(Trouble { exit, message }) if exit != Exit::Usage => {
            let remark = Some(format!("tenbin guest: {message}"));
            Ok(Answer { text: String::new(), to: None, remark, exit })
        }
        other => other,
    }
}

fn passed_on(arguments: GuestRun) -> Result<Answer, Trouble> {
    let choice = Choice::of(arguments.arch, arguments.kernel.as_deref(), arguments.cache.as_deref())?;
    let architecture = choice.architecture;
    let mut remarks = Vec::new();
    // First, because the kernel may have to be fetched anew for them.
    let modules = choice.modules(&arguments.module, &mut remarks)?;
    let kernel = choice.kernel(&mut remarks)?;
    let mut guest = Guest::new(architecture, kernel, arguments.command);
    guest.cpus = arguments.cpus;
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
    let outcome = guest.run().map_err(trouble)?;
    pass_on(&outcome.stdout, &outcome.stderr)?;
    for file in &outcome.files {
        keep(file, arguments.into.as_deref().unwrap_or(Path::new(".")))?;
    }
    remarks.extend(outcome.absent.iter().map(|place| format!("not brought: the guest has no file {place}")));
    Ok(Answer { text: String::new(), to: None, remark: told(&remarks), exit: Exit::PassedOn(outcome.status) })
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
