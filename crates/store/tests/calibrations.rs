//! Calibrations are kept beside the runs: whole, once, and under one name everywhere.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod specimens;
mod stores;

use sha2::{Digest, Sha256};
use specimens::{Numbers, calibration, small_run};
use stores::{calibration_names, store_with};
use tenbin_model::{Calibration, Pair};
use tenbin_store::{Attempt, CalibrationId, Error, Existing, Merge, NotACalibrationId, Store};

#[test]
fn a_calibration_comes_back_as_it_was_and_is_kept_once() {
    let (_folder, mut store, _) = store_with(0);
    let first = calibration(1);
    let id = store.keep_calibration(&first).unwrap();
    assert_eq!(store.keep_calibration(&first).unwrap(), id);
    assert_eq!(calibration_names(&store), [id]);
    assert_eq!(store.load_calibration(&id).unwrap(), first);
    let mut other = first.clone();
    other.series[0].pairs[0].blocks += 1;
    assert_ne!(store.keep_calibration(&other).unwrap(), id);
    assert_eq!(calibration_names(&store).len(), 2);
    assert_eq!(store.ids().unwrap(), []);
}

#[test]
fn numbers_come_back_to_the_last_bit() {
    let (_folder, mut store, _) = store_with(0);
    let mut numbers = Numbers(17);
    let extremes = [0.0, -0.0, 5e-324, f64::MIN_POSITIVE, f64::MAX, f64::MIN, 0.1 + 0.2, 1.0 + f64::EPSILON];
    let any = std::iter::repeat_with(|| f64::from_bits(numbers.next())).filter(|value| value.is_finite());
    let values: Vec<f64> = extremes.into_iter().chain(any.take(5_000)).collect();
    let mut large = calibration(1);
    let model = large.series[0].pairs[0].clone();
    large.series[0].pairs = values.iter().map(|&truth| Pair { truth, ..model.clone() }).collect();
    let id = store.keep_calibration(&large).unwrap();
    let back = store.load_calibration(&id).unwrap();
    let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(back.series[0].pairs.iter().map(|pair| pair.truth).collect()), bits(values));
}

/// The canonical encoding, written down a second time from the table in `docs/store.md`.
#[test]
fn the_name_is_the_hash_of_the_documented_encoding() {
    let (_folder, mut store, _) = store_with(0);
    let document = serde_json::to_vec(&calibration(4)).unwrap();
    let mut encoding = b"tenbin calibration 1\n".to_vec();
    encoding.extend((document.len() as u64).to_le_bytes());
    encoding.extend(document);
    let expected: String = Sha256::digest(&encoding).iter().map(|byte| format!("{byte:02x}")).collect();
    let id = store.keep_calibration(&calibration(4)).unwrap();
    assert_eq!(id.to_string(), expected);
    assert_eq!(expected.parse(), Ok(id));
    assert_eq!(id.short(), expected[..12]);
    for wrong in [&expected[..63], &expected.to_uppercase(), ""] {
        assert_eq!(wrong.parse::<CalibrationId>(), Err(NotACalibrationId));
    }
}

#[test]
fn a_value_that_json_cannot_hold_is_refused() {
    let (_folder, mut store, _) = store_with(0);
    let changes: [fn(&mut Calibration); 3] = [
        |calibration| calibration.level = f64::NAN,
        |calibration| calibration.load.average[1] = Some(f64::INFINITY),
        |calibration| calibration.series[0].pairs[0].truth = f64::NEG_INFINITY,
    ];
    for change in changes {
        let mut unfaithful = calibration(1);
        change(&mut unfaithful);
        let error = store.keep_calibration(&unfaithful).unwrap_err();
        assert!(
            matches!(&error, Error::Unfaithful(task, _) if task.tried == Attempt::KeepCalibration),
            "{error}"
        );
        assert!(error.to_string().starts_with("could not keep the calibration in"), "{error}");
    }
    assert_eq!(calibration_names(&store), []);
}

fn keep_dated(store: &mut Store, started: &str) -> CalibrationId {
    let mut dated = calibration(1);
    dated.provenance.started = started.into();
    store.keep_calibration(&dated).unwrap()
}

