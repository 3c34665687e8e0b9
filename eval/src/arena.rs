//! The same kernels and the same known effects, given to tenbin and to its peers.
//!
//! Every tool gets about the same time and one and the same CPU, and answers by the rule that its own
//! authors recommend. What is asked is shuffled within a round, so that no tool has the quiet hours.
//! Each verdict is kept on a line of its own; the table can be computed from those lines again.

mod criterion;
mod google_benchmark;
mod hyperfine;
pub(crate) mod nanobench;
mod pyperf;
mod record;
mod schedule;
pub(crate) mod stage;
pub(crate) mod surroundings;
mod table;
mod tally;
pub(crate) mod tango;
mod tenbin;
pub(crate) mod tool;
mod tools;
pub(crate) mod zenbench;

use std::path::PathBuf;
use std::time::Instant;

use record::{Record, Row};
use schedule::Task;
use stage::Stage;
use surroundings::Surroundings;
use table::Absence;
use tool::{Answer, Question, Ready, Tool};
use xtask::failure::Failure;
use xtask::requirement;
use xtask::workspace::Workspace;

use crate::files::write;

/// What `cargo xtask arena` may be told.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many times every tool is asked every question.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// The time that a tool is given for a verdict.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// By which part the right side does more than the left; 0 is a pair of equals.
    #[arg(long, value_delimiter = ',', default_value = "0,0.01")]
    effects: Vec<f64>,
    /// Names of works; all of them if left out.
    #[arg(long, value_delimiter = ',')]
    works: Vec<String>,
    /// Names of tools; all of them if left out.
    #[arg(long, value_delimiter = ',')]
    tools: Vec<String>,
    /// Decides the order in which questions are asked.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A nanobench.h of your own. Otherwise one is fetched from the sources of a Debian package.
    #[arg(long, value_name = "HEADER")]
    nanobench: Option<PathBuf>,
    /// Folder for the results; below cargo's target folder if left out.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Ask every tool everything, and keep what it says.
pub(crate) fn run(workspace: &Workspace, arguments: Arguments) -> Result<(), Failure> {
    let seconds_fit = arguments.seconds.is_finite() && arguments.seconds >= 0.1;
    if !seconds_fit {
        let tried = format!("give each verdict {} s", arguments.seconds);
        return Err(Failure::new(tried, "no tool has an answer by then", "give at least 0.1"));
    }
    let tools = tools::choose(&arguments.tools)?;
    let mut needs = stage::needs();
    needs.extend(tools.iter().flat_map(|tool| (tool.needs)()));
    let missing = requirement::provide(&needs);
    let stage = Stage::set_up(workspace, &arguments)?;
    let (ready, absent) = prepare(&tools, &missing, &stage);
    for absence in &absent {
        eprintln!("{} is not weighed: {}", absence.tool, absence.reason);
    }
    let surroundings = Surroundings::look(stage.cpu)?;
    let output =
        arguments.output.unwrap_or_else(|| workspace.target().join("arena").join(&surroundings.stamp));
    let mut record = Record::create(&output)?;
    let counts = [ready.len(), stage.works.len(), arguments.effects.len()];
    let mut rows = Vec::new();
    for (round, tasks) in (1..=arguments.rounds).zip(schedule::rounds(arguments.seed, counts)) {
        let started = Instant::now();
        for task in &tasks {
            let row = weigh(round, task, &ready, &stage, &arguments.effects);
            record.add(&row)?;
            rows.push(row);
        }
        // After every round, so that an arena that is stopped leaves a table too.
        let text = table::Table {
            surroundings: &surroundings,
            stage: &stage,
            seed: arguments.seed,
            rounds: round,
            planned: arguments.rounds,
            effects: &arguments.effects,
            ready: &ready,
            absent: &absent,
            rows: &rows,
        };
        for (name, text) in [("table.md", text.markdown()), ("table.csv", text.csv())] {
            write(&output.join(name), &text, "make room there, or choose another --output")?;
        }
        let failed = rows.iter().filter(|row| row.round == round && row.answer == Answer::Failed).count();
        let time = started.elapsed().as_secs_f64();
        eprintln!(
            "round {round} of {}: {} verdicts, {failed} failed, {time:.0} s",
            arguments.rounds,
            tasks.len()
        );
    }
    print!("{}", std::fs::read_to_string(output.join("table.md")).unwrap_or_default());
    println!("\nwritten to {}", output.display());
    Ok(())
}

/// What the arena lends to the peers must build and do its work; the peers are not needed for that.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Failure> {
    stage::testing(workspace).arguments(["test", "--workspace", "--locked"]).run()
}

pub(crate) struct Entrant {
    tool: &'static Tool,
    ready: Ready,
}

fn prepare(
    tools: &[&'static Tool],
    missing: &[requirement::Requirement],
    stage: &Stage,
) -> (Vec<Entrant>, Vec<Absence>) {
    let (mut ready, mut absent) = (Vec::new(), Vec::new());
    for &tool in tools {
        let lacking = (tool.needs)().into_iter().filter(|need| missing.contains(need)).collect::<Vec<_>>();
        let result = if lacking.is_empty() {
            (tool.prepare)(stage).map_err(|failure| failure.to_string())
        } else {
            let remedies = requirement::remedies(&lacking);
            Err(format!("{}; to install: {remedies}", requirement::in_words(&lacking)))
        };
        match result {
            Ok(it) => ready.push(Entrant { tool, ready: it }),
            Err(reason) => absent.push(Absence { tool: tool.name, reason }),
        }
    }
    (ready, absent)
}

/// Ask one tool one question. A tool that fails has failed this once, and is asked again.
fn weigh(round: u64, task: &Task, entrants: &[Entrant], stage: &Stage, effects: &[f64]) -> Row {
    let [tool, work, effect] = *task;
    let entrant = &entrants[tool];
    let question = Question { stage, work: &stage.works[work], effect: effects[effect] };
    let started = Instant::now();
    let result = (entrant.ready.weigh)(&question);
    let seconds = started.elapsed().as_secs_f64();
    let mut row = Row {
        round,
        tool: entrant.tool.name,
        work: question.work.name.clone(),
        effect: question.effect,
        truth: None,
        ratio: None,
        answer: Answer::Failed,
        seconds,
        note: String::new(),
    };
    match result {
        Ok(finding) => {
            row.truth = Some(finding.truth);
            row.ratio = finding.ratio;
            row.answer = finding.answer;
        }
        Err(failure) => {
            row.note = failure.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
            eprintln!("{} on {}: {}", row.tool, row.work, row.note);
        }
    }
    row
}
