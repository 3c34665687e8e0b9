//! What can only be seen from inside: journals, locks, limits, and names that do not depend on codecs.

use crate::specimens::{Shape, run_of, samples, small_run};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tenbin_model::sample::METRICS;
use tenbin_model::{Picoseconds, Sample, Share, VariantIndex};

use super::*;
use crate::codec::{self, Codec};
use crate::kind_of_file::Foreign;

fn store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store.db")).unwrap();
    (folder, store)
}

#[test]
fn a_run_comes_back_as_it_was_and_is_kept_once() {
    let (_folder, mut store) = store();
    let run = small_run(1);
    let id = store.keep(&run).unwrap();
    assert_eq!(store.keep(&run).unwrap(), id);
    assert_eq!(store.ids().unwrap(), [id]);
    assert_eq!(store.load(&id).unwrap(), run);
    let mut other = run.clone();
    other.trials[0].cells[0].samples[3].elapsed.0 += 1;
    assert_ne!(store.keep(&other).unwrap(), id);
}

#[test]
fn extreme_and_empty_samples_come_back() {
    let (_folder, mut store) = store();
    let mut extreme = Sample {
        order: u32::MAX,
        block: u32::MAX,
        variant: VariantIndex(u32::MAX),
        iterations: u64::MAX,
        elapsed: Picoseconds(u64::MAX),
        cpu: tenbin_model::Cpu(u32::MAX),
        user: Picoseconds(u64::MAX),
        system: Picoseconds(u64::MAX),
        voluntary_switches: u32::MAX,
        involuntary_switches: u32::MAX,
        shares: vec![Share { elapsed: Picoseconds(u64::MAX), failures: u64::MAX }; 3],
        ..Sample::default()
    };
    let uneven: Vec<Sample> = (0..9)
        .map(|workers| Sample { shares: vec![Share::default(); workers % 4], ..Sample::default() })
        .chain([extreme.clone()])
        .collect();
    // What only some epochs were counted for is no column, so this one stands alone.
    METRICS.iter().for_each(|metric| (metric.write)(&mut extreme, u64::MAX));
    for cells in [vec![], vec![vec![]], vec![vec![extreme]], vec![uneven, vec![], vec![Sample::default()]]] {
        let run = run_of(1, cells);
        let id = store.keep(&run).unwrap();
        assert_eq!(store.load(&id).unwrap(), run);
    }
}

#[test]
fn a_column_longer_than_a_chunk_comes_back() {
    let (_folder, mut store) = store();
    let samples = (0..codec::CHUNK as u32 + 3).map(|order| Sample { order, ..Sample::default() }).collect();
    let run = run_of(1, vec![samples]);
    let id = store.keep(&run).unwrap();
    assert_eq!(store.load(&id).unwrap(), run);
    let parts: i64 = store.connection.query_row("SELECT max(part) FROM chunk", [], |row| row.get(0)).unwrap();
    assert_eq!(parts, 1);
}

/// The canonical encoding, written down a second time from the table in `docs/store.md`.
#[test]
fn the_name_is_the_hash_of_the_documented_encoding() {
    let (_folder, mut store) = store();
    let mut run = small_run(4);
    let last = run
        .trials
        .iter_mut()
        .flat_map(|trial| &mut trial.cells)
        .filter(|cell| !cell.samples.is_empty())
        .last();
    last.unwrap().samples.iter_mut().zip(7..).for_each(|(sample, count)| sample.minor_faults = Some(count));
    let mut bare = run.clone();
    for cell in bare.trials.iter_mut().flat_map(|trial| &mut trial.cells) {
        cell.samples.clear();
    }
    let document = serde_json::to_vec(&bare).unwrap();
    let cells: Vec<&Vec<Sample>> =
        run.trials.iter().flat_map(|trial| &trial.cells).map(|cell| &cell.samples).collect();
    let mut encoding = b"tenbin run 1\n".to_vec();
    let mut put = |number: u64| encoding.extend(number.to_le_bytes());
    put(document.len() as u64);
    let mut after = Vec::new();
    let mut put = |number: u64| after.extend(number.to_le_bytes());
    put(cells.len() as u64);
    for samples in &cells {
        let columns: [fn(&Sample) -> u64; 11] = [
            |s| s.order.into(),
            |s| s.block.into(),
            |s| s.variant.0.into(),
            |s| s.iterations,
            |s| s.elapsed.0,
            |s| s.cpu.0.into(),
            |s| s.user.0,
            |s| s.system.0,
            |s| s.voluntary_switches.into(),
            |s| s.involuntary_switches.into(),
            |s| s.shares.len() as u64,
        ];
        for column in columns {
            put(samples.len() as u64);
            samples.iter().for_each(|sample| put(column(sample)));
        }
        let shares: Vec<Share> = samples.iter().flat_map(|sample| sample.shares.clone()).collect();
        put(shares.len() as u64);
        shares.iter().for_each(|share| put(share.elapsed.0));
        put(shares.len() as u64);
        shares.iter().for_each(|share| put(share.failures));
    }
    for (cell, samples) in cells.iter().enumerate() {
        let counts: Vec<u64> = samples.iter().filter_map(|sample| sample.minor_faults).collect();
        if !counts.is_empty() {
            [cell as u64, 13, counts.len() as u64].into_iter().chain(counts).for_each(&mut put);
        }
    }
    encoding.extend(document);
    encoding.extend(after);
    let expected: String = Sha256::digest(&encoding).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(store.keep(&run).unwrap().to_string(), expected);
}

