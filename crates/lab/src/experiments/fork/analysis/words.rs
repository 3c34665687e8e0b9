//! Laws in words.

use tenbin_model::unit::three_digits;
use tenbin_model::{Bytes, Interval, Picoseconds, Refusal};

use super::{Fitted, Growth, LawLine, Shape};
use tenbin_document::interval::{outward, show};
use tenbin_document::words::{and, percent};

/// A part beyond this is said as a factor: nobody reads 33 739 %.
const MOST_IN_PERCENT: f64 = 10.0;

/// The sentence of the experiment: the law of the first line, its sister's in huge pages, and which others do
/// not grow.
pub(super) fn of_all(lines: &[LawLine], page: Bytes, margin: f64) -> String {
    let Some((first, others)) = lines.split_first() else { return String::new() };
    let Ok(fitted) = &first.fitted else { return String::new() };
    let sister = others.iter().find(|other| other.way == first.way && other.huge != first.huge);
    let beside = sister.and_then(|sister| Some(in_other_pages(sister, sister.fitted.as_ref().ok()?)));
    let mut text = format!(
        "{}{}. {}",
        cost(first, fitted, page, margin),
        beside.unwrap_or_default(),
        fit(first, fitted)
    );
    let same = others.iter().filter_map(|line| {
        let fitted = line.fitted.as_ref().ok()?;
        (fitted.growth == Growth::Same && !fitted.is_bent()).then_some((line, fitted))
    });
    let same: Vec<(&LawLine, &Fitted)> = same.filter(|(line, _)| line.way != first.way).collect();
    if let Some((_, one)) = same.first() {
        let named = same.iter().map(|(line, it)| format!("{} ({})", line.name, time(it.law.constant.median)));
        let most = same.iter().map(|(_, fitted)| fitted.slope.high.abs().max(fitted.slope.low.abs()));
        let most = most.fold(one.slope.high.abs(), f64::max);
        text.push_str(&format!(
            " {} {} the same at any size up to {} within {} (a page at most {} ns).",
            and(named),
            if same.len() == 1 { "costs" } else { "cost" },
            largest(first),
            percent(margin),
            three_digits_up(most / 1e3),
        ));
    }
    text
}

/// The law of a line as a formula; nothing where its sizes lie on no line.
pub(super) fn brief(line: &LawLine) -> String {
    let Some(fitted) = line.fitted.as_ref().ok().filter(|fitted| !fitted.is_bent()) else {
        return String::new();
    };
    let constant = time(fitted.law.constant.median);
    let with_slope = |sign: &str, slope: &str| {
        format!("{constant} {sign} {slope} ns a resident page ({}): {}", nanoseconds(fitted.slope), line.name)
    };
    match fitted.growth {
        Growth::Same => format!("{constant} at any size up to {}: {}", largest(line), line.name),
        Growth::Falls => with_slope("−", slope(fitted).trim_start_matches('-')),
        _ => with_slope("+", &slope(fitted)),
    }
}

pub(super) fn of(line: &LawLine, fitted: &Fitted, page: Bytes, margin: f64) -> String {
    format!("{}. {}", cost(line, fitted, page, margin), fit(line, fitted))
}

