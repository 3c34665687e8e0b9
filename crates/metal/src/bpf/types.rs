//! The kernel's description of its types (BTF), cut down to what programs here name.
//!
//! A kernel has some 150 000 types, and looking through all of them for each name takes most of the time
//! before a command starts. By its number the kernel knows what a program is attached to, so those of
//! tracepoints stay as they are.
//! The format is that of `Documentation/bpf/btf.rst`.

use std::fs::{self, File};

use aya::{Btf, Endianness};
use rustix::fs::fstatfs;
use rustix::mm::MapFlags;

use crate::cached_file::Mapping;

/// Where a kernel describes its types, if it was built so.
const PATH: &str = "/sys/kernel/btf/vmlinux";

/// The types whose members programs read (`bpf/*.h`), each with the NUL behind its name.
const READ: [&[u8]; 16] = [
    b"task_struct\0",
    b"cgroup\0",
    b"kernfs_node\0",
    b"hrtimer\0",
    b"irqaction\0",
    b"file\0",
    b"path\0",
    b"dentry\0",
    b"qstr\0",
    b"super_block\0",
    b"file_system_type\0",
    b"files_struct\0",
    b"fdtable\0",
    b"fs_struct\0",
    b"pt_regs\0",
    b"user_pt_regs\0",
];

/// How the types begin by whose number a program is attached.
const TRACEPOINT: &[u8] = b"btf_trace_";

/// `BTF_KIND_FWD`: a structure of which no more is said. Who looks for one by its name passes it by.
const FORWARD: u32 = 7 << 24;

/// `BTF_KIND_PTR` and `BTF_KIND_ARRAY`.
const POINTER: u32 = 2;
const ARRAY: u32 = 3;

/// `BTF_MAGIC`, version 1, no flags.
const MAGIC: u32 = 0x1_eb9f;

/// `SYSFS_MAGIC` (`include/uapi/linux/magic.h`).
const SYSFS: i64 = 0x6265_6572;

const HEADER: usize = 24;
const TYPE: usize = 12;

/// The kernel's description of its types, as far as it is needed; all of it where it is written in a way that
/// is not known here.
pub(crate) struct Types {
    /// The types whose members programs read, with what these are made of. They have other numbers here.
    pub(crate) members: Btf,
    /// The types by whose number a program is attached. The others before the last one have no name.
    pub(super) tracepoints: Btf,
}

impl Types {
    /// Reads them.
    ///
    /// # Errors
    /// What was tried, and why it failed.
    pub(super) fn read() -> Result<Self, String> {
        let failed = |error: &dyn std::fmt::Display| format!("read {PATH}: {error}");
        let file = File::open(PATH).map_err(|error| failed(&error))?;
        let mapped = mapped(&file);
        let read =
            if mapped.is_none() { fs::read(PATH).map_err(|error| failed(&error))? } else { Vec::new() };
        let all = mapped.as_ref().map_or(read.as_slice(), Mapping::bytes);
        let split = Split::of(all);
        let parsed = |part: Option<Vec<u8>>| {
            let bytes = part.as_deref().unwrap_or(all);
            Btf::parse(bytes, Endianness::default()).map_err(|error| failed(&error))
        };
        let members = parsed(split.as_ref().and_then(Split::members))?;
        Ok(Self { members, tracepoints: parsed(split.as_ref().map(Split::tracepoints))? })
    }
}

/// The file in memory, from Linux 6.16 on: to read it takes a call for each of its pages.
fn mapped(file: &File) -> Option<Mapping> {
    let length = usize::try_from(file.metadata().ok()?.len()).ok()?;
    // Something else may be mounted there.
    fstatfs(file).ok().filter(|system| system.f_type == SYSFS)?;
    // SAFETY: in sysfs these are the kernel's own bytes, which are the same until it ends.
    unsafe { Mapping::of(file, length, MapFlags::PRIVATE) }.ok()
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// What kind of type this is, and how many members it has.
fn kind(information: u32) -> (u32, usize) {
    (information >> 24 & 0x1f, (information & 0xffff) as usize)
}

/// A description in its parts.
struct Split<'a> {
    /// The types, of which the first one has the number 1.
    types: Vec<&'a [u8]>,
    strings: &'a [u8],
}

impl<'a> Split<'a> {
    fn of(description: &'a [u8]) -> Option<Self> {
        let field = |at| word(description, at).map(|value| value as usize);
        let (header, types, types_length) = (field(4)?, field(8)?, field(12)?);
        let (strings, strings_length) = (field(16)?, field(20)?);
        let mut rest = description.get(header + types..)?.get(..types_length)?;
        let strings = description.get(header + strings..)?.get(..strings_length)?;
        let mut types = Vec::with_capacity(types_length / (2 * TYPE));
        while !rest.is_empty() {
            let members = match kind(word(rest, 4)?) {
                // BTF_KIND_INT, VAR and DECL_TAG; ARRAY.
                (1 | 14 | 17, _) => 4,
                (ARRAY, _) => 12,
                // STRUCT, UNION, DATASEC and ENUM64; ENUM and FUNC_PROTO.
                (4 | 5 | 15 | 19, count) => 12 * count,
                (6 | 13, count) => 8 * count,
                // PTR; FWD, TYPEDEF, VOLATILE, CONST, RESTRICT and FUNC; FLOAT; TYPE_TAG.
                (2 | 7..=12 | 16 | 18, _) => 0,
                _ => return None,
            };
            let (this, others) = rest.split_at_checked(TYPE + members)?;
            types.push(this);
            rest = others;
        }
        Some(Self { types, strings })
    }

