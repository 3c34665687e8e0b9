//! A file that is cut, altered or not ours is refused, and the store that was to take it is as before.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod specimens;
mod stores;

use std::fs;
use std::path::{Path, PathBuf};

use specimens::{Numbers, calibration, small_run};
use stores::store_with;
use tempfile::TempDir;
use tenbin_model::{Calibration, Run};
use tenbin_store::{Attempt, CalibrationId, Error, Existing, Foreign, RunId, Store};

struct Fixture {
    folder: TempDir,
    runs: Vec<(RunId, Run)>,
    calibrations: Vec<(CalibrationId, Calibration)>,
    exported: Vec<u8>,
}

impl Fixture {
    fn new() -> Self {
        let (folder, mut store, _) = store_with(0);
        let runs = (0..3).map(small_run).map(|run| (store.keep(&run).unwrap(), run));
        let mut runs: Vec<(RunId, Run)> = runs.collect();
        runs.sort_by_key(|(id, _)| *id);
        let calibrations = (0..2).map(calibration).map(|it| (store.keep_calibration(&it).unwrap(), it));
        let mut calibrations: Vec<(CalibrationId, Calibration)> = calibrations.collect();
        calibrations.sort_by_key(|(id, _)| *id);
        let path = folder.path().join("exported.db");
        store.export(&names(&runs), &names(&calibrations), &path, Existing::Refuse).unwrap();
        let exported = fs::read(path).unwrap();
        Self { folder, runs, calibrations, exported }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Imports `bytes` into `store`: everything comes unharmed, or nothing does and the reason is returned.
    fn import(&self, store: &mut Store, bytes: &[u8]) -> Option<Error> {
        let from = self.path("foreign.db");
        fs::write(&from, bytes).unwrap();
        let before = contents(store.path());
        let outcome = store.import(&from);
        assert_eq!(fs::read(&from).unwrap(), bytes, "the foreign file was changed");
        for suffix in ["-wal", "-shm", "-journal"] {
            let beside = self.path(&format!("foreign.db{suffix}"));
            assert!(!beside.exists(), "something was left beside the foreign file");
        }
        match outcome {
            Err(error) => {
                assert_eq!(contents(store.path()), before, "a failed import changed the store: {error}");
                Some(error)
            }
            Ok(merge) => {
                let mut all: Vec<RunId> = merge.added.into_iter().chain(merge.present).collect();
                all.sort_unstable();
                assert_eq!(all, names(&self.runs));
                for (id, run) in &self.runs {
                    assert_eq!(&store.load(id).unwrap(), run);
                }
                let mut all = [merge.calibrations_added, merge.calibrations_present].concat();
                all.sort_unstable();
                assert_eq!(all, names(&self.calibrations));
                for (id, calibration) in &self.calibrations {
                    assert_eq!(&store.load_calibration(id).unwrap(), calibration);
                }
                None
            }
        }
    }

    /// A store with a run of its own and nothing else.
    fn target(&self, name: &str) -> Store {
        let mut store = Store::open(&self.path(name)).unwrap();
        store.keep(&small_run(99)).unwrap();
        store
    }
}

fn names<Id: Copy, Value>(named: &[(Id, Value)]) -> Vec<Id> {
    named.iter().map(|(id, _)| *id).collect()
}

/// The damage that this must have come upon.
fn damage_to<Outcome: std::fmt::Debug>(tried: Attempt, outcome: Result<Outcome, Error>) -> Error {
    let error = outcome.unwrap_err();
    assert!(matches!(&error, Error::Damaged(task, _) if task.tried == tried), "{error}");
    error
}

/// Every row of every table.
fn contents(path: &Path) -> Vec<String> {
    let connection = rusqlite::Connection::open(path).unwrap();
    let rows = |sql: &str| {
        let mut select = connection.prepare(sql).unwrap();
        select.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap).collect::<Vec<_>>()
    };
    let mut all = rows("SELECT concat_ws(' ', key, id, hex(document)) FROM run ORDER BY key");
    all.extend(rows(
        "SELECT concat_ws(' ', run, cell, field, part, codec, count, hex(data)) FROM chunk ORDER BY 1",
    ));
    all.extend(rows("SELECT concat_ws(' ', key, id, hex(document)) FROM calibration ORDER BY key"));
    all
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let fixture = Fixture::new();
    let mut store = fixture.target("target.db");
    let whole = fixture.exported.len();
    let pages =
        (0..=whole / 4096).flat_map(|page| [4096 * page, 4096 * page + 1, (4096 * page).saturating_sub(1)]);
    let mut numbers = Numbers(3);
    let others = (0..40).map(|_| numbers.below(whole as u64) as usize);
    for length in pages.chain([10, 15, 16, 17, 99, 100]).chain(others).filter(|&length| length < whole) {
        match fixture.import(&mut store, &fixture.exported[..length]) {
            Some(Error::NotAStore(_, Foreign::Empty)) if length == 0 => {}
            Some(Error::Damaged { .. }) if length > 0 => {}
            other => panic!("cut at {length} of {whole}: {other:?}"),
        }
    }
    assert!(fixture.import(&mut store, &fixture.exported).is_none());
}

