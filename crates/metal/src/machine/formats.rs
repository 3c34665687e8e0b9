//! The formats that the kernel writes, as pure functions of text.

use tenbin_model::{Bytes, Cpu, Order};

use super::root::Reading;

/// More CPUs than any kernel can be built for (x86-64 stops at 8192): a larger number is damage,
/// and unfolding a range up to it would eat the memory.
const LARGEST_CPU: u32 = 0xffff;

/// A list such as `0-3,8`, as `bitmap_print_to_pagebuf` writes it. Empty text is an empty list.
/// The result is ascending and free of repetition.
///
/// # Errors
/// What is wrong with the text.
pub fn cpu_list(text: &str) -> Reading<Vec<Cpu>> {
    let mut cpus = cpus_in_order(text)?;
    cpus.order();
    cpus.dedup();
    Ok(cpus)
}

/// The same list in the order in which it was written, as people give it: `2,0-1` is 2, 0, 1.
///
/// # Errors
/// What in the text is no CPU and no range of CPUs.
pub fn cpus_in_order(text: &str) -> Result<Vec<Cpu>, String> {
    let mut cpus = Vec::new();
    for range in text.trim().split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (integer::<u32>(first)?, integer::<u32>(last)?);
        if first > last || last > LARGEST_CPU {
            return Err(format!("`{range}` is not a range of CPUs"));
        }
        cpus.extend((first..=last).map(Cpu));
    }
    Ok(cpus)
}

/// A size such as `480K`, `32768K`, `2M` or a bare number of bytes.
pub(super) fn size(text: &str) -> Reading<Bytes> {
    let text = text.trim();
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'K')) => (&text[..at], 1 << 10),
        Some((at, 'M')) => (&text[..at], 1 << 20),
        Some((at, 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let count: u64 = integer(digits)?;
    count.checked_mul(unit).map(Bytes).ok_or_else(|| format!("`{text}` is too large for a size"))
}

/// A decimal number, with no sign and no unit.
///
/// # Errors
/// What is wrong with the text.
pub fn integer<T: std::str::FromStr>(text: &str) -> Reading<T> {
    let text = text.trim();
    // `parse` would take a leading `+`, which the kernel never writes.
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(format!("`{}` is no number", shortened(text)));
    }
    text.parse().map_err(|_| format!("`{}` is not a number that fits", shortened(text)))
}

/// A hexadecimal number such as `0x41`.
pub(super) fn hexadecimal(text: &str) -> Reading<u64> {
    let text = text.trim();
    let digits = text.strip_prefix("0x").ok_or_else(|| format!("`{}` has no 0x", shortened(text)))?;
    u64::from_str_radix(digits, 16).map_err(|_| format!("`{}` is not a hexadecimal number", shortened(text)))
}

/// The word in brackets of `always [madvise] never`.
pub(super) fn bracketed(text: &str) -> Reading<String> {
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word);
    chosen.map(str::to_owned).ok_or_else(|| format!("no choice in brackets in `{}`", shortened(text)))
}

/// The values of every line `key : value`, in order.
pub(super) fn fields<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim())
        .collect()
}

/// The value of the first line `key : value` that is not empty.
pub(super) fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    fields(text, key).into_iter().find(|value| !value.is_empty())
}

/// `processor` and the number called `key` of each block of `/proc/cpuinfo` that has both.
pub(super) fn by_processor<T: std::str::FromStr>(cpuinfo: &str, key: &str) -> Vec<(Cpu, T)> {
    let mut numbers = Vec::new();
    let mut processor = None;
    for (name, value) in cpuinfo.lines().filter_map(|line| line.split_once(':')) {
        match name.trim() {
            "processor" => processor = integer(value).ok().map(Cpu),
            name if name == key => numbers.extend(processor.take().zip(integer(value).ok())),
            _ => {}
        }
    }
    numbers
}

/// The amount in a line of `/proc/meminfo`: `MemTotal:  24684084 kB`, where kB means 1024 bytes.
///
/// # Errors
/// What is wrong with the text.
pub fn meminfo(text: &str, key: &str) -> Reading<Bytes> {
    let value = field(text, key).ok_or_else(|| format!("no line `{key}`"))?;
    let count = value.strip_suffix("kB").ok_or_else(|| format!("`{key}` is not in kB"))?;
    let count: u64 = integer(count)?;
    count.checked_mul(1024).map(Bytes).ok_or_else(|| format!("`{key}` is too large"))
}

/// Enough of a foreign text to recognise it in a message.
fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tenbin_model::machine::cpu_ranges;

    use super::*;

    #[test]
    fn lists_as_the_kernel_writes_them() {
        let list = |text| cpu_list(text).map(|cpus| cpus.iter().map(|cpu| cpu.0).collect::<Vec<_>>());
        assert_eq!(list("0-3,8\n"), Ok(vec![0, 1, 2, 3, 8]));
        assert_eq!(list("7"), Ok(vec![7]));
        assert_eq!(list(""), Ok(vec![]));
        assert!(list("3-1").is_err());
        assert!(list("0-4294967295").is_err());
        assert!(list("all").is_err());
    }

    #[test]
    fn sizes_as_the_kernel_writes_them() {
        assert_eq!(size("480K"), Ok(Bytes::from_kib(480)));
        assert_eq!(size("32768K\n"), Ok(Bytes(32 << 20)));
        assert_eq!(size("4096"), Ok(Bytes(4096)));
        assert!(size("").is_err());
        assert!(size("K").is_err());
        assert!(size("-1").is_err());
        assert!(size("99999999999999999G").is_err());
    }

    #[test]
    fn choices_fields_and_amounts() {
        assert_eq!(bracketed("always [madvise] never").unwrap(), "madvise");
        assert!(bracketed("madvise").is_err());
        let text = "a\t: \nb\t: 1\nMemTotal:   8 kB\na : 2\nnoise";
        assert_eq!(fields(text, "a"), ["", "2"]);
        assert_eq!(field(text, "a"), Some("2"));
        assert_eq!(meminfo(text, "MemTotal"), Ok(Bytes(8192)));
        assert!(meminfo(text, "MemFree").unwrap_err().contains("MemFree"));
        assert_eq!(hexadecimal("0xd08"), Ok(0xd08));
        assert!(hexadecimal("d08").is_err());
    }

    proptest! {
        #[test]
        fn a_list_survives_writing_and_reading(set in proptest::collection::btree_set(0u32..9000, 0..64)) {
            let cpus: Vec<Cpu> = set.into_iter().map(Cpu).collect();
            prop_assert_eq!(cpu_list(&cpu_ranges(&cpus)), Ok(cpus));
        }

        #[test]
        fn a_size_is_its_number_times_its_unit(count in 0u64..1 << 32, unit in 0usize..4) {
            let (suffix, factor) = [("", 1), ("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30)][unit];
            prop_assert_eq!(size(&format!("{count}{suffix}")), Ok(Bytes(count * factor)));
        }

        #[test]
        fn odd_text_is_refused_and_never_panics(text in "\\PC{0,60}") {
            let _ = (cpu_list(&text), size(&text), hexadecimal(&text), bracketed(&text));
            let _ = (integer::<u8>(&text), meminfo(&text, "MemTotal"), fields(&text, "a"));
        }

        #[test]
        fn text_near_the_real_formats_never_panics(text in "[-0-9,KMGx:\\[\\] \n]{0,40}") {
            let _ = (cpu_list(&text), size(&text), hexadecimal(&text), bracketed(&text));
            let _ = (integer::<u32>(&text), field(&text, "0"));
        }
    }
}
