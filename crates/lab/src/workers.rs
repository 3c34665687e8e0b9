//! Functions, builds and workers of a user's on the pans: processes that are asked for work and time it
//! themselves.
//!
//! A worker is a program that answers lines with lines (`docs/functions.md`). What a user gives
//! ([`Question`]) are workers, or files of functions, of which workers are made here: compiled, linked in a
//! layout that is another one in each block, and called by a runner that speaks the same lines. The engine
//! runs them as any other variants; an epoch is so many operations of one.

mod analysis;
mod commands;
mod functions;
mod growth;
mod instructions;
mod layout;
mod members;
#[cfg(test)]
#[allow(dead_code, unreachable_pub, reason = "only files of a user's use it")]
mod tenbin;
mod worker;

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use tenbin_analysis::Analysis;
use tenbin_metal::allowed_cpus;
use tenbin_model::architecture::Architecture;
use tenbin_model::machine::Virtualisation;
use tenbin_model::words::{comma, counted};
use tenbin_model::{
    Arrangement, Comparison, Cpu, Descriptor, Picoseconds, Quantity, Refusal, Role, Source as Reference,
    Variant, VariantIndex,
};

pub use analysis::cycles::INSTRUCTIONS;
pub use analysis::{FUNCTIONS, FUNCTIONS_IN_PLACE, WORKERS, WORKERS_KEPT};
pub use functions::{Adopted, CRATE, Functions, HEADER};

/// What a worker is asked, and what it answers: a page for whoever writes one.
pub const PROTOCOL: &str = include_str!("workers/protocol.txt");

use crate::experiment::{Allowance, Failure, Opened, Request, Shared, Unfit};
use crate::weigh::claims::{Claims, comparisons};
use crate::weigh::{self, CLAIMS_OF_FUNCTIONS, CLAIMS_OF_INSTRUCTIONS, COLUMN, ROW, Weighing};
use analysis::cycles;
use commands::Commands;
use functions::{Layouts, Linked};
use instructions::Order;
use members::{Members, Part, Source};
pub(crate) use worker::Worker;

/// What is weighed.
#[derive(Clone, Debug)]
pub enum Sides {
    /// A command each, which starts a worker; and whether it is started once, and not for each block.
    Workers {
        /// The commands.
        lines: Vec<String>,
        /// Whether each is started once.
        kept: bool,
        /// The folder in which they run; the current one if none is given.
        folder: Option<PathBuf>,
    },
    /// Files with a function.
    Functions(Functions),
    /// Lines of assembler.
    Instructions(Instructions),
}

/// Instructions of this machine, and what is done before the first of them.
#[derive(Clone, Debug)]
pub struct Instructions {
    /// A line of assembler each, in the syntax of the makers of the CPU.
    pub lines: Vec<String>,
    /// What is executed before each, so that operands are what they have to be.
    pub init: String,
}

/// Workers, functions or instructions, and how they are weighed: what `tenbin weigh` was given.
#[derive(Clone, Debug)]
pub struct Question {
    /// What is weighed.
    pub sides: Sides,
    /// Names for the sides, in their order: none, or one for each.
    pub names: Vec<String>,
    /// So many sides after each other are weighed one against another; all of them if none are given.
    pub together: Option<usize>,
    /// The time for all of it.
    pub within: Option<Picoseconds>,
    /// The ratio of two sides lies within 1 ± this where they are called the same.
    pub margin: Option<f64>,
    /// The probability of any false "different".
    pub level: Option<f64>,
    /// Epochs of each side, at least.
    pub least_runs: Option<u64>,
    /// Epochs of each side, at most.
    pub most_runs: Option<u64>,
    /// The CPUs that all of them run on, one for each thread; the last that this process may use if none
    /// are given.
    pub cpus: Vec<Cpu>,
    /// What is claimed of them. Then claims are judged, and else every pair.
    pub claims: Option<Claims>,
}

/// Time in which a question is decided where nobody says otherwise.
const USUAL: Picoseconds = Picoseconds::from_millis(30_000);

/// An answer of a worker may take this long, or as long as the question has where that is said.
const PATIENCE: Picoseconds = Picoseconds::from_millis(60_000);

