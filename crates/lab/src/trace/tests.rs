use tenbin_model::Architecture;

use super::architecture::Convention;
use super::*;
use crate::rehearsal::{refused, usage};

use std::fs;
use tenbin_metal::tracee::Trouble;
use transcript::{Call, Definition, What};

/// A probe, compiled, in a folder that vanishes with it.
struct Fixture {
    workshop: Workshop,
    path: PathBuf,
    image: Image,
}

impl Fixture {
    fn new() -> Self {
        let workshop = Workshop::open("a test traces").unwrap();
        let path = workshop.compile("probe", &source!("probe.c"), Kind::Program, OPTIONS).unwrap();
        let (path, image) = probe(&path).unwrap();
        Self { workshop, path, image }
    }

    fn asked(&self, functions: &[&str]) -> Asked {
        let functions = functions.iter().map(|name| name.parse().unwrap()).collect();
        Asked { probe: Some(self.path.clone()), ..Asked::new("calls", functions) }
    }

    /// As [`asked`](Self::asked), of another program, which is compiled from `source`.
    fn asked_of(&self, name: &str, source: &str, functions: &[&str]) -> Asked {
        let path = self.workshop.compile(name, source, Kind::Program, OPTIONS).unwrap();
        Asked { probe: Some(path), ..self.asked(functions) }
    }

    /// Every case of a function, traced.
    fn seen(&self, name: &str) -> Vec<Transcript> {
        let asked = self.asked(&[name]);
        let api = api::find(name).unwrap();
        api.cases.iter().map(|case| trace(&asked, &self.path, &self.image, api, case).unwrap()).collect()
    }

    fn one(&self, name: &str) -> Transcript {
        let mut seen = self.seen(name);
        assert_eq!(seen.len(), 1);
        seen.remove(0)
    }

    /// With a library of this source before all others.
    fn preloaded(&self, name: &str, source: &str) -> Asked {
        let library = self.workshop.compile("planted.so", source, Kind::Library, &["-fno-builtin"]).unwrap();
        Asked { environment: vec![("LD_PRELOAD".into(), library.into())], ..self.asked(&[name]) }
    }
}

fn names<'a>(calls: impl Iterator<Item = &'a Call>) -> Vec<&'a str> {
    calls.map(|call| call.name.as_str()).collect()
}

fn actor(seen: &Transcript, name: &str) -> usize {
    seen.actors.iter().position(|actor| actor == name).unwrap_or_else(|| panic!("{:?}", seen.actors))
}

fn notes(seen: &Transcript, actor: usize) -> Vec<&str> {
    let own = seen.steps.iter().filter(|step| step.actor == actor);
    own.filter_map(|step| match &step.what {
        What::Note(note) => Some(note.as_str()),
        What::Call(_) | What::Vdso(_) => None,
    })
    .collect()
}

/// The functions of the vDSO that the process ran.
fn of_the_vdso(seen: &Transcript) -> Vec<&str> {
    let steps = seen.steps.iter().filter(|step| step.actor == 0);
    steps
        .filter_map(|step| match &step.what {
            What::Vdso(function) => Some(function.as_str()),
            _ => None,
        })
        .collect()
}

/// The one call of several names that makes a process or thread, and the text of its flags.
fn birth<'a>(seen: &'a Transcript, among: &[&str]) -> (&'a Call, &'a str) {
    let calls: Vec<&Call> = seen.calls(0, false).filter(|call| among.contains(&call.name.as_str())).collect();
    match calls.as_slice() {
        [call] => (call, call.arguments.first().map_or("", |argument| argument.text.as_str())),
        other => panic!("{other:?}"),
    }
}

#[test]
fn fork_issues_clone_and_both_processes_are_followed() {
    let seen = Fixture::new().one("fork");
    assert_eq!(names(seen.calls(0, false)), ["clone"]);
    let (call, flags) = birth(&seen, &["clone"]);
    assert_eq!(flags, "CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD");
    assert_eq!(Convention::of(Architecture::HERE).call_name(call.number), Some("clone"));
    let registers: Vec<&str> = call.arguments.iter().map(|argument| argument.register).collect();
    assert_eq!(registers, Convention::of(Architecture::HERE).call_arguments[..5]);
    assert!(call.issuer.starts_with("libc.so.6"), "{}", call.issuer);
    // What the system call answers is what the function returns.
    let child = seen.result.unwrap();
    assert_eq!(call.outcome, Some(Ok(child.to_string())));
    let place = actor(&seen, "the child");
    assert_eq!(notes(&seen, place), ["returns from fork(), with 0", "ends with status 0"]);
    assert_eq!(names(seen.calls(place, true)), ["exit_group"]);
    assert_eq!(seen.ended, Some(End::Exited(0)));
    let bound = seen.bound.unwrap();
    let definition = bound.definition.unwrap();
    assert!(definition.symbol.starts_with("fork@@GLIBC_2."), "{definition:?}");
    assert_eq!(bound.wanted, definition.symbol.replace("@@", "@"));
    assert_eq!(place::short(&definition.library), "libc.so.6");
    assert_eq!((bound.library.as_ref(), bound.chooser), (bound.c_library.as_ref(), None));
    let library = bound.library.unwrap();
    assert!(library.family == "glibc" && library.version.is_some_and(|version| version.starts_with("2.")));
}

