//! What an ELF file puts into memory before the first instruction runs.
//!
//! Only the bytes that the file holds are known. What a segment has beyond them (`.bss`) is room and not
//! zeros: whoever loads firmware may leave there what was there before, so code that relies on zeros must
//! make them. Bytes lie at the *physical* addresses of the program headers, where a loader without
//! translation puts them; symbols have the addresses that code uses.
//!
//! Source: System V Application Binary Interface, chapters 4 and 5 (ELF-64); RISC-V ELF psABI, "File Header".

use tenbin_model::Order;
use tenbin_model::elf::numbers::{
    self as elf, EF_RISCV_RVE, EM_RISCV, ET_EXEC, PF_W, PF_X, STT_FILE, STT_FUNC, STT_OBJECT, STT_SECTION,
};
use tenbin_model::elf::{Elf, Identity, Malformed, identify};

use crate::isa::{Decoded, decode};

/// An executable, loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Address of the first instruction.
    pub entry: u64,
    /// By address; they do not overlap.
    pub segments: Vec<Segment>,
    /// By address, then by name. Those of sections and files, nameless ones and those that the assembler
    /// marks code with (`$x`) are left out.
    pub symbols: Vec<Symbol>,
}

/// A range of memory that the file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Address of the first byte.
    pub address: u64,
    /// The bytes that the file holds.
    pub bytes: Vec<u8>,
    /// Bytes in memory, at least as many. What is beyond the file's is undetermined.
    pub size: u64,
    /// Whether it is meant to be written.
    pub writable: bool,
    /// Whether it is meant to be executed.
    pub executable: bool,
}

/// A name for an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// As in the file.
    pub name: String,
    /// Or the value, of an absolute one.
    pub address: u64,
    /// Bytes, 0 where the file does not say.
    pub size: u64,
    /// What it names.
    pub kind: SymbolKind,
}

/// What a symbol names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// Code.
    Function,
    /// Data.
    Object,
    /// A place in a section, of which the file says no more: the labels of assembly.
    Label,
    /// A number that belongs to no section: what linker scripts define, and constants too.
    Absolute,
}

/// Why a file is no image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It does not begin as ELF does.
    #[error("not an ELF file")]
    NotElf,
    /// It is of 32 bits.
    #[error("a 32-bit ELF file; RV64 is supported")]
    NotSixtyFourBits,
    /// Its bytes are in the other order.
    #[error("a big-endian ELF file; RISC-V code is little-endian")]
    BigEndian,
    /// It is for another machine, by its number in ELF.
    #[error("an ELF file for machine {0}{name}; RISC-V is {ours}", name = machine_name(.0), ours = EM_RISCV.0)]
    Machine(u16),
    /// It is for RV64E, which has 16 registers.
    #[error("code for RV64E, which is not supported")]
    Embedded,
    /// It is not linked to fixed addresses: an object file, a shared library, a position-independent program.
    #[error("{}; link it to fixed addresses (ld -no-pie -Ttext=0x80000000)", kind_name(.0))]
    NotExecutable(u16),
    /// It puts nothing into memory.
    #[error("the file puts nothing into memory")]
    Empty,
    /// Two segments lie on one another, from this address on.
    #[error("two segments overlap at 0x{0:x}")]
    Overlap(u64),
    /// It contradicts itself, or ends too soon.
    #[error("the ELF file is damaged: {0}")]
    Damaged(String),
}

fn machine_name(number: &u16) -> &'static str {
    match elf::Machine(*number) {
        elf::EM_X86_64 => " (x86-64)",
        elf::EM_AARCH64 => " (arm64)",
        elf::EM_386 => " (x86)",
        elf::EM_ARM => " (arm)",
        _ => "",
    }
}

fn kind_name(kind: &u16) -> &'static str {
    match elf::FileType(*kind) {
        elf::ET_REL => "an object file",
        elf::ET_DYN => "a shared library or position-independent program",
        elf::ET_CORE => "a memory dump",
        _ => "an unknown kind of ELF file",
    }
}

/// The file does not hold the byte at this address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("the file holds nothing at 0x{0:x}")]
pub struct NotHeld(pub u64);

