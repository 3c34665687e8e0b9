//! Bars as a user sees them.

use tenbin_model::{Bytes, Picoseconds};

use super::bars;
use crate::{Bars, Series};

const MIB: u64 = 1 << 20;

/// So many sizes from 4 KiB on, half an octave apart.
fn sizes(count: u32) -> Vec<u64> {
    let size = |half: u32| ((4096.0 * 2.0_f64.powf(f64::from(half) / 2.0)) as u64).next_multiple_of(4096);
    let mut sizes: Vec<u64> = (0..count).map(size).collect();
    sizes.dedup();
    sizes
}

/// A stair with knees at 48 KiB, 1 MiB and 16 MiB.
fn stair(name: &str, count: u32, slower: f64) -> Series {
    let time = |size: u64| {
        let time = match size {
            size if size <= 48 << 10 => 1040.0,
            size if size <= MIB => 3660.0,
            size if size <= 16 * MIB => 13_000.0,
            _ => 150_000.0,
        };
        let slower = if size > MIB { slower } else { 1.0 };
        Some(Picoseconds((time * slower) as u64))
    };
    Series { name: name.into(), times: sizes(count).into_iter().map(time).collect() }
}

fn stairs(count: u32, series: Vec<Series>) -> Bars {
    // The first size beyond the last knee.
    let beyond = (((16 * MIB) as f64 * 2.0_f64.sqrt()) as u64).next_multiple_of(4096);
    let marks = [(48 << 10, "L1 ends"), (MIB, "L2 ends"), (16 * MIB, "L3 ends"), (beyond, "flat from")];
    let sizes = sizes(count);
    let row = |size: u64| sizes.iter().position(|known| *known == size);
    Bars {
        rows: "buffer".into(),
        labels: sizes.iter().map(|size| Bytes(*size).to_string()).collect(),
        series,
        marks: marks.into_iter().filter_map(|(size, words)| Some((row(size)?, words.into()))).collect(),
        note: "knees in pages of 2 MiB".into(),
    }
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn base_and_huge_pages_stand_side_by_side_with_the_knees_marked() {
    let text = bars(&stairs(30, vec![stair("4 KiB pages", 30, 1.3), stair("2 MiB pages", 30, 1.0)]), 100);
    assert!(widest(&text) <= 100, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn one_curve_of_many_sizes_is_thinned_out_and_says_so() {
    let text = bars(&stairs(40, vec![stair("2 MiB pages", 40, 1.0)]), 80);
    assert!(text.lines().count() <= 33 && widest(&text) <= 80, "{text}");
    assert_eq!(text.matches("ends").count(), 3);
    insta::assert_snapshot!(text);
}

#[test]
fn times_of_one_order_are_as_long_as_they_are() {
    let times = [11.4, 21.4, 42.8].map(|time| Some(Picoseconds::from_nanos((time * 1e6) as u64)));
    let series = vec![
        Series { name: "sleep 0.0{n}".into(), times: times.into() },
        Series { name: "a command whose words do not fit".into(), times: vec![times[0], None, times[1]] },
    ];
    let labels = ["1", "2", "4"].map(String::from).into();
    insta::assert_snapshot!(bars(&Bars { rows: "n".into(), labels, series, ..Bars::default() }, 80));
}

#[test]
fn nothing_measured_is_nothing_shown() {
    assert_eq!(bars(&stairs(0, Vec::new()), 80), "");
    assert_eq!(bars(&stairs(1, vec![Series::default()]), 80), "");
}
