//! ELF files of 64 bits: the one reader of the house, on the crate `object`.
//!
//! What a dynamic linker uses (symbols, their versions, relocations) is read as a dynamic linker reads it:
//! from the dynamic section, through the program headers. Section headers are for linkers, a file may have
//! been stripped of them, and a vDSO that lies in memory need not have any. Every offset is looked up in the
//! bytes that were given: a file that contradicts itself is an error, never a reading elsewhere, and takes no
//! more memory than a few times its length.
//!
//! Sources: System V ABI, chapters 4 and 5; the Linux Standard Base, Core, "Symbol Versioning" and
//! `DT_GNU_HASH`.

use std::borrow::Cow;
use std::fmt;

use object::endian::{U32, U64};
use object::read::elf::{
    FileHeader, GnuHashTable, HashTable, ProgramHeader, SectionHeader, Sym, VersionTable,
};
use object::read::{ReadRef, StringTable, SymbolIndex};
use object::{Endianness, Pod};

/// The numbers of the format, under its own names.
pub use object::elf as numbers;

use numbers::{
    DT_GNU_HASH, DT_HASH, DT_JMPREL, DT_NULL, DT_PLTRELSZ, DT_RELA, DT_RELASZ, DT_STRSZ, DT_STRTAB,
    DT_SYMTAB, DT_VERDEF, DT_VERNEED, DT_VERSYM, Dyn64, DynamicTag, FileFlags, FileHeader64, FileType,
    ProgramFlags, ProgramHeader64, ProgramType, Rela64, SectionFlags, SectionHeader64, SectionType, Sym64,
    SymbolSection, SymbolType,
};

type Header = FileHeader64<Endianness>;

/// Names take at most so many times the bytes of their file. Names may share bytes, and a function that is
/// there in several versions has its name as often; a file in which all names were one long text would ask
/// for much more.
const NAMES: usize = 4;

/// Why bytes are no ELF file of 64 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// They do not begin as ELF does.
    NotElf,
    /// They are of another class than 64 bits: the number of it, if they have one.
    Class(Option<u8>),
    /// They contradict themselves or end too soon: how.
    Damaged(String),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotElf => f.write_str("it does not begin like an ELF file"),
            Self::Class(_) => f.write_str("it is not a 64-bit ELF file"),
            Self::Damaged(how) => f.write_str(how),
        }
    }
}

impl std::error::Error for Malformed {}

impl From<object::read::Error> for Malformed {
    fn from(error: object::read::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}

fn damaged<T>(how: &str) -> Result<T, Malformed> {
    Err(Malformed::Damaged(how.into()))
}

/// An ELF file of 64 bits whose headers have been read.
#[derive(Clone, Copy, Debug)]
pub struct Elf<'a> {
    /// What it is.
    pub identity: Identity,
    bytes: &'a [u8],
    order: Endianness,
    header: &'a Header,
    programs: &'a [ProgramHeader64<Endianness>],
}

/// A program header: a part of the file, and where it goes in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// What it is for: `PT_LOAD` is put into memory.
    pub kind: ProgramType,
    /// Whether it may be written and executed.
    pub flags: ProgramFlags,
    /// Bytes from the start of the file.
    pub offset: u64,
    /// Address that code uses.
    pub address: u64,
    /// Address for a loader without translation.
    pub physical: u64,
    /// Bytes in the file.
    pub length: u64,
    /// Bytes in memory.
    pub size: u64,
}

/// A section: a part of the file, as linkers and debuggers know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section<'a> {
    /// Address of its first byte in memory, 0 where it does not go there.
    pub address: u64,
    /// Bytes in memory.
    pub size: u64,
    /// Its flags.
    pub flags: SectionFlags,
    /// What the file holds of it; as it stands there, also where it is compressed.
    pub bytes: &'a [u8],
}

/// A name for an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Without its version.
    pub name: Cow<'a, str>,
    /// Address, or the value of an absolute symbol.
    pub address: u64,
    /// Bytes, 0 where the file does not say.
    pub size: u64,
    /// What it names.
    pub kind: SymbolType,
    /// Whether other files cannot see it.
    pub local: bool,
    /// The section that it is defined in, or `SHN_UNDEF` and the like.
    pub section: SymbolSection,
    /// The version under which it is offered or asked for.
    pub version: Option<Version<'a>>,
}

impl Symbol<'_> {
    /// Whether it is to be taken from another file.
    pub fn is_undefined(&self) -> bool {
        self.section == numbers::SHN_UNDEF
    }

    /// Whether it names code or data that lies in a section of this file. Not so an indirect function, which
    /// only chooses another.
    pub fn is_definition(&self) -> bool {
        let placed = self.section == numbers::SHN_XINDEX || !self.section.is_special();
        placed && [numbers::STT_FUNC, numbers::STT_OBJECT, numbers::STT_NOTYPE].contains(&self.kind)
    }
}