#[test]
fn calibrations_are_listed_newest_first_and_found_by_prefix() {
    let (_folder, mut store, _) = store_with(0);
    let whole = keep_dated(&mut store, "2026-01-02T03:04:05Z");
    // Nothing begins every name, and means none.
    assert_eq!(store.find_calibration("").unwrap(), None);
    assert_eq!(store.find_calibration(&whole.short()[..1]).unwrap(), Some(whole));
    let newest = keep_dated(&mut store, "2026-01-02T03:04:06.25Z");
    let half = keep_dated(&mut store, "2026-01-02T03:04:05.5Z");
    assert_eq!(calibration_names(&store), [newest, half, whole]);

    assert_eq!(store.find_calibration(&half.to_string()).unwrap(), Some(half));
    assert_eq!(store.find_calibration(&half.short().to_uppercase()).unwrap(), Some(half));
    assert_eq!(store.find_calibration("no such calibration").unwrap(), None);
    // Of 17 names two begin with the same digit.
    for second in 10..24 {
        keep_dated(&mut store, &format!("2026-01-02T03:05:{second}Z"));
    }
    let begins = |digit: &str| {
        let mut begun = calibration_names(&store);
        begun.retain(|id| id.to_string().starts_with(digit));
        begun.sort_unstable();
        begun
    };
    let digit = (0..16).map(|digit| format!("{digit:x}")).find(|digit| begins(digit).len() > 1).unwrap();
    let expected = begins(&digit);
    let error = store.find_calibration(&digit).unwrap_err();
    assert!(error.to_string().contains(&expected[0].short()), "{error}");
    let Error::AmbiguousCalibration(_, mut candidates) = error else { panic!("{error}") };
    candidates.sort_unstable();
    assert_eq!(candidates, expected);
    // A run is no calibration, and the other way round.
    let run = store.keep(&small_run(1)).unwrap();
    assert_eq!(store.find_calibration(&run.to_string()).unwrap(), None);
    assert!(matches!(store.find(&half.to_string()), Err(Error::UnknownRun { .. })));
}

#[test]
fn an_export_holds_what_it_was_given_and_nothing_else() {
    let (folder, mut store, _) = store_with(0);
    let runs: Vec<_> = (0..2).map(|seed| store.keep(&small_run(seed)).unwrap()).collect();
    let ids: Vec<_> = (0..3).map(|seed| store.keep_calibration(&calibration(seed)).unwrap()).collect();
    let target = folder.path().join("out.db");
    let unknown: CalibrationId = "0".repeat(64).parse().unwrap();
    let error = store.export(&runs, &[ids[0], unknown], &target, Existing::Refuse).unwrap_err();
    assert!(matches!(error, Error::UnknownCalibration { .. }), "{error}");
    assert!(!target.exists());
    for (some, others) in [(&runs[..1], &ids[..0]), (&[], &ids[1..]), (&runs[1..], &[ids[2], ids[2]])] {
        store.export(some, others, &target, Existing::Replace).unwrap();
        let exported = Store::open_existing(&target).unwrap();
        assert_eq!(exported.ids().unwrap(), some);
        let mut expected = others.to_vec();
        expected.sort_unstable();
        expected.dedup();
        let mut names = calibration_names(&exported);
        names.sort_unstable();
        assert_eq!(names, expected);
        for id in others {
            assert_eq!(exported.load_calibration(id).unwrap(), store.load_calibration(id).unwrap());
        }
    }
}

#[test]
fn a_second_import_changes_nothing() {
    let (folder, mut source, _) = store_with(0);
    let run = source.keep(&small_run(1)).unwrap();
    let mut ids: Vec<_> = (0..3).map(|seed| source.keep_calibration(&calibration(seed)).unwrap()).collect();
    ids.sort_unstable();
    let mut target = Store::open(&folder.path().join("target.db")).unwrap();
    let own = target.keep_calibration(&calibration(9)).unwrap();
    let shared = target.keep_calibration(&source.load_calibration(&ids[1]).unwrap()).unwrap();
    let merge = target.import(source.path()).unwrap();
    let expected = Merge {
        added: vec![run],
        present: vec![],
        calibrations_added: vec![ids[0], ids[2]],
        calibrations_present: vec![shared],
        ..Merge::default()
    };
    assert_eq!(merge, expected);
    let again = target.import(source.path()).unwrap();
    let nothing = Merge { present: vec![run], calibrations_present: ids.clone(), ..Merge::default() };
    assert_eq!(again, nothing);
    assert_eq!(calibration_names(&target).len(), 4);
    assert_eq!(target.load_calibration(&own).unwrap(), calibration(9));

    let path = source.path().to_owned();
    assert_eq!(source.import(&path).unwrap(), nothing);
}
