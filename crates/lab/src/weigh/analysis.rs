//! How runs of commands become answers: each comparison by each quantity, a table, and where a parameter
//! turns one answer into another.

use std::collections::BTreeMap;

use tenbin_analysis::report::{checked, with_caveat};
use tenbin_analysis::verdict::{self, comparisons};
use tenbin_analysis::{Analysis, Judged};
use tenbin_document::words::counted;
use tenbin_document::{Bars, Block, Document, Series, Table};
use tenbin_model::unit::three_digits;
use tenbin_model::words::{and, comma};
use tenbin_model::{
    Answer, Arrangement, Axis, Bytes, Cell, Comparison, Descriptor, Machine, Parameter, Picoseconds, Purpose,
    Quantity, Reading, Refusal, Sample, Trial, VariantIndex, Verdict,
};
use tenbin_stats::order::Ordered;
use tenbin_stats::sequential::Plan;
use tenbin_stats::sign;

use super::above;

/// The name that descriptions give.
pub(super) const NAME: &str = "commands";

/// Which of the commands that were typed a variant was made of.
pub(super) const COLUMN: Axis = Axis::new("command");

/// Which combination of values it was made with.
pub(super) const ROW: Axis = Axis::new("values");

/// The parameter that holds a command as it was typed, before values came into it.
pub(super) fn typed(column: u64) -> String {
    format!("command {}", column + 1)
}

/// The gauge that holds the least peak memory, in bytes, that could be seen.
pub(super) const LEAST_PEAK: &str = "least peak memory that can be seen";

/// What intervals of commands do not cover.
pub(super) const SCOPE: &str = "Each run of a command is a process of its own, so intervals cover what varies from run to run while they \
     were taken; another input, another build or another day is not in them.";

/// Commands, weighed.
pub const COMMANDS: &dyn Analysis = &Commands;

