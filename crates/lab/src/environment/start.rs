//! The start of an environment: a command that does nothing, outside of it and inside.

use std::process::Command;

use tenbin_metal::child::{Bounds, Dialogue, Reply};
use tenbin_metal::{Fault, Lap};
use tenbin_model::{Bytes, Finding, VariantIndex};

use super::{NAME, Question};
use crate::ending;
use crate::experiment::{Apparatus, Failure, Request, Seen, Unfit};
use crate::weigh::seen_program;
use crate::workload::command::{DEADLINE, Runner, Step, lap, seen};

/// Starts whose memory is looked at.
const LOOKS: usize = 5;

/// A shell that answers once, and waits for the end of its input.
const IDLE: [&str; 3] = ["sh", "-c", "read -r line; echo idle; read -r line; :"];

pub(super) struct Start {
    runner: Runner,
    /// In the order of the variants.
    steps: [Step; 2],
    /// Of a command that fails.
    failing: Step,
    idle: Vec<String>,
    setup: Option<Finding>,
}

impl Start {
    pub(super) fn open(
        request: &Request<'_>,
        question: &Question,
        setup: Option<Finding>,
    ) -> Result<Self, Unfit> {
        let steps = [Step::of(&["true".into()])?, Step::of(&question.inside(&["true"]))?];
        let failing = Step::of(&question.inside(&["false"]))?;
        let idle = question.inside(&IDLE);
        Ok(Self { runner: Runner::start(request.cpus)?, steps, failing, idle, setup })
    }

    fn run(&mut self, variant: VariantIndex) -> Result<Lap, Failure> {
        let step = self.steps.get(variant.place()).unwrap_or(&self.failing);
        Ok(lap(&self.runner.run(step)?))
    }

    /// What the processes of an idle shell have of memory, inside or outside.
    fn idle(words: &[String]) -> Result<Option<Bytes>, String> {
        let program = seen_program(&words[0], None).map_err(crate::engine::in_words)?;
        let mut command = Command::new(program);
        command.args(&words[1..]);
        let bounds = Bounds { output: 1 << 16, ..Bounds::within(DEADLINE) };
        let text = |fault: Fault| fault.to_string();
        let mut dialogue = Dialogue::start(command, bounds).map_err(text)?;
        match dialogue.ask("", DEADLINE).map_err(text)?.0 {
            Reply::Line(line) if line == "idle" => Ok(tenbin_metal::descendants::memory(dialogue.process())),
            other => Err(format!(
                "a shell in it was to answer `idle`, and this came: {other:?}{}",
                ending::last_words(dialogue.errors())
            )),
        }
    }

    fn memory(&self) -> Finding {
        let looks = |shell: &[String]| -> Result<Option<Vec<Bytes>>, String> {
            let mut looks = (0..LOOKS).map(|_| Self::idle(shell)).collect::<Result<Option<Vec<_>>, _>>()?;
            looks.iter_mut().for_each(|looks| looks.sort_unstable());
            Ok(looks)
        };
        let finding = |sentence: String, evidence: String| Finding {
            experiment: NAME.into(),
            sentence,
            evidence,
            confidence:
                "the kernel's word (PSS in /proc/PID/smaps_rollup) of the processes that were started and of \
                         those below them; what others start for them, as a daemon does, is not in it"
                    .into(),
        };
        match looks(&IDLE.map(str::to_owned)).and_then(|here| Ok((here, looks(&self.idle)?))) {
            Ok((Some(here), Some(inside))) => {
                let [least, middle, most] = [0, LOOKS / 2, LOOKS - 1].map(|place| inside[place]);
                finding(
                    format!(
                        "An idle shell inside has {middle} of memory with all that was started for it, and one outside {}.",
                        here[LOOKS / 2]
                    ),
                    format!("the middle of {LOOKS}, from {least} to {most}"),
                )
            }
            Ok(_) => finding(
                "How much memory it has is not observable.".into(),
                "the kernel does not let this user see the memory of its processes; root sees it".into(),
            ),
            Err(why) => finding("How much memory it has was not seen.".into(), why),
        }
    }
}

impl Apparatus for Start {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        seen(self.run(variant).map(|_| Seen::Met("it ended with status 0".into())))
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let laps = (0..iterations).map(|_| self.run(variant)).collect::<Result<Vec<_>, _>>()?;
        Ok(crate::workload::command::together(&laps))
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        Ok(self.setup.take().into_iter().chain([self.memory()]).collect())
    }
}
