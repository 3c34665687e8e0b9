//! A hash that is the same on every machine and in every version.

/// FNV-1a (Fowler, Noll, Vo) over bytes, after those before them that came to this hash.
pub(crate) fn hashed(before: Option<u64>, bytes: impl IntoIterator<Item = u8>) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let start = before.unwrap_or(OFFSET);
    bytes.into_iter().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}
