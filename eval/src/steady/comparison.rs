//! Which verdicts hold: a pure function of what the runs said.
//!
//! The reference of an answer is its first verdict in the quiet runs that is not a refusal. A verdict
//! under load is then the same; or refused, which is allowed; or it contradicts. Two verdicts contradict
//! each other if one is "different" and the other "equivalent", or if both are "different" and their
//! ratios lie on opposite sides of 1. A refusal contradicts nothing, and nothing contradicts it.
//!
//! Where the quiet runs only refused, or had no such answer, the first verdict under load that is no
//! refusal becomes the reference of the later ones: verdicts under load must hold among themselves. Where the
//! quiet runs contradict each other, that is the finding, and there is nothing to hold the others against.

use tenbin_model::Verdict;

use super::answer::{Answer, Key};

/// A run by its name, and its answers.
pub(super) type RunAnswers = (String, Vec<Answer>);

/// How often one answer was what, over all runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Row {
    pub(super) key: Key,
    pub(super) quiet: Quiet,
    /// Under load as in the quiet runs, a refusal where they refused included.
    pub(super) same: usize,
    /// Under load refused, and not so in the quiet runs.
    pub(super) refused: usize,
    /// Under load said where the quiet runs have nothing to hold it against.
    pub(super) unheld: usize,
    /// Under load not among the answers at all.
    pub(super) absent: usize,
    /// Under load decided against the reference; the quiet runs' own are not counted.
    pub(super) contradicted: usize,
    /// Every pair of verdicts that contradict each other, those of the quiet runs first.
    pub(super) contradictions: Vec<Contradiction>,
}

/// What the quiet runs say of one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Quiet {
    /// All of them that verdict; it may be that all of them refused.
    Agreed(Verdict),
    /// So many of them that verdict; the others refused, or had no such answer.
    Sometimes(Verdict, usize),
    /// They contradict each other.
    Contradictory,
    /// None of them had such an answer.
    #[default]
    Absent,
}

/// Two runs, of which one at most is right.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Contradiction {
    pub(super) reference: (String, Answer),
    pub(super) against: (String, Answer),
}

/// Whether two answers to the same question cannot both be true.
pub(super) fn contradicts(one: &Answer, other: &Answer) -> bool {
    match (one.verdict, other.verdict) {
        (Verdict::Refused, _) | (_, Verdict::Refused) | (Verdict::Equivalent, Verdict::Equivalent) => false,
        (Verdict::Different, Verdict::Different) => {
            let sides = one.ratio.zip(other.ratio);
            sides.is_some_and(|(one, other)| (one > 1.0 && other < 1.0) || (one < 1.0 && other > 1.0))
        }
        (Verdict::Different, Verdict::Equivalent) | (Verdict::Equivalent, Verdict::Different) => true,
    }
}

/// A row for every answer of any run, in the order in which they were first given.
pub(super) fn compare(quiet: &[RunAnswers], loaded: &[RunAnswers]) -> Vec<Row> {
    let all = || quiet.iter().chain(loaded).flat_map(|(_, answers)| answers);
    let mut keys: Vec<&Key> = Vec::new();
    for answer in all() {
        // Where the cell has pairs, a refusal that names none is told in their rows.
        let elsewhere = answer.names_no_pair() && all().any(|other| within(&other.key, &answer.key));
        if !elsewhere && !keys.contains(&&answer.key) {
            keys.push(&answer.key);
        }
    }
    keys.into_iter().map(|key| row(key, quiet, loaded)).collect()
}

/// Whether `key` is a pair of the cell that `whole` names.
fn within(key: &Key, whole: &Key) -> bool {
    key.pair.is_some() && key.experiment == whole.experiment && key.cell == whole.cell
}

fn row(key: &Key, quiet: &[RunAnswers], loaded: &[RunAnswers]) -> Row {
    let mut row = Row { key: key.clone(), ..Row::default() };
    let mut reference = judge_quiet(&mut row, quiet);
    let held = reference.is_some();
    for (run, answers) in loaded {
        let Some(answer) = find(answers, key) else {
            row.absent += 1;
            continue;
        };
        match &reference {
            _ if answer.verdict == Verdict::Refused => match row.quiet {
                Quiet::Agreed(Verdict::Refused) | Quiet::Sometimes(Verdict::Refused, _) => row.same += 1,
                Quiet::Absent => row.unheld += 1,
                _ => row.refused += 1,
            },
            _ if row.quiet == Quiet::Contradictory => row.unheld += 1,
            Some(first) if contradicts(&first.1, answer) => {
                row.contradicted += 1;
                row.contradictions
                    .push(Contradiction { reference: first.clone(), against: (run.clone(), answer.clone()) });
            }
            Some(_) if held => row.same += 1,
            Some(_) => row.unheld += 1,
            None => {
                row.unheld += 1;
                reference = Some((run.clone(), answer.clone()));
            }
        }
    }
    row
}

