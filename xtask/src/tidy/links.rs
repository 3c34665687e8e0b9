//! Links of documents: what they lead to must be there, and every page be listed. Nothing is asked of the
//! network.

use super::target_of;
use super::tree::{File, Line, Tree, Violation, violation};

/// The list of all pages, which is the site's table of contents.
const SUMMARY: &str = "docs/SUMMARY.md";

/// What the links of a line lead to. Between backticks nothing is a link.
fn targets(line: &Line) -> impl Iterator<Item = &str> {
    let ends = |letter: char| letter == ')' || letter.is_whitespace();
    let words = line.code.split('`').step_by(2);
    let links = words.flat_map(|words| words.split("](").skip(1));
    let footnote = line.code.strip_prefix('[').and_then(|rest| Some(rest.split_once("]: ")?.1));
    links.chain(footnote).filter_map(move |rest| rest.split(ends).next())
}

/// What is wrong with a link of this line.
pub(super) fn wrong(tree: &Tree, file: &File, line: &Line) -> Option<String> {
    targets(line).filter(|_| file.path.ends_with(".md")).find_map(|target| {
        let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
        if let Some((scheme, rest)) = path.split_once("://") {
            let host = rest.split('/').next().unwrap_or_default();
            let is_good = ["https", "http"].contains(&scheme) && host.contains('.');
            return (!is_good).then(|| format!("{target} is no address of the web"));
        }
        let path = if path.is_empty() { Some(file.path.clone()) } else { target_of(&file.path, path) };
        let Some(path) = path.filter(|path| tree.exists(path)) else {
            return Some(format!("the link to {target} leads nowhere"));
        };
        let mut heads = tree.lines(&path).filter_map(|(_, line)| line.code.strip_prefix('#'));
        let is_there = anchor.is_empty() || heads.any(|head| self::anchor(head) == anchor);
        (!is_there).then(|| format!("the link to {target} leads to no head of that page"))
    })
}

/// The name by which GitHub and mdBook know a head.
fn anchor(head: &str) -> String {
    let letters = head.trim_start_matches('#').trim().chars().flat_map(char::to_lowercase);
    letters
        .filter(|letter| letter.is_alphanumeric() || "-_ ".contains(*letter))
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

/// Pages that the summary does not list.
pub(super) fn unlisted(tree: &Tree) -> Vec<Violation> {
    let listed = tree.lines(SUMMARY).flat_map(|(_, line)| targets(line));
    let listed = listed.filter_map(|target| target_of(SUMMARY, target)).collect::<Vec<_>>();
    let is_page = |file: &&File| {
        let in_root = !file.path.contains('/');
        (in_root || file.path.starts_with("docs/")) && file.path.ends_with(".md") && file.path != SUMMARY
    };
    let lost = tree.files.iter().filter(is_page).filter(|file| !listed.contains(&file.path));
    lost.map(|file| violation(&file.path, 1, "no reader comes to this page")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        Tree::new(files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect(), Value::Null)
    }

    /// What is wrong with a link in a page of `docs`.
    fn of(link: &str) -> Option<String> {
        let page = "# Is it `numa`?\n\n## 2 CPUs, 1 node\n";
        let tree = tree(&[("docs/a.md", link), ("docs/b/c.md", page), ("fixtures/a.csv", "")]);
        wrong(&tree, &tree.files[0], &tree.files[0].lines[0])
    }

    #[test]
    fn a_link_leads_to_a_file_and_to_a_head_of_it() {
        for good in [
            "[a](b/c.md)",
            "[a](../fixtures/a.csv)",
            "[a](b/c.md#is-it-numa) and [b](b/c.md#2-cpus-1-node)",
            "[a](https://example.org/x#y)",
            "`[a](none.md)`",
            "[a]: b/c.md",
        ] {
            assert_eq!(of(good), None, "{good}");
        }
        for bad in [
            "[a](none.md)",
            "[a]: none.md",
            "![a](a.png)",
            "[a](../../fixtures/a.csv \"title\")",
            "[a](b/c.md#is-it)",
            "[a](#none)",
            "[a](https:/example.org)",
            "[a](https://localhost/)",
            "[a](ftp://example.org/)",
        ] {
            assert!(of(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn a_page_that_is_not_listed_is_lost() {
        let summary = "[a](../README.md)\n- [b](b/c.md)\n";
        let pages = [
            ("docs/SUMMARY.md", summary),
            ("README.md", ""),
            ("docs/b/c.md", ""),
            ("docs/lost.md", ""),
            ("crates/lab/README.md", ""),
        ];
        let lost = unlisted(&tree(&pages)).into_iter().map(|it| it.path).collect::<Vec<_>>();
        assert_eq!(lost, ["docs/lost.md"]);
    }
}
