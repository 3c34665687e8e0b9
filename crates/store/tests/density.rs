//! How many bytes a sample takes. The goal of the design is at most 1.0 for what was measured and when:
//! the elapsed column and the schedule (order, block, variant, iterations).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod specimens;

use specimens::{Shape, run_of, samples};
use tenbin_store::Store;

/// Bytes a sample of one cell: what the goal counts, and all columns.
fn density(shape: &Shape) -> (f64, f64) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("store.db")).unwrap();
    let samples = samples(shape, 1);
    let count = samples.len() as f64;
    store.keep(&run_of(1, vec![samples])).unwrap();
    // Of the fields of `docs/store.md` the first five: order, block, variant, iterations, elapsed.
    let sizes = "SELECT sum(length(data)) FILTER (WHERE field < 5), sum(length(data)) FROM chunk";
    let connection = rusqlite::Connection::open(store.path()).unwrap();
    let (goal, all): (u32, u32) =
        connection.query_row(sizes, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    (f64::from(goal) / count, f64::from(all) / count)
}

/// The shapes and figures stand in `docs/store.md`; the bounds leave 2 % for another zstd.
#[test]
fn samples_take_no_more_than_was_measured() {
    const BLOCKS: u32 = 2_000;
    let shape = |tick, noise, drift, variants, workers| Shape {
        variants,
        blocks: BLOCKS,
        tick,
        noise,
        drift,
        workers,
    };
    let cases = [
        ("steps of 10 ns, noise 0.1 %", shape(10_013.621, 0.001, 0.0, 2, 1), 0.892, 1.179),
        ("steps of 10 ns, noise 0.2 % on a drift of 1 %", shape(10_013.621, 0.002, 0.01, 2, 1), 1.145, 1.509),
        ("the same with 4 variants", shape(10_013.621, 0.002, 0.01, 4, 1), 1.220, 1.578),
        ("the same with 2 workers", shape(10_013.621, 0.002, 0.01, 2, 2), 1.151, 4.621),
        ("steps of 41.7 ns, noise 1 %", shape(41_666.667, 0.01, 0.0, 2, 1), 1.033, 1.462),
        ("steps of 385 ps, noise 0.1 %", shape(385.139_27, 0.001, 0.0, 2, 1), 1.495, 1.783),
        ("steps of 385 ps, noise 1 %", shape(385.139_27, 0.01, 0.0, 2, 1), 1.891, 2.320),
        ("steps of 1 ns, noise 1 %", shape(1_000.0, 0.01, 0.0, 2, 1), 1.696, 2.125),
    ];
    for (name, shape, goal_measured, all_measured) in cases {
        let (goal, all) = density(&shape);
        assert!(goal <= goal_measured * 1.02 && all <= all_measured * 1.02, "{name}: {goal:.3} and {all:.3}");
    }
}
