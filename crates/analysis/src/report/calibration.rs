//! A calibration as text: what it answers, then the tables that it answers from.

use tenbin_document::{Document, Table};
use tenbin_model::calibration::{
    Between, Bias, LayoutRates, Proportion, Rates, Step, Unanswered, Unweighed, VerdictTime, WeighRates,
    WorkRates,
};
use tenbin_model::order::grouped;
use tenbin_model::words::{capitalised, comma, percent, semicolon};
use tenbin_model::{Calibration, Effort, Order, Picoseconds, Purpose};

use crate::calibration::{self, against, date, made_load, range};

/// What stands where there is nothing to say.
const NOTHING: &str = "–";

/// What pairs are weighed for that go all the way of `tenbin weigh`.
const OF_WEIGH: [Purpose; 2] = [Purpose::Command, Purpose::Function];

/// A calibration with its rates: sentences, tables, layout, bias, refusals,
/// circumstances.
pub fn calibration(calibration: &Calibration, rates: &Rates) -> Document {
    let ladder = calibration.series.iter().any(|series| !OF_WEIGH.contains(&series.purpose));
    let weighed = || OF_WEIGH.into_iter().filter_map(|purpose| Some((purpose, rates.of(purpose)?)));
    let of_ladder = |answer: Option<String>| answer.filter(|_| ladder || weighed().next().is_none());
    let of_works = [
        of_ladder(alarms(calibration, rates)),
        excluded(rates.excluded),
        of_ladder(signs(rates.wrong_signs)),
        covered(calibration, rates.covered),
        smallest(&rates.works),
    ];
    let own = weighed().map(|(purpose, rates)| own(purpose, rates));
    let answers: Vec<String> = of_works.into_iter().flatten().chain(own).chain(method(rates)).collect();
    let mut document = Document::new();
    document.paragraph(0, answers.join(" "));
    let of_weigh = weighed().flat_map(|(_, rates)| &rates.works);
    let all: Vec<&WorkRates> = rates.works.iter().chain(of_weigh).collect();
    for table in [works(rates, &all), effects(&all)].into_iter().flatten() {
        document.space().table(table);
    }
    document.space();
    for work in &all {
        let own = calibration.series.iter().find(|series| series.work == work.work);
        let margin = own.map_or_else(String::new, |series| {
            let margin = percent(series.margin);
            format!("; equivalent means within {margin}, so a smaller effect need not be found")
        });
        document.entry(&work.work, format!("{}{margin}", work.what));
    }
    if !all.is_empty() {
        document.space();
    }
    if let Some(line) = layout(&rates.layout) {
        document.entry("layout", line);
    }
    for (place, one) in rates.biases.iter().enumerate() {
        document.entry(if place == 0 { "bias" } else { "" }, bias(one));
    }
    if let Some(line) = between(&rates.between) {
        document.entry("apart", line);
    }
    document.entry("refused", refused(rates)).entry("how", circumstances(calibration));
    document
}

/// False alarms against the aim, and whether the pairs suffice to tell.
fn alarms(calibration: &Calibration, rates: &Rates) -> Option<String> {
    let Some(interval) = rates.alarms.interval else {
        return Some("No pair of equals was weighed: nothing is known of false alarms.".into());
    };
    let answer = match rates.alarms {
        Proportion { count: 0, of: 1, .. } => "The one pair of equals was not called different".to_owned(),
        Proportion { count: 1, of: 1, .. } => "The one pair of equals was called different".to_owned(),
        Proportion { count: 0, of, .. } => format!("None of {of} pairs of equals was called different"),
        Proportion { count: 1, of, .. } => format!("1 of {of} pairs of equals was called different"),
        Proportion { count, of, .. } => format!("{count} of {of} pairs of equals were called different"),
    };
    let aim = percent(calibration.level);
    let judged = if interval.low > calibration.level {
        format!(": more than the {aim} that the rule aims at, so \"different\" is said too easily here")
    } else if interval.high <= calibration.level {
        format!(": within the {aim} that the rule aims at")
    } else {
        let remedy = match calibration.provenance.effort {
            Effort::Thorough => "",
            Effort::Quick | Effort::Normal => " (--thorough weighs more)",
        };
        format!("; the rule aims at {aim}, which this many pairs neither show nor refute{remedy}")
    };
    Some(format!("{answer} ({}){judged}.", against(interval, calibration.level)))
}

/// What a verdict of equivalence excuses, counted all the same.
fn excluded(excluded: Proportion) -> Option<String> {
    let interval = excluded.interval?;
    let intervals = if excluded.count == 1 { "interval" } else { "intervals" };
    Some(format!("{} of their {intervals} excluded 1 ({}).", excluded.count, range(interval)))
}

fn signs(signs: Proportion) -> Option<String> {
    let Some(interval) = signs.interval else {
        return Some("No known effect was weighed.".into());
    };
    let Proportion { count, of, .. } = signs;
    let range = range(interval);
    let pairs = if of == 1 { "pair that differs" } else { "pairs that differ" };
    Some(match count {
        0 => format!("None of {of} {pairs} was called different with the wrong sign ({range})."),
        1 => format!("1 of {of} {pairs} was called different with the wrong sign ({range})."),
        _ => format!("{count} of {of} {pairs} were called different with the wrong sign ({range})."),
    })
}

