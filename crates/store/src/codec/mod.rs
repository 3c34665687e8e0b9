//! How a chunk of a column is written: four codecs, of which each chunk takes the smallest.
//!
//! A codec returns exactly the numbers that went in, whatever they are. Beside the numbers it may
//! use the *kind* of each value, a number that the columns before this one determine (which variant,
//! how many iterations): values of one kind are alike, and the reader knows the kind already.

pub(crate) mod bytes;
mod planes;
mod predict;
mod tick;

use bytes::{Flaw, Reader, fold, put_number, unfold};
use predict::Predictor;
use tick::Grid;

/// Values in a chunk at most.
pub(crate) const CHUNK: usize = 65_536;

/// The codec of a chunk, by the tag that the file holds. Tags are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Codec {
    /// Eight bytes a value, little endian.
    Plain = 0,
    /// First value and constant step; a constant column has step 0.
    Line = 1,
    /// Differences of neighbours, folded, as byte planes under zstd.
    Delta = 2,
    /// Places on the clock's grid, less a prediction, as bit and byte planes under zstd.
    Grid = 3,
}

impl Codec {
    pub(crate) const ALL: [Self; 4] = [Self::Plain, Self::Line, Self::Delta, Self::Grid];

    /// The number that stands in the file.
    pub(crate) fn tag(self) -> u8 {
        self as u8
    }

    pub(crate) fn from_tag(tag: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|codec| codec.tag() == tag)
    }
}

/// Writes `values` with the codec that makes them smallest. `kinds` has one entry a value.
pub(crate) fn pack(values: &[u64], kinds: &[u32]) -> (Codec, Vec<u8>) {
    if let Some(bytes) = encode_line(values) {
        return (Codec::Line, bytes);
    }
    [
        (Codec::Plain, encode_plain(values)),
        (Codec::Delta, encode_delta(values)),
        (Codec::Grid, encode_grid(values, kinds)),
    ]
    .into_iter()
    .reduce(|best, other| if other.1.len() < best.1.len() { other } else { best })
    .unwrap_or((Codec::Plain, Vec::new()))
}

/// Reads back the `count` values that `codec` wrote; `kinds` has one entry a value, as it had then.
pub(crate) fn unpack(codec: Codec, bytes: &[u8], count: usize, kinds: &[u32]) -> Result<Vec<u64>, Flaw> {
    let mut reader = Reader::new(bytes);
    let values = match codec {
        Codec::Plain => (0..count).map(|_| reader.word()).collect::<Result<_, _>>()?,
        Codec::Line => decode_line(&mut reader, count)?,
        Codec::Delta => decode_delta(&mut reader, count)?,
        Codec::Grid => decode_grid(&mut reader, count, kinds)?,
    };
    reader.finish()?;
    Ok(values)
}

