//! What is timed, in assembler, so that a name says what executes: ways to add 1 to a shared counter here,
//! counted loops in `loops`, walks over lines in `lines`, two workers that answer each other in `exchange`,
//! one call a turn in `calls`.
//!
//! A compiler is free to turn `fetch_add` into another instruction when its result is not used, and does.
//! So no arm of the `atomics` experiment is compiled: each is a naked function, and a test can find its
//! symbol in the binary and read there what it consists of.
//!
//! All additions have one form, [`Kernel`], and one specification: *n* calls for *n* additions, and after
//! every worker is done the counter has grown by the sum of what they were asked for. [`lost_update`] breaks
//! it by one, on purpose.
//!
//! What the comparison deserves is kept equal:
//! - the order that each imposes is acquire and release where the instruction has a choice; an instruction
//!   without a result (STADDL) can only release, and x86 always orders fully;
//! - a failure is counted on the path of the failure, so success pays nothing for it;
//! - every kernel starts on a 64-byte boundary and its path of success fits into the 64 bytes from there, so
//!   none is slow by its address;
//! - nothing is called, no system call is made, and the stack is not touched (a loop in `loops` whose purpose
//!   one of these is names the instruction).
//!
//! A *sharded* counter, the limit of what can be reached, needs no kernel of its own: give each worker a
//! counter on a line of its own, and run the same instruction (`lock xadd`, `ldadd`, `amoadd`) on it.

use std::sync::atomic::AtomicU64;

use crate::features::{Feature, has};

/// What every kernel begins with. On RISC-V the extensions are named again: link-time optimisation
/// assembles naked functions without the target's own.
#[cfg(not(target_arch = "riscv64"))]
macro_rules! begin {
    () => {
        ".p2align 6"
    };
}
#[cfg(target_arch = "riscv64")]
macro_rules! begin {
    () => {
        ".option push\n.option arch, +m, +a, +c\n.p2align 6"
    };
}

/// What every kernel ends with: what [`begin`] changed is taken back.
#[cfg(not(target_arch = "riscv64"))]
macro_rules! end {
    () => {
        ""
    };
}
#[cfg(target_arch = "riscv64")]
macro_rules! end {
    () => {
        ".option pop"
    };
}

/// A naked function with the uniform signature of [`Kernel`].
macro_rules! kernel {
    ($(#[$doc:meta])* $symbol:ident: $($line:expr),+ $(,)?) => {
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $symbol(
            _counter: *mut u64,
            _n: u64,
            _backoff: *mut crate::kernels::Backoff,
        ) -> u64 {
            core::arch::naked_asm!(begin!(), $($line),+, end!())
        }
    };
}

/// A naked function that takes a count, and what else it needs, and returns a number.
macro_rules! counted_loop {
    ($(#[$doc:meta])* $symbol:ident $(($($argument:ident: $type:ty),+))?: $($line:expr),+ $(,)?) => {
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub(in crate::kernels) unsafe extern "C" fn $symbol(_n: u64 $($(, $argument: $type)+)?) -> u64 {
            core::arch::naked_asm!(begin!(), $($line),+, end!())
        }
    };
}

/// An [`Addition`] whose symbol is the name of its function. What is not named is as in another one.
macro_rules! addition {
    ($symbol:ident { $($field:ident: $value:expr,)+ $(..$other:expr)? }) => {
        crate::kernels::Addition {
            symbol: stringify!($symbol),
            kernel: $symbol,
            $($field: $value,)+
            $(..$other)?
        }
    };
}

#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
#[cfg_attr(target_arch = "riscv64", path = "riscv64.rs")]
#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
mod architecture;
pub(crate) mod calls;
pub(crate) mod exchange;
pub(crate) mod lines;
mod loops;

pub(crate) use loops::on_lower_stack;
pub use loops::{
    CHAIN, Counted, LOOPS, PLACES, REGIONS, TURN, chase, copy_on_lower_stack, dependent_additions,
    dependent_multiplications, empty_loop, empty_loop_one_short, hints, parent_process, product_of_threes,
    sum_of_words,
};

/// Runs `n` successful additions of 1 to `*counter` and returns how many attempts failed.
///
/// An attempt is one try to write: an exchange that found the counter taken, a compare-and-swap that found
/// another value, a store-conditional that did not store.
///
/// The caller guarantees that `n` is at least 1, that `counter` is aligned and every other access to it is
/// atomic until the kernel returns, that `backoff` is this worker's own, and that the CPU has what
/// [`Addition::requires`] names.
pub type Kernel = unsafe extern "C" fn(counter: *mut u64, n: u64, backoff: *mut Backoff) -> u64;

/// The instruction in which this architecture's waits are counted, as [`hints`] runs it.
///
/// arm64 counts in `isb`: `yield` is a no-op on cores without threads, and `isb` is what the Rust standard
/// library's `spin_loop` issues for that reason.
pub const HINT: &str = architecture::HINT;

/// How long a worker waits after a failed attempt, and what it remembers from one call to the next.
///
/// One per worker. Sources: T. E. Anderson, "The performance of spin lock alternatives" (1990), for waiting
/// that doubles; D. Dice, D. Hendler and I. Mirsky, "Lightweight contention management for efficient
/// compare-and-swap operations" (Euro-Par 2013), for waiting on compare-and-swap as such.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The shortest wait, counted in what [`Wait::counts`] names.
    pub unit: u64,
    /// The longest wait, counted in the same; no single wait exceeds it.
    pub cap: u64,
    /// State of the generator that draws randomised waits; never 0, where it would stay.
    state: u64,
}

impl Backoff {
    /// Waits from `unit` to `cap`; `seed` should differ between the workers.
    pub const fn new(unit: u64, cap: u64, seed: u64) -> Self {
        // SplitMix64 (Steele, Lea and Flood 2014): near seeds must not draw near waits.
        let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        Self { unit, cap, state: if mixed == 0 { 1 } else { mixed } }
    }
}

/// What an addition is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// A way to add that the architecture offers.
    Core,
    /// The loop of a core addition, with something done between a failed attempt and the next.
    Waiting {
        /// Name of the core addition that it is to be weighed against.
        base: &'static str,
        /// What is done.
        wait: Wait,
    },
    /// Breaks the specification on purpose.
    Sabotage,
}

