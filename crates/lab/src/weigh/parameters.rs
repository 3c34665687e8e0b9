//! Parameters of commands: their values, and a command for each.

use tenbin_model::words::comma;

use crate::experiment::Unfit;

pub(super) type Values = Vec<(String, String)>;

/// More commands than this are not weighed at once: each needs its part of every block.
const MOST: usize = 256;

/// The parameters that a user gave.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    /// Names with lists of values, commas between them.
    pub lists: Vec<(String, String)>,
    /// A name with its first and its last value.
    pub scan: Option<[String; 3]>,
    /// The distance between two values of the scan; 1 if none is given.
    pub step: Option<String>,
}

impl Parameters {
    /// Every combination of values; one that is empty where there are no parameters. The first list varies
    /// quickest.
    ///
    /// # Errors
    /// A usage error that names the parameter and what is wrong with it.
    pub fn combinations(&self) -> Result<Vec<Values>, Unfit> {
        let mut lists = Vec::new();
        for (name, values) in &self.lists {
            if lists.iter().any(|(known, _)| known == name) {
                return Err(Unfit::Usage(format!("-L {name}: this parameter is given twice")));
            }
            lists.push((name.clone(), listed(values)));
        }
        if let Some(scan) = &self.scan {
            lists.push((scan[0].clone(), scanned(scan, self.step.as_deref())?));
        }
        let count = lists.iter().map(|(_, values)| values.len()).product::<usize>();
        if count > MOST {
            return Err(Unfit::Usage(format!(
                "{count} combinations of values; at most {MOST} can be weighed at once"
            )));
        }
        let mut combinations: Vec<Values> = vec![Vec::new()];
        for (name, values) in lists.iter().rev() {
            combinations = combinations
                .iter()
                .flat_map(|rest| {
                    values.iter().map(move |value| {
                        let mut all = vec![(name.clone(), value.clone())];
                        all.extend(rest.iter().cloned());
                        all
                    })
                })
                .collect();
        }
        Ok(combinations)
    }
}

/// The values of a list. A comma that follows a backslash belongs to its value.
fn listed(text: &str) -> Vec<String> {
    let mut values = vec![String::new()];
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let value = values.len() - 1;
        match letter {
            '\\' => match letters.next() {
                Some(letter @ (',' | '\\')) => values[value].push(letter),
                Some(other) => values[value].extend(['\\', other]),
                None => values[value].push('\\'),
            },
            ',' => values.push(String::new()),
            other => values[value].push(other),
        }
    }
    values
}

/// The values from the first to the last.
fn scanned([name, first, last]: &[String; 3], step: Option<&str>) -> Result<Vec<String>, Unfit> {
    let wrong = |what: &str| Err(Unfit::Usage(format!("-P {name} {first} {last}: {what}")));
    let texts = [first.as_str(), last.as_str(), step.unwrap_or("1")];
    let Some(decimals) = texts.iter().map(|text| decimals(text)).collect::<Option<Vec<_>>>() else {
        return wrong("first and last value and step (-D) are decimal numbers");
    };
    let places = decimals.iter().map(|&(_, places)| places).max().unwrap_or(0);
    let scaled = |&(number, own): &(i128, u32)| number.checked_mul(10_i128.checked_pow(places - own)?);
    let Some(numbers) = decimals.iter().map(scaled).collect::<Option<Vec<i128>>>() else {
        return wrong("these numbers have too many digits");
    };
    let (from, to, by) = (numbers[0], numbers[1], numbers[2]);
    if by <= 0 {
        return wrong("the step is above 0");
    }
    if to < from {
        return wrong("the last value is below the first");
    }
    let count = (to - from) / by + 1;
    if count > MOST as i128 {
        return wrong(&format!("{count} values; at most {MOST} can be weighed at once"));
    }
    // The first is as it was typed, as hyperfine has it.
    let own = decimals[0].1;
    let first = decimal(from / 10_i128.pow(places - own), own);
    Ok(std::iter::once(first).chain((1..count).map(|place| decimal(from + place * by, places))).collect())
}

/// A decimal number without its point, and how many digits stood behind that.
fn decimals(text: &str) -> Option<(i128, u32)> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = whole.strip_prefix(['-', '+']).unwrap_or(whole);
    if !digits(unsigned) || !digits(part) || unsigned.len() + part.len() == 0 {
        return None;
    }
    Some((format!("{whole}{part}").parse().ok()?, part.len() as u32))
}

