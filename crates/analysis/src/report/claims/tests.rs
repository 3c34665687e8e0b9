use tenbin_model::{CheckReport, CheckedQuestion, ClaimFigure, ClaimOutcome, Interval, JudgedClaim};

use super::*;

/// Whatever a page or a reader of XML could take for its own.
const HOSTILE: &str = "<script>&\"']]>@all #1 **b** [x](http://y.z) `a` | ![i](j) <!-- \u{1}\n- <b>";

fn claim(name: &str, outcome: ClaimOutcome, sentence: &str) -> JudgedClaim {
    JudgedClaim {
        name: name.into(),
        claim: "new takes at most 1 s".into(),
        outcome,
        sentence: sentence.into(),
        needs: (outcome == ClaimOutcome::NotDecided).then(|| "It needs more.".into()),
        figures: vec![ClaimFigure {
            what: "median time of `new`".into(),
            unit: "s".into(),
            interval: Interval { low: 0.5, high: 0.75 },
            least: None,
            most: Some(1.0),
            level: Some(0.005),
            count: 64,
        }],
    }
}

fn report(claims: Vec<JudgedClaim>) -> CheckReport {
    let (name, run, fault) = ("parse".into(), None, None);
    CheckReport::of(vec![CheckedQuestion { name, run, level: 0.01, family: 2, seconds: 3.0, fault, claims }])
}

fn of_each() -> CheckReport {
    report(vec![
        claim("one", ClaimOutcome::Holds, "Holds: `new` took 1 s."),
        claim("two", ClaimOutcome::Refuted, HOSTILE),
        claim("three", ClaimOutcome::NotDecided, HOSTILE),
    ])
}

#[test]
fn the_answer_comes_first_then_every_claim() {
    let text = claims(&of_each()).text(100);
    assert!(text.starts_with("3 claims: 1 holds, 1 refuted, 1 not decided\n\nparse.one: "), "{text}");
    assert!(text.contains("  It needs more.\n"), "{text}");
    assert!(text.ends_with("any of its 2 exact intervals misses with a probability of 1 % at most.\n"));
}

/// An element of XML, as far as this writer makes some.
#[derive(Debug)]
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    children: Vec<Element>,
}

impl Element {
    fn of(&self, name: &str) -> &str {
        &self.attributes.iter().find(|(known, _)| known == name).unwrap().1
    }
}

/// Reads the XML that is written here; whatever is not well formed panics.
fn parsed(xml: &str) -> Element {
    let mut rest = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").unwrap();
    let mut open: Vec<Element> = Vec::new();
    loop {
        let start = rest.find('<').unwrap();
        let text = &rest[..start];
        assert!(!text.contains('>') && text.matches('&').count() <= text.matches(';').count(), "{text}");
        rest = &rest[start + 1..];
        // No attribute holds a `>` that is not written as an entity.
        let end = rest.find('>').unwrap();
        let tag = &rest[..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            let closed = open.pop().unwrap();
            assert_eq!(closed.name, name);
            match open.last_mut() {
                Some(above) => above.children.push(closed),
                None => {
                    assert_eq!(rest, "\n");
                    return closed;
                }
            }
            continue;
        }
        let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, mut words) = tag.split_once(' ').unwrap_or((tag, ""));
        let mut attributes = Vec::new();
        while let Some((key, after)) = words.trim_start().split_once("=\"") {
            let (value, after) = after.split_once('"').unwrap();
            assert!(!value.contains(['<', '>', '\n']) && value.split('&').skip(1).all(|it| it.contains(';')));
            attributes.push((key.to_owned(), value.to_owned()));
            words = after;
        }
        let element = Element { name: name.into(), attributes, children: Vec::new() };
        match open.last_mut() {
            Some(above) if empty => above.children.push(element),
            _ => open.push(element),
        }
    }
}

