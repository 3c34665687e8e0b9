//! From the words of a command to a program with arguments, or to a shell that reads them.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::experiment::Unfit;

/// Who reads the words of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Shell {
    /// The machine's shell, where a command needs one; of several commands either all or none.
    #[default]
    WhereNeeded,
    /// Nobody: a program and its arguments, with quotes as a shell has them.
    Never,
    /// This one: a program and its arguments, to which `-c` and the command are added.
    Always(Vec<String>),
}

impl Shell {
    /// The machine's shell.
    pub const USUAL: &str = "sh";

    /// What `--shell` is given: `none`, `default`, or a shell with its arguments.
    ///
    /// # Errors
    /// A usage error where it is no list of words.
    pub fn named(text: &str) -> Result<Self, Unfit> {
        match text {
            "none" => Ok(Self::Never),
            "default" => Ok(Self::Always(vec![Self::USUAL.into()])),
            text => match shell_words::split(text) {
                Ok(words) if !words.is_empty() => Ok(Self::Always(words)),
                Ok(_) => Err(Unfit::Usage("--shell: it is empty; `none` means none".into())),
                Err(error) => Err(Unfit::Usage(format!("--shell {text}: {error}"))),
            },
        }
    }
}

/// Whether a command has words that only a shell understands.
pub(super) fn needs_shell(command: &str) -> bool {
    let mut quote = None;
    let mut letters = command.chars();
    let mut start_of_word = true;
    let mut word = String::new();
    let mut first = None;
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (Some(_), '$' | '`') => return true,
            (Some(_) | None, '\\') => {
                // A backslash at a line's end, and one before a letter, are read alike by both.
                letters.next();
            }
            (None, '\'' | '"') => quote = Some(letter),
            (None, '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' | '*' | '?' | '[' | '\n') => {
                return true;
            }
            (None, '~' | '#') if start_of_word => return true,
            (None, letter) => {
                if letter.is_whitespace() {
                    if first.is_none() && !word.is_empty() {
                        first = Some(std::mem::take(&mut word));
                    }
                } else if first.is_none() {
                    word.push(letter);
                }
            }
            (Some(_), _) => {}
        }
        start_of_word = quote.is_none() && letter.is_whitespace();
    }
    let first = first.unwrap_or(word);
    // An assignment, a negation, a group.
    first.contains('=')
        || ["!", "{"].contains(&first.as_str())
        || (is_of_shell(&first) && in_path(&first).is_none())
}

/// Whether POSIX has this word for a command or a keyword of the shell itself (Shell Command Language, 2.4
/// and
/// 2.14).
fn is_of_shell(word: &str) -> bool {
    const WORDS: &[&str] = &[
        ":", ".", "alias", "bg", "break", "case", "cd", "command", "continue", "eval", "exec", "exit",
        "export", "fc", "fg", "for", "getopts", "hash", "if", "jobs", "read", "readonly", "return", "set",
        "shift", "source", "times", "trap", "type", "ulimit", "umask", "unalias", "unset", "until", "wait",
        "while",
    ];
    WORDS.contains(&word)
}

/// The words of a command that no shell reads.
///
/// # Errors
/// A usage error: a quote that does not end, or no word at all.
pub(crate) fn words(command: &str) -> Result<Vec<String>, Unfit> {
    match shell_words::split(command) {
        Ok(words) if !words.is_empty() => Ok(words),
        Ok(_) => Err(Unfit::Usage("a command is empty".into())),
        Err(error) => Err(Unfit::Usage(format!("`{command}`: {error}"))),
    }
}

pub(super) fn read_by(shell: &[String], line: &str) -> Vec<String> {
    shell.iter().cloned().chain(["-c".into(), line.to_owned()]).collect()
}

/// The words of a command, whoever reads it, but for what its output is redirected to. None where quotes do
/// not end.
pub(super) fn arguments(command: &str) -> Vec<String> {
    let words = shell_words::split(command).unwrap_or_default();
    let redirected = |place: usize| place > 0 && words[place - 1].ends_with('>');
    (0..words.len()).filter(|&place| !redirected(place)).map(|place| words[place].clone()).collect()
}

