//! Real guests, one for each architecture, and guests that go wrong.
//!
//! They need the emulators, and the network for kernels that are not in the user's cache yet. So they are
//! ignored unless `cargo xtask test guests` asks for them. None depends on how fast the machine is: a
//! deadline is long where an answer is expected, and where none is, the guest never gives one.

mod archive;

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use tenbin_model::Architecture;
use tenbin_reach::{
    Accelerator, Cargo, Channel, ConsoleLine, Error, File, Guest, Kvm, Outcome, Silence, Suite,
};

fn guest(architecture: Architecture, command: &[&str]) -> Guest {
    archive::guest(architecture, Suite::usual(architecture), &[], command)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("it is text")
}

/// A folder with a program and a link to it below `tree`, and with `content` in the file `bytes`.
fn luggage(content: &[u8]) -> io::Result<TempDir> {
    let here = tempfile::tempdir()?;
    let folder = here.path().join("tree/opt/folder");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("program"), "#!/bin/sh\necho \"$0: $1\" >&2\nuname -m\n")?;
    fs::set_permissions(folder.join("program"), fs::Permissions::from_mode(0o750))?;
    symlink("folder/program", here.path().join("tree/opt/link"))?;
    fs::write(here.path().join("bytes"), content)?;
    Ok(here)
}