/// An element, the attributes that it must have, those that it may have, and what may stand in it.
type Rule = (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

/// What junit-10.xsd (Jenkins, plugin xunit) asks of each element.
const RULES: [Rule; 7] = [
    ("testsuites", &[], &["name", "time", "tests", "failures", "disabled", "errors"], &["testsuite"]),
    (
        "testsuite",
        &["name", "tests"],
        &["failures", "errors", "time", "disabled", "skipped", "timestamp", "hostname", "id", "package"],
        &["properties", "testcase", "system-out", "system-err"],
    ),
    (
        "testcase",
        &["name", "classname"],
        &["assertions", "time", "status"],
        &["skipped", "error", "failure", "system-out", "system-err"],
    ),
    ("failure", &[], &["type", "message"], &[]),
    ("error", &[], &["type", "message"], &[]),
    ("skipped", &[], &["type", "message"], &[]),
    ("system-out", &[], &[], &[]),
];

fn assert_fits(element: &Element) {
    let (_, required, optional, children) = RULES.iter().find(|rule| rule.0 == element.name).unwrap();
    for name in *required {
        assert!(element.attributes.iter().any(|(known, _)| known == name), "{name} of {element:?}");
    }
    for (name, value) in &element.attributes {
        assert!(required.contains(&name.as_str()) || optional.contains(&name.as_str()), "{name}");
        match name.as_str() {
            "tests" | "failures" | "errors" | "skipped" => drop(value.parse::<u32>().unwrap()),
            "time" => drop(value.parse::<f64>().unwrap()),
            _ => {}
        }
    }
    for child in &element.children {
        assert!(children.contains(&child.name.as_str()), "{} in {}", child.name, element.name);
        assert_fits(child);
    }
}

#[test]
fn junit_has_the_nesting_and_attributes_of_its_schema() {
    let root = parsed(&claims_as_junit(&of_each()));
    assert_eq!(root.name, "testsuites");
    assert_fits(&root);
    let suite = &root.children[0];
    assert_eq!(["tests", "failures", "errors", "skipped"].map(|name| suite.of(name)), ["3", "1", "0", "1"]);
    let outcomes: Vec<&str> = suite.children.iter().map(|case| case.children[0].name.as_str()).collect();
    assert_eq!(outcomes, ["system-out", "failure", "skipped"]);
}

/// A command that does wrong work is no test that somebody has left out.
#[test]
fn what_is_not_decided_for_a_fault_is_an_error() {
    let mut report = of_each();
    report.questions[0].fault = Some("`a`: it ended with status 1".into());
    let root = parsed(&claims_as_junit(&report));
    assert_fits(&root);
    let suite = &root.children[0];
    assert_eq!(["failures", "errors", "skipped"].map(|name| suite.of(name)), ["1", "1", "0"]);
    let error = &suite.children[2].children[0];
    assert_eq!((&*error.name, error.of("message")), ("error", "`a`: it ended with status 1"));
    let first = "3 claims: 1 holds, 1 refuted, 1 not decided; 1 question at fault";
    assert!(claims(&report).text(100).starts_with(first) && claims_as_markdown(&report).contains(first));
}

#[test]
fn no_letter_of_a_claim_breaks_xml() {
    let escaped = in_xml(HOSTILE);
    assert!(!escaped.contains(['<', '>', '"', '\'', '\n', '\u{1}']), "{escaped}");
    for written in ["&lt;script&gt;&amp;&quot;&apos;]]&gt;", "&#10;"] {
        assert!(escaped.contains(written), "{escaped}");
    }
}

#[test]
fn no_letter_of_a_claim_is_markup_in_markdown() {
    let page = claims_as_markdown(&of_each());
    let urgent = page.find("parse.two").unwrap();
    assert!(urgent < page.find("parse.three").unwrap() && urgent < page.find("<details>").unwrap());
    for markup in ["<script", "@all", " #1", "**", "](", "://", "<!--", "- <b>", "<b>"] {
        assert!(!page.contains(markup), "{markup} in {page}");
    }
    assert_eq!(page.matches("<code>a</code>").count(), 2, "{page}");
}

#[test]
fn a_page_of_many_claims_has_at_most_forty_lines() {
    for [refuted, undecided, hold] in
        [[0, 0, 0], [1, 1, 1], [60, 60, 60], [26, 1, 1], [0, 0, 90], [25, 1, 40]]
    {
        let each = [ClaimOutcome::Refuted, ClaimOutcome::NotDecided, ClaimOutcome::Holds];
        let claims = each.into_iter().zip([refuted, undecided, hold]).flat_map(|(outcome, count)| {
            (0..count).map(move |number| claim(&format!("c{number}"), outcome, &"long ".repeat(400)))
        });
        let page = claims_as_markdown(&report(claims.collect()));
        assert!(page.lines().count() <= 40, "{page}");
        let shown = page.matches("<code>").count();
        assert_eq!(shown, (refuted + undecided + hold).min(SHOWN));
        assert!(page.len() < 65_536);
    }
}