/// A version of a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version<'a> {
    /// As in `GLIBC_2.2.5`.
    pub name: Cow<'a, str>,
    /// Whether only those get it who name it.
    pub hidden: bool,
}

/// What a dynamic linker reads of a file.
#[derive(Clone, Debug)]
pub struct Dynamic<'a> {
    /// In the order of the file; the first names nothing.
    pub symbols: Vec<Symbol<'a>>,
    /// Places that get a symbol's address: address of the place, and the number of the symbol.
    pub relocations: Vec<(u64, usize)>,
}

/// What the 64 bytes at the start of a file say of the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Whether numbers in it have their most significant byte first.
    pub big_endian: bool,
    /// The number of the machine that it is for (`e_machine`).
    pub machine: u16,
    /// What it is (`e_type`): `ET_EXEC`, `ET_DYN` and others.
    pub kind: FileType,
    /// What its machine is to know of it (`e_flags`).
    pub flags: FileFlags,
    /// Address of the first instruction.
    pub entry: u64,
    /// Bytes from its start to the end of its program headers.
    pub headers: u64,
}

/// What a file of 64 bits is, of which `bytes` hold at least the start.
///
/// # Errors
/// Why that cannot be told.
pub fn identify(bytes: &[u8]) -> Result<Identity, Malformed> {
    let (header, order) = header(bytes)?;
    let programs = u64::from(header.e_phnum.get(order)) * u64::from(header.e_phentsize.get(order));
    Ok(Identity {
        big_endian: order == Endianness::Big,
        machine: header.e_machine(order).0,
        kind: header.e_type(order),
        flags: header.e_flags(order),
        entry: header.e_entry(order),
        headers: header.e_phoff.get(order).saturating_add(programs),
    })
}

fn header(bytes: &[u8]) -> Result<(&Header, Endianness), Malformed> {
    if !bytes.starts_with(&numbers::ELFMAG) {
        return Err(Malformed::NotElf);
    }
    let class = bytes.get(4).copied();
    if class != Some(numbers::ELFCLASS64.0) {
        return Err(Malformed::Class(class));
    }
    let header = Header::parse(bytes)?;
    Ok((header, header.endian()?))
}

/// The name of the architecture that a file of any class is for.
///
/// # Errors
/// That the file has no whole header.
pub fn architecture(bytes: &[u8]) -> Result<String, Malformed> {
    // `e_machine` stands at the same place in both classes.
    let [_, _, _, _, class, order, ..] = bytes else { return Err(Malformed::Class(None)) };
    let field = bytes.get(18..20).and_then(|field| field.try_into().ok());
    let field = field.ok_or(Malformed::Class(None))?;
    let machine =
        if *order == numbers::ELFDATA2MSB.0 { u16::from_be_bytes(field) } else { u16::from_le_bytes(field) };
    Ok(match numbers::Machine(machine) {
        numbers::EM_386 => "I386".into(),
        numbers::EM_X86_64 => "X86_64".into(),
        numbers::EM_ARM => "Arm".into(),
        numbers::EM_AARCH64 => "Aarch64".into(),
        numbers::EM_RISCV if *class == numbers::ELFCLASS64.0 => "Riscv64".into(),
        numbers::EM_RISCV => "Riscv32".into(),
        numbers::EM_PPC64 => "PowerPc64".into(),
        numbers::EM_S390 => "S390x".into(),
        numbers::EM_LOONGARCH => "LoongArch64".into(),
        numbers::Machine(other) => format!("machine {other} of ELF"),
    })
}

