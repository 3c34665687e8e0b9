//! One trace: from the program's entry to the call, through the call, to the end of everything that it
//! started.
//!
//! At the program's entry point the dynamic linker has bound every function that the program takes from a
//! library (`LD_BIND_NOW`, ld.so(8)), so the word that holds the function's address says which one the
//! program will call, whatever was preloaded and whichever an indirect function chose. A breakpoint stands
//! there until a call comes from the program itself, and then at the address that it returns to.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;

use tenbin_metal::Fault;
use tenbin_metal::child::End;
use tenbin_metal::tracee::{Birth, Breakpoint, Entered, Stop, Thread, Tracee, Trouble, Until};

use tenbin_model::Architecture;

use super::api::{Api, Case};
use super::architecture::Convention;
use super::image::Image;
use super::names::{CLONE_THREAD, signal};
use super::place::{self, Mapping};
use super::signature::{self, Kind};
use super::transcript::{Argument, Bound, Call, Definition, Step, Transcript, What};

/// `AT_ENTRY` of the auxiliary vector (getauxval(3)).
const AT_ENTRY: u64 = 9;
/// `CLONE_VM`: what is made shares the memory.
const CLONE_VM: u64 = 0x100;

/// How far the program has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Loading,
    /// The program has begun and not made the call yet.
    Waiting,
    Inside,
    Returned,
}

struct Actor {
    name: usize,
    /// Its place in the list of address spaces.
    space: usize,
    /// Whether what it does belongs to the call.
    watched: bool,
    /// Whether the function has returned in it.
    returned: bool,
    /// The step that is its system call, which has not ended.
    pending: Option<usize>,
    /// The flags that it asked for, if what it calls makes a process or a thread.
    asked: Option<u64>,
}

/// How far a trace has come, also of one that breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// The program has not been started.
    Nothing,
    Program,
    /// It has made the call.
    Call,
}

pub(super) struct Follower<'t, 'a> {
    tracee: &'t mut Tracee<'a>,
    api: &'static Api,
    case: &'static Case,
    phase: Phase,
    actors: BTreeMap<Thread, Actor>,
    spaces: Vec<BTreeMap<u64, Breakpoint>>,
    images: BTreeMap<String, Option<Image>>,
    /// The file of the program, as the kernel names it.
    program: String,
    entry: u64,
    function: u64,
    back: Option<u64>,
    /// Where a call returns to that did not come from the program.
    other: Option<u64>,
    /// Functions of the vDSO that a breakpoint stands at.
    kernel_functions: BTreeMap<u64, String>,
    reached: &'t mut Reached,
    seen: Transcript,
}

/// Follows the tracee, which stands at its first instruction, through the call of `api`, and keeps in
/// `reached` how far it has come.
pub(super) fn follow(
    tracee: &mut Tracee<'_>,
    api: &'static Api,
    case: &'static Case,
    probe: &Image,
    reached: &mut Reached,
) -> Result<Transcript, Trouble> {
    *reached = Reached::Program;
    let leader = tracee.leader();
    let entry = entry_point(leader)?;
    let program = place::at(&place::mappings(leader)?, entry).map(|mapping| mapping.path.clone());
    let first = Actor { name: 0, space: 0, watched: false, returned: false, pending: None, asked: None };
    let mut follower = Follower {
        tracee,
        api,
        case,
        phase: Phase::Loading,
        actors: BTreeMap::from([(leader, first)]),
        spaces: vec![BTreeMap::new()],
        images: BTreeMap::new(),
        program: program.unwrap_or_default(),
        entry,
        function: 0,
        back: None,
        other: None,
        kernel_functions: BTreeMap::new(),
        reached,
        seen: Transcript::new(),
    };
    follower.plant(leader, entry)?;
    follower.resume(leader, None)?;
    while let Some((thread, stop)) = follower.tracee.next_stop()? {
        match follower.handle(thread, stop, probe) {
            // Killed while it was asked about, by the end of its process: its own end comes next.
            Ok(()) | Err(Trouble::Gone(_)) => {}
            Err(trouble) => return Err(trouble),
        }
    }
    follower.seen.called = matches!(follower.phase, Phase::Inside | Phase::Returned);
    Ok(follower.seen)
}

