//! A trace as a finding: a sentence, the steps line by line, and what it rests on.

use std::collections::BTreeSet;

use tenbin_metal::child::End;
use tenbin_model::words::{and, capitalised, comma};
use tenbin_model::{Architecture, Finding, order};

use super::api::{Api, Case};
use super::architecture::Convention;
use super::image::Library;
use super::names::signal;
use super::place::short;
use super::transcript::{Argument, Bound, Call, Definition, Transcript, What};

/// What is said of how sure it is.
const CONFIDENCE: &str = "traced, not sampled: ptrace stopped every system call of this one call, in every process and \
                          thread that it made. It was the first call of its process, so what a library sets up once is \
                          in it; another version, argument or kernel may do otherwise";

/// The finding of `experiment` about one call on the architecture `on`.
pub(super) fn finding(
    experiment: &str,
    api: &Api,
    case: &Case,
    seen: &Transcript,
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
fn sentence(api: &Api, case: &Case, seen: &Transcript, bound: &Bound) -> String {
    // What glibc has the kernel's own code do is glibc's choice.
    let chosen = bound.chooser.as_ref().and(bound.c_library.as_ref());
    let owner =
        bound.library.as_ref().or(chosen).map_or_else(|| short(&bound.path), |library| library.family);
    let mut text = format!("{owner}'s {}(){} ", api.name, case.suffix);
    let own: Vec<&Call> = seen.calls(0, false).collect();
    if own.is_empty() {
        let during = seen.steps.iter().filter(|step| step.actor == 0 && !step.after);
        let vdso = during.filter_map(|step| match &step.what {
            What::Vdso(function) => Some(function),
            _ => None,
        });
        text.push_str(&match vdso.into_iter().next() {
            Some(function) => {
                format!("issues no system call here: {function}() of the vDSO answers in user mode")
            }
            None => "issues no system call here".into(),
        });
    } else {
        text.push_str(&format!("issues {} here", listed(&own, &seen.called_from)));
    }
    for actor in 1..seen.actors.len() {
        let calls: Vec<&Call> = seen.calls(actor, false).collect();
        if !calls.is_empty() {
            text.push_str(&format!("; {} issues {}", seen.actors[actor], listed(&calls, &seen.called_from)));
        }
    }
    let later: Vec<&Call> = seen.calls(0, true).collect();
    if !later.is_empty() {
        text.push_str(&format!(
            "; after it has returned, the end of the process issues {}",
            listed(&later, &seen.called_from)
        ));
    }
    text.push('.');
    text
}

/// Calls in the order of their first time: one with its arguments, many by their names. What makes a process
/// or a thread is always shown with its flags. `program` is the file of the program that called.
fn listed(calls: &[&Call], program: &str) -> String {
    let mut parts: Vec<(String, usize)> = Vec::new();
    for call in calls {
        let part = if calls.len() == 1 || makes(call) { brief(call, program) } else { call.name.clone() };
        match parts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, times)) => *times += 1,
            None => parts.push((part, 1)),
        }
    }
    let counted = |(part, times)| if times == 1 { part } else { format!("{part} ({times} times)") };
    and(parts.into_iter().map(counted))
}

fn makes(call: &Call) -> bool {
    matches!(call.name.as_str(), "clone" | "clone3" | "fork" | "vfork" | "execve")
}

/// A call with the arguments that read the same every time: no address, and of the program's own file, which
/// may lie in a folder that vanishes, the name alone.
fn brief(call: &Call, program: &str) -> String {
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
                text if names(text, program) => format!("{}=\"…/{}\"", argument.name, short(program)),
                text => format!("{}={text}", argument.name),
            })
            .collect(),
    };
    let mut shown: Vec<&str> =
        fields.iter().map(|field| if field.is_empty() { "…" } else { field.as_str() }).collect();
    shown.dedup();
    format!("{}({})", call.name, comma(&shown))
}

/// Whether `text`, which is quoted and may be cut, is the path of the file `program`.
fn names(text: &str, program: &str) -> bool {
    match text.strip_prefix('"').and_then(|text| text.rsplit_once('"')) {
        Some((path, "")) => path == program,
        Some((beginning, _)) => !beginning.is_empty() && program.starts_with(beginning),
        None => false,
    }
}

