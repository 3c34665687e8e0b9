//! Every sentence that tenbin can say, in one file: there it is read as a reader reads it, and a change of
//! one is seen.

use super::tree::{File, Tree, Violation, violation};

/// Where they stand, a line each, below the name of the file that says them.
pub(super) const FILE: &str = "fixtures/sentences.txt";

/// A text with fewer words than these is a name.
const WORDS: usize = 4;

/// All of them, as [`FILE`] has them.
pub(super) fn listed(tree: &Tree) -> String {
    let spoken = tree.files.iter().filter(|file| file.path.starts_with("crates/"));
    let mut text = String::new();
    for file in spoken.filter(|file| file.path.ends_with(".rs")) {
        let sentences = sentences(file);
        if !sentences.is_empty() {
            text.push_str(&format!("\n{}\n", file.path));
        }
        sentences.iter().for_each(|sentence| text.push_str(&format!("  {sentence}\n")));
    }
    text.trim_start().to_owned()
}

/// Nothing, where the file holds what the code says.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let now = listed(tree);
    let kept: Vec<&str> = tree.lines(FILE).map(|(_, line)| line.text.as_str()).collect();
    let now: Vec<&str> = now.split('\n').collect();
    let count = now.len().max(kept.len());
    let Some(number) = (0..count).find(|&number| now.get(number) != kept.get(number)) else {
        return Vec::new();
    };
    let line = now.get(number).copied().unwrap_or("nothing more").trim();
    vec![violation(FILE, number + 1, format!("the code says: {line}"))]
}

/// The texts between quotation marks of what is no test. What continues a line of code is joined.
fn sentences(file: &File) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut open: Option<String> = None;
    for line in &file.lines {
        // What is hidden in the product is a blank for each letter.
        let mut marks = line.product.chars();
        for letter in line.text.chars() {
            match (marks.next(), &mut open) {
                (Some('"'), Some(_)) => sentences.extend(open.take()),
                (Some('"'), None) => open = Some(String::new()),
                (_, Some(inside)) => inside.push(letter),
                _ => {}
            }
        }
        if let Some(inside) = &mut open {
            if inside.ends_with('\\') {
                inside.pop();
            } else {
                inside.push_str("\\n");
            }
        }
    }
    let is_word = |word: &&str| word.chars().filter(|letter| letter.is_alphabetic()).count() > 1;
    let joined = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_sentence = |text: &String| text.split(' ').filter(is_word).count() >= WORDS;
    sentences.into_iter().map(joined).filter(is_sentence).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn what_is_said_is_listed_and_a_change_is_seen() {
        let code = "//! \"Not this one, it is a comment.\"\nfn a() {\n    say(\"one two three\");\n    \
                    say(\"the {left} goes \\\n         on here, {}.\", b);\n}\n#[cfg(test)]\nmod tests {\n    \
                    const A: &str = \"this is what a test says\";\n}\n";
        let tree = |kept: &str| {
            let files = [("crates/a/src/lib.rs", code), (FILE, kept)];
            Tree::new(files.map(|(path, text)| (path.to_owned(), text.to_owned())).into(), Value::Null)
        };
        let all = "crates/a/src/lib.rs\n  the {left} goes on here, {}.\n";
        assert_eq!(listed(&tree("")), all);
        assert!(check(&tree(all)).is_empty());
        for kept in ["", "crates/a/src/lib.rs\n  the {left} stays here, {}.\n", &format!("{all}  more\n")] {
            assert_eq!(check(&tree(kept)).len(), 1, "{kept}");
        }
    }
}
