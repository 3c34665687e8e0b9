//! `tenbin fib`: a Fibonacci number.

use clap::Args;
use tenbin_model::words::counted;

use super::{Verb, Work};
use crate::output::{Answer, Trouble};

/// Print a Fibonacci number, exactly
///
/// F(0) is 0 and F(1) is 1. In decimal, of any size: F(1000000) has 208988 digits and takes less than a
/// second, the largest one that may be asked for has 20898764 and takes minutes.
#[derive(Args)]
pub struct Fib {
    /// Which one
    #[arg(value_name = "N", value_parser = number)]
    n: u64,
    /// In hexadecimal, which takes no division
    #[arg(long)]
    hex: bool,
    /// Only how many decimal digits it has, and the first and the last K of them
    #[arg(long, value_name = "K", conflicts_with = "hex", value_parser = clap::value_parser!(u32).range(1..))]
    digits: Option<u32>,
}

pub const VERB: Verb = Verb::of::<Fib>("fib");

impl Work for Fib {
    fn run(self) -> Result<Answer, Trouble> {
        let Self { n, hex, digits } = self;
        let number = tenbin_bignum::fibonacci(n);
        Ok(Answer::text(match digits {
            _ if hex => format!("{number:#x}\n"),
            None => format!("{number}\n"),
            Some(ends) => abbreviated(n, &number.to_string(), ends as usize),
        }))
    }
}

fn number(text: &str) -> Result<u64, String> {
    const MOST: u64 = 100_000_000;
    let number = text.parse().ok().filter(|number| *number <= MOST);
    number.ok_or_else(|| format!("it is a number in digits, from 0 to {MOST}"))
}

/// How many digits there are, and those at both ends; all of them where nothing would be left out.
fn abbreviated(n: u64, digits: &str, ends: usize) -> String {
    let count = digits.len();
    let counted = counted(count, "digit");
    let shown = if count <= ends.saturating_mul(2) {
        digits.to_owned()
    } else {
        format!("{}...{}", &digits[..ends], &digits[count - ends..])
    };
    format!("F({n}) has {counted}: {shown}\n")
}
