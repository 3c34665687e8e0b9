//! `tenbin watch`: what stands still on this machine, for how long, and why.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tenbin_analysis::gaps::trace;
use tenbin_analysis::report;
use tenbin_lab::survey::cpus;
use tenbin_lab::watch::{Request, watch};
use tenbin_lab::weigh::values::time;
use tenbin_metal::interrupt;
use tenbin_model::{Gap, Picoseconds, WatchLine};

use super::{Schema, Verb, Work};
use crate::output::{self, Answer, Trouble};

/// Say when this machine, or a CPU of it, stood still, for how long, and why
///
/// A gap is a time in which no ordinary thread could run on a CPU: it was kept by another task, an
/// interrupt or the kernel, stopped with all others, taken by the host; or in which tenbin itself was
/// stopped, frozen or throttled. Each is a line as soon as it is over. Where what was seen cannot tell two
/// causes apart, it says so.
///
/// As root, programs in the kernel (BPF) see what took how long; without them only late ticks are seen.
/// It goes on until it is interrupted, or for the time of --for, and ends with a summary.
#[derive(Args)]
pub struct Watch {
    /// The CPUs to watch, like 0,2-3 [default: all that it may run on]
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// For how long, like 10s
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    duration: Option<Picoseconds>,
    /// The shortest gap
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "2ms")]
    least: Picoseconds,
    /// From one tick of a CPU to the next [default: 1ms, or more where that took more than 0.3 % of a CPU]
    #[arg(long, value_name = "TIME", value_parser = time)]
    tick: Option<Picoseconds>,
    /// Each line in JSON
    #[arg(long)]
    json: bool,
    /// Write the gaps as a trace for Perfetto (<https://ui.perfetto.dev>) too
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
}

pub const VERB: Verb = Verb {
    schemas: &[Schema::of::<WatchLine>(
        "watch",
        "A gap, or the summary at the end: a line of `watch --json`",
    )],
    ..Verb::of::<Watch>("watch")
};

impl Work for Watch {
    fn run(self) -> Result<Answer, Trouble> {
        if let Some(path) = &self.perfetto {
            output::can_be_written(path)?;
        }
        interrupt::listen()?;
        let request = Request {
            cpus: cpus(self.cpus.as_deref())?,
            duration: self.duration.map(|time| Duration::from_nanos(time.0 / 1000)),
            least: self.least,
            tick: self.tick,
        };
        let mut all: Vec<Gap> = Vec::new();
        let mut shown = Ok(());
        let line = |line: &WatchLine| {
            serde_json::to_string(line).map_err(|error| Trouble::internal(error.to_string()))
        };
        let gaps = watch(&request, &mut |start, gap| {
            let text = match self.json {
                true => line(&WatchLine::Gap(gap.clone())).map(|line| line + "\n"),
                false => Ok(report::gap(gap, start)),
            };
            if self.perfetto.is_some() {
                all.push(gap.clone());
            }
            shown = text.and_then(|text| output::show(&text));
            shown.is_ok()
        })?;
        shown?;
        let mut remarks = Vec::new();
        if let Some(path) = &self.perfetto {
            output::write_whole(path, |file| file.write_all(&trace(&all)))?;
            remarks.push(format!("Wrote {}.", path.display()));
        }
        let text = match self.json {
            true => line(&WatchLine::Summary(gaps))? + "\n",
            false => report::gaps(&gaps),
        };
        Ok(Answer { remarks, ..Answer::text(text) })
    }
}