#[test]
fn a_flipped_bit_is_an_error_or_changes_nothing() {
    let fixture = Fixture::new();
    let mut store = fixture.target("target.db");
    let own = store.ids().unwrap()[0].to_string();
    let cleaner = rusqlite::Connection::open(store.path()).unwrap();
    let mut numbers = Numbers(5);
    let header = (0..100).step_by(2).map(|at| (at, at % 8));
    // Free space inside a page is mostly zero, and there a flip would show little.
    let used: Vec<usize> = (100..fixture.exported.len()).filter(|&at| fixture.exported[at] != 0).collect();
    let anywhere: Vec<(usize, usize)> = (0..200)
        .map(|_| (used[numbers.below(used.len() as u64) as usize], numbers.below(8) as usize))
        .collect();
    let mut refused = 0;
    for (at, bit) in header.chain(anywhere) {
        let mut bytes = fixture.exported.clone();
        bytes[at] ^= 1 << bit;
        if fixture.import(&mut store, &bytes).is_some() {
            refused += 1;
        } else {
            let others = "(SELECT key FROM run WHERE id <> ?1)";
            cleaner.execute(&format!("DELETE FROM chunk WHERE run IN {others}"), [&own]).unwrap();
            cleaner.execute("DELETE FROM run WHERE id <> ?1", [&own]).unwrap();
            cleaner.execute("DELETE FROM calibration", []).unwrap();
        }
    }
    // The others met bytes that hold nothing: what was cut off before, and room for what may come.
    assert!(refused >= 180, "only {refused} of 250 were refused");
}

#[test]
fn damage_in_the_store_itself_is_found_when_the_run_is_read() {
    let fixture = Fixture::new();
    let store = fixture.target("own.db");
    let id = store.ids().unwrap()[0];
    let connection = rusqlite::Connection::open(store.path()).unwrap();
    connection.pragma_update(None, "foreign_keys", false).unwrap();
    let mut changes = vec![
        "UPDATE chunk SET codec = 77".to_owned(),
        "UPDATE chunk SET count = count + 1".into(),
        "UPDATE chunk SET count = -1".into(),
        "UPDATE chunk SET count = 9000000000".into(),
        "UPDATE chunk SET part = part + 1 WHERE field = 4".into(),
        "UPDATE chunk SET cell = cell + 7 WHERE cell = 1".into(),
        "UPDATE chunk SET field = 40 WHERE field = 12".into(),
        "UPDATE chunk SET data = x''".into(),
        "UPDATE chunk SET data = cast(data || x'00' AS BLOB)".into(),
        "DELETE FROM chunk WHERE field = 4 AND cell = 0".into(),
        "DELETE FROM chunk".into(),
        "UPDATE run SET document = x'00'".into(),
        "UPDATE run SET document = cast(substr(document, 1, length(document) - 1) AS BLOB)".into(),
        "UPDATE run SET key = key + 1".into(),
    ];
    // Every column in turn becomes all threes, which none of them is.
    changes.extend((0..13).map(|field| {
        format!("UPDATE chunk SET codec = 1, data = x'0300' WHERE cell = 1 AND field = {field}")
    }));
    for change in changes {
        connection.execute_batch(&change).unwrap();
        let Err(error) = store.load(&id) else { panic!("not noticed: {change}") };
        assert!(matches!(error, Error::Damaged { .. }), "{change}: {error}");
        assert!(error.to_string().contains(&id.short()), "{error}");
        let outcome = store.export(&[id], &[], &fixture.path("out.db"), Existing::Refuse);
        assert!(matches!(outcome, Err(Error::Damaged { .. })));
        assert!(!fixture.path("out.db").exists());
        connection.execute_batch("DELETE FROM chunk; DELETE FROM run").unwrap();
        fixture.target("own.db");
    }
    assert_eq!(store.load(&id).unwrap(), small_run(99));
}

