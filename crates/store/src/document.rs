//! The document of a run or a calibration: JSON, which lies in the file under zstd.

use std::io::{Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Unfaithful;

/// A document of a few hundred kilobytes is large; this bounds what a damaged one can claim.
const LARGEST: u64 = 256 << 20;

/// Levels of compression. The first takes up to 30 MB to work in; the second, which packs a tenth less
/// tightly, one, where that cannot be had.
const LEVELS: [i32; 2] = [12, 1];

/// Writes a value as JSON. Fails if it holds something that JSON cannot hold, such as a NaN: kept, it
/// would not come back as it was.
pub(crate) fn write<T: Serialize + DeserializeOwned + PartialEq>(value: &T) -> Result<Vec<u8>, Unfaithful> {
    let json = serde_json::to_vec(value).map_err(|error| Unfaithful(error.to_string()))?;
    match serde_json::from_slice::<T>(&json) {
        Ok(back) if back == *value => Ok(json),
        Ok(_) => Err(Unfaithful("a value does not come back from JSON as it was".into())),
        Err(error) => Err(Unfaithful(error.to_string())),
    }
}

/// Reads JSON, or as much of it as `T` has fields for. An error says what is wrong.
pub(crate) fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, String> {
    serde_json::from_slice(json).map_err(|error| format!("its document cannot be read: {error}"))
}

/// Packs JSON. The checksum guards the lists, which read documents without comparing their hash.
pub(crate) fn compress(json: &[u8]) -> Result<Vec<u8>, Unfaithful> {
    let pack = |level| {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), level)?;
        encoder.include_checksum(true)?;
        encoder.write_all(json)?;
        encoder.finish()
    };
    let [usual, small] = LEVELS;
    pack(usual).or_else(|_| pack(small)).map_err(|error: std::io::Error| Unfaithful(error.to_string()))
}

/// Unpacks JSON. An error says what is wrong.
pub(crate) fn decompress(packed: &[u8]) -> Result<Vec<u8>, String> {
    let mut json = Vec::new();
    zstd::stream::read::Decoder::new(packed)
        .and_then(|decoder| decoder.take(LARGEST).read_to_end(&mut json))
        .map_err(|error| format!("its document is damaged: {error}"))?;
    Ok(json)
}