impl Follower<'_, '_> {
    fn handle(&mut self, thread: Thread, stop: Stop, probe: &Image) -> Result<(), Trouble> {
        let mut delivered = None;
        match stop {
            Stop::Begun => {}
            Stop::Entered(entered) => self.entered(thread, entered)?,
            Stop::Left { result } => self.left(thread, result),
            Stop::Trapped { at } => {
                if !self.trapped(thread, at, probe)? {
                    delivered = Some(SIGTRAP);
                }
            }
            Stop::Born { child, how } => self.born(thread, child, how),
            Stop::Released => self.released(thread)?,
            Stop::Executed => self.executed(thread),
            Stop::Signal(number) => {
                self.note(thread, format!("gets {}", signal(u64::from(number.unsigned_abs()))));
                delivered = Some(number);
            }
            Stop::Ended(end) => {
                self.note(thread, ended(end));
                if thread == self.tracee.leader() {
                    self.seen.ended = Some(end);
                }
                self.actors.remove(&thread);
                return Ok(());
            }
        }
        self.resume(thread, delivered)
    }

    fn resume(&self, thread: Thread, delivered: Option<i32>) -> Result<(), Trouble> {
        let watched = self.actors.get(&thread).is_some_and(|actor| actor.watched);
        self.tracee.resume(thread, if watched { Until::SystemCall } else { Until::Event }, delivered)
    }

    fn plant(&mut self, thread: Thread, at: u64) -> Result<(), Trouble> {
        let Some(actor) = self.actors.get(&thread) else { return Ok(()) };
        if let Entry::Vacant(free) = self.spaces[actor.space].entry(at) {
            free.insert(self.tracee.plant(thread, at)?);
        }
        Ok(())
    }

    fn note(&mut self, thread: Thread, note: String) {
        self.step(thread, What::Note(note));
    }

    fn step(&mut self, thread: Thread, what: What) {
        if let Some(actor) = self.actors.get(&thread).filter(|actor| actor.watched) {
            self.seen.steps.push(Step { actor: actor.name, after: actor.returned, what });
        }
    }

    /// A breakpoint was met; false where none stands there, and the signal is the program's own.
    fn trapped(&mut self, thread: Thread, at: u64, probe: &Image) -> Result<bool, Trouble> {
        let Some(space) = self.actors.get(&thread).map(|actor| actor.space) else { return Ok(false) };
        let Some(breakpoint) = self.spaces[space].remove(&at) else { return Ok(false) };
        self.tracee.step_back(thread, breakpoint)?;
        if self.phase == Phase::Loading && at == self.entry {
            self.bind(thread, probe)?;
        } else if self.phase == Phase::Waiting && at == self.function {
            self.called(thread)?;
        } else if self.other == Some(at) {
            self.other = None;
            self.plant(thread, self.function)?;
        } else if self.back == Some(at) {
            self.returned(thread)?;
        } else if let Some(name) = self.kernel_functions.remove(&at) {
            self.step(thread, What::Vdso(name));
        }
        Ok(true)
    }

