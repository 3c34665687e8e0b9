//! The table of kernels that tenbin prints: what each must contain.

use tenbin_model::Kernel;

use super::PREFIX;
use crate::failure::Failure;

/// Reads what `tenbin kernels --json` prints.
pub(super) fn parse(text: &str) -> Result<Vec<Kernel>, Failure> {
    let failure = |reason: &dyn std::fmt::Display| {
        Failure::new("read the table of kernels", reason, "look at what `tenbin kernels --json` prints")
    };
    let kernels: Vec<Kernel> = serde_json::from_str(text).map_err(|error| failure(&error))?;
    if kernels.is_empty() { Err(failure(&"it is empty")) } else { Ok(kernels) }
}

/// What is in one of the two and not in the other.
pub(super) fn differences<'a>(kernels: &[Kernel], symbols: impl Iterator<Item = &'a str>) -> Vec<String> {
    let symbols = symbols.collect::<Vec<_>>();
    let mut differences = Vec::new();
    for kernel in kernels {
        let Kernel { symbol, name, .. } = kernel;
        if !symbols.contains(&symbol.as_str()) {
            differences.push(format!("the table has {name}, and the binary has no symbol {symbol}"));
        }
        if !symbol.starts_with(PREFIX) {
            differences.push(format!("the symbol {symbol} of {name} does not begin with {PREFIX}"));
        }
    }
    for symbol in symbols {
        if !kernels.iter().any(|kernel| kernel.symbol == symbol) {
            differences.push(format!("the binary has {symbol}, and the table has no such symbol"));
        }
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str =
        r#"[{"symbol": "tenbin_kernel_x", "name": "x", "instructions": ["lock xaddq"], "available": true}]"#;

    #[test]
    fn the_table_is_read() {
        assert_eq!(parse(ENTRY).expect("it is well formed"), [super::super::kernel(&["lock xaddq"])]);
    }

    #[test]
    fn a_table_that_is_empty_or_lacks_a_field_is_refused() {
        for text in
            ["", "{}", "[]", &ENTRY.replace("available", "unavailable"), &ENTRY.replace("symbol", "name")]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn table_and_binary_must_agree_both_ways() {
        let kernels = [super::super::kernel(&[])];
        assert_eq!(differences(&kernels, ["tenbin_kernel_x"].into_iter()), Vec::<String>::new());
        assert_eq!(differences(&kernels, [].into_iter()).len(), 1);
        assert_eq!(differences(&kernels, ["tenbin_kernel_x", "tenbin_kernel_y"].into_iter()).len(), 1);
    }
}