/// The same call, or the same two in turns, several times without another one between.
struct Repetition<'s> {
    /// What comes again.
    first: &'s [&'s Call],
    /// Of each of those the one argument that is not the same every time, by its place, if there is one.
    differs: Vec<Option<usize>>,
    more: &'s [&'s Call],
}

impl<'s> Repetition<'s> {
    /// The longest one that `calls` begin with, of one call or of two; alone if nothing comes again.
    fn of(calls: &'s [&'s Call]) -> Self {
        let one = Self::turns(calls, 1);
        let two = Self::turns(calls, 2);
        if !two.more.is_empty() && two.length() > one.length() { two } else { one }
    }

    /// As far as the first `length` calls come again.
    fn turns(calls: &'s [&'s Call], length: usize) -> Self {
        let (first, rest) = calls.split_at(length.min(calls.len()));
        let mut repetition = Self { first, differs: vec![None; first.len()], more: &[] };
        for turn in rest.chunks_exact(length) {
            let known = first.iter().zip(turn).zip(&repetition.differs);
            let fitting: Option<Vec<_>> =
                known.map(|((one, other), &differs)| again(one, other, differs)).collect();
            let Some(differs) = fitting else { break };
            // Two calls in turns are about the same thing.
            let about = |(call, place): (&&'s Call, &Option<usize>)| {
                place.map(|place| (call.arguments[place].name, call.arguments[place].text.as_str()))
            };
            let objects: BTreeSet<_> = order::set(turn.iter().zip(&differs).filter_map(about));
            if objects.len() > 1 {
                break;
            }
            repetition.differs = differs;
            repetition.more = &rest[..repetition.more.len() + length];
        }
        repetition
    }

    fn length(&self) -> usize {
        self.first.len() + self.more.len()
    }

    /// What stands below the lines of the first.
    fn line(&self) -> Option<String> {
        let turns = self.more.len() / self.first.len().max(1);
        let what = match self.first {
            _ if turns == 0 => return None,
            [call] => format!("  and {turns} more {} in a repetition", call.name),
            _ => format!("  and these two {turns} more times in a repetition"),
        };
        let Some((of, place)) = (0..).zip(&self.differs).find_map(|(of, place)| Some((of, (*place)?))) else {
            return Some(what);
        };
        let of_each = self.more.iter().skip(of).step_by(self.first.len());
        let texts: Vec<&str> = of_each.map(|call| call.arguments[place].text.as_str()).collect();
        let texts = match texts.as_slice() {
            [first, second, third, .., last] if turns > LISTED => {
                format!("{first}, {second}, {third}, …, {last}")
            }
            all => comma(all),
        };
        Some(format!("{what}, with {}={texts}", self.first[of].arguments[place].name))
    }
}

/// Whether `call` is `first` once more, so that nothing that matters is lost if it is not shown: every
/// argument and the outcome are the same, or one argument alone differs, `differs` if that is known, and none
/// failed. Which argument it is from then on.
fn again(first: &Call, call: &Call, differs: Option<usize>) -> Option<Option<usize>> {
    let Call { name, arguments, issuer, outcome, .. } = first;
    let same = call.name == *name
        && call.issuer == *issuer
        && call.arguments.len() == arguments.len()
        && call.outcome.is_some()
        && call.outcome == *outcome
        && !makes(call);
    if !same {
        return None;
    }
    let pairs = arguments.iter().zip(&call.arguments).enumerate();
    let differing: Vec<usize> =
        pairs.filter(|(_, (one, other))| one.text != other.text).map(|(place, _)| place).collect();
    match differing.as_slice() {
        [] => Some(differs),
        &[place] if differs.is_none_or(|known| known == place) && matches!(outcome, Some(Ok(_))) => {
            Some(Some(place))
        }
        _ => None,
    }
}

/// The most values of an argument that are listed.
const LISTED: usize = 8;

