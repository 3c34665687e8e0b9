//! tenbin itself: one pair of its own ladder.

use serde_json::Value;

use super::tool::{Answer, Finding, Question, Ready, Tool, number, unreadable};
use xtask::architecture::{Architecture, Target};
use xtask::command::{Output, status_in_words};
use xtask::workspace::Profile;

pub(super) const TOOL: Tool = Tool {
    name: "tenbin",
    rule: "one pair of `tenbin calibrate`; they differ if its verdict is \"different\"; a verdict that is refused is \
           neither; ratio as found.",
    needs: || Architecture::HERE.to_build(),
    prepare: |stage| {
        let host = Architecture::HERE;
        let binary = stage.workspace.build(host, Profile::Release)?;
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

/// The exit status of a calibration that was refused as a whole.
const REFUSED: i32 = 3;

fn judged(output: &Output, effect: f64) -> Result<Finding, String> {
    match output.code {
        Some(0) => judge(&output.text, effect),
        Some(REFUSED) => Ok(Finding { truth: 1.0 + effect, ratio: None, answer: Answer::Refused }),
        code => Err(format!("{}: {}", status_in_words(code), output.diagnostics)),
    }
}

/// The one pair of the ladder in a calibration, as a finding.
fn judge(text: &str, effect: f64) -> Result<Finding, String> {
    let document = serde_json::from_str::<Value>(text).map_err(|error| error.to_string())?;
    let series =
        document.pointer("/calibration/series").and_then(Value::as_array).ok_or("it holds no series")?;
    let asked = |it: &&Value| {
        it["purpose"] == "ladder" && it["effect"].as_f64().is_some_and(|found| (found - effect).abs() < 1e-9)
    };
    let series = series.iter().find(asked).ok_or_else(|| format!("no ladder with the effect {effect}"))?;
    let Some(pair) = series["pairs"].get(0) else {
        // A series that cannot be asked at all is an answer too.
        return match series["refused"].as_str() {
            Some(_) => Ok(Finding { truth: 1.0 + effect, ratio: None, answer: Answer::Refused }),
            None => Err("the series has no pair, and does not say why".into()),
        };
    };
    let answer = match pair["verdict"].as_str() {
        Some("different") => Answer::Different,
        Some("equivalent") => Answer::Same,
        Some("refused") => Answer::Refused,
        other => return Err(format!("the verdict {other:?} is not known")),
    };
    Ok(Finding { truth: number(pair, "/truth")?, ratio: number(pair, "/found/ratio").ok(), answer })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(pairs: &str) -> String {
        format!(
            r#"{{"calibration": {{"series": [
                {{"purpose": "layout", "work": "call", "effect": 0.0, "refused": null, "pairs": [{{}}]}},
                {{"purpose": "ladder", "work": "alu", "effect": 0.01, {pairs}}}]}}}}"#
        )
    }

    fn pair(verdict: &str, found: &str) -> String {
        document(&format!(
            r#""refused": null, "pairs": [{{"truth": 1.0099, "verdict": "{verdict}", "found": {found}, "took": 2000000000000}}]"#
        ))
    }

    const FOUND: &str = r#"{"ratio": 1.0101, "interval": {"low": 1.0098, "high": 1.0104}}"#;

    #[test]
    fn its_verdicts_are_answers() {
        for (verdict, answer) in
            [("different", Answer::Different), ("equivalent", Answer::Same), ("refused", Answer::Refused)]
        {
            let found = judge(&pair(verdict, FOUND), 0.01).expect("it is a calibration");
            assert_eq!(found, Finding { truth: 1.0099, ratio: Some(1.0101), answer });
        }
        let found = judge(&pair("refused", "null"), 0.01).expect("it is a calibration");
        assert_eq!((found.ratio, found.answer), (None, Answer::Refused));
    }

    #[test]
    fn a_series_that_was_refused_as_a_whole_is_refused() {
        let text = document(r#""refused": "less than two operations", "pairs": []"#);
        let found = judge(&text, 0.01).expect("it is a calibration");
        assert_eq!(found, Finding { truth: 1.01, ratio: None, answer: Answer::Refused });
    }

    #[test]
    fn a_refusal_is_an_answer_and_another_exit_is_a_failure() {
        let output = |code, text: &str| Output {
            code: Some(code),
            text: text.into(),
            diagnostics: "why".into(),
            time: std::time::Duration::ZERO,
        };
        let refused = judged(&output(3, "Refused: no clock\n"), 0.01).expect("a refusal is an answer");
        assert_eq!(refused.answer, Answer::Refused);
        assert_eq!(judged(&output(0, &pair("different", FOUND)), 0.01).expect("a verdict").truth, 1.0099);
        assert!(judged(&output(2, ""), 0.01).is_err_and(|reason| reason == "exit status 2: why"));
    }

    #[test]
    fn what_was_not_asked_for_is_no_answer() {
        assert!(judge(&pair("different", FOUND), 0.0).is_err());
        assert!(judge(&pair("maybe", FOUND), 0.01).is_err());
        assert!(judge(&document(r#""refused": null, "pairs": []"#), 0.01).is_err());
        assert!(judge("{}", 0.0).is_err());
    }

    #[test]
    fn effects_are_said_in_per_cent() {
        assert_eq!([0.0, 0.01, 0.002, 0.07].map(per_cent), ["0", "1", "0.2", "7"]);
    }
}
