//! Numbers as planes: the lowest bits as they are, the rest byte by byte, each plane on its own.
//!
//! The lowest bits of a timing are noise that nothing compresses; cut off, they cost exactly
//! what they hold, and the bytes above them become few and uneven, which is what zstd's entropy
//! coder is good at. The byte planes are the byte shuffle of Blosc and HDF5.

use super::bytes::{Flaw, Reader, put_number};

/// Below this level zstd finds chance repetitions in noise and pays for them; above it takes longer
/// and wins less than 0.1 %.
const LEVEL: i32 = 15;

/// More low bits than this are never noise worth keeping apart.
const MOST_LOW_BITS: u32 = 16;

const CONSTANT: u8 = 0;
const RAW: u8 = 1;
const ZSTD: u8 = 2;

/// Appends `values`; their number is not written.
pub(super) fn put(out: &mut Vec<u8>, values: &[u64]) {
    let (low, _) = plan(values);
    put_split(out, values, low);
}

/// Appends `values` with no low bits cut off, so that repetition stays visible to zstd.
pub(super) fn put_whole(out: &mut Vec<u8>, values: &[u64]) {
    put_split(out, values, 0);
}

/// What [`put`] will need at most, about, in bytes: the order-0 entropy of the planes.
pub(super) fn estimate(values: &[u64]) -> f64 {
    plan(values).1
}

/// The number of low bits to cut off, and the estimated size.
fn plan(values: &[u64]) -> (u32, f64) {
    let highest = values.iter().fold(0, |all, value| all | value);
    let bits = 64 - highest.leading_zeros();
    let mut best = (0, f64::INFINITY);
    for low in 0..=bits.min(MOST_LOW_BITS) {
        let planes = (bits - low).div_ceil(8);
        let mut size = (values.len() as u64 * u64::from(low)).div_ceil(8) as f64;
        for plane in 0..planes {
            size += entropy(values, low + 8 * plane);
        }
        if size < best.1 {
            best = (low, size);
        }
    }
    best
}

/// The order-0 entropy in bytes of the byte that begins at bit `shift`.
fn entropy(values: &[u64], shift: u32) -> f64 {
    let mut counts = [0u32; 256];
    for value in values {
        counts[(value >> shift) as usize & 0xff] += 1;
    }
    let total = values.len() as f64;
    let bits: f64 = counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| f64::from(count) * (total / f64::from(count)).log2())
        .sum();
    bits / 8.0
}

fn put_split(out: &mut Vec<u8>, values: &[u64], low: u32) {
    let highest = values.iter().fold(0, |all, value| all | value) >> low;
    let planes = (64 - highest.leading_zeros()).div_ceil(8);
    out.push(low as u8);
    out.push(planes as u8);
    if low > 0 {
        put_plane(out, &low_bits(values, low));
    }
    for plane in 0..planes {
        let bytes: Vec<u8> = values.iter().map(|value| (value >> low >> (8 * plane)) as u8).collect();
        put_plane(out, &bytes);
    }
}

/// The lowest bits of all values, one after the other without gaps. Mostly noise, but not always:
/// which variant comes next is a pattern of one or two bits.
fn low_bits(values: &[u64], low: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity((values.len() * low as usize).div_ceil(8));
    let mut waiting = 0u64;
    let mut held = 0;
    for value in values {
        waiting |= (value & ((1 << low) - 1)) << held;
        held += low;
        while held >= 8 {
            bytes.push(waiting as u8);
            waiting >>= 8;
            held -= 8;
        }
    }
    if held > 0 {
        bytes.push(waiting as u8);
    }
    bytes
}

fn put_plane(out: &mut Vec<u8>, bytes: &[u8]) {
    if let Some((first, rest)) = bytes.split_first()
        && rest.iter().all(|byte| byte == first)
    {
        out.extend([CONSTANT, *first]);
        return;
    }
    // Compressing in memory can only fail for want of memory; the plain bytes are always right.
    match zstd::bulk::compress(bytes, LEVEL) {
        Ok(packed) if packed.len() + 3 < bytes.len() => {
            out.push(ZSTD);
            put_number(out, packed.len() as u64);
            out.extend(packed);
        }
        _ => {
            out.push(RAW);
            out.extend(bytes);
        }
    }
}

/// Reads back `count` numbers.
pub(super) fn get(reader: &mut Reader<'_>, count: usize) -> Result<Vec<u64>, Flaw> {
    let low = u32::from(reader.byte()?);
    let planes = u32::from(reader.byte()?);
    if low > MOST_LOW_BITS || low + 8 * planes >= 64 + 8 {
        return Err("a number is said to have more than 64 bits");
    }
    let mut values = if low == 0 {
        vec![0; count]
    } else {
        from_low_bits(&get_plane(reader, (count * low as usize).div_ceil(8))?, count, low)
    };
    for plane in 0..planes {
        let shift = low + 8 * plane;
        for (value, byte) in values.iter_mut().zip(get_plane(reader, count)?) {
            *value |= u64::from(byte) << shift;
        }
    }
    Ok(values)
}

fn from_low_bits(bytes: &[u8], count: usize, low: u32) -> Vec<u64> {
    let mut bytes = bytes.iter();
    let mut waiting = 0u64;
    let mut held = 0;
    (0..count)
        .map(|_| {
            while held < low {
                waiting |= u64::from(bytes.next().copied().unwrap_or(0)) << held;
                held += 8;
            }
            let value = waiting & ((1 << low) - 1);
            waiting >>= low;
            held -= low;
            value
        })
        .collect()
}

fn get_plane(reader: &mut Reader<'_>, count: usize) -> Result<Vec<u8>, Flaw> {
    match reader.byte()? {
        CONSTANT => Ok(vec![reader.byte()?; count]),
        RAW => Ok(reader.take(count)?.to_vec()),
        ZSTD => {
            let length = usize::try_from(reader.number()?).map_err(|_| "a plane is longer than memory")?;
            // The capacity bounds what a damaged frame can claim.
            let bytes =
                zstd::bulk::decompress(reader.take(length)?, count).map_err(|_| "a zstd frame is damaged")?;
            if bytes.len() == count { Ok(bytes) } else { Err("a zstd frame holds the wrong number of bytes") }
        }
        _ => Err("a plane has an unknown kind"),
    }
}
