//! CSV that nobody's tool has a name for: a column for each side, its repetitions below its title; or a row a
//! repetition, which names the side.
//!
//! What a title ends with is its unit: `a_ms`, `a [ms]`, `ns`. Without one, times are in seconds.

use tenbin_model::{Row, Rows, Sample, WrongCell};

use super::{Benchmark, Measured, named_in, sample};

/// Titles of a second column under which rows name their sides.
const VALUES: [&str; 3] = ["value", "time", "elapsed"];

/// Whether its first line that is no remark has titles, of which no one is a number.
pub(super) fn is_one(text: &str) -> bool {
    let titles = text.lines().find(|line| !line.is_empty() && !line.starts_with('#'));
    titles.is_some_and(|titles| {
        titles.contains(',') && titles.split(',').all(|title| title.trim().parse::<f64>().is_err())
    })
}

pub(super) fn text(text: &str) -> Result<Measured, String> {
    benchmarks(text).map(|benchmarks| Measured::by("CSV", benchmarks)).map_err(|wrong| wrong.to_string())
}

fn benchmarks(text: &str) -> Result<Vec<Benchmark>, WrongCell> {
    let rows = Rows::read(text)?;
    if let [names, values] = rows.titles()
        && (VALUES.contains(&values.as_str()) || Unit::of(values).is_some_and(|(_, name)| name.is_empty()))
    {
        let mut benchmarks: Vec<Benchmark> = Vec::new();
        for row in &rows {
            let name = match row.text(names) {
                "" => return Err(row.wrong(names, "nothing is named here".into())),
                // What is a number says little without its title.
                number if number.parse::<f64>().is_ok() => format!("{names} {number}"),
                name => name.to_owned(),
            };
            named_in(&mut benchmarks, name).samples.push(timed(row, values)?);
        }
        return Ok(benchmarks);
    }
    let mut benchmarks = Vec::new();
    for title in rows.titles() {
        let name = Unit::of(title).map_or(title.as_str(), |(_, name)| name);
        let name = if name.is_empty() { title } else { name };
        // Sides need not have been repeated as often.
        let below = rows.iter().filter(|row| !row.text(title).is_empty());
        let samples = below.map(|row| timed(row, title)).collect::<Result<_, _>>()?;
        benchmarks.push(Benchmark { name: name.to_owned(), samples, ..Benchmark::default() });
    }
    Ok(benchmarks)
}

fn timed(row: &Row, title: &str) -> Result<Sample, WrongCell> {
    let Unit(iterations, picoseconds) = Unit::of(title).map_or(SECONDS, |(unit, _)| unit);
    let value = row.positive(title)?;
    sample("", iterations, value * picoseconds * iterations as f64)
        .map_err(|_| row.wrong(title, format!("{value} is no time in the unit of its title")))
}

/// Iterations for which picoseconds are fine enough, and picoseconds of one of its kind.
#[derive(Clone, Copy)]
struct Unit(u64, f64);

const SECONDS: Unit = Unit(1, 1e12);

impl Unit {
    /// The unit with which a title ends, and the title without it.
    fn of(title: &str) -> Option<(Self, &str)> {
        let units = [
            ("ns", Self(1000, 1e3)),
            ("us", Self(1, 1e6)),
            ("µs", Self(1, 1e6)),
            ("ms", Self(1, 1e9)),
            ("s", SECONDS),
        ];
        let title = title.trim_end_matches([']', ')']);
        units.into_iter().find_map(|(word, unit)| {
            let name = title.strip_suffix(word)?;
            let is_whole = name.is_empty() || name.ends_with(['_', ' ', '[', '(']);
            is_whole.then(|| (unit, name.trim_end_matches(['_', ' ', '[', '('])))
        })
    }
}
