//! Placement: on which node of the machine each page of some memory lies.
//!
//! The kernel's own word, from `move_pages(2)`, which moves nothing when it is given no nodes to move to.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use crate::fault::{Fault, Moved};

/// The most pages that are asked about: a share of one in a hundred is seen with near certainty.
const MOST: usize = 4096;

/// What the kernel answers when it is asked where memory lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Where it lies.
    Placed(Placement),
    /// It was built without nodes (`ENOSYS`): all memory is alike to it.
    NoNodes,
    /// It does not say it to this process (`EPERM`, as filters of system calls in containers have it).
    Forbidden,
}

impl Answer {
    /// Where the memory lies, if the kernel said so.
    pub fn placed(self) -> Option<Placement> {
        match self {
            Self::Placed(placement) => Some(placement),
            Self::NoNodes | Self::Forbidden => None,
        }
    }
}

/// The node of each page of some memory, or of some of its pages that lie evenly spread where there are many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    pages: Vec<Page>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Page {
    /// Bytes from the first page of the memory.
    at: usize,
    /// `None` where nobody has stored yet, and so no page is.
    node: Option<u32>,
}

impl Placement {
    /// Asks the kernel about the pages that hold `memory`.
    ///
    /// # Errors
    /// [`Fault::System`] when the kernel answers neither with nodes nor with one of the reasons in
    /// [`Answer`].
    pub fn of(memory: &[u8]) -> Result<Answer, Fault> {
        let start = memory.as_ptr().addr();
        Self::at(start..start + memory.len())
    }

