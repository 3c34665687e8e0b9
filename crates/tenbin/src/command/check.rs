//! `tenbin boot check`: whether every hart of a machine always boots.

use std::io;
use std::path::Path;

use tenbin_boot::request::Request;
use tenbin_boot::{Boot, BootVerdict, Firmware, examine, view};
use tenbin_metal::interrupt;

use super::boot::{bytes_of, with_means};
use super::json;
use crate::arguments::Check;
use crate::output::{Answer, Exit, Trouble, can_be_written, write_whole};
use crate::terminal::{self, Progress};

/// Bytes that a file may have. Firmware has some thousands, a kernel with all that is known of its source
/// some ten millions.
const LARGEST: u64 = 64 << 20;

/// Examines every file on every machine that is asked about, as many at a time as there are CPUs.
///
/// # Errors
/// A usage error where a file cannot be examined: then none is.
pub(super) fn check(asked: &Check) -> Result<Answer, Trouble> {
    if let Some(path) = &asked.picture {
        can_be_written(path)?;
    }
    let request = &asked.request;
    let firmware = asked.files.iter().map(|path| read(path, request)).collect::<Result<Vec<_>, _>>()?;
    interrupt::listen().map_err(|fault| Trouble::internal(fault.to_string()))?;
    let mut jobs = Vec::new();
    for each in &firmware {
        jobs.extend(each.jobs(request).map_err(Trouble::usage)?);
    }
    let answer = with_means(asked.limit, asked.seconds, &Progress::boots, |means| examine(&jobs, means));
    let mut remarks = Vec::new();
    if let Some(path) = &asked.picture {
        match view::picture(&answer) {
            Some(picture) => write_whole(path, |out| out.write_all(picture.as_bytes()))?,
            None => remarks.push(format!("nothing goes wrong, so {} is not written", path.display())),
        }
    }
    let exit = interrupt::requested().map_or(exit(&answer), Exit::Interrupted);
    // Why the only machine was refused is the answer's first sentence already.
    remarks.extend(view::unexamined(&answer).filter(|_| asked.form.json || answer.checks.len() > 1));
    let remark = remarks.into_iter().map(|message| Trouble { exit, message }.to_string()).collect::<Vec<_>>();
    let text = if asked.form.json { json(&answer)? } else { view::boot(&answer, terminal::width()) };
    Ok(Answer { text, to: None, remark: (!remark.is_empty()).then(|| remark.join("\n")), exit })
}

fn read(path: &Path, request: &Request) -> Result<Firmware, Trouble> {
    let file = path.display().to_string();
    let bytes = bytes_of(path, LARGEST, "it is no regular file");
    let bytes = bytes.map_err(|error: io::Error| Trouble::usage(format!("{file}: {error}")))?;
    Firmware::read(&file, &bytes, request).map_err(Trouble::usage)
}

fn exit(answer: &Boot) -> Exit {
    let any = |kind: fn(&BootVerdict) -> bool| answer.checks.iter().any(|check| kind(&check.verdict));
    if any(|it| matches!(it, BootVerdict::Faulty { .. })) {
        Exit::Fault
    } else if any(|it| matches!(it, BootVerdict::Refused { .. } | BootVerdict::Sound { partly: true, .. })) {
        Exit::Refused
    } else {
        Exit::Answered
    }
}
