//! Sources of programs in C, as the build script packed them.

/// The text of a source, by the name of its file.
macro_rules! source {
    ($name:literal) => {
        $crate::source::unpacked(include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".deflate")))
    };
}

pub(crate) use source;

/// What was packed. A compiler refuses an empty program where it cannot be unpacked, which tests exclude.
pub(crate) fn unpacked(packed: &[u8]) -> String {
    let text = miniz_oxide::inflate::decompress_to_vec(packed).unwrap_or_default();
    String::from_utf8(text).unwrap_or_default()
}
