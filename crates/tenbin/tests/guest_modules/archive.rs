//! What comes from the archive, with shell scripts in place of Debian's tools: they have one kernel, 6.1.2-1.

use std::fs;
use std::path::Path;

use super::{Desk, MAKE, MODULES};

/// The kernel in the cache is older than the archive's: of its headers the archive knows the name, and not
/// the version.
const OLD: &str = "linux-image-6.1.0-1-amd64_6.1.1-1_amd64.deb\n";

/// The same, of the version that the archive has.
const NEW: &str = "linux-image-6.1.0-1-amd64_6.1.2-1_amd64.deb\n";

/// As apt-cache does: nothing and a success for a version that is not in the lists, a failure for a name that
/// is not.
const SHOW: &str = "[ $1 != pkgnames ] || { echo linux-kbuild-6.1; exit; }
    for package; do :; done
    case $package in
        linux-image-amd64) echo Version: 6.1.2; echo 'Depends: linux-image-6.1.0-1-amd64 (= 6.1.2-1)' ;;
        linux-headers-6.1.0-1-amd64=6.1.2-1)
            echo Version: 6.1.2-1; echo 'Depends: linux-headers-6.1.0-1-common (= 6.1.2-1), linux-kbuild-6.1' ;;
        linux-headers-6.1.0-1-amd64=*) ;;
        *) echo \"N: no package $package\" >&2; exit 100 ;;
    esac";

/// Makes a file of the right name for each word.
const GET: &str = "[ $1 != update ] || exit 0
    shift; for word; do : >\"${word%=*}_6.1.2-1_amd64.deb\"; done";

/// Unpacks what such a file's name promises.
const UNPACK: &str = "case ${2##*/} in
        linux-image-*) mkdir -p $3/boot && echo new >$3/boot/vmlinuz-6.1.0-1-amd64 ;;
        busybox-*) mkdir -p $3/bin && echo new >$3/bin/busybox ;;
        linux-headers-*-common_*) mkdir -p $3/usr/src/linux-headers-6.1.0-1-common ;;
        linux-headers-*)
            folder=$3/usr/src/linux-headers-6.1.0-1-amd64
            mkdir -p $folder && : >$folder/Module.symvers && : >$folder/Makefile ;;
        linux-kbuild-*) mkdir -p $3/usr/lib/linux-kbuild-6.1 ;;
    esac";

/// What was told when the old kernel was replaced.
const REPLACED: &str = "tenbin: fetched kernel and headers of Debian's bookworm for x86_64, version 6.1.2-1, which are \
                        kept: the archive has no headers of 6.1.1-1, whose kernel is gone";

/// A desk with an archive, and a kernel from the packages `origin` without headers. None where Debian's keys
/// are not here, which is said.
fn desk(origin: &str) -> Option<Desk> {
    if !Path::new("/usr/share/keyrings/debian-archive-keyring.gpg").is_file() {
        eprintln!("skipped: what is fetched, for want of the package debian-archive-keyring");
        return None;
    }
    let desk = Desk::with_make();
    fs::remove_dir_all(desk.path("cache/bookworm-x86_64/headers")).unwrap();
    fs::write(desk.path("cache/bookworm-x86_64/origin"), origin).unwrap();
    for (name, script) in
        [("apt-config", ""), ("apt-cache", SHOW), ("apt-get", GET), ("dpkg-deb", UNPACK), ("make", MAKE)]
    {
        desk.program(name, script);
    }
    Some(desk)
}

/// The image in the cache: `image` as it was, `new` as the archive has it.
fn image(desk: &Desk) -> String {
    fs::read_to_string(desk.path("cache/bookworm-x86_64/image")).unwrap().trim_end().to_owned()
}

#[test]
fn headers_of_the_kernel_that_is_here_are_put_beside_it() {
    let Some(desk) = desk(NEW) else { return };
    let (status, out, stderr) = desk.tenbin(&["modules", "--headers"]);
    assert_eq!(status, 0, "{stderr}");
    assert!(out.ends_with("/headers/usr/src/linux-headers-6.1.0-1-amd64\n"), "{out}");
    assert!(
        stderr.contains("fetched the headers of Debian's bookworm for x86_64, version 6.1.2-1"),
        "{stderr}"
    );
    assert_eq!(image(&desk), "image");
}

