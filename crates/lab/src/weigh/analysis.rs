//! How runs of commands become answers: each comparison by each quantity, a table, and where a parameter
//! turns one answer into another.

use tenbin_analysis::report::{checked, with_caveat};
use tenbin_analysis::verdict::{self, comparisons};
use tenbin_analysis::{Analysis, Judged};
use tenbin_document::words::counted;
use tenbin_document::{Document, Table};
use tenbin_model::unit::three_digits;
use tenbin_model::words::{and, comma};
use tenbin_model::{
    Answer, Arrangement, Axis, Bytes, Cell, Comparison, Descriptor, Machine, Parameter, Picoseconds,
    Quantity, Refusal, Sample, Trial, VariantIndex, Verdict,
};
use tenbin_stats::order::Ordered;
use tenbin_stats::sign;

/// The name that descriptions give.
pub(super) const NAME: &str = "commands";

/// Which of the commands that were typed a variant was made of.
pub(super) const COLUMN: Axis = Axis::new("command");

/// Which combination of values it was made with.
pub(super) const ROW: Axis = Axis::new("values");

/// Commands, weighed.
pub const COMMANDS: &dyn Analysis = &Commands;

#[derive(Debug)]
struct Commands;

impl Analysis for Commands {
    fn name(&self) -> &'static str {
        NAME
    }

    fn scope(&self) -> &'static str {
        "Each run of a command is a process of its own, so intervals cover what varies from run to run while they \
         were taken; another input, another build or another day is not in them."
    }

    fn decided(
        &self,
        descriptor: &Descriptor,
        family: usize,
        arrangement: &Arrangement,
        samples: &[Sample],
    ) -> bool {
        quantities(descriptor).all(|descriptor| {
            let time = verdict::of_command(descriptor.quantity);
            verdict::decided(time, &descriptor, family, arrangement, samples)
        })
    }

    fn depends(&self, descriptor: &Descriptor, family: usize, cell: &Cell) -> bool {
        quantities(descriptor).any(|descriptor| {
            let time = verdict::of_command(descriptor.quantity);
            cell.arrangement.comparisons.iter().any(|comparison| {
                let evidence = verdict::evidence(time, &descriptor, family, cell, comparison);
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
        let time = verdict::of_command(quantity);
        let of_quantity = Trial { descriptor, cells: Vec::new(), findings: Vec::new(), refusal: None };
        let mut answers = comparisons::of_cell_among(trial.family(), time, machine, &of_quantity, cell);
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
fn uncounted(descriptor: &Descriptor, cell: &Cell, comparison: &Comparison) -> Option<Refusal> {
    let noun = descriptor.quantity.of_command()?;
    let ratios = verdict::paired(verdict::of_command(descriptor.quantity), &cell.samples, comparison);
    let blocks = ratios.skipped + ratios.values.len();
    // A last block that is half one has one run of each.
    let halves = usize::from(cell.arrangement.half_block);
    (ratios.skipped > halves).then(|| Refusal {
        reached: format!("the {noun} of a run was 0 in {} of {}", ratios.skipped, counted(blocks, "block")),
        needs: format!("{noun} that the kernel counts in every run"),
        remedy: "weigh commands that run longer, or another --metric".into(),
    })
}

/// The commands that none is known to need less than, by their names, and whether that is known of all
/// others: each of those needs more than one of these. None where nothing was compared.
pub fn fastest(trial: &Trial, answers: &[Answer]) -> Option<(Vec<String>, bool)> {
    let cell = trial.cells.first()?;
    let names: Vec<&str> =
        cell.arrangement.variants.iter().map(|&variant| trial.descriptor[variant].name.as_str()).collect();
    let first: Vec<&Answer> = answers.iter().filter(|answer| answer.cell == cell.arrangement.label).collect();
    let pairs = names.len() * (names.len() - 1) / 2;
    if first.len() != pairs {
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

fn view(trial: &Trial, answers: &[Answer]) -> Document {
    let mut document = Document::new();
    for cell in &trial.cells {
        if let Some((names, known)) = fastest(trial, answers).filter(|_| cell.arrangement.variants.len() > 2)
        {
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
                let template = |column: u64| format!("command {}", column + 1);
                let (first, second) = if *one { (left, right) } else { (right, left) };
                sentences.push(format!(
                    "They cross between {} and {}: {} needs less up to the one, {} from the other on.",
                    value(*before),
                    value(*after),
                    template(first),
                    template(second)
                ));
            }
        }
    }
    sentences
}

/// What each command needed.
fn table(descriptor: &Descriptor, cell: &Cell) -> Option<Table> {
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
        time(median(Quantity::SystemTime)),
        Bytes(median(Quantity::PeakMemory) as u64).to_string(),
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
