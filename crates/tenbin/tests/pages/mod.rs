//! What stands on a page is what comes: every block of a page that begins with ```` ```console ```` is
//! played, as a transcript is, and compared.
//!
//! Words behind that say how:
//!
//! - none: played as it is, in a folder that has the repository's `fixtures` and `firmware/example`;
//! - `run=NAME`: it was measured once, and the run kept in `fixtures/pages/NAME.db`. What measures is not
//!   done again: in its place `tenbin show` judges that run by the code of today;
//! - `firmware`: it is about images in `firmware/build`, and played where `TENBIN_FIRMWARE` says where those
//!   are; times in seconds may differ;
//! - `unplayed: REASON`: left as it is, and listed by the test.
//!
//! Standard error stands behind standard output as a terminal shows it, and no status is shown.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use snapbox::filter::NormalizeToExpected;
use snapbox::{Assert, Data};

use super::place::deadline;
use super::{Desk, lines, root};

/// The fence of a block that is played.
const FENCE: &str = "```console";

/// How many blocks there are of which kind.
#[derive(Default)]
struct Tally {
    exact: usize,
    kept: usize,
    firmware: usize,
    /// Of each its page and its reason.
    unplayed: Vec<String>,
}

/// Every page, from the root.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| root().join(name)).into();
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// What stands in the place of a command that measured: the answer of the run that was kept.
fn shown(command: &str) -> String {
    let words: Vec<&str> = command.split_whitespace().collect();
    match words[..] {
        ["tenbin"] => "tenbin show latest --brief".into(),
        ["tenbin", "weigh" | "environment", ..] => "tenbin show latest".into(),
        ["tenbin", "run", question, ..] => format!("tenbin show latest {question}"),
        _ => command.into(),
    }
}

/// A line without the times that it has: numbers before a second, and the last number of a table's row, with
/// the spaces before it, as it stands on the right of its column.
fn timeless(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let is_time = |word: &str, next: Option<&&str>| {
        let figures = word.trim_start_matches(['(', '<']);
        let is_second = next.map(|next| next.trim_end_matches(|letter: char| !letter.is_alphanumeric()));
        !figures.is_empty()
            && figures.chars().all(|letter| letter.is_ascii_digit() || letter == '.')
            && (is_second == Some("s") || next.is_none() && figures.contains('.'))
    };
    let numbered = words.iter().enumerate();
    let line = numbered
        .map(|(at, word)| if is_time(word, words.get(at + 1)) { "…" } else { word })
        .collect::<Vec<_>>()
        .join(" ");
    line.strip_suffix('…').map(|row| row.trim_end().to_owned() + " …").unwrap_or(line)
}

/// An answer, whose lines are as in the block `old` where they differ in times alone.
fn as_before(answer: &str, old: &str) -> String {
    let line = |line| old.lines().find(|old| timeless(old) == timeless(line)).unwrap_or(line);
    answer.lines().map(|new| line(new).to_owned() + "\n").collect()
}

impl Tally {
    /// A page with what its commands write now; `is_firmware` plays the blocks of that kind and no others.
    fn play(&mut self, desk: &Desk, page: &Path, is_firmware: bool) -> String {
        let text = fs::read_to_string(page).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let link = |target: &Path, name: &str| {
            std::os::unix::fs::symlink(target, folder.path().join(name)).unwrap();
        };
        link(&root().join("fixtures"), "fixtures");
        fs::create_dir(folder.path().join("firmware")).unwrap();
        link(&root().join("firmware/example"), "firmware/example");
        if is_firmware {
            let images = std::env::var_os("TENBIN_FIRMWARE").expect("TENBIN_FIRMWARE is set");
            link(Path::new(&images), "firmware/build");
        }
        let mut played = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once(&format!("\n{FENCE}")) {
            let (mark, after) = after.split_once('\n').unwrap();
            let (block, after) = after.split_once("\n```\n").expect("a block has an end");
            played.push_str(&format!("{before}\n{FENCE}{mark}\n"));
            let run = |store: &Path, command: &str| {
                let output = desk.run(folder.path(), store, command);
                lines(&output.stdout, "") + &lines(&output.stderr, "")
            };
            let store = folder.path().join("store.db");
            let answer = match mark.trim() {
                "" => {
                    self.exact += 1;
                    (!is_firmware).then(|| Desk::play(block, |command| run(&store, command)))
                }
                "firmware" => {
                    self.firmware += 1;
                    let answer = |command: &str| as_before(&run(&store, command), block);
                    is_firmware.then(|| Desk::play(block, answer))
                }
                mark => match (mark.strip_prefix("run="), mark.strip_prefix("unplayed: ")) {
                    (Some(name), _) => {
                        self.kept += 1;
                        let kept = folder.path().join(format!("{name}.db"));
                        fs::copy(root().join(format!("fixtures/pages/{name}.db")), &kept).unwrap();
                        (!is_firmware).then(|| Desk::play(block, |command| run(&kept, &shown(command))))
                    }
                    (_, Some(reason)) => {
                        let name = page.strip_prefix(root()).unwrap().display();
                        self.unplayed.push(format!("{name}: {reason}"));
                        None
                    }
                    _ => panic!("{}: `{mark}` is no mark of a block", page.display()),
                },
            };
            let block = format!("{block}\n");
            // Page by page, what stands for left out lines would swallow prose as well.
            let answer = answer.map_or(Data::text(block.clone()), |answer| {
                NormalizeToExpected::new().redact().normalize(Data::text(answer), &Data::text(&block))
            });
            played.push_str(&answer.render().unwrap_or_default());
            played.push_str("```\n");
            rest = after;
        }
        played + rest
    }
}

fn play(is_firmware: bool) -> Tally {
    deadline();
    let only = std::env::var("PAGE").unwrap_or_default();
    let mut tally = Tally::default();
    let desk = Desk::new();
    for page in pages().iter().filter(|page| page.to_string_lossy().contains(&only)) {
        let played = tally.play(&desk, page, is_firmware);
        Assert::new()
            .action_env("SNAPSHOTS")
            .normalize_paths(false)
            .eq(played, Data::read_from(page, None).raw());
    }
    tally
}

/// `SNAPSHOTS=overwrite` writes down what came, `PAGE=faults` plays the pages with that word in their names.
#[test]
fn what_stands_on_a_page_is_what_comes() {
    let Tally { exact, kept, firmware, unplayed } = play(false);
    // What a test prints is kept back where it passes; this is for whoever reads along.
    let mut stderr = std::io::stderr();
    let count = unplayed.len();
    writeln!(
        stderr,
        "blocks: {exact} played, {kept} of kept runs, {firmware} by the step firmware, {count} unplayed:"
    )
    .unwrap();
    unplayed.iter().for_each(|it| writeln!(stderr, "  {it}").unwrap());
}

#[test]
#[ignore = "needs the firmware's images: cargo xtask test firmware"]
fn what_pages_show_of_firmware_is_what_comes() {
    assert!(play(true).firmware > 0);
}

#[test]
fn only_times_may_differ() {
    let old = "It can hang (12 states, <0.01 s).\nsound  12   <0.01\n";
    for row in ["sound  12    0.21", "sound  12  0.0113", "sound  12  123.45"] {
        assert_eq!(as_before(&format!("It can hang (12 states, 3.14 s).\n{row}\n"), old), old);
    }
    for other in
        ["It can hang (13 states, 3.14 s).\n", "sound  13   <0.01\n", "It can hang (12 states, 3 ms).\n"]
    {
        assert_eq!(as_before(other, old), other);
    }
}
