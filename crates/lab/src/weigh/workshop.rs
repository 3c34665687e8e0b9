//! Where commands run: what is done once, what is done around each run, and what each run came to.

mod profiled;

use std::ffi::CString;
use std::path::PathBuf;
use std::time::Duration;

use tenbin_metal::launcher::{ProcessEnd, Sink, Stream, in_memory};
use tenbin_metal::{Fault, Launch, Launched, Launcher, allowed_cpus};
use tenbin_model::words::counted;
use tenbin_model::{Bytes, Cpu, Finding, Picoseconds, Quantity, Refusal, VariantIndex};

use super::inputs::Inputs;
use super::starts::Starts;
use super::written::{self, Written};
use super::{NAME, Output, Question, Shell, program};
use crate::ending;
use crate::experiment::{Failure, Seen, Unfit};

/// Which failures of a command are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ignored {
    /// None.
    #[default]
    Nothing,
    /// A status of these.
    These(Vec<i32>),
    /// Any status but 0.
    All,
}

/// A command, ready to be run.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    /// As it was typed, with the values of its parameters.
    pub(super) line: String,
    /// The words that start it, its program first.
    pub(super) words: Vec<String>,
    pub(super) setup: Option<String>,
    pub(super) cleanup: Option<String>,
    pub(super) prepare: Option<String>,
    pub(super) conclude: Option<String>,
    pub(super) output: Output,
    pub(super) folder: Option<PathBuf>,
    /// Whether its output has to be what was asked for; not that of a command that others are weighed above.
    pub(super) is_weighed: bool,
}

/// What runs commands, for all stretches of a cell: what is done once is done once.
pub(super) struct Workshop {
    commands: Vec<Prepared>,
    /// The shell that reads them, if one does.
    shell: Option<Vec<String>>,
    ignored: Ignored,
    input: Option<PathBuf>,
    warmup: u64,
    same_output: bool,
    check: Option<String>,
    cpus: Vec<Cpu>,
    starts: Starts,
    /// A run that takes longer is ended.
    longest: Picoseconds,
    /// Whether peak memory is weighed.
    small: bool,
    /// Whether what hardware counts is weighed.
    counted: bool,
    launcher: Option<Launcher>,
    /// Commands whose setup came to its end: those have something to clean up.
    set_up: Vec<usize>,
    pub(super) layout: u32,
    /// Timed runs of each command so far.
    pub(super) runs: Vec<u64>,
    /// The command that failed in a warm-up run, and how.
    spoiled: Option<(usize, String)>,
    /// What the first command wrote, where all have to write the same.
    expected: Option<Written>,
    /// Runs that left processes behind, by command.
    left: Vec<u64>,
    /// What commands read, as far as their words name it and nothing puts it back.
    inputs: Inputs,
    remarks: Vec<Finding>,
}

impl Workshop {
    pub(super) fn new(
        question: &Question,
        commands: Vec<Prepared>,
        shell: Option<Vec<String>>,
        longest: Picoseconds,
        asked: &[Quantity],
    ) -> Self {
        Self {
            runs: vec![0; commands.len()],
            left: vec![0; commands.len()],
            commands,
            shell,
            ignored: question.ignored.clone(),
            input: question.input.clone(),
            warmup: question.warmup,
            same_output: question.same_output,
            check: question.check.clone(),
            cpus: question.cpus.clone(),
            starts: Starts::default(),
            longest,
            small: asked.contains(&Quantity::PeakMemory),
            counted: asked.contains(&Quantity::Instructions) || asked.contains(&Quantity::Cycles),
            launcher: None,
            set_up: Vec::new(),
            layout: 0,
            inputs: Inputs::default(),
            spoiled: None,
            expected: None,
            remarks: Vec::new(),
        }
    }

