//! As much of TOML as a manifest needs: tables, keys, and values as text.

/// One `key = value`, or the name of one dependency that has a table of its own.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Counted from 1.
    pub(super) line: usize,
    /// The table that it stands in, without brackets.
    pub(super) table: String,
    /// All of the key: `version.workspace`, `clap`.
    pub(super) key: String,
    /// The value as written; several lines are joined.
    pub(super) value: String,
}

/// Every entry of a manifest, in order.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    let mut entries = Vec::<Entry>::new();
    let mut table = String::new();
    let mut open = 0;
    for (index, line) in text.lines().enumerate() {
        let line = without_comment(line).trim();
        if line.is_empty() {
            continue;
        }
        if open > 0 {
            if let Some(entry) = entries.last_mut() {
                entry.value.push_str(line);
            }
        } else if line.starts_with('[') {
            table = line.trim_matches(['[', ']']).to_owned();
            continue;
        } else if let Some((key, value)) = line.split_once('=') {
            let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
            entries.push(Entry { line: index + 1, table: table.clone(), key, value });
        }
        open += depth(line);
    }
    entries
}

/// The version in `value`: the string that it is, or the one in the inline table that it is.
pub(super) fn version(value: &str) -> Option<&str> {
    if value.starts_with('{') { string(value, "version") } else { content(value) }
}

/// The string that stands under `key` in the inline table `value`.
pub(super) fn string<'a>(value: &'a str, key: &str) -> Option<&'a str> {
    let start = value.starts_with('{').then(|| value.find(&format!("{key} =")))??;
    content(&value[start + key.len() + 2..])
}

fn content(quoted: &str) -> Option<&str> {
    quoted.trim_start().strip_prefix('"')?.split('"').next()
}

fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    let start = line.find(|letter| {
        quoted ^= letter == '"';
        letter == '#' && !quoted
    });
    &line[..start.unwrap_or(line.len())]
}

/// How many more brackets `line` opens than it closes.
fn depth(line: &str) -> i32 {
    line.chars().map(|letter| i32::from("[{".contains(letter)) - i32::from("]}".contains(letter))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_keys_and_long_values_are_read() {
        let text = "# a\n[package]\nname = \"x\" # b\nversion.workspace = true\n\n[dependencies]\n\
                    clap = { version = \"=1.2\", features = [\n  \"a\", # c\n] }\nserde = \"=2\"\n";
        let read = entries(text);
        let keys = read.iter().map(|it| (it.line, it.table.as_str(), it.key.as_str())).collect::<Vec<_>>();
        assert_eq!(
            keys,
            [
                (3, "package", "name"),
                (4, "package", "version.workspace"),
                (7, "dependencies", "clap"),
                (10, "dependencies", "serde")
            ]
        );
        let versions = read.iter().map(|it| version(&it.value)).collect::<Vec<_>>();
        assert_eq!(versions, [Some("x"), None, Some("=1.2"), Some("=2")]);
        assert_eq!(string(&read[2].value, "path"), None);
        assert_eq!(string("{ path = \"crates/low\" }", "path"), Some("crates/low"));
    }
}
