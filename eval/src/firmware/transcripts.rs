//! What `docs/boot.md` shows of the checker is what the checker says: every transcript there is made anew and
//! compared.
//!
//! A transcript is a block of text whose first line is `$ tenbin boot check` and its arguments. What follows
//! stands in the answer as it is shown, in that order; where it says `...`, something is left out. Only times
//! may differ.

use std::path::Path;
use std::time::Duration;

use xtask::command::Command;
use xtask::failure::Failure;

/// Far longer than any of them takes, in a build that is not optimised and on a machine that is busy.
const DEADLINE: Duration = Duration::from_secs(1800);

/// Where a document's command finds the files, from the root.
const FOLDER: &str = "firmware/build";

/// What a transcript begins with.
const PROMPT: &str = "$ tenbin boot check ";

/// What stands for lines that are not shown.
const ELLIPSIS: &str = "...";

/// A command and what is shown of its answer.
#[derive(Debug, PartialEq, Eq)]
struct Transcript<'a> {
    arguments: Vec<&'a str>,
    /// Pieces of the answer, each of lines that follow each other.
    pieces: Vec<Vec<&'a str>>,
}

/// Every transcript of a document.
fn transcripts(document: &str) -> Vec<Transcript<'_>> {
    let mut transcripts: Vec<Transcript<'_>> = Vec::new();
    let mut open = false;
    for line in document.lines() {
        let shown = line.strip_prefix("    ");
        if let Some(arguments) = shown.and_then(|shown| shown.strip_prefix(PROMPT)) {
            let arguments = arguments.split_whitespace().collect();
            transcripts.push(Transcript { arguments, pieces: vec![Vec::new()] });
            open = true;
            continue;
        }
        open &= line.is_empty() || shown.is_some();
        let Some(last) = transcripts.last_mut().filter(|_| open) else { continue };
        match (shown, last.pieces.last_mut()) {
            (Some(ELLIPSIS), _) => last.pieces.push(Vec::new()),
            (shown, Some(piece)) => piece.push(shown.unwrap_or_default()),
            (_, None) => {}
        }
    }
    for transcript in &mut transcripts {
        for piece in &mut transcript.pieces {
            let is_empty = |line: &&str| line.is_empty();
            while piece.last().is_some_and(is_empty) {
                piece.pop();
            }
            while piece.first().is_some_and(is_empty) {
                piece.remove(0);
            }
        }
        transcript.pieces.retain(|piece| !piece.is_empty());
    }
    transcripts
}

/// A line without the times that it has.
fn timeless(line: &str) -> String {
    let is_time = |word: &str| {
        let figures = word.trim_start_matches(['(', '<']);
        !figures.is_empty() && figures.chars().all(|each| each.is_ascii_digit() || each == '.')
    };
    let words: Vec<&str> = line.split(' ').collect();
    let mut timeless = Vec::new();
    for (place, word) in words.iter().enumerate() {
        let unit =
            words.get(place + 1).map(|next| next.trim_end_matches(|each: char| !each.is_alphanumeric()));
        timeless.push(if unit == Some("s") && is_time(word) { "…" } else { word });
    }
    timeless.join(" ")
}

/// The first line of a transcript that the answer does not have where it must.
fn missing<'a>(transcript: &Transcript<'a>, answer: &str) -> Option<&'a str> {
    let answer: Vec<String> = answer.lines().map(timeless).collect();
    let mut from = 0;
    for piece in &transcript.pieces {
        let wanted: Vec<String> = piece.iter().map(|line| timeless(line)).collect();
        let held =
            |at: &usize| answer[*at..].iter().zip(&wanted).take_while(|(is, shown)| is == shown).count();
        let best = (from..answer.len()).max_by_key(|at| (held(at), answer.len() - at));
        let length = best.as_ref().map_or(0, held);
        match piece.get(length) {
            Some(line) => return Some(line),
            None => from = best.unwrap_or(from) + length,
        }
    }
    None
}

/// Makes every transcript of the document anew, from the files in the folder `out`; what is not as it is
/// shown.
pub(super) fn differences(
    document: &Path,
    out: &Path,
    scratch: &Path,
    tenbin: impl Fn() -> Command,
) -> Result<Vec<String>, Failure> {
    let failed = |tried: String| {
        move |error: std::io::Error| {
            Failure::new(tried, error, "look whether the file is there and may be read")
        }
    };
    let text = std::fs::read_to_string(document).map_err(failed(format!("read {}", document.display())))?;
    // The answer is folded, and names the file as it was given: so that is done from a folder like the root.
    let here = scratch.join(FOLDER);
    std::fs::create_dir_all(&here).map_err(failed(format!("create {}", here.display())))?;
    let transcripts = transcripts(&text);
    let mut differences = Vec::new();
    for transcript in &transcripts {
        for file in transcript.arguments.iter().filter_map(|word| word.strip_prefix(FOLDER)) {
            let (from, to) = (
                out.join(file.trim_start_matches('/')),
                scratch.join(FOLDER).join(file.trim_start_matches('/')),
            );
            std::fs::copy(&from, to).map_err(failed(format!("copy {}", from.display())))?;
        }
        let words = transcript.arguments.iter().copied();
        let command = tenbin().arguments(["boot", "check"]).arguments(words).directory(scratch);
        let answer = command.patience(DEADLINE).capture()?.text;
        if let Some(line) = missing(transcript, &answer) {
            let command = format!("{PROMPT}{}", transcript.arguments.join(" "));
            differences.push(format!(
                "{}: {command:?} does not say {line:?} there; it says:\n{answer}",
                document.display()
            ));
        }
    }
    if transcripts.is_empty() {
        differences.push(format!("{}: no transcript was found", document.display()));
    }
    println!("  {} transcripts; {} are not what tenbin says", transcripts.len(), differences.len());
    Ok(differences)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "Words.

    $ tenbin boot check firmware/build/a.elf --harts 2
    It can hang (12 states,
    <0.01 s).

    One run:
    ...

      for ever

More words.

    no transcript

    $ tenbin boot litmus b
";

    #[test]
    fn a_transcript_is_a_command_and_what_is_shown_of_its_answer() {
        let read = transcripts(DOCUMENT);
        let pieces = vec![vec!["It can hang (12 states,", "<0.01 s).", "", "One run:"], vec!["  for ever"]];
        assert_eq!(read, [Transcript { arguments: vec!["firmware/build/a.elf", "--harts", "2"], pieces }]);
    }

    #[test]
    fn all_but_times_must_be_as_it_is_shown() {
        let transcript = &transcripts(DOCUMENT)[0];
        let answer = "It can hang (12 states,\n3.14 s).\n\nOne run:\nleft out\n\n  for ever\n";
        assert_eq!(missing(transcript, answer), None);
        for (was, is, line) in [
            ("12 states", "13 states", "It can hang (12 states,"),
            ("One run", "Two runs", "One run:"),
            ("\n\nOne", "\nmore\n\nOne", ""),
            ("  for ever\n", "", "  for ever"),
            ("3.14 s", "3.14 minutes", "<0.01 s)."),
        ] {
            assert_eq!(missing(transcript, &answer.replace(was, is)), Some(line), "{is}");
        }
        // In another order.
        assert_eq!(
            missing(transcript, &format!("  for ever\n{}", answer.replace("  for ever\n", ""))),
            Some("  for ever")
        );
    }
}