    /// Does what is done once: starts the launcher, sets up each command, and warms it up.
    pub(super) fn open(&mut self) -> Result<(), Unfit> {
        self.layout = 0;
        if self.launcher.is_some() {
            return Ok(());
        }
        self.launcher = Some(Launcher::start()?);
        self.starts = Starts::on(if self.cpus.is_empty() { allowed_cpus()? } else { self.cpus.clone() });
        if self.counted {
            // What cannot be counted is known before anything is run.
            self.least_peak().map_err(|fault| not_counted(&fault))?;
        }
        for place in 0..self.commands.len() {
            if let Some(setup) = self.commands[place].setup.clone() {
                self.hook(place, "setup", &setup, true)?;
            }
            self.set_up.push(place);
        }
        let input = self.input.as_ref().map(|input| input.to_string_lossy().into_owned());
        // What is run before or after each run may put back whatever that changes.
        for command in self.commands.iter().filter(|it| it.prepare.is_none() && it.conclude.is_none()) {
            self.inputs.remember(command.folder.as_deref(), program::arguments(&command.line));
            self.inputs.remember(None, input.clone());
        }
        for number in 0..self.warmup {
            for place in 0..self.commands.len() {
                let iteration = format!("warmup-{number}");
                let wrong = match self.run(place, Some(&iteration), &mut |_, _| {}) {
                    Ok(launched) => self.failure(&launched, ""),
                    Err(Failure::Machine(fault)) => return Err(fault.into()),
                    Err(Failure::Wrong(wrong)) => Some(wrong),
                };
                if let Some(wrong) = wrong {
                    // Its check says so.
                    self.spoiled = Some((place, format!("{wrong} in a warm-up run")));
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Runs a command that belongs to the measurement and is not measured. What it leaves running may go on.
    fn hook(&mut self, place: usize, kind: &str, line: &str, yields: bool) -> Result<(), Unfit> {
        let usual = [Shell::USUAL.to_owned()];
        let shell = self.shell.as_deref().unwrap_or(&usual);
        let words = program::read_by(shell, line);
        let command = &self.commands[place];
        let (output, errors) = match command.output {
            Output::Inherit => (Sink::Inherit, Sink::Inherit),
            _ => (Sink::Null, Sink::HandOver),
        };
        let launch = Launch { leaves: true, ..self.launch(place, &words, (output, errors), Vec::new())? };
        let mut errors = Vec::new();
        let launched =
            self.launcher()?.run(&launch, yields, &mut |_, part| errors.extend_from_slice(part))?;
        if launched.end == ProcessEnd::Exited(0) {
            return Ok(());
        }
        let how = format!("the {kind} command {}{}", ended(launched.end), ending::last_words(&errors));
        Err(Unfit::Refused(Refusal {
            reached: format!("{how} (`{line}`)"),
            needs: "a status of 0".into(),
            remedy: format!(
                "mend it, or append ` || true` to the {kind} command if its failure does not matter"
            ),
        }))
    }

    fn launcher(&mut self) -> Result<&mut Launcher, Fault> {
        self.launcher.as_mut().ok_or_else(|| {
            Fault::system("use the process that starts commands", std::io::ErrorKind::NotConnected)
        })
    }

    /// What starts these words for the command at `place`.
    fn launch(
        &self,
        place: usize,
        words: &[String],
        (output, errors): (Sink, Sink),
        environment: Vec<CString>,
    ) -> Result<Launch, Fault> {
        let command = &self.commands[place];
        let path = program::program(&words[0], command.folder.as_deref());
        // That it was there was seen when the question was read.
        let path = path.unwrap_or_else(|_| PathBuf::from(&words[0]));
        Ok(Launch {
            program: path_text(&path)?,
            arguments: words.iter().map(|word| text(word)).collect::<Result<_, _>>()?,
            environment,
            folder: command.folder.as_ref().map(|folder| path_text(folder)).transpose()?,
            cpus: self.cpus.clone(),
            first: None,
            input: self.input.as_ref().map(|input| path_text(input)).transpose()?,
            output,
            errors,
            deadline: Duration::from_nanos(self.longest.0 / 1_000),
            leaves: false,
            small: self.small,
            counted: self.counted,
        })
    }

    /// Runs a command once, with what belongs before and after it.
    pub(super) fn run(
        &mut self,
        place: usize,
        iteration: Option<&str>,
        heard: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<Launched, Failure> {
        let (prepare, conclude) =
            (self.commands[place].prepare.clone(), self.commands[place].conclude.clone());
        if let Some(prepare) = prepare {
            self.hook(place, "preparation", &prepare, true).map_err(wrong)?;
        }
        let layout = self.layout;
        let command = &self.commands[place];
        // Only what is checked is looked at.
        let is_examined = iteration.is_none() && (self.same_output || self.check.is_some());
        let streams = match (iteration, &command.output) {
            _ if is_examined => (Sink::HandOver, Sink::HandOver),
            (_, Output::Inherit) => (Sink::Inherit, Sink::Inherit),
            (_, Output::File(path)) => (Sink::File(path_text(path)?), Sink::Null),
            (None, _) => (Sink::HandOver, Sink::HandOver),
            (Some(_), Output::Null) => (Sink::Null, Sink::Null),
            (Some(_), Output::Pipe) => (Sink::Discard, Sink::Discard),
        };
        let words: Vec<String> =
            command.words.iter().map(|word| word.replace("{seed}", &layout.to_string())).collect();
        // As long as the layout says: what lies on the stack above a program moves it (Mytkowicz et al.
        // 2009).
        let padding = layout.wrapping_mul(0x9e37_79b9) >> 20;
        let mut environment = vec![text(&format!("TENBIN_LAYOUT={}", "x".repeat(padding as usize)))?];
        if let Some(iteration) = iteration {
            environment.push(text(&format!("HYPERFINE_ITERATION={iteration}"))?);
        }
        let mut launch = self.launch(place, &words, streams, environment)?;
        launch.first = iteration.and_then(|_| self.starts.of(layout));
        let launched = self.launcher()?.run(&launch, true, heard)?;
        self.starts.count(launched.elapsed);
        self.left[place] += u64::from(launched.left > 0);
        if let Some(conclude) = conclude {
            self.hook(place, "conclusion", &conclude, launched.end != ProcessEnd::Cancelled)
                .map_err(wrong)?;
        }
        match launched.end {
            ProcessEnd::OutOfTime => Err(Failure::Machine(Fault::Overdue {
                what: command_name(&self.commands[place].line),
                deadline: launch.deadline,
            })),
            // Whoever asked for that drops what was measured.
            ProcessEnd::Cancelled => Err(Failure::Machine(Fault::system(
                "run a command to its end",
                std::io::ErrorKind::Interrupted,
            ))),
            _ => Ok(launched),
        }
    }

    /// How a command ended, where that is a failure.
    pub(super) fn failure(&self, launched: &Launched, detail: &str) -> Option<String> {
        (!self.is_fine(launched.end)).then(|| format!("it {}{detail}", ended(launched.end)))
    }

    fn is_fine(&self, end: ProcessEnd) -> bool {
        match (end, &self.ignored) {
            (ProcessEnd::Exited(0), _) | (ProcessEnd::Exited(_), Ignored::All) => true,
            (ProcessEnd::Exited(status), Ignored::These(statuses)) => statuses.contains(&status),
            _ => false,
        }
    }

    pub(super) fn checked(&mut self, variant: VariantIndex) -> Result<Seen, Failure> {
        let Some(place) = Some(variant.place()).filter(|&place| place < self.commands.len()) else {
            return self.check_planted();
        };
        if let Some((_, wrong)) = self.spoiled.as_ref().filter(|(spoiled, _)| *spoiled == place) {
            return Ok(Seen::Broken(wrong.clone()));
        }
        let most = if self.check.is_some() { written::CHECKED } else { written::COMPARED };
        let (mut written, mut errors) = (Written::of_at_most(most), Vec::new());
        let launched = self.run(place, None, &mut |stream, part| match stream {
            Stream::Output => written.add(part),
            Stream::Errors => {
                errors.extend_from_slice(part);
                // The last words are what is shown.
                let over = errors.len().saturating_sub(1 << 16);
                errors.drain(..over);
            }
        })?;
        if let Some(failure) = self.failure(&launched, &ending::last_words(&errors)) {
            return Ok(Seen::Broken(failure));
        }
        let is_weighed = self.commands[place].is_weighed;
        if let Some(check) = self.check.clone().filter(|_| is_weighed)
            && let Some(failure) = self.examined(place, &check, &written)?
        {
            return Ok(Seen::Broken(failure));
        }
        if self.same_output && is_weighed {
            let first = &self.commands[0].line;
            match &self.expected {
                None => self.expected = Some(written),
                Some(expected) => {
                    if let Some(difference) = written.difference(expected) {
                        let output = format!("its output differs from that of `{first}` {difference}");
                        return Ok(Seen::Broken(output));
                    }
                }
            }
        }
        let seen = match launched.end {
            ProcessEnd::Exited(status) => format!("status {status} after {}", launched.elapsed),
            end => ended(end),
        };
        Ok(Seen::Met(seen))
    }

    /// A command that fails goes the same way.
    fn check_planted(&mut self) -> Result<Seen, Failure> {
        let words = [Shell::USUAL, "-c", "exit 42"].map(String::from);
        let launch = self.launch(0, &words, (Sink::Null, Sink::Null), Vec::new())?;
        let launched = self.launcher()?.run(&launch, true, &mut |_, _| {})?;
        Ok(match self.failure(&launched, "") {
            Some(failure) => Seen::Broken(failure),
            None => Seen::Met("a failure went unnoticed".into()),
        })
    }

    /// Why the check that was given does not accept what a command wrote, if it does not.
    fn examined(&mut self, place: usize, check: &str, written: &Written) -> Result<Option<String>, Failure> {
        if !written.is_whole() {
            return Ok(Some(format!(
                "it wrote more than {}, which is more than the check `{check}` can be given",
                Bytes(written::CHECKED as u64)
            )));
        }
        let (file, path) = in_memory(&written.kept)?;
        let words = [Shell::USUAL, "-c", check].map(String::from);
        let mut launch = self.launch(place, &words, (Sink::Null, Sink::HandOver), Vec::new())?;
        launch.input = Some(path);
        let mut errors = Vec::new();
        let launched = self.launcher()?.run(&launch, true, &mut |_, part| errors.extend_from_slice(part))?;
        drop(file);
        let accepted = launched.end == ProcessEnd::Exited(0);
        Ok((!accepted).then(|| {
            format!(
                "the check `{check}` {} for its output{}",
                ended(launched.end),
                ending::last_words(&errors)
            )
        }))
    }

    /// What a start costs: the least of some. It is in every figure.
    pub(super) fn starts(&mut self) -> Result<Vec<Finding>, Fault> {
        const STARTS: u32 = 20;
        let shell = self.shell.clone();
        let (program, path) = Launcher::empty_program()?;
        let mut least = |words: &[String], program: Option<&CString>| -> Result<Picoseconds, Fault> {
            let mut launch = self.launch(0, words, (Sink::Null, Sink::Null), Vec::new())?;
            if let Some(program) = program {
                launch.program.clone_from(program);
            }
            let mut least = Picoseconds(u64::MAX);
            for _ in 0..STARTS {
                least = least.min(self.launcher()?.run(&launch, true, &mut |_, _| {})?.elapsed);
            }
            Ok(least)
        };
        let empty = least(&["tenbin".to_owned()], Some(&path))?;
        let mut sentence =
            format!("A program that ends at once takes at least {empty} here from its start to its end");
        if let Some(shell) = shell {
            let shell_start = least(&program::read_by(&shell, ":"), None)?;
            sentence.push_str(&format!(", and a shell that does nothing {shell_start}"));
        }
        drop(program);
        Ok(vec![Finding {
            experiment: NAME.into(),
            sentence: format!("{sentence}: that is in every figure, and subtracted from none."),
            evidence: format!("the least of {STARTS} starts"),
            confidence: "measured".into(),
        }])
    }

    /// The least peak that can be seen: that of a program which needs next to nothing.
    pub(super) fn least_peak(&mut self) -> Result<f64, Fault> {
        let (program, path) = Launcher::empty_program()?;
        let launch = self.launch(0, &["tenbin".to_owned()], (Sink::Null, Sink::Null), Vec::new())?;
        let launch = Launch { program: path, ..launch };
        let mut peak = 0;
        for _ in 0..5 {
            peak = peak.max(self.launcher()?.run(&launch, true, &mut |_, _| {})?.peak_memory.0);
        }
        drop(program);
        Ok(peak as f64)
    }

    pub(super) fn noticed(&mut self) -> Vec<Finding> {
        for (command, left) in self.commands.iter().zip(&self.left) {
            if *left > 0 {
                self.remarks.push(Finding {
                    experiment: NAME.into(),
                    sentence: format!(
                        "`{}` left processes running, which were ended after each run.",
                        command.line
                    ),
                    evidence: format!("in {}", counted(*left as usize, "run")),
                    confidence: "the kernel's word".into(),
                });
            }
        }
        self.remarks.extend(self.inputs.changed().map(|path| Finding {
            experiment: NAME.into(),
            sentence: format!(
                "`{}` was changed by the runs: so runs that read it did different work. --prepare CMD can \
                 put it back before each run.",
                path.display()
            ),
            evidence: "its content before the first run and after the last".into(),
            confidence: "seen".into(),
        }));
        std::mem::take(&mut self.remarks)
    }

    /// Cleans up after all commands that were set up, once: what went wrong with that.
    pub(super) fn clean_up(&mut self) -> Vec<String> {
        let mut failures = Vec::new();
        for place in std::mem::take(&mut self.set_up) {
            if let Some(cleanup) = self.commands[place].cleanup.clone()
                && let Err(unfit) = self.hook(place, "cleanup", &cleanup, false)
            {
                failures.push(match wrong(unfit) {
                    Failure::Wrong(words) => words,
                    Failure::Machine(fault) => fault.to_string(),
                });
            }
        }
        failures
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        // There is nobody left to tell.
        let _ = self.clean_up();
    }
}

/// A refusal where hardware counts nothing.
fn not_counted(fault: &Fault) -> Unfit {
    Unfit::Refused(Refusal {
        reached: format!("nothing counts instructions and cycles here ({fault})"),
        needs: "hardware counters that this user may read: few virtual machines have them, and \
                kernel.perf_event_paranoid has to be 2 or less"
            .into(),
        remedy: "weigh another --metric".into(),
    })
}

/// What a hook that failed makes of the run that it belongs to.
fn wrong(unfit: Unfit) -> Failure {
    match unfit {
        Unfit::Fault(fault) => Failure::Machine(fault),
        Unfit::Refused(refusal) => Failure::Wrong(refusal.reached),
        Unfit::Usage(message) => Failure::Wrong(message),
        Unfit::Missing(missing) => Failure::Wrong(missing.to_string()),
        Unfit::Stopped => Failure::Machine(Fault::system("go on", std::io::ErrorKind::Interrupted)),
    }
}

/// How something ended, as a verb.
fn ended(end: ProcessEnd) -> String {
    match end {
        ProcessEnd::Exited(127) => {
            "ended with status 127, a shell's word for a command that is not found".into()
        }
        ProcessEnd::Exited(status) => format!("ended with status {status}"),
        ProcessEnd::Signalled(signal) => format!("was ended by {}", ending::signal(signal)),
        ProcessEnd::Stopped(signal @ (21 | 22)) => {
            format!("was stopped by {}: it asks for a terminal, and runs without one", ending::signal(signal))
        }
        ProcessEnd::Stopped(signal) => format!("was stopped by {}", ending::signal(signal)),
        ProcessEnd::OutOfTime => "had not ended in time".into(),
        ProcessEnd::Cancelled => "was interrupted".into(),
    }
}

fn command_name(line: &str) -> String {
    format!("`{line}`")
}

fn text(text: &str) -> Result<CString, Fault> {
    CString::new(text).map_err(|error| Fault::system(format!("hand over `{text:?}`"), error))
}

fn path_text(path: &std::path::Path) -> Result<CString, Fault> {
    use std::os::unix::ffi::OsStrExt;
    CString::new(path.as_os_str().as_bytes())
        .map_err(|error| Fault::system(format!("hand over `{}`", path.display()), error))
}