    /// The program begins: which function is its call bound to?
    fn bind(&mut self, thread: Thread, probe: &Image) -> Result<(), Trouble> {
        let bias = self.entry.wrapping_sub(probe.entry);
        let Some(import) = probe.import(self.api.name) else { return Ok(()) };
        let mut word = [0; 8];
        self.tracee.read(thread, bias.wrapping_add(import.slot), &mut word)?;
        self.function = u64::from_le_bytes(word);
        let mappings = place::mappings(thread)?;
        let Some(mapped) = place::at(&mappings, self.function).cloned() else { return Ok(()) };
        let name = self.api.name;
        let offset = self.function - mapped.start + mapped.offset;
        let image = self.image(thread, &mapped, &mappings);
        let address = image.and_then(|image| image.address(offset));
        let here = image.and_then(|image| image.definition(name, address?, import.version.as_deref()));
        let definition =
            here.map(|symbol| Definition { symbol: symbol.versioned(), library: mapped.path.clone() });
        let family = image.and_then(|image| image.library.clone());
        // Code of the kernel's, or code that no name leads to, is what an indirect function chose.
        let own = definition.is_some() && mapped.path != VDSO;
        let chooser = if own { None } else { self.chooser(thread, &mappings, import.version.as_deref()) };
        let wanted = import.version.as_ref().map(|version| format!("{name}@{version}"));
        // The C library is named in any case: it is what was asked about, whoever defines the function.
        let files = mappings.iter().filter(|mapping| mapping.path.starts_with('/') && mapping.offset == 0);
        let mut libraries = files.map(|file| self.image(thread, file, &mappings)?.library.clone());
        let c_library = libraries.find_map(|library| library);
        self.seen.bound = Some(Bound {
            wanted: wanted.unwrap_or_else(|| name.into()),
            definition,
            chooser,
            path: mapped.path,
            library: family,
            c_library,
        });
        self.plant(thread, self.function)?;
        self.phase = Phase::Waiting;
        Ok(())
    }

    /// The indirect function of the call's name and version (`STT_GNU_IFUNC`), which chooses what is called.
    fn chooser(&mut self, thread: Thread, mappings: &[Mapping], version: Option<&str>) -> Option<Definition> {
        let name = self.api.name;
        let same = |symbol: &&super::image::Symbol| {
            symbol.indirect
                && symbol.name == name
                && (version.is_none() || symbol.version.as_deref() == version)
        };
        let mut files = mappings.iter().filter(|mapping| mapping.offset == 0 && !mapping.path.is_empty());
        files.find_map(|file| {
            let symbol = self.image(thread, file, mappings)?.defined.iter().find(same)?.versioned();
            Some(Definition { symbol, library: file.path.clone() })
        })
    }

    /// The function is entered; by the program, or by somebody else.
    fn called(&mut self, thread: Thread) -> Result<(), Trouble> {
        let back = self.tracee.return_address(thread)?;
        let mappings = place::mappings(thread)?;
        let caller = place::at(&mappings, back).map(|mapping| mapping.path.clone()).unwrap_or_default();
        if caller != self.program {
            self.other = Some(back);
            return self.plant(thread, back);
        }
        let registers = self.tracee.registers(thread)?;
        let values: Vec<u64> =
            (0..self.api.parameters.len()).map_while(|number| registers.argument(number)).collect();
        let here = Convention::of(Architecture::HERE);
        let named = self.api.parameters.iter().zip(here.function_arguments).enumerate();
        self.seen.arguments = named
            .map(|(number, ((name, kind), register))| Argument {
                register,
                value: values.get(number).copied().unwrap_or_default(),
                name,
                text: signature::written(*kind, number, &values, Architecture::HERE, &self.memory(thread)),
            })
            .collect();
        self.seen.called_from = caller;
        self.phase = Phase::Inside;
        *self.reached = Reached::Call;
        self.back = Some(back);
        self.plant(thread, back)?;
        if let Some(actor) = self.actors.get_mut(&thread) {
            actor.watched = true;
        }
        self.watch_the_kernels_functions(thread, &mappings);
        Ok(())
    }

    /// Puts breakpoints at the functions of the vDSO, which answer without a system call.
    fn watch_the_kernels_functions(&mut self, thread: Thread, mappings: &[Mapping]) {
        let Some(vdso) = mappings.iter().find(|mapping| mapping.path == VDSO) else { return };
        let start = vdso.start;
        let Some(image) = self.image(thread, vdso, mappings) else { return };
        // `__vdso_…`, or `__kernel_…` on arm64 (vdso(7)). A weak name stands beside some; one of two is
        // enough.
        let named = |name: &str| name.starts_with("__vdso_") || name.starts_with("__kernel_");
        let functions: Vec<(u64, String)> = image
            .defined
            .iter()
            .filter(|symbol| named(&symbol.name) && symbol.size > 0)
            .map(|symbol| (start.wrapping_add(symbol.address), symbol.name.clone()))
            .collect();
        for (at, name) in functions {
            if at == self.function {
                self.step(thread, What::Vdso(name));
            } else if self.plant(thread, at).is_ok() {
                // A kernel that does not let its page be written to leaves the answer without this line.
                self.kernel_functions.insert(at, name);
            }
        }
    }