fn covered(calibration: &Calibration, covered: Proportion) -> Option<String> {
    let interval = covered.interval?;
    let promised = 1.0 - calibration.level;
    let judged = if interval.high < promised { ": they are too narrow or biased here" } else { "" };
    Some(format!(
        "Of {} intervals, {} held the truth ({}), and {} should{judged}.",
        covered.of,
        covered.count,
        against(interval, promised),
        percent(promised)
    ))
}

/// The errors of pairs that went all the way of `tenbin weigh`, and the smallest effect that is found of each
/// work.
fn own(purpose: Purpose, rates: &WeighRates) -> String {
    let WeighRates { alarms, wrong_signs, works } = rates;
    let within = |proportion: &Proportion| {
        proportion.interval.map_or_else(String::new, |interval| format!(" ({})", range(interval)))
    };
    let mut answer = format!(
        "{} {}{}, and {}{}.",
        capitalised(calibration::subjects(purpose)),
        calibration::alarms(*alarms),
        within(alarms),
        calibration::signs(*wrong_signs),
        within(wrong_signs)
    );
    if let Some(smallest) = smallest(works) {
        answer.push_str(&format!(" {smallest}"));
    }
    answer
}

/// The smallest effect of each work that is found nine times of ten.
fn smallest(works: &[WorkRates]) -> Option<String> {
    let each: Vec<String> = works
        .iter()
        .filter_map(|work| {
            let largest = work.steps.iter().rfind(|step| step.detected.of > 0)?;
            Some(match work.ninety {
                Some(step) => {
                    let within = step.detected.interval.map(|interval| format!(": {}", range(interval)));
                    let share = counted(step.detected) + &within.unwrap_or_default();
                    format!("{} from {} ({share})", work.work, percent(step.effect))
                }
                None => {
                    let share = counted(largest.detected);
                    format!("{} not even at {} ({share})", work.work, percent(largest.effect))
                }
            })
        })
        .collect();
    (!each.is_empty()).then(|| format!("An effect was found at least nine times in ten: {}.", comma(&each)))
}

fn method(rates: &Rates) -> Option<String> {
    let own = OF_WEIGH.into_iter().any(|purpose| rates.of(purpose).is_some());
    let any = rates.alarms.of + rates.wrong_signs.of > 0 || own;
    any.then(|| {
        let level = percent(1.0 - rates.level);
        format!("Ranges are exact {level} intervals (Clopper-Pearson), for pairs that are independent.")
    })
}

/// The works with what is known of each, and of those of the ladder together. None if there are none.
fn works(rates: &Rates, all: &[&WorkRates]) -> Option<Table> {
    if all.is_empty() {
        return None;
    }
    let row = |name: &str, alarms, undecided, covered, step: Option<Step>, took: Option<VerdictTime>| {
        let time = |read: fn(VerdictTime) -> Picoseconds| {
            took.map_or_else(|| NOTHING.into(), |took| read(took).to_string())
        };
        vec![
            name.to_owned(),
            counted(alarms),
            alarms.interval.map_or_else(|| NOTHING.into(), range),
            counted(undecided),
            counted(covered),
            step.map_or_else(|| NOTHING.into(), |step| percent(step.effect)),
            time(|took| took.median),
            time(|took| took.ninetieth),
        ]
    };
    let mut rows: Vec<Vec<String>> = all
        .iter()
        .map(|work| row(&work.work, work.alarms, work.undecided, work.covered, work.ninety, work.took))
        .collect();
    let ladder = rates.works.len();
    if ladder > 1 {
        let total = row("all", rates.alarms, rates.undecided, rates.covered, None, rates.took);
        rows.insert(ladder, total);
    }
    let level = percent(1.0 - rates.level);
    let within = format!("within ({level})");
    let header =
        ["work", "false alarms", &within, "undecided", "covered", "90 % power", "median time", "p90 time"];
    Some(Table::new(header, rows))
}

/// How often each effect of each work was found. None if no work has one.
fn effects(all: &[&WorkRates]) -> Option<Table> {
    let mut sizes: Vec<f64> = all.iter().flat_map(|work| &work.steps).map(|step| step.effect).collect();
    sizes.order_by(f64::total_cmp);
    sizes.dedup();
    if sizes.is_empty() {
        return None;
    }
    let header: Vec<String> =
        std::iter::once("found".to_owned()).chain(sizes.iter().map(|&size| percent(size))).collect();
    let rows = all.iter().map(|work| {
        let cell = |size: &f64| {
            let step = work.steps.iter().find(|step| step.effect == *size);
            step.map_or_else(|| NOTHING.into(), |step| counted(step.detected))
        };
        std::iter::once(work.work.clone()).chain(sizes.iter().map(cell)).collect()
    });
    Some(Table::new(header, rows.collect()))
}