/// Says which architecture it is on, hands a file and a folder back, and fails.
fn work(architecture: Architecture) {
    // As many bytes as no buffer on the way holds, and every value of a byte.
    let bytes = (0..300_000_u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8);
    let content = bytes.collect::<Vec<_>>();
    let here = luggage(&content).expect("there is room for some files");
    let script = "/opt/link \"it's\" && cp /opt/bytes /tmp/bytes && chmod 640 /tmp/bytes && exit 7";
    let mut guest = guest(architecture, &["sh", "-c", script]);
    guest.cargo = vec![
        Cargo::Tree(here.path().join("tree")),
        Cargo::File { from: here.path().join("bytes"), to: "/opt/bytes".into(), mode: None },
    ];
    guest.bring = ["/tmp/bytes", "/opt/folder", "/nothing"].map(str::to_owned).to_vec();
    let outcome = guest.run().expect("the guest answers");
    let Outcome { status, stdout, stderr, files, absent, channel, .. } = outcome;
    assert_eq!((status, text(&stdout)), (7, &*format!("{architecture}\n")), "{}", text(&stderr));
    assert_eq!(text(&stderr), "/opt/link: it's\n");
    assert_eq!(channel, Channel::Virtio);
    assert_eq!(absent, ["/nothing"]);
    assert_eq!(files.len(), 2);
    assert!(
        files[0] == File { path: "tmp/bytes".into(), mode: 0o640, content },
        "{}",
        files[0].path.display()
    );
    assert_eq!((files[1].path.as_path(), files[1].mode), (Path::new("opt/folder/program"), 0o750));
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn a_guest_works_on_x86_64() {
    work(Architecture::X86_64);
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn a_guest_works_on_aarch64() {
    work(Architecture::Aarch64);
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn a_guest_works_on_riscv64() {
    let Some((riscv64, _)) = archive::riscv64() else { return };
    work(riscv64);
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn without_virtio_modules_the_answer_comes_over_the_serial_line() {
    let mut guest = guest(Architecture::Aarch64, &["tenbin-no-such-program"]);
    assert!(!guest.kernel.modules.is_empty());
    guest.kernel.modules.clear();
    let outcome = guest.run().unwrap();
    assert_eq!((outcome.status, outcome.channel), (127, Channel::Serial));
    assert!(text(&outcome.stderr).contains("tenbin-no-such-program"), "{}", text(&outcome.stderr));
}

/// The silence of a guest that gave no answer, and its console.
fn silence(guest: &Guest) -> (Silence, String) {
    match guest.run() {
        Err(Error::Silent { silence, console }) => (silence, console),
        other => panic!("{other:?}"),
    }
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn a_guest_that_hangs_is_ended() {
    let Some((riscv64, _)) = archive::riscv64() else { return };
    let mut guest = guest(riscv64, &["sh", "-c", "echo here >/dev/console; tail -f /dev/null"]);
    // Long enough to be in the command on most machines; where it is not, the end is the same.
    guest.deadline = Duration::from_secs(8);
    assert_eq!(silence(&guest).0, Silence::Deadline(guest.deadline));
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn a_guest_that_panics_shows_the_end_of_its_console() {
    let Some((riscv64, _)) = archive::riscv64() else { return };
    let (silence, console) = silence(&guest(riscv64, &["sh", "-c", "echo c >/proc/sysrq-trigger"]));
    assert_eq!(silence, Silence::Panic);
    assert!(console.contains("sysrq triggered crash"), "{console}");
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn a_guest_that_is_switched_off_under_the_command_is_silent() {
    let Some((riscv64, _)) = archive::riscv64() else { return };
    let (silence, _) = silence(&guest(riscv64, &["poweroff", "-f"]));
    assert!(matches!(&silence, Silence::Ended(why) if why == "it sent nothing"), "{silence:?}");
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn a_guest_that_sends_too_much_is_ended() {
    let Some((riscv64, _)) = archive::riscv64() else { return };
    let mut guest = guest(riscv64, &["head", "-c", "3000000", "/dev/zero"]);
    guest.answer_most = 1 << 20;
    assert_eq!(silence(&guest).0, Silence::Flood(1 << 20));
}

/// One CPU of two is kept for the command, as noise is kept from it in the report of DokiDokiPB on fibdrv
/// (2022); what traces is there; and lines of the console come in order.
#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn a_cpu_is_kept_free_and_traces_and_times_are_there() {
    let Some((riscv64, _)) = archive::riscv64() else { return };
    let script = "echo '<0>tenbin: first' >/dev/kmsg
        cat /sys/devices/system/cpu/isolated
        taskset -p $$ | sed 's/.* //'
        taskset 2 sh -c 'echo $(taskset -p $$ | cut -d: -f2)'
        grep -c . /sys/kernel/tracing/available_tracers
        test -d /sys/kernel/debug/tracing && echo debug
        echo '<0>tenbin: second' >/dev/kmsg";
    let mut guest = guest(riscv64, &["sh", "-c", script]);
    guest.cpus = 2;
    guest.parameters = vec!["isolcpus=1".to_owned()];
    let mut reported = Vec::new();
    let outcome =
        guest.run_watched(&mut |line: &ConsoleLine| reported.push(line.clone())).expect("the guest answers");
    assert_eq!((text(&outcome.stdout), outcome.status), ("1\n1\n2\n1\ndebug\n", 0));
    assert_eq!(reported, outcome.console.lines);
    let place = |words: &str| reported.iter().position(|line| line.plain().ends_with(words));
    let (Some(first), Some(second)) = (place("] tenbin: first"), place("] tenbin: second")) else {
        panic!("{}", outcome.console.text());
    };
    assert!(first < second);
    assert!(reported.iter().all(|line| line.ended.is_none_or(|ended| line.began <= ended)));
    assert!(reported.windows(2).all(|pair| pair[0].ended.is_none_or(|ended| ended <= pair[1].began)));
}

/// A program for x86-64 that reads the time stamp counter, goes round an empty loop of two instructions
/// `loops` times, reads it again, and writes the difference in eight bytes; six times in all.
fn stopwatch(loops: u32) -> Vec<u8> {
    let begin: &[u8] = &[
        0x41, 0xbc, 6, 0, 0, 0, // mov r12d, 6
        0x0f, 0x31, // again: rdtsc
        0x89, 0xd3, // mov ebx, edx
        0x48, 0xc1, 0xe3, 0x20, // shl rbx, 32
        0x48, 0x09, 0xc3, // or rbx, rax
        0xb9, // mov ecx, loops
    ];
    let end: &[u8] = &[
        0xff, 0xc9, // round: dec ecx
        0x75, 0xfc, // jne round
        0x0f, 0x31, // rdtsc
        0x48, 0xc1, 0xe2, 0x20, // shl rdx, 32
        0x48, 0x09, 0xd0, // or rax, rdx
        0x48, 0x29, 0xd8, // sub rax, rbx
        0x50, // push rax
        0xb8, 1, 0, 0, 0, // mov eax, 1: write
        0xbf, 1, 0, 0, 0, // mov edi, 1
        0x48, 0x89, 0xe6, // mov rsi, rsp
        0xba, 8, 0, 0, 0, // mov edx, 8
        0x0f, 0x05, // syscall
        0x58, // pop rax
        0x41, 0xff, 0xcc, // dec r12d
        0x75, 0xc5, // jne again
        0xb8, 60, 0, 0, 0, // mov eax, 60: exit
        0x31, 0xff, // xor edi, edi
        0x0f, 0x05, // syscall
    ];
    let code = [begin, &loops.to_le_bytes(), end].concat();
    // An ELF file with one segment that is the file itself, at 4 MiB (elf(5)).
    let (base, headers) = (0x40_0000_u64, 64 + 56_u16);
    let size = u64::from(headers) + code.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let halves = |file: &mut Vec<u8>, numbers: &[u16]| {
        numbers.iter().for_each(|number| file.extend_from_slice(&number.to_le_bytes()));
    };
    let words = |file: &mut Vec<u8>, numbers: &[u64]| {
        numbers.iter().for_each(|number| file.extend_from_slice(&number.to_le_bytes()));
    };
    // A program, for x86-64, version 1; entry, program headers, no sections; no flags, sizes and numbers.
    halves(&mut file, &[2, 62, 1, 0]);
    words(&mut file, &[base + u64::from(headers), 64, 0]);
    halves(&mut file, &[0, 0, 64, 56, 1, 0, 0, 0]);
    // To load, readable and executable; offset, both addresses, both sizes, alignment.
    halves(&mut file, &[1, 0, 5, 0]);
    words(&mut file, &[0, base, base, size, size, 4096]);
    file.extend_from_slice(&code);
    file
}

/// Where instructions are counted, the clock tells them to the instruction, however fast or busy this machine
/// is; and waiting takes no time here.
///
/// Now and then an interrupt comes between the two readings, and what it does counts as well. So the least of
/// six is what is expected: two instructions a round, and five of those around the loop.
#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn counted_instructions_are_the_time_of_a_guest() {
    let script = "/short && /long
        now() { sed -n 's/^now at \\([0-9]*\\) .*/\\1/p' /proc/timer_list; }
        before=$(now); sleep 1000; after=$(now); echo $(((after - before) / 1000000000))";
    let mut guest = guest(Architecture::X86_64, &["sh", "-c", script]);
    guest.accelerator = Accelerator::Counted;
    let program = |to: &str, loops| Cargo::Bytes { to: to.into(), mode: 0o755, content: stopwatch(loops) };
    guest.cargo = vec![program("/short", 1000), program("/long", 100_000)];
    assert!(guest.deadline < Duration::from_secs(1000));
    let outcome = guest.run().expect("the guest answers");
    let (counts, slept) = outcome.stdout.split_at_checked(12 * 8).expect("twelve counts");
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let counts = counts.chunks_exact(8).map(number).collect::<Vec<_>>();
    let least = |counts: &[u64]| counts.iter().min().copied();
    assert_eq!((least(&counts[..6]), least(&counts[6..])), (Some(2005), Some(200_005)), "{counts:?}");
    let slept = text(slept).trim_end().parse::<u64>().expect("seconds");
    assert!((1000..1010).contains(&slept), "{slept}");
}

/// Whatever the device of this machine does, the question has an answer, and where the answer is yes, it is
/// so.
#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn a_try_of_kvm_ends_with_a_guest_or_with_a_reason() {
    let Some(own) = Architecture::host() else {
        println!("skipped: guests have no architecture like this machine's");
        return;
    };
    let mut guest = guest(own, &["true"]);
    match guest.try_kvm(Duration::from_secs(20)).expect("there is an emulator") {
        Kvm::Works => {
            guest.accelerator = Accelerator::Kvm;
            assert_eq!(guest.run().expect("the guest answers").status, 0);
        }
        Kvm::Fails(why) => {
            println!("skipped: a guest under KVM: {why}");
            assert!(!why.is_empty());
        }
    }
    for foreign in Architecture::ALL.into_iter().filter(|&architecture| architecture != own) {
        guest.architecture = foreign;
        assert!(matches!(guest.try_kvm(Duration::from_secs(20)), Err(Error::Request(_))), "{foreign}");
    }
}
