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
        // A structure's fields stand for it.
        [structure, ..] if structure.text.starts_with('{') && call.name == "clone3" => {
            let fields = structure.text.trim_matches(['{', '}']).split(", ");
            fields.filter(|field| !field.contains("=0x")).map(str::to_owned).chain([String::new()]).collect()
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
