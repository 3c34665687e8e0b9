//! Rust source without what is not code: comments, and the insides of string literals.

/// `text` with comments and the insides of literals made blank. Lines keep their numbers.
pub(super) fn code_only(text: &str) -> String {
    let letters = text.chars().collect::<Vec<_>>();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < letters.len() {
        let rest = &letters[at..];
        let inside_word = at > 0 && is_word(letters[at - 1]);
        let (opening, inside) = match rest {
            ['/', '/', ..] => (0, line_comment(rest)),
            ['/', '*', ..] => (0, block_comment(rest)),
            ['"', ..] => (1, string(&rest[1..])),
            ['r' | 'b' | 'c', ..] if !inside_word => raw_string(rest).unwrap_or((0, 0)),
            ['\'', ..] => character(rest).map_or((0, 0), |inside| (1, inside)),
            _ => (0, 0),
        };
        // A literal's closing mark stays, and so does anything that is neither literal nor comment.
        let closing = usize::from(opening > 0 || inside == 0);
        let end = (opening + inside + closing).min(rest.len());
        code.extend(&rest[..opening]);
        code.extend(
            rest[opening..opening + inside].iter().map(|&letter| if letter == '\n' { '\n' } else { ' ' }),
        );
        code.extend(&rest[opening + inside..end]);
        at += end;
    }
    code
}

/// `code` (from [`code_only`]) with its `#[cfg(test)]` items made blank. Lines keep their numbers.
pub(super) fn without_tests(code: &str) -> String {
    let mut kept = String::new();
    let mut rest = code;
    while let Some(start) = TEST_ATTRIBUTES.iter().filter_map(|attribute| rest.find(attribute)).min() {
        let item = &rest[start..];
        let end = item_length(item);
        kept.push_str(&rest[..start]);
        kept.extend(item[..end].matches('\n'));
        rest = &item[end..];
    }
    kept + rest
}

/// The modules that `code` declares in other files, for tests only.
pub(super) fn test_modules(code: &str) -> Vec<&str> {
    let starts = TEST_ATTRIBUTES.iter().flat_map(|attribute| code.match_indices(attribute));
    let items = starts.map(|(start, _)| &code[start..]).map(|item| &item[..item_length(item)]);
    items
        .filter_map(|item| item.trim_end().strip_suffix(';')?.rsplit_once("mod ").map(|(_, name)| name))
        .collect()
}

/// What begins an item that is built for tests only.
const TEST_ATTRIBUTES: &[&str] = &["#[cfg(test)]", "#[cfg(all(test,"];

/// Whether `line` holds `word` with no letter of a word on either side.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let ends_in_word = word.chars().next_back().is_some_and(is_word);
        let begins = !before.is_some_and(is_word);
        let ends = !ends_in_word || !after.is_some_and(is_word);
        begins && ends
    })
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn line_comment(rest: &[char]) -> usize {
    rest.iter().position(|&letter| letter == '\n').unwrap_or(rest.len())
}

fn block_comment(rest: &[char]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        match &rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at.min(rest.len())
}

/// Length of the inside of a string whose opening mark is just before `rest`.
fn string(rest: &[char]) -> usize {
    let mut at = 0;
    while at < rest.len() && rest[at] != '"' {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    at.min(rest.len())
}

/// Lengths of the opening (`br##"`) and of the inside of a raw string, without its closing hashes.
fn raw_string(rest: &[char]) -> Option<(usize, usize)> {
    let mark = rest.iter().take(2).position(|&letter| letter == 'r')?;
    let hashes = rest[mark + 1..].iter().take_while(|&&letter| letter == '#').count();
    let opening = mark + 1 + hashes + 1;
    if rest.get(opening - 1) != Some(&'"') {
        return None;
    }
    let inside = &rest[opening..];
    let closes = |at: usize| {
        inside[at] == '"'
            && inside[at + 1..].iter().take(hashes).filter(|&&letter| letter == '#').count() == hashes
    };
    Some((opening, (0..inside.len()).find(|&at| closes(at)).unwrap_or(inside.len())))
}

/// Length of the inside of a character literal; `None` for a lifetime.
fn character(rest: &[char]) -> Option<usize> {
    match rest {
        ['\'', '\\', _, tail @ ..] => Some(2 + tail.iter().position(|&letter| letter == '\'')?),
        ['\'', _, '\'', ..] => Some(1),
        _ => None,
    }
}

/// Length of the item that `code` begins with: to the end of its block, or to its semicolon.
fn item_length(code: &str) -> usize {
    match (code.find('{'), code.find(';')) {
        (Some(brace), semicolon) if semicolon.is_none_or(|semicolon| brace < semicolon) => {
            brace + block_length(&code[brace..])
        }
        (_, Some(semicolon)) => semicolon + 1,
        _ => code.len(),
    }
}

/// Length of the block that `code` begins with, its braces counted.
fn block_length(code: &str) -> usize {
    let mut depth = 0;
    for (at, letter) in code.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blank_and_code_stays() {
        let cases = [
            ("a // unsafe\nb", "a          \nb"),
            ("a /* x /* y */ z */ b", "a                   b"),
            (r#"f("unsafe \" x") g"#, r#"f("           ") g"#),
            (r##"f(r#"un"safe"#) g"##, r##"f(r#"       "#) g"##),
            (r#"f(br"a\") g"#, r#"f(br"  ") g"#),
            (r#"f("", ' ', "b")"#, r#"f("", ' ', " ")"#),
            (r##"f(r"", r#""#, b'"') g"##, r##"f(r"", r#""#, b' ') g"##),
            (r"'{' '\'' '\u{7b}' &'a str", r"' ' '  ' '      ' &'a str"),
            ("r#type for bar", "r#type for bar"),
            ("/// text\ncode", "        \ncode"),
        ];
        for (text, expected) in cases {
            assert_eq!(code_only(text), expected, "{text}");
        }
    }

    #[test]
    fn test_modules_are_left_out_and_nothing_else() {
        let code = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { {} } }\nfn c() {}\n#[cfg(test)]\nmod d;\nfn e() {}";
        let kept = without_tests(code);
        assert!(kept.contains("fn a") && kept.contains("fn c") && kept.contains("fn e"), "{kept}");
        assert!(!kept.contains("fn b") && !kept.contains("mod d"), "{kept}");
        assert_eq!(kept.lines().count(), code.lines().count());
        assert_eq!(test_modules(code), ["d"]);
    }

    #[test]
    fn a_word_is_whole() {
        assert!(has_word("an unsafe block", "unsafe"));
        assert!(!has_word("forbid(unsafe_code)", "unsafe"));
        assert!(has_word("x; print!(y)", "print!"));
        assert!(!has_word("x; eprint!(y)", "print!"));
    }
}
