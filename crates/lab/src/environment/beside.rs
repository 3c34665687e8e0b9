//! Work outside of an environment and inside, by a process on each side that is the same program.

use std::fs::File;
use std::process::Command;
use std::time::Duration;

use tenbin_metal::{Fault, Lap};
use tenbin_model::{Gauge, Reading, Refusal, Role, Variant, VariantIndex};

use super::served::PLACE;
use super::{HERE, HERE_IN_MEMORY, INSIDE, INSIDE_IN_MEMORY, Question, SAME_FILE_SYSTEM};
use crate::experiment::{Apparatus, Failure, Seen, Unfit};
use crate::survey;
use crate::weigh::seen_program;
use crate::workers::Worker;
use crate::workload::command::{DEADLINE, seen, unfit};

/// For how long a worker may take to remove what it made.
const FAREWELL: Duration = Duration::from_secs(10);

/// By this name it is this very program, also after another one was put in its place.
const OWN: &str = "/proc/self/exe";

pub(super) struct Beside {
    sides: [Worker; 2],
    /// By the worker's numbers: work in the file system of temporary files, in memory, and what is left
    /// undone.
    numbers: [usize; 3],
    /// Whether the file system of temporary files is the same.
    is_same: bool,
}

impl Beside {
    pub(super) fn open(question: &Question, work: &str) -> Result<Self, Unfit> {
        let mut own = vec!["environment".to_owned(), "--worker".into(), work.to_owned()];
        let settings = question.settings.iter().filter(|setting| super::served::has(work, setting));
        own.extend(settings.flat_map(|setting| ["--set".into(), setting.clone()]));
        let mut here = Command::new(OWN);
        here.args(&own);
        let fault = |error| Fault::system("read this program's own file", error);
        let file = File::open(OWN).map_err(fault)?;
        let size = file.metadata().map_err(fault)?.len();
        let words = question.inside(&["sh", "-c", &way_in(size, &own)]);
        let mut inside = Command::new(seen_program(&words[0], None)?);
        inside.args(&words[1..]);
        let place = format!("in `{}`", question.start.join(" "));
        let mut sides = [started(here, None, work, "here")?, started(inside, Some(file), work, &place)?];
        let [one, other] = sides.each_mut().map(|side| side.check(PLACE).map_err(unfit));
        Ok(Self { sides, numbers: numbers(work), is_same: one? == other? })
    }
}

/// What a shell inside does: the first bytes of its standard input are this program, of which dd(1) takes as
/// many as there are and no more.
fn way_in(size: u64, own: &[String]) -> String {
    let words = shell_words::join(own);
    format!(
        "file=$(mktemp) && trap 'rm -f \"$file\"' EXIT && trap 'exit 1' HUP INT TERM && \
         dd bs={size} count=1 iflag=fullblock of=\"$file\" 2>/dev/null && chmod 700 \"$file\" && \
         \"$file\" {words} --copy \"$file\""
    )
}

/// The numbers of a question's variants that are weighed here.
fn numbers(work: &str) -> [usize; 3] {
    let known = survey::descriptors().into_iter().find(|known| known.name == work);
    let variants = known.map(|known| known.variants).unwrap_or_default();
    let place = |is: &dyn Fn(&Variant) -> bool| variants.iter().position(is).unwrap_or_default();
    [0, place(&|it| it.name.ends_with("in memory")), place(&|it| it.role == Role::Sabotage)]
}

/// A process that answers, after it was given the file.
fn started(command: Command, file: Option<File>, work: &str, place: &str) -> Result<Worker, Unfit> {
    let mut worker = Worker::start(command, None, DEADLINE)?;
    if let Some(file) = file {
        worker.feed(file);
    }
    match worker.variants() {
        Ok(_) => Ok(worker),
        Err(Failure::Machine(fault)) => Err(fault.into()),
        Err(Failure::Wrong(wrong)) => Err(Unfit::Refused(Refusal {
            reached: format!("{work} cannot be done {place}: {wrong}"),
            needs: "what that work is done with, and sh, mktemp and dd to get in".into(),
            remedy: "install it there, or name other --work".into(),
        })),
    }
}

impl Beside {
    /// Which side does it, and its number there.
    fn of(&self, variant: VariantIndex) -> (usize, usize) {
        let [here, memory, undone] = self.numbers;
        match variant {
            HERE => (0, here),
            INSIDE => (1, here),
            HERE_IN_MEMORY => (0, memory),
            INSIDE_IN_MEMORY => (1, memory),
            _ => (1, undone),
        }
    }
}

/// What they made is removed by themselves.
impl Drop for Beside {
    fn drop(&mut self) {
        self.sides.iter_mut().for_each(|side| side.finish(FAREWELL));
    }
}

impl Apparatus for Beside {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        let (side, number) = self.of(variant);
        seen(self.sides[side].check(number))
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let (side, number) = self.of(variant);
        let work = self.sides[side].run(number, iterations)?;
        Ok(Lap { elapsed: work.elapsed, ..Lap::default() })
    }

    fn gauges(&mut self, variant: VariantIndex) -> Result<Vec<Gauge>, Fault> {
        let gauge = || Gauge {
            variant,
            name: SAME_FILE_SYSTEM.into(),
            reading: Reading::Count(f64::from(u8::from(self.is_same))),
        };
        Ok(if variant == INSIDE { vec![gauge()] } else { Vec::new() })
    }
}