#[test]
fn a_child_that_shares_memory_leaves_the_breakpoint() {
    let seen = Fixture::new().one("vfork");
    let expected = if cfg!(target_arch = "x86_64") { "vfork" } else { "clone" };
    assert_eq!(names(seen.calls(0, false)), [expected]);
    let place = actor(&seen, "the child");
    assert_eq!(notes(&seen, place), ["returns from vfork(), with 0", "ends with status 0"]);
    assert!(seen.result.is_some_and(|child| child > 1));
    assert_eq!(seen.ended, Some(End::Exited(0)));
}

#[test]
fn a_spawned_process_is_followed_until_it_is_another_program() {
    let seen = Fixture::new().one("posix_spawn");
    let (_, flags) = birth(&seen, &["clone", "clone3"]);
    assert!(flags.contains("CLONE_VM|CLONE_VFORK") && flags.contains("SIGCHLD"), "{flags}");
    let place = actor(&seen, "the child");
    let calls: Vec<&Call> = seen.calls(place, false).collect();
    let execve = calls.last().unwrap();
    assert_eq!((execve.name.as_str(), &execve.outcome), ("execve", &Some(Ok("0".into()))));
    assert!(execve.arguments[0].text.contains("/probe\""));
    assert!(notes(&seen, place).iter().any(|note| note.contains("/probe from here on")));
    assert_eq!((seen.result, seen.ended), (Some(0), Some(End::Exited(0))));
}

#[test]
fn a_thread_is_told_from_a_process_and_followed_to_its_end() {
    let seen = Fixture::new().one("pthread_create");
    let (_, flags) = birth(&seen, &["clone", "clone3"]);
    assert!(flags.contains("CLONE_THREAD") && flags.contains("CLONE_SETTLS"), "{flags}");
    assert_eq!(seen.actors, ["the process", "the thread"]);
    assert_eq!(names(seen.calls(1, false)).last(), Some(&"exit"));
    assert_eq!((seen.result, seen.ended), (Some(0), Some(End::Exited(0))));
}

#[test]
fn printf_writes_to_a_terminal_at_once_and_to_a_pipe_at_the_end() {
    let fixture = Fixture::new();
    for (name, written) in [("printf", "\"tenbin 42\\n\""), ("puts", "\"tenbin\\n\"")] {
        let [pipe, terminal] = fixture.seen(name).try_into().unwrap();
        let writes = |seen: &Transcript, after| {
            let calls = seen.calls(0, after).filter(|call| call.name == "write");
            calls.map(|call| call.arguments[1].text.clone()).collect::<Vec<_>>()
        };
        assert_eq!((writes(&pipe, false), writes(&pipe, true)), (vec![], vec![written.to_owned()]));
        assert_eq!((writes(&terminal, false), writes(&terminal, true)), (vec![written.to_owned()], vec![]));
        assert_eq!(names(pipe.calls(0, true)).last(), Some(&"exit_group"));
    }
}

#[test]
fn functions_become_the_calls_that_they_should() {
    let fixture = Fixture::new();
    for (name, expected) in [
        ("getpid", vec!["getpid"]),
        ("getppid", vec!["getppid"]),
        ("read", vec!["read"]),
        ("write", vec!["write"]),
        ("open", vec!["openat"]),
        ("close", vec!["close"]),
        ("sleep", vec!["clock_nanosleep"]),
        ("sigaction", vec!["rt_sigaction"]),
        ("exit", vec!["exit_group"]),
        ("sem_wait", vec![]),
        ("pthread_mutex_lock", vec![]),
    ] {
        assert_eq!(names(fixture.one(name).calls(0, false)), expected, "{name}");
    }
    let [small, large] = fixture.seen("malloc").try_into().unwrap();
    assert!(!names(small.calls(0, false)).contains(&"mmap"));
    assert!(names(large.calls(0, false)).contains(&"mmap"));
    // What was read is shown, though it was not there when the call began.
    let read = fixture.one("read");
    let text = &read.calls(0, false).next().unwrap().arguments[1].text;
    assert_eq!(*text, "\"tenbin\\n\"");
    assert_eq!((read.arguments.len(), read.result), (3, Some(7)));
    assert_eq!(read.arguments[2].text, "16");
}

