//! `tenbin guest modules` and `guest run --module` as a user meets them, with shell scripts in place of make,
//! the compilers and the emulator.
//!
//! What only a real build shows is shown by `cargo xtask test guests`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "guest_modules/archive.rs"]
mod archive;
mod guest_desk;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use guest_desk::Desk;

const MODULES: [&str; 3] = ["stop_machine", "oneshot_timer", "fibdrv"];

/// A make that builds what it is asked for, and notes that it ran and with which words.
const MAKE: &str = "for word; do case $word in M=*) folder=${word#M=} ;; esac; done
    for name in stop_machine oneshot_timer fibdrv; do
        read -r first <\"$folder/$name/Kbuild\" && echo \"$name: $first\" >\"$folder/$name/$name.ko\" || exit 2
    done; echo \"$@\" >>made";

/// The folder of the headers in the cache.
const HEADERS: &str = "cache/bookworm-x86_64/headers/usr/src/linux-headers-6.1-amd64";

impl Desk {
    /// One whose kernel has headers, and which has make and compilers.
    fn with_make() -> Self {
        let desk = Self::new(&["sh", "tar", "grep", "mkdir"]);
        fs::create_dir_all(desk.path(HEADERS)).unwrap();
        fs::write(desk.path(&format!("{HEADERS}/Module.symvers")), "").unwrap();
        desk.program("make", MAKE);
        for compiler in ["gcc", "x86_64-linux-gnu-gcc"] {
            desk.program(compiler, "exit 1");
        }
        desk
    }

    /// The exit status, standard output and standard error of `tenbin guest WORDS`.
    fn tenbin(&self, words: &[&str]) -> (i32, String, String) {
        ended(&mut self.command(words[0], &words[1..]))
    }

    /// How often make did its work, and with which words.
    fn made(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.path("made")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).unwrap();
        let mut names =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>();
        names.sort();
        names
    }
}

