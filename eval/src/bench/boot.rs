//! How soon a verdict about a handshake is there: `tenbin boot check` beside SPIN on the same handshake and
//! as many harts.
//!
//! Both are asked the same (`crate::spin`), and both must say the same. tenbin is given the machine code;
//! SPIN is given the transcription, from which it makes a C program that has to be compiled. Where that
//! program ends at once, compiling it without optimisation is quicker in all, so SPIN is asked in both ways,
//! and its searches also stand alone. Every round asks for everything once, in a random order; a ratio is one
//! of a single round.
//!
//! The same question is not quite the same work. SPIN stops at the first fair cycle, and looks at all states
//! for the other faults only; tenbin looks for the shortest run of every kind. SPIN's states are those of a
//! program of a few statements, and tenbin's are those of the machine code.

mod table;

use std::path::Path;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use self::table::{Cell, Table};
use super::{Stand, c2c};
use crate::firmware::emulator;
use crate::spin::{self, Case, HANDSHAKES, HARTS, Verifier};
use xtask::architecture::Target;
use xtask::failure::Failure;
use xtask::requirement;

/// The seed of the orders: the same every time, as the rounds themselves are not.
const SEED: u64 = 0x626f_6f74;

/// What the benchmark may be told beside its rounds, which it shares with others.
#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Arguments {
    /// For boot: how many harts.
    #[arg(long, value_delimiter = ',', default_values_t = HARTS,
          value_parser = clap::value_parser!(u64).range(2..=8))]
    harts: Vec<u64>,
    /// For boot: the hart that boots, 0 or 1.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1))]
    boot_hart: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Tenbin,
    /// SPIN, and how its program is compiled.
    Spin(&'static str),
}

const PROGRAMS: [Program; 3] = [Program::Tenbin, Program::Spin("-O0"), Program::Spin("-O2")];

/// Ask in rounds, and print the table.
pub(super) fn run(stand: &Stand<'_>, rounds: &c2c::Arguments, arguments: &Arguments) -> Result<(), Failure> {
    requirement::insist(&requirement::spin())?;
    let files = emulator::build(stand.workspace)?;
    let folder = stand.workspace.scratch("bench-boot")?;
    let mut table = Table::default();
    let mut questions = Vec::new();
    for handshake in HANDSHAKES {
        for &harts in &arguments.harts {
            let cell = table.add(Case::new(handshake, harts, arguments.boot_hart));
            questions.extend(PROGRAMS.map(|program| (cell, program)));
        }
    }
    let mut random = Pcg64::seed_from_u64(SEED);
    for round in 1..=rounds.rounds {
        questions.shuffle(&mut random);
        for &(cell, program) in &questions {
            let cell = &mut table.cells[cell];
            match program {
                Program::Tenbin => ask_tenbin(stand, &files, cell)?,
                Program::Spin(optimisation) => {
                    let (verifier, building) =
                        Verifier::build(stand.workspace, &folder, &cell.case, optimisation)?;
                    let verified = verifier.run()?;
                    cell.agree(verified.wrong, "SPIN")?;
                    cell.spin_states = verified.states;
                    let whole = (building + verified.time).as_secs_f64();
                    if optimisation == "-O0" {
                        cell.quickly_built.push(whole);
                    } else {
                        cell.well_built.push(whole);
                        cell.searches.push(verified.time.as_secs_f64());
                    }
                }
            }
        }
        println!("round {round} of {}", rounds.rounds);
    }
    println!("\n{}", table.markdown());
    Ok(())
}

/// tenbin, from its start to its end, and its answer.
fn ask_tenbin(stand: &Stand<'_>, files: &Path, cell: &mut Cell) -> Result<(), Failure> {
    let Case { handshake, harts, boot_hart } = &cell.case;
    let command = stand.host.command(stand.binary);
    let question = spin::question(command, files, &[handshake], &[*harts], &boot_hart.to_string());
    let output = question.capture_quietly()?;
    let answers = spin::judge(output.code, &output.text, &output.diagnostics)?;
    let answer = answers.get(&cell.case).map(|answer| (answer.wrong.clone(), answer.states));
    let (wrong, states) = answer.unwrap_or_else(|| (Err("nothing".into()), 0));
    let wrong = wrong.map_err(|why| {
        Failure::new(format!("ask tenbin about {}", cell.case), why, "run `tenbin boot check` by hand")
    })?;
    cell.agree(wrong, "tenbin")?;
    cell.tenbin_states = states;
    cell.tenbin.push(output.time.as_secs_f64());
    Ok(())
}
