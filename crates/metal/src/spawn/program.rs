//! The smallest programs, which lie in memory (`memfd_create(2)`): one that ends at once with a known status,
//! and one that counts down before it does.
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
pub(super) const CODE: [u8; 12] = [
    0xbf, 42, 0, 0, 0, // mov edi, 42
    0xb8, 60, 0, 0, 0, // mov eax, 60
    0x0f, 0x05,        // syscall
];
#[cfg(target_arch = "aarch64")]
pub(super) const CODE: [u8; 12] = [
    0x40, 0x05, 0x80, 0xd2, // mov x0, #42
    0xa8, 0x0b, 0x80, 0xd2, // mov x8, #93
    0x01, 0x00, 0x00, 0xd4, // svc #0
];
#[cfg(target_arch = "riscv64")]
pub(super) const CODE: [u8; 12] = [
    0x13, 0x05, 0xa0, 0x02, // li a0, 42
    0x93, 0x08, 0xd0, 0x05, // li a7, 93
    0x73, 0x00, 0x00, 0x00, // ecall
];

/// Takes 1 from the number that follows the code until none is left, each time waiting for the time before,
/// then `exit(0)`. Its length is a multiple of 8, so that the number is aligned.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const COUNTDOWN: [u8; 24] = [
    0x48, 0x8b, 0x0d, 17, 0, 0, 0, // mov rcx, [rip + 17]
    0x48, 0xff, 0xc9,              // dec rcx
    0x75, 0xfb,                    // jnz to the instruction before
    0x31, 0xff,                    // xor edi, edi
    0xb8, 60, 0, 0, 0,             // mov eax, 60
    0x0f, 0x05,                    // syscall
    0x0f, 0x1f, 0x00,              // nop
];
#[cfg(target_arch = "aarch64")]
const COUNTDOWN: [u8; 24] = [
    0xc1, 0x00, 0x00, 0x58, // ldr x1, 24 bytes on
    0x21, 0x04, 0x00, 0xf1, // subs x1, x1, #1
    0xe1, 0xff, 0xff, 0x54, // b.ne to the instruction before
    0x00, 0x00, 0x80, 0xd2, // mov x0, #0
    0xa8, 0x0b, 0x80, 0xd2, // mov x8, #93
    0x01, 0x00, 0x00, 0xd4, // svc #0
];
#[cfg(target_arch = "riscv64")]
const COUNTDOWN: [u8; 32] = [
    0x97, 0x02, 0x00, 0x00, // auipc t0, 0
    0x83, 0xb2, 0x02, 0x02, // ld t0, 32(t0)
    0x93, 0x82, 0xf2, 0xff, // addi t0, t0, -1
    0xe3, 0x9e, 0x02, 0xfe, // bnez t0, to the instruction before
    0x13, 0x05, 0x00, 0x00, // li a0, 0
    0x93, 0x08, 0xd0, 0x05, // li a7, 93
    0x73, 0x00, 0x00, 0x00, // ecall
    0x13, 0x00, 0x00, 0x00, // nop
];

/// The machine's number in an ELF header, and its flags there (the ABIs of the three; RISC-V's flags name its
/// registers for floating point, of which this program uses none, so they are 0).
const MACHINE: u16 = Architecture::HERE.names().elf;

/// Where it is loaded: at a multiple of the largest base page that Linux has, 64 KiB.
const ADDRESS: u64 = 0x20_0000;
const ALIGNMENT: u64 = 0x1_0000;

const HEADER: u64 = 64;
const SEGMENT: u64 = 56;

/// The bytes of a file with this code: an ELF header, one segment, the code (System V ABI, "Object Files" and
/// "Program Loading").
pub(super) fn bytes(code: &[u8]) -> Vec<u8> {
    let start = HEADER + SEGMENT;
    let length = start + code.len() as u64;
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
    file.extend_from_slice(code);
    file
}

/// The program that ends at once with [`STATUS`], in a file that has no name and vanishes with its
/// descriptor.
///
/// # Errors
/// [`Fault::System`] when there can be no such file.
pub(crate) fn empty() -> Result<OwnedFd, Fault> {
    in_memory(&CODE)
}

/// One that counts down from `turns` first, a subtraction after the other, and ends with status 0. There is
/// one turn at least.
///
/// # Errors
/// As [`empty`].
pub(crate) fn countdown(turns: u64) -> Result<OwnedFd, Fault> {
    in_memory(&[COUNTDOWN.as_slice(), &turns.max(1).to_le_bytes()].concat())
}

fn in_memory(code: &[u8]) -> Result<OwnedFd, Fault> {
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
    file.write_all(&bytes(code)).map_err(|error| Fault::system("write a program into memory", error))?;
    Ok(file.into())
}