impl<'a> Elf<'a> {
    /// Reads the headers of a file, of which `bytes` hold at least these.
    ///
    /// # Errors
    /// Why they cannot be read.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, order) = header(bytes)?;
        let programs = header.program_headers(order, bytes)?;
        Ok(Self { identity: identify(bytes)?, bytes, order, header, programs })
    }

    /// All program headers, in their order.
    pub fn segments(&self) -> impl Iterator<Item = Segment> + '_ {
        let order = self.order;
        self.programs.iter().map(move |program| Segment {
            kind: program.p_type(order),
            flags: program.p_flags(order),
            offset: program.p_offset(order),
            address: program.p_vaddr(order),
            physical: program.p_paddr(order),
            length: program.p_filesz(order),
            size: program.p_memsz(order),
        })
    }

    /// Those that are put into memory.
    pub fn loaded(&self) -> impl Iterator<Item = Segment> + '_ {
        self.segments().filter(|segment| segment.kind == numbers::PT_LOAD)
    }

    /// Whether a dynamic linker loads it.
    pub fn is_interpreted(&self) -> bool {
        self.segments().any(|segment| segment.kind == numbers::PT_INTERP)
    }

    /// What the file holds of a segment; `None` where that lies beyond its end.
    pub fn content(&self, segment: &Segment) -> Option<&'a [u8]> {
        self.bytes.read_bytes_at(segment.offset, segment.length).ok()
    }

    /// The place in the file of what is at `address` in memory.
    pub fn offset(&self, address: u64) -> Option<u64> {
        self.loaded().find_map(|segment| {
            let distance = address.checked_sub(segment.address).filter(|&it| it < segment.length)?;
            segment.offset.checked_add(distance)
        })
    }

    /// The section of this name.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn section(&self, name: &str) -> Result<Option<Section<'a>>, Malformed> {
        let sections = self.header.sections(self.order, self.bytes)?;
        let Some((_, section)) = sections.section_by_name(self.order, name.as_bytes()) else {
            return Ok(None);
        };
        Ok(Some(Section {
            address: section.sh_addr(self.order),
            size: section.sh_size(self.order),
            flags: section.sh_flags(self.order),
            bytes: section.data(self.order, self.bytes)?,
        }))
    }

    /// The names of the sections that hold code, in their order.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn code(&self) -> Result<Vec<Cow<'a, str>>, Malformed> {
        let sections = self.header.sections(self.order, self.bytes)?;
        let is_code = |section: &&SectionHeader64<Endianness>| {
            section.sh_flags(self.order).contains(numbers::SHF_EXECINSTR) && section.sh_size(self.order) > 0
        };
        sections
            .iter()
            .filter(is_code)
            .map(|section| Ok(String::from_utf8_lossy(sections.section_name(self.order, section)?)))
            .collect()
    }

    /// The symbols for linkers and debuggers; none in a file that was stripped.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn symbols(&self) -> Result<Vec<Symbol<'a>>, Malformed> {
        let sections = self.header.sections(self.order, self.bytes)?;
        let table = sections.symbols(self.order, self.bytes, numbers::SHT_SYMTAB)?;
        self.named(table.symbols(), table.strings(), |_| None)
    }

    /// What a dynamic linker reads; `None` where the file has no dynamic section.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn dynamic(&self) -> Result<Option<Dynamic<'a>>, Malformed> {
        let Some(entries) = self.entries()? else { return Ok(None) };
        let value = |wanted| entries.iter().find(|&&(tag, _)| tag == wanted).map(|&(_, value)| value);
        let place = |wanted| value(wanted).map(|address| self.place(address)).transpose();
        let (Some(symbols), Some(strings)) = (place(DT_SYMTAB)?, place(DT_STRTAB)?) else {
            return damaged("its dynamic section names no symbols");
        };
        let mut relocations = Vec::new();
        for (table, length) in [(DT_RELA, DT_RELASZ), (DT_JMPREL, DT_PLTRELSZ)] {
            let (Some(offset), Some(length)) = (place(table)?, value(length)) else { continue };
            let count = length / size_of::<Rela64<Endianness>>() as u64;
            let table: &[Rela64<Endianness>] = self.slice(offset, count, "a table of relocations")?;
            let numbers =
                table.iter().map(|it| (it.r_offset.get(self.order), it.r_info.get(self.order) >> 32));
            relocations.extend(numbers.filter(|&(_, symbol)| symbol != 0));
        }
        // A relocation may name a symbol that nobody looks up, and such are not in the table of hashes.
        let used = relocations.iter().map(|&(_, symbol)| symbol + 1).max().unwrap_or_default();
        let count = self.hashed(place(DT_HASH)?, place(DT_GNU_HASH)?)?.max(used);
        let end = self.bytes.len() as u64;
        let length = value(DT_STRSZ).unwrap_or(end);
        let strings = StringTable::new(self.bytes, strings, strings.saturating_add(length).min(end));
        let versions = match place(DT_VERSYM)? {
            None => VersionTable::<Header>::default(),
            Some(offset) => {
                let numbers = self.slice(offset, count, "the numbers of its versions")?;
                let section = |tag, kind| match place(tag)? {
                    Some(offset) => Ok::<_, Malformed>(Some(self.rest_as_section(offset, kind))),
                    None => Ok(None),
                };
                let defined = match section(DT_VERDEF, numbers::SHT_GNU_VERDEF)? {
                    Some(section) => section.gnu_verdef(self.order, self.bytes)?.map(|it| it.0),
                    None => None,
                };
                let needed = match section(DT_VERNEED, numbers::SHT_GNU_VERNEED)? {
                    Some(section) => section.gnu_verneed(self.order, self.bytes)?.map(|it| it.0),
                    None => None,
                };
                VersionTable::parse(self.order, numbers, defined, needed, strings)?
            }
        };
        let version = |index| {
            let number = versions.version_index(self.order, SymbolIndex(index));
            let version = versions.version(number.index()).ok()??;
            Some(Version { name: String::from_utf8_lossy(version.name()), hidden: number.is_hidden() })
        };
        let symbols = self.named(self.slice(symbols, count, "its table of symbols")?, strings, version)?;
        let relocations = relocations.into_iter().map(|(place, symbol)| (place, symbol as usize)).collect();
        Ok(Some(Dynamic { symbols, relocations }))
    }

    /// The entries of the dynamic section, in their order.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn entries(&self) -> Result<Option<Vec<(DynamicTag, u64)>>, Malformed> {
        let dynamic = self.segments().find(|segment| segment.kind == numbers::PT_DYNAMIC);
        let Some(segment) = dynamic else { return Ok(None) };
        let count = segment.length / size_of::<Dyn64<Endianness>>() as u64;
        let entries: &[Dyn64<Endianness>] = self.slice(segment.offset, count, "its dynamic section")?;
        let entries = entries.iter().map(|entry| (entry.d_tag.get(self.order), entry.d_val.get(self.order)));
        Ok(Some(entries.take_while(|&(tag, _)| tag != DT_NULL).collect()))
    }

    /// How many symbols can be looked up, which only a table of hashes says.
    fn hashed(&self, table: Option<u64>, gnu: Option<u64>) -> Result<u64, Malformed> {
        let rest =
            |offset| self.bytes.read_bytes_at(offset, self.bytes.len() as u64 - offset).unwrap_or_default();
        let count = match (table, gnu) {
            (Some(offset), _) => HashTable::<Header>::parse(self.order, rest(offset))?.symbol_table_length(),
            (None, Some(offset)) => {
                let table = GnuHashTable::<Header>::parse(self.order, rest(offset))?;
                // Where no chain has an end there is nothing in it.
                table.symbol_table_length(self.order).unwrap_or(table.symbol_base())
            }
            (None, None) => {
                return damaged("it has no hash table, which alone says how many symbols there are");
            }
        };
        Ok(count.into())
    }

    /// A header for the rest of the file from `offset` on, so that `object` reads what it reads of sections.
    fn rest_as_section(&self, offset: u64, kind: SectionType) -> SectionHeader64<Endianness> {
        let [zero, length] = [0, self.bytes.len() as u64 - offset].map(|value| U64::new(self.order, value));
        SectionHeader64 {
            sh_name: U32::new(self.order, 0),
            sh_type: U32::new(self.order, kind),
            sh_flags: U64::new(self.order, SectionFlags(0)),
            sh_addr: zero,
            sh_offset: U64::new(self.order, offset),
            sh_size: length,
            sh_link: U32::new(self.order, 0),
            sh_info: U32::new(self.order, 0),
            sh_addralign: zero,
            sh_entsize: zero,
        }
    }

    /// The place in the file of what its dynamic section says is at `address`.
    fn place(&self, address: u64) -> Result<u64, Malformed> {
        let place = self.offset(address).filter(|&offset| offset < self.bytes.len() as u64);
        place.ok_or_else(|| Malformed::Damaged(format!("address {address:#x} lies outside the file")))
    }

    fn slice<T: Pod>(&self, offset: u64, count: u64, what: &str) -> Result<&'a [T], Malformed> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let slice = self.bytes.read_slice_at(offset, count);
        slice.map_err(|()| Malformed::Damaged(format!("it ends before {what} does")))
    }

    fn named(
        &self,
        table: &'a [Sym64<Endianness>],
        strings: StringTable<'a>,
        version: impl Fn(usize) -> Option<Version<'a>>,
    ) -> Result<Vec<Symbol<'a>>, Malformed> {
        let mut room = self.bytes.len().saturating_mul(NAMES);
        let symbol = |(index, symbol): (usize, &'a Sym64<Endianness>)| {
            let name = match symbol.st_name(self.order) {
                0 => &[][..],
                _ => symbol.name(self.order, strings)?,
            };
            room = match room.checked_sub(name.len()) {
                Some(room) => room,
                None => return damaged("its names take more room than the whole file"),
            };
            Ok(Symbol {
                name: String::from_utf8_lossy(name),
                address: symbol.st_value(self.order),
                size: symbol.st_size(self.order),
                kind: symbol.st_type(),
                local: symbol.is_local(),
                section: symbol.st_shndx(self.order),
                version: version(index),
            })
        };
        table.iter().enumerate().map(symbol).collect()
    }
}

#[cfg(test)]
mod tests;