/// Why no instruction can be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[expect(missing_docs, reason = "variants say it")]
pub enum FetchError {
    /// The address is odd.
    #[error("no instruction begins at the odd address 0x{0:x}")]
    Odd(u64),
    /// The file does not hold the bytes there.
    #[error("nothing in the file determines the instruction at 0x{0:x}")]
    Undetermined(u64),
    /// The bytes there are not decoded.
    #[error("at 0x{address:x}: {error}")]
    Decode { address: u64, error: decode::Error },
}

impl Image {
    /// The image that the bytes of an ELF file describe.
    ///
    /// # Errors
    ///
    /// Anything but a linked RV64 executable, and what is wrong with it.
    pub fn read(file: &[u8]) -> Result<Self, Error> {
        let file = linked(file)?;
        let mut segments = Vec::new();
        let mut entry = file.identity.entry;
        for segment in file.loaded().filter(|segment| segment.size > 0) {
            let bytes = file.content(&segment);
            let bytes =
                bytes.ok_or_else(|| Error::Damaged("a segment lies beyond the end of the file".into()))?;
            let (address, size) = (segment.physical, segment.size);
            if (bytes.len() as u64) > size || address.checked_add(size).is_none() {
                return Err(Error::Damaged(format!("the segment at 0x{address:x} has an impossible size")));
            }
            // Where code is to run elsewhere than it is loaded, the first instruction still runs where it is
            // loaded.
            let from_start = file.identity.entry.wrapping_sub(segment.address);
            if from_start < size {
                entry = address + from_start;
            }
            segments.push((address, size, bytes, segment.flags));
        }
        segments.order_by_key(|&(address, ..)| address);
        if segments.is_empty() {
            return Err(Error::Empty);
        }
        for pair in segments.windows(2) {
            let [(address, size, ..), (next, ..)] = [pair[0], pair[1]];
            if address + size > next {
                return Err(Error::Overlap(next));
            }
        }
        // Bytes are copied only now, so that a damaged file cannot ask for the same ones many times over.
        let segments = segments.into_iter().map(|(address, size, bytes, flags)| Segment {
            address,
            bytes: bytes.to_vec(),
            size,
            writable: flags.contains(PF_W),
            executable: flags.contains(PF_X),
        });
        let segments = segments.collect();
        Ok(Self { entry, segments, symbols: symbols(&file)? })
    }

    /// The address of the symbol of this name. Where several have it, the first by address.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<&Symbol> {
        self.symbols.iter().find(|symbol| symbol.name == name)
    }

    /// The nearest name at or below `address`, and the distance from it: `flag+4`. A name with a size covers
    /// that many bytes, one without covers all up to the next name within its segment. Of names at one
    /// address, one with a size comes first.
    #[must_use]
    pub fn name_of(&self, address: u64) -> Option<(&Symbol, u64)> {
        let segment = self.segment(address)?;
        let below = self.symbols.partition_point(|symbol| symbol.address <= address);
        let mut best: Option<&Symbol> = None;
        for symbol in self.symbols[..below].iter().rev() {
            let distance = address - symbol.address;
            if symbol.address < segment.address || best.is_some_and(|best| best.address > symbol.address) {
                break;
            }
            let covers = symbol.size == 0 || distance < symbol.size;
            let preferred = best.is_none_or(|best| best.size == 0 && symbol.size != 0);
            if covers && symbol.kind != SymbolKind::Absolute && preferred {
                best = Some(symbol);
            }
        }
        best.map(|symbol| (symbol, address - symbol.address))
    }

    /// The segment that this address lies in.
    #[must_use]
    pub fn segment(&self, address: u64) -> Option<&Segment> {
        self.index(address).map(|index| &self.segments[index])
    }

    fn index(&self, address: u64) -> Option<usize> {
        let after = self.segments.partition_point(|segment| segment.address <= address);
        let index = after.checked_sub(1)?;
        (address - self.segments[index].address < self.segments[index].size).then_some(index)
    }

    /// The byte that the file puts at this address; `None` where memory is undetermined.
    #[must_use]
    pub fn byte(&self, address: u64) -> Option<u8> {
        let segment = self.segment(address)?;
        segment.bytes.get(usize::try_from(address - segment.address).ok()?).copied()
    }

    /// Has the file hold other bytes from this address on: a parameter, as somebody who loads the file would
    /// change it. Nothing is changed where there is an error.
    ///
    /// # Errors
    ///
    /// The first address of them that the file holds no byte for. What is there is undetermined, and stays
    /// so.
    pub fn set(&mut self, address: u64, bytes: &[u8]) -> Result<(), NotHeld> {
        for distance in 0..bytes.len() as u64 {
            let at = address.checked_add(distance).ok_or(NotHeld(u64::MAX))?;
            self.byte(at).ok_or(NotHeld(at))?;
        }
        // Segments may touch, so each byte looks for its own.
        for (byte, at) in bytes.iter().zip(address..) {
            let index = self.index(at).ok_or(NotHeld(at))?;
            let segment = &mut self.segments[index];
            segment.bytes[(at - segment.address) as usize] = *byte;
        }
        Ok(())
    }

    /// Adds memory from `begin` to before `end` that the file does not name, as far as no segment lies there.
    /// What it holds is undetermined.
    pub fn add_memory(&mut self, begin: u64, end: u64) {
        let mut from = begin;
        let mut added = Vec::new();
        for segment in &self.segments {
            added.push((from, segment.address.min(end)));
            from = from.max(segment.address.saturating_add(segment.size));
        }
        added.push((from, end));
        let room = |(address, end): (u64, u64)| Segment {
            address,
            bytes: Vec::new(),
            size: end - address,
            writable: true,
            executable: false,
        };
        self.segments.extend(added.into_iter().filter(|(from, to)| from < to).map(room));
        self.segments.order_by_key(|segment| segment.address);
    }

    /// The instruction at this address.
    ///
    /// # Errors
    ///
    /// That there is none, or none that is supported.
    pub fn fetch(&self, address: u64) -> Result<Decoded, FetchError> {
        if !address.is_multiple_of(2) {
            return Err(FetchError::Odd(address));
        }
        // A compressed instruction may be the last thing in a segment, so the upper half is read only if it
        // is needed.
        let half = |at: u64| {
            let bytes = self.byte(at).zip(self.byte(at.wrapping_add(1)));
            let (low, high) = bytes.ok_or(FetchError::Undetermined(at))?;
            Ok(u32::from(u16::from_le_bytes([low, high])))
        };
        let mut bits = half(address)?;
        if bits & 3 == 3 {
            bits |= half(address.wrapping_add(2))? << 16;
        }
        decode::decode(bits).map_err(|error| FetchError::Decode { address, error })
    }
}

