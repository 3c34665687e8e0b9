//! What is asked about firmware, and the forms of its words.

use std::str::FromStr;

use crate::answer::{GivenControl, Hex};
use crate::axiomatic::Model;
use crate::isa::Register;
use crate::operational::control;
use crate::pool::LEAST;

/// Harts that a machine has at most.
const MOST_HARTS: u32 = 8;

/// The heading of the options that name places.
#[cfg(feature = "arguments")]
const PLACES: &str =
    "What places mean (SYMBOL, SYMBOL+DISTANCE or address; without the option, the symbol of its name)";

/// The heading of the options that say what the machine is.
#[cfg(feature = "arguments")]
const MACHINES: &str = "On which machines";

/// On which machines firmware is examined, and what its places mean. What is not said, its symbols say.
///
/// With the feature `arguments` these are options of a command line, and what is said of a field is its help.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "arguments", derive(clap::Args))]
#[cfg_attr(test, derive(Default))]
pub struct Request {
    /// How many harts, 1 to 8; 2,3 if the file has a word `harts` that says it, which is then set
    #[cfg_attr(feature = "arguments", arg(long, value_name = "LIST", help_heading = MACHINES))]
    pub harts: Option<Counts>,
    /// Which hart boots, by the word `boot_hart`: some (0,1), all in turn, or any: the word is left as it is,
    /// as where there is none
    #[cfg_attr(feature = "arguments", arg(long, value_name = "LIST|all|any", help_heading = MACHINES))]
    pub boot_hart: Option<BootHarts>,
    /// How memory orders accesses: sequential consistency, total store order, RISC-V's own, or each of them
    #[cfg_attr(feature = "arguments", arg(long, value_name = "sc,tso,rvwmo|all", default_value = "all", help_heading = MACHINES))]
    pub memory: Models,
    /// How many instructions of a hart may be begun and not performed
    #[cfg_attr(feature = "arguments", arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64), help_heading = MACHINES))]
    pub window: u32,
    /// Set a word that the file holds; its size is that of the symbol, else 8, else BYTES
    #[cfg_attr(feature = "arguments", arg(long, value_name = "PLACE[:BYTES]=VALUE", help_heading = MACHINES))]
    pub set: Vec<Setting>,
    /// What a control and status register of every hart holds at first, as misa=0x8000000000141105: of most
    /// the architecture says nothing
    #[cfg_attr(feature = "arguments", arg(long, value_name = "NAME=VALUE", help_heading = MACHINES))]
    pub csr: Vec<GivenControl>,
    /// Memory that the file does not name, and the end behind it: stacks, a device tree. It is garbage at
    /// first
    #[cfg_attr(feature = "arguments", arg(long, value_name = "PLACE,PLACE", num_args = 1, help_heading = MACHINES))]
    pub ram: Vec<Span>,
    /// The goal of every hart but the boot hart
    #[cfg_attr(feature = "arguments", arg(long, value_name = "PLACE,...", value_delimiter = ',', help_heading = PLACES))]
    pub arrived: Vec<Place>,
    /// The goal of the boot hart; that of the others where neither option nor symbol is there
    #[cfg_attr(feature = "arguments", arg(long, value_name = "PLACE,...", value_delimiter = ',', help_heading = PLACES))]
    pub all_arrived: Vec<Place>,
    /// Who comes here is the boot hart
    #[cfg_attr(feature = "arguments", arg(long, value_name = "PLACE", help_heading = PLACES))]
    pub primary: Option<Place>,
    /// Who comes here starts, and must have been told
    #[cfg_attr(feature = "arguments", arg(long, value_name = "PLACE", help_heading = PLACES))]
    pub started: Option<Place>,
    /// The next store from here tells the hart whose number is in a0
    #[cfg_attr(feature = "arguments", arg(long, value_name = "PLACE,...", value_delimiter = ',', help_heading = PLACES))]
    pub tell: Vec<Place>,
    /// The next store from here tells all harts
    #[cfg_attr(feature = "arguments", arg(long, value_name = "PLACE,...", value_delimiter = ',', help_heading = PLACES))]
    pub tell_all: Vec<Place>,
    /// From here on memory is clear
    #[cfg_attr(feature = "arguments", arg(long, value_name = "PLACE", help_heading = PLACES))]
    pub cleared: Option<Place>,
    /// The memory that is to be cleared, and the end behind it; bss_start and bss_end if not given
    #[cfg_attr(feature = "arguments", arg(long, value_name = "PLACE,PLACE", num_args = 1, help_heading = PLACES))]
    pub bss: Option<Span>,
    /// What a register holds when a hart arrives, as a1=0x100+hart or sp=stacks+64*hart; `none`: nothing that
    /// the symbols stacks, stack_size and argument would say
    #[cfg_attr(feature = "arguments", arg(long, value_name = "REGISTER=SUM", help_heading = PLACES))]
    pub expect: Vec<Expected>,
}

