//! `memcpy`, as C has it: bytes copied between regions that must not overlap.
//!
//! What it does where they overlap has been seen to change under programs that relied on it. Specification
//! and precondition are those of ISO C (C17 7.24.2.1).

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{BoxedStrategy, Strategy, any, prop_oneof};

use crate::blame::contract::{Aspect, Clause, Condition, Contract, Says, Specification};
use crate::blame::listed::listed;
use crate::blame::wire::{Reader, Writer};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::blame) struct Regions {
    pub(in crate::blame) n: i32,
    /// The bytes; fewer than `n`, and none at all, in a call that was only watched.
    pub(in crate::blame) bytes: Vec<u8>,
    /// How far `to` lies behind `from`, where they share bytes or lie side by side; none where they lie
    /// apart.
    pub(in crate::blame) gap: Option<i32>,
}

impl Regions {
    fn new(bytes: Vec<u8>, gap: Option<i32>) -> Self {
        Self { n: i32::try_from(bytes.len()).unwrap_or(i32::MAX), bytes, gap }
    }

    fn overlap(&self) -> bool {
        self.gap.is_some_and(|gap| gap.unsigned_abs() < self.n.unsigned_abs())
    }

    fn apart(&self) -> bool {
        !self.overlap()
    }
}

/// What came of a call that returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::blame) struct Copied {
    pub(in crate::blame) returned: bool,
    /// Whether memory around the regions was written to.
    pub(in crate::blame) outside: bool,
    /// What `from` points to then.
    pub(in crate::blame) from: Vec<u8>,
    /// What `to` points to then.
    pub(in crate::blame) to: Vec<u8>,
}

/// What stands in `to` before the call, where `from` does not reach.
const OLD: u8 = 0xEE;

/// Whether the bytes up to the first zero, that one included, were copied and the others left.
fn copied_as_text(regions: &Regions, copied: &Copied) -> bool {
    let end = regions.bytes.iter().position(|&byte| byte == 0).map_or(regions.bytes.len(), |zero| zero + 1);
    copied.to.get(..end) == regions.bytes.get(..end) && copied.to.iter().skip(end).all(|&byte| byte == OLD)
}

const RETURNS: Clause<Regions, Copied> = Clause {
    text: "to is returned",
    applies: |_| true,
    says: Says::Promises { kept: |_, copied| copied.returned, broken: "does not return to" },
};
const OUTSIDE: Clause<Regions, Copied> = Clause {
    text: "no memory is touched but n bytes of to and n bytes of from",
    applies: |_| true,
    says: Says::Confines { kept: |_, copied| !copied.outside, broken: "writes outside the regions" },
};
const COPIES: Clause<Regions, Copied> = Clause {
    text: "to holds the n bytes that from held",
    applies: |_| true,
    says: Says::Promises {
        kept: |regions, copied| copied.to == regions.bytes,
        broken: "does not copy all bytes as they were",
    },
};
const COPIES_TEXT: Clause<Regions, Copied> = Clause {
    text: "to holds the bytes that from held, up to the first zero",
    applies: Regions::apart,
    says: Says::Promises { kept: copied_as_text, broken: "does not copy the bytes up to the first zero" },
};
const PRESERVES: Clause<Regions, Copied> = Clause {
    text: "the bytes of from stay as they are",
    applies: |_| true,
    says: Says::Promises {
        kept: |regions, copied| copied.from == regions.bytes,
        broken: "changes what it copies from",
    },
};
const PRESERVES_APART: Clause<Regions, Copied> = Clause { applies: Regions::apart, ..PRESERVES };
const UNDEFINED: Clause<Regions, Copied> =
    Clause { text: "regions that overlap are undefined", applies: Regions::overlap, says: Says::Undefined };
const RETURNS_APART: Clause<Regions, Copied> = Clause { applies: Regions::apart, ..RETURNS };
const OUTSIDE_APART: Clause<Regions, Copied> = Clause { applies: Regions::apart, ..OUTSIDE };
const COPIES_APART: Clause<Regions, Copied> = Clause { applies: Regions::apart, ..COPIES };

