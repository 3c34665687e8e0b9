//! What a contract is: requirement, specification and precondition as predicates, and how a function behind
//! an ABI is called to see whether it keeps them.

use std::fmt::Debug;

use proptest::strategy::BoxedStrategy;

/// A contract between who wants a function, who specifies it, who implements it and who calls it.
///
/// `I` is what a call is made with, `O` what comes of a call that returns. The last item of a contract's
/// file, and one line in the list of contracts.
pub struct Contract<I: 'static, O: 'static> {
    /// The name on the command line: lower case, one word.
    pub name: &'static str,
    /// The symbol that a library exports.
    pub symbol: &'static str,
    /// The interface, in C.
    pub prototype: &'static str,
    /// What is wanted, in words.
    pub requirement: &'static str,
    /// Whether what came of a call is what is wanted. True where the requirement is silent.
    pub wanted: fn(&I, &O) -> bool,
    /// The specification, and after it altered ones that are wrong, as examples.
    pub specifications: &'static [Specification<I, O>],
    /// What a caller must see to.
    pub precondition: &'static [Condition<I>],
    /// What may be noticed about inputs: said of a fault that shows wherever it holds and nowhere else.
    pub circumstances: &'static [Condition<I>],
    /// What the specification leaves to the implementation.
    pub aspects: &'static [Aspect<I, O>],
    /// All small inputs, the smallest first.
    pub small: fn() -> Vec<I>,
    /// Inputs of sizes that seldom come by chance, tried behind the small ones.
    pub large: fn() -> Vec<I>,
    /// How large an input is, in `sized`.
    pub size: fn(&I) -> usize,
    /// What sizes count: "persons".
    pub sized: &'static str,
    /// Inputs of any size.
    pub any: fn() -> BoxedStrategy<I>,
    /// What an input could be made smaller to in one step, the largest steps first.
    pub smaller: fn(&I) -> Vec<I>,
    /// All that could come of a call with a small input, whatever the specification says of it; none where
    /// that is too much to list.
    pub outcomes: fn(&I) -> Option<Vec<O>>,
    /// An input in words.
    pub show_input: fn(&I) -> String,
    /// An outcome in words.
    pub show_outcome: fn(&I, &O) -> String,
    /// An input as `call` takes it.
    pub encode: fn(&I) -> Vec<u8>,
    /// The input that `watch` reported; none if that is no input.
    pub decode_input: fn(&[u8]) -> Option<I>,
    /// The outcome that `call` or `watch` reported; none if that is no outcome.
    pub decode: fn(&I, &[u8]) -> Option<O>,
    /// C: `static void call(void *function)`, which takes an input, calls the function and gives the outcome.
    /// What it has to do so is in `call.c`.
    pub call: &'static str,
    /// C: the function itself, which reports its call and forwards it. What it has to do so is in `watch.c`.
    pub watch: &'static str,
}

/// A specification: lines that must all be kept.
pub struct Specification<I: 'static, O: 'static> {
    /// The name on the command line.
    pub name: &'static str,
    /// What it is, or what is wrong with it.
    pub about: &'static str,
    /// Its lines. Where several are broken the first is named.
    pub clauses: &'static [Clause<I, O>],
}

/// A line of a specification.
pub struct Clause<I: 'static, O: 'static> {
    /// In words, to be read behind "expected:".
    pub text: &'static str,
    /// To which inputs it applies.
    pub applies: fn(&I) -> bool,
    /// What it says of them.
    pub says: Says<I, O>,
}

/// What a line of a specification says.
pub enum Says<I: 'static, O: 'static> {
    /// The call returns, and this holds of what comes of it.
    Promises {
        /// Whether it holds.
        kept: fn(&I, &O) -> bool,
        /// What an implementation does that breaks it, to be read behind "it".
        broken: &'static str,
    },
    /// The same of memory that is not the function's: also broken by touching a guard page.
    Confines {
        /// Whether it holds.
        kept: fn(&I, &O) -> bool,
        /// What an implementation does that breaks it, to be read behind "it".
        broken: &'static str,
    },
    /// Nothing: anything may come of it.
    Undefined,
}

impl<I, O> Clause<I, O> {
    /// Whether it promises anything of `input`.
    pub fn promises(&self, input: &I) -> bool {
        !matches!(self.says, Says::Undefined) && (self.applies)(input)
    }

    /// Whether `outcome` is one that it admits.
    pub fn admits(&self, input: &I, outcome: &O) -> bool {
        match self.says {
            Says::Promises { kept, .. } | Says::Confines { kept, .. } => {
                !(self.applies)(input) || kept(input, outcome)
            }
            Says::Undefined => true,
        }
    }
}

impl<I, O> Specification<I, O> {
    /// Whether it says of `input` that anything may come of it.
    pub fn leaves_open(&self, input: &I) -> bool {
        self.clauses.iter().any(|clause| matches!(clause.says, Says::Undefined) && (clause.applies)(input))
    }

    /// Whether it promises anything of `input`, and leaves none of it open.
    pub fn speaks_of(&self, input: &I) -> bool {
        !self.leaves_open(input) && self.clauses.iter().any(|clause| clause.promises(input))
    }

    /// Whether no line forbids `outcome`.
    pub fn admits(&self, input: &I, outcome: &O) -> bool {
        self.clauses.iter().all(|clause| clause.admits(input, outcome))
    }
}

/// Something that holds of an input or does not.
pub struct Condition<I: 'static> {
    /// In words.
    pub text: &'static str,
    /// Whether it holds.
    pub holds: fn(&I) -> bool,
}

/// Something that the specification leaves to the implementation.
pub struct Aspect<I: 'static, O: 'static> {
    /// What it is called.
    pub name: &'static str,
    /// What `outcome` says of it, in a word or two; none where this input cannot tell.
    pub answer: fn(&I, &O) -> Option<&'static str>,
    /// The answer that only stands if every input gives it (one unstable answer makes a sort unstable).
    pub claim: &'static str,
    /// Whether two outcomes of one input differ in nothing but this.
    pub covers: fn(&I, &O, &O) -> bool,
}

/// What an input must be able to do.
pub trait Input: Clone + Debug + PartialEq + 'static {}
impl<T: Clone + Debug + PartialEq + 'static> Input for T {}

/// What an outcome must be able to do.
pub trait Outcome: Clone + Debug + PartialEq + 'static {}
impl<T: Clone + Debug + PartialEq + 'static> Outcome for T {}