#[test]
fn the_name_does_not_depend_on_how_chunks_are_written() {
    let (_folder, mut store) = store();
    let run = small_run(4);
    let id = store.keep(&run).unwrap();
    let mut select = store.connection.prepare("SELECT rowid, codec, count, data FROM chunk").unwrap();
    // Constant and stepping columns need no kinds to be read, so the test can rewrite them as plain ones.
    let lines: Vec<(i64, Vec<u8>)> = select
        .query_map([], |row| {
            Ok((row.get(0)?, row.get::<_, u8>(1)?, row.get::<_, u32>(2)?, row.get::<_, Vec<u8>>(3)?))
        })
        .unwrap()
        .map(Result::unwrap)
        .filter(|(_, codec, ..)| *codec == Codec::Line.tag())
        .map(|(row, _, count, data)| {
            let count = count as usize;
            let values = codec::unpack(Codec::Line, &data, count, &vec![0; count]).unwrap();
            (row, values.iter().flat_map(|value| value.to_le_bytes()).collect())
        })
        .collect();
    drop(select);
    assert!(!lines.is_empty());
    for (row, data) in lines {
        store
            .connection
            .execute(
                "UPDATE chunk SET codec = ?1, data = ?2 WHERE rowid = ?3",
                (Codec::Plain.tag(), data, row),
            )
            .unwrap();
    }
    assert_eq!(store.load(&id).unwrap(), run);
}

#[test]
fn a_value_that_json_cannot_hold_is_refused() {
    let (_folder, mut store) = store();
    for value in [f64::NAN, f64::INFINITY] {
        let mut run = small_run(1);
        run.trials[0].descriptor.margin = value;
        assert!(matches!(store.keep(&run), Err(Error::Unfaithful { .. })));
    }
    let mut run = small_run(1);
    run.machine.cpu_quota = tenbin_model::machine::Observed::Known(Some(f64::NAN));
    assert!(matches!(store.keep(&run), Err(Error::Unfaithful { .. })));
    assert_eq!(store.ids().unwrap(), []);
}

#[test]
fn runs_are_listed_by_start_and_found_by_prefix() {
    let (_folder, mut store) = store();
    assert!(matches!(store.find("latest"), Err(Error::UnknownRun(_, newest)) if newest.is_empty()));
    let ids: Vec<RunId> = [30_000, 10_000, 20_000].map(|seed| store.keep(&small_run(seed)).unwrap()).to_vec();
    let entries = store.runs().unwrap();
    assert_eq!(entries.iter().map(|entry| entry.id).collect::<Vec<_>>(), [ids[1], ids[2], ids[0]]);
    assert_eq!(entries[0].summary.experiments, ["atomics", "numa"]);
    assert_eq!(entries[0].summary.cpu_model.known().unwrap(), "AMD EPYC");
    let samples: usize = small_run(10_000).trials[0].cells.iter().map(|cell| cell.samples.len()).sum();
    assert_eq!(entries[0].summary.samples, samples as u64);
    let chunks = "SELECT sum(length(data)) FROM chunk JOIN run ON run = key WHERE id = ?1";
    let columns: i64 = store.connection.query_row(chunks, [ids[1].to_string()], |row| row.get(0)).unwrap();
    assert!(columns > 0 && (columns as u64) < entries[0].summary.bytes);

    assert_eq!(store.find("latest").unwrap(), ids[0]);
    assert_eq!(store.find(&ids[1].to_string()).unwrap(), ids[1]);
    assert_eq!(store.find(&ids[1].short().to_uppercase()).unwrap(), ids[1]);
    assert!(matches!(store.find(""), Err(Error::UnknownRun(_, newest)) if newest.len() == 3));
    let Err(Error::UnknownRun(_, newest)) = store.find("no such run") else { panic!() };
    assert_eq!(newest, [ids[0], ids[2], ids[1]]);
}