#[test]
fn a_kernel_whose_headers_are_gone_is_replaced_and_that_is_said() {
    let Some(desk) = desk(OLD) else { return };
    let (status, out, stderr) = desk.tenbin(&["modules", "--into", "out"]);
    assert_eq!(status, 0, "{stderr}");
    assert_eq!((out.lines().count(), stderr.trim_end()), (MODULES.len(), REPLACED));
    assert_eq!(image(&desk), "new");
    assert_eq!(desk.names("cache"), ["bookworm-x86_64", "lock"]);
    let (status, _, stderr) = desk.tenbin(&["modules", "--into", "out"]);
    assert_eq!((status, &*stderr), (0, ""));
}

#[test]
fn what_was_fetched_is_said_when_something_after_it_fails() {
    for (command, begins) in [
        (&["modules", "--into", "out"][..], "tenbin: build kernel modules"),
        (&["run", "--module", "fibdrv", "--", "true"], "tenbin guest: build kernel modules"),
    ] {
        let Some(desk) = desk(OLD) else { return };
        desk.program("make", "exit 2");
        let (status, _, stderr) = desk.tenbin(command);
        assert!(status == 1 && stderr.starts_with(begins), "{status}: {stderr}");
        assert!(stderr.trim_end().ends_with(REPLACED), "{stderr}");
    }
    // A usage error that is found late is no exception: what a folder to carry holds.
    let Some(desk) = desk(OLD) else { return };
    fs::create_dir(desk.path("tree")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, desk.path("tree/pipe"), 0o600.into()).unwrap();
    let (status, _, stderr) =
        desk.tenbin(&["run", "--module", "fibdrv", "--carry-tree", "tree", "--", "true"]);
    assert!(
        status == 2 && stderr.starts_with("tenbin: usage error: carry tree/pipe: "),
        "{status}: {stderr}"
    );
    assert!(stderr.contains(REPLACED), "{stderr}");
}

#[test]
fn a_kernel_without_its_headers_is_said_to_be_fetched() {
    let Some(desk) = desk(OLD) else { return };
    fs::remove_dir_all(desk.path("cache/bookworm-x86_64")).unwrap();
    desk.program("apt-cache", &SHOW.replace("linux-headers-6.1.0-1-amd64=6.1.2-1)", "nothing)"));
    let (status, _, stderr) = desk.tenbin(&["modules", "--headers"]);
    assert!(status == 1 && stderr.contains("it is not in Debian's lists of packages"), "{status}: {stderr}");
    assert!(
        stderr.contains("tenbin: fetched the kernel of Debian's bookworm for x86_64, which is kept"),
        "{stderr}"
    );
    assert_eq!(image(&desk), "new");
}

#[test]
fn lists_that_are_not_whole_replace_no_kernel() {
    // Of the kernel that is here neither version nor name need be known.
    for origin in [OLD, "linux-image-6.1.0-0-amd64_6.1.0-1_amd64.deb\n", ""] {
        let Some(desk) = desk(origin) else { return };
        desk.program(
            "apt-get",
            &GET.replace("exit 0", "exec sh -c 'echo E: the mirror is away >&2; exit 100'"),
        );
        let (status, _, stderr) = desk.tenbin(&["modules", "--headers"]);
        assert!(status == 1 && stderr.contains("E: the mirror is away"), "{origin}: {status}: {stderr}");
        assert_eq!(image(&desk), "image", "{origin}");
    }
    // What is in the lists that came is taken all the same.
    let Some(desk) = desk(NEW) else { return };
    desk.program("apt-get", &GET.replace("exit 0", "exit 100"));
    let (status, _, stderr) = desk.tenbin(&["modules", "--headers"]);
    assert_eq!(status, 0, "{stderr}");
}