/// Numbers of harts, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts(pub Vec<u32>);

impl FromStr for Counts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let counts = numbers(text, "a number of harts")?;
        match counts.iter().find(|count| !(1..=MOST_HARTS).contains(count)) {
            None => Ok(Self(counts)),
            Some(count) => Err(format!("a machine has 1 to {MOST_HARTS} harts, not {count}")),
        }
    }
}

/// Which harts boot, one at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BootHarts {
    /// Whichever the file or its code says.
    Any,
    /// Each that the machine has.
    All,
    /// These.
    Some(Vec<u32>),
}

impl FromStr for BootHarts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "any" => return Ok(Self::Any),
            "all" => return Ok(Self::All),
            _ => {}
        }
        let harts = numbers(text, "the number of a hart")?;
        match harts.iter().find(|&&hart| hart >= MOST_HARTS) {
            None => Ok(Self::Some(harts)),
            Some(hart) => Err(format!("harts have the numbers 0 to {}, not {hart}", MOST_HARTS - 1)),
        }
    }
}

/// What stands between commas, each once.
fn list<T: PartialEq>(text: &str, one: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    let mut list = Vec::new();
    for part in text.split(',') {
        let each = one(part)?;
        if !list.contains(&each) {
            list.push(each);
        }
    }
    Ok(list)
}

fn numbers(text: &str, what: &str) -> Result<Vec<u32>, String> {
    list(text, |part| {
        let number = plain(part).and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| format!("`{part}` is not {what}"))
    })
}

/// Memory models, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(Default))]
pub struct Models(pub Vec<Model>);

impl FromStr for Models {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        list(if text == "all" { "sc,tso,rvwmo" } else { text }, Model::from_str).map(Self)
    }
}

/// A number, or the address that a symbol has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// This number; a negative one as two's complement.
    Number(u64),
    /// What this symbol stands for.
    Symbol(String),
}

impl FromStr for Value {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(number) = number(text) {
            return Ok(Self::Number(number));
        }
        let begins = text.starts_with(|first: char| first.is_alphabetic() || "_.$".contains(first));
        let ends = |each: char| each.is_whitespace() || each.is_control() || "+*=:,".contains(each);
        if begins && !text.contains(ends) {
            Ok(Self::Symbol(text.to_owned()))
        } else {
            Err(format!("`{text}` is neither a number (64, 0x40, -1) nor a symbol"))
        }
    }
}

/// An address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Base address.
    pub from: Value,
    /// Byte offset.
    pub distance: u64,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (from, distance) = match text.split_once('+') {
            None => (text, 0),
            Some((from, distance)) => {
                let number = number(distance).filter(|_| !distance.starts_with('-'));
                (from, number.ok_or_else(|| format!("`{distance}` is not a distance in bytes"))?)
            }
        };
        Ok(Self { from: from.parse()?, distance })
    }
}

/// A stretch of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its first byte.
    pub begin: Place,
    /// The byte behind its last one.
    pub end: Place,
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (begin, end) = text.split_once(',').ok_or("two places are needed, with a comma between them")?;
        Ok(Self { begin: begin.parse()?, end: end.parse()? })
    }
}

