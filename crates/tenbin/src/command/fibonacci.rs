//! `tenbin fib`: a Fibonacci number.

use crate::output::Answer;

/// F(n) in decimal, in hexadecimal, or by its first and last decimal digits: one line.
pub fn fibonacci(n: u64, hexadecimal: bool, ends: Option<u32>) -> Answer {
    let number = tenbin_bignum::fibonacci(n);
    Answer::text(match ends {
        _ if hexadecimal => format!("{number:#x}\n"),
        None => format!("{number}\n"),
        Some(ends) => abbreviated(n, &number.to_string(), ends as usize),
    })
}

/// How many digits there are, and those at both ends; all of them where nothing would be left out.
fn abbreviated(n: u64, digits: &str, ends: usize) -> String {
    let count = digits.len();
    let counted = if count == 1 { "1 digit".to_owned() } else { format!("{count} digits") };
    let shown = if count <= ends.saturating_mul(2) {
        digits.to_owned()
    } else {
        format!("{}...{}", &digits[..ends], &digits[count - ends..])
    };
    format!("F({n}) has {counted}: {shown}\n")
}