    fn returned(&mut self, thread: Thread) -> Result<(), Trouble> {
        let result = self.tracee.registers(thread)?.result();
        let first = thread == self.tracee.leader();
        if first {
            self.seen.result = Some(result);
            self.phase = Phase::Returned;
        } else {
            let with = self.api.result.written(result).map(|result| format!(", with {result}"));
            self.note(thread, format!("returns from {}(){}", self.api.name, with.unwrap_or_default()));
        }
        let follows = self.case.to_the_end;
        if let Some(actor) = self.actors.get_mut(&thread) {
            actor.returned = true;
            actor.watched = !first || follows;
        }
        Ok(())
    }

    fn entered(&mut self, thread: Thread, entered: Entered) -> Result<(), Trouble> {
        let Some(actor) = self.actors.get(&thread).filter(|actor| actor.watched) else { return Ok(()) };
        let (name, after) = (actor.name, actor.returned);
        let (here, convention) = (Architecture::HERE, Convention::of(Architecture::HERE));
        let called = convention
            .call_name(entered.number)
            .map_or_else(|| format!("call {}", entered.number), str::to_owned);
        let parameters =
            signature::of(&called, here).map(|parameters| signature::taken(parameters, &entered.arguments));
        // Of a call that is not known, every register is shown.
        let unknown: Vec<_> =
            ["first", "second", "third", "fourth", "fifth", "sixth"].map(|name| (name, Kind::Pointer)).into();
        let arguments = parameters.unwrap_or(&unknown).iter().enumerate();
        let arguments = arguments
            .map(|(number, (name, kind))| Argument {
                register: convention.call_arguments[number],
                value: entered.arguments[number],
                name,
                text: signature::written(*kind, number, &entered.arguments, here, &self.memory(thread)),
            })
            .collect();
        let asked = signature::birth_flags(&called, &entered.arguments, &self.memory(thread));
        let call = Call {
            name: called,
            number: entered.number,
            arguments,
            issuer: self.issuer(thread, entered.instruction)?,
            outcome: None,
        };
        self.seen.steps.push(Step { actor: name, after, what: What::Call(call) });
        if let Some(actor) = self.actors.get_mut(&thread) {
            actor.pending = Some(self.seen.steps.len() - 1);
            actor.asked = asked;
        }
        Ok(())
    }

    fn left(&mut self, thread: Thread, result: i64) {
        let pending = self.actors.get_mut(&thread).and_then(|actor| actor.pending.take());
        let Some(Step { what: What::Call(call), .. }) = pending.and_then(|step| self.seen.steps.get(step))
        else {
            return;
        };
        let outcome = signature::outcome(&call.name, result);
        // What was read is known only now.
        let filled = (call.name == "read" && result > 0).then(|| {
            let values = [call.arguments[0].value, call.arguments[1].value, result.unsigned_abs()];
            signature::written(Kind::Bytes(2), 1, &values, Architecture::HERE, &self.memory(thread))
        });
        if let Some(Step { what: What::Call(call), .. }) =
            pending.and_then(|step| self.seen.steps.get_mut(step))
        {
            call.outcome = Some(outcome);
            if let Some(filled) = filled {
                call.arguments[1].text = filled;
            }
        }
    }

    fn born(&mut self, parent: Thread, child: Thread, how: Birth) {
        let Some(actor) = self.actors.get(&parent) else { return };
        let (space, watched, returned) = (actor.space, actor.watched, actor.returned);
        let thread = how == Birth::Cloned && actor.asked.is_none_or(|flags| flags & CLONE_THREAD != 0);
        let shared = actor.asked.map_or(how != Birth::Forked, |flags| flags & CLONE_VM != 0);
        let space = if shared {
            space
        } else {
            self.spaces.push(self.spaces[space].clone());
            self.spaces.len() - 1
        };
        let name = self.seen.name(if thread { "thread" } else { "child" });
        let asked = None;
        self.actors.insert(child, Actor { name, space, watched, returned, pending: None, asked });
    }

