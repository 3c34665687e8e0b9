//! Is this program executed by the processor, or read by another program?
//!
//! A user-mode emulator (qemu-user, box64, FEX, Rosetta, valgrind) is the program that the kernel
//! runs; ours is its data. Emulators hide that where programs are known to look: qemu-user answers
//! for `exe`, `maps`, `auxv` and others under `/proc/self/` and `/proc/<pid>/`, since version 8 also
//! where the path only resolves to these (`linux-user/syscall.c`, `is_proc_myself`). Reached through
//! the *thread*, `/proc/thread-self/` or `/proc/self/task/<tid>/`, the same files are the kernel's
//! own: so it is under QEMU 7.2 and 10.0, with and without binfmt_misc, and under valgrind 3.19.
//! Three signs are read there, and each is enough.

use std::fs;
use std::io::Read;

use tenbin_model::Architecture;

use super::root::Reading;

/// What the kernel says of this process, beside what the process says of itself.
#[derive(Clone, Debug)]
struct Signs {
    /// Program that the kernel runs, by `/proc/thread-self/exe`.
    runs: Reading<String>,
    /// ELF machine number of that program.
    runs_machine: Reading<u16>,
    /// Program by `/proc/self/exe`, the name that emulators answer for.
    claims: Reading<String>,
    /// Address of the 16 random bytes (`AT_RANDOM`) in the kernel's auxiliary vector.
    kernel_random: Reading<usize>,
    /// The same address in the auxiliary vector on this program's stack.
    own_random: Reading<usize>,
}

/// The emulator that executes this process and how that was seen, or `None` where the kernel runs
/// this program itself. Not observable where `/proc` shows no sign.
pub(super) fn find() -> Reading<Option<String>> {
    judge(&read(), Architecture::HERE.names().elf)
}

fn judge(signs: &Signs, own_machine: u16) -> Reading<Option<String>> {
    let runs = signs.runs.as_deref().unwrap_or("another program");
    if let Ok(machine) = signs.runs_machine
        && machine != own_machine
        && own_machine != 0
    {
        return Ok(Some(format!(
            "{runs} executes this program: the kernel runs an ELF file for machine {machine}, \
             and this program is one for machine {own_machine}"
        )));
    }
    if let (Ok(runs), Ok(claims)) = (&signs.runs, &signs.claims)
        && runs != claims
    {
        return Ok(Some(format!("{runs} executes this program: /proc/self/exe claims {claims}")));
    }
    if let (Ok(kernel), Ok(own)) = (&signs.kernel_random, &signs.own_random)
        && kernel != own
    {
        return Ok(Some(format!(
            "{runs} executes this program: the auxiliary vector on its stack is not the kernel's"
        )));
    }
    let seen = signs.runs_machine.is_ok()
        || signs.runs.is_ok() && signs.claims.is_ok()
        || signs.kernel_random.is_ok() && signs.own_random.is_ok();
    match (&signs.runs, seen) {
        (_, true) => Ok(None),
        (Err(why), false) => Err(format!("no sign of what executes this program: {why}")),
        (Ok(_), false) => Err("no sign of what executes this program".into()),
    }
}

fn read() -> Signs {
    // Old kernels and some that are not Linux have no thread-self (it came with 3.17).
    let task = format!("/proc/self/task/{}", rustix::thread::gettid().as_raw_nonzero());
    let thread = ["/proc/thread-self".to_owned(), task];
    let first = |name: &str| {
        let paths = thread.iter().map(|folder| format!("{folder}/{name}"));
        paths.into_iter().find(|path| fs::symlink_metadata(path).is_ok())
    };
    let exe = first("exe").ok_or_else(|| "/proc/thread-self/exe: no such file".to_owned());
    let auxv = first("auxv").ok_or_else(|| "/proc/thread-self/auxv: no such file".to_owned());
    Signs {
        runs: exe.clone().and_then(|path| link(&path)),
        runs_machine: exe.and_then(|path| elf_machine(&path)),
        claims: link("/proc/self/exe"),
        kernel_random: auxv.and_then(|path| kernel_random(&path)),
        own_random: own_random(),
    }
}

fn link(path: &str) -> Reading<String> {
    let target = fs::read_link(path).map_err(|error| format!("{path}: {error}"))?;
    Ok(target.to_string_lossy().into_owned())
}

/// `e_machine`, two bytes at offset 18, in the byte order that byte 5 names (1 little, 2 big).
fn elf_machine(path: &str) -> Reading<u16> {
    let mut header = [0; 20];
    let mut file = fs::File::open(path).map_err(|error| format!("{path}: {error}"))?;
    file.read_exact(&mut header).map_err(|error| format!("{path}: {error}"))?;
    machine_of(&header).ok_or_else(|| format!("{path}: not an ELF file"))
}