const SPECIFICATIONS: &[Specification<Regions, Copied>] = &[
    Specification {
        name: "iso",
        about: "that of C: n bytes from one region to a separate one",
        clauses: &[RETURNS_APART, OUTSIDE_APART, COPIES_APART, PRESERVES_APART, UNDEFINED],
    },
    Specification {
        name: "text",
        about: "altered: a zero ends the copy",
        clauses: &[RETURNS_APART, OUTSIDE_APART, COPIES_TEXT, PRESERVES_APART, UNDEFINED],
    },
    Specification {
        name: "careless",
        about: "altered: nobody thought of regions that overlap",
        clauses: &[RETURNS, OUTSIDE, COPIES, PRESERVES],
    },
    Specification {
        name: "undefined",
        about: "altered: overlap is undefined in one line and answered in another",
        clauses: &[RETURNS_APART, OUTSIDE_APART, COPIES, PRESERVES_APART, UNDEFINED],
    },
];

fn as_through_a_copy(regions: &Regions, copied: &Copied) -> Option<&'static str> {
    regions.overlap().then(|| {
        if copied.to == regions.bytes { "as through a third place" } else { "not as through a third place" }
    })
}

/// Up to four of the bytes 0 and 1, in every way in which so few can lie.
fn small() -> Vec<Regions> {
    let mut inputs = Vec::new();
    for count in 0..=4_i32 {
        let shifts = (1..count).flat_map(|shift| [Some(shift), Some(-shift)]);
        let gaps = [None].into_iter().chain((count > 0).then_some(Some(0))).chain(shifts);
        for gap in gaps {
            inputs.extend((0..1_u32 << count).map(|choice| {
                let bytes = (0..count).rev().map(|place| (choice >> place & 1) as u8).collect();
                Regions::new(bytes, gap)
            }));
        }
    }
    inputs
}

/// Lengths about those at which implementations change their ways, apart and over each other.
fn large() -> Vec<Regions> {
    let mut inputs = Vec::new();
    for n in [1023, 1024, 1025, 4095, 4096, 4097, 65535, 65536, 65537] {
        let bytes: Vec<u8> = (0..n).map(|at: i32| (at.wrapping_mul(31) >> 3) as u8).collect();
        let gaps = [None, Some(1), Some(-1), Some(n / 2), Some(-n / 2)];
        inputs.extend(gaps.map(|gap| Regions::new(bytes.clone(), gap)));
    }
    inputs
}

fn regions() -> BoxedStrategy<Regions> {
    let bytes = prop_oneof![2 => vec(any::<u8>(), 0..40), 1 => vec(any::<u8>(), 40..600)];
    (bytes, option::weighted(0.3, -40..40_i32))
        .prop_map(|(bytes, gap)| {
            // Regions that only touch would be hidden from a guard page; they lie apart instead.
            let regions = Regions::new(bytes, gap);
            if regions.overlap() { regions } else { Regions { gap: None, ..regions } }
        })
        .boxed()
}

/// Fewer bytes, smaller ones, or regions that overlap by more or not at all.
fn smaller(regions: &Regions) -> Vec<Regions> {
    let (bytes, gap) = (&regions.bytes, regions.gap);
    let mut smaller: Vec<Regions> = Vec::new();
    let count = bytes.len();
    for size in
        [count / 2, count - count / 8, count - count / 64, count - count / 512, count.saturating_sub(1)]
    {
        if size < count {
            smaller.push(Regions::new(bytes[..size].to_vec(), gap));
        }
    }
    if let Some(gap) = gap {
        let nearer = [None, Some(gap / 2), Some(gap - gap.signum())];
        smaller.extend(
            nearer.into_iter().filter(|it| *it != Some(gap)).map(|gap| Regions::new(bytes.clone(), gap)),
        );
    }
    // A list of many that differ in one byte each would be longer than memory.
    if count > 600 {
        let plain = vec![0; count];
        smaller.extend((*bytes != plain).then(|| Regions::new(plain, gap)));
    } else {
        for (place, &byte) in bytes.iter().enumerate() {
            for less in [0, byte / 2, byte.saturating_sub(1)].into_iter().filter(|&less| less < byte) {
                let mut bytes = bytes.clone();
                bytes[place] = less;
                smaller.push(Regions::new(bytes, gap));
            }
        }
    }
    // Regions that came to lie apart have no place of their own.
    smaller.retain(|it| it.gap.is_none() || it.overlap());
    smaller
}