/// What happens between a failed attempt and the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing, but the counter is read anew: what the other waits have in common, and so their control.
    Reload,
    /// This instruction once. [`Backoff`] is not looked at.
    Once(&'static str),
    /// `unit` instructions that do nothing, in a loop.
    NoOps,
    /// `unit` divisions, each of the quotient of the one before.
    Divisions,
    /// `unit` hints, doubled at each failure in a row, `unit` again after a success.
    Exponential,
    /// A number of hints drawn uniformly from 0 to `cap`.
    Randomised,
    /// `unit` hints for each addition that others made between this worker's load and its failure.
    Proportional,
}

impl Wait {
    /// What [`Backoff::unit`] and [`Backoff::cap`] count here, in the plural; nothing where they are not
    /// used.
    pub const fn counts(self) -> Option<&'static str> {
        match self {
            Self::Reload | Self::Once(_) => None,
            Self::NoOps => Some("no-ops"),
            Self::Divisions => Some("divisions"),
            Self::Exponential | Self::Randomised | Self::Proportional => Some("hints"),
        }
    }
}

/// One way to add 1 to a counter.
#[derive(Debug)]
pub struct Addition {
    /// What executes; reads inside a sentence ("lock xadd"). No two have the same.
    pub name: &'static str,
    /// What it does, in a line.
    pub what: &'static str,
    /// The function's symbol in the binary.
    pub symbol: &'static str,
    /// Mnemonics that its disassembly must hold, as `llvm-objdump` prints them.
    pub instruction: &'static [&'static str],
    /// What the CPU needs beyond its base instruction set.
    pub requires: Option<Feature>,
    /// What it is there for.
    pub family: Family,
    /// Whether an attempt may fail though nobody else touches the counter, as a store-conditional may.
    pub may_fail_alone: bool,
    kernel: Kernel,
}

impl Addition {
    /// Whether this machine can run it, by the kernel's word.
    pub fn is_supported(&self) -> bool {
        self.requires.is_none_or(has)
    }

    /// Adds 1 to `counter` `n` times and returns how many attempts failed.
    ///
    /// The counter must stay below `u64::MAX`: one of the additions puts that value in its place while it
    /// works. What else runs on the counter at the same time must be the same addition.
    ///
    /// # Panics
    ///
    /// If the machine does not have what [`requires`](Self::requires) names.
    pub fn run(&self, counter: &AtomicU64, n: u64, backoff: &mut Backoff) -> u64 {
        assert!(self.is_supported(), "{}: this CPU does not have {:?}", self.name, self.requires);
        if n == 0 {
            return 0;
        }
        // SAFETY: `counter` is borrowed and aligned, and an `AtomicU64` admits atomic access only, which is
        // all that the kernels do; `backoff` is borrowed for this call alone; `n` is not 0 and the CPU has
        // what is required, both checked above. That the kernel does no more than this is on its author.
        unsafe { (self.kernel)(counter.as_ptr(), n, backoff) }
    }
}

