//! `tenbin calibrate`, and what it says beside later verdicts.

mod plan;

use std::num::NonZero;

use clap::Args;
use plan::{Outcome, Plan, over_processes};
use tenbin_analysis::{calibration, report, verdict};
use tenbin_lab::analyses;
use tenbin_model::{Calibration, CalibrationReport, Run};
use tenbin_store::Store;

use super::{Form, Outlet, Schema, Verb, Work, processes};
use crate::output::{Answer, Exit, Trouble};
use crate::store::{self, Keeper};

/// Measure how often this instrument errs on this machine
///
/// Weighs pairs whose truth is known: equals, sides that differ by a known part, copies of one
/// function elsewhere, ratios that are whole numbers, whole commands, functions that are linked anew. Says
/// how often it was wrong and which effect it finds, with exact intervals; keeps it, and shows it beside
/// every later verdict. Takes ten minutes; an interrupt (Ctrl-C) ends it early, and what was weighed by
/// then is shown and kept.
#[derive(Args)]
pub struct Calibrate {
    /// 100 rounds: 400 pairs of equals and 100 of each effect for each work, of commands 67 and 33,
    /// of functions 100 and 33 (an hour to two)
    #[arg(long)]
    thorough: bool,
    /// So many pairs of each kind, however long that takes
    #[arg(long, value_name = "N", conflicts_with = "thorough", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pairs: Option<u32>,
    /// Share the pairs among so many processes, one after the other (with --pairs: so many pairs in each):
    /// says how far processes lie apart
    #[arg(long, value_name = "N", conflicts_with = "thorough", value_parser = processes)]
    processes: Option<NonZero<u32>>,
    /// The time for all pairs, in seconds
    #[arg(long, hide = true, conflicts_with_all = ["thorough", "pairs", "processes"], value_parser = clap::value_parser!(u64).range(1..=86_400))]
    within: Option<u64>,
    /// Threads of load to make for each CPU, on top of what the machine does anyway
    #[arg(long, value_name = "0|1|2", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=2))]
    load: u32,
    /// What to weigh: alu, call, atomic, pipe, chase, layout, truth, commands, functions; all of it if not
    /// given
    #[arg(long, value_name = "LIST")]
    works: Option<String>,
    /// Effects to plant, in per cent (like 0,0.2,1)
    #[arg(long, value_name = "LIST")]
    effects: Option<String>,
    /// The time for a verdict, in seconds; twice as much where too few blocks for one fit into it, ten times
    /// as much for one on commands, and twenty times for one on functions
    #[arg(long, value_name = "S", default_value_t = 0.5)]
    seconds: f64,
    /// Seed of every random choice; the time of day if not given
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// CPUs to use: pairs are weighed on the first, load is made on all (like 0,2-3)
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// Calibrate without keeping it
    #[arg(long)]
    no_store: bool,
    #[command(flatten)]
    outlet: Outlet,
}

pub const VERB: Verb = Verb {
    schemas: &[Schema::of::<CalibrationReport>(
        "calibration",
        "A calibration: `calibrate`, `show calibration`",
    )],
    ..Verb::of::<Calibrate>("calibrate")
};

/// Weighs pairs of known truth, keeps what came of it, and says how often this instrument errs here.
impl Work for Calibrate {
    fn run(self) -> Result<Answer, Trouble> {
        let form = self.outlet.form();
        let plan = Plan::new(&self)?;
        self.outlet.can_be_written()?;
        let mut keeper = Keeper::open(self.no_store)?;
        let outcome = match self.processes {
            Some(count) => over_processes(&self, count)?,
            None => plan.calibrate()?,
        };
        let made = match outcome {
            Outcome::Made(made) => made,
            Outcome::Refused(refusal) => {
                let words = verdict::refused_in_words(&refusal) + "\n";
                let report = CalibrationReport { refusal: Some(refusal), ..empty() };
                let text = form.text(&report, |_, _| words)?;
                return Ok(Answer { to: self.outlet.output, exit: Exit::Refused, ..Answer::text(text) });
            }
        };
        let kept = keeper
            .keep("calibration", |store| store.keep_calibration(&made.calibration).map(|id| id.to_string()));
        let mut remarks = Vec::from_iter(kept.remark);
        if let (Some(id), true) = (&kept.id, remarks.is_empty()) {
            let (short, path) = (&id[..12], store::path_shown());
            remarks.push(format!(
                "Kept as calibration {short} in {path}; every later report says what it found."
            ));
        }
        remarks.extend(made.interrupted.map(|signal| {
            format!("tenbin: interrupted by signal {signal}: the fewer pairs, the wider the intervals")
        }));
        let usual = if made.faulty { Exit::Fault } else { Exit::Answered };
        let exit = made.interrupted.map(Exit::Interrupted).or(kept.exit).unwrap_or(usual);
        let text = text(made.calibration, kept.id, form)?;
        Ok(Answer { text, to: self.outlet.output, remarks, exit })
    }
}

/// A report of nothing yet.
fn empty() -> CalibrationReport {
    let schema = CalibrationReport::SCHEMA.into();
    CalibrationReport { schema, id: None, refusal: None, rates: None, calibration: None }
}

/// A calibration, its rates computed again from its pairs.
pub fn text(calibration: Calibration, id: Option<String>, form: Form) -> Result<String, Trouble> {
    let rates = calibration::rates(&calibration);
    let report = CalibrationReport { id, rates: Some(rates), calibration: Some(calibration), ..empty() };
    form.text(&report, |report, width| match (&report.calibration, &report.rates) {
        (Some(calibration), Some(rates)) => report::calibration(calibration, rates).text(width),
        _ => String::new(),
    })
}

/// What is known of how often this instrument errs in answers like those of `run`, in words. A store that
/// cannot say is no reason to keep an answer back, and a damaged calibration does not hide the others.
pub fn remark(store: &Store, run: &Run) -> Option<String> {
    let purpose = analyses().calibrated_by(run);
    let newest_first = store.calibrations().ok()?;
    let known = calibration::of_machine(&run.machine, purpose, newest_first, |(_, calibration)| calibration);
    known.map(|(_, calibration)| calibration::remark(&calibration, purpose, env!("CARGO_PKG_VERSION")))
}
