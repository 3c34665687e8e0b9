//! `tenbin fib` as a user meets it. That the numbers are right is shown beside them, in `crates/bignum`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::Read;
use std::process::{Command, Output, Stdio};

/// Runs it until it ends, and returns its status, its answer and what it said.
fn fib(words: &[&str]) -> (Option<i32>, String, String) {
    let output = command(words).output().unwrap();
    ending(output)
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenbin"));
    command.arg("fib").args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn ending(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_number_is_one_line_in_the_form_that_is_asked_for() {
    let answers = [
        (&["0"][..], "0\n"),
        (&["1"], "1\n"),
        (&["93"], "12200160415121876738\n"),
        (&["94"], "19740274219868223167\n"),
        (&["100"], "354224848179261915075\n"),
        (&["0", "--hex"], "0x0\n"),
        (&["100", "--hex"], "0x1333db76a7c594bfc3\n"),
        (&["0", "--digits", "5"], "F(0) has 1 digit: 0\n"),
        (&["100", "--digits", "3"], "F(100) has 21 digits: 354...075\n"),
        (&["100", "--digits", "10"], "F(100) has 21 digits: 3542248481...9261915075\n"),
        (&["100", "--digits", "11"], "F(100) has 21 digits: 354224848179261915075\n"),
        (&["100", "--digits", "4294967295"], "F(100) has 21 digits: 354224848179261915075\n"),
        (&["100000", "--digits", "15"], "F(100000) has 20899 digits: 259740693472217...374653428746875\n"),
    ];
    for (words, wanted) in answers {
        assert_eq!(fib(words), (Some(0), wanted.to_owned(), String::new()), "{words:?}");
    }
}

#[test]
fn what_is_no_index_is_a_usage_error() {
    let wrong = [
        (&[][..], "<N>"),
        (&["-1"], "-1"),
        (&["ten"], "ten"),
        (&["100000001"], "100000001 is not in 0..=100000000"),
        (&["18446744073709551616"], "18446744073709551616"),
        (&["10", "--digits", "0"], "--digits"),
        (&["10", "--digits", "3", "--hex"], "--hex"),
    ];
    for (words, named) in wrong {
        let (status, answer, error) = fib(words);
        assert_eq!((status, answer), (Some(2), String::new()), "{words:?}");
        assert!(error.starts_with("tenbin: usage error: ") && error.contains(named), "{words:?}: {error}");
    }
}

#[test]
fn a_reader_that_leaves_is_no_trouble() {
    // 209 thousand bytes in hexadecimal: more than any pipe holds that nobody has enlarged.
    let mut child = command(&["1200000", "--hex"]).spawn().unwrap();
    let mut start = [0; 2];
    child.stdout.take().unwrap().read_exact(&mut start).unwrap();
    assert_eq!(&start, b"0x");
    assert_eq!(ending(child.wait_with_output().unwrap()), (Some(0), String::new(), String::new()));
}
