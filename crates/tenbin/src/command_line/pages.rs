//! Every command that a page of the documentation names is one that this command line accepts.
//!
//! In a fence of `sh` or `console` each is parsed as a whole, and the questions and settings of `run` are
//! looked up. In a line of prose a command may hold words that stand for something (`tenbin run X --set
//! KEY=VALUE`), so there its verb and its options must exist. What a page shows of an answer is compared
//! elsewhere: `crates/tenbin/tests/pages`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::Command;
use tenbin_lab::survey::{ALL, descriptors};
use tenbin_model::order;

use super::whole;

/// Every page, from the root.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages: Vec<PathBuf> = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .map(|name| root.join(name))
        .into();
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(ending) if ending == "md" => pages.push(path),
                _ => {}
            }
        }
    }
    pages
}

/// The commands of tenbin in a line for a shell, each with its words.
fn commands(line: &str) -> Vec<Vec<String>> {
    let line = line.split("  #").next().unwrap_or(line);
    let Ok(words) = shell_words::split(&line.replace("; ", " ; ")) else {
        return vec![vec!["tenbin".into(), line.into()]];
    };
    let ends = |word: &String| ["|", "||", "&&", ";", ">", ">>", "<", "2>"].contains(&word.as_str());
    let parts = words.split(ends).filter_map(|part| {
        // What cargo is told to build is no command.
        let at =
            part.iter().position(|word| word == "tenbin").filter(|at| *at == 0 || part[at - 1] != "-p")?;
        Some(part[at..].to_vec())
    });
    parts.collect()
}

/// Why a whole command is not accepted.
fn refused(words: &[String]) -> Option<String> {
    // The words of a guest's command are no options here, and may be a tenbin's.
    let inner = words.iter().position(|word| word == "--").and_then(|at| {
        let inner = &words[at + 1..];
        inner.first().filter(|word| *word == "tenbin")?;
        refused(inner)
    });
    let matches = match whole().try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) if !error.use_stderr() => return inner,
        Err(error) => return Some(error.to_string()),
    };
    let Some(("run", run)) = matches.subcommand() else { return inner };
    let all = descriptors();
    let named: Vec<&String> = run.get_many("experiments").into_iter().flatten().collect();
    if named.is_empty() && !run.contains_id("from") {
        return Some("it names no question".into());
    }
    let unknown = named.iter().find(|name| ***name != ALL && !all.iter().any(|it| it.name == ***name));
    let asked = || all.iter().filter(|it| named.contains(&&it.name));
    let mut settings =
        words.windows(2).filter(|pair| pair[0] == "--set").filter_map(|pair| pair[1].split('=').next());
    let unset = settings.find(|key| !asked().any(|it| it.parameters.iter().any(|set| set.name == *key)));
    let unknown = unknown.map(|name| format!("there is no question {name}"));
    inner.or(unknown).or(unset.map(|key| format!("there is no setting {key}")))
}

/// What is wrong with a command in a line of prose.
fn misnamed(span: &str) -> Option<String> {
    let mut command = whole();
    let mut words = span.split_whitespace().skip(1).peekable();
    while let Some(verb) = words.next_if(|word| command.find_subcommand(word).is_some()) {
        command = command.find_subcommand(verb).unwrap().clone();
    }
    // Its words do not go through the parser, and neither does what asks for a help.
    if ["yes", "help"].iter().any(|verb| command.get_name() == *verb || words.peek() == Some(verb)) {
        return None;
    }
    let is_name = |word: &&&str| word.chars().all(|letter| letter.is_ascii_lowercase());
    if let Some(word) = words.peek().filter(is_name).filter(|_| command.has_subcommands()) {
        return Some(format!("there is no verb {word}"));
    }
    let has = |command: &Command, name: &str| {
        let mut all =
            command.get_arguments().flat_map(|it| it.get_long_and_visible_aliases().unwrap_or_default());
        ["help", "version"].contains(&name) || all.any(|long| long == name)
    };
    let names = words.take_while(|word| *word != "--").filter_map(|word| {
        let name = word.trim_start_matches(['[', '(']).strip_prefix("--")?;
        name.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').next()
    });
    let mut names = names.filter(|name| !name.is_empty());
    names.find(|name| !has(&command, name)).map(|name| format!("there is no option --{name}"))
}