fn encode_plain(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Nothing where the values are not on a line, or where eight bytes a value are no more.
fn encode_line(values: &[u64]) -> Option<Vec<u8>> {
    let (&first, rest) = values.split_first()?;
    let step = rest.first().map_or(0, |second| second.wrapping_sub(first));
    if values.windows(2).any(|pair| pair[1].wrapping_sub(pair[0]) != step) {
        return None;
    }
    let mut out = Vec::new();
    put_number(&mut out, first);
    put_number(&mut out, fold(step));
    Some(out)
}

fn decode_line(reader: &mut Reader<'_>, count: usize) -> Result<Vec<u64>, Flaw> {
    let first = reader.number()?;
    let step = unfold(reader.number()?);
    Ok((0..count as u64).map(|index| first.wrapping_add(index.wrapping_mul(step))).collect())
}

fn encode_delta(values: &[u64]) -> Vec<u8> {
    let mut before = 0;
    let differences: Vec<u64> =
        values.iter().map(|&value| fold(value.wrapping_sub(std::mem::replace(&mut before, value)))).collect();
    let mut out = Vec::new();
    planes::put_whole(&mut out, &differences);
    out
}

fn decode_delta(reader: &mut Reader<'_>, count: usize) -> Result<Vec<u64>, Flaw> {
    let mut sum = 0u64;
    let differences = planes::get(reader, count)?;
    Ok(differences
        .into_iter()
        .map(|folded| {
            sum = sum.wrapping_add(unfold(folded));
            sum
        })
        .collect())
}

/// Bits of the first byte of a [`Codec::Grid`] chunk.
const HAS_TICK: u8 = 1;
const ROUNDED: u8 = 2;
const RECENT: u8 = 4;
const KINDS: u8 = 8;

/// More kinds than this in a chunk are treated as one: their centres would cost more than they save.
const MOST_KINDS: usize = 1024;

/// One way of expecting the values of a chunk, and what it leaves to be written.
#[derive(Clone)]
struct Expectation {
    predictor: Predictor,
    by_kind: bool,
    centres: Vec<u64>,
    residuals: Vec<u64>,
}

impl Expectation {
    fn new(predictor: Predictor, by_kind: bool, places: &[u64], kinds: &[u32], centres: &[u64]) -> Self {
        Self {
            predictor,
            by_kind,
            centres: centres.to_vec(),
            residuals: predictor.residuals(places, kinds, centres),
        }
    }

    /// About how many bytes it takes. Compressing all candidates would take far longer.
    fn estimate(&self) -> f64 {
        planes::estimate(&self.residuals) + (4 * self.centres.len()) as f64
    }

    fn best(places: &[u64], kinds: &[u32]) -> Self {
        const PREDICTORS: [Predictor; 2] = [Predictor::Centre, Predictor::Recent];
        let alike = vec![0; places.len()];
        let centres = predict::centres(places, &alike, 1);
        let mut candidates =
            PREDICTORS.map(|predictor| Self::new(predictor, false, places, &alike, &centres)).to_vec();
        let (numbers, count) = predict::renumber(kinds);
        if (2..=MOST_KINDS).contains(&count) {
            let centres = predict::centres(places, &numbers, count);
            candidates
                .extend(PREDICTORS.map(|predictor| Self::new(predictor, true, places, &numbers, &centres)));
        }
        let mut best = candidates.swap_remove(0);
        for other in candidates {
            if other.estimate() < best.estimate() {
                best = other;
            }
        }
        best
    }
}

fn encode_grid(values: &[u64], kinds: &[u32]) -> Vec<u8> {
    let grid = tick::find(values).unwrap_or(Grid::NONE);
    let (places, distances): (Vec<u64>, Vec<u64>) = values.iter().map(|&value| grid.split(value)).unzip();
    let Expectation { predictor, by_kind, centres, residuals } = Expectation::best(&places, kinds);
    let mut out = Vec::new();
    let has_tick = grid != Grid::NONE;
    let flag = |set: bool, bit: u8| if set { bit } else { 0 };
    out.push(
        flag(has_tick, HAS_TICK)
            | flag(grid.phase != 0.0, ROUNDED)
            | flag(predictor == Predictor::Recent, RECENT)
            | flag(by_kind, KINDS),
    );
    if has_tick {
        out.extend(grid.tick.to_bits().to_le_bytes());
    }
    for centre in centres {
        put_number(&mut out, centre);
    }
    planes::put(&mut out, &residuals);
    if has_tick {
        let folded: Vec<u64> = distances.into_iter().map(fold).collect();
        planes::put_whole(&mut out, &folded);
    }
    out
}

fn decode_grid(reader: &mut Reader<'_>, count: usize, kinds: &[u32]) -> Result<Vec<u64>, Flaw> {
    let flags = reader.byte()?;
    if flags & !(HAS_TICK | ROUNDED | RECENT | KINDS) != 0 {
        return Err("a chunk has unknown flags");
    }
    let grid = if flags & HAS_TICK == 0 {
        Grid::NONE
    } else {
        Grid { tick: f64::from_bits(reader.word()?), phase: if flags & ROUNDED == 0 { 0.0 } else { 0.5 } }
    };
    let (kinds, centres) = if flags & KINDS == 0 { (vec![0; count], 1) } else { predict::renumber(kinds) };
    let centres = (0..centres).map(|_| reader.number()).collect::<Result<Vec<_>, _>>()?;
    let predictor = if flags & RECENT == 0 { Predictor::Centre } else { Predictor::Recent };
    let places = predictor.values(&planes::get(reader, count)?, &kinds, &centres);
    if flags & HAS_TICK == 0 {
        return Ok(places);
    }
    let distances = planes::get(reader, count)?;
    Ok(places.into_iter().zip(distances).map(|(place, folded)| grid.join(place, unfold(folded))).collect())
}

#[cfg(test)]
mod tests;
