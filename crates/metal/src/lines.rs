//! Lines: memory of which one byte in each line is stored or loaded, by one thread or by several at once.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::fault::Fault;
use crate::kernels::lines::{Round, load_lines, store_lines};
use crate::pages::{PageKind, Pages};

/// Page-aligned anonymous memory whose bytes several threads may store and load at the same time.
///
/// Every access is atomic and of a single byte, so no two of them race; none orders another.
#[derive(Debug)]
pub struct Field {
    /// Keeps the mapping. It is asked about its pages and never looked into: `start` is the only way in.
    pages: Pages,
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the memory belongs to this value, which any thread may drop; `start` is not tied to a thread.
unsafe impl Send for Field {}
// SAFETY: shared access is by atomic bytes, in `bytes`, and by kernels that store and load single bytes.
unsafe impl Sync for Field {}

impl Field {
    /// Maps at least `bytes` bytes, in whole pages, zeroed. A page gets its place from who first stores to
    /// it.
    ///
    /// # Errors
    /// [`Fault::System`] when the kernel has no room.
    pub fn map(bytes: usize, kind: PageKind) -> Result<Self, Fault> {
        let mut pages = Pages::map(bytes, kind)?;
        let memory: &mut [u8] = &mut pages;
        let length = memory.len();
        let start = NonNull::from(memory).cast();
        Ok(Self { pages, start, length })
    }

    /// Bytes that are mapped.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty: at least one page is mapped")]
    pub fn len(&self) -> usize {
        self.length
    }

    /// The addresses that it occupies, to ask the kernel about them.
    pub fn addresses(&self) -> Range<usize> {
        let start = self.start.addr().get();
        start..start + self.length
    }

    /// How much of it the kernel keeps in huge pages, in bytes; see [`Pages::huge_bytes`].
    ///
    /// # Errors
    /// As [`Pages::huge_bytes`].
    pub fn huge_bytes(&self) -> Result<u64, Fault> {
        self.pages.huge_bytes()
    }

    /// The byte at offset `at`.
    ///
    /// # Panics
    /// If there is none.
    pub fn byte(&self, at: usize) -> u8 {
        self.bytes()[at].load(Ordering::Relaxed)
    }

    /// Stores `value` to every byte. This touches every page, from the CPU of the caller.
    pub fn fill(&self, value: u8) {
        self.write(&Track::new(0..self.length, 1, 0), 0, self.length as u64, value);
    }

    /// Stores `value` to the next `lines` lines of the track, from `position` on and round again; returns the
    /// position of the line after them.
    ///
    /// The stores are independent of each other: how many are under way at once is left to the CPU.
    ///
    /// # Panics
    /// If the track leaves this field, or has no line at `position`.
    pub fn write(&self, track: &Track, position: usize, lines: u64, value: u8) -> usize {
        let round = self.round(track, position);
        // SAFETY: `round` checked that it lies inside this mapping, which lives as long as `self`. Others
        // reach these bytes through this type alone, whose every access is atomic and of single bytes.
        let end = unsafe { store_lines(round, lines, value) };
        end - round.start
    }

    /// Loads the byte of the next `lines` lines of the track, as [`write`](Self::write) stores them.
    ///
    /// The loads are independent of each other: what is timed is how many lines come in a time, not how long
    /// one takes to come. A [`Chase`](crate::Chase) tells that.
    ///
    /// # Panics
    /// As [`write`](Self::write).
    pub fn read(&self, track: &Track, position: usize, lines: u64) -> usize {
        let round = self.round(track, position);
        // SAFETY: as in `write`; a load is atomic and of a single byte too.
        let end = unsafe { load_lines(round, lines) };
        end - round.start
    }

    /// The planted fault: as [`write`](Self::write), but nothing is ever stored to the last line of the
    /// track.
    ///
    /// It is the same line in every round, so the fault stays to be seen however many rounds there are.
    ///
    /// # Panics
    /// As [`write`](Self::write).
    pub fn write_but_one(&self, track: &Track, mut position: usize, mut lines: u64, value: u8) -> usize {
        let last = track.length() - track.spacing;
        while lines > 0 {
            let before = ((last - position.min(last)) / track.spacing) as u64;
            if before == 0 {
                (position, lines) = (0, lines - 1);
            } else {
                position = self.write(track, position, before.min(lines), value);
                lines = lines.saturating_sub(before);
            }
        }
        position
    }

    /// The way of a kernel over the track, from `position` on.
    fn round(&self, track: &Track, position: usize) -> Round {
        let Track { start, end, spacing, offset } = *track;
        assert!(end <= self.length, "a track up to {end} leaves a field of {} bytes", self.length);
        assert!(
            position < end - start && position.is_multiple_of(spacing),
            "the track has no line at {position}"
        );
        let base = self.start.as_ptr().expose_provenance();
        let first = base + start + offset;
        // A line begins below `end`, so no byte of one is reached behind the field, and the address after the
        // last lies at most one track behind it.
        Round { position: first + position, spacing, start: first, end: base + end }
    }

    fn bytes(&self) -> &[AtomicU8] {
        let start = self.start.as_ptr().cast::<AtomicU8>();
        // SAFETY: `length` bytes from `start` are mapped and initialised until `self` is dropped; an
        // `AtomicU8` is a byte, and every access to these bytes is atomic.
        unsafe { std::slice::from_raw_parts(start, self.length) }
    }
}

/// A part of a [`Field`] to go over again and again, one byte a line.
///
/// Two tracks that differ in nothing but their offsets touch the same lines and no byte in common: false
/// sharing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    start: usize,
    end: usize,
    spacing: usize,
    offset: usize,
}