#[test]
fn damage_to_a_calibration_hinders_no_run() {
    let fixture = Fixture::new();
    let mut store = fixture.target("own.db");
    let id = store.keep_calibration(&calibration(8)).unwrap();
    let other = store.keep_calibration(&calibration(9)).unwrap();
    let connection = rusqlite::Connection::open(store.path()).unwrap();
    let document = |id: &CalibrationId| -> Vec<u8> {
        let select = "SELECT document FROM calibration WHERE id = ?1";
        connection.query_row(select, [id.to_string()], |row| row.get(0)).unwrap()
    };
    let sound = document(&id);
    let mut third = fixture.target("third.db");
    let flipped = (0..sound.len()).step_by(7).chain([sound.len() - 1]).map(|at| {
        let mut altered = sound.clone();
        altered[at] ^= 0x10;
        altered
    });
    // The last is a sound document, but of another calibration.
    let cut = [Vec::new(), sound[..sound.len() - 1].to_vec(), document(&other)];
    let mut harmless = 0;
    for altered in flipped.chain(cut) {
        let update = "UPDATE calibration SET document = ?1 WHERE id = ?2";
        connection.execute(update, (&altered, id.to_string())).unwrap();
        let loaded = store.load_calibration(&id);
        // zstd has bits that nothing depends on: what is read is then what was kept.
        if let Ok(read) = loaded {
            assert_eq!(read, calibration(8));
            harmless += 1;
            continue;
        }
        let error = damage_to(Attempt::LoadCalibration, loaded);
        let sound = store.calibrations().unwrap();
        assert_eq!(sound, [(other, calibration(9))], "the sound one is there all the same");
        assert!(error.to_string().contains(&format!("calibration {}", id.short())), "{error}");
        let out = fixture.path("out.db");
        damage_to(Attempt::Export, store.export(&store.ids().unwrap(), &[id], &out, Existing::Refuse));
        assert!(!out.exists());
        // A file in which it is damaged is refused whole.
        let before = contents(third.path());
        damage_to(Attempt::Import, third.import(store.path()));
        assert_eq!(contents(third.path()), before);
    }
    assert!(harmless <= 2, "{harmless} flips changed nothing");
    for run in store.runs().unwrap() {
        store.load(&run.id).unwrap();
    }
    assert_eq!(store.find_calibration(&id.to_string()).unwrap(), Some(id));
    assert_eq!(store.load_calibration(&other).unwrap(), calibration(9));
}

#[test]
fn what_is_not_a_store_is_named() {
    let fixture = Fixture::new();
    let mut store = fixture.target("target.db");
    let foreign = |error: Option<Error>| match error {
        Some(Error::NotAStore(_, foreign)) => foreign,
        other => panic!("{other:?}"),
    };
    assert_eq!(foreign(fixture.import(&mut store, b"")), Foreign::Empty);
    assert_eq!(foreign(fixture.import(&mut store, b"a,b\r\n1,2\r\n")), Foreign::Other("a text"));
    assert_eq!(foreign(fixture.import(&mut store, b"{\"schema\": 1}")), Foreign::Other("a JSON document"));

    let other = fixture.path("other.db");
    let connection = rusqlite::Connection::open(&other).unwrap();
    connection.execute_batch("PRAGMA user_version = 3; CREATE TABLE run (id TEXT)").unwrap();
    assert_eq!(foreign(store.import(&other).err()), Foreign::Application(0));
    assert_eq!(foreign(Store::open(&other).err()), Foreign::Application(0));
    connection.execute_batch("PRAGMA application_id = 252006674").unwrap();
    assert_eq!(foreign(Store::open(&other).err()), Foreign::Application(252_006_674));
    assert!(Store::open(&other).unwrap_err().to_string().contains("0x0f055112"));

    let text = fixture.path("notes.txt");
    let words = "not a database at all, but long enough to have a header of a hundred bytes. ";
    fs::write(&text, words.repeat(3)).unwrap();
    assert_eq!(foreign(Store::open(&text).err()), Foreign::Other("a text"));
    let device = store.import(Path::new("/dev/null")).err();
    assert_eq!(foreign(device), Foreign::Other("a device, a pipe or a socket"));
}

#[test]
fn a_newer_format_is_refused_and_named() {
    let fixture = Fixture::new();
    let mut store = fixture.target("target.db");
    let path = fixture.path("newer.db");
    fs::write(&path, &fixture.exported).unwrap();
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 4).unwrap();
    for error in [store.import(&path).unwrap_err(), Store::open(&path).unwrap_err()] {
        assert!(matches!(error, Error::NewerFormat(_, 4, 3)), "{error}");
        assert!(error.to_string().contains("made by a newer tenbin"), "{error}");
    }
}

#[test]
fn paths_that_lead_nowhere_are_told_apart() {
    let fixture = Fixture::new();
    let mut store = fixture.target("target.db");
    let missing = fixture.path("missing.db");
    assert!(matches!(store.import(&missing), Err(Error::NoSuchFile { .. })));
    assert!(matches!(Store::open_existing(&missing), Err(Error::NoSuchFile { .. })));
    assert!(!missing.exists());
    assert!(matches!(store.import(fixture.folder.path()), Err(Error::IsDirectory { .. })));
    assert!(matches!(Store::open(fixture.folder.path()), Err(Error::IsDirectory { .. })));
    // Nobody may make a folder there, not even root.
    let forbidden = Path::new("/sys/tenbin/store.db");
    let outcome = Store::open(forbidden);
    assert!(matches!(outcome, Err(Error::NoPermission { .. })), "{outcome:?}");
    let blank = fixture.path("blank.db");
    fs::write(&blank, b"").unwrap();
    assert!(matches!(Store::open_existing(&blank), Err(Error::NotAStore(_, Foreign::Empty))));
    assert!(Store::open(&blank).is_ok());
}

