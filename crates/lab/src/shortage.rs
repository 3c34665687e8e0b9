//! What the machine has too little of where a system call fails for want of it, and what gives it more.

use std::io;

use tenbin_metal::Fault;
use tenbin_model::Refusal;

use crate::experiment::Unfit;

/// What a call that failed with this error number (errno(3), Linux's generic numbers) needs, and what helps.
/// None where the number names no shortage and no right that was withheld.
///
/// Both are read as parts of a [`Refusal`].
pub(crate) fn of(number: i32) -> Option<(&'static str, &'static str)> {
    Some(match number {
        EAGAIN => (
            "one more process, thread or locked page than the limits allow (EAGAIN)",
            "raise `ulimit -u`, or pids.max of the control group, or end other processes",
        ),
        ENOMEM => (
            "more memory than is free, or than the limits allow (ENOMEM)",
            "free memory, or raise `ulimit -v` or memory.max of the control group",
        ),
        ENFILE => (
            "one more open file than the whole machine may have (ENFILE)",
            "end programs that hold files open, or have root raise fs.file-max",
        ),
        EMFILE => {
            ("one more open file than this process may have (EMFILE)", "raise the limit: `ulimit -n 1024`")
        }
        ENOSPC => (
            "room where it is written (ENOSPC)",
            "free some room, or name another folder for temporary files with TMPDIR",
        ),
        EDQUOT => {
            ("room within your quota (EDQUOT)", "remove files of yours, or name another folder with TMPDIR")
        }
        EPERM | EACCES => (
            "a right that was withheld (EPERM or EACCES)",
            "see whether a container's filter of system calls or a security module withholds it, or run as \
             a user who has it; a file system mounted noexec also withholds programs: name another folder \
             with TMPDIR",
        ),
        ENOSYS => (
            "a system call that this kernel lacks, or that a container's filter hides (ENOSYS)",
            "run on a newer kernel, or outside the container",
        ),
        _ => return None,
    })
}

/// A fault as a refusal, where something was wanting that somebody can give.
pub(crate) fn refusal(fault: &Fault) -> Option<Refusal> {
    let Fault::System { error, .. } = fault else { return None };
    let (needs, remedy) = of(error.raw_os_error()?)?;
    Some(Refusal { reached: fault.to_string(), needs: needs.into(), remedy: remedy.into() })
}

/// Whether a limit, and nothing in what was asked, is what stood in the way.
pub(crate) fn is_limit(fault: &Fault) -> bool {
    let Fault::System { error, .. } = fault else { return false };
    matches!(error.raw_os_error(), Some(EAGAIN | ENOMEM | ENFILE | EMFILE))
}

/// A fault, or that refusal.
pub(crate) fn unfit(fault: Fault) -> Unfit {
    refusal(&fault).map_or(Unfit::Fault(fault), Unfit::Refused)
}

/// The refusal of what was `tried` and failed with this error number.
pub(crate) fn refused(tried: impl Into<String>, number: i32) -> Refusal {
    let fault = Fault::system(tried, io::Error::from_raw_os_error(number));
    refusal(&fault).unwrap_or_else(|| Refusal {
        reached: fault.to_string(),
        needs: "a kernel that does it".into(),
        remedy: "look that error up in the manual page of the call".into(),
    })
}

const EPERM: i32 = 1;
const EAGAIN: i32 = 11;
const ENOMEM: i32 = 12;
const EACCES: i32 = 13;
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;
const ENOSPC: i32 = 28;
const ENOSYS: i32 = 38;
const EDQUOT: i32 = 122;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_named_with_what_raises_it() {
        for (number, meaning, remedy) in [
            (24, "open file", "ulimit -n"),
            (11, "process", "ulimit -u"),
            (12, "memory", "memory.max"),
            (28, "room", "TMPDIR"),
            (38, "newer kernel", "newer kernel"),
        ] {
            let refusal = refused("make a pipe", number);
            let words = format!("{} {}", refusal.needs, refusal.remedy);
            assert!(refusal.reached.starts_with("make a pipe: ") && words.contains(remedy), "{refusal:?}");
            assert!(words.contains(meaning), "{refusal:?}");
        }
        assert_eq!(of(5), None);
        let fault = |number| Fault::system("start `./program`", io::Error::from_raw_os_error(number));
        assert!(is_limit(&fault(11)) && !is_limit(&fault(13)) && !is_limit(&fault(2)));
    }
}
