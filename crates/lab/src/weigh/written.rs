//! What commands write, to be compared and checked.

use tenbin_model::Bytes;

use crate::hash::hashed;

/// Bytes of what a command writes that are kept to say where they differ from what another one writes.
pub(super) const COMPARED: usize = 16 << 20;

/// Bytes of it that are kept for a check, which has to see all of them.
pub(super) const CHECKED: usize = 256 << 20;

/// What a command wrote to standard output.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) kept: Vec<u8>,
    /// So many bytes of it are kept.
    most: usize,
    length: u64,
    /// What [`hashed`] makes of all of them.
    hash: u64,
}

impl Written {
    /// Nothing yet, of which at most so many bytes are kept.
    pub(super) fn of_at_most(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.length == self.kept.len() as u64
    }

    pub(super) fn add(&mut self, part: &[u8]) {
        self.hash = hashed((self.length > 0).then_some(self.hash), part.iter().copied());
        self.length += part.len() as u64;
        let room = self.most.saturating_sub(self.kept.len()).min(part.len());
        self.kept.extend_from_slice(&part[..room]);
    }

    /// Where this and another begin to differ, in words. None where they are the same.
    pub(super) fn difference(&self, expected: &Self) -> Option<String> {
        if (self.length, self.hash) == (expected.length, expected.hash) {
            return None;
        }
        let place = self.kept.iter().zip(&expected.kept).position(|(one, other)| one != other);
        let common = self.kept.len().min(expected.kept.len());
        let Some(place) = place.or((self.length != expected.length && common < self.most).then_some(common))
        else {
            return Some(format!("after its first {}", Bytes(self.most as u64)));
        };
        let line = self.kept[..place].iter().filter(|&&byte| byte == b'\n').count() + 1;
        let start = self.kept[..place].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let text = |bytes: &[u8]| {
            let line =
                bytes[start.min(bytes.len())..].split(|&byte| byte == b'\n').next().unwrap_or_default();
            let shown: String = String::from_utf8_lossy(line).chars().take(60).collect();
            format!("{shown:?}")
        };
        Some(format!("in line {line}, which is {} in place of {}", text(&self.kept), text(&expected.kept)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(parts: &[&str]) -> Written {
        let mut written = Written::of_at_most(COMPARED);
        parts.iter().for_each(|part| written.add(part.as_bytes()));
        written
    }

    #[test]
    fn what_is_written_in_other_parts_is_the_same_and_lines_differ() {
        assert_eq!(written(&["one\ntwo\n"]).difference(&written(&["one", "\ntwo\n"])), None);
        for (one, other, difference) in [
            ("a\nb\n", "a\nc\n", r#"in line 2, which is "b" in place of "c""#),
            ("a\n", "a\nc\n", r#"in line 2, which is "" in place of "c""#),
            ("", "a", r#"in line 1, which is "" in place of "a""#),
        ] {
            assert_eq!(written(&[one]).difference(&written(&[other])).unwrap(), difference);
        }
        let long = "x".repeat(COMPARED);
        let beyond = written(&[&long, "a"]).difference(&written(&[&long, "b"])).unwrap();
        assert_eq!(beyond, "after its first 16 MiB");
        assert_eq!([&written(&[&long]), &written(&[&long, "a"])].map(Written::is_whole), [true, false]);
    }
}