fn evidence(api: &Api, seen: &Transcript, bound: &Bound, on: Architecture) -> String {
    let mut lines = vec![api_line(bound), abi_line(api, seen, on)];
    for (number, actor) in seen.actors.iter().enumerate() {
        for after in [false, true] {
            let steps = seen.steps.iter().filter(|step| step.actor == number && step.after == after);
            let steps: Vec<&What> = steps.map(|step| &step.what).collect();
            if !steps.is_empty() {
                let when = if after { ", after the function has returned" } else { "" };
                lines.push(format!("{}{when}:", capitalised(actor)));
            }
            let mut steps = steps.as_slice();
            while let [what, rest @ ..] = steps {
                steps = match what {
                    What::Note(note) => {
                        lines.push(format!("  {note}"));
                        rest
                    }
                    What::Vdso(function) => {
                        lines.push(format!("  runs {function}() of the vDSO, in user mode"));
                        rest
                    }
                    What::Call(_) => {
                        let calls: Vec<&Call> = steps.iter().map_while(|what| what.call()).collect();
                        let repetition = Repetition::of(&calls);
                        lines.extend(repetition.first.iter().flat_map(|call| call_lines(call, on)));
                        lines.extend(repetition.line());
                        &steps[repetition.length()..]
                    }
                };
            }
        }
    }
    lines.push(match seen.result.map(|result| api.result.written(result)) {
        Some(Some(result)) => format!("Result: {} = {result}", Convention::of(on).result),
        Some(None) => "The function returns and has no result".into(),
        None => "Result: none; the function does not return".into(),
    });
    if let Some(odd) = seen.ended.filter(|end| *end != End::Exited(0) && seen.result.is_some()) {
        lines.push(format!("The probe then {}: what it called did not do what it should", ended(odd)));
    }
    if !seen.complaint.is_empty() {
        lines.push(format!("On standard error: {}", seen.complaint));
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

/// How a process ended, as the rest of a sentence that begins with its name.
pub(super) fn ended(end: End) -> String {
    match end {
        End::Exited(status) => format!("ended with status {status}"),
        End::Signalled(number) => format!("was ended by {}", signal(u64::from(number.unsigned_abs()))),
        End::OutOfTime => "was ended at the deadline".into(),
    }
}

fn named(library: &Library) -> String {
    match &library.version {
        Some(version) => format!("{} {version}", library.family),
        None => library.family.into(),
    }
}

/// The function's arguments as the calling convention has them.
fn abi_line(api: &Api, seen: &Transcript, on: Architecture) -> String {
    let arguments = match seen.arguments.as_slice() {
        [] if api.parameters.is_empty() => "no argument".into(),
        arguments => comma(arguments.iter().map(register)),
    };
    format!(
        "ABI: {}, {}; called from {}: {arguments}",
        on.names().sentence,
        Convention::of(on).document,
        short(&seen.called_from)
    )
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
    let mut lines =
        vec![format!("  {} by `{}` of {}", call.name, Convention::of(on).instruction, call.issuer)];
    lines.push(format!("    {}={} {}", Convention::of(on).call_number, call.number, call.name));
    lines.extend(call.arguments.iter().map(|argument| format!("    {}", register(argument))));
    lines.push(match &call.outcome {
        Some(Ok(result)) => format!("    result: {} = {result}", Convention::of(on).result),
        Some(Err(error)) => format!("    error: {error}"),
        None => "    does not return".into(),
    });
    lines
}

fn hexadecimal(value: u64) -> String {
    if value < 10 { value.to_string() } else { format!("{value:#x}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::api;
    use crate::trace::transcript::Step;

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
    fn fork() -> (Transcript, Bound) {
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
        let mut seen = Transcript {
            called: true,
            called_from: "/tmp/.tmpAbCd/probe".into(),
            result: Some(77),
            ..Transcript::new()
        };
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

    fn finding_of(name: &str, seen: &Transcript, bound: &Bound) -> Finding {
        let api = api::find(name).unwrap();
        finding("calls", api, &api.cases[0], seen, bound, Architecture::Aarch64)
    }

    #[test]
    fn a_trace_is_a_sentence_and_its_steps_register_by_register() {
        let (seen, bound) = fork();
        let finding = finding_of("fork", &seen, &bound);
        assert_eq!(
            finding.sentence,
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
            "Result: x0 = 77",
        ];
        assert_eq!(finding.evidence, lines.join("\n"));
        assert_eq!(finding.experiment, "calls");
        assert!(finding.confidence.starts_with("traced, not sampled"));
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
        let finding = finding_of("fork", &seen, &bound);
        assert_eq!(
            finding.sentence,
            "planted.so's fork() issues rt_sigprocmask (3 times), \
             clone3(flags=CLONE_VM|CLONE_VFORK, exit_signal=SIGCHLD, …) and openat here."
        );
        assert!(finding.evidence.contains("  and 2 more rt_sigprocmask in a repetition\n"), "{finding:?}");
        assert!(finding.evidence.contains("    error: ENOENT\n"), "{}", finding.evidence);
    }

    #[test]
    fn what_the_vdso_answers_is_the_librarys_and_no_system_call() {
        let (mut seen, mut bound) = fork();
        let (wanted, time) = ("time@GLIBC_2.17".to_owned(), "time@@GLIBC_2.17".to_owned());
        let libc = bound.definition.take().unwrap().library;
        seen.steps = vec![Step { actor: 0, after: false, what: What::Vdso("__vdso_time".into()) }];
        bound = Bound {
            wanted,
            definition: Some(Definition { symbol: "time@@LINUX_2.6".into(), library: "[vdso]".into() }),
            chooser: Some(Definition { symbol: time, library: libc }),
            path: "[vdso]".into(),
            library: None,
            c_library: bound.c_library,
        };
        let finding = finding_of("time", &seen, &bound);
        assert_eq!(
            finding.sentence,
            "glibc's time() issues no system call here: __vdso_time() of the vDSO answers in user mode."
        );
        assert!(finding.evidence.starts_with(
            "API: the call of time@GLIBC_2.17 is bound to time@@LINUX_2.6 in [vdso], chosen by the indirect function \
             time@@GLIBC_2.17 of /usr/lib/aarch64-linux-gnu/libc.so.6; C library: glibc 2.36\n"
        ));
        assert!(
            finding.evidence.contains("\n  runs __vdso_time() of the vDSO, in user mode\n"),
            "{finding:?}"
        );
        seen.steps.clear();
        bound.library.clone_from(&bound.c_library);
        assert_eq!(
            finding_of("getpid", &seen, &bound).sentence,
            "glibc's getpid() issues no system call here."
        );
    }

    /// The lines of a process that makes `calls`, without those that show an argument.
    fn lines(calls: impl IntoIterator<Item = What>) -> Vec<String> {
        let (mut seen, bound) = fork();
        seen.steps = calls.into_iter().map(|what| Step { actor: 0, after: false, what }).collect();
        let evidence = finding_of("fork", &seen, &bound).evidence;
        evidence
            .lines()
            .filter(|line| line.starts_with("  ") && !line.starts_with("    "))
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn calls_that_differ_in_more_than_one_argument_all_stand_there() {
        let write = |fd: u64, at: u64, outcome| {
            let arguments = vec![
                argument("x0", fd, "fd", &fd.to_string()),
                argument("x1", at, "buf", &format!("\"{at}\"")),
            ];
            call("write", 64, arguments, Some(outcome))
        };
        let brk =
            |text: &str, answer| call("brk", 214, vec![argument("x0", 0, "end", text)], Some(Ok(answer)));
        let shown = |what: What| match &what {
            What::Call(call) => format!("  {} by `svc #0` of libc.so.6, in _Fork", call.name),
            other => panic!("{other:?}"),
        };
        for pair in [
            // Another file and other bytes; an error after none, and of the same error another file; an end
            // that grows.
            [write(1, 1, Ok("3")), write(2, 2, Ok("3"))],
            [write(1, 1, Ok("3")), write(1, 1, Err("EBADF"))],
            [write(1, 1, Ok("3")), write(1, 1, Ok("2"))],
            [write(1, 1, Err("EBADF")), write(2, 1, Err("EBADF"))],
            [brk("NULL", "0x1000"), brk("0x2000", "0x2000")],
        ] {
            assert_eq!(lines(pair.clone()), pair.map(shown));
        }
        // One argument after the other is two that differ.
        let three = [write(1, 1, Ok("3")), write(2, 1, Ok("3")), write(1, 2, Ok("3"))];
        let first = shown(three[0].clone());
        assert_eq!(lines(three), [first.as_str(), "  and 1 more write in a repetition, with fd=2", &first]);
        // Another call between them is seen.
        let between = [write(1, 1, Ok("3")), brk("NULL", "0x1000"), write(1, 1, Ok("3"))];
        assert_eq!(lines(between.clone()), between.map(shown));
    }

    #[test]
    fn what_is_the_same_or_differs_in_one_argument_alone_is_counted() {
        let action = |number: u64| {
            let arguments = vec![
                argument("x0", number, "signal", &super::signal(number)),
                argument("x1", 9, "act", "0x9"),
            ];
            call("rt_sigaction", 134, arguments, Some(Ok("0")))
        };
        let first = "  rt_sigaction by `svc #0` of libc.so.6, in _Fork".to_owned();
        let sweep = lines((1..=64).map(action));
        let folded = "  and 63 more rt_sigaction in a repetition, with signal=SIGINT, SIGQUIT, SIGILL, …, 64";
        assert_eq!(sweep, [first.clone(), folded.into()]);
        let few = "  and 2 more rt_sigaction in a repetition, with signal=SIGINT, SIGQUIT";
        assert_eq!(lines((1..=3).map(action)), [first.clone(), few.into()]);
        // Each is asked for and then set, in turns.
        let asked = |number: u64, at: &str| {
            let old = if at == "NULL" { "0x9" } else { "NULL" };
            let arguments = vec![
                argument("x0", number, "signal", &super::signal(number)),
                argument("x1", 9, "act", at),
                argument("x2", 9, "oldact", old),
            ];
            call("rt_sigaction", 134, arguments, Some(Ok("0")))
        };
        let turns = (1..=64).flat_map(|number| [asked(number, "NULL"), asked(number, "0x9")]);
        let folded =
            "  and these two 63 more times in a repetition, with signal=SIGINT, SIGQUIT, SIGILL, …, 64";
        assert_eq!(lines(turns), [first.clone(), first.clone(), folded.into()]);
        // What is not about the same signal is not one of them.
        let odd = [(1, "NULL"), (1, "0x9"), (2, "NULL"), (3, "0x9")].map(|(number, at)| asked(number, at));
        assert_eq!(lines(odd), [first.as_str(); 4]);
        // The same error for the same question.
        let failed = || call("rt_sigaction", 134, vec![], Some(Err("EINVAL")));
        assert_eq!(lines([failed(), failed()]), [first, "  and 1 more rt_sigaction in a repetition".into()]);
    }

    #[test]
    fn the_programs_own_file_is_shown_without_its_folder() {
        let (seen, _) = fork();
        let program = seen.called_from.as_str();
        let execve = |path: &str| {
            let What::Call(call) = call("execve", 221, vec![argument("x0", 9, "path", path)], None) else {
                panic!("a call")
            };
            brief(&call, program)
        };
        assert_eq!(execve("\"/tmp/.tmpAbCd/probe\""), "execve(path=\"…/probe\")");
        assert_eq!(execve("\"/tmp/.tmpAb\"…"), "execve(path=\"…/probe\")");
        assert_eq!(execve("\"/bin/sh\""), "execve(path=\"/bin/sh\")");
        assert_eq!(execve("\"\""), "execve(path=\"\")");
    }

    #[test]
    fn a_function_without_a_result_has_none_and_an_end_is_named() {
        let (mut seen, bound) = fork();
        seen.ended = Some(End::Exited(70));
        seen.complaint = "free(): invalid pointer".into();
        let evidence = finding_of("free", &seen, &bound).evidence;
        let last = "\nThe function returns and has no result\n\
                    The probe then ended with status 70: what it called did not do what it should\n\
                    On standard error: free(): invalid pointer";
        assert!(evidence.ends_with(last), "{evidence}");
        assert_eq!(ended(End::Signalled(6)), "was ended by SIGABRT");
        assert_eq!(ended(End::OutOfTime), "was ended at the deadline");
    }
}