fn machine_of(header: &[u8; 20]) -> Option<u16> {
    let bytes = [header[18], header[19]];
    match (header.starts_with(b"\x7fELF"), header[5]) {
        (true, 1) => Some(u16::from_le_bytes(bytes)),
        (true, 2) => Some(u16::from_be_bytes(bytes)),
        _ => None,
    }
}

/// `AT_RANDOM` in the copy that the kernel keeps. Not `AT_PHDR` or `AT_ENTRY`: the dynamic linker
/// rewrites those on the stack when a program is started through it.
fn kernel_random(path: &str) -> Reading<usize> {
    let bytes = fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    random_in(&bytes).ok_or_else(|| format!("{path}: no AT_RANDOM"))
}

/// The value of `AT_RANDOM` in an auxiliary vector: pairs of words, tag and value.
fn random_in(auxiliary: &[u8]) -> Option<usize> {
    const WORD: usize = size_of::<usize>();
    let word = |bytes: &[u8]| bytes.try_into().ok().map(usize::from_ne_bytes);
    auxiliary
        .chunks_exact(2 * WORD)
        .find(|entry| word(&entry[..WORD]) == Some(libc::AT_RANDOM as usize))
        .and_then(|entry| word(&entry[WORD..]))
}

fn own_random() -> Reading<usize> {
    // SAFETY: getauxval looks a number up in a list that the C library made before `main`; any
    // number may be asked for, and 0 is the answer to an unknown one. The address is not followed.
    match unsafe { libc::getauxval(libc::AT_RANDOM) } {
        0 => Err("getauxval knows no AT_RANDOM".into()),
        address => Ok(address as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn native() -> Signs {
        Signs {
            runs: Ok("/usr/bin/tenbin".into()),
            runs_machine: Ok(183),
            claims: Ok("/usr/bin/tenbin".into()),
            kernel_random: Ok(0x7ffc_0010),
            own_random: Ok(0x7ffc_0010),
        }
    }

    #[test]
    fn each_sign_is_enough() {
        let absent = || Err("absent".to_owned());
        assert_eq!(judge(&native(), 183), Ok(None));
        let qemu = "/usr/bin/qemu-aarch64-static".to_owned();
        let machine = Signs { runs: Ok(qemu.clone()), runs_machine: Ok(62), claims: absent(), ..native() };
        let sentence = judge(&machine, 183).unwrap().unwrap();
        assert!(sentence.contains("qemu-aarch64-static") && sentence.contains("machine 62"), "{sentence}");
        let name = Signs { runs: Ok(qemu), ..native() };
        assert!(judge(&name, 183).unwrap().unwrap().contains("claims /usr/bin/tenbin"));
        let vector = Signs { own_random: Ok(0x5500_8009), ..native() };
        assert!(judge(&vector, 183).unwrap().unwrap().contains("auxiliary vector"));
    }

    #[test]
    fn no_sign_is_not_a_clean_bill() {
        let absent = || Err("/proc/thread-self/exe: no such file".to_owned());
        let none = Signs {
            runs: absent(),
            runs_machine: Err("absent".into()),
            claims: Ok("/tenbin".into()),
            kernel_random: Err("absent".into()),
            own_random: Ok(1),
        };
        assert!(judge(&none, 183).unwrap_err().contains("thread-self"));
    }

    #[test]
    fn headers_and_vectors() {
        let mut header = *b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0";
        assert_eq!(machine_of(&header), Some(62));
        header[5] = 2;
        assert_eq!(machine_of(&header), Some(0x3e00));
        header[0] = b'#';
        assert_eq!(machine_of(&header), None);
        let words = |words: &[usize]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>();
        assert_eq!(random_in(&words(&[6, 4096, 25, 0x1234, 0, 0])), Some(0x1234));
        assert_eq!(random_in(&words(&[6, 4096])), None);
        assert_eq!(random_in(&[25, 0, 0]), None);
    }

    /// Where the test itself runs under an emulator (qemu-user, valgrind), that must be found.
    #[test]
    fn this_process_is_judged() {
        let runs = std::fs::read_link("/proc/thread-self/exe").unwrap_or_default();
        let emulated = ["qemu-", "valgrind"].iter().any(|name| runs.to_string_lossy().contains(name));
        assert_eq!(find().unwrap().is_some(), emulated);
    }
}
