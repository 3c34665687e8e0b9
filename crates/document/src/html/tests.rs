//! What a browser gets.

use tenbin_model::{Picoseconds, Verdict};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::svg::Pen;
use super::*;
use crate::{
    Axis, Bars, Chart, Curve, Estimate, Heat, Intervals, Mark, Page, Samples, Section, Series, Style,
    Summary, Unit,
};

/// Names by which users have broken out of markup, styles and scripts, a line each.
const HOSTILE: &str = include_str!("../../../../fixtures/hostile.txt");

fn estimate(name: &str, figure: &str) -> Estimate {
    let (name, figure, verdict) = (name.into(), figure.into(), Verdict::Different);
    Estimate { name, ratio: 2.0, low: 1.0, high: 3.0, figure, verdict }
}

/// A document of every kind of block, with this for every word in it.
fn everything(word: &str) -> Document {
    let word = || word.to_owned();
    let axis = || Axis { name: word(), unit: Unit::Time, is_logarithmic: true };
    let mut document = Document::new();
    document
        .space()
        .line(word())
        .paragraph(4, word())
        .entry(word(), word())
        .table(Table::new([word(), word()], vec![vec![word(), word()]]))
        .push(Block::Bars(Bars {
            rows: word(),
            labels: vec![word(), word()],
            series: vec![Series { name: word(), times: vec![Some(Picoseconds(1)), Some(Picoseconds(100))] }],
            marks: vec![(1, word())],
            note: word(),
        }))
        .push(Block::Heat(Heat { labels: vec![word(), word()], times: vec![vec![None, Some(1.0)]; 2] }))
        .push(Block::Intervals(Intervals {
            title: word(),
            sides: [word(), word()],
            rows: vec![estimate(&word(), &word())],
            marked: word(),
        }))
        .push(Block::Chart(Chart {
            title: word(),
            x: axis(),
            y: axis(),
            curves: vec![Curve { name: word(), points: vec![(1.0, 2.0), (2.0, 3.0)], style: Style::Steps }],
        }));
    let inner = document.clone();
    document.push(Block::Folded { title: word(), document: inner });
    document
}

fn section(name: &str, about: &str, document: Document) -> Section {
    Section { name: name.into(), about: about.into(), document, samples: Vec::new() }
}

fn page(word: &str) -> Page {
    Page {
        title: word.into(),
        about: vec![(word.into(), word.into())],
        lead: word.into(),
        summaries: vec![Summary {
            section: 0,
            name: word.into(),
            mark: Mark::Verdict(Verdict::Refused),
            sentence: word.into(),
        }],
        remarks: everything(word),
        sections: vec![section(word, word, everything(word))],
    }
}

#[test]
fn words_are_never_markup() {
    // Whatever the words, the markup is that of harmless ones.
    let tag = |tag: &str| tag.split([' ', '>']).next().unwrap_or("").to_owned();
    let tags = |html: &str| html.split('<').skip(1).map(tag).collect::<Vec<_>>();
    let expected = tags(&page("a word").html());
    for word in HOSTILE.lines() {
        let html = page(word).html();
        assert_eq!(tags(&html), expected, "{word}");
        // Within an attribute a quotation mark would end it.
        assert_eq!(html.matches('"').count(), page("a word").html().matches('"').count(), "{word}");
    }
}

#[test]
fn a_page_asks_nobody_for_anything() {
    let html = page("a word").html();
    for forbidden in ["http://", "https://", "//", "url(", "@import", "<script", "<link", "src="] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
    assert!(html.contains("default-src 'none'"));
    assert_eq!(html, page("a word").html());
}

#[test]
fn a_program_comes_with_samples_and_its_hash() {
    let mut page = page("a word");
    page.sections[0].samples =
        vec![Samples { title: "all".into(), unit: Unit::Time, series: vec![("a".into(), vec![1.0, 0.5])] }];
    let html = page.html();
    let program = html.split("<script>").nth(1).unwrap().split("</script>").next().unwrap();
    let hash = STANDARD.encode(Sha256::digest(program));
    assert!(html.contains(&format!("script-src 'sha256-{hash}'")), "{hash}");
    // 1.0 and 0.5 as floats of 32 bits.
    assert!(html.contains("<data value=\"AACAPwAAAD8=\" hidden>a</data>"), "{html}");
    for word in HOSTILE.lines() {
        page.sections[0].samples[0].title = word.into();
        page.sections[0].samples[0].series[0].0 = word.into();
        assert_eq!(page.html().matches("<script").count(), 1, "{word}");
        assert_eq!(page.html().matches("<data").count(), 1, "{word}");
    }
}

#[test]
fn a_pair_of_backticks_is_code_and_one_alone_a_letter() {
    let html = |text: &str| inline(text).into_string();
    assert_eq!(html("run `a<b` now"), "run <code>a&lt;b</code> now");
    assert_eq!(html("`a` and `b"), "<code>a</code> and `b");
}