#[test]
fn where_there_is_a_vdso_the_clock_is_read_without_a_call() {
    let fixture = Fixture::new();
    let seen = fixture.one("clock_gettime");
    let calls = names(seen.calls(0, false));
    let answered = of_the_vdso(&seen).iter().any(|function| function.ends_with("_clock_gettime"));
    // A kernel or a clock source that the vDSO cannot read leaves the system call.
    assert!(answered || calls == ["clock_gettime"], "{calls:?}");
    if answered {
        let finding = findings(&fixture.asked(&["clock_gettime"])).unwrap().remove(0);
        assert!(
            finding.sentence.starts_with("glibc's clock_gettime() issues no system call here"),
            "{finding:?}"
        );
    }
}

/// glibc's `time` is an indirect function on x86-64, which chooses the kernel's where there is a vDSO.
#[cfg(target_arch = "x86_64")]
#[test]
fn an_indirect_function_is_named_as_what_chose() {
    let fixture = Fixture::new();
    let seen = fixture.one("time");
    let chooser = seen.bound.as_ref().and_then(|bound| bound.chooser.clone()).unwrap();
    assert!(chooser.symbol.starts_with("time@@GLIBC_2."), "{chooser:?}");
    assert_eq!(place::short(&chooser.library), "libc.so.6");
    let finding = findings(&fixture.asked(&["time"])).unwrap().remove(0);
    assert!(finding.sentence.starts_with("glibc's time() issues "), "{}", finding.sentence);
    assert!(finding.evidence.contains("chosen by the indirect function time@@GLIBC_2."), "{finding:?}");
}

#[test]
fn every_function_that_is_known_can_be_traced() {
    let fixture = Fixture::new();
    let (mut traced, mut versions) = (0, 0);
    for api in api::APIS {
        if fixture.image.import(api.name).is_none() {
            // An old C library has neither.
            assert!(["gettid", "arc4random"].contains(&api.name), "{}", api.name);
            continue;
        }
        for seen in fixture.seen(api.name) {
            let end = if api.name == "abort" { End::Signalled(6) } else { End::Exited(0) };
            assert_eq!((seen.called, seen.ended), (true, Some(end)), "{}: {seen:?}", api.name);
            assert_eq!(seen.result.is_none(), ["exit", "abort"].contains(&api.name));
            assert_eq!(seen.arguments.len(), api.parameters.len());
            assert_eq!(seen.complaint, "");
            // The C library has several versions of some at one address; the program is bound to the one it
            // asks for.
            let bound = seen.bound.as_ref().unwrap();
            if let Some(Definition { symbol, .. }) =
                bound.definition.as_ref().filter(|_| bound.library.is_some())
            {
                assert_eq!(symbol.replace("@@", "@"), bound.wanted);
                versions += 1;
            }
            // No call is left open but those that cannot come back.
            for step in &seen.steps {
                if let What::Call(call) = &step.what {
                    let ends = ["exit", "exit_group"].contains(&call.name.as_str());
                    assert_eq!(call.outcome.is_none(), ends, "{}: {call:?}", api.name);
                }
            }
            traced += 1;
        }
    }
    assert!(traced >= 41 && versions >= 38, "{traced} {versions}");
}

#[test]
fn a_function_put_before_the_librarys_is_named_as_the_definer() {
    const PLANTED: &str = "#define _GNU_SOURCE\n#include <signal.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n\
        pid_t fork(void) { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }\n";
    let fixture = Fixture::new();
    let finding = findings(&fixture.preloaded("fork", PLANTED)).unwrap().remove(0);
    assert!(
        finding.sentence.starts_with("planted.so's fork() issues clone(flags=SIGCHLD, …) here"),
        "{finding:?}"
    );
    let first = finding.evidence.lines().next().unwrap();
    assert!(
        first.contains("is bound to fork in ") && first.contains("/planted.so; C library: glibc 2."),
        "{first}"
    );
}