/// The exit status, standard output and standard error of a command.
fn ended(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

#[test]
fn modules_are_built_once_and_put_where_they_are_wanted() {
    let desk = Desk::with_make();
    for folder in ["one", "two/deep"] {
        let (status, out, stderr) = desk.tenbin(&["modules", "--into", folder]);
        assert_eq!(status, 0, "{stderr}");
        assert_eq!(out, MODULES.map(|name| format!("{folder}/{name}.ko\n")).concat());
        for name in MODULES {
            let content = fs::read_to_string(desk.path(&format!("{folder}/{name}.ko"))).unwrap();
            assert!(content.starts_with(&format!("{name}: # SPDX-License-Identifier: GPL-2.0")), "{content}");
        }
    }
    let made = desk.made();
    let [words] = &made[..] else { panic!("once: {made:?}") };
    let headers = fs::canonicalize(desk.path(HEADERS)).unwrap();
    assert!(words.starts_with(&format!("-C {} M=/", headers.display())), "{words}");
    assert!(words.contains(" CC=") && words.contains("gcc") && words.contains(" CROSS_COMPILE="), "{words}");
    // Nothing is left of the build but its products.
    assert_eq!(desk.names("cache"), ["bookworm-x86_64", "lock"]);
}

#[test]
fn the_user_s_environment_has_no_part_in_a_build() {
    let desk = Desk::with_make();
    desk.program("make", &format!("export -p >>environment; {MAKE}"));
    let of_make = ["MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES"];
    let of_kbuild = ["KCFLAGS", "LLVM", "KBUILD_OUTPUT", "ARCH", "CROSS_COMPILE"];
    let settings = of_make.into_iter().chain(of_kbuild);
    for value in ["one", "two"] {
        let mut command = desk.command("modules", &["--into", "out"]);
        let (status, _, stderr) = ended(command.envs(settings.clone().map(|name| (name, value))));
        assert_eq!(status, 0, "{stderr}");
    }
    let seen = fs::read_to_string(desk.path("environment")).unwrap();
    assert!(seen.contains("PATH=") && seen.contains("LC_ALL='C'"), "{seen}");
    for name in settings {
        assert!(!seen.contains(&format!(" {name}=")), "{name} in {seen}");
    }
    // What is told to make in their place is in the name of what was built, so one build was enough.
    let made = desk.made();
    assert_eq!(made.len(), 1);
    for word in
        ["KCFLAGS=-Werror", "CONFIG_DEBUG_INFO_BTF_MODULES= ", "CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT="]
    {
        assert!(made[0].contains(word), "{word} not in {made:?}");
    }
}

#[test]
fn the_folder_of_the_headers_is_told() {
    let desk = Desk::with_make();
    let (status, out, stderr) = desk.tenbin(&["modules", "--headers"]);
    assert_eq!(status, 0, "{stderr}");
    let headers = fs::canonicalize(desk.path(HEADERS)).unwrap();
    assert_eq!(fs::canonicalize(out.trim_end()).unwrap(), headers);
    assert!(out.starts_with('/') && desk.made().is_empty(), "{out}");
}

#[test]
fn a_module_is_carried_into_the_guest() {
    let desk = Desk::with_make();
    // The root is an archive that is not compressed: names and contents stand in it as they are.
    desk.program(
        "qemu-system-x86_64",
        "for word; do
            case $word in file,id=virtio,path=*) virtio=${word#*path=} ;; esac
            [ \"$last\" != -initrd ] || root=$word
            last=$word
        done
        : >stdout; : >stderr; echo end >end; echo 0 >status
        for name in stop_machine oneshot_timer fibdrv; do
            grep -a -q \"modules/$name.ko\" \"$root\" && grep -a -q \"$name: # SPDX\" \"$root\" && echo $name >>stdout
        done
        tar -c -f $virtio status stdout stderr end",
    );
    let carried = ["run", "--module", "fibdrv", "--module", "oneshot_timer", "--", "true"];
    let (status, out, stderr) = desk.tenbin(&carried);
    assert_eq!((status, &*out), (0, "oneshot_timer\nfibdrv\n"), "{stderr}");
    let (status, out, stderr) = desk.tenbin(&["run", "--", "true"]);
    assert_eq!((status, &*out), (0, ""), "{stderr}");
    assert_eq!(desk.made().len(), 1);
}

#[test]
fn a_build_that_fails_shows_the_compiler_and_leaves_nothing() {
    let desk = Desk::with_make();
    desk.program("make", "echo 'fibdrv/fibdrv.c:1:1: error: planted' >&2; exit 2");
    for words in [&["modules", "--into", "out"][..], &["run", "--module", "fibdrv", "--", "true"]] {
        let (status, out, stderr) = desk.tenbin(words);
        assert_eq!((status, &*out), (1, ""), "{stderr}");
        assert!(
            stderr.contains("build kernel modules") && stderr.contains("c:1:1: error: planted"),
            "{stderr}"
        );
        assert!(stderr.contains("linux-headers-6.1-amd64") && stderr.contains("exit status: 2"), "{stderr}");
    }
    assert_eq!(desk.names("cache"), ["bookworm-x86_64", "lock"]);
    assert_eq!(desk.names("cache/bookworm-x86_64"), ["busybox", "headers", "image", "modules"]);
    assert!(!desk.path("out").exists());
    // A make that builds less than it should has failed too.
    desk.program("make", "exit 0");
    let (status, _, stderr) = desk.tenbin(&["modules", "--into", "out"]);
    assert_eq!(status, 1, "{stderr}");
    assert!(stderr.contains("stop_machine.ko"), "{stderr}");
    // And what failed is tried again.
    desk.program("make", MAKE);
    assert_eq!(desk.tenbin(&["modules", "--into", "out"]).0, 0);
}

#[test]
fn what_a_build_lacks_is_named_with_the_command_for_it() {
    let desk = Desk::with_make();
    let library =
        "echo 'objtool: error while loading shared libraries: libelf.so.1: cannot open' >&2; exit 2";
    desk.program("make", library);
    let (status, _, stderr) = desk.tenbin(&["modules", "--into", "out"]);
    assert!(status == 5 && stderr.contains("apt-get install libelf1"), "{status}: {stderr}");
    for compiler in ["gcc", "x86_64-linux-gnu-gcc"] {
        fs::remove_file(desk.path("programs").join(compiler)).unwrap();
    }
    let (status, _, stderr) = desk.tenbin(&["modules", "--into", "out"]);
    assert!(status == 5 && stderr.contains("apt-get install gcc"), "{status}: {stderr}");
    fs::remove_file(desk.path("programs/make")).unwrap();
    let (status, _, stderr) = desk.tenbin(&["run", "--module", "fibdrv", "--", "true"]);
    assert!(status == 5 && stderr.contains("apt-get install make"), "{status}: {stderr}");
    assert!(stderr.contains("modules are built with it"), "{stderr}");
    assert!(stderr.starts_with("tenbin guest: "), "{stderr}");
}

#[test]
fn modules_for_a_kernel_of_one_s_own_are_built_with_its_headers() {
    let desk = Desk::with_make();
    let build = desk.path("own/lib/modules/6.1-own/build");
    fs::create_dir_all(desk.path("own/boot")).unwrap();
    fs::write(desk.path("own/boot/vmlinuz-6.1-own"), "").unwrap();
    let words = ["modules", "--kernel", "own/boot/vmlinuz-6.1-own", "--into", "out"];
    let (status, _, stderr) = desk.tenbin(&words);
    assert!(status == 5 && stderr.contains("apt-get install linux-headers-6.1-own"), "{status}: {stderr}");
    fs::create_dir_all(&build).unwrap();
    for symbols in ["one", "one", "two"] {
        fs::write(build.join("Module.symvers"), symbols).unwrap();
        let (status, _, stderr) = desk.tenbin(&words);
        assert_eq!(status, 0, "{stderr}");
    }
    // Built anew because the kernel's symbols are others, and only then.
    let made = desk.made();
    assert_eq!(made.len(), 2);
    assert!(made[0].contains("own/lib/modules/6.1-own/build M=/"), "{made:?}");
    assert_eq!(desk.names("out"), ["fibdrv.ko", "oneshot_timer.ko", "stop_machine.ko"]);
}

#[test]
fn a_module_that_is_replaced_is_never_half_there() {
    let desk = Desk::with_make();
    fs::create_dir(desk.path("out")).unwrap();
    for name in MODULES {
        fs::write(desk.path(&format!("out/{name}.ko")), "old").unwrap();
    }
    // A second name for the old file: whoever wrote into that would change what is read here.
    fs::hard_link(desk.path("out/fibdrv.ko"), desk.path("old")).unwrap();
    let (status, _, stderr) = desk.tenbin(&["modules", "--into", "out"]);
    assert_eq!(status, 0, "{stderr}");
    assert_eq!(fs::read_to_string(desk.path("old")).unwrap(), "old");
    assert_eq!(desk.names("out"), ["fibdrv.ko", "oneshot_timer.ko", "stop_machine.ko"]);
    assert!(fs::read_to_string(desk.path("out/fibdrv.ko")).unwrap().starts_with("fibdrv: "));
}

#[test]
fn whoever_waits_for_another_tenbin_says_so() {
    let desk = Desk::with_make();
    let lock = fs::File::create(desk.path("cache/lock")).unwrap();
    lock.lock().unwrap();
    let mut command = desk.command("modules", &["--into", "out"]);
    let mut tenbin = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(tenbin.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert_eq!(line, "tenbin: waiting for another tenbin that is writing in cache\n");
    assert!(desk.made().is_empty());
    drop(lock);
    assert!(tenbin.wait().unwrap().success());
    assert_eq!(desk.made().len(), 1);
}

#[test]
fn a_cache_where_make_cannot_work_is_a_usage_error() {
    let desk = Desk::with_make();
    for cache in ["my cache", "a:b"] {
        fs::rename(desk.path("cache"), desk.path(cache)).unwrap();
        let (status, _, stderr) = desk.tenbin(&["modules", "--into", "out", "--cache", cache]);
        assert!(
            status == 2 && stderr.contains(cache) && stderr.contains("with --cache"),
            "{status}: {stderr}"
        );
        fs::rename(desk.path(cache), desk.path("cache")).unwrap();
    }
    assert!(desk.made().is_empty() && !desk.path("out").exists());
}
