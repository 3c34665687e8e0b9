//! Text for terminals whose locale has no UTF-8.

use std::borrow::Cow;
use std::io::IsTerminal;

/// Whether the locale asks for other letters than UTF-8 has: the first of these variables that is set decides
/// (POSIX.1-2017, XBD 8.2). Where none is, nothing is asked for.
fn asks_for_ascii(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set);
    locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        !locale.contains("utf-8") && !locale.contains("utf8")
    })
}

/// Text for standard output: ASCII where that is a terminal whose locale asks for it.
pub fn for_output(text: &str) -> Cow<'_, str> {
    let is_plain = std::io::stdout().is_terminal() && asks_for_ascii(|name| std::env::var(name).ok());
    if is_plain { ascii(text).into() } else { text.into() }
}

/// What a terminal of any locale shows: what is not ASCII is replaced by what looks most like it, letter for
/// letter, so that columns stay where they are.
pub fn ascii(text: &str) -> String {
    let plain = |letter: char| match letter {
        _ if letter.is_ascii() => letter,
        '\u{b5}' => 'u',
        '█' | '▉' | '▊' | '▓' => '#',
        '▋' | '▌' | '▍' | '▒' => '=',
        '▎' | '▏' | '░' | '–' | '−' | '─' | '→' => '-',
        '┤' | '┊' => '|',
        '◂' | '≤' => '<',
        '▸' => '>',
        '●' => '*',
        '±' => '~',
        '…' | '·' | '\u{2801}'..='\u{28ff}' => '.',
        '⁶' => '6',
        _ => '?',
    };
    text.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_bar_says_is_ascii() {
        assert_eq!(ascii("5 \u{b5}s → ████▌ ● 1 – 2 ⡤ \u{fffd}"), "5 us - ####= * 1 - 2 . ?");
    }

    #[test]
    fn a_locale_that_is_set_decides() {
        for (all, ctype, lang, expected) in [
            ("", "", "", false),
            ("", "", "C", true),
            ("", "", "POSIX", true),
            ("", "", "C.UTF-8", false),
            ("", "", "ja_JP.utf8", false),
            ("", "", "ja_JP.EUC-JP", true),
            ("C", "en_US.UTF-8", "en_US.UTF-8", true),
            ("", "en_US.UTF-8", "C", false),
        ] {
            let variable = |name: &str| {
                let value = match name {
                    "LC_ALL" => all,
                    "LC_CTYPE" => ctype,
                    _ => lang,
                };
                Some(value.to_owned())
            };
            assert_eq!(asks_for_ascii(variable), expected, "{all} {ctype} {lang}");
        }
    }
}