/// Every way in which the bytes of both regions can stand afterwards, of 0, 1 and what stood there.
fn outcomes(regions: &Regions) -> Option<Vec<Copied>> {
    const VALUES: [u8; 3] = [0, 1, OLD];
    let count = regions.bytes.len();
    let (first, second) = match regions.gap {
        Some(gap) => (usize::try_from(-gap).unwrap_or(0), usize::try_from(gap).unwrap_or(0)),
        None => (0, count),
    };
    let cells = u32::try_from(first.max(second) + count).ok().filter(|&cells| cells <= 6)?;
    let mut outcomes = Vec::new();
    for choice in 0..VALUES.len().pow(cells) {
        let cell = |place: u32| VALUES[choice / VALUES.len().pow(cells - 1 - place) % VALUES.len()];
        let window: Vec<u8> = (0..cells).map(cell).collect();
        for (returned, outside) in [(true, false), (false, false), (true, true), (false, true)] {
            let (from, to) = (&window[first..first + count], &window[second..second + count]);
            outcomes.push(Copied { returned, outside, from: from.to_vec(), to: to.to_vec() });
        }
    }
    Some(outcomes)
}

fn show_regions(regions: &Regions) -> String {
    let gap = match regions.gap {
        None => String::new(),
        Some(0) => ", to = from".into(),
        Some(gap) => format!(", to = from {} {}", if gap < 0 { '-' } else { '+' }, gap.unsigned_abs()),
    };
    if usize::try_from(regions.n) == Ok(regions.bytes.len()) {
        format!("bytes {}{gap}", show_bytes(&regions.bytes))
    } else {
        format!("n {}{gap}", regions.n)
    }
}

fn show_bytes(bytes: &[u8]) -> String {
    listed(bytes.iter().map(u8::to_string))
}

fn show_copied(regions: &Regions, copied: &Copied) -> String {
    let returned = if copied.returned { "returned to" } else { "returned something else" };
    let from = if copied.from == regions.bytes {
        String::new()
    } else {
        format!(", from holds {}", show_bytes(&copied.from))
    };
    let outside = if copied.outside { ", and memory outside the regions was written to" } else { "" };
    format!("{returned}, to holds {}{from}{outside}", show_bytes(&copied.to))
}

fn decode_regions(bytes: &[u8]) -> Option<Regions> {
    let mut reader = Reader(bytes);
    let (n, placed, gap) = (reader.word()?, reader.word()?, reader.word()?);
    let bytes = if reader.0.is_empty() { &[] } else { reader.bytes(usize::try_from(n).ok()?)? };
    reader.end()?;
    Some(Regions { n, bytes: bytes.to_vec(), gap: (placed != 0).then_some(gap) })
}

fn decode_copied(regions: &Regions, bytes: &[u8]) -> Option<Copied> {
    let mut reader = Reader(bytes);
    let (returned, outside) = (reader.word()? != 0, reader.word()? != 0);
    let (from, to) = (reader.bytes(regions.bytes.len())?, reader.bytes(regions.bytes.len())?);
    reader.end()?;
    Some(Copied { returned, outside, from: from.to_vec(), to: to.to_vec() })
}

