//! An experiment is a file and a line: the folder must equal the list.

use super::scan::has_word;
use super::tree::{File, Tree, Violation};

const FOLDER: &str = "crates/lab/src/experiments/";
const LIST: &str = "crates/lab/src/experiments/mod.rs";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let Some(list) = tree.file(LIST) else {
        return vec![Violation::new(LIST, 1, "there is no list of experiments")];
    };
    let listed = listed(list);
    if listed.is_empty() {
        return vec![Violation::new(
            LIST,
            1,
            "no list `experiments! { name, ... }` is found here, or it is empty",
        )];
    }
    let mut violations = Vec::new();
    for name in experiments(tree).filter(|name| !listed.iter().any(|(_, other)| other == name)) {
        let message = format!("the experiment {name} is not in the list in {LIST}");
        violations.push(Violation::new(&format!("{FOLDER}{name}.rs"), 1, message));
    }
    for (number, name) in &listed {
        if !experiments(tree).any(|other| other == *name) {
            let message = format!("the list names {name}, and there is no file {FOLDER}{name}.rs");
            violations.push(Violation::new(LIST, *number, message));
        }
    }
    violations
}

/// The names in the list `experiments! { ... }`, with their lines.
fn listed(list: &File) -> Vec<(usize, &str)> {
    let lines =
        list.product_lines().skip_while(|(_, line)| !has_word(line, "experiments!") || !line.contains('{'));
    let mut names = Vec::new();
    for (number, line) in lines {
        let inside = line.rsplit('{').next().unwrap_or(line);
        let words = inside.split('}').next().unwrap_or(inside).split(',').map(str::trim);
        names.extend(words.filter(|word| !word.is_empty()).map(|word| (number, word)));
        if inside.contains('}') {
            break;
        }
    }
    names
}

/// The names of the files in the folder, the list and the tests left out.
fn experiments(tree: &Tree) -> impl Iterator<Item = &str> {
    tree.files.iter().filter(|file| file.product.is_some()).filter_map(|file| {
        let name = file.path.strip_prefix(FOLDER)?.strip_suffix(".rs")?;
        (name != "mod" && !name.contains('/')).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACRO: &str = "macro_rules! experiments {\n    ($($name:ident),*) => { $(pub mod $name;)* };\n}\n";

    fn planted(files: &[&str], list: &str) -> Vec<String> {
        let paths = files.iter().map(|name| format!("{FOLDER}{name}.rs")).collect::<Vec<_>>();
        let mut files = paths.iter().map(|path| (path.as_str(), "")).collect::<Vec<_>>();
        let list = format!("{MACRO}{list}\n#[cfg(test)]\nmod tests;\n");
        files.push((LIST, &list));
        check(&Tree::planted(&files)).into_iter().map(|it| it.message).collect()
    }

    #[test]
    fn folder_and_list_agree() {
        for list in ["experiments! {\n    null,\n    pipe,\n}", "experiments! { null, pipe }"] {
            assert_eq!(planted(&["null", "pipe", "tests"], list), Vec::<String>::new(), "{list}");
        }
    }

    #[test]
    fn a_file_that_is_not_listed_is_found() {
        let found = planted(&["null", "pipe"], "experiments! {\n    null,\n    // pipe,\n}");
        assert_eq!(found, [format!("the experiment pipe is not in the list in {LIST}")]);
    }

    #[test]
    fn a_line_without_a_file_is_found() {
        let found = planted(&["null"], "experiments! {\n    null,\n    pipe,\n}");
        assert!(found.len() == 1 && found[0].contains("there is no file"), "{found:?}");
    }

    #[test]
    fn a_missing_list_is_found() {
        assert_eq!(check(&Tree::planted(&[])).len(), 1);
        assert_eq!(planted(&["null"], "").len(), 1);
    }
}
