//! A run as a file for a browser: what stands in it, and that it is the same whenever it is made.
//!
//! Nothing here measures: the run was kept by an earlier version. What a browser makes of the file,
//! `cargo xtask browser` sees.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

#[allow(dead_code, reason = "the other files of tests use the rest")]
mod place;

use place::{Place, ending, json, text};

/// A place whose store has one run, of seven experiments.
fn with_a_run() -> Place {
    let place = Place::new();
    let kept = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/wire/format_2.db"));
    fs::copy(kept, place.path("store.db")).unwrap();
    place
}

fn report(place: &Place, name: &str) -> String {
    place.answered(&["report", "latest", "-o", name]);
    fs::read_to_string(place.path(name)).unwrap()
}

/// This of every headline.
fn headlines(place: &Place, key: &str) -> Vec<String> {
    let answers = json(&place.tenbin(&["show", "latest", "--json"]));
    let headlines = answers["answers"].as_array().unwrap().iter().filter(|answer| answer["headline"] == true);
    headlines.map(|answer| answer[key].as_str().unwrap().to_owned()).collect()
}

/// As a browser reads it.
fn read(html: &str) -> String {
    html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

#[test]
fn a_report_holds_every_headline_and_is_always_the_same() {
    let place = with_a_run();
    let html = report(&place, "report.html");
    let sentences = headlines(&place, "sentence");
    assert!(sentences.len() >= 7, "{sentences:?}");
    for sentence in sentences {
        assert!(read(&html).contains(&sentence), "{sentence}");
    }
    assert_eq!(report(&place, "again.html"), html);
    assert!(html.len() <= 400 << 10, "{} bytes", html.len());
    assert_eq!(text(&place.tenbin(&["report", "-o", "-"]).stdout), html);
}

/// The README's picture is one that `tenbin report` draws of the run whose lines stand above it.
#[test]
fn the_picture_of_the_readme_is_of_its_run() {
    const STYLE: &str = "svg{background:#fff}text{font:12px system-ui,sans-serif;fill:#1b1b1f}path{fill:none}\
        .grid{stroke:#dcdde1}.one{stroke:#85888f;stroke-dasharray:3 3}.interval{stroke:#0060a8;stroke-width:3}\
        .mark{stroke:#0060a8;stroke-width:10;stroke-linecap:round}.middle{text-anchor:middle}\
        .end{text-anchor:end}g text{paint-order:stroke;stroke:#fff;stroke-width:4px}";
    let place = Place::new();
    let kept = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/pages/survey.db"));
    fs::copy(kept, place.path("store.db")).unwrap();
    let html = report(&place, "report.html");
    let (_, part) = html.split_once("<h2 id=\"part-2-name\">pipe</h2>").unwrap();
    let (_, drawing) = part.split_once("<svg ").unwrap();
    let (drawing, _) = drawing.split_once("</svg>").unwrap();
    let (head, body) = drawing.split_once('>').unwrap();
    let svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" {head}><style>{STYLE}</style>{body}</svg>\n"
    );
    let picture = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pipe.svg"));
    snapbox::Assert::new().action_env("SNAPSHOTS").eq(svg, snapbox::Data::read_from(picture, None));
}

/// A run of two benchmarks of another tool, the second of them by `factor` slower.
fn imported(place: &Place, name: &str, factor: f64) -> String {
    let times =
        |command: f64| (0..200).map(|run| command + f64::from(run * 7919 % 100) * 1e-5).collect::<Vec<_>>();
    let result = |command: &str, time: f64| serde_json::json!({ "command": command, "times": times(time) });
    let json = serde_json::json!({ "results": [result("old", 0.1), result("<b>new</b>", 0.1 * factor)] });
    fs::write(place.path(name), json.to_string()).unwrap();
    place.answered(&["import", name]).trim_end().rsplit(' ').next().unwrap().to_owned()
}

