//! /dev/fibonacci: the driver's algorithms, its numbers, and what it says of its last read.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tenbin_metal::Fault;
use tenbin_metal::signals::Held;
use tenbin_model::Missing;

use super::oracle::Base;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Algorithm {
    /// Its name, in sysfs and as a variant.
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) base: Base,
    /// Whether a large number takes so long that only few are asked for.
    pub(super) slow: bool,
}

/// Those that are known, in the order of the variants.
pub(super) const ALGORITHMS: [Algorithm; 5] = [
    Algorithm {
        name: "doubling",
        what: "fast doubling over 64-bit limbs, with a branch on each bit of n",
        base: Base::Words,
        slow: false,
    },
    Algorithm { name: "branchless", what: "the same by masks", base: Base::Words, slow: false },
    Algorithm { name: "iterative", what: "n additions of 64-bit limbs", base: Base::Words, slow: true },
    Algorithm {
        name: "decimal",
        what: "the first published method, written here from its description: base 10^9, an allocation in each operation, 32 idle rounds",
        base: Base::Billions,
        slow: true,
    },
    Algorithm {
        name: "decimal-sized",
        what: "the same after its first improvement: four buffers sized once and cleared before each product",
        base: Base::Billions,
        slow: true,
    },
];

/// Bytes that hold F(n) in every base, with room to spare: 0.694 bits a place, and 32 bits for 9 decimal
/// digits.
pub(super) fn room(n: u64) -> usize {
    n as usize / 10 + 8
}

#[derive(Clone, Debug)]
pub(super) struct Driver {
    device: PathBuf,
    attributes: PathBuf,
}

impl Default for Driver {
    fn default() -> Self {
        Self { device: "/dev/fibonacci".into(), attributes: "/sys/class/misc/fibonacci".into() }
    }
}

/// What reads a number, so that a test can put something else in a driver's place.
pub(super) trait NumberSource {
    /// Puts F(n) into the front of `buffer` and returns how many bytes it has.
    fn number(&self, n: u64, buffer: &mut [u8]) -> io::Result<usize>;
}

impl NumberSource for File {
    fn number(&self, n: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_at(buffer, n)
    }
}

/// What the driver says of its last finished read, in nanoseconds of its clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DriverTimes {
    pub(super) allocate: u64,
    pub(super) compute: u64,
    pub(super) copy: u64,
}

impl Driver {
    /// Whether it is loaded; else what is missing, with the commands that bring it.
    pub(super) fn there(&self) -> Result<(), Missing> {
        if self.device.exists() {
            return Ok(());
        }
        Err(Missing {
            what: self.device.display().to_string(),
            needed: "numbers are read from the module fibdrv".into(),
            install: "`make -C kmod && insmod kmod/fibdrv/fibdrv.ko` as root; or in a guest, which changes nothing here: \
                      `tenbin guest run --module fibdrv -- sh -c 'insmod /modules/fibdrv.ko && tenbin run fib --set \
                      where=kernel'`"
                .into(),
        })
    }

    fn attribute(&self, name: &str) -> PathBuf {
        self.attributes.join(name)
    }

    /// The algorithms that it lists, of those that are known, and which one is chosen if it is one of them.
    pub(super) fn algorithms(&self) -> Result<(Vec<Algorithm>, Option<Algorithm>), Fault> {
        let text = self.list()?;
        let known = |word: &str| ALGORITHMS.into_iter().find(|algorithm| algorithm.name == word);
        Ok((listed(&text), chosen(&text).and_then(known)))
    }

    fn list(&self) -> Result<String, Fault> {
        let path = self.attribute("algorithm");
        fs::read_to_string(&path).map_err(|error| read(&path, error))
    }

    pub(super) fn may_choose(&self) -> bool {
        File::options().write(true).open(self.attribute("algorithm")).is_ok()
    }

    /// The largest n that it answers: where its file ends.
    pub(super) fn largest(&self) -> Result<u64, Fault> {
        let mut file = self.open()?;
        file.seek(SeekFrom::End(0))
            .map_err(|error| Fault::system(format!("lseek {}", self.device.display()), error))
    }

    fn open(&self) -> Result<File, Fault> {
        File::open(&self.device)
            .map_err(|error| Fault::system(format!("open {}", self.device.display()), error))
    }

    /// A file for each of these algorithms. The choice is put back to what it was.
    ///
    /// A file keeps the algorithm that was chosen when it was opened, so the choice is another one for as
    /// long as it takes to open them, some microseconds each. Who else chooses by this program waits
    /// meanwhile, and signals wait too: only SIGKILL leaves the choice as it is in that moment.
    pub(super) fn files(&self, algorithms: &[Algorithm]) -> Result<Vec<File>, Fault> {
        self.each(algorithms, || self.open())
    }