/// What the quiet runs say goes into the row; their verdict that is no refusal, if any, comes back.
fn judge_quiet(row: &mut Row, quiet: &[RunAnswers]) -> Option<(String, Answer)> {
    let given =
        quiet.iter().filter_map(|(run, answers)| Some((run.clone(), find(answers, &row.key)?.clone())));
    let given = given.collect::<Vec<_>>();
    let decided = given.iter().filter(|(_, answer)| answer.verdict != Verdict::Refused).collect::<Vec<_>>();
    let first = decided.first().map(|first| (*first).clone());
    let Some(reference) = &first else {
        row.quiet = match given.len() {
            0 => Quiet::Absent,
            all if all == quiet.len() => Quiet::Agreed(Verdict::Refused),
            some => Quiet::Sometimes(Verdict::Refused, some),
        };
        return None;
    };
    row.contradictions = decided[1..]
        .iter()
        .filter(|(_, answer)| contradicts(&reference.1, answer))
        .map(|against| Contradiction { reference: reference.clone(), against: (*against).clone() })
        .collect();
    row.quiet = if !row.contradictions.is_empty() {
        Quiet::Contradictory
    } else if decided.len() == quiet.len() {
        Quiet::Agreed(reference.1.verdict)
    } else {
        Quiet::Sometimes(reference.1.verdict, decided.len())
    };
    first
}

/// The answer to `key`, or else a refusal in its cell that names no pair.
fn find<'a>(answers: &'a [Answer], key: &Key) -> Option<&'a Answer> {
    let exact = answers.iter().find(|answer| answer.key == *key);
    exact.or_else(|| answers.iter().find(|answer| answer.names_no_pair() && within(key, &answer.key)))
}

#[cfg(test)]
mod tests {
    use super::Verdict::{Different, Equivalent, Refused};
    use super::*;
    use crate::tally::word;

    /// A verdict with its ratio, as it stands in the tables below.
    type Word = (Verdict, f64);

    const SAME: Word = (Equivalent, 1.001);
    const MORE: Word = (Different, 1.4);
    const MUCH_MORE: Word = (Different, 9.0);
    const LESS: Word = (Different, 0.7);
    const SILENT: Word = (Refused, 1.1);

    fn answer(cell: &str, (verdict, ratio): Word) -> Answer {
        let key =
            Key { experiment: "faults".into(), cell: cell.into(), pair: Some(("a".into(), "b".into())) };
        Answer { key, verdict, ratio: Some(ratio), sentence: format!("{}, {ratio}", word(verdict)) }
    }

    fn runs(name: &str, words: &[Word]) -> Vec<RunAnswers> {
        let run = |(index, word): (usize, &Word)| (format!("{name} {}", index + 1), vec![answer("x", *word)]);
        words.iter().enumerate().map(run).collect()
    }

    /// Same, refused, unheld, contradicted under load, and all contradictions.
    fn tally(quiet: &[Word], loaded: &[Word]) -> (Quiet, [usize; 5]) {
        let rows = compare(&runs("quiet", quiet), &runs("loaded", loaded));
        assert_eq!(rows.len(), 1);
        let row = &rows[0];
        assert_eq!(row.same + row.refused + row.unheld + row.absent + row.contradicted, loaded.len());
        (row.quiet, [row.same, row.refused, row.unheld, row.contradicted, row.contradictions.len()])
    }

    #[test]
    fn only_verdicts_that_cannot_both_be_true_contradict() {
        for (one, other, expected) in [
            (SAME, SAME, false),
            (SAME, MORE, true),
            (SAME, LESS, true),
            (MORE, MUCH_MORE, false),
            (MORE, LESS, true),
            (MORE, SILENT, false),
            (SAME, SILENT, false),
            (SILENT, SILENT, false),
        ] {
            let (one, other) = (answer("x", one), answer("x", other));
            assert_eq!(contradicts(&one, &other), expected, "{one:?} {other:?}");
            assert_eq!(contradicts(&other, &one), expected, "{other:?} {one:?}");
        }
    }

