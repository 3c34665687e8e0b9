//! The kernel's own code by name: which symbol an address is in, and which instruction lies there.

pub mod image;
pub mod instruction;

use std::fmt;
use std::io;

const PATH: &str = "/proc/kallsyms";

/// The kernel's functions by address.
#[derive(Clone, Debug)]
pub struct Symbols {
    /// Address and name, ascending, one name for each address.
    functions: Vec<(u64, String)>,
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
    /// Where several share an address a global one goes before a weak and a local one, and a plain name before one
    /// with underscores in front.
    ///
    /// # Errors
    /// [`NoSymbols::Hidden`] or [`NoSymbols::Empty`].
    pub fn parse(text: &str) -> Result<Self, NoSymbols> {
        let function = |line: &str| {
            let mut words = line.split_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok()?;
            // nm(1): T and t lie in the text section, global and local; W and w are weak.
            let rank = match words.next()? {
                "T" => 0,
                "W" | "w" => 1,
                "t" => 2,
                _ => return None,
            };
            let name = words.next()?;
            let underscores = name.bytes().take_while(|&byte| byte == b'_').count();
            let name = words.next().map_or_else(|| name.to_owned(), |module| format!("{name} {module}"));
            Some((address, rank, underscores, name))
        };
        let mut functions: Vec<_> = text.lines().filter_map(function).collect();
        if functions.is_empty() {
            return Err(NoSymbols::Empty);
        }
        if functions.iter().all(|&(address, ..)| address == 0) {
            return Err(NoSymbols::Hidden);
        }
        functions.sort();
        functions.dedup_by_key(|(address, ..)| *address);
        Ok(Self { functions: functions.into_iter().map(|(address, _, _, name)| (address, name)).collect() })
    }

    /// The function that `address` is in: the last one that begins at or below it.
    pub fn at(&self, address: u64) -> Option<Place<'_>> {
        let after = self.functions.partition_point(|&(start, _)| start <= address);
        let (start, symbol) = self.functions.get(after.checked_sub(1)?)?;
        Some(Place { symbol, offset: address - start })
    }

    /// The address of the function `name`.
    pub fn address(&self, name: &str) -> Option<u64> {
        self.functions.iter().find(|(_, known)| known == name).map(|&(address, _)| address)
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
    fn an_address_is_in_the_last_function_that_begins_at_or_below_it() {
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
    fn addresses_that_are_hidden_are_not_symbols_at_zero() {
        let hidden = "0000000000000000 T _text\n0000000000000000 T down_read_trylock\n";
        assert!(matches!(Symbols::parse(hidden), Err(NoSymbols::Hidden)));
        assert!(matches!(Symbols::parse("ffffffff81000180 D some_data\n"), Err(NoSymbols::Empty)));
        assert!(matches!(Symbols::parse(""), Err(NoSymbols::Empty)));
        assert!(NoSymbols::Hidden.to_string().contains("kptr_restrict"));
    }
}