    /// What `open` returns while each of these algorithms is chosen.
    fn each<T>(
        &self,
        algorithms: &[Algorithm],
        open: impl Fn() -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let path = self.attribute("algorithm");
        let Ok(attribute) = File::options().read(true).write(true).open(&path) else {
            return algorithms.iter().map(|_| open()).collect();
        };
        // First the lock, for which an interrupted program may wait, and then the signals.
        attribute.lock().map_err(|error| Fault::system(format!("lock {}", path.display()), error))?;
        let _held = Held::all()?;
        let text = self.list()?;
        // By the file that is open: putting back needs no descriptor, of which there may be no more.
        let choose =
            |name: &str| attribute.set_len(0).and_then(|()| attribute.write_all_at(name.as_bytes(), 0));
        in_turn(algorithms, chosen(&text), &path, choose, open)
    }

    /// What it says of its last read; none where that was of another number than `n`, or where another one
    /// ended between two readings of it all.
    pub(super) fn last_read(&self, n: u64) -> Result<Option<DriverTimes>, Fault> {
        let figure = |name: &str| {
            let path = self.attribute(name);
            let text = fs::read_to_string(&path).map_err(|error| read(&path, error))?;
            text.trim().parse::<u64>().map_err(|_| read(&path, io::Error::from(io::ErrorKind::InvalidData)))
        };
        let whole = || {
            let place = figure("last_n")?;
            let times = DriverTimes {
                allocate: figure("allocate_ns")?,
                compute: figure("compute_ns")?,
                copy: figure("copy_ns")?,
            };
            Ok::<_, Fault>((place, times))
        };
        Ok(settled(n, whole()?, whole()?))
    }
}

fn settled(n: u64, first: (u64, DriverTimes), second: (u64, DriverTimes)) -> Option<DriverTimes> {
    (first == second && first.0 == n).then_some(first.1)
}

/// What `open` returns while each of these is chosen; then `before` is chosen again, whatever has failed.
fn in_turn<T>(
    algorithms: &[Algorithm],
    before: Option<&str>,
    path: &Path,
    choose: impl Fn(&str) -> io::Result<()>,
    open: impl Fn() -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let write = |name: &str, error| Fault::system(format!("write {name} to {}", path.display()), error);
    let one = |algorithm: &Algorithm| {
        choose(algorithm.name).map_err(|error| write(algorithm.name, error)).and_then(|()| open())
    };
    let opened: Result<Vec<T>, Fault> = algorithms.iter().map(one).collect();
    let Some(before) = before else { return opened };
    choose(before).map_err(|error| {
        let first = opened.as_ref().err().map_or(String::new(), |first| format!("{first}; then "));
        let back =
            format!("{first}put the algorithm back, which `echo {before} > {}` does as root", path.display());
        Fault::system(back, error)
    })?;
    opened
}

fn read(path: &Path, error: io::Error) -> Fault {
    Fault::system(format!("read {}", path.display()), error)
}

/// The algorithms in a list like `[doubling] iterative`, of those that are known.
fn listed(text: &str) -> Vec<Algorithm> {
    let named = |algorithm: &Algorithm| {
        text.split_whitespace().any(|word| word.trim_matches(['[', ']']) == algorithm.name)
    };
    // In the order of the variants, whatever the order of the list.
    ALGORITHMS.into_iter().filter(named).collect()
}