/// The length of an epoch: long beside what a start leaves cold in a function.
const EPOCH: Picoseconds = Picoseconds::from_millis(2);

/// The length of an epoch of what is not a function of ours: it may be slow to answer, or to begin.
const EPOCH_OF_WORKER: Picoseconds = Picoseconds::from_millis(10);

/// The length of an epoch of instructions, which do the same all the time.
const EPOCH_OF_INSTRUCTIONS: Picoseconds = Picoseconds::from_micros(500);

/// What is asked of each side.
const ALIKE: &str = "each passes its own check, gives the same evidence as the first one for the same \
                     operations, and takes longer for more of them";

/// Blocks of instructions, at least: cycles are wanted to a hundredth, and are soon known to a tenth.
const LEAST_BLOCKS_OF_INSTRUCTIONS: u32 = 64;

impl Instructions {
    /// What claims call everything that is weighed, where they call the lines so: the cycle, and each line
    /// in a chain and apart.
    ///
    /// # Errors
    /// That a line has the name of the cycle, in words.
    pub fn names(lines: &[String]) -> Result<Vec<String>, String> {
        if lines.iter().any(|name| name == cycles::CYCLE) {
            return Err(format!(
                "no instruction can be called `{}`, which is what they are counted in",
                cycles::CYCLE
            ));
        }
        let own = lines.iter().flat_map(|name| [name.clone(), format!("{name}.apart")]);
        Ok(std::iter::once(cycles::CYCLE.to_owned()).chain(own).collect())
    }

    /// That no line is in AT&T's syntax: in Intel's some such lines mean something else, the target first.
    fn check_syntax(&self) -> Result<(), Unfit> {
        let begins = |line: &str, mark: char, what: fn(char) -> bool| {
            line.split(mark).skip(1).any(|rest| rest.starts_with(what))
        };
        let is_foreign = |line: &&String| {
            begins(line, '%', |letter| letter.is_ascii_alphabetic())
                || begins(line, '$', |letter| letter.is_ascii_digit() || letter == '-')
        };
        let mut lines = self.lines.iter().chain([&self.init]);
        match lines.find(is_foreign).filter(|_| Architecture::HERE == Architecture::X86_64) {
            Some(line) => Err(Unfit::Usage(format!(
                "`{line}`: this is AT&T's syntax, and lines are read in Intel's: `mov rbx, rax`, the target first, no % and no $"
            ))),
            None => Ok(()),
        }
    }

    /// All of them compiled, and what each side is called: first the addition that takes a cycle, then each
    /// in a chain and apart.
    fn linked(&self, cpu: Cpu, within: Duration) -> Result<(Linked, Vec<String>), Unfit> {
        self.check_syntax()?;
        let here = Architecture::HERE;
        let mut linked = Linked::new(Layouts::Kept, &[cpu], within)?;
        let mut sides = Vec::new();
        let first = [(instructions::addition(here), "", Order::InChain)];
        let own = self.lines.iter().flat_map(|line| {
            [Order::InChain, Order::Apart].map(|order| (line.as_str(), self.init.as_str(), order))
        });
        let name = |number: usize, line: &str| {
            let is_same = |other: &&String| other.as_str() == line;
            match self.lines.iter().filter(is_same).count() {
                // The reference comes before them, and each is there twice.
                2.. if number > 0 => {
                    let before = self.lines[..(number - 1) / 2].iter().filter(is_same).count();
                    format!("{line} ({})", before + 1)
                }
                _ => line.to_owned(),
            }
        };
        for (number, (line, init, order)) in first.into_iter().chain(own).enumerate() {
            let text = instructions::assembler(here, line, init, order);
            let file = linked.write(&format!("instruction-{number}.s"), &text)?;
            linked.add(&[file], &[], None).map_err(|unfit| match unfit {
                Unfit::Usage(wrong) => Unfit::Usage(format!("`{line}`: {wrong}")),
                other => other,
            })?;
            let order = match (number, order) {
                (0, _) => "",
                (_, Order::InChain) => cycles::IN_CHAIN,
                (_, Order::Apart) if instructions::is_alone(here, line) => cycles::ALONE,
                (_, Order::Apart) => cycles::APART,
            };
            sides.push(match number {
                0 => cycles::REFERENCE.to_owned(),
                _ => name(number, line) + order,
            });
        }
        Ok((linked, sides))
    }
}