    /// The same for a range of addresses, of memory that others may store to meanwhile. What is not mapped
    /// counts as absent.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn at(addresses: Range<usize>) -> Result<Answer, Fault> {
        let page = rustix::param::page_size();
        let first = addresses.start / page * page;
        let bytes = if addresses.is_empty() { 0 } else { addresses.end - first };
        let pages: Vec<usize> = asked_about(bytes).map(|at| first + at).collect();
        let asked = pages.len();
        // In a number that is neither a node nor an error: what it does not fill in is seen.
        let mut status = vec![libc::c_int::MIN; asked];
        let (this_process, no_nodes, flags) = (0, std::ptr::null::<libc::c_int>(), 0);
        // SAFETY: the call reads `asked` addresses and writes as many numbers, which is how many the vectors
        // hold; with no nodes it only looks the addresses up and touches nothing at them.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_move_pages,
                this_process,
                asked as libc::c_ulong,
                pages.as_ptr(),
                no_nodes,
                status.as_mut_ptr(),
                flags,
            )
        };
        if answer != 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::ENOSYS) => Ok(Answer::NoNodes),
                Some(libc::EPERM) => Ok(Answer::Forbidden),
                _ => Err(Fault::system(format!("move_pages of {asked} pages, to ask where they are"), error)),
            };
        }
        let node = |status: libc::c_int| match status {
            0.. => Ok(Some(status as u32)),
            // No page, or the page of zeros that all memory shares that was read and never written.
            status if status == -libc::ENOENT || status == -libc::EFAULT => Ok(None),
            libc::c_int::MIN => Err(io::Error::other("it left the answer out")),
            status => Err(io::Error::from_raw_os_error(-status)),
        };
        let pages = pages.into_iter().zip(status).map(|(address, status)| {
            let at = address - first;
            let node = node(status)
                .map_err(|error| Fault::system(format!("move_pages, to ask where byte {at} is"), error))?;
            Ok(Page { at, node })
        });
        Ok(Answer::Placed(Self { pages: pages.collect::<Result<_, Fault>>()? }))
    }

    /// The planted fault: what the kernel would say of so many bytes if all of them were on `node`.
    pub fn all_on(node: u32, bytes: usize) -> Self {
        Self { pages: asked_about(bytes).map(|at| Page { at, node: Some(node) }).collect() }
    }

    /// Holds the memory at `addresses` to a node from here on: nothing is moved, and the kernel's balancing
    /// of memory between nodes passes it over (`vma_policy_mof` in the kernel's `mm/mempolicy.c`), so that
    /// whoever reads it is not stopped by faults that ask where it should be.
    ///
    /// What is not known of policies here (`ENOSYS`, `EPERM`) is left as it is.
    ///
    /// # Errors
    /// [`Fault::System`] when the kernel refuses for another reason: there is no such node.
    pub fn hold(addresses: Range<usize>, node: u32) -> Result<(), Fault> {
        const WORD: usize = u64::BITS as usize;
        let mut nodes = vec![0_u64; node as usize / WORD + 1];
        nodes[node as usize / WORD] = 1 << (node as usize % WORD);
        let page = rustix::param::page_size();
        let first = addresses.start / page * page;
        let (length, flags) = (addresses.end - first, 0);
        // One more than there are bits: the kernel takes one away (mbind(2), under BUGS of set_mempolicy(2)).
        let bits = nodes.len() * WORD + 1;
        // SAFETY: the call reads as many bits as the vector has and sets a policy of a range of addresses; it
        // moves no page without a flag that asks for it, and contents stay as they are.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_mbind,
                first,
                length,
                libc::MPOL_BIND,
                nodes.as_ptr(),
                bits as libc::c_ulong,
                flags,
            )
        };
        if answer == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ENOSYS | libc::EPERM) => Ok(()),
            _ => Err(Fault::system(format!("mbind {length} bytes to node {node}"), error)),
        }
    }

    /// Pages on each node, of those that were asked about; nodes in ascending order, none with no pages.
    pub fn by_node(&self) -> Vec<(u32, usize)> {
        let mut counts = BTreeMap::new();
        for node in self.pages.iter().filter_map(|page| page.node) {
            *counts.entry(node).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }

    /// Pages that are not there, of those that were asked about.
    pub fn absent(&self) -> usize {
        self.pages.iter().filter(|page| page.node.is_none()).count()
    }

    /// Pages that were asked about.
    pub fn asked(&self) -> usize {
        self.pages.len()
    }

    /// Whether every page lies where `before` had it. A page that came or went counts as moved.
    ///
    /// # Errors
    /// The first page that did not stay.
    ///
    /// # Panics
    /// If the two are not of the same pages.
    pub fn agrees(&self, before: &Self) -> Result<(), Moved> {
        assert_eq!(self.asked(), before.asked(), "placements of different memory");
        for (is, was) in self.pages.iter().zip(&before.pages) {
            assert_eq!(is.at, was.at, "placements of different memory");
            if is.node != was.node {
                return Err(Moved { at: is.at, was: was.node, is: is.node });
            }
        }
        Ok(())
    }
}

