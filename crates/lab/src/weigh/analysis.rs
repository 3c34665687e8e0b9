//! How runs of commands become answers: each comparison by each quantity.

mod view;

use tenbin_analysis::verdict::{self, comparisons};
use tenbin_analysis::{Analysis, Judged};
use tenbin_document::words::counted;
use tenbin_model::unit::three_digits;
use tenbin_model::{
    Answer, Axis, Bytes, Cell, Comparison, Descriptor, Machine, Order, Purpose, Quantity, Reading, Refusal,
    Trial, VariantIndex, Verdict,
};
use tenbin_stats::order::Ordered;

use super::above;
pub(super) use view::table;
use view::view;

/// The name that descriptions give.
pub(super) const NAME: &str = "commands";

/// Which of the commands that were typed a variant was made of.
pub(crate) const COLUMN: Axis = Axis::new("command");

/// Which combination of values it was made with.
pub(crate) const ROW: Axis = Axis::new("values");

/// The parameter that holds a command as it was typed, before values came into it.
pub(super) fn typed(column: u64) -> String {
    format!("command {}", column + 1)
}

/// The gauge that holds the least peak memory, in bytes, that could be seen.
pub(super) const LEAST_PEAK: &str = "least peak memory that can be seen";

/// What intervals of commands do not cover.
pub(super) const SCOPE: &str = "Each run of a command is a process of its own, so intervals cover what \
     varied from run to run while they were taken; another input, another build or another day is not in \
     them.";

/// Commands, weighed.
pub const COMMANDS: &dyn Analysis = &Commands;

struct Commands;

impl Analysis for Commands {
    fn name(&self) -> &'static str {
        NAME
    }

    fn scope(&self) -> &'static str {
        SCOPE
    }

    fn calibrated_by(&self) -> Purpose {
        Purpose::Command
    }

    fn decided(&self, descriptor: &Descriptor, family: usize, cell: &Cell) -> bool {
        let Cell { arrangement, samples, .. } = cell;
        // Between two looks nothing is decided, so nothing needs to be subtracted there.
        verdict::is_look(descriptor, family, samples)
            && quantities(descriptor).all(|descriptor| {
                let (time, samples) = above::samples(&descriptor, arrangement, samples);
                verdict::decided(time, &descriptor, family, arrangement, &samples)
            })
    }

    fn depends(&self, descriptor: &Descriptor, family: usize, cell: &Cell) -> bool {
        quantities(descriptor).any(|descriptor| {
            let (time, cell) = above::cell(&descriptor, cell);
            cell.arrangement.comparisons.iter().any(|comparison| {
                let evidence = verdict::evidence(time, &descriptor, family, &cell, comparison);
                evidence.is_some_and(|evidence| verdict::contradiction(&evidence).is_some())
            })
        })
    }

    fn judge(&self, machine: &Machine, trial: &Trial) -> Judged {
        let answers: Vec<Answer> =
            trial.cells.iter().flat_map(|cell| answers(machine, trial, cell)).collect();
        let view = view(machine, trial, &answers);
        Judged { answers, findings: Vec::new(), view }
    }
}

/// The description once for each quantity that is judged.
fn quantities(descriptor: &Descriptor) -> impl Iterator<Item = Descriptor> {
    descriptor.quantities().map(|quantity| Descriptor { quantity, ..descriptor.clone() })
}

fn answers(machine: &Machine, trial: &Trial, cell: &Cell) -> Vec<Answer> {
    let mut all = Vec::new();
    for (number, descriptor) in quantities(&trial.descriptor).enumerate() {
        let quantity = descriptor.quantity;
        let (time, above) = above::cell(&descriptor, cell);
        let of_quantity = Trial { descriptor, cells: Vec::new(), findings: Vec::new(), refusal: None };
        let mut answers = comparisons::of_cell_among(trial.family(), time, machine, &of_quantity, &above);
        for (answer, comparison) in answers.iter_mut().zip(&cell.arrangement.comparisons) {
            if number > 0 {
                answer.headline = false;
                answer.cell = quantity.of_command().unwrap_or_default().into();
            }
            if let Some(refusal) = uncounted(&of_quantity.descriptor, cell, comparison) {
                answer.verdict = Verdict::Refused;
                answer.evidence = None;
                answer.caveat = None;
                answer.sentence = verdict::refused_in_words(&refusal);
                answer.refusal = Some(refusal);
            }
            if answer.evidence.is_some() {
                above::qualify(&cell.arrangement, answer);
            }
        }
        // What keeps the cell from being judged is said once.
        let refused_as_a_whole = cell.refusal.is_some();
        all.extend(answers);
        if refused_as_a_whole {
            break;
        }
    }
    all
}

