//! Where the kernel spends the time of a fault, if this user may look.

use std::sync::{Arc, Mutex, PoisonError};

use tenbin_metal::sampling::{self, Sampled, Unsampled};
use tenbin_metal::symbols::image::{self, Code};
use tenbin_metal::symbols::{Symbols, instruction};
use tenbin_metal::{Fault, Task};
use tenbin_model::unit::three_digits;
use tenbin_model::words::{comma, counted};
use tenbin_model::{Finding, Picoseconds};

use super::touching::Touching;
use super::{Act, finding, span};
use crate::experiments::by_function;

/// Laps that are sampled at most, and the time after which there are enough.
const LAPS: u32 = 600;
const ENOUGH: Picoseconds = Picoseconds::from_millis(600);

/// Iterations of a lap. They take some milliseconds, and where a fault takes as many, as on the published
/// machine, they take seconds.
const ITERATIONS: usize = 4;

const NAMED: usize = 5;

/// Samples the workers while all of them touch fresh base pages at random.
pub(super) fn look(touching: &mut Touching) -> Result<Finding, Fault> {
    let workers = touching.team.size();
    // What all workers of all laps saw together, or why one of them could not.
    let gathered: Arc<Mutex<Result<Sampled, Unsampled>>> = Arc::new(Mutex::new(Ok(Sampled::default())));
    let mut spent = Picoseconds::default();
    for layout in 0..LAPS {
        touching.layout = layout;
        let window = touching.window((ITERATIONS * span()).min(touching.part));
        let order = touching.order(Act::AtRandom, window.pages);
        let (regions, all) = (Arc::clone(&touching.regions), Arc::clone(&gathered));
        let work: Task = Arc::new(move |worker, _| {
            let seen = sampling::around(|| regions[0].touch(window.of(worker).start, &order));
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            match (seen, &mut *all) {
                (Ok(((), sampled)), Ok(sum)) => sum.add(&sampled),
                (Ok(_), Err(_)) => {}
                (Err(why), all) => *all = Err(why),
            }
            0
        });
        spent += touching.team.lap(&work, 1)?.elapsed;
        for worker in 0..workers {
            touching.regions[0].discard(window.of(worker))?;
        }
        if spent > ENOUGH || gathered.lock().unwrap_or_else(PoisonError::into_inner).is_err() {
            break;
        }
    }
    let gathered = gathered.lock().unwrap_or_else(PoisonError::into_inner);
    let named = gathered.as_ref().map_err(Unsampled::to_string).and_then(|sampled| {
        let symbols = Symbols::of_the_kernel().map_err(|why| why.to_string())?;
        Ok(in_words(sampled, &symbols, workers, std::env::consts::ARCH, |address| {
            image::around(address, symbols.address("_text").or_else(|| symbols.address("_stext")))
        }))
    });
    Ok(named.unwrap_or_else(|why| {
        let sentence = "Where the kernel spends the time of a fault was not looked at.";
        finding(sentence.into(), why, "the kernel's word")
    }))
}

/// The samples in words. `code` reads the bytes around an address, or says why it cannot.
pub(super) fn in_words(
    sampled: &Sampled,
    symbols: &Symbols,
    workers: usize,
    architecture: &str,
    code: impl FnOnce(u64) -> Result<Code, String>,
) -> Finding {
    let all = sampled.in_kernel + sampled.elsewhere;
    let share = |count: u64| format!("{} %", three_digits(100.0 * count as f64 / all.max(1) as f64));
    let ranked = by_function(sampled, symbols);
    let Some(&(first, held)) = ranked.first() else {
        return finding(
            "Where the kernel spends the time of a fault was looked at, and no sample fell into it.".into(),
            format!("{all} samples by {}, {} lost", sampled.event, sampled.lost),
            "too few samples to tell",
        );
    };
    let within = sampled.kernel.iter().filter_map(|(&address, &count)| {
        let place = symbols.at(address).filter(|place| place.symbol == first)?;
        Some((address, place.offset, count))
    });
    let place =
        within.max_by_key(|&(_, _, count)| count).map_or_else(String::new, |(address, offset, count)| {
            let instruction = match code(address) {
                Ok(code) => instruction_in_words(architecture, &code),
                Err(why) => format!("which instruction that is cannot be read ({why})"),
            };
            format!("; {first}+{offset:#x} alone {}, {instruction}", share(count))
        });
    let named: Vec<String> =
        ranked.iter().take(NAMED).map(|(symbol, count)| format!("{symbol} {}", share(*count))).collect();
    finding(
        format!(
            "While {} touched fresh base pages at random, {} of the time was the kernel's, and `{first}` \
             held the largest share: {}; on the SG2038 it was `down_read_trylock` with 97.51 %.",
            counted(workers, "thread"),
            share(sampled.in_kernel),
            share(held)
        ),
        format!("{all} samples by {}, {} lost: {}{place}", sampled.event, sampled.lost, comma(&named)),
        match sampled.event {
            "cycles" => "sampled by cycles; a sample names the instruction that comes next",
            _ => {
                "sampled by the kernel's clock: code that keeps interrupts off is charged to the place that \
                 turns them on again, and a sample names the instruction that comes next"
            }
        },
    )
}

/// The bytes at the place and just before it, and their names if they have one.
fn instruction_in_words(architecture: &str, code: &Code) -> String {
    let hexadecimal =
        |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    let there = instruction::beginning(architecture, &code.from);
    let before = instruction::ending(architecture, &code.before);
    let name = match (there, before) {
        (Some(named), _) => format!("`{}`", named.name),
        (None, Some(named)) => format!("just after `{}`", named.name),
        (None, None) => "no atomic instruction and none that clears memory".into(),
    };
    let last = code.before.len().saturating_sub(4);
    format!(
        "{name} (bytes {} | {} from {})",
        hexadecimal(&code.before[last..]),
        hexadecimal(&code.from[..code.from.len().min(8)]),
        code.source
    )
}