#[test]
fn a_call_from_elsewhere_is_not_taken_for_the_programs_own() {
    // The probe makes its pipe first, and this pipe() closes something.
    const PLANTED: &str = "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <unistd.h>\n\
        int pipe(int ends[2]) { int failed = close(-1); return failed == -1 ? pipe2(ends, 0) : -1; }\n";
    let fixture = Fixture::new();
    let asked = fixture.preloaded("close", PLANTED);
    let api = api::find("close").unwrap();
    let seen = trace(&asked, &fixture.path, &fixture.image, api, &api.cases[0]).unwrap();
    assert_eq!(Path::new(&seen.called_from), fixture.path);
    assert_ne!(seen.arguments[0].text, "-1");
    assert_eq!(seen.calls(0, false).next().unwrap().outcome, Some(Ok("0".into())));
}

#[test]
fn a_call_that_hangs_ends_at_the_deadline_and_is_refused() {
    const PLANTED: &str = "#include <unistd.h>\npid_t fork(void) { for (;;) pause(); }\n";
    let fixture = Fixture::new();
    let asked = Asked { deadline: Duration::from_secs(1), ..fixture.preloaded("fork", PLANTED) };
    let refusal = refused(findings(&asked));
    assert!(refusal.reached.contains("still running") && refusal.needs.contains("fork()"), "{refusal:?}");
}

#[test]
fn a_name_that_is_no_functions_is_answered_with_those_that_are() {
    assert_eq!("fork".parse::<Function>(), Ok(api::find("fork").map(Function).unwrap()));
    let message = "frok".parse::<Function>().unwrap_err();
    assert!(message.contains("`frok`"), "{message}");
    assert!(known().all(|name| message.contains(name)), "{message}");
}

#[test]
fn a_probe_that_cannot_be_one_is_a_usage_error_that_says_why() {
    let fixture = Fixture::new();
    let folder = fixture.workshop.path();
    let with = |path: PathBuf| usage(findings(&Asked { probe: Some(path), ..fixture.asked(&["fork"]) }));
    let compiled = |name: &str, source: &str, options: &[&str]| {
        fixture.workshop.compile(name, source, Kind::Program, options).unwrap()
    };
    let written = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let own = fs::read(&fixture.path).unwrap();
    let foreign = |machine: u16| {
        let mut bytes = own.clone();
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes
    };
    let other = if cfg!(target_arch = "aarch64") { 243_u16 } else { 183 };
    for (path, reason) in [
        (folder.join("nowhere"), "cannot be found"),
        (folder.to_path_buf(), "is a folder"),
        ("/dev/zero".into(), "neither a file"),
        // Readable, and not to be executed.
        (written("idle", &own), "cannot be started"),
        (written("script", b"#!/bin/sh\nexit 0\n"), "not an ELF file"),
        (written("other", &foreign(other)), "this machine is"),
        (written("unknown", &foreign(22)), "not known here"),
        (written("cut", &own[..100]), "damaged"),
        (compiled("static", "int main(void) { return 0; }\n", &["-static"]), "is static"),
        (compiled("another", "int main(void) { return 0; }\n", &[]), "does not call fork"),
        (
            compiled(
                "deaf",
                "#include <unistd.h>\nint main(int n, char **a) { return n > 9 ? fork() : (a[0][0] ? 64 : 1); }\n",
                &[],
            ),
            "does not know how to call fork",
        ),
    ] {
        // What can be seen without running it is said beforehand, in the same words.
        let checked = check(&Asked { probe: Some(path.clone()), ..fixture.asked(&["fork"]) });
        let message = with(path);
        assert!(message.contains(reason), "{reason}: {message}");
        match checked {
            Ok(()) => {
                let seen_by_running = ["does not know how to call fork", "cannot be started"];
                assert!(seen_by_running.contains(&reason), "{reason}: not found beforehand");
            }
            Err(_) => assert_eq!(usage(checked), message),
        }
    }
    assert!(check(&fixture.asked(&["fork"])).is_ok());
}

/// Imports fork, read and getpid; calls fork only if it is told to, and ends or hangs otherwise.
const UNWILLING: &str = "#include <stdio.h>\n#include <string.h>\n#include <unistd.h>\n\
    int main(int n, char **a) {\n\
        if (n > 1 && strcmp(a[1], \"getpid\") == 0) return getpid() < 0;\n\
        fputs(\"I will\\n\\tnot\\n\", stderr);\n\
        if (n > 1 && strcmp(a[1], \"read\") == 0) for (;;) pause();\n\
        return n > 9 ? fork() + read(0, 0, 0) : 3;\n\
    }\n";