    fn begins(&self, this: &[u8], name: &[u8]) -> bool {
        let text = word(this, 0).and_then(|at| self.strings.get(at as usize..));
        text.is_some_and(|text| text.starts_with(name))
    }

    /// Typedefs for tracepoints, as they stand and where they stand.
    fn tracepoints(&self) -> Vec<u8> {
        let mut kept = Description::default();
        let is_kept = |this: &&[u8]| {
            let is_typedef = word(this, 4).is_some_and(|information| kind(information).0 == 8);
            is_typedef && self.begins(this, TRACEPOINT)
        };
        let end = self.types.iter().rposition(is_kept).map_or(0, |place| place + 1);
        let unnamed: Vec<_> = [0, FORWARD, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
        kept.types = unnamed.repeat(end);
        for (this, place) in self.types[..end].iter().zip(0..).filter(|(this, _)| is_kept(this)) {
            let this = kept.with_names(this, self.strings);
            kept.types[TYPE * place..][..TYPE].copy_from_slice(&this);
        }
        kept.bytes()
    }

    /// The types that are read, and what they are made of; what they point at is of no type here. None where
    /// a type is made of one that does not exist.
    fn members(&self) -> Option<Vec<u8>> {
        let is_read = |this: &[u8]| {
            let is_structure = word(this, 4).is_some_and(|information| matches!(kind(information).0, 4 | 5));
            is_structure && READ.iter().any(|name| self.begins(this, name))
        };
        let read = self.types.iter().zip(1..).filter(|(this, _)| is_read(this));
        let mut order: Vec<u32> = read.map(|(_, number)| number).collect();
        // Their numbers here, by those in the kernel's description; 0 for none yet.
        let mut numbers = vec![0; self.types.len() + 1];
        for (number, new) in order.iter().zip(1..) {
            numbers[*number as usize] = new;
        }
        let mut kept = Description::default();
        let mut next = 0;
        while let Some(number) = order.get(next) {
            next += 1;
            let mut this = self.types.get(*number as usize - 1)?.to_vec();
            for at in references(&this) {
                let part = word(&this, at)?;
                let is_pointer = kind(word(&this, 4)?).0 == POINTER;
                let part = if is_pointer { 0 } else { part };
                let number: &mut u32 = numbers.get_mut(part as usize)?;
                if part > 0 && *number == 0 {
                    order.push(part);
                    *number = order.len() as u32;
                }
                this[at..at + 4].copy_from_slice(&number.to_ne_bytes());
            }
            this = kept.with_names(&this, self.strings);
            kept.types.extend_from_slice(&this);
        }
        Some(kept.bytes())
    }
}

/// A description that is made. Of the kernel's names, which are millions of bytes, it has only its own.
struct Description {
    types: Vec<u8>,
    strings: Vec<u8>,
}

impl Default for Description {
    fn default() -> Self {
        // The name of what has none.
        Self { types: Vec::new(), strings: vec![0] }
    }
}

impl Description {
    /// A type whose names, which are among `strings`, are here now.
    fn with_names(&mut self, this: &[u8], strings: &[u8]) -> Vec<u8> {
        let mut this = this.to_vec();
        for at in names(&this) {
            let name = word(&this, at).and_then(|at| strings.get(at as usize..)).unwrap_or_default();
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(0);
            let place = if end == 0 { 0 } else { self.strings.len() as u32 };
            this[at..at + 4].copy_from_slice(&place.to_ne_bytes());
            if end > 0 {
                self.strings.extend_from_slice(&name[..=end]);
            }
        }
        this
    }

