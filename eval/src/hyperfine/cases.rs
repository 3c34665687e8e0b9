//! Words for both programs. A row for every option.

/// What both are asked, and why they may differ.
pub(super) struct Case {
    pub(super) words: &'static [&'static str],
    /// Empty where they must not.
    pub(super) why: &'static str,
}

impl Case {
    /// Whether its words say what is shown.
    pub(super) fn has_style(&self) -> bool {
        self.words.iter().any(|word| word.starts_with("--style") || *word == "--show-output")
    }
}

const fn same(words: &'static [&'static str]) -> Case {
    Case { words, why: "" }
}

const fn differs(words: &'static [&'static str], why: &'static str) -> Case {
    Case { words, why }
}

const CHECKED: &str = "tenbin runs each command once before it counts, to see that it does what it must; that run has no number";

pub(super) const CASES: &[Case] = &[
    same(&["-r", "3", "true", "sleep 0"]),
    same(&["--runs", "2", "echo a >> left", "echo b >> left"]),
    same(&["-w", "2", "-r", "3", "echo a >> left", "echo b >> left"]),
    differs(
        &["-m", "3", "-M", "12", "true", "sleep 0"],
        "tenbin stops as soon as it knows, hyperfine after 3 s or -M",
    ),
    same(&["-M", "3", "true", "sleep 0"]),
    same(&["-m", "5", "-M", "3", "true", "sleep 0"]),
    same(&["-s", "echo s >> setup", "-r", "2", "true", "sleep 0"]),
    same(&["-p", "echo p >> prepared", "-r", "2", "true", "sleep 0"]),
    same(&["-p", "echo p >> one", "-p", "echo q >> two", "-r", "2", "true", "sleep 0"]),
    same(&["-p", "echo", "-p", "echo", "-p", "echo", "-r", "2", "true", "sleep 0"]),
    same(&["-C", "echo c >> concluded", "-r", "2", "true", "sleep 0"]),
    same(&["-c", "echo c >> cleaned", "-r", "2", "true", "sleep 0"]),
    same(&["-p", "exit 3", "-r", "2", "true", "sleep 0"]),
    same(&["-P", "n", "1", "3", "-r", "2", "sleep 0.00{n}"]),
    same(&["-P", "n", "0.01", "0.03", "-D", "0.01", "-r", "2", "sleep {n}"]),
    same(&["-P", "n", "3", "1", "-r", "2", "sleep {n}"]),
    same(&[
        "-P",
        "n",
        "1",
        "2",
        "-s",
        "echo {n} >> setup",
        "-p",
        "echo {n} >> prepared",
        "-r",
        "2",
        "sleep 0.00{n}",
    ]),
    same(&["-L", "w", "a,b", "-r", "2", "echo {w} >> left"]),
    same(&["-L", "w", "a,b", "-L", "v", "x,y", "-r", "2", "echo {w}{v} >> left"]),
    same(&["-L", "w", "a\\,b,c", "-r", "2", "echo '{w}' >> left"]),
    same(&["-L", "w", "a,b", "-r", "2", "true"]),
    same(&["-S", "sh", "-r", "2", "echo a >> left", "true"]),
    same(&["-S", "none", "-r", "2", "true", "sleep 0"]),
    same(&["--shell", "default", "-r", "2", "true", "sleep 0"]),
    same(&["-N", "-r", "2", "true", "sleep 0"]),
    same(&["-N", "-r", "2", "touch 'a b'", "true"]),
    same(&["-r", "2", "true", "false"]),
    same(&["-r", "2", "true", "no-such-program"]),
    same(&["-i", "-r", "2", "true", "exit 3"]),
    same(&["-i=3,4", "-r", "2", "true", "exit 3"]),
    same(&["-i=4", "-r", "2", "true", "exit 3"]),
    same(&["--ignore-failure=all-non-zero", "-r", "2", "true", "exit 3"]),
    differs(
        &["-i", "-r", "2", "true", "kill -9 $$"],
        "a command that a signal ended did not do its work, so its time is none of that",
    ),
    same(&["--style", "auto", "-r", "2", "true", "sleep 0"]),
    same(&["--style", "basic", "-r", "2", "true", "sleep 0"]),
    same(&["--style", "full", "-r", "2", "true", "sleep 0"]),
    same(&["--style", "nocolor", "-r", "2", "true", "sleep 0"]),
    same(&["--style", "color", "-r", "2", "true", "sleep 0"]),
    same(&["--style", "none", "-r", "2", "true", "sleep 0"]),
    same(&["--sort", "mean-time", "-r", "2", "sleep 0.01", "true", "--export-markdown", "table.md"]),
    same(&["--sort", "command", "-r", "2", "sleep 0.01", "true", "--export-orgmode", "table.org"]),
    same(&["-u", "microsecond", "-r", "2", "sleep 0.01", "true", "--export-markdown", "table.md"]),
    same(&["-u", "millisecond", "-r", "2", "sleep 0.01", "true", "--export-asciidoc", "table.adoc"]),
    same(&["-u", "second", "-r", "2", "sleep 0.01", "true", "--export-orgmode", "table.org"]),
    same(&["-r", "2", "true", "sleep 0", "--export-csv", "table.csv"]),
    same(&["-r", "2", "true", "sleep 0", "--export-json", "nowhere/out.json"]),
    same(&["--show-output", "-r", "2", "echo shown", "true"]),
    same(&["--output", "null", "-r", "2", "echo shown", "true"]),
    same(&["--output", "pipe", "-r", "2", "echo shown", "true"]),
    same(&["--output", "inherit", "-r", "2", "echo shown", "true"]),
    same(&["--output", "./left", "-r", "2", "echo written", "echo written"]),
    same(&["--output", "./one", "--output", "./two", "-r", "2", "echo a", "echo b"]),
    same(&["--input", "input", "-r", "2", "cat >> left", "true"]),
    same(&["--input", "nowhere", "-r", "2", "cat", "true"]),
    same(&["-n", "one", "-n", "two", "-r", "2", "true", "sleep 0"]),
    same(&["-n", "one {w}", "-L", "w", "a,b", "-r", "2", "sleep 0"]),
    same(&["--reference", "sleep 0.01", "-r", "2", "true", "sleep 0"]),
    same(&["--reference", "sleep 0.01", "--reference-name", "slow", "-r", "2", "true", "sleep 0"]),
    differs(&["-r", "2", "echo $HYPERFINE_ITERATION >> left", "true"], CHECKED),
    differs(&["-w", "1", "-r", "2", "echo $HYPERFINE_ITERATION >> left", "true"], CHECKED),
    differs(&["-r", "2", "true"], "one command alone has nothing to be weighed against"),
    same(&["--no-such-option", "true", "sleep 0"]),
];
