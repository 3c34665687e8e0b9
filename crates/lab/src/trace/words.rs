//! A trace as a finding: a sentence, the steps line by line, and what it rests on.

use tenbin_metal::child::End;
use tenbin_model::Finding;

use super::api::{Api, Case};
use super::architecture::Architecture;
use super::image::Library;
use super::place::short;
use super::seen::{Argument, Bound, Call, Definition, Seen, What};

/// What is said of how sure it is.
const CONFIDENCE: &str = "traced, not sampled: ptrace stopped every system call of this one call, in every process and \
                          thread that it made. It was the first call of its process, so what a library sets up once is \
                          in it; another version, argument or kernel may do otherwise";

/// The finding of `experiment` about one call on the architecture `on`.
pub(super) fn finding(
    experiment: &str,
    api: &Api,
    case: &Case,
    seen: &Seen,
    bound: &Bound,
    on: Architecture,
) -> Finding {
    Finding {
        experiment: experiment.into(),
        sentence: sentence(api, case, seen, bound),
        evidence: evidence(api, seen, bound, on),
        confidence: CONFIDENCE.into(),
    }
}

/// `glibc's fork() issues clone(flags=…, …) here.`
fn sentence(api: &Api, case: &Case, seen: &Seen, bound: &Bound) -> String {
    // What glibc has the kernel's own code do is glibc's choice.
    let chosen = bound.chooser.as_ref().and(bound.c_library.as_ref());
    let owner =
        bound.library.as_ref().or(chosen).map_or_else(|| short(&bound.path), |library| library.family);
    let said = if case.said.is_empty() { String::new() } else { format!(" {}", case.said) };
    let mut text = format!("{owner}'s {}(){said} ", api.name);
    let own: Vec<&Call> = seen.calls(0, false).collect();
    if own.is_empty() {
        let vdso = seen.steps.iter().find_map(|step| match &step.what {
            What::Note(note) if note.contains("of the vDSO") => {
                note.split_whitespace().find(|word| word.contains("()"))
            }
            _ => None,
        });
        text.push_str(&match vdso {
            Some(function) => {
                format!("issues no system call here: {function} of the vDSO answers in user mode")
            }
            None => "issues no system call here".into(),
        });
    } else {
        text.push_str(&format!("issues {} here", listed(&own)));
    }
    for actor in 1..seen.actors.len() {
        let calls: Vec<&Call> = seen.calls(actor, false).collect();
        if !calls.is_empty() {
            text.push_str(&format!("; {} issues {}", seen.actors[actor], listed(&calls)));
        }
    }
    let later: Vec<&Call> = seen.calls(0, true).collect();
    if !later.is_empty() {
        text.push_str(&format!("; after it has returned, the end of the process issues {}", listed(&later)));
    }
    text.push('.');
    text
}

/// Calls in the order of their first time: one with its arguments, many by their names. What makes a process or
/// a thread is always shown with its flags.
fn listed(calls: &[&Call]) -> String {
    let mut parts: Vec<(String, usize)> = Vec::new();
    for call in calls {
        let part = if calls.len() == 1 || makes(call) { brief(call) } else { call.name.clone() };
        match parts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, times)) => *times += 1,
            None => parts.push((part, 1)),
        }
    }
    let parts: Vec<String> = parts
        .into_iter()
        .map(|(part, times)| if times == 1 { part } else { format!("{part} ({times} times)") })
        .collect();
    match parts.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => parts.concat(),
    }
}

fn makes(call: &Call) -> bool {
    matches!(call.name.as_str(), "clone" | "clone3" | "fork" | "vfork" | "execve")
}

/// A call with the arguments that read the same every time: no address.
fn brief(call: &Call) -> String {
    let fields: Vec<String> = match call.arguments.as_slice() {
        // Of the structure, what it asks for and not where things lie.
        [structure, ..] if structure.text.starts_with('{') && call.name == "clone3" => {
            let fields = structure.text.trim_matches(['{', '}']).split(", ");
            let kept = |field: &&str| field.starts_with("flags=") || field.starts_with("exit_signal=");
            fields.filter(kept).map(str::to_owned).chain([String::new()]).collect()
        }
        arguments => arguments
            .iter()
            .map(|argument| match argument.text.as_str() {
                "NULL" => String::new(),
                text if text.starts_with("0x") => String::new(),
                text => format!("{}={text}", argument.name),
            })
            .collect(),
    };
    let mut shown: Vec<&str> =
        fields.iter().map(|field| if field.is_empty() { "…" } else { field.as_str() }).collect();
    shown.dedup();
    format!("{}({})", call.name, shown.join(", "))
}