/// What a core addition with a wait behind each failure has in common with it.
const fn waiting(base: Addition, wait: Wait) -> Addition {
    Addition { family: Family::Waiting { base: base.name, wait }, ..base }
}

/// Every addition of this architecture, supported here or not: core instructions, then waits.
pub fn additions() -> &'static [Addition] {
    architecture::ADDITIONS
}

/// The planted fault: of its `n` additions the last writes back the value that it found.
///
/// Exactly one is lost in each call, with any number of workers and with one alone. It is the smallest
/// fault that the check "final counter = sum of successes" has to see.
pub fn lost_update() -> &'static Addition {
    &architecture::LOST_UPDATE
}

/// Symbols of all kernels of this architecture: what a test of the binary has to find and to read.
///
/// Each is a function with a size in the symbol table; what follows its end is padding.
pub fn symbols() -> impl Iterator<Item = &'static str> {
    let additions = additions().iter().chain([lost_update()]).map(|addition| addition.symbol);
    additions.chain(LOOPS.iter().map(|counted| counted.symbol))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::atomic::Ordering;

    use super::*;

    const WORKERS: u64 = 4;
    const ROUNDS: u64 = 20;
    const N: u64 = 500;

    /// What can be executed here. The event stream bounds how long a WFE lasts, and no test depends on that:
    /// the instruction is in the base set, and any interrupt ends it.
    fn runs_here(addition: &Addition) -> bool {
        addition.is_supported() || addition.requires == Some(Feature::EventStream)
    }

    fn each_that_runs_here(mut test: impl FnMut(&Addition)) {
        for addition in additions() {
            if runs_here(addition) {
                test(addition);
            } else {
                eprintln!("skipped: {}, for want of {:?}", addition.name, addition.requires);
            }
        }
    }

    fn run(addition: &Addition, counter: &AtomicU64, n: u64, backoff: &mut Backoff) -> u64 {
        assert!(n > 0 && runs_here(addition));
        // SAFETY: as in `Addition::run`; the two conditions are asserted above.
        unsafe { (addition.kernel)(counter.as_ptr(), n, backoff) }
    }

    /// Lets `WORKERS` workers add to one counter until enough attempts failed for the waits to be tested, but
    /// not for ever: an instruction that cannot fail, or a machine with one CPU, shows no contention.
    /// Returns what the counter lost and the failures.
    fn contend(addition: &Addition, backoff: impl Fn(u64) -> Backoff + Sync) -> (u64, u64) {
        let (mut lost, mut failures) = (0, 0);
        for _ in 0..32 {
            let (lost_now, failed_now) = contend_once(addition, &backoff);
            lost += lost_now;
            failures += failed_now;
            if failures > 500 {
                break;
            }
        }
        (lost, failures)
    }

    /// The workers meet before each round, or the first would be done before the last is awake. They yield
    /// while they wait for each other, since there may be fewer CPUs than workers. What they saw is judged
    /// when all are done: one that panicked would leave the others waiting.
    fn contend_once(addition: &Addition, backoff: &(impl Fn(u64) -> Backoff + Sync)) -> (u64, u64) {
        let (counter, arrived) = (AtomicU64::new(0), AtomicU64::new(0));
        let work = |worker| {
            let mut own = backoff(worker);
            let mut calls = Vec::new();
            for round in 1..=ROUNDS {
                arrived.fetch_add(1, Ordering::AcqRel);
                while arrived.load(Ordering::Acquire) < round * WORKERS {
                    std::thread::yield_now();
                }
                let before = own.clone();
                let failed = run(addition, &counter, N, &mut own);
                calls.push((before, own.clone(), failed));
            }
            calls
        };
        let calls: Vec<_> = std::thread::scope(|scope| {
            let work = &work;
            let workers: Vec<_> = (0..WORKERS).map(|worker| scope.spawn(move || work(worker))).collect();
            workers.into_iter().flat_map(|worker| worker.join().expect("a worker panicked")).collect()
        });
        for (before, after, failed) in &calls {
            state_is_drawn_once_a_failure(addition, before, after, *failed);
        }
        (WORKERS * ROUNDS * N - counter.into_inner(), calls.iter().map(|(_, _, failed)| failed).sum())
    }

    /// Marsaglia's xorshift with the shifts 13, 7 and 17, as the assembler has it.
    fn xorshift(mut state: u64) -> u64 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^ (state << 17)
    }

    /// Only a randomised wait touches the backoff, and only its state, which moves on by one step a wait.
    fn state_is_drawn_once_a_failure(addition: &Addition, before: &Backoff, after: &Backoff, failed: u64) {
        let name = addition.name;
        let mut expected = before.clone();
        if matches!(addition.family, Family::Waiting { wait: Wait::Randomised, .. }) {
            let mut draws = 0;
            while expected.state != after.state {
                expected.state = xorshift(expected.state);
                draws += 1;
                assert!(draws <= failed, "{name}: the state left is not a successor of the state found");
            }
            // On RISC-V a store-conditional that fails is retried at once, without a wait.
            assert!(
                draws == failed || cfg!(target_arch = "riscv64"),
                "{name}: {draws} draws, {failed} failures"
            );
        }
        assert_eq!(&expected, after, "{name}");
    }

    #[test]
    fn one_worker_adds_exactly_n_and_fails_only_where_it_may() {
        each_that_runs_here(|addition| {
            for n in [1, 2, 3, 1000] {
                let counter = AtomicU64::new(7);
                let failures = run(addition, &counter, n, &mut Backoff::new(2, 16, 1));
                assert_eq!(counter.load(Ordering::Relaxed), 7 + n, "{} {n} times", addition.name);
                assert!(failures == 0 || addition.may_fail_alone, "{}: {failures} failures", addition.name);
            }
        });
    }

    #[test]
    fn several_workers_lose_no_addition() {
        each_that_runs_here(|addition| {
            let (lost, failures) = contend(addition, |worker| Backoff::new(2, 16, worker));
            assert_eq!(lost, 0, "{}", addition.name);
            eprintln!("{}: {failures} failures", addition.name);
        });
    }

    /// Each of these would wait for years if `cap` were not obeyed, or for ever if 0 were counted down from.
    #[test]
    fn no_wait_exceeds_its_cap_and_none_of_length_zero_hangs() {
        each_that_runs_here(|addition| {
            for (unit, cap) in [(0, 0), (0, 16), (u64::MAX, 0), (u64::MAX, 16), (1 << 62, 1)] {
                let (lost, _) = contend(addition, |worker| Backoff::new(unit, cap, worker));
                assert_eq!(lost, 0, "{} unit {unit} cap {cap}", addition.name);
            }
        });
    }

    #[test]
    fn the_planted_fault_loses_exactly_one_addition_a_call() {
        let sabotage = lost_update();
        for n in [1, 2, 3, 1000] {
            let counter = AtomicU64::new(0);
            run(sabotage, &counter, n, &mut Backoff::new(1, 1, 1));
            assert_eq!(counter.load(Ordering::Relaxed), n - 1);
        }
        let (lost, _) = contend_once(sabotage, &|worker| Backoff::new(1, 1, worker));
        assert_eq!(lost, WORKERS * ROUNDS, "one a call");
    }

    #[test]
    fn no_addition_at_all_leaves_the_counter_alone() {
        let counter = AtomicU64::new(5);
        for addition in additions().iter().filter(|addition| addition.is_supported()) {
            assert_eq!(addition.run(&counter, 0, &mut Backoff::new(1, 1, 1)), 0);
        }
        assert_eq!(counter.load(Ordering::Relaxed), 5);
    }

    #[test]
    fn the_list_is_sound() {
        let names: HashSet<_> = additions().iter().map(|addition| addition.name).collect();
        assert_eq!(names.len(), additions().len(), "a name occurs twice");
        assert_eq!(symbols().collect::<HashSet<_>>().len(), symbols().count(), "a symbol occurs twice");
        assert_eq!(lost_update().family, Family::Sabotage);
        assert!(additions().is_sorted_by_key(|addition| addition.family != Family::Core), "core first");
        for addition in additions() {
            assert!(addition.symbol.starts_with("tenbin_kernel_"));
            assert!(!addition.what.is_empty() && !addition.instruction.is_empty());
            if let Family::Waiting { base, .. } = addition.family {
                let base = additions().iter().find(|other| other.name == base);
                assert_eq!(base.map(|base| base.family), Some(Family::Core), "{}", addition.name);
            }
        }
    }
}
