//! Lists, counts, amounts and paragraphs.

/// `1 step`, `2 steps`.
pub(crate) fn count(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(parts: &[String], word: &str) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} {word} {last}", first.join(", ")),
    }
}

/// Bytes of memory: `1.5 GiB`.
pub(crate) fn amount(bytes: u64) -> String {
    let (power, unit) = if bytes >> 30 > 0 { (30, "GiB") } else { (20, "MiB") };
    format!("{:.1} {unit}", bytes as f64 / f64::from(1 << power))
}

/// `text` folded between words so that no line is wider than `width`, indented by `indent`.
pub(crate) fn folded(text: &str, indent: usize, width: usize) -> String {
    let room = width.saturating_sub(indent).max(20);
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let margin = " ".repeat(indent);
    lines.iter().map(|line| format!("{margin}{line}\n")).collect()
}
