//! How processes end, in words.

use tenbin_model::words::comma;

/// Signals by number from 1: asm/signal.h of x86 and asm-generic/signal.h.
pub(crate) const SIGNALS: &str = "\
    SIGHUP SIGINT SIGQUIT SIGILL SIGTRAP SIGABRT SIGBUS SIGFPE SIGKILL SIGUSR1 SIGSEGV SIGUSR2 SIGPIPE \
    SIGALRM SIGTERM SIGSTKFLT SIGCHLD SIGCONT SIGSTOP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGXCPU SIGXFSZ \
    SIGVTALRM SIGPROF SIGWINCH SIGIO SIGPWR SIGSYS";

/// Those that end or stop programs (signal(7)).
const ENDING: [i32; 16] = [2, 4, 5, 6, 7, 8, 9, 11, 13, 14, 15, 19, 21, 22, 24, 31];

/// The name of a signal.
pub(crate) fn signal_name(number: i32) -> Option<&'static str> {
    SIGNALS.split(' ').nth(usize::try_from(number).ok()?.checked_sub(1)?)
}

/// "signal 11 (SIGSEGV)": a signal with its name, where it is one that ends or stops programs.
pub(crate) fn signal(number: i32) -> String {
    match signal_name(number).filter(|_| ENDING.contains(&number)) {
        Some(name) => format!("signal {number} ({name})"),
        None => format!("signal {number}"),
    }
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
