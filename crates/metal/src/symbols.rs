//! The kernel's own code by name: which symbol an address is in, and which instruction lies there.

pub mod image;
pub mod instruction;

use std::fmt;
use std::io;

use tenbin_model::Order;

const PATH: &str = "/proc/kallsyms";

/// The kernel's functions by address.
#[derive(Clone, Debug)]
pub struct Symbols {
    /// Ascending, one for each address.
    functions: Vec<Function>,
}

#[derive(Clone, Debug)]
struct Function {
    start: u64,
    /// The first address that is not in it any more.
    end: u64,
    name: String,
}

/// Names of no functions, for the ends of code: of the kernel's, and of what it needed to start
/// (`include/asm-generic/sections.h`).
const ENDS: [&str; 2] = ["_etext", "_einittext"];

/// How labels begin that a compiler or an assembler sets within functions. Modules of RISC-V list them
/// (`include/linux/module_symbol.h`, `is_mapping_symbol`).
const LABELS: [&str; 3] = [".L", "L0", "$"];

/// No function is taken to be longer where nothing says where it ends: behind the last one of a module, for
/// example. Those of the kernel have some tens of kibibytes at most.
const LONGEST: u64 = 64 << 10;

struct Symbol<'a> {
    address: u64,
    /// Of a function, lower the better its name is; none of anything else.
    rank: Option<(u8, usize)>,
    name: &'a str,
    /// The module in brackets; empty for the kernel itself.
    owner: &'a str,
}

impl<'a> Symbol<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let address = u64::from_str_radix(words.next()?, 16).ok()?;
        // nm(1): T and t lie in the text section, global and local; W and w are weak.
        let rank = match words.next()? {
            "T" => Some(0),
            "W" | "w" => Some(1),
            "t" => Some(2),
            _ => None,
        };
        let (name, owner) = (words.next()?, words.next().unwrap_or_default());
        if LABELS.iter().any(|label| name.starts_with(label)) {
            return None;
        }
        let underscores = name.bytes().take_while(|&byte| byte == b'_').count();
        let rank = rank.filter(|_| !ENDS.contains(&name)).map(|rank| (rank, underscores));
        Some(Self { address, rank, name, owner })
    }

    /// The function's name, with the module behind it.
    fn function(&self) -> String {
        if self.owner.is_empty() { self.name.to_owned() } else { format!("{} {}", self.name, self.owner) }
    }
}

/// Where an address lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The function; one of a module is followed by the module's name in brackets.
    pub symbol: &'a str,
    /// Bytes from the function's start.
    pub offset: u64,
}

/// `down_read_trylock+0x40`, as the kernel itself writes it.
impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{:#x}", self.symbol, self.offset)
    }
}

/// Why there are no symbols.
#[derive(Debug)]
pub enum NoSymbols {
    /// The file cannot be read: a kernel without `CONFIG_KALLSYMS`, or a sandbox.
    Unreadable(io::Error),
    /// The file is there and every address in it is 0: `kernel.kptr_restrict` keeps them from this user.
    Hidden,
    /// The file names no function.
    Empty,
}

impl fmt::Display for NoSymbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "read {PATH}: {error}"),
            Self::Hidden => write!(
                f,
                "{PATH} shows no addresses: it takes CAP_SYSLOG or kernel.kptr_restrict of 0 \
                 and kernel.perf_event_paranoid of 1 or less"
            ),
            Self::Empty => write!(f, "{PATH} names no function"),
        }
    }
}

impl Symbols {
    /// The running kernel's.
    ///
    /// # Errors
    /// Why there are none.
    pub fn of_the_kernel() -> Result<Self, NoSymbols> {
        Self::parse(&std::fs::read_to_string(PATH).map_err(NoSymbols::Unreadable)?)
    }

    /// The functions in `text`, a line each: address, type, name, and the module in brackets.
    ///
    /// Where several share an address a global one goes before a weak and a local one, and a plain name
    /// before one with underscores in front.
    ///
    /// # Errors
    /// [`NoSymbols::Hidden`] or [`NoSymbols::Empty`].
    pub fn parse(text: &str) -> Result<Self, NoSymbols> {
        let mut lines: Vec<Symbol<'_>> = text.lines().filter_map(Symbol::parse).collect();
        let mut functions = lines.iter().filter(|line| line.rank.is_some()).peekable();
        if functions.peek().is_none() {
            return Err(NoSymbols::Empty);
        }
        if functions.all(|line| line.address == 0) {
            return Err(NoSymbols::Hidden);
        }
        // What is no function goes behind those at the same address, and the best name before the others.
        lines.order_by_key(|line| (line.address, line.rank.is_none(), line.rank, line.name));
        lines.dedup_by_key(|line| (line.address, line.rank.is_some()));
        let functions =
            lines.iter().enumerate().filter(|(_, line)| line.rank.is_some()).map(|(place, line)| {
                let end = end_of(line, &lines[place + 1..]);
                Function { start: line.address, end, name: line.function() }
            });
        Ok(Self { functions: functions.collect() })
    }

    /// The function that `address` is in: the last one that begins at or below it, unless that has ended
    /// there.
    ///
    /// It ends where the next one of the kernel or of its module begins, or where their code ends. Where
    /// nothing says that, it ends at whatever else is named behind it, and after 64 KiB.
    pub fn at(&self, address: u64) -> Option<Place<'_>> {
        let after = self.functions.partition_point(|function| function.start <= address);
        let function = self.functions.get(after.checked_sub(1)?)?;
        let offset = address - function.start;
        (address < function.end).then_some(Place { symbol: &function.name, offset })
    }

    /// The address of the function `name`.
    pub fn address(&self, name: &str) -> Option<u64> {
        self.functions.iter().find(|function| function.name == name).map(|function| function.start)
    }
}

