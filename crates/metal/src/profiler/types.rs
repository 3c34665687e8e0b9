//! The kernel's description of its types (BTF), cut down to what programs here name.
//!
//! A kernel has some 150 000 types, and looking through all of them for each name takes most of the time
//! before a command starts. Numbers stay as they are: by them the kernel knows what a program is attached to.
//! The format is that of `Documentation/bpf/btf.rst`.

use std::fs;

use aya::{Btf, Endianness};

/// Where a kernel describes its types, if it was built so.
const PATH: &str = "/sys/kernel/btf/vmlinux";

/// The types whose members programs read (`bpf/*.h`). Those without a name may be part of them.
const READ: [&[u8]; 12] = [
    b"task_struct",
    b"file",
    b"path",
    b"dentry",
    b"qstr",
    b"super_block",
    b"file_system_type",
    b"files_struct",
    b"fdtable",
    b"fs_struct",
    b"pt_regs",
    b"user_pt_regs",
];

/// How the types begin by whose number a program is attached.
const TRACEPOINT: &[u8] = b"btf_trace_";

const HEADER: usize = 24;
const TYPE: usize = 12;

/// The kernel's description of its types, as far as it is needed; all of it where it is written in a way that
/// is not known here.
///
/// # Errors
/// What was tried, and why it failed.
pub(super) fn read() -> Result<Btf, String> {
    let failed = |error: &dyn std::fmt::Display| format!("read {PATH}: {error}");
    let description = fs::read(PATH).map_err(|error| failed(&error))?;
    let parsed = Btf::parse(&cut(&description).unwrap_or(description), Endianness::default());
    parsed.map_err(|error| failed(&error))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The same types, of which those that are not needed have neither a name nor members.
fn cut(description: &[u8]) -> Option<Vec<u8>> {
    let field = |at| word(description, at).map(|value| value as usize);
    let (header, types, types_length) = (field(4)?, field(8)?, field(12)?);
    let (strings, strings_length) = (field(16)?, field(20)?);
    let mut types = description.get(header + types..)?.get(..types_length)?;
    let strings = description.get(header + strings..)?.get(..strings_length)?;
    let mut kept = description.get(..HEADER)?.to_vec();
    kept.reserve(types_length / 2 + strings_length);
    while !types.is_empty() {
        let (name, information) = (word(types, 0)?, word(types, 4)?);
        let (kind, count) = (information >> 24 & 0x1f, (information & 0xffff) as usize);
        let members = match kind {
            // BTF_KIND_INT, VAR and DECL_TAG; ARRAY.
            1 | 14 | 17 => 4,
            3 => 12,
            // STRUCT, UNION, DATASEC and ENUM64; ENUM and FUNC_PROTO.
            4 | 5 | 15 | 19 => 12 * count,
            6 | 13 => 8 * count,
            // PTR; FWD, TYPEDEF, VOLATILE, CONST, RESTRICT and FUNC; FLOAT; TYPE_TAG.
            2 | 7..=12 | 16 | 18 => 0,
            _ => return None,
        };
        let (this, rest) = types.split_at_checked(TYPE + members)?;
        types = rest;
        let text = strings.get(name as usize..)?;
        let is_named = |wanted: &&[u8]| text.starts_with(wanted) && text.get(wanted.len()) == Some(&0);
        let is_needed = match kind {
            4 | 5 => name == 0 || READ.iter().any(is_named),
            6 | 12 | 13 | 15 | 19 => false,
            8 => text.starts_with(TRACEPOINT),
            _ => true,
        };
        if is_needed {
            kept.extend_from_slice(this);
        } else {
            let without_members = if members > 0 { information & !0xffff } else { information };
            kept.extend_from_slice(&0_u32.to_ne_bytes());
            kept.extend_from_slice(&without_members.to_ne_bytes());
            kept.extend_from_slice(&this[8..TYPE]);
        }
    }
    let types_length = kept.len() - HEADER;
    let sizes = [HEADER, 0, types_length, types_length, strings_length].map(|size| size as u32);
    for (size, at) in sizes.iter().zip((4..HEADER).step_by(4)) {
        kept[at..at + 4].copy_from_slice(&size.to_ne_bytes());
    }
    kept.extend_from_slice(strings);
    Some(kept)
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

    #[test]
    fn what_is_not_named_loses_its_name_and_its_members() {
        let types: [(&str, u32, u32, &[u32]); 6] = [
            ("int", 1, 0, &[32]),
            ("task_struct", 4, 1, &[0, 1, 0]),
            ("task_structure", 4, 1, &[0, 1, 0]),
            ("", 5, 1, &[0, 1, 0]),
            ("size_t", 8, 0, &[]),
            ("btf_trace_sys_enter", 8, 0, &[]),
        ];
        let all = described(&types);
        let kept = cut(&all).unwrap();
        // One member of twelve bytes.
        assert_eq!(kept.len(), all.len() - 12);
        assert!(Btf::parse(&kept, Endianness::default()).is_ok());
        // Where each type begins, and whether it has kept its name.
        let named = [(0, true), (16, true), (40, false), (52, false), (76, false), (88, true)];
        for (at, is_named) in named {
            assert_eq!(word(&kept, HEADER + at).unwrap() > 0, is_named, "at {at}");
        }
    }

    #[test]
    fn what_is_written_otherwise_is_not_cut() {
        assert_eq!(cut(&described(&[("new", 31, 0, &[])])), None);
        let whole = described(&[("int", 1, 0, &[32])]);
        for end in 0..whole.len() - 4 {
            assert_eq!(cut(&whole[..end]), None, "{end}");
        }
    }
}