/// The pages that are asked about, of so many bytes from the start of a page: where each begins.
fn asked_about(bytes: usize) -> impl Iterator<Item = usize> {
    let page = rustix::param::page_size();
    let count = bytes.div_ceil(page);
    let asked = count.min(MOST);
    (0..asked).map(move |index| index * count / asked * page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{PageKind, Pages};

    fn placement(nodes: &[Option<u32>]) -> Placement {
        let pages = nodes.iter().enumerate();
        Placement { pages: pages.map(|(index, &node)| Page { at: index * 4096, node }).collect() }
    }

    #[test]
    fn a_page_that_moved_is_named() {
        let before = placement(&[Some(0), Some(1), Some(1), None]);
        assert_eq!(before.agrees(&before), Ok(()));
        assert_eq!(before.by_node(), [(0, 1), (1, 2)]);
        assert_eq!((before.absent(), before.asked()), (1, 4));
        let cases = [
            ([Some(0), Some(1), Some(0), None], 2, Some(1), Some(0)),
            ([Some(0), None, Some(0), None], 1, Some(1), None),
            ([Some(0), Some(1), Some(1), Some(1)], 3, None, Some(1)),
        ];
        for (nodes, index, was, is) in cases {
            let moved = Moved { at: index * 4096, was, is };
            assert_eq!(placement(&nodes).agrees(&before), Err(moved));
        }
        let moved = placement(&[Some(0), None, Some(1), None]).agrees(&before).unwrap_err();
        assert_eq!(moved.to_string(), "the page at byte 4096 was on node 1 and is nowhere");
    }

    #[test]
    #[should_panic(expected = "different memory")]
    fn placements_of_different_memory_are_not_compared() {
        let _ = placement(&[Some(0)]).agrees(&placement(&[]));
    }

    /// Asks, or says aloud why there is no answer here.
    fn ask(memory: &[u8]) -> Option<Placement> {
        let answer = Placement::of(memory).unwrap();
        if answer.clone().placed().is_none() {
            eprintln!("skipped: the kernel does not say where memory lies: {answer:?}");
        }
        answer.placed()
    }

    #[test]
    fn memory_that_was_touched_has_a_node_and_what_was_not_has_none() {
        let page = rustix::param::page_size();
        let mut pages = Pages::map(8 * page, PageKind::Base).unwrap();
        let Some(untouched) = ask(&pages) else { return };
        assert_eq!((untouched.asked(), untouched.absent()), (8, 8));
        assert_eq!(untouched.by_node(), []);
        for index in [1, 2, 5] {
            pages[index * page + 7] = 1;
        }
        let touched = ask(&pages).expect("it answered before");
        assert_eq!((touched.asked(), touched.absent()), (8, 5));
        let moved = touched.agrees(&untouched).unwrap_err();
        assert_eq!((moved.at, moved.was), (page, None));
        assert!(moved.is.is_some());
        pages.fill(3);
        let full = ask(&pages).expect("it answered before");
        assert_eq!(full.absent(), 0);
        assert_eq!(full.by_node().iter().map(|(_, count)| count).sum::<usize>(), 8);
        assert_eq!(ask(&pages).expect("it answered before").agrees(&full), Ok(()), "the pages stay");
        let planted = Placement::all_on(u32::MAX, 8 * page);
        let moved = full.agrees(&planted).unwrap_err();
        assert_eq!(
            (moved.at, moved.was),
            (0, Some(u32::MAX)),
            "a placement that was planted is not the kernel's"
        );
        assert_eq!(ask(&pages[page + 1..2 * page + 1]).expect("it answered before").asked(), 2);
        assert_eq!(ask(&[]).expect("it answered before").asked(), 0);
    }

    #[test]
    fn of_much_memory_pages_are_asked_about_that_lie_evenly_spread() {
        let page = rustix::param::page_size();
        let pages = Pages::map(3 * MOST * page / 2, PageKind::Base).unwrap();
        let Some(placement) = ask(&pages) else { return };
        assert_eq!(placement.asked(), MOST);
        let apart = placement.pages.windows(2).map(|pair| pair[1].at - pair[0].at);
        assert!(apart.into_iter().all(|apart| apart == page || apart == 2 * page));
        assert_eq!(placement.pages[0].at, 0);
        assert!(placement.pages[MOST - 1].at >= pages.len() - 2 * page);
    }

    #[test]
    fn memory_is_held_to_its_node_and_to_no_absent_one() {
        let mut pages = Pages::map(1 << 16, PageKind::Base).unwrap();
        pages.fill(1);
        let Some(before) = Placement::of(&pages).unwrap().placed() else {
            eprintln!("skipped: the kernel does not say where memory lies");
            return;
        };
        let start = pages.as_ptr().addr();
        Placement::hold(start..start + pages.len(), before.by_node()[0].0).unwrap();
        assert_eq!(Placement::of(&pages).unwrap().placed().unwrap().agrees(&before), Ok(()));
        assert!(pages.iter().all(|&byte| byte == 1));
        assert!(Placement::hold(start..start + pages.len(), 1_000).is_err());
    }
}