/// How often copies of one function were called different. None if none was weighed.
fn layout(layout: &LayoutRates) -> Option<String> {
    let interval = layout.different.interval?;
    let places = match layout.layouts.len() {
        0 => String::new(),
        1 => ", in 1 layout".into(),
        several => format!(", in {several} layouts"),
    };
    let alarmed = layout.layouts.iter().filter(|one| one.different.count > 0);
    let alarmed = comma(alarmed.map(|one| format!("{} in layout {}", counted(one.different), one.layout)));
    let alarmed = if alarmed.is_empty() { alarmed } else { format!(": {alarmed}") };
    let (of, range) = (counted(layout.different), range(interval));
    Some(format!(
        "Copies of one function, laid out again for each block{places}: {of} called different ({range}){alarmed}."
    ))
}

/// `what 2.9998 (3, 20 runs, error -0.0067 %, at worst 0.05 %)`.
fn bias(bias: &Bias) -> String {
    let Bias { what, truth, runs, median, error, worst, .. } = bias;
    let (error, worst) = (percent(*error), percent(*worst));
    match runs {
        1 => format!("{what} {median:.4} ({truth}, 1 run, error {error})"),
        _ => format!("{what} {median:.4} ({truth}, median of {runs} runs, error {error}, at worst {worst})"),
    }
}

/// How far processes lie apart: the farthest work, and how often two of their intervals do not meet.
fn between(between: &[Between]) -> Option<String> {
    let farthest = between.iter().max_by(|one, other| one.apart.total_cmp(&other.apart))?;
    let (count, of) =
        between.iter().fold((0, 0), |(count, of), one| (count + one.disjoint.count, of + one.disjoint.of));
    Some(format!(
        "{} processes differ by up to {:.4}x in what they find for {}; of all pairs of intervals from two \
         processes, {count} of {of} do not overlap",
        farthest.processes, farthest.apart, farthest.work
    ))
}

/// How many verdicts were refused, and what was not weighed at all, with the reason.
fn refused(rates: &Rates) -> String {
    let undecided = match rates.undecided {
        Proportion { of: 0, .. } => String::new(),
        Proportion { count, of, .. } => {
            format!("{count} of {of} pairs of equals were called neither different nor equivalent; ")
        }
    };
    let mut text = match rates.refused.interval {
        Some(interval) => {
            let of = counted(rates.refused);
            format!("{undecided}{of} verdicts of any kind were refused ({}).", range(interval))
        }
        None => "No verdict was asked for.".into(),
    };
    let reasons = grouped(rates.unweighed.iter().map(|it| (&it.why, named(it))));
    if !reasons.is_empty() {
        let each = reasons.iter().map(|(why, names)| format!("{}: {why}", comma(names)));
        text.push_str(&format!(" Not weighed: {}.", semicolon(each)));
    }
    if !rates.unanswered.is_empty() {
        let each = rates.unanswered.iter().map(|Unanswered { why, count }| format!("{count}: {why}"));
        let each = semicolon(each);
        text.push_str(&format!(" Without an interval, and so in none of the rates of error: {each}."));
    }
    text
}

fn named(unweighed: &Unweighed) -> String {
    let work = &unweighed.work;
    match unweighed.purpose {
        Purpose::Layout => format!("{work} at other addresses"),
        Purpose::Truth => format!("{work} against its known ratio"),
        _ if unweighed.effect == 0.0 => format!("{work} equals"),
        _ => format!("{work} {}", percent(unweighed.effect)),
    }
}

/// When and how it was calibrated, on what.
fn circumstances(calibration: &Calibration) -> String {
    let version = &calibration.provenance.version;
    let date = date(calibration);
    let made = made_load(calibration).unwrap_or_else(|| "without an added load".into());
    let average = match calibration.load.average {
        [Some(first), Some(last)] => format!(" (load average {first:.2} before, {last:.2} after)"),
        [Some(one), None] => format!(" (load average {one:.2} before)"),
        [None, Some(one)] => format!(" (load average {one:.2} after)"),
        [None, None] => String::new(),
    };
    let on = calibration.machine.cpu_model.known().map_or_else(String::new, |model| format!(" on {model}"));
    let time = calibration.time;
    let longer = |(purpose, name): (Purpose, &str)| {
        let any = calibration.series.iter().any(|series| series.purpose == purpose);
        any.then(|| format!(", of {name} {}", Picoseconds(time.0.saturating_mul(purpose.times()))))
    };
    let names = [(Purpose::Command, "commands"), (Purpose::Function, "functions")];
    let longer: String = names.into_iter().filter_map(longer).collect();
    format!("Calibrated {date} with tenbin {version}{on}, {made}{average}; at most {time} a verdict{longer}.")
}

/// `3 of 80`; nothing of nothing.
fn counted(proportion: Proportion) -> String {
    match proportion.of {
        0 => NOTHING.into(),
        of => format!("{} of {of}", proportion.count),
    }
}

#[cfg(test)]
mod tests;
