//! Functions whose cost is known to each other: a number of turns, of three kinds of code.
//!
//! In Rust, so that each tool gets the same ones as its own users would write them: tenbin a file a side, the
//! others both in a program.

use std::fmt::Write as _;

use rand::seq::SliceRandom;
use rand::{Rng, RngExt};

/// Turns of an operation that does no more than the other side's.
const TURNS: f64 = 1000.0;

/// What is done seldom is done in one operation of so many: once a millisecond or so.
const SELDOM: u32 = 1000;

/// Functions in a program that nobody calls; what they are long decides where the others lie.
const FILLERS: usize = 6;

/// What a turn is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// A loop of dependent multiplications.
    Chain,
    /// Calls of small functions that lie wherever the linker puts them.
    Calls,
    /// A tight loop of branches that depend on data.
    Branches,
    /// The loop of multiplications; what is more of them is done at once, in one operation of [`SELDOM`].
    Seldom,
}

impl Work {
    pub(super) const ALL: [Self; 4] = [Self::Chain, Self::Calls, Self::Branches, Self::Seldom];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Calls => "calls",
            Self::Branches => "branches",
            Self::Seldom => "seldom",
        }
    }

    /// The function that begins with `head` and does more turns by so many per cent, and those that it calls,
    /// whose names begin with `prefix`.
    fn items(self, head: &str, prefix: &str, effect: f64) -> Vec<String> {
        let more = TURNS * effect / 100.0;
        let [turns, seldom] = match self {
            Self::Seldom => [TURNS, more * f64::from(SELDOM)],
            _ => [TURNS + more, 0.0],
        };
        let [turns, seldom] = [turns, seldom].map(|turns| turns.round() as u64);
        let helper = |name: &str, body: &str| {
            format!("#[inline(never)]\nfn {prefix}_{name}(x: u64) -> u64 {{\n    {body}\n}}\n")
        };
        let (mut items, turn) = match self {
            Self::Chain | Self::Seldom => {
                let turn = "x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407)";
                (Vec::new(), turn.to_owned())
            }
            Self::Calls => (
                vec![
                    helper("f", "x.wrapping_mul(3) + 1"),
                    helper("g", "(x >> 3) ^ x"),
                    helper("h", &format!("{prefix}_f(x + 1) ^ {prefix}_g(x)")),
                ],
                format!("{prefix}_h(x >> 2) ^ {prefix}_f({prefix}_g(x) >> 2)"),
            ),
            Self::Branches => (
                // No predictor knows the next bit, as long as no call begins where another one did: so a
                // turn costs as much in any loop.
                vec![helper("odd", "(x >> 1) ^ 0xd800_0000_0000_0000"), helper("even", "x >> 1")],
                format!("if x & 1 == 1 {{ {prefix}_odd(x) }} else {{ {prefix}_even(x) }}"),
            ),
        };
        items.push(format!(
            "{head}(n: u64) -> u64 {{\n    \
                 use std::sync::atomic::{{AtomicU64, Ordering::Relaxed}};\n    \
                 static STATE: [AtomicU64; 2] = [AtomicU64::new(0x9e37_79b9_7f4a_7c15), AtomicU64::new(0)];\n    \
                 let (turns, seldom) = std::hint::black_box(({turns}_u64, {seldom}_u64));\n    \
                 let [mut x, done] = [STATE[0].load(Relaxed), STATE[1].fetch_add(n, Relaxed)];\n    \
                 for operation in done..done + n {{\n        \
                     let more = if operation % {SELDOM} == 0 {{ seldom }} else {{ 0 }};\n        \
                     for t in 0..turns + more {{\n            \
                         x = {turn};\n            \
                         std::hint::black_box(t);\n        \
                     }}\n    \
                 }}\n    \
                 STATE[0].store(x, Relaxed);\n    \
                 n\n\
             }}\n"
        ));
        items
    }

    /// A file of one side for `tenbin weigh`.
    pub(super) fn file(self, effect: f64) -> String {
        let head = "#[unsafe(no_mangle)]\npub extern \"C\" fn tenbin_run";
        self.items(head, "own", effect)
            .join("\n")
            .replace("(n: u64) -> u64", "(_state: *mut u8, n: u64) -> u64")
    }

    /// Both sides, `left` and `right`, for one program: in a random order, and functions of random length
    /// between them, so that each program has another layout.
    pub(super) fn pair(self, effects: [f64; 2], random: &mut impl Rng) -> String {
        let [left, right] = effects;
        let mut items = self.items("#[inline(never)]\npub fn left", "left", left);
        items.extend(self.items("#[inline(never)]\npub fn right", "right", right));
        items.extend((0..FILLERS).map(|number| filler(number, random)));
        items.shuffle(random);
        format!("/// Of one call.\npub const OPERATIONS: u64 = 16;\n\n{}", items.join("\n"))
    }
}

/// A function of random length that stays in the program.
fn filler(number: usize, random: &mut impl Rng) -> String {
    let mut text = format!("#[inline(never)]\nfn filler_{number}(mut x: u64) -> u64 {{\n");
    for _ in 0..random.random_range(1..40) {
        let (left, mixed) = (random.random_range(1..64), random.next_u64());
        let _ = writeln!(text, "    x = x.rotate_left({left}) ^ {mixed:#x};");
    }
    let _ = writeln!(text, "    x\n}}\n#[used]\nstatic FILLER_{number}: fn(u64) -> u64 = filler_{number};");
    text
}
