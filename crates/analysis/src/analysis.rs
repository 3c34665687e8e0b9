//! What is asked of every analysis: how the samples of a question become answers.

use tenbin_document::Document;
use tenbin_model::verdict::CheckedVariant;
use tenbin_model::words::semicolon;
use tenbin_model::{
    Answer, Cell, CheckedQuestion, Descriptor, Evidence, Finding, Machine, Purpose, Refusal, Regime, Report,
    Run, Trial, Verdict, order,
};

use crate::report::{self, Sheet};
use crate::verdict::{self, Time, calls, comparisons, decide, overhead};

/// How the samples of a question become answers.
///
/// What is provided weighs each comparison of each cell by the ratio of its two variants. A question that
/// asks something else brings an analysis of its own, and says only where it differs. Pure: no analysis
/// touches a clock, a file or hardware, so every answer can be computed again from what was kept.
pub trait Analysis: Sync {
    /// The name that a description gives, and so every run that is kept.
    fn name(&self) -> &'static str;

    /// What no interval of its answers covers, in a sentence.
    fn scope(&self) -> &'static str {
        "Intervals cover what varied in this process while it ran; another process may find another ratio. `tenbin run --processes N` \
         answers over several."
    }

    /// The pairs of known truth that say how often it errs.
    fn calibrated_by(&self) -> Purpose {
        Purpose::Ladder
    }

    /// Takes the time that the ratios of a cell are of.
    fn time(&self, _cell: &Cell) -> Time {
        verdict::whole_epoch
    }

    /// How many intervals share the level where so many comparisons are planned.
    fn family(&self, descriptor: &Descriptor, comparisons: usize) -> usize {
        descriptor.family(comparisons)
    }

    /// The fewest blocks for which a cell can be judged, with `family` comparisons in its trial.
    fn least_blocks(&self, descriptor: &Descriptor, family: usize) -> u32 {
        verdict::votes(descriptor.level, family)
    }

    /// What an answer is read from.
    fn basis(&self) -> Basis {
        Basis::Ratios
    }

    /// Whether a cell may end once its comparisons are decided. What may not takes the blocks or the time
    /// that it was given.
    fn may_end_early(&self) -> bool {
        self.basis() == Basis::Ratios
    }

    /// Whether every comparison of a cell is decided at this moment, if this is a planned look.
    fn decided(&self, descriptor: &Descriptor, family: usize, cell: &Cell) -> bool {
        let Cell { arrangement, samples, .. } = cell;
        decide::is_look(descriptor, family, samples)
            && decide::decided(self.time(cell), descriptor, family, arrangement, samples)
            && calls::are_known(descriptor, cell)
    }

    /// Two regimes with two answers in what is known of the comparison at `place` of a cell.
    fn contradiction<'a>(&self, _place: usize, evidence: &'a Evidence) -> Option<(&'a Regime, &'a Regime)> {
        decide::contradiction(evidence)
    }

    /// Whether the answer to any comparison of the cell depends on when it was measured: it has regimes that
    /// disagree.
    fn depends(&self, descriptor: &Descriptor, family: usize, cell: &Cell) -> bool {
        let time = self.time(cell);
        cell.arrangement.comparisons.iter().enumerate().any(|(place, comparison)| {
            let evidence = decide::evidence(time, descriptor, family, cell, comparison);
            evidence.is_some_and(|evidence| self.contradiction(place, &evidence).is_some())
        })
    }

    /// Whether a reader reads this answer before the view.
    fn is_summary(&self, answer: &Answer, is_first_of_cell: bool) -> bool {
        answer.headline || is_first_of_cell
    }

    /// What became of the claims that a trial was measured for, where it was measured for claims.
    fn claims(&self, _trial: &Trial) -> Option<CheckedQuestion> {
        None
    }

    /// Judges a trial that was not refused as a whole.
    fn judge(&self, machine: &Machine, trial: &Trial) -> Judged {
        let answers = comparisons::answers(|cell| self.time(cell), machine, trial);
        let view = report::cell_by_cell(|cell| self.time(cell), trial, &answers);
        Judged { answers, findings: Vec::new(), view }
    }
}

/// What an analysis reads an answer from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The ratio of two variants in each block. It can be compared over runs and processes.
    Ratios,
    /// Blocks one by one, so that it matters what the machine was like in each, but no ratio.
    Blocks,
    /// All samples of a cell together, a law over sizes for instance.
    Cells,
}

/// What the cells of a trial came to.
#[derive(Debug)]
pub struct Judged {
    /// The answers, the most telling of each cell first.
    pub answers: Vec<Answer>,
    /// What the samples show beside them.
    pub findings: Vec<Finding>,
    /// What the answers rest on, for a reader: tables and pictures. Of what is a user's the answers as well.
    pub view: Document,
}

/// Each comparison of each cell by the ratio of its two variants.
#[derive(Debug)]
pub struct Comparisons;

impl Analysis for Comparisons {
    fn name(&self) -> &'static str {
        "comparisons"
    }
}

/// A run, judged.
#[derive(Debug)]
pub struct Reported {
    /// What programs read.
    pub report: Report,
    /// What people read of each experiment, in the order of the run.
    pub sheets: Vec<Sheet>,
}