/// What is wrong with one run hides no other: lists, `latest` and prefixes work, and the damaged one is
/// named.
#[test]
fn a_damaged_document_hides_no_other_run() {
    let fixture = Fixture::new();
    let mut store = fixture.target("own.db");
    store.import(&fixture.path("exported.db")).unwrap();
    let entries = store.runs().unwrap();
    let connection = rusqlite::Connection::open(store.path()).unwrap();
    let newest = entries.last().unwrap().id;
    connection.execute("UPDATE run SET document = x'7b7d' WHERE id = ?1", [newest.to_string()]).unwrap();
    let bad = store.keep(&small_run(40)).unwrap();
    connection.execute("UPDATE run SET id = 'nonsense' WHERE id = ?1", [bad.to_string()]).unwrap();

    let listing = store.list().unwrap();
    assert_eq!(listing.runs, entries[..entries.len() - 1]);
    let damaged: Vec<&str> = listing.damaged.iter().map(|damage| damage.name.as_str()).collect();
    assert_eq!(damaged, [newest.to_string().as_str(), "nonsense"]);
    assert!(listing.damaged[0].what.contains("document"), "{:?}", listing.damaged[0]);
    assert_eq!(store.find("latest").unwrap(), entries[entries.len() - 2].id);
    assert_eq!(store.find(&entries[0].id.short()).unwrap(), entries[0].id);
    assert_eq!(store.find(&newest.short()).unwrap(), newest);
    assert!(matches!(store.load(&newest), Err(Error::Damaged { .. })));
    let out = fixture.path("intact.db");
    let intact: Vec<RunId> = listing.runs.iter().map(|entry| entry.id).collect();
    store.export(&intact, &[], &out, Existing::Refuse).unwrap();
    assert_eq!(Store::open(&out).unwrap().runs().unwrap(), listing.runs);
}

/// Where whole pages are gone, what can still be reached is listed.
#[test]
fn damaged_pages_hide_no_run_that_can_be_reached() {
    let fixture = Fixture::new();
    let mut some_were_hidden = 0;
    let pages = fixture.exported.len() / 4096;
    for page in 2..pages {
        let mut bytes = fixture.exported.clone();
        bytes[4096 * page..4096 * (page + 1)].fill(0xaa);
        let path = fixture.path(&format!("page-{page}.db"));
        fs::write(&path, &bytes).unwrap();
        let opened = Store::open_to_read(&path);
        assert!(matches!(opened, Ok(_) | Err(Error::Damaged { .. })), "{opened:?}");
        let Ok(store) = opened else { continue };
        let Ok(listing) = store.list() else { continue };
        some_were_hidden += listing.damaged.len();
        for entry in &listing.runs {
            // Its samples may be damaged all the same, which is said and no panic.
            match store.load(&entry.id) {
                Ok(run) => assert!(fixture.runs.iter().any(|(_, kept)| *kept == run)),
                Err(error) => assert!(matches!(error, Error::Damaged { .. }), "{error}"),
            }
        }
    }
    assert!(some_were_hidden > 0, "no page of {pages} held what a list needs");
}

/// What is not a run is no reason to hide the runs.
#[test]
fn damaged_tables_beside_the_runs_hide_no_run() {
    let fixture = Fixture::new();
    let mut store = fixture.target("own.db");
    store.label(&"x".parse().unwrap(), &store.ids().unwrap()).unwrap();
    let entries = store.runs().unwrap();
    let connection = rusqlite::Connection::open(store.path()).unwrap();
    connection.execute_batch("ALTER TABLE label RENAME COLUMN name TO other").unwrap();
    connection.execute_batch("ALTER TABLE calibration RENAME COLUMN id TO other").unwrap();
    let listing = store.list().unwrap();
    assert_eq!(listing.runs, entries);
    assert_eq!(listing.damaged.iter().map(|damage| &damage.name[..]).collect::<Vec<_>>(), ["labels"]);
    assert!(store.labels().unwrap().is_empty());
    let calibrations = store.list_calibrations().unwrap();
    assert_eq!(calibrations.sound, []);
    assert_eq!(calibrations.damaged[0].name, "calibrations");
    store.export(&[entries[0].id], &[], &fixture.path("out.db"), Existing::Refuse).unwrap();
    assert_eq!(store.find("latest").unwrap(), entries[0].id);
    assert_eq!(store.find_calibration("f").unwrap(), None);
}
