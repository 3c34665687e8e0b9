//! `tenbin boot check`: whether every hart of a machine always boots.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use tenbin_boot::request::{Request, Size};
use tenbin_boot::{Boot, BootVerdict, Firmware, examine, view};
use tenbin_metal::interrupt;

use super::{bytes_of, with_means};
use crate::output::{Answer, Exit, Trouble, can_be_written, write_whole};
use crate::terminal::Progress;
use crate::verbs::{Form, Schema, Verb, Work};

/// Say whether every hart always boots, whatever memory holds and whoever is late
///
/// Examines firmware for RV64 as it will run: every order in which the harts can step, everything that
/// memory may hold where the file does not say, every reordering that the memory model allows. Of what
/// goes wrong it shows the shortest run. A file whose symbols have the names below needs no options; for
/// another one --arrived says where a hart is up.
#[derive(Args)]
#[command(after_help = STATUS)]
pub struct Check {
    /// Executables for RV64, as they are loaded; each is examined on every machine
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    request: Request,
    /// How much memory all of it may take; a machine that its share is too small for is tried again alone
    #[arg(long, value_name = "BYTES", default_value = "4GiB")]
    limit: Size,
    /// How long one machine may take
    #[arg(long, value_name = "N", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=604_800))]
    seconds: u64,
    /// Draw the first run that goes wrong, as SVG
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    #[command(flatten)]
    form: Form,
}

const STATUS: &str = "\
Exit status: 0 all of it is sound; 2 a file is not an RV64 executable, or lacks what is named
(nothing is examined then); 3 a machine was refused or not finished, and none is faulty;
4 something can go wrong on at least one.";

pub const VERB: Verb = Verb {
    schemas: &[Schema::of::<Boot>("boot", "What can go wrong with boots: `boot check`")],
    ..Verb::of::<Check>("check")
};

/// Bytes that a file may have. Firmware has some thousands, a kernel with all that is known of its source
/// some ten millions.
const LARGEST: u64 = 64 << 20;

/// Examines every file on every machine that is asked about, as many at a time as there are CPUs. Where a
/// file cannot be examined, none is.
impl Work for Check {
    fn run(self) -> Result<Answer, Trouble> {
        if let Some(path) = &self.picture {
            can_be_written(path)?;
        }
        let request = &self.request;
        let firmware = self.files.iter().map(|path| read(path, request)).collect::<Result<Vec<_>, _>>()?;
        interrupt::listen()?;
        let mut jobs = Vec::new();
        for each in &firmware {
            jobs.extend(each.jobs(request).map_err(Trouble::usage)?);
        }
        let answer = with_means(self.limit, self.seconds, &Progress::boots, |means| examine(&jobs, means));
        let mut remarks = Vec::new();
        if let Some(path) = &self.picture {
            match view::picture(&answer) {
                Some(picture) => write_whole(path, |out| out.write_all(picture.as_bytes()))?,
                None => remarks.push(format!("nothing goes wrong, so {} is not written", path.display())),
            }
        }
        let exit = interrupt::requested().map_or(exit(&answer), Exit::Interrupted);
        // Why the only machine was refused is the answer's first sentence already.
        remarks.extend(view::unexamined(&answer).filter(|_| self.form.json || answer.checks.len() > 1));
        let remarks = remarks.into_iter().map(|message| Trouble { exit, message }.to_string()).collect();
        let text = self.form.text(&answer, view::boot)?;
        Ok(Answer { remarks, exit, ..Answer::text(text) })
    }
}

fn read(path: &Path, request: &Request) -> Result<Firmware, Trouble> {
    let file = path.display().to_string();
    let bytes = bytes_of(path, LARGEST, "it is not a regular file");
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
