//! /dev/fibonacci: the driver's algorithms, its numbers, and what it says of its last read.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tenbin_metal::Fault;
use tenbin_model::Missing;

use super::oracle::Base;

/// An algorithm of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Algorithm {
    /// Its name, in sysfs and as a variant.
    pub(super) name: &'static str,
    /// What it does, in a line.
    pub(super) what: &'static str,
    /// What its numbers are written in.
    pub(super) base: Base,
    /// Whether a large number takes so long that only few are asked for.
    pub(super) slow: bool,
}

/// Those that are known, in the order of the variants.
pub(super) const ALGORITHMS: [Algorithm; 5] = [
    Algorithm {
        name: "doubling",
        what: "fast doubling over limbs of 64 bits, with a branch on each bit of n",
        base: Base::Words,
        slow: false,
    },
    Algorithm { name: "branchless", what: "the same by masks", base: Base::Words, slow: false },
    Algorithm { name: "iterative", what: "n additions of limbs of 64 bits", base: Base::Words, slow: true },
    Algorithm {
        name: "decimal",
        what: "the seed's base 10^9 as first written: an allocation in each operation, 32 idle rounds",
        base: Base::Billions,
        slow: true,
    },
    Algorithm {
        name: "decimal-sized",
        what: "the seed's after its first improvement: four buffers sized once and cleared before each product",
        base: Base::Billions,
        slow: true,
    },
];

/// Bytes that hold F(n) in every base, with room to spare: 0.694 bits a place, and 32 bits for 9 decimal digits.
pub(super) fn room(n: u64) -> usize {
    n as usize / 10 + 8
}

/// The driver, loaded.
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
pub(super) trait Source {
    /// Puts F(n) into the front of `buffer` and returns how many bytes it has.
    fn number(&self, n: u64, buffer: &mut [u8]) -> io::Result<usize>;
}

impl Source for File {
    fn number(&self, n: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_at(buffer, n)
    }
}

/// What the driver says of its last finished read, in nanoseconds of its clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) allocate: u64,
    pub(super) compute: u64,
    pub(super) copy: u64,
}

impl Driver {
    /// The driver with these files: a test has others.
    #[cfg(test)]
    pub(super) fn at(device: PathBuf, attributes: PathBuf) -> Self {
        Self { device, attributes }
    }

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

    /// The algorithms that it lists, and which one is chosen.
    pub(super) fn algorithms(&self) -> Result<(Vec<Algorithm>, Option<Algorithm>), Fault> {
        let path = self.attribute("algorithm");
        let text = fs::read_to_string(&path).map_err(|error| read(&path, error))?;
        Ok(listed(&text))
    }

    /// Whether this process may choose.
    pub(super) fn may_choose(&self) -> bool {
        File::options().write(true).open(self.attribute("algorithm")).is_ok()
    }

    /// The largest n that it answers: where its file ends.
    pub(super) fn largest(&self) -> Result<u64, Fault> {
        let mut file = self.open()?;
        file.seek(SeekFrom::End(0)).map_err(|error| Fault::system(format!("lseek {}", self.device.display()), error))
    }

    fn open(&self) -> Result<File, Fault> {
        File::open(&self.device).map_err(|error| Fault::system(format!("open {}", self.device.display()), error))
    }

    /// A file for each of these algorithms. The choice is put back to what it was.
    ///
    /// A file keeps the algorithm that was chosen when it was opened, so the choice is another one for as long as it
    /// takes to open a file, and no longer. A process that is killed within that time leaves it.
    pub(super) fn files(&self, algorithms: &[Algorithm]) -> Result<Vec<File>, Fault> {
        if !self.may_choose() {
            return algorithms.iter().map(|_| self.open()).collect();
        }
        let (_, chosen) = self.algorithms()?;
        let path = self.attribute("algorithm");
        let choose = |name: &str| fs::write(&path, name).map_err(|error| Fault::system(format!("write {name} to {}", path.display()), error));
        let opened = algorithms.iter().map(|algorithm| choose(algorithm.name).and_then(|()| self.open()));
        let opened: Result<Vec<File>, Fault> = opened.collect();
        if let Some(chosen) = chosen {
            choose(chosen.name)?;
        }
        opened
    }