/// The refusal where blocks of a comparison have no ratio: some of what was to be weighed was 0.
///
/// Leaving them out would favour whoever has more of them.
pub(super) fn uncounted(descriptor: &Descriptor, cell: &Cell, comparison: &Comparison) -> Option<Refusal> {
    let noun = descriptor.quantity.of_command()?;
    if descriptor.quantity == Quantity::PeakMemory
        && let Some(refusal) = unseen(descriptor, cell, [comparison.left, comparison.right])
    {
        return Some(refusal);
    }
    let (read, cell) = above::cell(descriptor, cell);
    if let Some(refusal) = above::nothing_left(descriptor, &cell, comparison) {
        return Some(refusal);
    }
    let ratios = verdict::paired(read, &cell.samples, comparison);
    let blocks = ratios.skipped + ratios.values.len();
    // A last block that is half one has one run of each.
    let halves = usize::from(cell.arrangement.half_block);
    (ratios.skipped > halves).then(|| Refusal {
        reached: format!("the {noun} of a run was 0 in {} of {}", ratios.skipped, counted(blocks, "block")),
        needs: format!("{noun} that the kernel counts in every run"),
        remedy: "weigh commands that run longer, or another --metric".into(),
    })
}

/// The refusal where the peak memory of one of these was too small to be seen, in more runs than one in
/// twenty, which changes no median.
pub(super) fn unseen(
    descriptor: &Descriptor,
    cell: &Cell,
    variants: impl IntoIterator<Item = VariantIndex>,
) -> Option<Refusal> {
    let least = least_peak(cell);
    let is_hidden = |variant: &VariantIndex| {
        let peaks = || cell.samples.iter().filter(|sample| sample.variant == *variant);
        let below = peaks().filter(|sample| sample.peak_memory.is_some_and(|peak| peak <= least));
        below.count() * 20 > peaks().count()
    };
    variants.into_iter().find(is_hidden).map(|variant| Refusal {
        reached: format!(
            "`{}` needs {} at most, and that is the least that can be seen",
            descriptor[variant].name,
            Bytes(least)
        ),
        needs: "commands that need more than the process that starts them".into(),
        remedy: "weigh them on more input".into(),
    })
}

/// The least peak memory that could be seen: what the process that starts commands has itself.
pub(super) fn least_peak(cell: &Cell) -> u64 {
    let readings = cell.gauges.iter().filter(|gauge| gauge.name == LEAST_PEAK).map(|gauge| gauge.reading);
    let counts = readings.filter_map(|reading| match reading {
        Reading::Count(count) => Some(count as u64),
        Reading::Time(_) => None,
    });
    counts.max().unwrap_or(0)
}

/// Whether the second command of a comparison needs more than the first, by more than the margin somewhere in
/// its interval. No: it does not need more than the margin anywhere in it. None where that is open.
pub fn is_worse(answer: &Answer) -> Option<bool> {
    let evidence = answer.evidence.as_ref()?;
    let open = verdict::contradiction(evidence).is_some();
    match answer.verdict {
        Verdict::Different if evidence.ratio > 1.0 => Some(true),
        _ if !open && evidence.interval.high <= 1.0 + evidence.margin => Some(false),
        _ => None,
    }
}

/// What is known of a cell that is still measured, for whoever waits: which command has needed least, and
/// where the ratio of the first two lies so far. Nobody stops because of it.
pub fn so_far(descriptor: &Descriptor, cell: &Cell) -> Option<String> {
    let (read, samples) = above::samples(descriptor, &cell.arrangement, &cell.samples);
    let pair = cell.arrangement.comparisons.first()?;
    let median = |variant: VariantIndex| {
        let values = samples.iter().filter(|sample| sample.variant == variant).map(read);
        Ordered::new(values.collect()).map(|values| values.median())
    };
    let mut known: Vec<(f64, VariantIndex)> =
        cell.arrangement.variants.iter().filter_map(|&variant| Some((median(variant)?, variant))).collect();
    known.order_by(|one, other| one.0.total_cmp(&other.0));
    let (&(least, first), &(next, second)) = (known.first()?, known.get(1)?);
    let ratios = verdict::paired(read, &samples, pair);
    let place = |variant: VariantIndex| variant.place() + 1;
    Some(format!(
        "{} blocks; so far command {} leads command {} by {} %",
        ratios.values.len(),
        place(first),
        place(second),
        three_digits((next / least - 1.0) * 100.0),
    ))
}