/// The steps, a line each.
fn evidence(api: &Api, seen: &Seen, bound: &Bound, on: Architecture) -> String {
    let mut lines = vec![api_line(bound), abi_line(api, seen, on)];
    for (number, actor) in seen.actors.iter().enumerate() {
        for after in [false, true] {
            let mut steps =
                seen.steps.iter().filter(|step| step.actor == number && step.after == after).peekable();
            if steps.peek().is_some() {
                let when = if after { ", after the function has returned" } else { "" };
                lines.push(format!("{}{when}:", capital(actor)));
            }
            while let Some(step) = steps.next() {
                match &step.what {
                    What::Note(note) => lines.push(format!("  {note}")),
                    What::Call(call) => {
                        lines.extend(call_lines(call, on));
                        let mut more = 0;
                        while steps.next_if(|step| alike(&step.what, call)).is_some() {
                            more += 1;
                        }
                        if more > 0 {
                            lines.push(format!("  and {more} more {} at once", call.name));
                        }
                    }
                }
            }
        }
    }
    match seen.result {
        Some(result) => lines.push(format!("Result: {} = {}", on.result(), hexadecimal(result))),
        None => lines.push("Result: none; the function does not return".into()),
    }
    if let Some(odd) = seen.ended.filter(|end| *end != End::Exited(0) && seen.result.is_some()) {
        lines.push(format!("The probe then ended with {odd:?}: what it called did not do what it should"));
    }
    lines.join("\n")
}

/// What the program asks for, and what it gets.
fn api_line(bound: &Bound) -> String {
    let mut file = match &bound.definition {
        Some(Definition { symbol, library }) => format!("{symbol} in {library}"),
        None => format!("a function without a name in {}", bound.path),
    };
    if let Some(Definition { symbol, library }) = &bound.chooser {
        file.push_str(&format!(", chosen by the indirect function {symbol} of {library}"));
    }
    let library = bound.c_library.as_ref().map_or_else(|| "unknown".into(), named);
    format!("API: the call of {} is bound to {file}; C library: {library}", bound.wanted)
}

/// Whether a step is one more of the same call, which would be shown in as many lines again.
fn alike(what: &What, call: &Call) -> bool {
    matches!(what, What::Call(other) if other.name == call.name && other.outcome.is_some() && !makes(call))
}

fn named(library: &Library) -> String {
    match &library.version {
        Some(version) => format!("{} {version}", library.family),
        None => library.family.into(),
    }
}

/// The function's arguments as the calling convention has them.
fn abi_line(api: &Api, seen: &Seen, on: Architecture) -> String {
    let arguments = match seen.arguments.as_slice() {
        [] if api.parameters.is_empty() => "no argument".into(),
        arguments => arguments.iter().map(register).collect::<Vec<_>>().join(", "),
    };
    format!("ABI: {}, {}; called from {}: {arguments}", on.name(), on.convention(), seen.called_from)
}

fn register(argument: &Argument) -> String {
    let value = hexadecimal(argument.value);
    let text = &argument.text;
    // An address or a number that reads the same twice is written once.
    let same = *text == value || (argument.value == 0 && matches!(text.as_str(), "NULL" | "0"));
    match same {
        true => format!("{}={value} {}", argument.register, argument.name),
        false => format!("{}={value} {}={text}", argument.register, argument.name),
    }
}

/// A system call, register by register.
fn call_lines(call: &Call, on: Architecture) -> Vec<String> {
    let mut lines = vec![format!("  {} by `{}` of {}", call.name, on.instruction(), call.issuer)];
    lines.push(format!("    {}={} {}", on.call_number(), call.number, call.name));
    lines.extend(call.arguments.iter().map(|argument| format!("    {}", register(argument))));
    lines.push(match &call.outcome {
        Some(Ok(result)) => format!("    result: {} = {result}", on.result()),
        Some(Err(error)) => format!("    error: {error}"),
        None => "    does not return".into(),
    });
    lines
}

