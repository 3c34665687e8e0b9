//! Where answers go: standard output by its names, devices, links, disks that are full, readers that leave.

#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::process::{Command, Output, Stdio};

use specimens::small_run;
use tenbin_store::Store;

#[allow(dead_code, reason = "the other files of tests use the rest")]
mod place;
#[path = "../../store/tests/specimens/mod.rs"]
mod specimens;

use place::{Place, ending, text};

/// A place with a run in its store.
fn with_a_run() -> Place {
    let place = Place::new();
    Store::open(&place.path("store.db")).unwrap().keep(&small_run(1)).unwrap();
    place
}

fn into(place: &Place, out: impl Into<Stdio>, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tenbin"))
        .args(arguments)
        .env("TENBIN_STORE", place.path("store.db"))
        .current_dir(place.folder.path())
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(Stdio::piped())
        .output()
        .unwrap()
}

/// Every write to this device says that the disk is full: tenbin failed, and the request was right.
#[test]
fn a_disk_that_is_full_is_a_failure_and_no_usage_error() {
    let place = with_a_run();
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let csv = ["export", "latest", "--format", "csv", "-o"];
    for arguments in [
        &["--help"][..],
        &["-h"],
        &["help", "run"],
        &["run", "--help"],
        &["--version"],
        &["list"],
        &["runs"],
        &["man", "run"],
        &["completions", "bash"],
        &[&csv[..], &["-"]].concat(),
        &["export", "latest", "-o", "-"],
    ] {
        let (status, said) = ending(&into(&place, full(), arguments));
        assert_eq!(status, 1, "{arguments:?}: {said}");
        assert!(said.contains("No space left") && !said.contains("usage"), "{arguments:?}: {said}");
    }
    for arguments in [&[&csv[..], &["/dev/full"]].concat()[..], &["export", "latest", "-o", "/dev/full"]] {
        let (status, said) = ending(&place.tenbin(arguments));
        assert_eq!(status, 1, "{arguments:?}: {said}");
        assert!(said.contains("/dev/full") && !said.contains("usage"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_reader_that_leaves_is_no_error_wherever_the_answer_goes() {
    let place = with_a_run();
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["man"],
        &["export", "latest", "--format", "json", "-o", "-"],
        &["export", "latest", "--format", "json", "-o", "/dev/stdout"],
        &["export", "latest", "-o", "/dev/fd/1"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = into(&place, writer, arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", ending(&output).1);
    }
    // A pipe that has a name is opened while there is a reader, who then leaves.
    let fifo = place.path("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let reader = File::options().read(true).write(true).open(&fifo).unwrap();
    let output = place.tenbin(&["export", "latest", "--format", "csv", "-o", "fifo"]);
    assert_eq!(ending(&output).0, 0, "{}", ending(&output).1);
    drop(reader);
}

#[test]
fn standard_output_has_its_names_and_needs_no_force() {
    let place = with_a_run();
    let expected = place.tenbin(&["export", "latest", "--format", "json", "-o", "run.json"]);
    assert_eq!(ending(&expected).0, 0);
    let expected = fs::read(place.path("run.json")).unwrap();
    for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let output = place.tenbin(&["export", "latest", "--format", "json", "-o", name]);
        assert_eq!(ending(&output).0, 0, "{name}: {}", ending(&output).1);
        assert_eq!(output.stdout, expected, "{name}");
        assert!(ending(&output).1.contains("to "), "{name}");
    }
    assert!(!place.path("-").exists());
    let store = place.tenbin(&["export", "latest", "-o", "-"]);
    assert_eq!(ending(&store).0, 0, "{}", ending(&store).1);
    fs::write(place.path("copy.db"), &store.stdout).unwrap();
    assert_eq!(ending(&place.with_store(&place.path("other.db"), &["import", "copy.db"])).0, 0);
    let listed = place.tenbin(&["blame", "--list", "-o", "-"]);
    assert_eq!(ending(&listed), (0, String::new()));
    assert!(text(&listed.stdout).contains("memcpy"));
    assert!(!place.path("-").exists());
}

#[test]
fn a_link_is_followed_and_never_replaced() {
    let place = with_a_run();
    fs::create_dir(place.path("there")).unwrap();
    fs::write(place.path("there/target"), "old").unwrap();
    let is_link = |name: &str| place.path(name).symlink_metadata().unwrap().is_symlink();
    symlink("there/target", place.path("link")).unwrap();
    symlink("there/absent", place.path("dangling")).unwrap();
    symlink("loop", place.path("loop")).unwrap();
    for format in ["store", "csv"] {
        let export = |name: &str, more: &[&str]| {
            ending(&place.tenbin(&[&["export", "latest", "--format", format, "-o", name], more].concat()))
        };
        let (status, said) = export("link", &[]);
        assert!(status == 2 && said.contains("exists") && said.contains("--force"), "{said}");
        fs::write(place.path("there/target"), "old").unwrap();
        assert_eq!(export("link", &["--force"]).0, 0);
        assert!(is_link("link"), "{format}");
        assert!(fs::metadata(place.path("there/target")).unwrap().len() > 100, "{format}");
        for name in ["dangling", "loop"] {
            for more in [&[][..], &["--force"]] {
                let (status, said) = export(name, more);
                assert_eq!(status, 2, "{format} {name}: {said}");
                assert!(said.contains(name), "{said}");
                assert!(is_link(name), "{format} {name}");
            }
        }
        assert!(!place.path("there/absent").exists());
        let (status, said) = export("store.db", &["--force"]);
        if format == "store" {
            assert_eq!(status, 2);
            assert!(said.contains("this is the store"), "{said}");
        } else {
            // Whatever is written, it is not the store that is lost for it.
            assert_eq!(status, 2, "{said}");
            assert!(said.contains("this is the store"), "{said}");
        }
    }
    for name in ["dangling", "there"] {
        let (status, said) = ending(&place.tenbin(&["blame", "--list", "-o", name]));
        assert_eq!(status, 2, "{said}");
        assert!(said.contains(name), "{said}");
    }
    assert_eq!(ending(&place.tenbin(&["blame", "--list", "-o", "link"])).0, 0);
    assert!(is_link("link") && fs::read_to_string(place.path("there/target")).unwrap().contains("memcpy"));
    let left: Vec<_> = fs::read_dir(place.path("there")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}
