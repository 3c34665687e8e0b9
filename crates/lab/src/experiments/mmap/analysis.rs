//! The size at which two ways change places: from which on the first of each cell's comparisons is won by the
//! other variant.

use tenbin_analysis::report::cell_by_cell;
use tenbin_analysis::verdict::comparisons::{self, empty};
use tenbin_analysis::verdict::{caveat, refused_in_words, sentence};
use tenbin_analysis::{Analysis, Judged};
use tenbin_model::words::and;
use tenbin_model::{Answer, Bytes, Cell, Descriptor, Evidence, Figure, Machine, Refusal, Trial, Verdict};

const SIZE: &str = "size";

/// The size of a cell's file, as the cell states it.
pub(super) fn size_parameter(size: Bytes) -> (String, String) {
    (SIZE.into(), size.0.to_string())
}

/// Comparisons at several sizes, and the size at which the first of them turns round.
#[derive(Debug)]
pub(super) struct Crossover;

impl Analysis for Crossover {
    fn name(&self) -> &'static str {
        "crossover"
    }

    fn judge(&self, machine: &Machine, trial: &Trial) -> Judged {
        let mut answers = comparisons::answers(|cell| self.time(cell), machine, trial);
        let point = |cell: &Cell| {
            let first = answers.iter().find(|answer| answer.cell == cell.arrangement.label)?;
            let size = cell.arrangement.parameter(SIZE)?.parse().ok().map(Bytes)?;
            Some(Point { size, winner: Winner::of(first), answer: first.clone() })
        };
        let points: Vec<Point> = trial.cells.iter().filter_map(point).collect();
        let placement = trial.cells.iter().find_map(|cell| caveat::placement(machine, cell));
        let headline = Answer { caveat: placement, ..headline(trial, &points) };
        let view = cell_by_cell(|cell| self.time(cell), trial, &answers);
        answers.iter_mut().for_each(|answer| answer.headline = false);
        answers.insert(0, headline);
        Judged { answers, findings: Vec::new(), view }
    }
}

struct Point {
    size: Bytes,
    winner: Winner,
    answer: Answer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Winner {
    Left,
    Right,
    Neither,
    Open,
}

impl Winner {
    fn of(answer: &Answer) -> Self {
        match (answer.verdict, &answer.evidence) {
            (Verdict::Different, Some(evidence)) if evidence.ratio > 1.0 => Self::Left,
            (Verdict::Different, Some(_)) => Self::Right,
            (Verdict::Equivalent, _) => Self::Neither,
            _ => Self::Open,
        }
    }

    fn is_one(self) -> bool {
        matches!(self, Self::Left | Self::Right)
    }
}

/// The answer to the experiment: who wins with the smallest file and with the largest one, and where they
/// change places.
fn headline(trial: &Trial, points: &[Point]) -> Answer {
    let Descriptor { subject, quantity, .. } = &trial.descriptor;
    let answer = empty(&trial.descriptor, "", true);
    let refused = |refusal: Refusal| Answer {
        sentence: refused_in_words(&refusal),
        refusal: Some(refusal),
        ..answer.clone()
    };
    let decided = points.iter().filter(|point| point.winner.is_one());
    let won: Vec<(&Point, &Evidence)> =
        decided.filter_map(|point| Some((point, point.answer.evidence.as_ref()?))).collect();
    let (Some((first, small)), Some((last, large))) = (won.first(), won.last()) else {
        if !points.is_empty() && points.iter().all(|point| point.winner == Winner::Neither) {
            let sentence = format!("{subject}: both cost the same at every size.");
            return Answer { verdict: Verdict::Equivalent, sentence, ..answer };
        }
        // Nothing was decided: the first refusal says why.
        let why = points.iter().find_map(|point| point.answer.refusal.clone());
        return refused(why.unwrap_or_else(|| Refusal {
            reached: "no size was measured to the end".into(),
            needs: "one that was".into(),
            remedy: "ask for a smaller one (--set size=4)".into(),
        }));
    };
    let neighbours = won.windows(2).map(|pair| [pair[0].0, pair[1].0]);
    let turns: Vec<[&Point; 2]> = neighbours.filter(|[one, next]| one.winner != next.winner).collect();
    let cheaper = |evidence: &Evidence| {
        if evidence.ratio > 1.0 { evidence.left.clone() } else { evidence.right.clone() }
    };
    let brief = match turns.as_slice() {
        [[below, above]] => {
            format!("{} up to {}, {} from {}", cheaper(small), below.size, cheaper(large), above.size)
        }
        _ => String::new(),
    };
    let [small, large] =
        [small, large].map(|evidence| sentence::alone(*quantity, evidence, Verdict::Different));
    let mut figures = Vec::new();
    let ending = match turns.as_slice() {
        [] if first.size == last.size => String::new(),
        [] => {
            let open = points.iter().filter(|point| !point.winner.is_one()).map(|point| point.size);
            let between = match open.collect::<Vec<_>>().as_slice() {
                [] => "and so at every size between them".to_owned(),
                some => format!("neither is known to be cheaper with {}", and(some)),
            };
            format!(", and {large} with {}; {between}", last.size)
        }
        [[below, above]] => {
            figures = vec![
                Figure::new("crossover above", below.size.0 as f64, "B"),
                Figure::new("crossover below", above.size.0 as f64, "B"),
            ];
            let [below, above] = [below.size, above.size];
            format!(", and {large} with {}; they change places between {below} and {above}", last.size)
        }
        several => {
            let each =
                several.iter().map(|[below, above]| format!("between {} and {}", below.size, above.size));
            return refused(Refusal {
                reached: format!("they change places {} times: {}", several.len(), and(each)),
                needs: "one size at which they do".into(),
                remedy: "measure again where nothing else runs, at sizes between these (--set size=)".into(),
            });
        }
    };
    let sentence = format!("{subject}: {small} with {}{ending}.", first.size);
    Answer {
        verdict: Verdict::Different,
        sentence,
        brief,
        evidence: last.answer.evidence.clone(),
        figures,
        ..answer
    }
}

#[cfg(test)]
mod tests {
    use tenbin_analysis::specimen;
    use tenbin_model::{Ended, Quantity};