impl Question {
    /// Compiles what is to be compiled, starts each worker once, and asks what it can do.
    ///
    /// # Errors
    /// A usage error that names what is wrong with the request; a refusal where a worker does not answer as
    /// one; what is missing where there is no compiler.
    pub fn read(&self) -> Result<Weighing, Unfit> {
        let cpus = self.used()?;
        let cpu = cpus[0];
        let within = Duration::from_nanos(self.within.unwrap_or(PATIENCE).0 / 1_000);
        let (source, sides, analysis): (Box<dyn Source>, Vec<String>, _) = match &self.sides {
            &Sides::Workers { ref lines, kept, ref folder } => {
                let words = lines.iter().map(|line| weigh::words(line));
                let words = words.collect::<Result<Vec<Vec<String>>, _>>()?;
                let program = |words: &Vec<String>| weigh::seen_program(&words[0], folder.as_deref());
                let programs = words.iter().map(program).collect::<Result<_, _>>()?;
                let analysis = if kept { WORKERS_KEPT } else { WORKERS };
                let folder = folder.clone();
                (Box::new(Commands { words, programs, folder, cpu, within, kept }), lines.clone(), analysis)
            }
            Sides::Functions(functions) => {
                let in_place = functions.layout.is_some() || functions.is_finished();
                let analysis = if in_place { FUNCTIONS_IN_PLACE } else { FUNCTIONS };
                (Box::new(Linked::of(functions, &cpus, within)?), functions.names(), analysis)
            }
            Sides::Instructions(instructions) => {
                let (linked, sides) = instructions.linked(cpu, within)?;
                (Box::new(linked), sides, INSTRUCTIONS)
            }
        };
        let analysis = match (&self.claims, &self.sides) {
            (None, _) => analysis,
            (Some(_), Sides::Instructions(_)) => CLAIMS_OF_INSTRUCTIONS,
            (Some(_), _) => CLAIMS_OF_FUNCTIONS,
        };
        if self.names.len() > sides.len() {
            return Err(Unfit::Usage(format!(
                "--command-name is given {} times; there are {} to be named",
                self.names.len(),
                sides.len()
            )));
        }
        let together = self.together.unwrap_or(sides.len());
        let mut members = Members::new(source, sides.len(), together, cpu);
        members.counted = matches!(self.sides, Sides::Instructions(_));
        let variants = self.variants(&mut members, &sides)?;
        let measured = variants.iter().filter(|variant| variant.role == Role::Measured).count();
        if measured < 2 && self.claims.is_none() {
            return Err(Unfit::Usage("one alone cannot be weighed: give two".into()));
        }
        let descriptor = self.described(variants, analysis);
        let arrangement = self.arranged(measured, &descriptor, cpus);
        let allowance = Allowance { time: self.within.unwrap_or(USUAL), firm: self.within.is_some() };
        let members = Rc::new(RefCell::new(members));
        let open = move |request: &Request<'_>| -> Opened {
            let is_emulated = matches!(request.machine.virtualisation, Virtualisation::Emulated(_));
            members.borrow_mut().timed = !is_emulated;
            Ok(Box::new(Shared(Rc::clone(&members))))
        };
        let (open, close) = (Rc::new(open), Rc::new(Vec::new));
        Ok(Weighing { descriptor, arrangement, allowance, analysis, open, close, profile: None })
    }

    /// That what is asked can be asked, whatever the files hold that are named.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn check_options(&self) -> Result<(), Unfit> {
        self.used()?;
        if let (Some(least), Some(most)) = (self.least_runs, self.most_runs)
            && least > most
        {
            return Err(Unfit::Usage(format!("--min-runs {least} is more than --max-runs {most}")));
        }
        match &self.sides {
            Sides::Functions(functions) => functions.check_options(),
            _ => Ok(()),
        }
    }

    /// In how many threads operations are done at once.
    fn threads(&self) -> usize {
        match &self.sides {
            Sides::Functions(Functions { threads: Some(threads), .. }) => usize::from(threads.get()),
            _ => 1,
        }
    }

    /// The CPUs that all of them run on, one for each thread.
    fn used(&self) -> Result<Vec<Cpu>, Unfit> {
        let threads = self.threads();
        if !self.cpus.is_empty() && self.cpus.len() != threads {
            return Err(Unfit::Usage(match threads {
                1 => "--cpus: functions and workers run on one CPU: name one (functions in --threads: one for each)".into(),
                _ => format!("--cpus: {threads} threads run at once: name {threads} CPUs"),
            }));
        }
        let known = if self.cpus.is_empty() { allowed_cpus()? } else { self.cpus.clone() };
        match known.len().checked_sub(threads) {
            Some(left) => Ok(known[left..].to_vec()),
            None => Err(Unfit::Refused(Refusal {
                reached: format!(
                    "{threads} threads are to run at once, and this process may use {}",
                    counted(known.len(), "CPU")
                ),
                needs: "a CPU for each thread".into(),
                remedy: "ask for fewer --threads".into(),
            })),
        }
    }

    /// Asks each worker what it can do, and gives its variants in that order, the planted faults last.
    fn variants(&self, members: &mut Members, sides: &[String]) -> Result<Vec<Variant>, Unfit> {
        let is_function = !matches!(self.sides, Sides::Workers { .. });
        let (mut measured, mut planted) = (Vec::new(), Vec::new());
        // What workers with several variants call them: the same is held against the same.
        let mut rows: Option<Vec<String>> = None;
        for (place, side) in sides.iter().enumerate() {
            let refused = |failure| not_a_worker(side, failure);
            let names = members.worker(place).and_then(Worker::variants).map_err(refused)?;
            let mut own: Vec<String> = names.iter().filter(|name| !name.starts_with('!')).cloned().collect();
            let count = own.len();
            own.sort_unstable();
            let known = rows.get_or_insert_with(|| own.clone());
            if self.claims.is_some() && (known.len() > 1 || own.len() > 1) && *known != own {
                return Err(Unfit::Usage(format!(
                    "`{side}` has the variants {}, and the first worker {}: claims are about those of the same name",
                    comma(own),
                    comma(known)
                )));
            }
            let label = self.names.get(place).map_or(side.as_str(), String::as_str);
            let label = match sides.iter().filter(|other| *other == side).count() {
                2.. if self.names.get(place).is_none() => {
                    let before = sides[..place].iter().filter(|other| *other == side).count();
                    format!("{label} ({})", before + 1)
                }
                _ => label.to_owned(),
            };
            for (number, name) in names.iter().enumerate() {
                let part = Part { place, number };
                let of_side = |name: &str| Variant::measured(name, side).at(&[(COLUMN, place as u64)]);
                match name.strip_prefix('!') {
                    None if count == 1 => measured.push((part, of_side(&label))),
                    None => {
                        let row = own.iter().position(|known| known == name).unwrap_or(number) as u64;
                        let variant = of_side(&format!("{label}: {name}"));
                        measured.push((part, variant.at(&[(COLUMN, place as u64), (ROW, row)])));
                    }
                    // One planted fault shows that a check can fail.
                    Some(name) if !is_function || place == 0 => {
                        planted
                            .push((part, Variant::sabotage(&format!("{label}: {name}"), "wrong on purpose")));
                    }
                    Some(_) => {}
                }
            }
        }
        if let (true, Some(&(fault, _)), Some(&(part, _))) = (is_function, planted.first(), measured.first())
        {
            // Where evidence says nothing, doing less cannot be seen. Who does not do the work at all is
            // named by its check.
            let samples = members.sample(part).and_then(|honest| Ok((honest, members.sample(fault)?)));
            match samples {
                Ok((honest, faulty)) if honest == faulty && planted[0].1.name.ends_with("short") => {
                    planted.clear();
                }
                Err(Failure::Machine(fault)) => return Err(fault.into()),
                _ => {}
            }
        }
        let all = measured.into_iter().chain(planted);
        let (parts, variants): (Vec<Part>, Vec<Variant>) = all.unzip();
        members.parts = parts;
        Ok(variants)
    }

    fn described(&self, variants: Vec<Variant>, analysis: &dyn Analysis) -> Descriptor {
        Descriptor {
            name: weigh::NAME.into(),
            question: "Which of these costs less?".into(),
            requirement: "whoever changes a function wants to know whether it became cheaper".into(),
            specification: match (&self.sides, self.threads()) {
                (Sides::Instructions(_), _) => {
                    "each runs without a trap, and takes longer for more of them".into()
                }
                (_, 1) => ALIKE.into(),
                (_, threads) => format!("in {threads} threads at once, {ALIKE}"),
            },
            // Claims are of time, as those of commands are.
            quantity: match self.claims {
                Some(_) => Quantity::WallTime,
                None => Quantity::NanosecondsPerOperation,
            },
            parameters: self.claims.iter().flat_map(Claims::parameters).collect(),
            level: self.level.unwrap_or(0.01),
            analysis: analysis.name().into(),
            variants,
            margin: self.margin.unwrap_or(0.01),
            epoch: self.epoch(),
            sources: Reference::list(&[(
                "Mytkowicz et al., \"Producing Wrong Data Without Doing Anything Obviously Wrong!\", 2009",
                "link order and the size of the environment change what programs cost",
            )]),
            ..Descriptor::default()
        }
    }

    fn epoch(&self) -> Picoseconds {
        match &self.sides {
            Sides::Functions(Functions { adopted: None, .. }) => EPOCH,
            Sides::Instructions(_) => EPOCH_OF_INSTRUCTIONS,
            Sides::Workers { .. } | Sides::Functions(_) => EPOCH_OF_WORKER,
        }
    }

    fn arranged(&self, measured: usize, descriptor: &Descriptor, cpus: Vec<Cpu>) -> Arrangement {
        let place = VariantIndex::from;
        let is_instructions = matches!(self.sides, Sides::Instructions(_));
        let together = self.together.unwrap_or(measured).max(1);
        let pairs = if is_instructions { cycles::pairs(measured) } else { weigh::pairs(together, false) };
        let first = (0..measured).step_by(together);
        let pairs = match self.claims {
            Some(_) => comparisons(descriptor),
            None => first
                .flat_map(|first| {
                    pairs.iter().map(move |(left, right)| (place(first + left), place(first + right)))
                })
                .collect(),
        };
        let blocks = |runs: u64| u32::try_from(runs.div_ceil(2)).unwrap_or(u32::MAX - 1);
        Arrangement {
            cpus,
            epoch: self.epoch(),
            most_blocks: self.most_runs.map_or(Arrangement::UNBOUNDED_BLOCKS, blocks),
            half_block: self.most_runs.is_some_and(|runs| runs % 2 == 1),
            least_blocks: match self.least_runs {
                Some(runs) => blocks(runs),
                None if is_instructions => LEAST_BLOCKS_OF_INSTRUCTIONS,
                None => 0,
            },
            work: if is_instructions { instructions::COPIES as u64 } else { 1 },
            variants: VariantIndex::range(0..measured),
            comparisons: Comparison::of(pairs),
            headline: true,
            ..Arrangement::default()
        }
    }
}

/// Why something cannot be weighed that does not answer as a worker does.
fn not_a_worker(side: &str, failure: Failure) -> Unfit {
    match failure {
        Failure::Machine(fault) => fault.into(),
        Failure::Wrong(wrong) => Unfit::Refused(Refusal {
            reached: format!("`{side}`: {wrong}"),
            needs: "a worker that answers each line with a line".into(),
            remedy: "see `tenbin include --protocol`".into(),
        }),
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn lines_in_the_syntax_of_att_are_refused() {
        let of = |line: &str, init: &str| {
            Instructions { lines: vec![line.into()], init: init.into() }.check_syntax().is_err()
        };
        // The first is read without an error, and would copy the other way round.
        assert!(of("movq %rax, %rbx", "") && of("addq $1, rax", "") && of("nop", "movl $-1, %eax"));
        assert!(!of("mov rbx, rax", "") && !of("add rax, 1", "lea rbx, [rsp]"));
    }
}
