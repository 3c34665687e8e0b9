//! A chase: memory in which each line holds the address of the next one to read.

use std::hint::black_box;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fault::Fault;
use crate::kernels;
use crate::pages::{PageKind, Pages};

/// Parts of the cycle that [`Chase::warm`] reads one after another; a timed walk may be as long as one.
const PARTS: usize = 8;

/// Walks that read one part together, each a stretch of it.
const WALKS: usize = 8;

const WORD: usize = size_of::<usize>();

/// One cycle through every line of some memory, in random order.
///
/// Nothing but the line just read says where the next one is, so no two reads overlap and no prefetcher
/// that looks for strides helps: time for a step is the latency of a read.
#[derive(Debug)]
pub struct Chase {
    pages: Pages,
    /// Bytes from one line to the next.
    spacing: usize,
    /// Lines in the cycle.
    lines: usize,
    /// Address of the line to read next.
    position: AtomicUsize,
    course: OnceLock<Course>,
    warmed: AtomicUsize,
}

/// What following the pointers once has shown.
#[derive(Debug)]
struct Course {
    /// Steps from the first line until it is reached again.
    length: usize,
    /// The addresses at which the stretches of the cycle begin, and at which the last one ends.
    stretches: [usize; PARTS * WALKS + 1],
}

impl Chase {
    /// Makes a cycle through every `spacing` bytes of `bytes` bytes of memory of this `kind`, and of no byte
    /// more: the mapping has whole pages, and what it has beyond `bytes` is never touched.
    ///
    /// `below` draws a whole number below its argument, uniformly. The cycle is single by construction (S.
    /// Sattolo, "An algorithm to generate a random cyclic permutation", 1986): a chase through a permutation
    /// that is merely random would walk a part of it.
    ///
    /// # Errors
    /// [`Fault::System`] when the kernel has no room.
    ///
    /// # Panics
    /// If `spacing` is no multiple of a pointer's size, or fewer than two lines fit.
    pub fn new(
        bytes: usize,
        spacing: usize,
        kind: PageKind,
        mut below: impl FnMut(usize) -> usize,
    ) -> Result<Self, Fault> {
        assert!(spacing > 0 && spacing.is_multiple_of(WORD), "{spacing} bytes hold no whole pointers");
        // The mapping has whole pages and may be larger than what was asked for.
        let lines = bytes / spacing;
        assert!(lines >= 2, "{bytes} bytes are not two lines of {spacing}");
        let mut pages = Pages::map(bytes, kind)?;
        let mut order: Vec<u32> = (0..lines as u32).collect();
        for last in (1..lines).rev() {
            order.swap(last, below(last));
        }
        let base = pages.as_ptr() as usize;
        for (line, &next) in order.iter().enumerate() {
            let address = base + next as usize * spacing;
            pages[line * spacing..][..WORD].copy_from_slice(&address.to_ne_bytes());
        }
        let (course, warmed) = (OnceLock::new(), AtomicUsize::new(0));
        Ok(Self { pages, spacing, lines, position: AtomicUsize::new(base), course, warmed })
    }

    /// Bytes that [`new`](Self::new) takes beside the memory of the cycle, while the order of its lines is
    /// drawn.
    pub const fn scratch(bytes: u64, spacing: u64) -> u64 {
        bytes / spacing * size_of::<u32>() as u64
    }

