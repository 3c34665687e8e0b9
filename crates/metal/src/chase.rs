//! A chase: memory in which each line holds the address of the next one to read.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fault::Fault;
use crate::kernels;
use crate::pages::{PageKind, Pages};

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
}

impl Chase {
    /// Makes a cycle through every `spacing` bytes of at least `bytes` bytes of memory of this `kind`.
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
        const WORD: usize = size_of::<usize>();
        assert!(spacing > 0 && spacing.is_multiple_of(WORD), "{spacing} bytes hold no whole pointers");
        let mut pages = Pages::map(bytes, kind)?;
        let lines = pages.len() / spacing;
        assert!(lines >= 2, "{bytes} bytes are no two lines of {spacing}");
        let mut order: Vec<u32> = (0..lines as u32).collect();
        for last in (1..lines).rev() {
            order.swap(last, below(last));
        }
        let base = pages.as_ptr() as usize;
        for (line, &next) in order.iter().enumerate() {
            let address = base + next as usize * spacing;
            pages[line * spacing..][..WORD].copy_from_slice(&address.to_ne_bytes());
        }
        Ok(Self { pages, spacing, lines, position: AtomicUsize::new(base) })
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

    /// Lines in the memory, and so in the cycle.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// The memory.
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
            assert_eq!(seen.len(), chase.pages().len() / spacing);
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
}