    use super::*;

    /// A run of one cell a size, in which the right variant costs so many times what the left one costs.
    fn judged(ratios: &[f64]) -> Judged {
        let cells = (0..).zip(ratios).map(|(number, &ratio)| {
            let mut cell = specimen::cell(200, ratio, 0.02, Ended::Budget, 1 + number);
            let size = Bytes(4096 << (2 * number));
            cell.arrangement.label = format!("with {size}");
            cell.arrangement.parameters = vec![size_parameter(size)];
            cell.arrangement.headline = number == 0;
            cell
        });
        let trial = specimen::trial(Quantity::NanosecondsPerOperation, cells.collect());
        Crossover.judge(&Machine::unobserved("a test"), &trial)
    }

    #[test]
    fn the_sizes_between_which_two_ways_change_places_are_named() {
        let table: [(&[f64], &str); 5] = [
            (&[0.4, 0.7, 1.5, 3.0], "; they change places between 16 KiB and 64 KiB."),
            // Neither is cheaper at one size, so it lies between those that are decided.
            (&[0.4, 1.0, 3.0], "; they change places between 4 KiB and 64 KiB."),
            (&[2.0, 1.5, 3.0], "; and so at every size between them."),
            (&[2.0, 1.0, 3.0], "; neither is known to be cheaper with 16 KiB."),
            (&[2.0], ") with 4 KiB."),
        ];
        for (ratios, ending) in table {
            let Judged { answers, .. } = judged(ratios);
            let first = &answers[0];
            assert!(first.sentence.ends_with(ending), "{ratios:?}: {}", first.sentence);
            assert_eq!(first.verdict, Verdict::Different);
            assert_eq!(first.figures.len(), if ending.contains("change") { 2 } else { 0 });
            assert_eq!(answers.iter().filter(|answer| answer.headline).count(), 1);
            assert_eq!(answers.len(), 1 + ratios.len());
        }
    }

    #[test]
    fn what_changes_places_twice_or_nowhere_is_no_crossover() {
        let first = |ratios: &[f64]| judged(ratios).answers.remove(0);
        let twice = first(&[0.5, 2.0, 0.5]);
        assert_eq!(twice.verdict, Verdict::Refused);
        let places = "2 times: between 4 KiB and 16 KiB and between 16 KiB and 64 KiB";
        assert!(twice.sentence.contains(places), "{}", twice.sentence);
        let alike = first(&[1.0, 1.0]);
        assert_eq!(alike.verdict, Verdict::Equivalent);
        assert!(alike.sentence.contains("both cost the same"), "{}", alike.sentence);
    }
}
