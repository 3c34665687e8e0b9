//! Go's benchmark text: a line a sample, and the same name again for the next one
//! (<https://go.dev/design/14313-benchmark-format>).

use std::collections::BTreeSet;

use tenbin_model::order;

use super::{Measured, named_in, sample};

/// Whether a line of it is a benchmark's.
pub(super) fn is_one(text: &str) -> bool {
    text.lines().any(|line| words(line).is_some())
}

/// The words of a benchmark's line. A test that logs writes its name alone, which is none.
fn words(line: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let named = words.first()?.strip_prefix("Benchmark")?;
    let is_name = named.chars().next().is_none_or(|letter| !letter.is_lowercase());
    (is_name && words.len() >= 4 && words[1].starts_with(|letter: char| letter.is_ascii_digit()))
        .then_some(words)
}

pub(super) fn text(text: &str) -> Result<Measured, String> {
    let mut measured = Measured::by("go test", Vec::new());
    // Output that was appended names a package again.
    let packages: BTreeSet<&str> = order::set(text.lines().filter_map(|line| line.strip_prefix("pkg: ")));
    let mut package = "";
    for (number, line) in text.lines().enumerate() {
        let place = format!("line {}", number + 1);
        match line.split_once(": ") {
            Some(("pkg", name)) => package = name.trim(),
            Some(("goarch", name)) => {
                measured.architecture = Some(match name.trim() {
                    "amd64" => "x86_64".into(),
                    "arm64" => "aarch64".into(),
                    other => other.to_owned(),
                });
            }
            Some(("cpu", name)) => measured.cpu_model = Some(name.trim().to_owned()),
            _ => {}
        }
        let Some(words) = words(line) else { continue };
        let name = words[0].strip_prefix("Benchmark").unwrap_or(words[0]);
        let name = if packages.len() > 1 { format!("{package}.{name}") } else { name.to_owned() };
        let iterations =
            words[1].parse().map_err(|_| format!("{place}: {} is not a number of iterations", words[1]))?;
        let benchmark = named_in(&mut measured.benchmarks, name);
        match words[2..].chunks(2).find(|pair| pair.get(1) == Some(&"ns/op")) {
            Some(pair) => {
                let each: f64 = pair[0].parse().map_err(|_| format!("{place}: {} is not a time", pair[0]))?;
                benchmark.samples.push(sample(&place, iterations, each * 1e3 * iterations as f64)?);
            }
            None => benchmark.figures = format!("{}, and no ns/op", words[2..].join(" ")),
        }
    }
    Ok(measured)
}