fn hexadecimal(value: u64) -> String {
    if value < 10 { value.to_string() } else { format!("{value:#x}") }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::api;
    use crate::trace::seen::Step;

    fn argument(register: &'static str, value: u64, name: &'static str, text: &str) -> Argument {
        Argument { register, value, name, text: text.into() }
    }

    fn call(name: &str, number: u64, arguments: Vec<Argument>, outcome: Option<Result<&str, &str>>) -> What {
        let outcome = outcome.map(|outcome| outcome.map(str::to_owned).map_err(str::to_owned));
        What::Call(Call {
            name: name.into(),
            number,
            arguments,
            issuer: "libc.so.6, in _Fork".into(),
            outcome,
        })
    }

    /// A fork on arm64, as glibc has it.
    fn fork() -> (Seen, Bound) {
        let glibc = Some(Library { family: "glibc", version: Some("2.36".into()) });
        let library = "/usr/lib/aarch64-linux-gnu/libc.so.6".to_owned();
        let bound = Bound {
            wanted: "fork@GLIBC_2.17".into(),
            definition: Some(Definition { symbol: "fork@@GLIBC_2.17".into(), library: library.clone() }),
            chooser: None,
            path: library,
            library: glibc.clone(),
            c_library: glibc,
        };
        let mut seen = Seen { called: true, called_from: "probe".into(), result: Some(77), ..Seen::new() };
        let child = seen.name("child");
        let clone = vec![
            argument("x0", 0x0120_0011, "flags", "CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD"),
            argument("x1", 0, "stack", "NULL"),
            argument("x2", 0, "parent_tid", "NULL"),
            argument("x3", 0, "tls", "NULL"),
            argument("x4", 0xa10, "child_tid", "0xa10"),
        ];
        let status = vec![argument("x0", 0, "status", "0")];
        for (actor, after, what) in [
            (0, false, call("clone", 220, clone, Some(Ok("77")))),
            (child, false, What::Note("returns from fork(), with 0".into())),
            (child, true, call("exit_group", 94, status, None)),
        ] {
            seen.steps.push(Step { actor, after, what });
        }
        (seen, bound)
    }

    fn told(name: &str, seen: &Seen, bound: &Bound) -> Finding {
        let api = api::find(name).unwrap();
        finding("calls", api, &api.cases[0], seen, bound, Architecture::Aarch64)
    }

    #[test]
    fn a_trace_is_a_sentence_and_its_steps_register_by_register() {
        let (seen, bound) = fork();
        let found = told("fork", &seen, &bound);
        assert_eq!(
            found.sentence,
            "glibc's fork() issues clone(flags=CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD, …) here."
        );
        let lines = [
            "API: the call of fork@GLIBC_2.17 is bound to fork@@GLIBC_2.17 in /usr/lib/aarch64-linux-gnu/libc.so.6; C library: glibc 2.36",
            "ABI: arm64, AAPCS64; called from probe: no argument",
            "The process:",
            "  clone by `svc #0` of libc.so.6, in _Fork",
            "    x8=220 clone",
            "    x0=0x1200011 flags=CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD",
            "    x1=0 stack",
            "    x2=0 parent_tid",
            "    x3=0 tls",
            "    x4=0xa10 child_tid",
            "    result: x0 = 77",
            "The child:",
            "  returns from fork(), with 0",
            "The child, after the function has returned:",
            "  exit_group by `svc #0` of libc.so.6, in _Fork",
            "    x8=94 exit_group",
            "    x0=0 status",
            "    does not return",
            "Result: x0 = 0x4d",
        ];
        assert_eq!(found.evidence, lines.join("\n"));
        assert_eq!(found.experiment, "calls");
        assert!(found.confidence.starts_with("traced, not sampled"));
    }

    #[test]
    fn calls_are_counted_and_what_makes_a_process_keeps_its_flags() {
        let (mut seen, mut bound) = fork();
        let three = "{flags=CLONE_VM|CLONE_VFORK, exit_signal=SIGCHLD, stack=0x7000, stack_size=36864}";
        let clone = call("clone3", 435, vec![argument("x0", 9, "cl_args", three)], Some(Ok("77")));
        let mask = || call("rt_sigprocmask", 135, vec![], Some(Ok("0")));
        let failed = call("openat", 56, vec![argument("x1", 9, "path", "\"/x\"")], Some(Err("ENOENT")));
        seen.steps =
            [mask(), mask(), mask(), clone, failed].map(|what| Step { actor: 0, after: false, what }).into();
        bound.library = None;
        bound.path = "/opt/planted.so".into();
        let found = told("fork", &seen, &bound);
        assert_eq!(
            found.sentence,
            "planted.so's fork() issues rt_sigprocmask (3 times), \
             clone3(flags=CLONE_VM|CLONE_VFORK, exit_signal=SIGCHLD, …) and openat here."
        );
        assert!(found.evidence.contains("  and 2 more rt_sigprocmask at once\n"), "{}", found.evidence);
        assert!(found.evidence.contains("    error: ENOENT\n"), "{}", found.evidence);
    }

    #[test]
    fn a_call_that_the_vdso_answers_is_the_librarys_and_no_system_call() {
        let (mut seen, mut bound) = fork();
        let (wanted, time) = ("time@GLIBC_2.17".to_owned(), "time@@GLIBC_2.17".to_owned());
        let libc = bound.definition.take().unwrap().library;
        seen.steps = vec![Step {
            actor: 0,
            after: false,
            what: What::Note("is in __vdso_time() of the vDSO, which runs in user mode".into()),
        }];
        bound = Bound {
            wanted,
            definition: Some(Definition { symbol: "time@@LINUX_2.6".into(), library: "[vdso]".into() }),
            chooser: Some(Definition { symbol: time, library: libc }),
            path: "[vdso]".into(),
            library: None,
            c_library: bound.c_library,
        };
        let found = told("time", &seen, &bound);
        assert_eq!(
            found.sentence,
            "glibc's time() issues no system call here: __vdso_time() of the vDSO answers in user mode."
        );
        assert!(found.evidence.starts_with(
            "API: the call of time@GLIBC_2.17 is bound to time@@LINUX_2.6 in [vdso], chosen by the indirect function \
             time@@GLIBC_2.17 of /usr/lib/aarch64-linux-gnu/libc.so.6; C library: glibc 2.36\n"
        ));
        seen.steps.clear();
        bound.library.clone_from(&bound.c_library);
        assert_eq!(told("getpid", &seen, &bound).sentence, "glibc's getpid() issues no system call here.");
    }
}