#[derive(Debug)]
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

    fn decided(
        &self,
        descriptor: &Descriptor,
        family: usize,
        arrangement: &Arrangement,
        samples: &[Sample],
    ) -> bool {
        let look = samples.last().is_some_and(|sample| {
            let plan = Plan::new(descriptor.level, family.max(1));
            plan.is_some_and(|plan| plan.is_look(sample.block as usize + 1).is_some())
        });
        look && quantities(descriptor).all(|descriptor| {
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
        let view = view(trial, &answers);
        Judged { answers, findings: Vec::new(), view }
    }
}

/// The description once for each quantity that is judged.
fn quantities(descriptor: &Descriptor) -> impl Iterator<Item = Descriptor> {
    let all = std::iter::once(descriptor.quantity).chain(descriptor.further.iter().copied());
    all.map(|quantity| Descriptor { quantity, ..descriptor.clone() })
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
    if descriptor.quantity == Quantity::PeakMemory {
        let least = least_peak(cell);
        let hidden = [comparison.left, comparison.right].into_iter().find(|&variant| {
            let peaks = || cell.samples.iter().filter(|sample| sample.variant == variant);
            let below = peaks().filter(|sample| sample.peak_memory.is_some_and(|peak| peak <= least));
            // One in twenty changes no median.
            below.count() * 20 > peaks().count()
        });
        return hidden.map(|variant| Refusal {
            reached: format!(
                "`{}` needs {} at most, and that is the least that can be seen",
                descriptor[variant].name,
                Bytes(least)
            ),
            needs: "commands that need more than the process that starts them".into(),
            remedy: "weigh them on more input".into(),
        });
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

/// The least peak memory that could be seen: what the process that starts commands has itself.
pub(super) fn least_peak(cell: &Cell) -> u64 {
    let readings = cell.gauges.iter().filter(|gauge| gauge.name == LEAST_PEAK).map(|gauge| gauge.reading);
    let counts = readings.filter_map(|reading| match reading {
        Reading::Count(count) => Some(count as u64),
        Reading::Time(_) => None,
    });
    counts.max().unwrap_or(0)
}

/// The commands that none is known to need less than, by their names, and whether that is known of all
/// others: each of those needs more than one of these. None where two were compared, or not each with each.
fn fastest(trial: &Trial, answers: &[Answer]) -> Option<(Vec<String>, bool)> {
    let cell = trial.cells.first()?;
    let below = above::below(&trial.descriptor, &cell.arrangement);
    let weighed = cell.arrangement.variants.iter().filter(|&&variant| Some(variant) != below);
    let names: Vec<&str> = weighed.map(|&variant| trial.descriptor[variant].name.as_str()).collect();
    let first: Vec<&Answer> = answers.iter().filter(|answer| answer.cell == cell.arrangement.label).collect();
    let pairs = names.len() * (names.len() - 1) / 2;
    if names.len() < 3 || first.len() != pairs {
        return None;
    }
    let beaten = |name: &str| {
        first.iter().filter(|answer| answer.verdict == Verdict::Different).any(|answer| {
            answer.evidence.as_ref().is_some_and(|evidence| {
                let loser = if evidence.ratio > 1.0 { &evidence.right } else { &evidence.left };
                loser == name
            })
        })
    };
    let left: Vec<String> = names.iter().filter(|name| !beaten(name)).map(|&name| name.into()).collect();
    let open = first.iter().any(|answer| {
        let names = answer.evidence.as_ref().map(|evidence| [&evidence.left, &evidence.right]);
        let among = names.is_none_or(|names| names.iter().all(|&name| left.contains(name)));
        answer.verdict == Verdict::Refused && among
    });
    (!left.is_empty()).then_some((left, !open))
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
    known.sort_by(|one, other| one.0.total_cmp(&other.0));
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

fn view(trial: &Trial, answers: &[Answer]) -> Document {
    let mut document = Document::new();
    for cell in &trial.cells {
        if let Some((names, known)) = fastest(trial, answers) {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let least = match trial.descriptor.quantity {
                Quantity::WallTime => "Fastest".to_owned(),
                other => format!("Least {}", other.of_command().unwrap_or_default()),
            };
            document.paragraph(
                0,
                match (names.as_slice(), known) {
                    ([only], _) => format!("{least}: {only}."),
                    (several, true) => format!("{least}: {}, which are the same.", and(several)),
                    (several, false) => {
                        format!("{least}: one of {}, which could not be told apart.", comma(several))
                    }
                },
            );
        }
        for answer in answers {
            document.paragraph(0, with_caveat(answer));
        }
        for crossing in crossings(trial, answers) {
            document.paragraph(0, crossing);
        }
        if let Some(curves) = curves(&trial.descriptor, cell) {
            document.space().push(Block::Bars(curves));
        }
        if let Some(table) = table(&trial.descriptor, cell) {
            document.space().table(table);
        }
        document.space();
        for parameter in trial.descriptor.parameters.iter().filter(|parameter| parameter.name == "start") {
            document.paragraph(
                2,
                format!("Commands: {}; blocks of all of them in random orders.", parameter.default),
            );
        }
        document.append(checked(trial, std::slice::from_ref(cell)));
    }
    document
}

/// Where a parameter turns the answer to one pair of commands into its opposite: between the last value at
/// which the one is known to need less and the first at which the other is.
fn crossings(trial: &Trial, answers: &[Answer]) -> Vec<String> {
    let descriptor = &trial.descriptor;
    let variants = &descriptor.variants;
    let columns = variants.iter().filter_map(|variant| variant.coordinate(COLUMN)).max().unwrap_or(0);
    let Some(cell) = trial.cells.first() else { return Vec::new() };
    let mut sentences = Vec::new();
    let at = |column: u64, row: u64| {
        variants.iter().find(|variant| {
            variant.coordinate(COLUMN) == Some(column) && variant.coordinate(ROW) == Some(row)
        })
    };
    let rows = variants.iter().filter_map(|variant| variant.coordinate(ROW)).max().unwrap_or(0);
    for left in 0..=columns {
        for right in left + 1..=columns {
            // What is known at each value: which of the two needs less.
            let known: Vec<(u64, Option<bool>)> = (0..=rows)
                .filter_map(|row| {
                    let (one, other) = (at(left, row)?, at(right, row)?);
                    let answer = answers.iter().find(|answer| {
                        answer.cell == cell.arrangement.label
                            && answer.evidence.as_ref().is_some_and(|evidence| {
                                evidence.left == one.name && evidence.right == other.name
                            })
                    })?;
                    let ratio = answer.evidence.as_ref()?.ratio;
                    Some((row, (answer.verdict == Verdict::Different).then_some(ratio > 1.0)))
                })
                .collect();
            let decided: Vec<(u64, bool)> =
                known.iter().filter_map(|&(row, known)| Some((row, known?))).collect();
            for pair in decided.windows(2) {
                let [(before, one), (after, other)] = pair else { continue };
                if one == other {
                    continue;
                }
                let value = |row: u64| {
                    let values = at(left, row).map(|variant| {
                        variant
                            .parameters
                            .iter()
                            .map(|(name, value)| format!("{name} = {value}"))
                            .collect::<Vec<_>>()
                    });
                    comma(values.unwrap_or_default())
                };
                let template = |column: u64| {
                    let name = typed(column);
                    let text = descriptor.parameters.iter().find(|parameter| parameter.name == name);
                    text.map_or(name, |parameter| format!("`{}`", parameter.default))
                };
                let (first, second) = if *one { (left, right) } else { (right, left) };
                let needs = match descriptor.quantity {
                    Quantity::WallTime => "is faster".to_owned(),
                    other => format!("needs less {}", other.of_command().unwrap_or_default()),
                };
                sentences.push(format!(
                    "They cross between {before} and {after}: {} {needs} up to {before}, {} from {after} on.",
                    template(first),
                    template(second),
                    before = value(*before),
                    after = value(*after),
                ));
            }
        }
    }
    sentences
}

/// Fewer values than these are no curve.
const LEAST_VALUES: usize = 3;

/// The median time of each command over the values of the one parameter that it has.
fn curves(descriptor: &Descriptor, cell: &Cell) -> Option<Bars> {
    use Quantity::{CpuTime, KernelTime, UserTime, WallTime};
    matches!(descriptor.quantity, WallTime | UserTime | KernelTime | CpuTime).then_some(())?;
    let read = verdict::of_command(descriptor.quantity);
    let own = |variant: &&VariantIndex| !descriptor[**variant].parameters.is_empty();
    let variants = || cell.arrangement.variants.iter().filter(own);
    let [(parameter, _)] = descriptor[*variants().next()?].parameters.as_slice() else { return None };
    let at = |variant: VariantIndex, axis: Axis| descriptor[variant].coordinate(axis).unwrap_or(0);
    let mut labels = Vec::new();
    let mut series: BTreeMap<u64, Series> = BTreeMap::new();
    for &variant in variants() {
        let row = at(variant, ROW) as usize;
        if row == labels.len() {
            labels.extend(descriptor[variant].parameters.iter().map(|(_, value)| value.clone()));
        }
        let column = at(variant, COLUMN);
        let name = descriptor.parameter(&typed(column)).unwrap_or_default();
        let series = series.entry(column).or_insert_with(|| Series { name: name.into(), times: Vec::new() });
        let times = cell.samples.iter().filter(|sample| sample.variant == variant).map(read).collect();
        series.times.resize(row, None);
        series.times.push(Ordered::new(times).map(|times| Picoseconds(times.median().round() as u64)));
    }
    let rows = parameter.clone();
    (labels.len() >= LEAST_VALUES && !cell.samples.is_empty()).then(|| Bars {
        rows,
        labels,
        series: series.into_values().collect(),
        ..Bars::default()
    })
}

/// What each command needed.
pub(super) fn table(descriptor: &Descriptor, cell: &Cell) -> Option<Table> {
    let unit = descriptor.parameter(Parameter::TIME_UNIT);
    let mut rows: Vec<(f64, Vec<String>)> = cell
        .arrangement
        .variants
        .iter()
        .filter_map(|&variant| row(descriptor, cell, variant, unit))
        .collect();
    if descriptor.parameter(Parameter::ORDER).is_some() {
        rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    }
    if rows.is_empty() {
        return None;
    }
    let header =
        ["command", "median", "within (99 %)", "least..most", "user", "system", "peak memory", "runs"];
    Some(Table::new(header, rows.into_iter().map(|(_, row)| row).collect()))
}

fn row(
    descriptor: &Descriptor,
    cell: &Cell,
    variant: VariantIndex,
    unit: Option<&str>,
) -> Option<(f64, Vec<String>)> {
    let samples = || cell.samples.iter().filter(|sample| sample.variant == variant);
    let of = |quantity: Quantity| {
        let read = verdict::of_command(quantity);
        Ordered::new(samples().map(read).collect())
    };
    let time = |picoseconds: f64| in_unit(picoseconds, unit);
    let wall = of(Quantity::WallTime)?;
    let estimate = sign::Estimate::of(&wall, tenbin_stats::LEVEL);
    let within = estimate.interval.map_or_else(
        || "–".into(),
        |quantile| format!("{} to {}", time(quantile.interval.low), time(quantile.interval.high)),
    );
    let values = wall.values();
    let (least, most) = (values[0], values[values.len() - 1]);
    let median = |quantity: Quantity| of(quantity).map_or(0.0, |values| values.median());
    let row = vec![
        descriptor[variant].name.clone(),
        time(estimate.median),
        within,
        format!("{}..{}", time(least), time(most)),
        time(median(Quantity::UserTime)),
        time(median(Quantity::KernelTime)),
        match median(Quantity::PeakMemory) as u64 {
            peak if peak <= least_peak(cell) => format!("≤ {}", Bytes(peak)),
            peak => Bytes(peak).to_string(),
        },
        values.len().to_string(),
    ];
    Some((estimate.median, row))
}

/// A time in the unit that was asked for, or in that which fits it.
fn in_unit(picoseconds: f64, unit: Option<&str>) -> String {
    let (scale, name) = match unit {
        Some("microsecond") => (1e6, "µs"),
        Some("millisecond") => (1e9, "ms"),
        Some("second") => (1e12, "s"),
        _ if picoseconds == 0.0 => return "0".into(),
        _ => return Picoseconds(picoseconds as u64).to_string(),
    };
    format!("{} {name}", three_digits(picoseconds / scale))
}