impl Reported {
    /// What was judged of one experiment after the other, as one. Nothing of nothing.
    pub fn together(parts: impl IntoIterator<Item = Self>) -> Option<Self> {
        parts.into_iter().reduce(|mut all, next| {
            all.report.scope = all.report.scope.or(next.report.scope);
            all.report.answers.extend(next.report.answers);
            all.report.findings.extend(next.report.findings);
            all.report.checks.extend(next.report.checks);
            all.sheets.extend(next.sheets);
            all
        })
    }
}

/// Every analysis that there is.
pub struct Analyses(pub Vec<&'static dyn Analysis>);

impl Analyses {
    /// The analysis that a description names.
    pub fn of(&self, descriptor: &Descriptor) -> Option<&'static dyn Analysis> {
        self.0.iter().copied().find(|known| known.name() == descriptor.analysis.as_str())
    }

    /// The pairs of known truth that say how often answers of a run err.
    pub fn calibrated_by(&self, run: &Run) -> Purpose {
        let known = run.trials.iter().find_map(|trial| self.of(&trial.descriptor));
        known.map_or(Purpose::Ladder, Analysis::calibrated_by)
    }

    /// What the answers of an experiment are read from. None where its analysis is not known here.
    pub(crate) fn basis(&self, descriptor: &Descriptor) -> Option<Basis> {
        self.of(descriptor).map(Analysis::basis)
    }

    /// Computes every answer of a run. `id` is the run's name in the store, if it was kept.
    ///
    /// The same run gives the same report, whenever and wherever it is computed.
    pub fn report(&self, run: &Run, id: Option<&str>) -> Reported {
        let mut report = Report {
            schema: Report::SCHEMA.into(),
            run: id.map(str::to_owned),
            provenance: run.provenance.clone(),
            machine: run.machine.clone(),
            instrument: None,
            scope: None,
            answers: Vec::new(),
            findings: Vec::new(),
            checks: Vec::new(),
        };
        let mut sheets = Vec::with_capacity(run.trials.len());
        for trial in &run.trials {
            let Judged { answers, findings, view } = self.judge(&run.machine, trial);
            let overhead = trial.cells.iter().filter_map(|cell| overhead::finding(trial, cell));
            let findings: Vec<Finding> =
                overhead.chain(findings).chain(trial.findings.iter().cloned()).collect();
            let analysis = self.of(&trial.descriptor).filter(|_| trial.refusal.is_none());
            sheets.push(report::sheet(analysis, trial, &answers, &findings, view));
            if let Some(analysis) = analysis.filter(|_| claims(&answers)) {
                report.scope.get_or_insert_with(|| analysis.scope().into());
            }
            report
                .answers
                .extend(answers.into_iter().map(|answer| report::with_brief(&trial.descriptor, answer)));
            report.findings.extend(findings);
            report.checks.extend(checks(trial));
        }
        Reported { report, sheets }
    }

    /// The reports of several runs, each judged on its own machine, as one. Where they are of several
    /// machines, none is named. Nothing of nothing.
    pub fn report_together(&self, runs: &[Run]) -> Option<Reported> {
        let mut all = Reported::together(runs.iter().map(|run| self.report(run, None)))?;
        if runs.iter().any(|run| run.machine != runs[0].machine) {
            let machine = Machine::unobserved("the figures are of several machines");
            all.report.machine = Machine { architecture: "several".into(), ..machine };
            let versions = runs.iter().map(|run| &run.provenance.version);
            all.report.provenance.version = semicolon(order::set(versions));
        }
        Some(all)
    }

    /// Judges one trial on `machine`, by the analysis that it names.
    pub fn judge(&self, machine: &Machine, trial: &Trial) -> Judged {
        let descriptor = &trial.descriptor;
        let refused = |refusal| {
            let answer = comparisons::refused(descriptor, "", true, refusal);
            let mut view = Document::new();
            if descriptor.is_of_user() {
                view.paragraph(0, &answer.sentence);
            }
            Judged { answers: vec![answer], findings: Vec::new(), view }
        };
        match (&trial.refusal, self.of(descriptor)) {
            (Some(refusal), _) => refused(refusal),
            (None, Some(analysis)) => analysis.judge(machine, trial),
            (None, None) => refused(&Refusal {
                reached: format!(
                    "its samples were taken for an analysis called `{}`",
                    descriptor.analysis.as_str()
                ),
                needs: "a tenbin that has that analysis".into(),
                remedy: "show it with the version that measured it, or a newer one".into(),
            }),
        }
    }
}

fn checks(trial: &Trial) -> impl Iterator<Item = CheckedVariant> {
    trial.cells.iter().flat_map(move |cell| {
        cell.checks.iter().map(move |check| CheckedVariant {
            experiment: trial.descriptor.name.clone(),
            cell: cell.arrangement.label.clone(),
            variant: trial.descriptor[check.variant].name.clone(),
            check: check.clone(),
        })
    })
}

/// Whether any of these claims something.
fn claims(answers: &[Answer]) -> bool {
    answers.iter().any(|answer| answer.evidence.is_some() && answer.verdict != Verdict::Refused)
}