/// A word to set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Where.
    pub place: Place,
    /// How many bytes, if that is said.
    pub bytes: Option<u32>,
    /// What it then holds.
    pub value: Value,
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, value) = text.split_once('=').ok_or("it has the form PLACE=VALUE")?;
        let (place, bytes) = match word.split_once(':') {
            None => (word, None),
            Some((place, bytes @ ("1" | "2" | "4" | "8"))) => (place, bytes.parse().ok()),
            Some((_, other)) => return Err(format!("a word has 1, 2, 4 or 8 bytes, not `{other}`")),
        };
        Ok(Self { place: place.parse()?, bytes, value: value.parse()? })
    }
}

impl FromStr for GivenControl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("it has the form NAME=VALUE, like misa=0x141105")?;
        if control::given(name).is_none() {
            return Err(format!("`{name}` is not a control and status register that can be set"));
        }
        let value = number(value).ok_or_else(|| format!("`{value}` is not a number (64, 0x40, -1)"))?;
        if name == "mstatus" && value & 8 != 0 {
            return Err("interrupts are off at reset (mstatus.MIE, bit 3)".to_owned());
        }
        Ok(Self { name: name.to_owned(), value: Hex(value) })
    }
}

/// What is expected of registers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "variants say it")]
pub enum Expected {
    /// Nothing that is not asked for.
    None,
    /// A register holds the sum of `base` and of `step`, each times the hart's number.
    Register { register: Register, base: Vec<Value>, step: Vec<Value> },
}

impl FromStr for Expected {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::None);
        }
        let (name, sum) = text.split_once('=').ok_or("it has the form REGISTER=SUM, like a1=0x100+hart")?;
        let register =
            Register::named(name).ok_or_else(|| format!("`{name}` is not a register (sp, a1, x11)"))?;
        let (mut base, mut step) = (Vec::new(), Vec::new());
        for term in sum.split('+') {
            match term.split_once('*') {
                None if term == "hart" => step.push(Value::Number(1)),
                None => base.push(term.parse()?),
                Some(("hart", factor)) | Some((factor, "hart")) => step.push(factor.parse()?),
                Some(_) => return Err(format!("one factor of `{term}` must be `hart`")),
            }
        }
        Ok(Self::Register { register, base, step })
    }
}

/// Bytes of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let units = [("GiB", 30), ("MiB", 20), ("KiB", 10), ("", 0)];
        let size = units.iter().find_map(|&(unit, shift)| {
            let count = plain(text.strip_suffix(unit)?)?;
            count.checked_mul(1 << shift)
        });
        match size {
            None => Err(format!("`{text}` is not a number of bytes (4GiB, 512MiB, 1000000000)")),
            Some(size) if size < LEAST => Err(format!("{size} bytes are too few; 16MiB is the least")),
            Some(size) => Ok(Self(size)),
        }
    }
}

/// A number as C writes it, maybe with a minus.
fn number(text: &str) -> Option<u64> {
    if let Some(positive) = text.strip_prefix('-') {
        return plain(positive).filter(|&number| number <= 1 << 63).map(u64::wrapping_neg);
    }
    match text.strip_prefix("0x").filter(|digits| !digits.starts_with('+')) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => plain(text),
    }
}