    #[test]
    fn without_ratios_two_differences_do_not_contradict() {
        let without = Answer { ratio: None, ..answer("x", MORE) };
        assert!(!contradicts(&without, &answer("x", LESS)));
        assert!(contradicts(&without, &answer("x", SAME)));
    }

    #[test]
    fn every_verdict_under_load_is_counted_once() {
        use Quiet::{Agreed, Contradictory, Sometimes};
        // same, refused, unheld, contradicted; contradictions
        for (quiet, loaded, expected) in [
            (&[MORE, MORE][..], &[MORE, MUCH_MORE, SILENT][..], (Agreed(Different), [2, 1, 0, 0, 0])),
            (&[SAME], &[SAME, SAME], (Agreed(Equivalent), [2, 0, 0, 0, 0])),
            // Planted contradictions: each is seen, beside verdicts that hold.
            (&[SAME, SAME], &[SAME, MORE, SILENT], (Agreed(Equivalent), [1, 1, 0, 1, 1])),
            (&[MORE, MORE], &[LESS, MORE, SAME], (Agreed(Different), [1, 0, 0, 2, 2])),
            // A quiet refusal is contradicted by nothing, even if another quiet run decides.
            (&[SILENT, SILENT], &[SILENT, SAME, SAME], (Agreed(Refused), [1, 0, 2, 0, 0])),
            (&[SILENT, MORE], &[MORE, SILENT, SAME], (Sometimes(Different, 1), [1, 1, 0, 1, 1])),
            // Verdicts that only load brought hold among themselves, or do not.
            (&[SILENT], &[SILENT, SAME, MORE, SAME], (Agreed(Refused), [1, 0, 2, 1, 1])),
            // Quiet runs that disagree are a finding, and no reference.
            (&[SAME, MORE], &[SAME, MORE, SILENT], (Contradictory, [0, 1, 2, 0, 1])),
        ] {
            assert_eq!(tally(quiet, loaded), expected, "{quiet:?} {loaded:?}");
        }
    }

    #[test]
    fn a_contradiction_names_both_runs_and_both_sentences() {
        let rows = compare(&runs("quiet", &[SILENT, SAME]), &runs("loaded", &[SAME, LESS]));
        let [Contradiction { reference, against }] = rows[0].contradictions.as_slice() else {
            panic!("one was planted: {rows:?}");
        };
        assert_eq!((reference.0.as_str(), reference.1.sentence.as_str()), ("quiet 2", "equivalent, 1.001"));
        assert_eq!((against.0.as_str(), against.1.sentence.as_str()), ("loaded 2", "different, 0.7"));
    }

    #[test]
    fn a_refusal_of_no_pair_is_one_of_each_pair_without_an_answer() {
        let whole = |cell: &str| {
            let answer = answer(cell, SILENT);
            Answer { key: Key { pair: None, ..answer.key.clone() }, ..answer }
        };
        let quiet = vec![("quiet 1".into(), vec![answer("x", SAME), answer("y", MORE)])];
        let loaded = vec![
            ("loaded 1".into(), vec![whole("x"), whole("y")]),
            ("loaded 2".into(), vec![answer("x", MORE), whole("x"), whole("y")]),
            ("loaded 3".into(), vec![whole("w")]),
        ];
        let rows = compare(&quiet, &loaded);
        let counts =
            rows.iter().map(|row| (row.key.cell.as_str(), row.refused, row.contradicted, row.absent));
        assert_eq!(counts.collect::<Vec<_>>(), [("x", 1, 1, 1), ("y", 2, 0, 1), ("w", 0, 0, 2)]);
    }

    #[test]
    fn answers_are_held_against_their_own_key_only() {
        let quiet = vec![("quiet 1".into(), vec![answer("x", SAME), answer("y", MORE)])];
        let loaded = vec![
            ("loaded 1".into(), vec![answer("y", MORE), answer("x", SAME)]),
            ("loaded 2".into(), vec![answer("x", SAME), answer("z", LESS), answer("v", SILENT)]),
        ];
        let rows = compare(&quiet, &loaded);
        let counts = rows.iter().map(|row| (row.key.cell.as_str(), row.same, row.unheld, row.absent));
        assert_eq!(
            counts.collect::<Vec<_>>(),
            [("x", 2, 0, 0), ("y", 1, 0, 1), ("z", 0, 1, 1), ("v", 0, 1, 1)]
        );
        assert_eq!(rows[2].quiet, Quiet::Absent);
        assert!(rows.iter().all(|row| row.contradictions.is_empty()));
    }
}
