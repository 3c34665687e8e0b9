//! How processes end, in words.

use tenbin_model::words::comma;

/// "signal 11 (SIGSEGV)": a signal with its name, where it is one that ends or stops programs (signal(7), the
/// numbers of x86, Arm and RISC-V).
pub(crate) fn signal(number: i32) -> String {
    let name = match number {
        2 => "SIGINT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        19 => "SIGSTOP",
        21 => "SIGTTIN",
        22 => "SIGTTOU",
        24 => "SIGXCPU",
        31 => "SIGSYS",
        _ => return format!("signal {number}"),
    };
    format!("signal {number} ({name})")
}

/// The last lines that a process wrote to standard error, in parentheses; nothing where there are none.
pub(crate) fn last_words(errors: &[u8]) -> String {
    const LINES: usize = 3;
    let text = String::from_utf8_lossy(errors);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last: Vec<String> = lines[lines.len().saturating_sub(LINES)..]
        .iter()
        .map(|line| line.chars().take(200).collect())
        .collect();
    if last.is_empty() { String::new() } else { format!(" ({})", comma(&last)) }
}