    fn bytes(&self) -> Vec<u8> {
        let sizes = [HEADER, 0, self.types.len(), self.types.len(), self.strings.len()];
        let mut bytes = MAGIC.to_ne_bytes().to_vec();
        bytes.extend(sizes.iter().flat_map(|size| (*size as u32).to_ne_bytes()));
        bytes.extend_from_slice(&self.types);
        bytes.extend_from_slice(&self.strings);
        bytes
    }
}

/// Where in a type its own name stands, and those of its members.
fn names(this: &[u8]) -> Vec<usize> {
    let (width, count) = match word(this, 4).map(kind) {
        Some((4 | 5 | 19, count)) => (12, count),
        Some((6 | 13, count)) => (8, count),
        _ => (0, 0),
    };
    let members = (0..count).map(|member| TYPE + width * member);
    std::iter::once(0).chain(members).collect()
}

/// Where in a type the numbers of those stand that it is made of.
fn references(this: &[u8]) -> Vec<usize> {
    match word(this, 4).map(kind) {
        Some((POINTER | 8..=11 | 18, _)) => vec![8],
        Some((ARRAY, _)) => vec![TYPE, TYPE + 4],
        Some((4 | 5, count)) => (0..count).map(|member| TYPE + 12 * member + 4).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A description of these types: of each its name, kind, count of members, and words behind those.
    fn described(types: &[(&str, u32, u32, &[u32])]) -> Vec<u8> {
        let (mut words, mut strings) = (Vec::new(), vec![0]);
        for (name, kind, count, members) in types {
            let at = if name.is_empty() { 0 } else { strings.len() as u32 };
            if at > 0 {
                strings.extend_from_slice(name.as_bytes());
                strings.push(0);
            }
            words.extend([at, kind << 24 | count, 8]);
            words.extend_from_slice(members);
        }
        let length = words.len() as u32 * 4;
        let header = [0x1_eb9f, HEADER as u32, 0, length, length, strings.len() as u32];
        let words = header.iter().chain(&words).flat_map(|word| word.to_ne_bytes());
        words.chain(strings).collect()
    }

    const KINDS: [(&str, u32, u32, &[u32]); 9] = [
        ("int", 1, 0, &[32]),
        ("task_structure", 4, 1, &[0, 1, 0]),
        ("size_t", 8, 0, &[]),
        ("btf_trace_sys_enter", 8, 0, &[]),
        // Of the third type, of a union, and of a pointer to the second one.
        ("task_struct", 4, 3, &[0, 3, 0, 0, 6, 64, 0, 7, 128]),
        ("", 5, 1, &[0, 9, 0]),
        ("", 2, 0, &[]),
        ("btf_trace_sys_exit", 8, 0, &[]),
        ("", 3, 0, &[1, 1, 4]),
    ];

    /// The names, kinds and references of the types in a description.
    fn listed(description: &[u8]) -> Vec<(String, u32, Vec<u32>)> {
        let split = Split::of(description).unwrap();
        let one = |this: &&[u8]| {
            let name = &split.strings[word(this, 0).unwrap() as usize..];
            let name = name.split(|byte| *byte == 0).next().unwrap();
            let parts = references(this).into_iter().map(|at| word(this, at).unwrap()).collect();
            (String::from_utf8(name.to_vec()).unwrap(), kind(word(this, 4).unwrap()).0, parts)
        };
        split.types.iter().map(one).collect()
    }

    #[test]
    fn tracepoints_keep_their_numbers() {
        let all = described(&KINDS);
        let kept = Split::of(&all).unwrap().tracepoints();
        assert!(Btf::parse(&kept, Endianness::default()).is_ok());
        let listed = listed(&kept);
        assert_eq!(listed.len(), 8, "{listed:?}");
        for (place, (name, kind, _)) in listed.iter().enumerate() {
            let expected = if matches!(place, 3 | 7) { (KINDS[place].0, 8) } else { ("", 7) };
            assert_eq!((name.as_str(), *kind), expected, "{place}");
        }
    }

    #[test]
    fn what_is_read_comes_with_what_it_is_made_of() {
        let all = described(&KINDS);
        let kept = Split::of(&all).unwrap().members().unwrap();
        assert!(Btf::parse(&kept, Endianness::default()).is_ok());
        // What `described` writes behind the kind, where a typedef has its type, is 8: it is of none of
        // these.
        let listed = listed(&kept);
        let names: Vec<&str> = listed.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names[..4], ["task_struct", "size_t", "", ""], "{listed:?}");
        assert_eq!(listed[0].2, [2, 3, 4]);
        assert!(listed.iter().all(|(_, kind, parts)| *kind != POINTER || *parts == [0]), "{listed:?}");
        assert!(!names.contains(&"task_structure"), "{listed:?}");
    }

    #[test]
    fn what_is_written_otherwise_is_not_split() {
        assert!(Split::of(&described(&[("new", 31, 0, &[])])).is_none());
        let whole = described(&[("int", 1, 0, &[32])]);
        for end in 0..whole.len() - 4 {
            assert!(Split::of(&whole[..end]).is_none(), "{end}");
        }
        // Made of a type that is not there.
        let torn = described(&[("file", 4, 1, &[0, 9, 0])]);
        assert!(Split::of(&torn).unwrap().members().is_none());
    }

    #[test]
    fn only_what_nobody_can_change_is_mapped() {
        let own = std::env::current_exe().and_then(File::open).unwrap();
        assert!(mapped(&own).is_none());
        // Not every kernel describes its types, and maps that.
        if let Some(mapped) = File::open(PATH).ok().and_then(|file| mapped(&file)) {
            assert_eq!(mapped.bytes(), fs::read(PATH).unwrap());
        }
    }
}
