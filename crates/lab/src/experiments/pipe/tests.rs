use tenbin_metal::allowed_cpus;
use tenbin_model::Row;

use super::described::published;
use super::*;
use crate::rehearsal::{TestRequest, arrangements, says, settings};

fn planned(effort: Effort, given: &[(&str, &str)]) -> Result<Vec<Arrangement>, Unfit> {
    let settings = settings(&describe(), given).unwrap();
    let cpus = vec![Cpu(0), Cpu(1)];
    let asked = TestRequest { cpus, effort, settings, ..TestRequest::default() };
    plan(&asked.request()).map(|plan| arrangements(&plan))
}

#[test]
fn every_published_figure_stands_in_its_cell() {
    let cells = planned(Effort::Quick, &[]).unwrap();
    let seed = cells.iter().find(|cell| cell.label == PUBLISHED_CELL).unwrap();
    let name = |variant: VariantIndex| describe()[variant].name.clone();
    let weighed: Vec<(String, String)> =
        seed.comparisons.iter().map(|pair| (name(pair.left), name(pair.right))).collect();
    let published = published();
    let (gnu, figures): (Vec<_>, Vec<_>) = published.iter().partition(|figure| figure.left == "GNU yes");
    for figure in &figures {
        assert_eq!(figure.cell, PUBLISHED_CELL);
        assert!(weighed.contains(&(figure.left.clone(), figure.right.clone())), "{figure:?}");
    }
    let ratios: Vec<String> = figures.iter().map(|figure| format!("{:.1}", figure.ratio.unwrap())).collect();
    assert_eq!(ratios, ["46.1", "151.8", "0.3", "21.5", "160.8", "0.1", "1.2", "187.8"]);
    // The published table has another program's seconds for its own.
    assert_eq!(gnu.len(), 1);
    says(&gnu[0].what, &["11.6 s", "x44.0", "11.095 s (46.1x)"]);
}

/// What the shell and pv printed in the diary: real, user and system time, and the last rate.
#[test]
fn the_fixture_holds_the_times_that_the_diary_prints() {
    let printed = [
        ("Intel", "printf", ["8m31.031s", "8m26.537s", "0m36.512s"]),
        ("Intel", "write 8 KiB", ["0m11.095s", "0m1.564s", "0m20.571s"]),
        ("Intel", "GNU yes 9.1 (24.2 GiB)", ["0m11.600s", "0m1.528s", "0m21.621s"]),
        ("Intel", "vmsplice 256 KiB x2", ["0m3.367s", "0m1.849s", "0m3.297s"]),
        ("AMD", "printf", ["1m54.938s", "1m52.312s", "0m22.559s"]),
        ("AMD", "write 8 KiB", ["0m5.347s", "0m0.912s", "0m9.776s"]),
        ("AMD", "vmsplice 256 KiB x2", ["0m0.715s", "0m0.508s", "0m0.721s"]),
    ];
    let seconds = |text: &str| {
        let (minutes, rest) = text.trim_end_matches('s').split_once('m').unwrap();
        minutes.parse::<f64>().unwrap() * 60.0 + rest.parse::<f64>().unwrap()
    };
    let rows = super::published::TABLES[0].rows();
    for (machine, variant, times) in printed {
        let of = |row: &&Row| row.text("machine").starts_with(machine) && row.text("variant") == variant;
        let row = rows.iter().find(of).unwrap();
        for (column, time) in ["seconds", "user_s", "sys_s"].into_iter().zip(times) {
            let held = row.number(column).unwrap();
            assert!((held - seconds(time)).abs() < 5e-4, "{machine} {variant} {column}: {held} for {time}");
        }
    }
    // Who is stopped by hand has no rate of the whole.
    for row in rows.iter().filter(|row| !row.text("variant").starts_with("GNU")) {
        let carried = row.number("seconds").unwrap() * row.number("gib_per_s").unwrap();
        assert!((carried / 24.0 - 1.0).abs() < 0.01, "{carried} GiB: {row:?}");
    }
    assert_eq!(
        rows.iter().count(),
        printed.len() + 1,
        "and 1 MiB x2, of which the diary gives the seconds alone"
    );
}

