//! Functions whose cost is known to each other: a number of turns, of three kinds of code.

/// Turns of an operation that does no more than the other side's.
const TURNS: f64 = 1000.0;

/// What a turn is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// A loop of dependent multiplications.
    Chain,
    /// Calls of small functions that lie wherever the linker puts them.
    Calls,
    /// A tight loop of branches that depend on data.
    Branches,
}

impl Work {
    pub(super) const ALL: [Self; 3] = [Self::Chain, Self::Calls, Self::Branches];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Calls => "calls",
            Self::Branches => "branches",
        }
    }

    /// A file of C whose function does more turns by this many per cent.
    pub(super) fn source(self, effect: f64) -> String {
        let turns = (TURNS * (1.0 + effect / 100.0)).round() as u64;
        let (before, turn) = match self {
            Self::Chain => ("", "x = x * 6364136223846793005u + 1442695040888963407u;"),
            Self::Calls => (
                "static __attribute__((noinline)) uint64_t f(uint64_t x) { return x * 3 + 1; }\n\
                 static __attribute__((noinline)) uint64_t g(uint64_t x) { return (x >> 3) ^ x; }\n\
                 static __attribute__((noinline)) uint64_t h(uint64_t x) { return f(x + 1) + g(x); }\n",
                "x = h(x) + f(g(x));",
            ),
            Self::Branches => (
                "",
                "if (x & 1) x = (x >> 1) ^ 0xd800000000000000u; else x >>= 1; if ((t & 7) == 3) x += t; if (!x) x = 1;",
            ),
        };
        format!(
            "#include \"tenbin.h\"\n{before}\
             uint64_t tenbin_run(void *state, uint64_t n)\n\
             {{\n\
             \tuint64_t x = 0x9e3779b97f4a7c15u;\n\
             \t(void)state;\n\
             \tfor (uint64_t i = 0; i < n; i++)\n\
             \t\tfor (uint64_t t = 0; t < {turns}; t++) {{\n\
             \t\t\t{turn}\n\
             \t\t\t__asm__ volatile(\"\" : \"+r\"(x));\n\
             \t\t}}\n\
             \treturn n;\n\
             }}\n"
        )
    }
}