impl From<Malformed> for Error {
    fn from(malformed: Malformed) -> Self {
        match malformed {
            Malformed::NotElf => Self::NotElf,
            Malformed::Class(Some(class)) if class == elf::ELFCLASS32.0 => Self::NotSixtyFourBits,
            Malformed::Class(_) => Self::Damaged("neither 32-bit nor 64-bit".to_owned()),
            Malformed::Damaged(how) => Self::Damaged(how),
        }
    }
}

fn linked(file: &[u8]) -> Result<Elf<'_>, Error> {
    // What it is comes first, so that a file of another kind is named and not called damaged.
    let Identity { big_endian, machine, kind, flags, .. } = identify(file)?;
    if big_endian {
        return Err(Error::BigEndian);
    }
    if machine != EM_RISCV.0 {
        return Err(Error::Machine(machine));
    }
    if kind != ET_EXEC {
        return Err(Error::NotExecutable(kind.0));
    }
    if flags.contains(EF_RISCV_RVE) {
        return Err(Error::Embedded);
    }
    Ok(Elf::parse(file)?)
}

fn symbols(file: &Elf<'_>) -> Result<Vec<Symbol>, Error> {
    let named = |symbol: &tenbin_model::elf::Symbol<'_>| {
        let place = [STT_FILE, STT_SECTION].contains(&symbol.kind);
        !symbol.is_undefined() && !place && !symbol.name.is_empty() && !symbol.name.starts_with('$')
    };
    let mut symbols = file.symbols()?;
    symbols.retain(named);
    symbols.order_by(|left, right| (left.address, &left.name).cmp(&(right.address, &right.name)));
    let symbol = |symbol: tenbin_model::elf::Symbol<'_>| {
        let kind = match symbol.kind {
            _ if symbol.section == elf::SHN_ABS => SymbolKind::Absolute,
            STT_FUNC => SymbolKind::Function,
            STT_OBJECT => SymbolKind::Object,
            _ => SymbolKind::Label,
        };
        Symbol { name: symbol.name.into_owned(), address: symbol.address, size: symbol.size, kind }
    };
    Ok(symbols.into_iter().map(symbol).collect())
}