/// The program that `name` means, seen from `folder`.
///
/// # Errors
/// A usage error where there is none, or nobody may execute it: what a shell ends with 127 or 126 for.
pub(crate) fn program(name: &str, folder: Option<&Path>) -> Result<PathBuf, Unfit> {
    let wrong = |words: &str| Err(Unfit::Usage(format!("`{name}`: {words}")));
    const NOT_FOUND: &str = "command not found (a shell would end with 127): check PATH and the spelling";
    if !name.contains('/') {
        return in_path(name).map_or_else(|| wrong(NOT_FOUND), Ok);
    }
    let path = Path::new(name);
    let seen = folder.map_or_else(|| path.into(), |folder| folder.join(path));
    match fs::metadata(&seen) {
        Err(_) => wrong(NOT_FOUND),
        Ok(seen) if seen.is_dir() => wrong("it is a folder (a shell would end with 126)"),
        Ok(seen) if !is_executable(&seen) => {
            wrong("nobody may execute it (a shell would end with 126); `chmod +x` lets everybody")
        }
        Ok(_) => Ok(path.into()),
    }
}

/// The same as it is seen from anywhere.
///
/// # Errors
/// As [`program`], and where the current folder is gone.
pub(crate) fn seen_program(name: &str, folder: Option<&Path>) -> Result<PathBuf, Unfit> {
    let path = program(name, folder)?;
    let path = folder.map_or_else(|| path.clone(), |folder| folder.join(&path));
    std::path::absolute(&path).map_err(|error| Unfit::Usage(format!("`{name}`: {error}")))
}

/// Whether somebody may execute a file.
fn is_executable(file: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.is_file() && file.permissions().mode() & 0o111 != 0
}

/// The first file of that name in PATH that somebody may execute.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let executable = |place: &PathBuf| fs::metadata(place).is_ok_and(|seen| is_executable(&seen));
    env::split_paths(&path).map(|folder| folder.join(name)).find(executable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_needed_for_what_only_a_shell_understands() {
        for plain in [
            "true",
            "sort big.txt",
            "grep -i 'a|b' f",
            "printf '$x'",
            "echo \"two words\"",
            "find . -name x{}",
            "a\\;b",
        ] {
            assert!(!needs_shell(plain), "{plain}");
        }
        for shell in [
            "a | b",
            "a && b",
            "sleep 0.1; sleep 0.2",
            "echo $HOME",
            "echo \"$HOME\"",
            "ls *.c",
            "x=1 make",
            "exit 3",
            ": > f",
            "cat < f",
            "echo `date`",
            "ls ~",
            "! true",
            "{ true; }",
            "cd /",
            "wait",
        ] {
            assert!(needs_shell(shell), "{shell}");
        }
    }

    #[test]
    fn what_is_not_there_is_a_usage_error_that_names_127() {
        let Err(Unfit::Usage(message)) = program("no-such-program", None) else { panic!() };
        assert!(
            message.contains("`no-such-program`: command not found") && message.contains("127"),
            "{message}"
        );
        assert!(program("sh", None).unwrap().is_absolute());
        assert_eq!(program("/bin/sh", None).unwrap(), Path::new("/bin/sh"));
        assert!(matches!(words("a 'b"), Err(Unfit::Usage(_))) && matches!(words(" "), Err(Unfit::Usage(_))));
    }

    #[test]
    fn what_output_is_redirected_to_is_no_argument() {
        assert_eq!(arguments("sort 'a b' >out 2> errors >> log x"), ["sort", "a b", ">out", "2>", ">>", "x"]);
        assert!(arguments("sort 'a").is_empty());
    }

    #[test]
    fn a_shell_is_named_with_its_arguments() {
        assert_eq!(Shell::named("none").unwrap(), Shell::Never);
        assert_eq!(Shell::named("default").unwrap(), Shell::Always(vec!["sh".into()]));
        assert_eq!(Shell::named("bash --norc").unwrap(), Shell::Always(vec!["bash".into(), "--norc".into()]));
        assert!(Shell::named("").is_err() && Shell::named("'").is_err());
    }
}
