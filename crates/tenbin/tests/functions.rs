//! Functions, instructions and workers, weighed: what is answered, what is caught, and what is left behind.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

#[allow(dead_code, reason = "the other files of tests use the rest")]
mod place;

use place::{Place, ending, joined, json as report, text};

/// A place with these files in it.
fn with(files: &[(&str, &str)]) -> Place {
    let place = Place::new();
    for (name, content) in files {
        fs::write(place.path(name), content).unwrap();
    }
    place
}

/// Weighs in the place's folder, without a store.
fn weigh(place: &Place, arguments: &[&str]) -> Output {
    place.tenbin(&[&["weigh", "--no-store"], arguments].concat())
}

/// What was shown, in one line.
fn shown(output: &Output) -> String {
    joined(&text(&output.stdout))
}

/// A function that takes so many turns for an operation.
fn turning(turns: u64) -> String {
    format!(
        "#include \"tenbin.h\"\n\
         uint64_t tenbin_run(void *state, uint64_t n)\n\
         {{\n\
             volatile uint64_t turn;\n\
             (void)state;\n\
             for (uint64_t i = 0; i < n; i++)\n\
                 for (turn = 0; turn < {turns}; turn++)\n\
                     ;\n\
             return n;\n\
         }}\n"
    )
}

fn git(place: &Place, words: &[&str]) {
    let output = place.git(".", words);
    assert!(output.status.success(), "git {words:?}: {}", text(&output.stderr));
}

/// Keeps all that is in the place's folder.
fn commit(place: &Place, message: &str) {
    git(place, &["add", "-A"]);
    git(place, &["commit", "-q", "-m", message]);
}