fn decimal(number: i128, places: u32) -> String {
    let (digits, places) = (number.unsigned_abs().to_string(), places as usize);
    let sign = if number < 0 { "-" } else { "" };
    if places == 0 {
        return format!("{sign}{digits}");
    }
    let digits = format!("{digits:0>width$}", width = places + 1);
    let (whole, part) = digits.split_at(digits.len() - places);
    format!("{sign}{whole}.{part}")
}

/// `text` with each `{name}` replaced by its value. What comes in by a value is not replaced again.
pub(super) fn filled(text: &str, values: &[(String, String)]) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(place) = rest.find('{') {
        filled.push_str(&rest[..place]);
        rest = &rest[place..];
        let at = |name: &str| rest[1..].strip_prefix(name).is_some_and(|after| after.starts_with('}'));
        match values.iter().find(|(name, _)| at(name)) {
            Some((name, value)) => {
                filled.push_str(value);
                rest = &rest[name.len() + 2..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled + rest
}

/// The values that `text` does not name, for whoever reads what differs: ` (n = 3)`.
pub(super) fn unnamed(text: &str, values: &[(String, String)]) -> String {
    let unnamed: Vec<String> = values
        .iter()
        .filter(|(name, _)| !text.contains(&format!("{{{name}}}")))
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    if unnamed.is_empty() { String::new() } else { format!(" ({})", comma(&unnamed)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.into()).collect()
    }

    #[test]
    fn lists_are_cut_at_commas_and_scans_step_exactly() {
        assert_eq!(listed("1,2"), texts(&["1", "2"]));
        assert_eq!(listed("a\\,b,,\\x\\"), texts(&["a,b", "", "\\x\\"]));
        assert_eq!(listed("C:\\\\,D:\\\\"), texts(&["C:\\", "D:\\"]));
        let scan = |values: [&str; 3], step| scanned(&values.map(String::from), step);
        assert_eq!(scan(["n", "1", "4"], None).unwrap(), texts(&["1", "2", "3", "4"]));
        assert_eq!(scan(["n", "0.3", "0.7"], Some("0.2")).unwrap(), texts(&["0.3", "0.5", "0.7"]));
        assert_eq!(scan(["n", "0", "1"], Some("0.33")).unwrap(), texts(&["0", "0.33", "0.66", "0.99"]));
        assert_eq!(scan(["n", "-1", "1"], None).unwrap(), texts(&["-1", "0", "1"]));
        for (values, step, wrong) in [
            (["n", "2", "1"], None, "below the first"),
            (["n", "1", "2"], Some("0"), "above 0"),
            (["n", "1", "x"], None, "decimal numbers"),
            (["n", "1", "1000"], None, "at most 256"),
        ] {
            let Err(Unfit::Usage(message)) = scan(values, step) else { panic!("{values:?}") };
            assert!(message.contains(wrong), "{message}");
        }
    }

    #[test]
    fn combinations_are_all_of_them_the_first_list_quickest() {
        let lists = vec![("a".into(), "1,2".into()), ("b".into(), "x,y".into())];
        let all = Parameters { lists, ..Parameters::default() }.combinations().unwrap();
        let text = |values: &Values| values.iter().map(|(_, value)| value.as_str()).collect::<String>();
        assert_eq!(all.iter().map(text).collect::<Vec<_>>(), ["1x", "2x", "1y", "2y"]);
        assert_eq!(Parameters::default().combinations().unwrap(), [Values::new()]);
        let twice = vec![("a".into(), "1".into()), ("a".into(), "2".into())];
        assert!(matches!(
            Parameters { lists: twice, ..Parameters::default() }.combinations(),
            Err(Unfit::Usage(_))
        ));
    }

    #[test]
    fn names_in_braces_are_replaced_once() {
        let values = [("foo".into(), "a,{bar}".into()), ("bar".into(), "b".into())];
        assert_eq!(filled("echo {foo} {bar} {baz} {", &values), "echo a,{bar} b {baz} {");
        assert_eq!(unnamed("echo {foo}", &values), " (bar = b)");
    }
}
