//! A file whose pages are all in memory, read by system call or through a mapping.

use std::ffi::c_void;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::ptr;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::fault::Fault;
use crate::kernels::sum_of_words;

/// How the words of a [`CachedFile`] come to who sums them.
#[derive(Debug)]
pub enum Access<'a> {
    /// By a mapping that is made and unmapped each time.
    Mapped,
    /// By one whose pages are all entered when it is made.
    Populated,
    /// They are mapped already.
    Standing(&'a [u8]),
    /// By read(2) into this buffer, a bufferful at a time.
    Read(&'a mut [u8]),
}

/// A file without a name, in memory (memfd_create(2)), that nobody can change any more.
#[derive(Debug)]
pub struct CachedFile {
    file: File,
    length: usize,
}

impl CachedFile {
    /// A file of these bytes.
    ///
    /// # Errors
    /// [`Fault::System`] where the kernel has no such files, or no memory for this one.
    pub fn new(contents: &[u8]) -> Result<Self, Fault> {
        let descriptor = memfd_create(c"tenbin", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)
            .map_err(|error| Fault::system("memfd_create", error))?;
        let mut file = File::from(descriptor);
        file.write_all(contents)
            .map_err(|error| Fault::system(format!("write {} bytes to a memfd", contents.len()), error))?;
        let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        fcntl_add_seals(&file, seals).map_err(|error| Fault::system("seal a memfd", error))?;
        Ok(Self { file, length: contents.len() })
    }

    /// Sums all words so many times, and returns how often the sum was not the `expected` one, or came to
    /// nothing because the kernel refused.
    pub fn wrong_sums(&self, mut access: Access<'_>, times: u64, expected: u64) -> u64 {
        let mut sum = || -> Result<u64, Fault> {
            Ok(match &mut access {
                Access::Mapped => sum_of_words(self.map(false)?.bytes()),
                Access::Populated => sum_of_words(self.map(true)?.bytes()),
                Access::Standing(bytes) => sum_of_words(std::hint::black_box(bytes)),
                Access::Read(buffer) => {
                    let mut sum = 0_u64;
                    self.read(buffer, |piece| sum = sum.wrapping_add(sum_of_words(piece)))?;
                    sum
                }
            })
        };
        (0..times).filter(|_| !matches!(sum(), Ok(sum) if sum == expected)).count() as u64
    }

    /// Reads all of it into `buffer`, a bufferful at a time, and hands each piece to `take`.
    fn read(&self, buffer: &mut [u8], mut take: impl FnMut(&[u8])) -> Result<(), Fault> {
        let mut at = 0;
        while at < self.length {
            let wanted = buffer.len().min(self.length - at);
            self.file
                .read_exact_at(&mut buffer[..wanted], at as u64)
                .map_err(|error| Fault::system(format!("read {wanted} bytes of a memfd at {at}"), error))?;
            take(&buffer[..wanted]);
            at += wanted;
        }
        Ok(())
    }

    /// Maps all of it, for reading; with `populate` the kernel enters every page at once (`MAP_POPULATE`).
    ///
    /// # Errors
    /// [`Fault::System`] where the kernel has no room for it.
    pub fn map(&self, populate: bool) -> Result<Mapping, Fault> {
        let flags = if populate { MapFlags::SHARED | MapFlags::POPULATE } else { MapFlags::SHARED };
        // SAFETY: it was sealed against writing, growing and shrinking.
        unsafe { Mapping::of(&self.file, self.length, flags) }
            .map_err(|error| Fault::system(format!("mmap {} bytes of a memfd", self.length), error))
    }
}

/// A file, mapped for reading; unmapped on drop.
#[derive(Debug)]
pub struct Mapping {
    start: *mut c_void,
    length: usize,
}

// SAFETY: the memory is only read, by whoever holds the value, and unmapped by its last owner.
unsafe impl Send for Mapping {}
// SAFETY: shared access is reading, of bytes that nobody can change.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// All of a file of `length` bytes.
    ///
    /// # Errors
    /// What mmap(2) says.
    ///
    /// # Safety
    /// No byte of the file changes and none goes while it is mapped.
    pub(crate) unsafe fn of(file: &File, length: usize, flags: MapFlags) -> Result<Self, Errno> {
        // SAFETY: a null hint lets the kernel choose, so no mapping that exists is replaced; the file is
        // open, and `mmap` refuses a `length` of 0.
        let start = unsafe { mmap(ptr::null_mut(), length, ProtFlags::READ, flags, file, 0) }?;
        Ok(Self { start, length })
    }

    /// What is in it.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `length` bytes from `start` are mapped for as long as this value lives, all of them within
        // the file. No byte changes and none goes, as who made it has guaranteed.
        unsafe { std::slice::from_raw_parts(self.start.cast::<u8>(), self.length) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `of` made exactly this mapping; whoever borrowed its bytes is gone.
        let unmapped = unsafe { munmap(self.start, self.length) };
        debug_assert!(unmapped.is_ok(), "munmap of own mapping");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_and_mapped_as_it_was_written() {
        let page = rustix::param::page_size();
        for length in [1, page - 1, page, 3 * page + 7] {
            let contents: Vec<u8> = (0..length).map(|number| (number * 31 % 251) as u8).collect();
            let file = CachedFile::new(&contents).unwrap();
            for room in [1, 100, page, 1 << 20] {
                if length / room > 10_000 {
                    continue;
                }
                let mut read = Vec::new();
                file.read(&mut vec![0; room], |piece| read.extend_from_slice(piece)).unwrap();
                assert!(read == contents, "{length} bytes, {room} at a time");
            }
            for populate in [false, true] {
                assert!(file.map(populate).unwrap().bytes() == contents, "{length} bytes, {populate}");
            }
        }
    }

    #[test]
    fn a_sum_is_wrong_where_a_word_is_missing_and_nowhere_else() {
        let contents: Vec<u8> = (1..=255).cycle().take(3 * 4096 + 24).collect();
        let (file, expected) = (CachedFile::new(&contents).unwrap(), sum_of_words(&contents));
        let (mapping, mut buffer) = (file.map(true).unwrap(), vec![0; 4096]);
        let (all, cut_off) = (mapping.bytes(), &mapping.bytes()[..contents.len() - 8]);
        for (access, wrong) in [
            (Access::Mapped, 0),
            (Access::Populated, 0),
            (Access::Standing(all), 0),
            (Access::Standing(cut_off), 3),
            (Access::Read(&mut buffer), 0),
        ] {
            let shown = format!("{access:?}").chars().take(20).collect::<String>();
            assert_eq!(file.wrong_sums(access, 3, expected), wrong, "{shown}");
        }
    }

    #[test]
    fn nobody_can_change_a_file_that_is_mapped() {
        let file = CachedFile::new(b"sealed").unwrap();
        let mapping = file.map(false).unwrap();
        assert!(file.file.write_at(b"x", 0).is_err() && file.file.set_len(1).is_err());
        assert!(file.file.set_len(1 << 20).is_err());
        assert_eq!(mapping.bytes(), b"sealed");
    }

    #[test]
    fn an_empty_file_has_nothing_to_map() {
        let file = CachedFile::new(&[]).unwrap();
        assert!(file.map(false).is_err());
        file.read(&mut [0; 8], |_| panic!("a piece of nothing")).unwrap();
    }
}