#[test]
fn every_drawing_has_a_title() {
    let html = page("a word").html();
    assert_eq!(html.matches("<figure>").count(), 16);
    assert_eq!(html.matches("role=\"img\" aria-label=").count(), 16);
}

#[test]
fn no_two_of_thirty_six_curves_look_alike() {
    let styles = (0..36).map(svg::style).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(styles.len(), 36);
}

fn ratios(name: &str, count: usize) -> String {
    let rows = vec![estimate(name, "2x (1 to 3)"); count];
    let intervals = Intervals { title: "Time".into(), rows, ..Intervals::default() };
    Block::Intervals(intervals).html().into_string()
}

#[test]
fn many_ratios_are_several_drawings_on_one_scale() {
    let drawings = |count| ratios("a : b", count).matches("role=\"img\"").count();
    assert_eq!([24, 25, 48, 69].map(drawings), [1, 2, 2, 3]);
    let html = ratios("a : b", 25);
    for (words, count) in [("<figure>", 1), ("aria-label=\"Time, continued\"", 1), ("path class=\"one\"", 2)]
    {
        assert_eq!(html.matches(words).count(), count, "{words}");
    }
}

#[test]
fn a_figure_stands_below_a_name_that_leaves_no_room() {
    let is_beside = |name: &str| ratios(name, 1).contains("<tspan x=\"672\">");
    assert!(is_beside("a : b") && !is_beside(&"CLOCK_MONOTONIC ".repeat(5)));
    // What is cut off stands in the title. Wide letters are cut sooner.
    assert!(ratios(&"a".repeat(90), 1).contains("<title>…aaaaaaaaaaa</title>"));
    assert!(ratios(&"測".repeat(80), 1).contains(&format!(">{}… <tspan", "測".repeat(55))));
}

#[test]
fn what_has_nothing_to_draw_draws_nothing() {
    let axis = || Axis { name: String::new(), unit: Unit::Time, is_logarithmic: true };
    for block in [
        Block::Bars(Bars::default()),
        Block::Heat(Heat::default()),
        Block::Intervals(Intervals::default()),
        Block::Chart(Chart { title: "x".into(), x: axis(), y: axis(), curves: Vec::new() }),
    ] {
        assert_eq!(block.html().into_string(), "");
    }
}

#[test]
fn a_large_matrix_takes_neighbours_together() {
    let labels = (0..256).map(|cpu: u32| cpu.to_string()).collect();
    let times =
        (0..256).map(|row| (0..256).map(|column| (row != column).then_some(f64::from(20 + row))).collect());
    let html = Block::Heat(Heat { labels, times: times.collect() }).html().into_string();
    assert!(html.contains("4 neighbours are taken together"), "{html}");
    assert!(html.len() < 600_000, "{}", html.len());
}

#[test]
fn one_page_looks_like_this() {
    let mut document = Document::new();
    document
        .line("in case A")
        .paragraph(2, "Less is more.")
        .table(Table::new(["name", "ns/op"], vec![vec!["add".into(), "1.5".into()]]));
    let page = Page {
        title: "tenbin: pipe".into(),
        about: vec![("kernel".into(), "Linux 6.1".into())],
        summaries: vec![Summary {
            section: 0,
            name: "pipe".into(),
            mark: Mark::Verdict(Verdict::Different),
            sentence: "A is cheaper.".into(),
        }],
        sections: vec![section("pipe", "Which carries more?", document)],
        ..Page::default()
    };
    let html = page.html();
    insta::assert_snapshot!(html.split_once("</head>").unwrap().1);
}

#[test]
fn a_pen_moves_from_where_it_is_by_tenths_of_a_pixel() {
    let moves = |draw: &dyn Fn(&mut Pen)| {
        let mut pen = Pen::default();
        draw(&mut pen);
        pen.moves()
    };
    let places = [(10.0, 20.04), (10.5, 19.5), (9.96, 22.0)];
    assert_eq!(moves(&|pen| places.iter().for_each(|place| pen.line(*place))), "m10 20l.5-.5l-.5 2.5");
    assert_eq!(moves(&|pen| places.iter().for_each(|place| pen.dot(*place))), "m10 20h0m.5-.5h0m-.5 2.5h0");
    // A step of less than a pixel is part of the one before.
    let stairs = [(10.0, 20.0), (10.4, 18.0), (10.9, 17.0), (11.0, 15.0), (14.0, 15.0), (14.2, 12.5)];
    assert_eq!(moves(&|pen| pen.stairs(stairs.into_iter())), "m10 20v-3h1v-2h3v-2.5");
    assert_eq!(moves(&|pen| pen.stairs(std::iter::empty())), "");
}