/// A number of decimal digits.
fn plain(text: &str) -> Option<u64> {
    text.bytes().all(|digit| digit.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;

    fn hold<T: FromStr<Err = String> + Debug + PartialEq>(right: &[(&str, T)], wrong: &[&str]) {
        for (text, expected) in right {
            assert_eq!(text.parse::<T>().as_ref(), Ok(expected), "{text}");
        }
        for text in wrong {
            assert!(text.parse::<T>().is_err(), "{text}");
        }
    }

    fn symbol(name: &str) -> Value {
        Value::Symbol(name.to_owned())
    }

    #[test]
    fn lists_are_of_what_there_can_be() {
        hold(
            &[("2", Counts(vec![2])), ("4,2,4", Counts(vec![4, 2])), ("1,8", Counts(vec![1, 8]))],
            &["", "0", "9", "2,", "two", "+2", "-1", "2-4", "4294967298"],
        );
        hold(
            &[
                ("any", BootHarts::Any),
                ("all", BootHarts::All),
                ("1,0", BootHarts::Some(vec![1, 0])),
                ("7", BootHarts::Some(vec![7])),
            ],
            &["", "8", "any,0", "0,all", "first"],
        );
        hold(
            &[
                ("all", Models(vec![Model::Sc, Model::Tso, Model::Rvwmo])),
                ("rvwmo,sc,sc", Models(vec![Model::Rvwmo, Model::Sc])),
            ],
            &["", "arm", "sc,all", "SC", "rvwmo "],
        );
    }

    #[test]
    fn sizes_have_units() {
        hold(
            &[
                ("4GiB", Size(4 << 30)),
                ("16MiB", Size(16 << 20)),
                ("20000KiB", Size(20_000 << 10)),
                ("16777216", Size(16 << 20)),
            ],
            &["", "GiB", "4", "4 GiB", "4G", "-4GiB", "0x4GiB", "99999999999GiB", "16777215"],
        );
    }

    #[test]
    fn places_are_symbols_or_addresses() {
        let place = |from, distance| Place { from, distance };
        hold(
            &[
                ("arrived", place(symbol("arrived"), 0)),
                ("_start+0x10", place(symbol("_start"), 16)),
                (".L1+2", place(symbol(".L1"), 2)),
                ("0x80000000", place(Value::Number(0x8000_0000), 0)),
                ("4096+4", place(Value::Number(4096), 4)),
            ],
            &["", "+4", "a+", "a+b", "a+-4", "a b", "3d", "0x", "0xg", "a+1+1", "a*2", "a=1"],
        );
        hold(
            &[("a,b+8", Span { begin: place(symbol("a"), 0), end: place(symbol("b"), 8) })],
            &["", "a", "a,", ",b", "a,b,c"],
        );
    }

    #[test]
    fn control_registers_are_given_by_name() {
        let misa = |value| GivenControl { name: "misa".to_owned(), value: Hex(value) };
        hold(
            &[("misa=0x141105", misa(0x14_1105)), ("misa=-1", misa(u64::MAX))],
            &["", "misa", "misa=", "misa=x", "mhartid=1", "mcycle=0", "mip=0", "nothing=1", "mstatus=8"],
        );
    }

    #[test]
    fn words_are_set_to_numbers_and_addresses() {
        let setting = |name, distance, bytes, value| Setting {
            place: Place { from: symbol(name), distance },
            bytes,
            value,
        };
        hold(
            &[
                ("harts=3", setting("harts", 0, None, Value::Number(3))),
                ("flags+8:4=-1", setting("flags", 8, Some(4), Value::Number(u64::MAX))),
                ("hook=main", setting("hook", 0, None, symbol("main"))),
                ("least=-9223372036854775808", setting("least", 0, None, Value::Number(1 << 63))),
            ],
            &["", "a", "a=", "=3", "a:3=1", "a:=1", "a=1=2", "a=-0x1", "a=-9223372036854775809", "a=1+1"],
        );
    }

    #[test]
    fn registers_hold_sums() {
        let holds = |name, base: &[Value], step: &[Value]| Expected::Register {
            register: Register::named(name).expect("it is a register"),
            base: base.to_vec(),
            step: step.to_vec(),
        };
        hold(
            &[
                ("none", Expected::None),
                ("a1=0x100+1*hart", holds("a1", &[Value::Number(256)], &[Value::Number(1)])),
                ("a0=hart", holds("a0", &[], &[Value::Number(1)])),
                ("x11=hart*-8+top", holds("a1", &[symbol("top")], &[Value::Number(8_u64.wrapping_neg())])),
                (
                    "sp=stacks+stack_size+stack_size*hart",
                    holds("sp", &[symbol("stacks"), symbol("stack_size")], &[symbol("stack_size")]),
                ),
            ],
            &[
                "",
                "sp",
                "sp=",
                "sp=a+",
                "pc=1",
                "x32=1",
                "sp=a*b",
                "sp=2*3",
                "sp=hart*",
                "sp=(a)",
                "sp=a-b*hart*2",
            ],
        );
    }
}
