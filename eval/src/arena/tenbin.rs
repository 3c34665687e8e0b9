//! tenbin itself: one pair of its own ladder.

use tenbin_model::{CalibrationReport, Purpose, Series, Verdict};

use super::tool::{Answer, Finding, Question, Ready, Tool, unreadable};
use xtask::architecture::{Architecture, Target};
use xtask::command::{Output, REFUSED, status_in_words};
use xtask::workspace::Profile;

pub(super) const TOOL: Tool = Tool {
    name: "tenbin",
    rule: "one pair of `tenbin calibrate`; they differ if its verdict is \"different\"; a verdict that is refused is \
           neither; ratio as found.",
    needs: || Architecture::HERE.to_build(),
    prepare: |stage| {
        let host = Architecture::HERE;
        let binary = stage.workspace.build(host, Profile::Dist)?;
        let version = host.command(&binary).argument("--version").read()?;
        let weigh = move |question: &Question<'_>| {
            let output = question
                .stage
                .pinned(&binary)
                .arguments(["calibrate", "--works", &question.work.name])
                .arguments(["--effects", &per_cent(question.effect)])
                .arguments(["--pairs", "1", "--seconds", &question.stage.seconds.to_string()])
                .arguments(["--no-store", "--json"])
                .capture_quietly()?;
            judged(&output, question.effect).map_err(|reason| unreadable("what tenbin says", reason))
        };
        Ok(Ready { version: version.trim().trim_start_matches("tenbin ").into(), weigh: Box::new(weigh) })
    },
};

/// The effect as tenbin's command line takes it, without the digits that binary fractions add.
fn per_cent(effect: f64) -> String {
    ((effect * 1e8).round() / 1e6).to_string()
}

fn judged(output: &Output, effect: f64) -> Result<Finding, String> {
    match output.code {
        Some(0) => judge(&output.text, effect),
        Some(REFUSED) => Ok(Finding { truth: 1.0 + effect, ratio: None, answer: Answer::Refused }),
        code => Err(format!("{}: {}", status_in_words(code), output.diagnostics)),
    }
}

/// The one pair of the ladder in a calibration, as a finding.
fn judge(text: &str, effect: f64) -> Result<Finding, String> {
    let report = serde_json::from_str::<CalibrationReport>(text).map_err(|error| error.to_string())?;
    let calibration = report.calibration.ok_or("it holds no calibration")?;
    let asked = |it: &&Series| it.purpose == Purpose::Ladder && (it.effect - effect).abs() < 1e-9;
    let series = calibration.series.iter().find(asked);
    let series = series.ok_or_else(|| format!("no ladder with the effect {effect}"))?;
    let Some(pair) = series.pairs.first() else {
        // A series that cannot be asked at all is an answer too.
        return match &series.refused {
            Some(_) => Ok(Finding { truth: 1.0 + effect, ratio: None, answer: Answer::Refused }),
            None => Err("the series has no pair, and does not say why".into()),
        };
    };
    let answer = match pair.verdict {
        Verdict::Different => Answer::Different,
        Verdict::Equivalent => Answer::Same,
        Verdict::Refused => Answer::Refused,
    };
    Ok(Finding { truth: pair.truth, ratio: pair.measured.map(|measured| measured.ratio), answer })
}

#[cfg(test)]
mod tests {
    use tenbin_model::calibration::{Calibration, Load, MeasuredRatio, Pair};
    use tenbin_model::{Interval, Machine, Picoseconds};

    use super::*;
    use crate::tally::provenance;

    /// What is written of a calibration with these series of an effect each.
    fn document(series: Vec<Series>) -> String {
        let calibration = Calibration {
            provenance: provenance(),
            machine: Machine::unobserved("a test"),
            load: Load { per_cpu: 0, threads: 0, average: [None; 2] },
            level: 0.01,
            time: Picoseconds(1),
            series,
        };
        let (schema, calibration) = (CalibrationReport::SCHEMA.into(), Some(calibration));
        let report = CalibrationReport { schema, id: None, refusal: None, rates: None, calibration };
        serde_json::to_string(&report).expect("it has a shape")
    }

    fn series(purpose: Purpose, effect: f64, refused: Option<&str>, pairs: Vec<Pair>) -> Series {
        let (work, what, refused) = ("alu".into(), "adds".into(), refused.map(String::from));
        Series { purpose, work, what, effect, margin: 0.01, refused, pairs }
    }

    fn pair(verdict: Verdict, ratio: Option<f64>) -> String {
        let measured =
            ratio.map(|ratio| MeasuredRatio { ratio, interval: Interval { low: ratio, high: ratio } });
        let took = Picoseconds(2_000_000_000_000);
        let pair = Pair {
            truth: 1.0099,
            verdict,
            measured,
            why: None,
            blocks: 20,
            operations: 2,
            took,
            layout: None,
            process: None,
        };
        let other = Pair { truth: 1.0, ..pair.clone() };
        document(vec![
            series(Purpose::Layout, 0.0, None, vec![other]),
            series(Purpose::Ladder, 0.01, None, vec![pair]),
        ])
    }

    const RATIO: Option<f64> = Some(1.0101);

    #[test]
    fn its_verdicts_are_answers() {
        for (verdict, answer) in [
            (Verdict::Different, Answer::Different),
            (Verdict::Equivalent, Answer::Same),
            (Verdict::Refused, Answer::Refused),
        ] {
            let finding = judge(&pair(verdict, RATIO), 0.01).expect("it is a calibration");
            assert_eq!(finding, Finding { truth: 1.0099, ratio: Some(1.0101), answer });
        }
        let finding = judge(&pair(Verdict::Refused, None), 0.01).expect("it is a calibration");
        assert_eq!((finding.ratio, finding.answer), (None, Answer::Refused));
    }

    #[test]
    fn a_series_that_was_refused_as_a_whole_is_refused() {
        let text = document(vec![series(Purpose::Ladder, 0.01, Some("less than two operations"), vec![])]);
        let finding = judge(&text, 0.01).expect("it is a calibration");
        assert_eq!(finding, Finding { truth: 1.01, ratio: None, answer: Answer::Refused });
    }

    #[test]
    fn a_refusal_is_an_answer_and_another_exit_is_a_failure() {
        let output = |code, text: &str| {
            let (text, diagnostics) = (text.into(), "why".into());
            Output { code: Some(code), text, diagnostics, ..Output::default() }
        };
        let refused = judged(&output(3, "Refused: no clock\n"), 0.01).expect("a refusal is an answer");
        assert_eq!(refused.answer, Answer::Refused);
        let judged_pair = judged(&output(0, &pair(Verdict::Different, RATIO)), 0.01);
        assert_eq!(judged_pair.expect("a verdict").truth, 1.0099);
        assert!(judged(&output(2, ""), 0.01).is_err_and(|reason| reason == "exit status 2: why"));
    }

    #[test]
    fn what_was_not_asked_for_is_no_answer() {
        assert!(judge(&pair(Verdict::Different, RATIO), 0.0).is_err());
        assert!(judge(&pair(Verdict::Different, RATIO).replace("different", "maybe"), 0.01).is_err());
        assert!(judge(&document(vec![series(Purpose::Ladder, 0.01, None, vec![])]), 0.01).is_err());
        assert!(judge("{}", 0.0).is_err());
    }

    #[test]
    fn effects_are_said_in_per_cent() {
        assert_eq!([0.0, 0.01, 0.002, 0.07].map(per_cent), ["0", "1", "0.2", "7"]);
    }
}