#[test]
fn an_import_without_a_date_is_the_latest_of_nothing_but_such() {
    let (_folder, mut store) = store();
    let mut undated = small_run(10_000);
    undated.provenance.started = "undated".into();
    let imported = store.keep(&undated).unwrap();
    assert_eq!(store.find("latest").unwrap(), imported);
    let measured = store.keep(&small_run(20_000)).unwrap();
    assert_eq!(store.find("latest").unwrap(), measured);
}

#[test]
fn a_full_database_is_an_error_and_harms_no_earlier_run() {
    let (_folder, mut store) = store();
    let id = store.keep(&small_run(1)).unwrap();
    let pages: i64 = store.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    set(&store.connection, "max_page_count", &pages.to_string()).unwrap();
    let shape = Shape { variants: 2, blocks: 500, tick: 385.14, noise: 0.01, drift: 0.0, workers: 1 };
    let large = run_of(2, vec![samples(&shape, 2)]);
    let error = store.keep(&large).unwrap_err();
    assert!(matches!(error, Error::NoSpace { .. }), "{error}");
    assert_eq!(store.ids().unwrap(), [id]);
    store.load(&id).unwrap();
    set(&store.connection, "max_page_count", "1000000").unwrap();
    store.keep(&large).unwrap();
}

#[test]
fn a_store_that_another_holds_is_locked() {
    let (_folder, mut store) = store();
    let other = Connection::open(store.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.connection.busy_timeout(std::time::Duration::ZERO).unwrap();
    let error = store.keep(&small_run(1)).unwrap_err();
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    // Readers do not wait for writers.
    assert_eq!(store.ids().unwrap(), []);
    other.execute_batch("COMMIT").unwrap();
    store.keep(&small_run(1)).unwrap();
}

#[test]
fn disks_get_a_log_and_networks_a_rollback_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mode = |store: &Store| -> String {
        store.connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap()
    };
    let run = small_run(1);
    let mut local = Store::open_with(&path, true, Journal::WriteAhead).unwrap();
    assert_eq!(mode(&local), "wal");
    let id = local.keep(&run).unwrap();
    drop(local);
    // The file moves to a network, and two processes there use it in turn.
    let mut first = Store::open_with(&path, false, Journal::Rollback).unwrap();
    let second = Store::open_with(&path, false, Journal::Rollback).unwrap();
    assert_eq!((mode(&first), mode(&second)), ("delete".into(), "delete".into()));
    assert!(!folder.path().join("store.db-wal").exists());
    let other = first.keep(&small_run(2)).unwrap();
    assert_eq!(second.load(&id).unwrap(), run);
    assert!(second.load(&other).is_ok());
}

#[test]
fn errors_say_what_was_tried_on_what_and_what_to_do() {
    let (folder, store) = store();
    let path = folder.path().join("missing.db");
    let error = Store::open_existing(&path).unwrap_err();
    let what = format!("could not open the store {}: there is no such file or folder", path.display());
    assert_eq!(error.to_string(), format!("{what}; check the path"));
    let task = Place { tried: Attempt::Import, path: &path }.task();
    let error = Error::NotAStore(task, Foreign::Empty);
    assert!(error.to_string().contains("it is empty and not a tenbin store; name a file that tenbin wrote"));
    let io = |errno: Errno| Place { tried: Attempt::Read, path: &path }.io(errno.into()).to_string();
    assert!(io(Errno::MFILE).ends_with("raise the limit on open files (ulimit -n)"), "{}", io(Errno::MFILE));
    assert!(io(Errno::NOMEM).contains("ulimit -v"), "{}", io(Errno::NOMEM));
    assert!(io(Errno::ACCESS).contains("readable") && !io(Errno::ACCESS).contains("writable"));
    let error = store.load(&"a".repeat(64).parse().unwrap()).unwrap_err();
    assert!(error.to_string().starts_with("no run 'aaaaaaaaaaaa' in"), "{error}");
}