/// Why a line is not answered; none where it is.
pub(super) fn open(line: &LawLine, fitted: &Fitted, page: Bytes, margin: f64) -> Option<Refusal> {
    let (named, largest) = (&line.name, largest(line));
    let has_trend = matches!(fitted.growth, Growth::Grows | Growth::Falls);
    if fitted.is_bent() && !has_trend {
        // Not the same everywhere, and no trend either that could be said.
        return Some(Refusal {
            reached: format!("{named} follows no line: {}", bend(fitted, "it")),
            needs: format!("every size within {} of the line", percent(super::BENT)),
            remedy: "read the sizes one by one, or run again on a quieter machine".into(),
        });
    }
    if let Growth::Uneven { memory: size, interval } = fitted.growth {
        let constant = time(fitted.law.constant.median);
        return Some(Refusal {
            reached: format!(
                "{named} costs {constant} by a line that lies level, but with {} it {} that",
                memory(&size),
                off(interval)
            ),
            needs: format!("every size within {} of that, before it costs the same", percent(margin)),
            remedy: "read the sizes one by one, or give it more time (--thorough) or a quieter machine"
                .into(),
        });
    }
    (fitted.growth == Growth::Open).then(|| Refusal {
        reached: format!(
            "whether a resident page of {page} costs {named} anything is open after {} blocks: {}",
            fitted.law.blocks,
            either_way(fitted.slope)
        ),
        needs: format!(
            "an interval that excludes 0 or lies within {} ns of it, which is {} of the cost up to {largest}",
            three_digits(fitted.negligible / 1e3),
            percent(margin)
        ),
        remedy: "give it more time (--thorough) or a quieter machine".into(),
    })
}

/// What it costs: constant and slope, or the sizes one by one where no line holds.
fn cost(line: &LawLine, fitted: &Fitted, page: Bytes, margin: f64) -> String {
    let name = &line.name;
    if let Shape::Bent { .. } = fitted.shape {
        let sizes = &line.sizes;
        let each = sizes.iter().map(|size| format!("{} with {}", time(size.median), memory(&size.memory)));
        let steps = sizes.windows(2).map(|pair| {
            three_digits((pair[1].median - pair[0].median) / (pair[1].pages - pair[0].pages) / 1e3)
        });
        let trend = if fitted.growth == Growth::Falls { "falls" } else { "grows" };
        return format!(
            "{name} {trend} with resident memory, but not along one line: {}, so that from size to size a page of {page} costs {} ns",
            and(each),
            and(steps)
        );
    }
    let constant = time(fitted.law.constant.median);
    match fitted.growth {
        Growth::Same => format!(
            "{name} costs {constant}, the same at any size up to {} within {} (a resident page of {page}: {} ns)",
            largest(line),
            percent(margin),
            nanoseconds(fitted.slope)
        ),
        _ => {
            // To where it was measured and no further: nothing shows that the line goes on.
            let most = line.sizes.last().map_or(0.0, |size| size.pages) * fitted.page();
            let (sign, more) = if most < 0.0 { ("−", "less") } else { ("+", "more") };
            format!(
                "{name} costs {constant} {sign} {} ns a resident page of {page} ({}), that is {} {more} with {} than with none",
                slope(fitted).trim_start_matches('-'),
                nanoseconds(fitted.slope),
                time(most.abs()),
                largest(line)
            )
        }
    }
}

/// What the same way costs in the other kind of pages, as the end of a sentence.
fn in_other_pages(line: &LawLine, fitted: &Fitted) -> String {
    let kind = if line.huge { "huge" } else { "base" };
    let bent = if fitted.is_bent() { ", not along one line" } else { "" };
    match fitted.growth {
        Growth::Same | Growth::Uneven { .. } | Growth::Open if fitted.is_bent() => {
            format!("; in {kind} pages not along one line ({})", bend(fitted, "it"))
        }
        Growth::Uneven { memory: size, interval } => {
            format!(
                "; in {kind} pages not surely the same at every size (with {} it {} the line)",
                memory(&size),
                off(interval)
            )
        }
        Growth::Same => {
            format!("; in {kind} pages the same at any size ({} ns a page)", nanoseconds(fitted.slope))
        }
        Growth::Open => format!("; in {kind} pages it stays open, {}", either_way(fitted.slope)),
        _ => format!("; in {kind} pages {} ns a page ({}){bent}", slope(fitted), nanoseconds(fitted.slope)),
    }
}

