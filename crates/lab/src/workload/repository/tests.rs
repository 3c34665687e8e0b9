use std::collections::BTreeMap;

use super::*;
use crate::rehearsal::usage;

fn made(folder: &Path, origin: &Origin) -> Repository {
    Repository::make(&git().unwrap(), folder, origin).unwrap()
}

/// Every file below a folder, with its contents and when it was changed.
fn contents(root: &Path) -> BTreeMap<PathBuf, (Vec<u8>, std::time::SystemTime)> {
    let mut files = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                let changed = path.metadata().unwrap().modified().unwrap();
                files.insert(path.clone(), (fs::read(&path).unwrap(), changed));
            }
        }
    }
    files
}

#[test]
fn the_commits_have_the_same_ids_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let repository = made(folder.path(), &Origin::Own(20));
    let ids = [repository.pair.from.as_str(), repository.pair.to.as_str()];
    let known = ["2dcdb1f3f121b5ba6b4710c9b022011021f1be26", "cc1fd335a7bc906ebc07616506c5fdcb256c542d"];
    assert_eq!(ids, known);
    assert!(!folder.path().join("stream").exists());
}

#[test]
fn a_checkout_changes_exactly_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    let repository = made(folder.path(), &Origin::Own(30));
    repository.holds(Revision::From).unwrap().unwrap();
    let differs = repository
        .ask(&["diff", "--name-only", "--no-renames", &repository.pair.from, &repository.pair.to], None)
        .unwrap();
    assert_eq!(String::from_utf8(differs).unwrap().lines().count() as u64, sources::differing(30));
    let sources = |root: &Path| {
        let mut files = contents(root);
        files.retain(|path, _| !path.starts_with(root.join(".git")));
        files
    };
    let before = sources(repository.root());
    repository.ask(&["checkout", "-q", "--detach", &repository.pair.to], None).unwrap();
    repository.holds(Revision::To).unwrap().unwrap();
    let after = sources(repository.root());
    let paths: std::collections::BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    // What is as it was was not even written again.
    let changed = paths.into_iter().filter(|&path| before.get(path) != after.get(path)).count() as u64;
    assert_eq!(changed, sources::differing(30));
    // And what is wrong is seen, and where.
    let first = sources::path(3, Revision::To);
    fs::write(repository.root().join(&first), sources::text(3, Revision::From)).unwrap();
    assert!(repository.holds(Revision::To).unwrap().unwrap_err().contains(&first));
    assert!(repository.holds(Revision::From).unwrap().unwrap_err().contains("HEAD"));
}

#[test]
fn a_repository_of_a_user_s_is_only_read() {
    let folder = tempfile::tempdir().unwrap();
    let own = made(folder.path(), &Origin::Own(20));
    let user = own.root().to_str().unwrap();
    // Work that is not committed, and an index that is not fresh.
    fs::write(own.root().join("notes"), "mine").unwrap();
    fs::write(own.root().join(sources::path(9, Revision::From)), "mine").unwrap();
    let before = contents(own.root());
    let git = git().unwrap();
    let lent = Lent::of(&git, user, ["from", "to"]).unwrap();
    assert_eq!((lent.differing, &lent.pair), (sources::differing(20), &own.pair));
    assert!(lent.first.starts_with("part0000"), "{lent:?}");
    let elsewhere = tempfile::tempdir().unwrap();
    let origin = Origin::Lent { objects: lent.objects.clone(), pair: lent.pair.clone() };
    let copy = made(elsewhere.path(), &origin);
    for (revision, id) in [(Revision::To, &copy.pair.to), (Revision::From, &copy.pair.from)] {
        copy.ask(&["checkout", "-q", "--detach", id], None).unwrap();
        copy.holds(revision).unwrap().unwrap();
        for number in 0..20 {
            let text = fs::read_to_string(copy.root().join(sources::path(number, revision))).unwrap();
            assert_eq!(text, sources::text(number, revision));
        }
    }
    assert!(contents(own.root()) == before, "the user's repository was changed");
}

#[test]
fn what_is_no_repository_or_revision_is_a_usage_error() {
    let folder = tempfile::tempdir().unwrap();
    let own = made(folder.path(), &Origin::Own(20));
    let user = own.root().to_str().unwrap();
    let empty = tempfile::tempdir().unwrap();
    let nowhere = empty.path().join("nowhere").to_str().unwrap().to_owned();
    for (repo, revisions, word) in [
        (empty.path().to_str().unwrap(), ["from", "to"], "--set repo="),
        (&nowhere, ["from", "to"], "--set repo="),
        (user, ["from", "v9"], "--set to=v9"),
        (user, ["--all", "to"], "--set from=--all"),
        (user, ["from", "from"], "do not differ"),
    ] {
        let message = usage(Lent::of(&git().unwrap(), repo, revisions));
        assert!(message.contains(word), "{repo} {revisions:?}: {message}");
    }
}

#[test]
fn a_program_that_is_not_there_is_missing_and_can_be_had() {
    let unfit = program("no-such-program", "it makes an index of sources", "package");
    let Err(Unfit::Missing(missing)) = unfit else { panic!("{unfit:?}") };
    let message = missing.to_string();
    for word in ["`no-such-program`", "an index of sources", "apt install package"] {
        assert!(message.contains(word), "{message}");
    }
}