    /// A vforked child no longer shares the memory. If it came back from the function first, it has lifted
    /// the breakpoint that its parent is to meet.
    fn released(&mut self, thread: Thread) -> Result<(), Trouble> {
        match self.back {
            Some(back) if self.phase == Phase::Inside => self.plant(thread, back),
            _ => Ok(()),
        }
    }

    fn executed(&mut self, thread: Thread) {
        let program = fs::read_link(format!("/proc/{thread}/exe"));
        let program = program.map_or_else(|_| "another program".into(), |path| path.display().to_string());
        self.left(thread, 0);
        self.note(thread, format!("is {program} from here on, which is not followed"));
        self.spaces.push(BTreeMap::new());
        if let Some(actor) = self.actors.get_mut(&thread) {
            actor.space = self.spaces.len() - 1;
            actor.watched = false;
        }
    }

    /// Which file's code, and which of its functions, `instruction` belongs to.
    fn issuer(&mut self, thread: Thread, instruction: u64) -> Result<String, Trouble> {
        let mappings = place::mappings(thread)?;
        let Some(mapped) = place::at(&mappings, instruction) else { return Ok("code of no file".into()) };
        let address = instruction - mapped.start + mapped.offset;
        let image = self.image(thread, mapped, &mappings);
        let inside = image.and_then(|image| image.containing(image.address(address)?));
        let file = place::short(&mapped.path);
        Ok(match inside {
            Some(function) => format!("{file}, in {}", function.name),
            None => file.into(),
        })
    }

    /// The file that is mapped there, read once.
    fn image(&mut self, thread: Thread, file: &Mapping, mappings: &[Mapping]) -> Option<&Image> {
        if !self.images.contains_key(&file.path) {
            let bytes = if file.path == VDSO {
                let first = mappings.iter().find(|mapping| mapping.path == VDSO);
                first.map(|vdso| {
                    let mut bytes = vec![0; (vdso.end - vdso.start) as usize];
                    let read = self.tracee.read_some(thread, vdso.start, &mut bytes).unwrap_or_default();
                    bytes.truncate(read);
                    bytes
                })
            } else {
                super::image::bytes(file.path.as_ref()).ok()
            };
            let image = bytes.and_then(|bytes| Image::parse(&bytes).ok());
            self.images.insert(file.path.clone(), image);
        }
        self.images.get(&file.path)?.as_ref()
    }

    fn memory(&self, thread: Thread) -> impl Fn(u64, usize) -> Vec<u8> {
        move |at, most| {
            let mut bytes = vec![0; most];
            let read = self.tracee.read_some(thread, at, &mut bytes).unwrap_or_default();
            bytes.truncate(read);
            bytes
        }
    }
}

/// What the kernel calls its code in every process.
const VDSO: &str = "[vdso]";

/// A signal that is a breakpoint's, or the program's own (signal(7)).
const SIGTRAP: i32 = 5;

fn ended(end: End) -> String {
    match end {
        End::Exited(status) => format!("ends with status {status}"),
        End::Signalled(number) => format!("is ended by {}", signal(u64::from(number.unsigned_abs()))),
        End::OutOfTime => "is ended at the deadline".into(),
    }
}

fn entry_point(thread: Thread) -> Result<u64, Fault> {
    let path = format!("/proc/{thread}/auxv");
    let vector = fs::read(&path).map_err(|error| Fault::system(format!("read {path}"), error))?;
    let (words, _) = vector.as_chunks::<8>();
    let words: Vec<u64> = words.iter().map(|&word| u64::from_le_bytes(word)).collect();
    let (pairs, _) = words.as_chunks::<2>();
    let entry = pairs.iter().find(|[kind, _]| *kind == AT_ENTRY).map(|[_, value]| *value);
    entry.ok_or_else(|| {
        Fault::system(format!("find the entry point in {path}"), std::io::Error::other("none"))
    })
}