#[test]
fn runs_stand_side_by_side_and_what_moved_is_first() {
    let place = with_a_run();
    let (one, other) = (imported(&place, "one.json", 1.1), imported(&place, "two.json", 1.25));
    place.answered(&["runs", "--label", "before", &one]);
    place.answered(&["runs", "--label", "after", &other]);
    let html = place.answered(&["report", &one, &other, "-o", "-"]);
    assert!(html.contains("<title>tenbin: 2 runs of weigh</title>"), "{html}");
    // More than ten per cent more, in the third shade.
    assert!(html.contains("<td class=\"more3\">"), "{html}");
    assert!(html.contains("(+13.6 %)"), "{html}");
    // By what a reader calls them, and with what a mark is about.
    assert!(html.contains(">before<") && html.contains(">after<"), "{html}");
    assert!(html.contains("Within each run old against &lt;b&gt;new&lt;/b&gt;:</li>"), "{html}");
    assert!(html.contains("&lt;b&gt;new&lt;/b&gt;") && !html.contains("<b>new</b>"), "{html}");
}

#[test]
fn samples_come_with_a_program_that_alone_may_run() {
    let place = with_a_run();
    let run = imported(&place, "one.json", 1.1);
    let output = place.tenbin(&["report", &run, "--samples", "-o", "-"]);
    let html = text(&output.stdout);
    assert_eq!(html.matches("<script>").count(), 1);
    assert_eq!(html.matches("script-src 'sha256-").count(), 1);
    assert!(html.contains("Permission is hereby granted"), "the licence of uPlot");
    // Two times 200 floats in base 64.
    let longest =
        html.split("value=\"").skip(1).filter_map(|rest| rest.split('"').next()).map(str::len).max();
    assert_eq!(longest, Some((200_usize * 4).div_ceil(3) * 4));
}

#[test]
fn markdown_shows_the_answers_and_folds_the_rest() {
    let place = with_a_run();
    let output = place.tenbin(&["report", "latest", "--markdown", "-o", "-"]);
    let markdown = text(&output.stdout);
    let seen = markdown.lines().take_while(|line| *line != "<details>").count();
    assert!((9..=30).contains(&seen), "{markdown}");
    assert!(markdown.contains("<code>fork</code>: "), "{markdown}");
    assert!(markdown.len() < 65_536, "{}", markdown.len());
    assert_eq!(markdown.matches("<details>").count(), markdown.matches("</details>").count());
}

/// What a survey says of the run: the figure first, no longer than a line.
const LINES: &str = "\
the same within 0.5 %: the left one and the right one, in an empty loop
L1 48 KiB, L2 1 MiB (firmware: 2 MiB), L3 48 MiB (firmware: 480 MiB)
not known: ask on a machine with at least 4 CPUs, or allow more of them
62.8 ns by compare-and-swap on one line, 140 ns by flags on two lines, within one L3
27x cheaper (26 to 28): a buffer each than one shared buffer
73.2 µs + 55 ns a resident page (52 to 59): fork
35.7 µs late with timerfd, 85.9 µs late with clock_nanosleep, armed for 1 ms";

#[test]
fn every_headline_has_a_line_of_its_own() {
    let place = with_a_run();
    assert_eq!(headlines(&place, "brief").join("\n"), LINES);
}

#[test]
fn one_experiment_of_a_run_is_shown_alone() {
    let place = with_a_run();
    let shown = place.answered(&["show", "latest", "caches"]);
    assert!(shown.starts_with("caches    How large are the caches"), "{shown}");
    assert!(!shown.contains("Does a buffer that two threads share thrash"), "{shown}");
    for (arguments, words) in [
        (["show", "latest", "wake"], "it has null, caches, numa, c2c, thrash, fork, timer"),
        (["show", "caches", "numa"], "no run"),
    ] {
        let (status, stderr) = ending(&place.tenbin(&arguments));
        assert!(status == 2 && stderr.contains(words), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_report_that_cannot_be_made_leaves_nothing() {
    let place = with_a_run();
    for arguments in [
        &["report"][..],
        &["report", "ffff", "-o", "report.html"],
        &["report", "-o", "no-such-folder/report.html"],
        &["report", "--samples", "--markdown", "-o", "report.html"],
    ] {
        let output = place.tenbin(arguments);
        assert_eq!(ending(&output).0, 2, "{arguments:?}: {}", ending(&output).1);
        assert!(output.stdout.is_empty());
    }
    let names: Vec<_> =
        fs::read_dir(place.path(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["store.db"]);
}
