//! Bars as a user sees them.

use tenbin_model::{Bytes, Picoseconds};

use super::bars;
use crate::{Bars, Series};

const MIB: u64 = 1 << 20;

/// A stair with knees at 48 KiB, 1 MiB and 16 MiB, over `count` sizes from 4 KiB on, half an octave apart.
fn stair(name: &str, count: u32, slower: f64) -> Series {
    let point = |half: u32| {
        let size = ((4096.0 * 2.0_f64.powf(f64::from(half) / 2.0)) as u64).next_multiple_of(4096);
        let time = match size {
            size if size <= 48 << 10 => 1040.0,
            size if size <= MIB => 3660.0,
            size if size <= 16 * MIB => 13_000.0,
            _ => 150_000.0,
        };
        let slower = if size > MIB { slower } else { 1.0 };
        (Bytes(size), Picoseconds((time * slower) as u64))
    };
    let mut points: Vec<_> = (0..count).map(point).collect();
    points.dedup_by_key(|(size, _)| *size);
    Series { name: name.into(), points }
}

fn stairs(series: Vec<Series>) -> Bars {
    // The first size beyond the last knee.
    let beyond = ((16 * MIB) as f64 * 2.0_f64.sqrt()) as u64;
    let marks = [
        (48 << 10, "L1 ends"),
        (MIB, "L2 ends"),
        (16 * MIB, "L3 ends"),
        (beyond.next_multiple_of(4096), "flat from"),
    ];
    Bars {
        rows: "buffer".into(),
        series,
        marks: marks.map(|(size, words)| (Bytes(size), words.into())).into(),
        note: "knees in pages of 2 MiB".into(),
    }
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn base_and_huge_pages_stand_side_by_side_with_the_knees_marked() {
    let text = bars(&stairs(vec![stair("4 KiB pages", 30, 1.3), stair("2 MiB pages", 30, 1.0)]), 100);
    assert!(widest(&text) <= 100, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn one_curve_of_many_sizes_is_thinned_out_and_says_so() {
    let text = bars(&stairs(vec![stair("2 MiB pages", 40, 1.0)]), 80);
    assert!(text.lines().count() <= 33 && widest(&text) <= 80, "{text}");
    assert_eq!(text.matches("ends").count(), 3);
    insta::assert_snapshot!(text);
}

#[test]
fn nothing_measured_is_nothing_shown() {
    assert_eq!(bars(&stairs(Vec::new()), 80), "");
    assert_eq!(bars(&stairs(vec![Series::default()]), 80), "");
}