/// How well the sizes fit, as a sentence. It names its line: between that and this others may have been said.
fn fit(line: &LawLine, fitted: &Fitted) -> String {
    let name = &line.name;
    match fitted.shape {
        Shape::Straight(most) => {
            format!("No size lies further than {} from the line of {name}.", percent_up(most))
        }
        Shape::Bent { .. } => {
            let bend = bend(fitted, name);
            format!("{}{}.", bend[..1].to_uppercase(), &bend[1..])
        }
        Shape::Unsure { memory: size, interval } => format!(
            "Whether the line of {name} holds at every size stays open: with {} it {} the line.",
            memory(&size),
            off(interval)
        ),
    }
}

/// Where what is called `named` bends, as a clause; where it is unsure as well.
fn bend(fitted: &Fitted, named: &str) -> String {
    match fitted.shape {
        Shape::Bent { memory: size, nothing: true, .. } => format!(
            "with {}, {named} costs more than the line through all sizes says, which is nothing or less",
            memory(&size)
        ),
        Shape::Bent { memory: size, part, interval, .. } => format!(
            "with {}, {named} costs {} than the line through all sizes says ({})",
            memory(&size),
            if part > MOST_IN_PERCENT {
                format!("{}x more", three_digits(part))
            } else {
                format!("{} {}", percent(part.abs()), if part < 0.0 { "less" } else { "more" })
            },
            parts(interval)
        ),
        Shape::Unsure { memory: size, interval } => {
            format!("with {}, {named} {} the line", memory(&size), off(interval))
        }
        Shape::Straight(most) => format!("no size lies further than {} from the line", percent_up(most)),
    }
}

fn largest(line: &LawLine) -> String {
    line.sizes.last().map_or_else(|| "none".into(), |size| memory(&size.memory))
}

/// An amount of memory, of which there may be none.
pub(super) fn memory(size: &Bytes) -> String {
    if size.0 == 0 { "none".into() } else { size.to_string() }
}

/// An interval of picoseconds in nanoseconds, rounded outward.
pub(super) fn nanoseconds(interval: Interval) -> String {
    outward(Interval { low: interval.low / 1e3, high: interval.high / 1e3 })
}

fn slope(fitted: &Fitted) -> String {
    show(fitted.page() / 1e3, Interval { low: fitted.slope.low / 1e3, high: fitted.slope.high / 1e3 })
}

/// An interval of parts of what a line says, in percent, or in multiples of it where that is too much for
/// percent.
pub(super) fn parts(interval: Interval) -> String {
    if interval.high.max(interval.low.abs()) > MOST_IN_PERCENT {
        return format!("{}x", outward(interval));
    }
    format!("{} %", outward(Interval { low: interval.low * 100.0, high: interval.high * 100.0 }))
}

/// How far a size lies off a line, to be read between "it" and what it is off.
pub(super) fn off(interval: Interval) -> String {
    if interval.high.max(interval.low.abs()) <= MOST_IN_PERCENT {
        return format!("lies {} off", parts(interval));
    }
    let Interval { low, high } = interval;
    // Where the line says next to nothing, its multiples say as little: what is known is the most.
    if low <= -1.0 || high <= 0.0 {
        return "lies an unknown way off".into();
    }
    format!("costs {} times what is given by", outward(Interval { low: 1.0 + low, high: 1.0 + high }))
}

/// A slope that may be of either sign.
pub(super) fn either_way(slope: Interval) -> String {
    let [less, more] = [-slope.low, slope.high].map(|end| three_digits_up(end.max(0.0) / 1e3));
    format!("from {less} ns a page less to {more} ns more")
}

fn percent_up(part: f64) -> String {
    percent((part * 1e3).ceil() / 1e3)
}

/// Three digits, rounded up: what is printed as the most is never less than it is.
pub(super) fn three_digits_up(value: f64) -> String {
    if value <= 0.0 {
        return three_digits(value);
    }
    let scale = 10_f64.powi(2 - value.log10().floor() as i32);
    // A value that has three digits up to its last bits keeps them.
    three_digits((value * scale - 1e-9).ceil() / scale)
}

pub(super) fn time(picoseconds: f64) -> String {
    Picoseconds(picoseconds.max(0.0).round() as u64).to_string()
}