/// Every option that a help speaks of.
static OPTIONS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    fn helps(command: &mut Command) -> String {
        let help = command.render_long_help().to_string();
        help + &command.get_subcommands_mut().map(helps).collect::<String>()
    }
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let help = helps(&mut whole());
    order::set(help.split(|letter| !is_name(letter)).filter(|word| word.starts_with("--")).map(Into::into))
});

/// Spans of code in a page outside its fences, each on one line.
fn spans(prose: &str) -> Vec<String> {
    let spans = prose.split("\n\n").flat_map(|paragraph| paragraph.split('`').skip(1).step_by(2));
    spans.map(|span| span.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// What is wrong on a page, and how many commands it has. One about chores has options of theirs.
fn wrong(text: &str, is_of_chores: bool) -> (usize, Vec<String>) {
    let (mut count, mut wrong, mut prose) = (0, Vec::new(), String::new());
    let mut fence = None;
    for line in text.lines() {
        if let Some(info) = line.strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(info.split(' ').next().unwrap_or_default()) };
            continue;
        }
        let typed = match fence {
            Some("sh") => line,
            Some("console") => line.strip_prefix("$ ").unwrap_or_default(),
            Some(_) => "",
            None => {
                let begins = ["    $ ", "    tenbin ", "    cargo "].iter().any(|it| line.starts_with(it));
                if begins {
                    wrong
                        .push(format!("{line}: put it into a fence of `console`, or of `sh` without output"));
                }
                prose.push_str(&format!("{line}\n"));
                ""
            }
        };
        for words in commands(typed) {
            count += 1;
            wrong.extend(refused(&words).map(|why| format!("{}: {why}", words.join(" "))));
        }
    }
    for span in spans(&prose).iter().filter(|span| span.starts_with("tenbin ")) {
        count += 1;
        wrong.extend(misnamed(span).map(|why| format!("`{span}`: {why}")));
    }
    for span in spans(&prose).iter().filter(|span| span.starts_with("--") && !is_of_chores) {
        let name =
            span.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').next().unwrap();
        let is_there = name == "--" || OPTIONS.contains(name);
        wrong.extend((!is_there).then(|| format!("`{span}`: no verb has this option")));
    }
    (count, wrong)
}

#[test]
fn every_command_of_a_page_is_accepted() {
    let mut total = 0;
    let mut all = Vec::new();
    for page in pages() {
        let (count, wrong) = wrong(&fs::read_to_string(&page).unwrap(), page.ends_with("CONTRIBUTING.md"));
        total += count;
        all.extend(wrong.into_iter().map(|it| format!("{}: {it}", page.display())));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
    assert!(total > 200, "{total}");
}

#[test]
fn every_question_has_a_page_with_its_answer() {
    for question in descriptors() {
        let name = question.name;
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/questions/{name}.md"));
        let text = fs::read_to_string(page).unwrap_or_default();
        assert!(
            text.contains(&format!("\n$ tenbin run {name}")),
            "docs/questions/{name}.md is missing, or shows no answer of `tenbin run {name}`: CONTRIBUTING.md, \
             \"Writing a page\", says what stands on it"
        );
    }
}

#[test]
fn what_is_not_accepted_is_seen() {
    let fenced = |line: &str| format!("```sh\n{line}\n```\n");
    for good in [
        "tenbin run faults --set bytes=1GiB --quick  # a remark",
        "cd x && sudo tenbin weigh 'a b' c; ls --none",
        "tenbin guest run --arch riscv64 -- tenbin list",
        "tenbin boot check a.elf --json > b.json",
    ] {
        assert_eq!(wrong(&fenced(good), false), (good.matches("tenbin").count().min(1), vec![]), "{good}");
    }
    for bad in [
        "tenbin run faults --none",
        "tenbin rum faults",
        "tenbin run fault",
        "tenbin run faults --set sizes=1",
        "x | tenbin weigh a --runs three b",
        "tenbin guest run -- tenbin list --none",
        "tenbin weigh 'a",
    ] {
        assert_eq!(wrong(&fenced(bad), false).1.len(), 1, "{bad}");
    }
    for (prose, count) in [
        ("`tenbin run X --processes N`, `tenbin\nweigh --bisect`, `tenbin schema WHAT`", 0),
        ("`tenbin run X --process N`", 1),
        ("`tenbin rum`", 1),
        ("`--quick`, `--set KEY=VALUE`, `--`", 0),
        ("`--quickly`", 1),
        ("    $ tenbin list", 1),
    ] {
        assert_eq!(wrong(prose, false).1.len(), count, "{prose}");
    }
}