    /// The planted fault: as [`new`](Self::new), but two lines have exchanged what they say.
    ///
    /// That makes two cycles of one, and a walk meets the lines of the first alone.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn two_cycles(
        bytes: usize,
        spacing: usize,
        kind: PageKind,
        below: impl FnMut(usize) -> usize,
    ) -> Result<Self, Fault> {
        let mut chase = Self::new(bytes, spacing, kind, below)?;
        let other = chase.lines / 2 * spacing;
        let (first, second) = chase.pages.split_at_mut(other);
        first[..WORD].swap_with_slice(&mut second[..WORD]);
        Ok(chase)
    }

    /// Reads `steps` lines, each where the one before it said, from where the last walk ended.
    ///
    /// Two threads that walk at once read the same lines; that is sound, and hardly ever meant.
    pub fn walk(&self, steps: u64) {
        let start = self.position.load(Ordering::Relaxed);
        // SAFETY: `start` is the address of a line, as is what each line holds, by `new`; the lines are
        // aligned words inside `pages`, which is alive and is never written again.
        let end = unsafe { kernels::chase(start, steps) };
        self.position.store(end, Ordering::Relaxed);
    }

    /// Lines in the cycle that the first line belongs to: [`lines`](Self::lines) if, and only if, there is
    /// one cycle.
    ///
    /// The pointers are followed when this is asked for the first time, each read waiting for the one before.
    pub fn cycle_length(&self) -> usize {
        self.course().length
    }

    /// Reads at most `most_lines` lines, in the order of the cycle, and lets the next walk begin where a read
    /// is worth timing: for an eighth of the cycle it meets lines that were used longest ago.
    ///
    /// Why the order matters: a cache that drops what was used longest ago keeps nothing of a cycle that is a
    /// little larger than itself, if it is walked round and round, and so the step from hit to miss is sharp.
    /// Lines that were read out of turn, just before the walk, would be found there, and the step would be
    /// smeared. So the eighth that is about to be walked is read first and the seven others behind it:
    /// between the last use of a line and its use in the walk about seven eighths of all lines are used, or
    /// more.
    ///
    /// A walk of the whole cycle would do the same, one latency after another. Here eight walks read each
    /// eighth at once, which takes a fraction of the time; it is never to be weighed.
    ///
    /// If `most_lines` is less than [`lines`](Self::lines), the eighth that is to be walked is not read at
    /// all and the others in part. Every time another eighth comes first: after eight, all lines have had
    /// their turn.
    pub fn warm(&self, most_lines: usize) {
        let first = self.warmed.fetch_add(1, Ordering::Relaxed) % PARTS;
        let end = self.sweep(first, most_lines, |line| self.after(line));
        // Somebody wants to know where they ended, or nothing need be read.
        black_box(end);
        self.position.store(self.course().stretches[first * WALKS], Ordering::Relaxed);
    }

    /// Goes over the parts, from number `first` on, and lets `read` say what each line says. Returns where
    /// the walks of the last part ended.
    fn sweep(&self, first: usize, most_lines: usize, mut read: impl FnMut(usize) -> usize) -> [usize; WALKS] {
        let whole = most_lines >= self.lines;
        let most = if whole { usize::MAX } else { most_lines / ((PARTS - 1) * WALKS) };
        let mut lines = [0; WALKS];
        for part in (usize::from(!whole)..PARTS).map(|after| (first + after) % PARTS) {
            let stretch = |walk| part * WALKS + walk;
            lines = std::array::from_fn(|walk| self.course().stretches[stretch(walk)]);
            let steps: [usize; WALKS] = std::array::from_fn(|walk| {
                let all = Self::begin(self.lines, stretch(walk) + 1) - Self::begin(self.lines, stretch(walk));
                all.min(most)
            });
            let together = steps.into_iter().min().unwrap_or(0);
            for _ in 0..together {
                for line in &mut lines {
                    *line = read(*line);
                }
            }
            // Stretches differ in length by one line at most.
            for (line, steps) in lines.iter_mut().zip(steps) {
                if steps > together {
                    *line = read(*line);
                }
            }
        }
        lines
    }

    fn after(&self, address: usize) -> usize {
        let at = address - self.pages.as_ptr() as usize;
        usize::from_ne_bytes(*self.pages[at..].first_chunk().expect("a line has a pointer"))
    }

    /// After how many steps from the first line stretch number `stretch` begins.
    fn begin(lines: usize, stretch: usize) -> usize {
        // An address has fewer than 58 bits and a line has at least 8 bytes: nothing overflows.
        lines * stretch / (PARTS * WALKS)
    }

    fn course(&self) -> &Course {
        self.course.get_or_init(|| {
            let base = self.pages.as_ptr() as usize;
            let (mut line, mut length) = (base, 0);
            let mut stretches = [base; PARTS * WALKS + 1];
            let mut count = 0;
            while length < self.lines {
                // Where lines are few, several stretches begin at one, all but the last of them empty.
                while Self::begin(self.lines, count) == length {
                    stretches[count] = line;
                    count += 1;
                }
                line = self.after(line);
                length += 1;
                if line == base {
                    break;
                }
            }
            Course { length, stretches }
        })
    }

    /// Which line is read next, from 0.
    pub fn place(&self) -> usize {
        (self.position.load(Ordering::Relaxed) - self.pages.as_ptr() as usize) / self.spacing
    }

    /// Lets the next walk begin at line number `place`.
    ///
    /// # Panics
    /// If there is no such line.
    pub fn go_to(&self, place: usize) {
        assert!(place < self.lines, "there is no line {place} of {}", self.lines);
        // A line, as `walk` requires: `new` made one at every multiple of the spacing below `lines`.
        self.position.store(self.pages.as_ptr() as usize + place * self.spacing, Ordering::Relaxed);
    }

    /// Lines in the bytes that were asked for, and so in the cycle.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// The memory, in whole pages: the lines lie at its start.
    pub fn pages(&self) -> &Pages {
        &self.pages
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Numbers that are not random, and so reach every branch alike on every run.
    fn counting() -> impl FnMut(usize) -> usize {
        let mut state = 0_usize;
        move |bound| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        }
    }

    #[test]
    fn a_chase_visits_every_line_once_and_returns() {
        for (bytes, spacing) in [(4096, 64), (1 << 16, 128), (1 << 16, 4096), (4096, 2048), (4096, 1000)] {
            let chase = Chase::new(bytes, spacing, PageKind::Base, counting()).unwrap();
            let start = chase.place();
            let mut seen = HashSet::new();
            for _ in 0..chase.lines() {
                assert!(seen.insert(chase.place()), "a line is visited twice: the cycle is not single");
                chase.walk(1);
            }
            assert_eq!(seen.len(), bytes / spacing);
            assert_eq!(chase.place(), start);
            chase.walk(chase.lines() as u64);
            assert_eq!(chase.place(), start, "a walk of the whole length returns");
            chase.walk(1);
            let second = chase.place();
            chase.go_to(start);
            chase.walk(1);
            assert_eq!(chase.place(), second, "from the same line the walk is the same");
        }
    }

    #[test]
    fn a_chase_is_as_large_as_asked_for_in_pages_of_any_size() {
        let page = rustix::param::page_size();
        for bytes in [128, page / 2, page, page + 64, page / 2 * 3] {
            let chase = Chase::new(bytes, 64, PageKind::Base, counting()).unwrap();
            assert_eq!((chase.lines(), chase.cycle_length()), (bytes / 64, bytes / 64), "{bytes} bytes");
            let beyond = &chase.pages()[bytes..];
            assert!(beyond.iter().all(|&byte| byte == 0), "a line lies beyond {bytes} bytes");
        }
    }

    #[test]
    fn the_length_of_the_cycle_is_counted_and_two_cycles_are_seen() {
        for (bytes, spacing) in [(4096, 64), (1 << 16, 128), (4096, 2048), (4096, 1000), (4096, 8)] {
            let chase = Chase::new(bytes, spacing, PageKind::Base, counting()).unwrap();
            assert_eq!(chase.cycle_length(), chase.lines());
            let broken = Chase::two_cycles(bytes, spacing, PageKind::Base, counting()).unwrap();
            let length = broken.cycle_length();
            assert!(length > 0 && length < broken.lines(), "{length} of {}", broken.lines());
            broken.walk(length as u64);
            assert_eq!(broken.place(), 0, "the walk returns when the count says so");
            // It is no matter of the first line alone: the other lines have a cycle of their own.
            broken.go_to(broken.lines() / 2);
            broken.walk((broken.lines() - length) as u64);
            assert_eq!(broken.place(), broken.lines() / 2);
        }
    }

    #[test]
    fn what_is_to_be_walked_after_warming_was_used_longest_ago() {
        for lines in [2, 3, 8, 63, 64, 65, 512, 1000] {
            let chase = Chase::new(lines * 64, 64, PageKind::Base, counting()).unwrap();
            let lines = chase.lines();
            let mut begun = HashSet::new();
            for time in 0..PARTS {
                chase.warm(lines);
                let (from, place) = (Chase::begin(lines, time * WALKS), chase.place());
                chase.go_to(0);
                chase.walk(from as u64);
                assert_eq!(chase.place(), place, "eighth {time} of {lines} lines begins elsewhere");
                begun.insert(place);
            }
            assert_eq!(begun.len(), PARTS.min(lines), "every eighth has its turn");
        }
    }

    /// The reads of a warming in order, as numbers of lines.
    fn swept(chase: &Chase, first: usize, most_lines: usize) -> Vec<usize> {
        let base = chase.pages().as_ptr() as usize;
        let mut read = Vec::new();
        chase.sweep(first, most_lines, |line| {
            read.push((line - base) / chase.spacing);
            chase.after(line)
        });
        read
    }

    /// The lines that a timed walk of an eighth meets, from where part number `first` begins.
    fn timed(chase: &Chase, first: usize) -> Vec<usize> {
        chase.go_to(
            (chase.course().stretches[first * WALKS] - chase.pages().as_ptr() as usize) / chase.spacing,
        );
        let step = |_| {
            let place = chase.place();
            chase.walk(1);
            place
        };
        (0..chase.lines() / PARTS).map(step).collect()
    }

    #[test]
    fn between_two_uses_of_a_line_seven_eighths_of_all_are_used() {
        for (lines, first) in [(64, 0), (512, 3), (1000, 7), (1024, 5)] {
            let chase = Chase::new(lines * 64, 64, PageKind::Base, counting()).unwrap();
            let (lines, read) = (chase.lines(), swept(&chase, first, chase.lines()));
            assert_eq!(read.len(), lines);
            assert_eq!(read.iter().collect::<HashSet<_>>().len(), lines, "a line is left out");
            let walk = timed(&chase, first);
            for (step, line) in walk.iter().enumerate() {
                let last = read.iter().position(|it| it == line).unwrap();
                let between: HashSet<_> = read[last + 1..].iter().chain(&walk[..step]).collect();
                assert!(between.len() >= 7 * lines / 8 - 1, "{} of {lines} at step {step}", between.len());
            }
        }
    }

    #[test]
    fn partial_warming_keeps_its_bound_and_spares_the_walk() {
        let chase = Chase::new(1 << 16, 64, PageKind::Base, counting()).unwrap();
        for most in [0, 1, 55, 56, 100, 500, 1000, 1023] {
            let (read, walk) = (swept(&chase, 2, most), timed(&chase, 2));
            assert!(read.len() <= most && read.len() + 56 > most.min(7 * 128), "{} of {most}", read.len());
            assert!(walk.iter().all(|line| !read.contains(line)));
        }
    }

    #[test]
    fn stretches_cover_the_cycle_and_meet() {
        for lines in [2, 7, 64, 65, 1000, 4096] {
            let chase = Chase::new(lines * 64, 64, PageKind::Base, counting()).unwrap();
            let (lines, course) = (chase.lines(), chase.course());
            for stretch in 0..PARTS * WALKS {
                let steps = Chase::begin(lines, stretch + 1) - Chase::begin(lines, stretch);
                let end = (0..steps).fold(course.stretches[stretch], |line, _| chase.after(line));
                assert_eq!(end, course.stretches[stretch + 1], "stretch {stretch} of {lines} lines");
            }
            assert_eq!(course.stretches[0], course.stretches[PARTS * WALKS], "they go all round");
        }
    }

    #[test]
    fn a_chase_that_is_broken_or_warmed_in_part_stays_in_its_memory() {
        let broken = Chase::two_cycles(1 << 16, 64, PageKind::Base, counting()).unwrap();
        let whole = Chase::new(1 << 16, 64, PageKind::Base, counting()).unwrap();
        for most in [0, 1, 55, 56, 100, 1023, 1024, usize::MAX] {
            for chase in [&broken, &whole] {
                chase.warm(most);
                assert!(chase.place() < chase.lines());
                chase.walk(10);
            }
        }
    }
}