    /// What it says of its last read; none where that was of another number than `n`.
    pub(super) fn said(&self, n: u64) -> Result<Option<Said>, Fault> {
        let figure = |name: &str| {
            let path = self.attribute(name);
            let text = fs::read_to_string(&path).map_err(|error| read(&path, error))?;
            text.trim().parse::<u64>().map_err(|_| read(&path, io::Error::from(io::ErrorKind::InvalidData)))
        };
        let said =
            Said { allocate: figure("allocate_ns")?, compute: figure("compute_ns")?, copy: figure("copy_ns")? };
        Ok((figure("last_n")? == n).then_some(said))
    }
}

fn read(path: &Path, error: io::Error) -> Fault {
    Fault::system(format!("read {}", path.display()), error)
}

/// The algorithms in a list like `[doubling] iterative`, of those that are known, and the one in brackets.
fn listed(text: &str) -> (Vec<Algorithm>, Option<Algorithm>) {
    let known = |name: &str| ALGORITHMS.into_iter().find(|algorithm| algorithm.name == name);
    let bare = |word: &str| word.trim_matches(['[', ']']).to_owned();
    let words = || text.split_whitespace();
    // In the order of the variants, whatever the order of the list.
    let there = ALGORITHMS.into_iter().filter(|algorithm| words().any(|word| bare(word) == algorithm.name));
    let chosen = words().find(|word| word.starts_with('[')).and_then(|word| known(&bare(word)));
    (there.collect(), chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_what_is_there_and_what_is_chosen() {
        let names = |text: &str| {
            let (there, chosen) = listed(text);
            (there.iter().map(|it| it.name).collect::<Vec<_>>().join(" "), chosen.map(|it| it.name))
        };
        assert_eq!(names("doubling [iterative] decimal\n"), ("doubling iterative decimal".into(), Some("iterative")));
        assert_eq!(names("[decimal-sized] newest decimal"), ("decimal decimal-sized".into(), Some("decimal-sized")));
        assert_eq!(names("[newest] doubling"), ("doubling".into(), None));
        assert_eq!(names(""), (String::new(), None));
    }

    #[test]
    fn without_a_driver_the_commands_that_load_one_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let driver = Driver::at(folder.path().join("fibonacci"), folder.path().join("misc"));
        let said = driver.there().unwrap_err().to_string();
        assert!(said.contains("insmod kmod/fibdrv/fibdrv.ko") && said.contains("tenbin guest run --module fibdrv"), "{said}");
        fs::write(folder.path().join("fibonacci"), "").unwrap();
        assert!(driver.there().is_ok());
    }

    /// Plain files stand for sysfs: what is written last stays.
    #[test]
    fn the_choice_is_put_back_and_what_the_last_read_took_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let driver = Driver::at(path("fibonacci"), folder.path().to_owned());
        fs::write(path("fibonacci"), [0; 300]).unwrap();
        fs::write(path("algorithm"), "doubling [iterative] decimal\n").unwrap();
        let (there, chosen) = driver.algorithms().unwrap();
        assert_eq!((there.len(), chosen.map(|it| it.name)), (3, Some("iterative")));
        assert_eq!(driver.files(&there).unwrap().len(), 3);
        assert_eq!(fs::read_to_string(path("algorithm")).unwrap(), "iterative");
        assert_eq!(driver.largest().unwrap(), 300);
        for (name, figure) in [("last_n", "99\n"), ("allocate_ns", "200"), ("compute_ns", "3000"), ("copy_ns", "40")] {
            fs::write(path(name), figure).unwrap();
        }
        assert_eq!(driver.said(99).unwrap(), Some(Said { allocate: 200, compute: 3_000, copy: 40 }));
        assert_eq!(driver.said(98).unwrap(), None, "another reader came in between");
        fs::write(path("copy_ns"), "forty").unwrap();
        assert!(driver.said(99).is_err());
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