/// Regions that lie apart have guard pages each; those that overlap share one piece of memory.
const CALL: &str = r#"
static void call(void *function)
{
    size_t n = (size_t)take();
    int placed = take(), gap = take();
    unsigned char *from, *to;
    if (placed) {
        unsigned char *both = guarded("the regions", n + (size_t)abs(gap));
        from = both + (gap < 0 ? -gap : 0);
        to = both + (gap > 0 ? gap : 0);
        memset(both, 0xEE, n + (size_t)abs(gap));
    } else {
        from = guarded("from", n);
        to = guarded("to", n);
        memset(to, 0xEE, n);
    }
    take_bytes(from, n);
    void *(*copy)(void *, const void *, size_t) = (void *(*)(void *, const void *, size_t))function;
    give(copy(to, from, n) == to);
    give(!untouched());
    give_bytes(from, n);
    give_bytes(to, n);
}
"#;

/// Programs copy all the time: what is reported is where and how much, and not what.
const WATCH: &str = r#"
void *memcpy(void *to, const void *from, size_t n)
{
    void *(*next)(void *, const void *, size_t) = 0;
    if (ready)
        next = (void *(*)(void *, const void *, size_t))next_function();
    if (!next) {
        /* The loader copies before anything can be found. */
        for (size_t i = 0; i < n; i++)
            ((volatile unsigned char *)to)[i] = ((const volatile unsigned char *)from)[i];
        return to;
    }
    if (enter()) {
        intptr_t gap = (intptr_t)((uintptr_t)to - (uintptr_t)from);
        size_t bytes = n > 0x7fffffff ? 0x7fffffff : n;
        int placed = gap > -0x7fffffff && gap < 0x7fffffff && (size_t)(gap < 0 ? -gap : gap) < bytes;
        open_record(64);
        give((int)bytes);
        give(placed);
        give(placed ? (int)gap : 0);
        called(0);
        leave();
        FORWARDING(0);
        void *returned = next(to, from, n);
        FORWARDED();
        return returned;
    }
    return next(to, from, n);
}

/* What becomes of a memcpy whose room the compiler knows, where sources are fortified. */
void *__memcpy_chk(void *to, const void *from, size_t n, size_t room)
{
    if (n <= room)
        return memcpy(to, from, n);
    void *(*next)(void *, const void *, size_t, size_t) = 0;
    if (ready)
        next = (void *(*)(void *, const void *, size_t, size_t))dlsym(RTLD_NEXT, "__memcpy_chk");
    if (!next)
        abort();
    return next(to, from, n, room);
}
"#;

pub(in crate::blame) static CONTRACT: Contract<Regions, Copied> = Contract {
    name: "memcpy",
    symbol: "memcpy",
    prototype: "void *memcpy(void *restrict to, const void *restrict from, size_t n)",
    requirement: "What one place holds, another is to hold too, byte for byte.",
    wanted: |regions, copied| {
        regions.overlap() || copied.to == regions.bytes && copied.from == regions.bytes && !copied.outside
    },
    specifications: SPECIFICATIONS,
    precondition: &[Condition { text: "the regions do not overlap", holds: Regions::apart }],
    circumstances: &[
        Condition { text: "n is 0", holds: |regions| regions.n == 0 },
        Condition { text: "n is odd", holds: |regions| regions.n % 2 != 0 },
        Condition { text: "n is not a multiple of 4", holds: |regions| regions.n % 4 != 0 },
        Condition { text: "n is not a multiple of 8", holds: |regions| regions.n % 8 != 0 },
        Condition { text: "n is 8 or more", holds: |regions| regions.n >= 8 },
        Condition { text: "n is 16 or more", holds: |regions| regions.n >= 16 },
    ],
    aspects: &[Aspect {
        name: "overlapping regions",
        answer: as_through_a_copy,
        claim: "as through a third place",
        covers: |regions, _, _| regions.overlap(),
    }],
    small,
    large,
    size: |regions| regions.bytes.len(),
    sized: "bytes",
    any: regions,
    smaller,
    outcomes,
    show_input: show_regions,
    show_outcome: show_copied,
    encode: |regions| {
        let writer = Writer::default().word(regions.n).word(regions.gap.is_some().into());
        writer.word(regions.gap.unwrap_or(0)).bytes(&regions.bytes).0
    },
    decode_input: decode_regions,
    decode: decode_copied,
    call: CALL,
    watch: WATCH,
};