fn end_of(function: &Symbol<'_>, behind: &[Symbol<'_>]) -> u64 {
    let mut behind = behind.iter().filter(|line| line.address > function.address);
    let Some(nearest) = behind.clone().next() else { return function.address.saturating_add(LONGEST) };
    // Data can be named in the middle of code, and does not end a function that is followed by another.
    match behind.find(|line| line.rank.is_some() || ENDS.contains(&line.name)) {
        Some(next) if next.owner == function.owner => next.address,
        _ => nearest.address.min(function.address.saturating_add(LONGEST)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
ffffffff81000000 T _text
ffffffff81000000 T startup_64
ffffffff81000000 W weakling
ffffffff81000100 t local_one
ffffffff81000100 T __global_one
ffffffff81000200 T down_read_trylock
ffffffff81000180 D some_data
not a line
ffffffffc0000000 t helper\t[a_module]
";

    #[test]
    fn an_address_is_in_the_last_function_at_or_below_it() {
        let symbols = Symbols::parse(TEXT).unwrap();
        let cases = [
            (0xffff_ffff_8100_0000, Some("startup_64+0x0")),
            (0xffff_ffff_8100_00ff, Some("startup_64+0xff")),
            (0xffff_ffff_8100_0180, Some("__global_one+0x80")),
            (0xffff_ffff_8100_0240, Some("down_read_trylock+0x40")),
            (0xffff_ffff_c000_0004, Some("helper [a_module]+0x4")),
            (0xffff_ffff_80ff_ffff, None),
        ];
        for (address, expected) in cases {
            let place = symbols.at(address).map(|place| place.to_string());
            assert_eq!(place.as_deref(), expected, "{address:x}");
        }
        assert_eq!(symbols.address("down_read_trylock"), Some(0xffff_ffff_8100_0200));
        assert_eq!(symbols.address("some_data"), None);
    }

    #[test]
    fn a_label_within_a_function_is_no_function_and_ends_none() {
        let text = "\
ffffffff81000000 T startup_64
ffffffff02000000 t multiply\t[a_module]
ffffffff02000000 t .L0 \t[a_module]
ffffffff02000010 t .LVL52\t[a_module]
ffffffff02000020 t $xrv64i2p1\t[a_module]
ffffffff02000100 t add\t[a_module]
";
        let symbols = Symbols::parse(text).unwrap();
        for (address, expected) in [
            (0xffff_ffff_0200_0004, "multiply [a_module]+0x4"),
            (0xffff_ffff_0200_0090, "multiply [a_module]+0x90"),
            (0xffff_ffff_0200_0104, "add [a_module]+0x4"),
        ] {
            assert_eq!(symbols.at(address).map(|place| place.to_string()).as_deref(), Some(expected));
        }
    }

    #[test]
    fn what_lies_behind_the_last_function_is_in_none() {
        let text = "\
ffffffff81000000 T startup_64
ffffffff81000100 t the_last_one
ffffffff81000123 d a_table_in_the_code
ffffffff81000180 T _etext
ffffffff81200000 R __start_rodata
ffffffff81300000 T _sinittext
ffffffff81300040 t set_up
ffffffff81300080 T _einittext
ffffffffc0000000 t helper\t[a_module]
ffffffffc0000010 t exit\t[a_module]
ffffffffc0002000 d settings\t[a_module]
ffffffffc0010000 t enter\t[other]
ffffffffc0020000 t alone\t[other]
";
        let symbols = Symbols::parse(text).unwrap();
        let cases = [
            (0xffff_ffff_8100_017f, Some("the_last_one+0x7f")),
            (0xffff_ffff_8100_0180, None),
            (0xffff_ffff_8120_0000, None),
            (0xffff_ffff_8130_007f, Some("set_up+0x3f")),
            (0xffff_ffff_8130_0080, None),
            (0xffff_ffff_bfff_ffff, None),
            (0xffff_ffff_c000_000f, Some("helper [a_module]+0xf")),
            (0xffff_ffff_c000_1fff, Some("exit [a_module]+0x1fef")),
            (0xffff_ffff_c000_2000, None),
            (0xffff_ffff_c001_ffff, Some("enter [other]+0xffff")),
            (0xffff_ffff_c002_ffff, Some("alone [other]+0xffff")),
            (0xffff_ffff_c003_0000, None),
            (u64::MAX, None),
        ];
        for (address, expected) in cases {
            let place = symbols.at(address).map(|place| place.to_string());
            assert_eq!(place.as_deref(), expected, "{address:x}");
        }
        assert_eq!(symbols.address("_etext"), None);
    }

    #[test]
    fn addresses_that_are_hidden_are_not_symbols_at_zero() {
        let hidden = "0000000000000000 T _text\n0000000000000000 T down_read_trylock\n";
        assert!(matches!(Symbols::parse(hidden), Err(NoSymbols::Hidden)));
        assert!(matches!(Symbols::parse("ffffffff81000180 D some_data\n"), Err(NoSymbols::Empty)));
        assert!(matches!(Symbols::parse(""), Err(NoSymbols::Empty)));
        assert!(NoSymbols::Hidden.to_string().contains("kptr_restrict"));
    }
}