impl Track {
    /// The bytes at `offset` in every `spacing` bytes of `range`, which is in bytes from the start of a
    /// field.
    ///
    /// # Panics
    /// If `range` is not a whole number of lines of `spacing` bytes and at least one, or `offset` is no byte
    /// of one.
    pub fn new(range: Range<usize>, spacing: usize, offset: usize) -> Self {
        let Range { start, end } = range;
        assert!(start < end && spacing > 0, "no line of {spacing} bytes lies between {start} and {end}");
        assert!(
            (end - start).is_multiple_of(spacing),
            "{} bytes are not a whole number of lines of {spacing}",
            end - start
        );
        assert!(offset < spacing, "byte {offset} is not in a line of {spacing}");
        Self { start, end, spacing, offset }
    }

    /// Lines that it goes over before it comes back.
    pub fn lines(&self) -> u64 {
        (self.length() / self.spacing) as u64
    }

    /// Where its bytes are, from the start of the field, in order: what [`Field::byte`] takes.
    pub fn places(&self) -> impl Iterator<Item = usize> + use<> {
        (self.start + self.offset..self.end).step_by(self.spacing)
    }

    fn length(&self) -> usize {
        self.end - self.start
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn field() -> Field {
        Field::map(4096, PageKind::Base).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// The walk by hand: every byte of the field is what it should be, and the place where it ended too.
        #[test]
        fn the_bytes_of_the_walk_are_stored_and_no_other(
            start in 0..500_usize, count in 1..20_usize, spacing in 1..130_usize,
            offset in 0..130_usize, first in 0..20_usize, lines in 0..50_u64, value in 1..=255_u8,
        ) {
            let (offset, first) = (offset % spacing, first % count);
            let track = Track::new(start..start + count * spacing, spacing, offset);
            prop_assert_eq!(track.lines(), count as u64);
            let field = field();
            let mut expected = vec![0_u8; field.len()];
            for line in 0..lines as usize {
                expected[start + (first + line) % count * spacing + offset] = value;
            }
            let position = field.write(&track, first * spacing, lines, value);
            prop_assert_eq!(position, (first + lines as usize) % count * spacing);
            prop_assert_eq!(field.read(&track, first * spacing, lines), position);
            let bytes: Vec<u8> = (0..field.len()).map(|at| field.byte(at)).collect();
            prop_assert_eq!(&bytes, &expected);

            // The planted fault: the last line is left out, every other is there, and the end is the same.
            let faulty = self::field();
            prop_assert_eq!(faulty.write_but_one(&track, first * spacing, lines, value), position);
            let last = track.places().last().unwrap();
            expected[last] = 0;
            let bytes: Vec<u8> = (0..faulty.len()).map(|at| faulty.byte(at)).collect();
            prop_assert_eq!(bytes, expected);
        }
    }

    #[test]
    fn a_track_names_the_bytes_that_a_round_stores() {
        let (field, track) = (field(), Track::new(256..1024, 128, 5));
        field.fill(9);
        assert!((0..field.len()).all(|at| field.byte(at) == 9), "a fill leaves nothing out");
        assert_eq!(field.write(&track, 0, track.lines(), 1), 0);
        let stored: Vec<usize> = (0..field.len()).filter(|&at| field.byte(at) == 1).collect();
        assert_eq!(stored, track.places().collect::<Vec<_>>());
        assert_eq!(stored, [261, 389, 517, 645, 773, 901]);
    }

    #[test]
    fn two_threads_share_lines_and_lose_nothing() {
        let (field, rounds) = (field(), 500);
        let tracks = [Track::new(0..4096, 64, 0), Track::new(0..4096, 64, 1)];
        std::thread::scope(|scope| {
            for (track, value) in tracks.iter().zip([3, 4]) {
                let field = &field;
                scope.spawn(move || {
                    let mut position = 0;
                    for _ in 0..rounds {
                        position = field.write(track, position, track.lines(), value);
                        position = field.read(track, position, track.lines());
                    }
                });
            }
        });
        for (track, value) in tracks.iter().zip([3, 4]) {
            assert!(track.places().all(|at| field.byte(at) == value));
        }
        assert!(
            (0..4096).filter(|at| at % 64 > 1).all(|at| field.byte(at) == 0),
            "other bytes are left alone"
        );
    }

    #[test]
    fn a_field_says_where_it_is() {
        let field = Field::map(1, PageKind::Huge).unwrap();
        assert_eq!(field.len(), rustix::param::page_size());
        assert_eq!(field.addresses().len(), field.len());
        assert!(field.addresses().start.is_multiple_of(field.len()));
    }

    #[test]
    fn what_is_not_inside_is_refused() {
        let panics = |work: &dyn Fn()| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).expect_err("it was not refused");
        };
        let (field, track) = (field(), Track::new(0..4096, 64, 0));
        panics(&|| _ = Track::new(0..0, 64, 0));
        panics(&|| _ = Track::new(0..100, 64, 0));
        panics(&|| _ = Track::new(0..64, 0, 0));
        panics(&|| _ = Track::new(0..64, 64, 64));
        let outside = Track::new(field.len()..field.len() + 64, 64, 0);
        panics(&|| _ = field.write(&outside, 0, 1, 1));
        panics(&|| _ = field.read(&outside, 0, 1));
        panics(&|| _ = field.write(&track, 4096, 1, 1));
        panics(&|| _ = field.write(&track, 1, 1, 1));
        panics(&|| _ = field.write_but_one(&track, 1, 100, 1));
    }
}