#[test]
fn the_published_programs_have_the_pipes_that_they_had() {
    let capacities = Capacities { usual: 4096, as_published: true };
    let of = [PUTS, WRITE, TWO_BUFFERS, TWO_LARGE_BUFFERS].map(|variant| capacities.of(variant) >> 10);
    assert_eq!(of, [64, 64, 256, 1024]);
    assert_eq!(Capacities { usual: 4096, as_published: false }.of(TWO_BUFFERS), 4096);
}

#[test]
fn a_size_alone_means_every_way_and_cells_names_the_others() {
    let labels = |effort, given: &[(&str, &str)]| -> Vec<String> {
        planned(effort, given).unwrap().into_iter().map(|cell| cell.label).collect()
    };
    let with = |labels: &[String], part: &str| labels.iter().filter(|label| label.contains(part)).count();
    let normal = labels(Effort::Normal, &[]);
    assert_eq!([with(&normal, "as published"), with(&normal, "by write alone"), normal.len()], [1, 2, 15]);
    assert_eq!(labels(Effort::Quick, &[]).len(), 5);
    let sized = labels(Effort::Normal, &[("size", "128")]);
    assert_eq!([with(&sized, "through 128 KiB"), sized.len()], [4, 4]);
    assert_eq!(
        labels(Effort::Quick, &[("cells", "writes"), ("size", "4")]),
        ["by write alone, spliced to /dev/null on two CPUs through 4 KiB"]
    );
    let headlines = planned(Effort::Normal, &[]).unwrap().iter().filter(|cell| cell.headline).count();
    assert_eq!(headlines, 1);
}

#[test]
fn a_line_is_one_line_of_bounded_length() {
    let long = "x".repeat(255);
    for wrong in ["", &long, "two\nlines", "no\0c"] {
        match planned(Effort::Quick, &[("line", wrong)]) {
            Err(Unfit::Usage(message)) => assert!(message.contains("1 to 254 bytes"), "{message}"),
            other => panic!("{wrong:?}: {other:?}"),
        }
    }
    let cells = planned(Effort::Quick, &[("line", "a, b")]).unwrap();
    assert!(cells.iter().all(|cell| cell.parameter("line") == Some("a, b") && cell.work.is_multiple_of(5)));
    assert!(cells[0].label.ends_with("through 256 KiB, lines of 5 bytes"), "{}", cells[0].label);
}

/// Each cell of a run by an ordinary line and by one that fills no page: every way is checked with it, and
/// the planted fault.
#[test]
fn every_way_of_every_cell_carries_the_line_that_was_asked_for() {
    let cpus = allowed_cpus().unwrap();
    let (effort, cpus) = (Effort::Normal, vec![cpus[0], *cpus.last().unwrap()]);
    let settings = settings(&describe(), &[("line", "a line")]).unwrap();
    let asked = TestRequest { cpus, effort, settings, ..TestRequest::default() };
    let request = asked.request();
    let cells = plan(&request).unwrap().cells;
    // One of each kind.
    for part in ["spliced to /dev/null on one CPU through 64", "as published", "by write alone"] {
        let planned = cells.iter().find(|cell| cell.arrangement.label.contains(part)).unwrap();
        let mut apparatus = planned.open(&request).unwrap();
        let cell = &planned.arrangement;
        for &variant in &cell.variants {
            let seen = apparatus.check(variant).unwrap();
            assert!(matches!(seen, Seen::Met(_)), "{}: {variant:?}: {seen:?}", cell.label);
            let lap = apparatus.epoch(variant, 3).map_err(|failure| format!("{failure:?}")).unwrap();
            assert!(lap.elapsed > Picoseconds::ZERO);
        }
        assert!(matches!(apparatus.check(WAYS.len().into()).unwrap(), Seen::Broken(_)));
        let gauges = apparatus.gauges(WRITE).unwrap();
        let names: Vec<&str> = gauges.iter().map(|gauge| gauge.name.as_str()).collect();
        assert_eq!(names, ["user s/GiB", "system s/GiB"]);
    }
}
