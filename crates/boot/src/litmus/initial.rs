//! The initial state: what registers and locations hold at first.

use super::scan::{Token, Tokens};
use super::{FIRST_ADDRESS, Location, ReadError, SPACING, ValueType, is_address};
use crate::isa::{Register, Width};

/// What the braces say.
#[derive(Debug, Default)]
pub(super) struct Initial {
    /// The locations, in the order in which they are first named.
    pub(super) places: Vec<Location>,
    pub(super) registers: Vec<(usize, Register, u64)>,
}

impl Initial {
    /// The index of a location, which is made if there is none of this name.
    pub(super) fn place(&mut self, name: &str) -> usize {
        if let Some(index) = self.places.iter().position(|place| place.name == name) {
            return index;
        }
        let address = FIRST_ADDRESS + SPACING * self.places.len() as u64;
        self.places.push(Location { name: name.to_owned(), address, initial: 0, kind: None });
        self.places.len() - 1
    }
}

pub(super) fn initial(words: &mut Tokens) -> Result<Initial, ReadError> {
    let mut initial = Initial::default();
    while words.peek().is_some() {
        if !words.accept(";") {
            entry(words, &mut initial)?;
            if words.peek().is_some() {
                words.expect(";")?;
            }
        }
    }
    Ok(initial)
}

/// `0:x5=x`, `x=1`, `[x]=1`, `int x`, `uint64_t* 0:x5=x` and so on. The type of a register says nothing.
fn entry(words: &mut Tokens, initial: &mut Initial) -> Result<(), ReadError> {
    let mut kind = None;
    while typed(words) {
        match words.take() {
            Some(Token::Name(name)) => kind = kind_of(&name, kind),
            _ => kind = Some(ValueType::LONG),
        }
    }
    if let Some(Token::Number(thread)) = words.peek().cloned() {
        let thread = usize::try_from(thread).map_err(|_| words.error("a hart is expected"))?;
        words.take();
        words.expect(":")?;
        let register = words.register()?;
        let value = if words.accept("=") { value(words, initial)? } else { 0 };
        if register.is_zero() && value != 0 {
            return Err(words.error("x0 is 0 and can be nothing else"));
        }
        initial.registers.push((thread, register, value));
        return Ok(());
    }
    let bracket = words.accept("[");
    let Some(Token::Name(name)) = words.peek().cloned() else {
        return Err(words.error("a register (`0:x5`) or a location is expected"));
    };
    words.take();
    if bracket {
        words.expect("]")?;
    } else if words.peek() == Some(&Token::Sign("[")) {
        return Err(words.error("arrays are not supported"));
    }
    let place = initial.place(&name);
    if words.accept("=") {
        initial.places[place].initial = value(words, initial)?;
    }
    let place = &mut initial.places[place];
    place.kind = kind.or(place.kind);
    if let Some(kind) = place.kind {
        let fits = |signed| ValueType { signed, ..kind }.of(place.initial) == place.initial;
        if !fits(true) && !fits(false) {
            let (value, bytes) = (place.initial.cast_signed(), kind.width.bytes());
            return Err(words.error(format!("{value} does not fit into the {bytes} bytes of `{name}`")));
        }
        place.initial = kind.width.truncate(place.initial);
    }
    Ok(())
}

/// The type that one of its words says, after what the words before it said. What no type of C is says
/// nothing.
fn kind_of(name: &str, before: Option<ValueType>) -> Option<ValueType> {
    let of = |width, signed| Some(ValueType { width, signed });
    match name {
        "int8_t" => of(Width::Byte, true),
        // A plain `char` has no sign in RISC-V's calling convention.
        "uint8_t" | "char" => of(Width::Byte, false),
        "int16_t" | "short" => of(Width::Half, before.is_none_or(|kind| kind.signed)),
        "uint16_t" => of(Width::Half, false),
        "int32_t" => of(Width::Word, true),
        "uint32_t" | "unsigned" => of(Width::Word, false),
        "int" => before.or(Some(ValueType::INT)),
        "long" | "int64_t" | "intptr_t" => of(Width::Double, before.is_none_or(|kind| kind.signed)),
        "uint64_t" | "uintptr_t" => of(Width::Double, false),
        _ => before,
    }
}

/// Whether the next word belongs to a type: it is a star, or a name before another name, a star or a hart.
fn typed(words: &Tokens) -> bool {
    let named = matches!(words.peek(), Some(Token::Name(_)));
    let goes_on = matches!(words.second(), Some(Token::Name(_) | Token::Number(_) | Token::Sign("*")));
    words.peek() == Some(&Token::Sign("*")) || (named && goes_on)
}

fn value(words: &mut Tokens, initial: &mut Initial) -> Result<u64, ReadError> {
    words.accept("&");
    match words.peek().cloned() {
        Some(Token::Number(number)) => {
            let number = number as u64;
            if is_address(number) {
                return Err(words.error(format!("{number:#x} is in the range of the locations' addresses")));
            }
            words.take();
            Ok(number)
        }
        Some(Token::Name(name)) => {
            words.take();
            let place = initial.place(&name);
            Ok(initial.places[place].address)
        }
        _ => Err(words.error("a number or a location is expected")),
    }
}