#[test]
fn a_program_that_does_not_come_to_the_call_is_quoted() {
    let fixture = Fixture::new();
    let asked = fixture.asked_of("unwilling", UNWILLING, &["fork"]);
    let message = usage(findings(&asked));
    let expected =
        "ended with status 3 before it called fork(); it wrote: I will; not; a probe is compiled from";
    assert!(message.contains(expected), "{message}");
    // Of one that is compiled here it would be a fault of ours.
    let api = api::find("fork").unwrap();
    let seen = Transcript { ended: Some(End::Signalled(11)), ..Transcript::new() };
    match uncalled(&Asked { probe: None, ..asked }, &fixture.path, api, &seen) {
        Unfit::Fault(fault) => {
            assert!(fault.to_string().contains("was ended by SIGSEGV before it made the call"), "{fault}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn of_a_program_that_hangs_before_the_call_the_call_does_not() {
    let fixture = Fixture::new();
    let asked = fixture.asked_of("unwilling", UNWILLING, &["read", "read", "read"]);
    let message = usage(findings(&Asked { deadline: Duration::from_millis(700), ..asked }));
    assert!(
        message.contains("still running after")
            && message.contains("had not called read(); it wrote: I will"),
        "{message}"
    );
    assert!(!message.contains("hangs"), "{message}");
}

#[test]
fn what_cannot_be_traced_stands_beside_what_can() {
    let fixture = Fixture::new();
    let traced = findings(&fixture.asked_of("unwilling", UNWILLING, &["fork", "getpid", "gettid"])).unwrap();
    let sentences: Vec<&str> = traced.iter().map(|finding| finding.sentence.as_str()).collect();
    let [fork, getpid, gettid] = sentences.try_into().unwrap();
    assert!(
        fork.starts_with("fork() was not traced: the probe ") && fork.contains("with status 3"),
        "{fork}"
    );
    assert_eq!(getpid, "glibc's getpid() issues getpid() here.");
    assert!(
        gettid.starts_with("gettid() was not traced: the probe ") && gettid.contains("does not call"),
        "{gettid}"
    );
    // Nothing at all is no finding.
    usage(findings(&fixture.asked_of("unwilling", UNWILLING, &["fork", "gettid"])));
}

#[test]
fn of_standard_error_a_line_is_kept_and_all_is_read() {
    assert_eq!(complaint(&b""[..]), "");
    assert_eq!(complaint(&b"\n a\x1b[1m \n\nb\xff\nc\nd\n"[..]), "a [1m; b\u{fffd}; c");
    let mut long = std::io::repeat(b'x').take(1 << 20);
    assert_eq!(complaint(&mut long).len() as u64, COMPLAINT);
    assert_eq!(long.limit(), 0);
}

#[test]
fn where_tracing_is_not_permitted_it_is_refused_with_a_remedy() {
    let api = api::find("fork").unwrap();
    let denied = || std::io::Error::from_raw_os_error(1);
    let path = Path::new("/given");
    let standing = Standing { reached: Reached::Nothing, given: Some(path), tracer: Some(0), complaint: "" };
    for (trouble, tracer, remedy) in [
        (Trouble::Forbidden(denied()), Some(0), "ptrace_scope"),
        (Trouble::Forbidden(denied()), None, "ptrace_scope"),
        (Trouble::Forbidden(denied()), Some(81), "tenbin itself is traced, by process 81"),
        (Trouble::Unsupported, Some(81), "Linux 5.3"),
    ] {
        match unfit(trouble, api, Standing { tracer, ..standing }) {
            Untraced { why: Unfit::Refused(refusal), of_all: true } => {
                assert!(refusal.remedy.contains(remedy), "{refusal:?}");
            }
            other => panic!("{other:?}"),
        }
    }
    // The file's fault while it is started, and the machine's whenever else.
    let fault = |number| Trouble::Fault(Fault::system("try", std::io::Error::from_raw_os_error(number)));
    let (eio, eacces) = (5, 13);
    assert!(matches!(unfit(fault(eio), api, standing).why, Unfit::Fault(_)));
    assert!(matches!(unfit(fault(eacces), api, standing).why, Unfit::Usage(_)));
    for standing in [Standing { reached: Reached::Program, ..standing }, Standing { given: None, ..standing }]
    {
        assert!(matches!(unfit(fault(eacces), api, standing).why, Unfit::Fault(_)));
    }
    let late = |reached, given| {
        unfit(Trouble::OutOfTime(Duration::from_secs(1)), api, Standing { reached, given, ..standing })
    };
    for (reached, given, hangs, of_all) in [
        (Reached::Call, Some(path), true, false),
        (Reached::Call, None, true, false),
        (Reached::Program, None, false, true),
    ] {
        match late(reached, given) {
            Untraced { why: Unfit::Refused(refusal), of_all: all } => {
                assert_eq!((refusal.remedy.contains("hangs"), all), (hangs, of_all), "{refusal:?}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(late(Reached::Program, Some(path)).why, Unfit::Usage(_)));
}
