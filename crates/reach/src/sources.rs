//! Which mirror of Debian this machine uses, read from what its apt reads.
//!
//! Both forms of sources.list(5) are read: one line a source, and stanzas. Whatever cannot be understood
//! is passed over: then Debian's own address is taken.

use std::fs;
use std::path::{Path, PathBuf};

use tenbin_model::Order;

/// Debian's own address, which leads to a mirror nearby.
const MAIN: &str = "http://deb.debian.org/debian";

/// The same for security updates.
const SECURITY: &str = "http://deb.debian.org/debian-security";

/// Releases of Debian: whoever serves one of them serves the others.
const SUITES: [&str; 9] =
    ["bullseye", "bookworm", "trixie", "forky", "oldoldstable", "oldstable", "stable", "testing", "sid"];

/// Addresses of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mirrors {
    /// Of the releases.
    pub(crate) main: String,
    /// Of their security updates.
    pub(crate) security: String,
}

/// The mirrors that the machine's sources name, else Debian's own.
pub(crate) fn mirrors() -> Mirrors {
    let parts = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten();
    let mut paths = parts.map(|entry| entry.path()).collect::<Vec<_>>();
    paths.order();
    paths.insert(0, PathBuf::from("/etc/apt/sources.list"));
    let mut sources = Vec::new();
    for path in paths {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        sources.extend(match ending(&path) {
            "list" => lines(&text),
            "sources" => stanzas(&text),
            _ => Vec::new(),
        });
    }
    choose(&sources)
}

fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or_default()
}

/// An address and the suite that is taken from it.
type Source = (String, String);

fn choose(sources: &[Source]) -> Mirrors {
    let served = |(address, _): &&Source| address.starts_with("http://") || address.starts_with("https://");
    let find = |wanted: fn(&str) -> bool| {
        let source = sources.iter().filter(served).find(|(_, suite)| wanted(suite));
        source.map(|(address, _)| address.trim_end_matches('/').to_owned())
    };
    let security = |suite: &str| {
        let release = suite.strip_suffix("-security").or_else(|| suite.strip_suffix("/updates"));
        release.is_some_and(|release| SUITES.contains(&release))
    };
    Mirrors {
        main: find(|suite| SUITES.contains(&suite)).unwrap_or_else(|| MAIN.to_owned()),
        security: find(security).unwrap_or_else(|| SECURITY.to_owned()),
    }
}

/// The sources of the one-line form: `deb [OPTIONS] ADDRESS SUITE COMPONENT...`.
fn lines(text: &str) -> Vec<Source> {
    let mut sources = Vec::new();
    for line in text.lines() {
        let Some(rest) = line.trim().strip_prefix("deb ") else { continue };
        let rest = rest.trim_start();
        let rest = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((_, rest)) => rest,
            None => rest,
        };
        let mut words = rest.split_whitespace();
        if let (Some(address), Some(suite)) = (words.next(), words.next()) {
            sources.push((address.to_owned(), suite.to_owned()));
        }
    }
    sources
}

/// The sources of the form in stanzas: fields `Types`, `URIs`, `Suites`, and maybe `Enabled`.
fn stanzas(text: &str) -> Vec<Source> {
    let mut sources = Vec::new();
    for stanza in text.split("\n\n") {
        let field = |name: &str| stanza.lines().find_map(|line| value(line, name)).unwrap_or_default();
        if field("Enabled").eq_ignore_ascii_case("no") || !field("Types").split(' ').any(|kind| kind == "deb")
        {
            continue;
        }
        for address in field("URIs").split_whitespace() {
            let suites = field("Suites").split_whitespace();
            sources.extend(suites.map(|suite| (address.to_owned(), suite.to_owned())));
        }
    }
    sources
}

/// The value that `line` gives to the field `name`; names of fields have no case.
fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (field, value) = line.split_once(':')?;
    field.eq_ignore_ascii_case(name).then(|| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mirrors(main: &str, security: &str) -> Mirrors {
        Mirrors { main: main.to_owned(), security: security.to_owned() }
    }

    #[test]
    fn both_forms_name_the_mirror() {
        let old = "# deb http://comment.example/debian bookworm main\n\
                   deb-src http://source.example/debian bookworm main\n\
                   deb [arch=amd64 signed-by=/k.gpg] https://near.example/debian/ bookworm main\n\
                   deb http://safe.example/debian-security bookworm-security main\n";
        let new = "Types: deb deb-src\n# comment\nURIs: https://near.example/debian/\nSuites: bookworm bookworm-updates\n\
                   Components: main\n\nTypes: deb\nuris: http://safe.example/debian-security\nSuites: trixie-security\n";
        let expected = mirrors("https://near.example/debian", "http://safe.example/debian-security");
        assert_eq!(choose(&lines(old)), expected);
        assert_eq!(choose(&stanzas(new)), expected);
    }

    #[test]
    fn what_serves_no_release_of_debian_is_passed_over() {
        let texts = [
            "deb http://archive.ubuntu.example/ubuntu jammy main",
            "deb https://tools.example/apt nodistro main",
            "deb cdrom:[Debian 12]/ bookworm main",
            "deb file:/srv/debian bookworm main",
            "deb",
            "nonsense",
        ];
        for text in texts {
            assert_eq!(choose(&lines(text)), mirrors(MAIN, SECURITY), "{text}");
        }
        let off = "Enabled: no\nTypes: deb\nURIs: http://off.example/debian\nSuites: bookworm\n";
        let source = "Types: deb-src\nURIs: http://off.example/debian\nSuites: bookworm\n";
        for text in [off, source, "", "URIs"] {
            assert_eq!(choose(&stanzas(text)), mirrors(MAIN, SECURITY), "{text}");
        }
    }
}