/// A place with workers in it, each compiled from C: its name, the turns of an operation, and how it answers
/// `run`, with the time in `t` and the evidence in `e`.
fn with_workers(workers: &[(&str, u32, &str)]) -> Place {
    let place = Place::new();
    for (name, turns, run) in workers {
        let source = format!(
            "#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
             #include <time.h>\n#include <unistd.h>\n\
             typedef unsigned long long number;\n\
             static number now(void)\n\
             {{ struct timespec at; clock_gettime(CLOCK_MONOTONIC, &at); return at.tv_sec * 1000000000ull + at.tv_nsec; }}\n\
             int main(void)\n\
             {{\n\
                 char line[100];\n\
                 setvbuf(stdout, 0, _IOLBF, 0);\n\
                 while (fgets(line, sizeof line, stdin)) {{\n\
                     number v, n, t = now(), e;\n\
                     if (!strncmp(line, \"variants\", 8)) {{ puts(\"work\"); continue; }}\n\
                     if (!strncmp(line, \"check\", 5)) {{ puts(\"ok\"); continue; }}\n\
                     sscanf(line, \"run %llu %llu\", &v, &n);\n\
                     for (volatile number i = 0; i < n * {turns}; i++) ;\n\
                     t = now() - t; e = n;\n\
                     {run};\n\
                 }}\n\
                 return 0;\n\
             }}\n"
        );
        fs::write(place.path("worker.c"), source).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-o"]).arg(place.path(name)).arg(place.path("worker.c"));
        assert!(compiler.status().unwrap().success());
    }
    place
}

const HONEST: &str = r#"printf("%llu %llu\n", t, e)"#;

#[test]
fn a_function_that_does_less_is_cheaper_over_layouts() {
    let place = with(&[("few.c", &turning(10)), ("many.c", &turning(40))]);
    let output = weigh(&place, &["few.c", "many.c"]);
    assert_eq!(ending(&output).0, 0, "{}", ending(&output).1);
    let shown = shown(&output);
    assert!(shown.starts_with("few.c is ") && shown.contains("x cheaper than many.c"), "{shown}");
    assert!(shown.contains(" layouts"), "{shown}");
    assert!(shown.contains("1 of 1 planted faults were caught"), "{shown}");
}

#[test]
fn one_layout_is_said_to_be_one() {
    let place = with(&[("few.c", &turning(10)), ("many.c", &turning(40))]);
    let shown = shown(&weigh(&place, &["--one-layout", "few.c", "many.c"]));
    assert!(shown.starts_with("few.c is ") && !shown.contains(" layouts"), "{shown}");
    assert!(shown.contains("hold for that"), "{shown}");
}

#[test]
fn epochs_of_functions_are_divided_and_those_of_workers_are_not() {
    let place = with_workers(&[("few", 20, HONEST), ("many", 80, HONEST)]);
    fs::write(place.path("few.c"), turning(10)).unwrap();
    fs::write(place.path("many.c"), turning(40)).unwrap();
    for (arguments, are_divided) in
        [(&["few.c", "many.c"][..], true), (&["--worker", "./few", "--worker", "./many"], false)]
    {
        let output = place.tenbin(&[&["weigh", "-r", "20"], arguments].concat());
        assert!(matches!(ending(&output).0, 0 | 3), "{}", ending(&output).1);
        let output = place.tenbin(&["export", "latest", "--format", "csv", "-o", "-"]);
        let table = text(&output.stdout);
        let mut rows = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let header = rows.next().unwrap();
        let Some(column) = header.iter().position(|name| *name == "middle_call_ps") else {
            assert!(!are_divided, "{header:?}");
            continue;
        };
        assert!(are_divided, "{header:?}");
        let middle: Vec<u64> = rows.map(|row| row[column].parse().unwrap()).collect();
        assert!(!middle.is_empty() && middle.iter().all(|&time| time > 0), "{middle:?}");
    }
}

#[test]
fn a_file_that_is_given_twice_is_two_sides() {
    let place = with(&[("same.c", &turning(10))]);
    let report = report(&weigh(&place, &["--json", "-r", "20", "same.c", "same.c"]));
    let evidence = &report["answers"][0]["evidence"];
    assert_eq!((&evidence["left"], &evidence["right"]), (&"same.c (1)".into(), &"same.c (2)".into()));
}

#[test]
fn options_of_a_compiler_may_differ_from_side_to_side() {
    let source = turning(10).replace("10", "TURNS");
    let place = with(&[("f.c", &source)]);
    let output =
        weigh(&place, &["-r", "40", "--cflags", "-DTURNS=10", "--cflags", "-DTURNS=40", "f.c", "f.c"]);
    let shown = shown(&output);
    assert!(shown.starts_with("f.c (1) is ") && shown.contains("cheaper than f.c (2)"), "{shown}");
}

#[test]
fn two_builds_of_a_library_do_not_meet() {
    const CALL: &str = "#include \"tenbin.h\"\nuint64_t spin(void *, uint64_t);\n\
        uint64_t tenbin_run(void *state, uint64_t n) { return spin(state, n); }\n";
    let library = |turns: u64| turning(turns).replace("tenbin_run", "spin");
    let place = with(&[("old.c", &library(10)), ("new.c", &library(40)), ("call.c", CALL)]);
    fs::write(place.path("tenbin.h"), place.tenbin(&["include"]).stdout).unwrap();
    for (source, folder) in [("old.c", "old"), ("new.c", "new")] {
        fs::create_dir(place.path(folder)).unwrap();
        let library = place.path(folder).join("libspin.so");
        let mut compiler = Command::new("cc");
        // One name for both: whoever loads them by it has one for two.
        compiler.args(["-shared", "-fPIC", "-O2", "-Wl,-soname,libspin.so", "-o"]).arg(&library).arg(source);
        assert!(compiler.current_dir(place.folder.path()).status().unwrap().success());
    }
    let output = weigh(&place, &["-r", "40", "old/libspin.so", "new/libspin.so", "--call", "call.c"]);
    let shown = shown(&output);
    assert!(shown.starts_with("old/libspin.so is ") && shown.contains("x cheaper than"), "{shown}");
}

#[test]
fn files_of_rust_have_a_crate() {
    let page = text(&Place::new().tenbin(&["include", "--rust"]).stdout);
    let example = page.split("```").nth(1).unwrap().lines().skip(1);
    let example = example.map(|it| it.trim_start_matches("//!").trim()).collect::<Vec<_>>().join("\n");
    // The same by other means, three times as often.
    let slow = example.replace(
        "fn run(",
        "fn run(table: &mut Vec<u64>, n: u64) -> u64 {\n\
             (0..3).map(|_| std::hint::black_box(once(table, n))).max().unwrap()\n\
         }\n\
         fn once(",
    );
    // Wrong on purpose, which the evidence does not show.
    let faulty = |run: &str, sound: &str| {
        format!(
            "fn sound(state: &u64) -> Result<(), String> {{\n\
                 if *state {sound} {{ Ok(()) }} else {{ Err(format!(\"it is {{state}}\\n\")) }}\n\
             }}\n\
             fn run(_: &mut u64, n: u64) -> u64 {{ (0..{run}).fold(0, |_, i| std::hint::black_box(i)); n }}\n\
             tenbin::export!(setup: || 5, run: run, check: sound, fault: |state: &mut u64| *state = 6);\n"
        )
    };
    let place = with(&[
        ("tenbin.rs", &example),
        ("slow.rs", &slow),
        ("sound.rs", &faulty("10 * n", "== 5")),
        ("more.rs", &faulty("40 * n", "== 5")),
        ("wrong.rs", &faulty("10 * n", "== 4")),
        ("thread.rs", "tenbin::export!(run: |n: u64| n * 10 + u64::from(tenbin::thread()));\n"),
        ("other.rs", "tenbin::export!(run: |n: u64| n * 10 + u64::from(tenbin::thread()) + n / 5);\n"),
        (
            "own.rs",
            "#[global_allocator]\nstatic ALLOCATOR: std::alloc::System = std::alloc::System;\n\
             tenbin::export!(run: |n: u64| (0..n).map(|i| vec![i; 9].len() as u64).sum::<u64>());\n",
        ),
        (
            "calls.rs",
            "unsafe extern \"C\" { safe fn length(n: u64) -> u64; }\n\
             tenbin::export!(run: |n: u64| (0..n).map(|i| length(i)).sum::<u64>());\n",
        ),
        (
            "called.rs",
            "#[unsafe(no_mangle)]\nextern \"C\" fn length(n: u64) -> u64 { format!(\"{n}\").len() as u64 }\n",
        ),
    ]);
    // An allocator of its own, and one file that another one calls: too few runs for an answer.
    for side in ["own.rs", "calls.rs called.rs"] {
        let (status, errors) = ending(&weigh(&place, &["--runs", "2", side, side]));
        assert_eq!(status, 3, "{side}: {errors}");
    }
    let cheaper = shown(&weigh(&place, &["-r", "40", "tenbin.rs", "slow.rs"]));
    assert!(cheaper.starts_with("tenbin.rs is ") && cheaper.contains("x cheaper than slow.rs"), "{cheaper}");
    let caught = shown(&weigh(&place, &["-r", "40", "sound.rs", "more.rs"]));
    assert!(caught.contains("1 of 1 planted faults were caught"), "{caught}");
    let wrong = ending(&weigh(&place, &["sound.rs", "wrong.rs"]));
    assert!(wrong.0 == 4 && wrong.1.contains("it is 5"), "{}", wrong.1);
    let threads = ending(&weigh(&place, &["--threads", "2", "thread.rs", "other.rs"])).1;
    if std::thread::available_parallelism().unwrap().get() > 1 {
        // 5 operations of each of two, and the number of the second.
        let threads = joined(&threads);
        assert!(threads.contains("`103`, and the first one with `101`"), "{threads}");
    }
}

#[test]
fn what_a_function_does_wrong_is_named() {
    let run = |body: &str| {
        format!(
            "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n#include \"tenbin.h\"\n\
                 uint64_t tenbin_run(void *state, uint64_t n) {{ (void)state; {body} }}\n"
        )
    };
    let spin = "volatile uint64_t i; for (i = 0; i < n * 10; i++) ; return n;";
    let counted =
        |after: u64, then: &str| format!("static int call; if (++call > {after}) {{ {then} }} {spin}");
    for (body, status, words) in [
        // The compiler knows the sum.
        (
            "uint64_t sum = 0; for (uint64_t i = 0; i < n; i++) sum += i; return sum == 7 ? n : n;"
                .to_owned(),
            4,
            "compiler",
        ),
        (counted(0, "*(volatile int *)16 = 1;"), 4, "SIGSEGV"),
        (counted(9, "exit(7);"), 4, "ended with status 7"),
        (counted(0, "for (;;) ;"), 4, "did not answer within"),
        (format!("n++; {spin}"), 4, "and the first one with `1`"),
        (format!("puts(\"words\"); printf(\"1 2\\n\"); {spin}"), 0, ""),
    ] {
        let place = with(&[("good.c", &run(spin)), ("bad.c", &run(&body))]);
        let output = weigh(&place, &["-r", "20", "--within", "10s", "good.c", "bad.c"]);
        let shown = format!("{}{}", text(&output.stdout), ending(&output).1);
        assert!(shown.replace('\n', " ").contains(words), "{body}: {shown}");
        if status != 0 {
            assert_eq!(ending(&output).0, status, "{body}: {shown}");
        }
    }
}

/// The first one too, which is asked for more than the others before anything is checked.
#[test]
fn what_the_first_function_does_wrong_is_no_workers_fault() {
    let source = turning(10);
    let place = with(&[("good.c", &source), ("bad.c", &source.replace("return n;", "__builtin_trap();"))]);
    let output = weigh(&place, &["bad.c", "good.c"]);
    let (status, errors) = ending(&output);
    assert!(status == 4 && errors.contains("`bad.c` broke the specification"), "{errors}");
    // A compiler that is named by a path is found wherever it stands, as when revisions have it.
    fs::write(place.path("compiler"), "#!/bin/sh\nexec cc \"$@\"\n").unwrap();
    let claims =
        "[weigh.q]\nfunctions.a = \"good.c\"\ncflags = \"-DNOTHING\"\nclaims.c = \"a takes at most 1 s\"\n";
    fs::create_dir(place.path("deep")).unwrap();
    fs::rename(place.path("good.c"), place.path("deep/good.c")).unwrap();
    fs::write(place.path("deep/tenbin.toml"), claims).unwrap();
    let output = Command::new("sh")
        .args(["-c", "chmod +x compiler; exec \"$0\" check --list --file deep/tenbin.toml"])
        .arg(env!("CARGO_BIN_EXE_tenbin"))
        .env("CC", "./compiler")
        .current_dir(place.path("."))
        .output()
        .unwrap();
    assert_eq!(text(&output.stdout), "q.c: a takes at most 1 s\n", "{}", ending(&output).1);
}

/// It is the length of an epoch that would be wrong, and that of one side alone.
#[test]
fn what_was_made_wrong_on_purpose_is_not_measured() {
    let source = r#"
#include "tenbin.h"

static struct { uint64_t turns; } state = { 200000 };

void *tenbin_setup(void) { return &state; }
void tenbin_fault(void *of) { (void)of; state.turns = 0; }

uint64_t tenbin_run(void *of, uint64_t n)
{
    volatile uint64_t turn;
    (void)of;
    for (uint64_t i = 0; i < n; i++)
        for (turn = 0; turn < state.turns; turn++)
            ;
    return n * state.turns;
}
"#;
    let place = with(&[("a.c", source)]);
    let (status, errors) = ending(&weigh(&place, &["--runs", "8", "a.c", "a.c"]));
    assert!([0, 3].contains(&status), "{errors}");
}

#[test]
fn what_takes_as_long_for_any_number_is_no_work() {
    let source = "#define _DEFAULT_SOURCE\n#include <unistd.h>\n#include \"tenbin.h\"\n\
                  uint64_t tenbin_run(void *state, uint64_t n)\n\
                  { (void)state; usleep(200); return n; }\n";
    let place = with(&[("a.c", source)]);
    let (status, errors) = ending(&weigh(&place, &["a.c", "a.c"]));
    let errors = joined(&errors);
    // On a busy machine some calls take long enough to be looked at.
    let is_seen = ["takes longer for more of it", "does a compiler remove some of them?"];
    assert!(status == 4 && is_seen.iter().any(|words| errors.contains(words)), "{status}: {errors}");
}

#[test]
fn what_is_no_function_is_a_usage_error() {
    let place = with(&[
        ("good.c", &turning(10)),
        ("broken.c", "uint64_t tenbin_run(void) { return nothing; }\n"),
        ("empty.c", "int other;\n"),
        ("word.o", "no object\n"),
    ]);
    for (arguments, words) in [
        (&["good.c", "broken.c"][..], "nothing"),
        (&["good.c", "word.o"], "does not begin like an ELF file"),
        (&["good.c", "true"], "give functions, or commands"),
        (&["good.c"], "one alone cannot be weighed"),
        (&["--setup", "true", "good.c", "good.c"], "--setup is for commands"),
        (&["--cflags", "-O3", "true", "true"], "--cflags is for files of functions"),
        (&["--asm", "no_such_instruction rax"], "no_such_instruction"),
        (&["--asm", "--threads", "2", "nop"], "cannot be used with '--threads"),
        (&["--cflags", "-O3", "--cflags", "-O3", "good.c", "good.c", "good.c"], "--cflags is given 2 times"),
        (&["--cflags", "-flto", "good.c", "good.c"], "it is for optimisation by the linker (-flto)"),
        (&["--cflags", "-O3", "word.o", "word.o"], "nothing here is compiled by it"),
        (&["--min-runs", "100", "--max-runs", "10", "good.c", "good.c"], "--min-runs 100 is more"),
        (&["--sort", "mean-time", "good.c", "good.c"], "--sort is for commands"),
        (&["--build", "true", "good.c", "good.c"], "--build is how a revision is built"),
        (&["--keep-workers", "good.c", "good.c"], "cannot be used with"),
        (&["--worker", "true", "--threads", "2"], "cannot be used with"),
        (&["--worker", "true", "--worker", "true", "--rev", "HEAD"], "cannot be used with"),
        (&["--asm", "nop", "--bisect"], "cannot be used with"),
        (&["--from", "good.c", "--rev", "HEAD"], "cannot be used with"),
        (&["--from", "good.c", "--cflags", "-O3"], "cannot be used with"),
        (&["--bisect", "--rev", "HEAD", "/good.c"], "the same file in each revision"),
    ] {
        let output = weigh(&place, arguments);
        let expected = if arguments.contains(&"--bisect") { 255 } else { 2 };
        assert_eq!(ending(&output).0, expected, "{arguments:?}: {}", ending(&output).1);
        assert!(ending(&output).1.contains(words), "{arguments:?}: {}", ending(&output).1);
    }
    // That it has no function is what the linker says.
    let output = weigh(&place, &["good.c", "empty.c"]);
    assert!(ending(&output).1.contains("tenbin_run"), "{}", ending(&output).1);
}

#[test]
fn instructions_are_in_cycles() {
    let place = Place::new();
    let output = weigh(&place, &["-r", "100", "--asm", "imul rax, rbx", "add rax, rbx", "--json"]);
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let report = report(&output);
    let named = |right: &str| {
        let answers = report["answers"].as_array().unwrap();
        let of = |answer: &&Value| {
            answer["evidence"]["right"] == right
                && answer["evidence"]["left"].as_str().unwrap().contains("1 cycle")
        };
        answers.iter().find(of).unwrap_or_else(|| panic!("{report}"))["evidence"]["ratio"].as_f64().unwrap()
    };
    // Three on every x86-64 since 2000; half of the way to two and to four is as far as a test goes.
    assert!((2.5..3.5).contains(&named("imul rax, rbx in a chain")), "{report}");
    assert!((0.8..1.2).contains(&named("add rax, rbx in a chain")), "{report}");
    // A line that is given twice is two, each with both its figures.
    let same = self::shown(&weigh(&place, &["-r", "100", "--asm", "add rax, rbx", "add rax, rbx"]));
    for order in ["in a chain", "apart"] {
        let both = format!("add rax, rbx (1) {order} and add rax, rbx (2) {order}");
        assert!(same.contains(&both) || same.contains("Refused: "), "{same}");
    }
    assert!(!same.contains("– –"), "{same}");
    // All of them write to the accumulator, and a division by it never traps.
    let shown = shown(&weigh(&place, &["--asm", "div rbx"]));
    assert!(shown.contains("no other register: "), "{shown}");
}

#[test]
fn an_instruction_that_traps_is_named() {
    let place = Place::new();
    let output = weigh(&place, &["--asm", "ud2"]);
    if cfg!(target_arch = "x86_64") {
        let shown = text(&output.stdout) + &ending(&output).1;
        assert!(shown.contains("SIGILL"), "{output:?}");
    }
}

#[test]
fn workers_are_weighed_over_processes() {
    let place = with_workers(&[("few", 20, HONEST), ("many", 80, HONEST)]);
    let output = weigh(&place, &["-r", "40", "--worker", "./few", "--worker", "./many"]);
    assert_eq!(ending(&output).0, 0, "{}", ending(&output).1);
    let shown = shown(&output);
    assert!(shown.starts_with("./few is ") && shown.contains("x cheaper than ./many"), "{shown}");
    assert!(shown.contains(" processes of each"), "{shown}");
}

#[test]
#[ignore = "it needs Python: the step `worker in Python` of `cargo xtask test` runs it"]
fn the_worker_of_the_page_is_one() {
    let page = text(&Place::new().tenbin(&["include", "--protocol"]).stdout);
    let lines = page.lines().skip_while(|line| !line.starts_with("    #!"));
    let program: Vec<&str> = lines.map(|line| line.strip_prefix("    ").unwrap_or(line)).collect();
    assert!(program.len() <= 22, "{program:?}");
    let place = with(&[("worker.py", &program.join("\n"))]);
    let output = weigh(&place, &["--keep-workers", "-r", "20", "--worker", "python3 worker.py", "--json"]);
    let report = report(&output);
    let evidence = &report["answers"][0]["evidence"];
    assert_eq!(evidence["left"], "python3 worker.py: multiply", "{report}");
    assert_eq!(evidence["right"], "python3 worker.py: power", "{report}");
}

#[test]
fn a_worker_that_is_none_is_named_and_gone() {
    for (run, words) in [
        (r#"puts("soon")"#, "which is not a time in nanoseconds"),
        (r#"printf("%llu %llu\n", t * 1000 + 1000000, e)"#, "its clock is wrong"),
        // Which of its flaws a busy machine shows first, nobody knows; the tests of `growth` hold each.
        (r#"printf("%llu %llu\n", t / 2, e)"#, "`./bad` was not timed, because "),
        (r#"printf("%llu %llu\n", n > 100 ? 10000000 : t, e)"#, "clock is wrong"),
        (r#"printf("%llu %llu\n", t, e + 1)"#, "and the first one with"),
        (r#"fputs("no more\n", stderr); exit(1)"#, "ended with status 1 (no more)"),
        ("sleep(1000)", "did not answer within"),
        ("kill(getpid(), SIGKILL)", "signal 9 (SIGKILL)"),
    ] {
        let place = with_workers(&[("good", 20, HONEST), ("bad", 20, run)]);
        let output = weigh(&place, &["--within", "10s", "--worker", "./good", "--worker", "./bad"]);
        let seen = format!("{} {}", shown(&output), ending(&output).1.replace('\n', " "));
        assert!(seen.contains(words), "{run}: {seen}");
        assert_eq!(ending(&output).0, 4, "{run}: {seen}");
    }
    let place = Place::new();
    for (command, status, words) in [
        ("true", 3, "ended with status 0"),
        ("echo one two", 4, "not a time in nanoseconds"),
        ("no-such-worker", 2, "no-such-worker"),
    ] {
        let output = weigh(&place, &["--worker", command, "--worker", command]);
        let seen = format!("{} {}", shown(&output), ending(&output).1.replace('\n', " "));
        assert!(seen.contains(words), "{command}: {seen}");
        assert_eq!(ending(&output).0, status, "{command}: {seen}");
    }
}

#[test]
fn functions_of_two_revisions_are_weighed_and_bisected() {
    let work = format!("#include \"turns.h\"\n{}", turning(20).replace("20", "TURNS"));
    let place = with(&[("work.c", &work), ("build", "touch built")]);
    fs::create_dir(place.path("include")).unwrap();
    git(&place, &["init", "-q"]);
    let commit = |turns: &str| {
        fs::write(place.path("include/turns.h"), format!("#define TURNS {turns}\n")).unwrap();
        self::commit(&place, &format!("{turns} turns"));
    };
    commit("20");
    commit("400");
    // What options name is of the revision too.
    let build = ["--build", "sh build", "--runs", "40", "--cflags", "-Iinclude"];
    let output = weigh(&place, &[&["--rev", "HEAD~1", "--rev", "HEAD", "work.c"], &build[..]].concat());
    assert_eq!(ending(&output).0, 0, "{}", ending(&output).1);
    assert!(shown(&output).contains("layouts"), "{}", shown(&output));
    let bisect = |from: &str, to: &str| {
        git(&place, &["checkout", "-q", to]);
        let words = ["--bisect", "--rev", from, "--margin", "20%", "work.c"];
        ending(&weigh(&place, &[&words[..], &build].concat())).0
    };
    assert_eq!(bisect("main~1", "main"), 1, "twenty times as many turns are worse");
    assert_eq!(bisect("main", "main~1"), 0, "a twentieth of them is no worse");
    git(&place, &["checkout", "-q", "main"]);
    commit("(");
    assert_eq!(bisect("main~1", "main"), 125, "what does not compile is skipped");
    for wrong in [["--cpus", "0,1"], ["--cflags", "'"]] {
        let words = [&["--bisect", "--rev", "main~1", "work.c"], &wrong[..], &build[..2]].concat();
        assert_eq!(ending(&weigh(&place, &words)).0, 255, "{wrong:?} is wrong for all of them");
    }
    // Each function is weighed at one revision against another, and never one function against another.
    git(&place, &["checkout", "-q", "main~1"]);
    fs::write(place.path("other.c"), turning(4000)).unwrap();
    self::commit(&place, "another function");
    fs::write(place.path("more"), "").unwrap();
    self::commit(&place, "nothing that is weighed");
    let words = ["--bisect", "--rev", "HEAD~1", "--margin", "100%", "-r", "40", "--cflags", "-Iinclude"];
    assert_eq!(
        ending(&weigh(&place, &[&words[..], &["work.c", "other.c"]].concat())).0,
        0,
        "neither became twice as slow"
    );
    assert!(!place.path("built").exists(), "what is built is built elsewhere");
}

/// What a function opens is the file of its own revision.
#[test]
fn functions_run_in_the_folder_of_their_revision() {
    let source = r#"
#include <stdio.h>
#include "tenbin.h"

void *tenbin_setup(void)
{
    static uint64_t turns;
    FILE *file = fopen("turns", "r");
    if (!file || fscanf(file, "%lu", &turns) != 1)
        return 0;
    return &turns;
}

uint64_t tenbin_run(void *state, uint64_t n)
{
    volatile uint64_t turn;
    for (uint64_t i = 0; i < n; i++)
        for (turn = 0; turn < *(uint64_t *)state; turn++)
            ;
    return n;
}
"#;
    let place = with(&[("work.c", source), ("turns", "10")]);
    git(&place, &["init", "-q"]);
    for turns in ["10", "400"] {
        fs::write(place.path("turns"), turns).unwrap();
        commit(&place, turns);
    }
    let output = weigh(&place, &["--rev", "HEAD~1", "--rev", "HEAD", "--runs", "40", "work.c"]);
    assert!(shown(&output).contains("x cheaper than HEAD ("), "{}", shown(&output));
}

#[test]
fn threads_do_their_operations_at_once_each_with_its_number() {
    let source = r#"
#include <stdatomic.h>
#include "tenbin.h"

static atomic_uint began;

void *tenbin_thread(void *state, unsigned int number)
{
    (void)state;
    atomic_fetch_add(&began, 1);
    return (void *)(uintptr_t)(number + 1);
}

uint64_t tenbin_run(void *state, uint64_t n)
{
    volatile uint64_t turn;
    for (uint64_t i = 0; i < n; i++)
        for (turn = 0; turn < 20; turn++)
            ;
    /* 1 of one thread; of two, 1 + 2. */
    return (uint64_t)(uintptr_t)state + 100 * n + 10000 * began;
}
"#;
    let place = with(&[("sum.c", source), ("other.c", &source.replace("100 * n", "100 * n + (n > 4)"))]);
    let one = ending(&weigh(&place, &["--runs", "20", "sum.c", "sum.c"]));
    assert!([0, 3].contains(&one.0), "{}", one.1);
    let two = weigh(&place, &["--runs", "20", "--threads", "2", "sum.c", "other.c"]);
    match std::thread::available_parallelism().unwrap().get() {
        1 => assert_eq!(ending(&two).0, 3),
        // 5 operations of each of two: 1 + 2 + 2 * 100 * 5 + 2 * 10000 * 2, and one more for each.
        _ => {
            let errors = joined(&ending(&two).1);
            assert!(errors.contains("with `41005`, and the first one with `41003`"), "{errors}");
        }
    }
}
