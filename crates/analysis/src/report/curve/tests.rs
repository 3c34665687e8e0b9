//! Curves as a user sees them.

use tenbin_model::Bytes;

use super::curve as shown;
use crate::capacity::{Curve, Point, Stated, judge};

const MIB: u64 = 1 << 20;

/// A stair with knees at 48 KiB, 1 MiB and 16 MiB, over `count` sizes from 4 KiB on, half an octave apart.
fn stair(page: u64, count: u32, slower: f64) -> Curve {
    let point = |half: u32| {
        let size = ((4096.0 * 2.0_f64.powf(f64::from(half) / 2.0)) as u64).next_multiple_of(4096);
        let time = match size {
            size if size <= 48 << 10 => 1040.0,
            size if size <= MIB => 3660.0,
            size if size <= 16 * MIB => 13_000.0,
            _ => 150_000.0,
        };
        let slower = if size > MIB { slower } else { 1.0 };
        Point { bytes: Bytes(size), times: [0.99, 1.0, 1.02].map(|factor| time * factor * slower).into() }
    };
    let mut points: Vec<Point> = (0..count).map(point).collect();
    points.dedup_by_key(|point| point.bytes);
    Curve { page: Bytes(page), points }
}

fn stated() -> Vec<Stated> {
    let sizes = [48 << 10, MIB, 480 * MIB].into_iter().zip(1..);
    sizes.map(|(size, level)| Stated { level, size: Some(Bytes(size)), shared_by: 2 }).collect()
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn base_and_huge_pages_stand_side_by_side_with_the_knees_marked() {
    let curves = [stair(4096, 30, 1.3), stair(2 * MIB, 30, 1.0)];
    let text = shown(&curves, &judge(&curves, &stated()).unwrap(), 100);
    assert!(widest(&text) <= 100, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn one_curve_of_many_sizes_is_thinned_out_and_says_so() {
    let curves = [stair(2 * MIB, 40, 1.0)];
    let text = shown(&curves, &judge(&curves, &stated()).unwrap(), 80);
    assert!(text.lines().count() <= 33 && widest(&text) <= 80, "{text}");
    assert_eq!(text.matches("ends").count(), 3);
    insta::assert_snapshot!(text);
}

#[test]
fn nothing_measured_is_nothing_shown() {
    let curves = [stair(4096, 20, 1.0)];
    let capacities = judge(&curves, &stated()).unwrap();
    assert_eq!(shown(&[], &capacities, 80), "");
    assert_eq!(shown(&[Curve { page: Bytes(4096), points: Vec::new() }], &capacities, 80), "");
}