/// The word in brackets, known or not: it is what is put back.
fn chosen(text: &str) -> Option<&str> {
    text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rehearsal::says;

    #[test]
    fn a_list_names_what_is_there_and_what_is_chosen() {
        let names = |text: &str| {
            (
                listed(text).iter().map(|it| it.name).collect::<Vec<_>>().join(" "),
                chosen(text).map(str::to_owned),
            )
        };
        assert_eq!(
            names("doubling [iterative] decimal\n"),
            ("doubling iterative decimal".into(), Some("iterative".into()))
        );
        assert_eq!(
            names("[decimal-sized] newest decimal"),
            ("decimal decimal-sized".into(), Some("decimal-sized".into()))
        );
        assert_eq!(names("[newest] doubling"), ("doubling".into(), Some("newest".into())));
        assert_eq!(names(""), (String::new(), None));
    }

    /// Plain files stand for the device and for sysfs.
    fn in_a_folder() -> (tempfile::TempDir, Driver) {
        let folder = tempfile::tempdir().unwrap();
        let driver = Driver { device: folder.path().join("fibonacci"), attributes: folder.path().into() };
        (folder, driver)
    }

    #[test]
    fn without_a_driver_the_commands_that_load_one_are_named() {
        let (folder, driver) = in_a_folder();
        let message = driver.there().unwrap_err().to_string();
        says(&message, &["insmod kmod/fibdrv/fibdrv.ko", "tenbin guest run --module fibdrv"]);
        fs::write(folder.path().join("fibonacci"), "").unwrap();
        assert!(driver.there().is_ok());
    }

    /// What is written last stays.
    #[test]
    fn the_choice_is_put_back_and_what_the_last_read_took_is_read() {
        let (folder, driver) = in_a_folder();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("fibonacci"), [0; 300]).unwrap();
        fs::write(path("algorithm"), "doubling [iterative] decimal\n").unwrap();
        let (there, chosen) = driver.algorithms().unwrap();
        assert_eq!((there.len(), chosen.map(|it| it.name)), (3, Some("iterative")));
        assert_eq!(driver.files(&there).unwrap().len(), 3);
        assert_eq!(fs::read_to_string(path("algorithm")).unwrap(), "iterative");
        assert_eq!(driver.largest().unwrap(), 300);
        for (name, figure) in
            [("last_n", "99\n"), ("allocate_ns", "200"), ("compute_ns", "3000"), ("copy_ns", "40")]
        {
            fs::write(path(name), figure).unwrap();
        }
        assert_eq!(
            driver.last_read(99).unwrap(),
            Some(DriverTimes { allocate: 200, compute: 3_000, copy: 40 })
        );
        assert_eq!(driver.last_read(98).unwrap(), None, "another reader came in between");
        fs::write(path("copy_ns"), "forty").unwrap();
        assert!(driver.last_read(99).is_err());
    }

    /// A newer driver may have chosen what this program does not know.
    #[test]
    fn an_unknown_choice_is_put_back_and_nobody_chooses_meanwhile() {
        let (folder, driver) = in_a_folder();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("algorithm"), "doubling [newest] decimal\n").unwrap();
        let (there, chosen) = driver.algorithms().unwrap();
        assert_eq!((there.len(), chosen), (2, None));
        let seen = driver.each(&there, || {
            let other = File::open(path("algorithm")).unwrap();
            assert!(matches!(other.try_lock(), Err(fs::TryLockError::WouldBlock)));
            let status = fs::read_to_string("/proc/thread-self/status").unwrap();
            let held = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
            assert_ne!(u64::from_str_radix(held.trim(), 16).unwrap() & 1 << 14, 0, "SIGTERM is held");
            Ok(fs::read_to_string(path("algorithm")).unwrap())
        });
        assert_eq!(seen.unwrap(), ["doubling", "decimal"]);
        assert_eq!(fs::read_to_string(path("algorithm")).unwrap(), "newest");
        assert!(File::open(path("algorithm")).unwrap().try_lock().is_ok());
    }

    #[test]
    fn what_failed_first_is_said_beside_what_is_to_be_put_back() {
        let refused = |name: &str| Err(io::Error::other(format!("no {name}")));
        let run = |before, choose: &dyn Fn(&str) -> io::Result<()>| {
            in_turn(&ALGORITHMS[..2], before, Path::new("/sys/algorithm"), choose, || Ok(()))
        };
        let message = run(Some("newest"), &refused).unwrap_err().to_string();
        let first = "write doubling to /sys/algorithm: no doubling; then";
        says(&message, &[first, "`echo newest > /sys/algorithm`", "no newest"]);
        // What fails in the middle is put back all the same.
        let asked = std::cell::RefCell::new(Vec::new());
        let second = |name: &str| {
            asked.borrow_mut().push(name.to_owned());
            if name == ALGORITHMS[1].name { refused(name) } else { Ok(()) }
        };
        let message = run(Some("newest"), &second).unwrap_err().to_string();
        assert!(message.contains("no branchless") && !message.contains("echo"), "{message}");
        assert_eq!(*asked.borrow(), ["doubling", "branchless", "newest"]);
    }

    /// The figures are files of their own: another read may end between two of them.
    #[test]
    fn what_is_said_of_two_reads_is_of_none() {
        let (one, other) = (
            DriverTimes { allocate: 1, compute: 2, copy: 3 },
            DriverTimes { allocate: 1, compute: 2, copy: 4 },
        );
        assert_eq!(settled(99, (99, one), (99, one)), Some(one));
        assert_eq!(settled(99, (99, one), (99, other)), None);
        assert_eq!(settled(99, (99, one), (98, one)), None);
        assert_eq!(settled(99, (98, one), (98, one)), None);
    }

    #[test]
    fn every_number_fits_into_its_room() {
        for base in [Base::Words, Base::Billions] {
            let table = super::super::oracle::Table::of(base, 3_000, &[10_000]);
            for (place, number) in table.rows() {
                assert!(number.len() <= room(place), "F({place})");
            }
        }
    }
}
