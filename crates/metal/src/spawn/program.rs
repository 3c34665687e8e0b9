//! The smallest program: it ends at once with a known status, and lies in memory (`memfd_create(2)`).
//!
//! A program of tenbin's own size would add the cost of its loading to every child; and none of the machine's
//! is sure to be there.

use std::io::Write;
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use tenbin_model::Architecture;

use crate::fault::Fault;

pub(super) const STATUS: i32 = 42;

/// `exit(42)`, in the machine's own instructions.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const CODE: [u8; 12] = [
    0xbf, 42, 0, 0, 0, // mov edi, 42
    0xb8, 60, 0, 0, 0, // mov eax, 60
    0x0f, 0x05,        // syscall
];
#[cfg(target_arch = "aarch64")]
const CODE: [u8; 12] = [
    0x40, 0x05, 0x80, 0xd2, // mov x0, #42
    0xa8, 0x0b, 0x80, 0xd2, // mov x8, #93
    0x01, 0x00, 0x00, 0xd4, // svc #0
];
#[cfg(target_arch = "riscv64")]
const CODE: [u8; 12] = [
    0x13, 0x05, 0xa0, 0x02, // li a0, 42
    0x93, 0x08, 0xd0, 0x05, // li a7, 93
    0x73, 0x00, 0x00, 0x00, // ecall
];

/// The machine's number in an ELF header, and its flags there (the ABIs of the three; RISC-V's flags name its
/// registers for floating point, of which this program uses none, so they are 0).
const MACHINE: u16 = Architecture::HERE.names().elf;

/// Where it is loaded: at a multiple of the largest base page that Linux has, 64 KiB.
const ADDRESS: u64 = 0x20_0000;
const ALIGNMENT: u64 = 0x1_0000;

const HEADER: u64 = 64;
const SEGMENT: u64 = 56;

/// The file's bytes: an ELF header, one segment, the code (System V ABI, "Object Files" and "Program
/// Loading").
pub(super) fn bytes() -> Vec<u8> {
    let start = HEADER + SEGMENT;
    let length = start + CODE.len() as u64;
    let mut file = Vec::with_capacity(length as usize);
    // 64 bits, little endian, version 1, the System V ABI.
    file.extend_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    let half = |file: &mut Vec<u8>, value: u16| file.extend_from_slice(&value.to_le_bytes());
    let word = |file: &mut Vec<u8>, value: u32| file.extend_from_slice(&value.to_le_bytes());
    let long = |file: &mut Vec<u8>, value: u64| file.extend_from_slice(&value.to_le_bytes());
    half(&mut file, 2); // executable
    half(&mut file, MACHINE);
    word(&mut file, 1); // version
    long(&mut file, ADDRESS + start); // where it begins
    long(&mut file, HEADER); // where the segments are
    long(&mut file, 0); // no sections
    word(&mut file, 0); // flags
    for value in [HEADER as u16, SEGMENT as u16, 1, 0, 0, 0] {
        half(&mut file, value); // lengths and counts: one segment, no section
    }
    word(&mut file, 1); // a segment to load
    word(&mut file, 5); // to be read and executed
    for value in [0, ADDRESS, ADDRESS, length, length, ALIGNMENT] {
        long(&mut file, value); // place in the file, addresses, lengths, alignment
    }
    file.extend_from_slice(&CODE);
    file
}

/// The program, in a file that has no name and vanishes with its descriptor.
///
/// # Errors
/// [`Fault::System`] when there can be no such file.
pub(crate) fn in_memory() -> Result<OwnedFd, Fault> {
    const NAME: &str = "tenbin-child";
    // Kernels from 6.3 on can be set to want it said that it is to be executed; older ones do not know the
    // flag.
    let with = |flags| memfd_create(NAME, MemfdFlags::CLOEXEC | flags);
    let file = match with(MemfdFlags::EXEC) {
        Err(Errno::INVAL) => with(MemfdFlags::empty()),
        other => other,
    };
    let file = file.map_err(|error| Fault::system("memfd_create", error))?;
    let mut file = std::fs::File::from(file);
    file.write_all(&bytes()).map_err(|error| Fault::system("write a program into memory", error))?;
    Ok(file.into())
}
