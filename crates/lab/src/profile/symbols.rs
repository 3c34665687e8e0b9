//! Names for addresses in code: of files that processes map, of the kernel, and of compilers in them.
//!
//! `/tmp/perf-PROCESS.map` is what just-in-time compilers write (Linux,
//! `tools/perf/Documentation/jit-interface.txt`): a line a function, its address and size in hexadecimal, and
//! its name.

use std::collections::BTreeMap;
use std::fs;

use tenbin_metal::stacks::{Mapping, Recording};
use tenbin_metal::symbols::Symbols as KernelSymbols;
use tenbin_model::Order;
use tenbin_model::elf::{Elf, numbers};
use tenbin_model::lines::Lines;
use tenbin_model::stacks::Frame;

/// Files of more bytes are not read, and have no names.
const LARGEST: u64 = 1 << 30;

/// How many processes up the mappings of one are looked for: each that began as a copy of another has those.
const GENERATIONS: usize = 64;

/// A function: from where on, up to where, and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Function {
    start: u64,
    end: u64,
    name: String,
}

/// A file of code, read once.
#[derive(Debug, Default)]
struct Code {
    /// Ascending.
    functions: Vec<Function>,
    /// Parts of the file: place, length, address.
    parts: Vec<(u64, u64, u64)>,
    lines: Lines,
}

/// A place in code, and how many bytes of its function come before it, where that is known.
type Named = (Frame, Option<u64>);

pub(super) struct Names<'a> {
    recording: &'a Recording,
    mappings: BTreeMap<u32, Vec<&'a Mapping>>,
    files: BTreeMap<&'a str, Code>,
    compiled: BTreeMap<u32, Vec<Function>>,
    kernel: Option<KernelSymbols>,
    /// Why the kernel's functions have no names.
    pub(super) no_kernel: Option<String>,
}

impl<'a> Names<'a> {
    pub(super) fn of(recording: &'a Recording) -> Self {
        let mut mappings: BTreeMap<u32, Vec<&Mapping>> = BTreeMap::new();
        for mapping in &recording.mappings {
            mappings.entry(mapping.process).or_default().push(mapping);
        }
        let kernel = KernelSymbols::of_the_kernel();
        let no_kernel = kernel.as_ref().err().map(ToString::to_string);
        let kernel = kernel.ok();
        Self { recording, mappings, files: BTreeMap::new(), compiled: BTreeMap::new(), kernel, no_kernel }
    }

    pub(super) fn kernel(&self, address: u64) -> Named {
        let place = self.kernel.as_ref().and_then(|symbols| symbols.at(address));
        let function = place.map_or_else(|| format!("{address:#x}"), |place| place.symbol.to_owned());
        let offset = place.map(|place| place.offset);
        (Frame { function, module: Frame::KERNEL.into(), ..Frame::default() }, offset)
    }

    /// A place in a process at a time. Of a call it is the byte before what it returns to, which is still in
    /// the function that called and on that line.
    pub(super) fn user(&mut self, process: u32, at: u64, address: u64, is_call: bool) -> Named {
        let address = address.saturating_sub(u64::from(is_call));
        let Some(mapping) = self.mapping(process, at, address) else {
            return self
                .compiled(process, address)
                .unwrap_or_else(|| (Frame { function: format!("{address:#x}"), ..Frame::default() }, None));
        };
        if !mapping.path.starts_with('/') || mapping.path.starts_with("//") {
            let offset = address - mapping.start;
            return self.compiled(process, address).unwrap_or_else(|| {
                let function = format!("{}+{offset:#x}", mapping.path);
                (Frame { function, module: mapping.path.clone(), ..Frame::default() }, None)
            });
        }
        let code = self.files.entry(&mapping.path).or_insert_with(|| Code::of(&bytes(&mapping.path)));
        let place = address - mapping.start + mapping.offset;
        code.frame(&mapping.path, place)
    }

    /// What lay at an address: the last mapping of the process that holds it, or of that which it began as a
    /// copy of.
    fn mapping(&self, process: u32, at: u64, address: u64) -> Option<&'a Mapping> {
        let mut process = process;
        for _ in 0..GENERATIONS {
            let own = self.mappings.get(&process).map_or(&[][..], Vec::as_slice);
            let holds =
                |mapping: &&&Mapping| mapping.at <= at && mapping.start <= address && address < mapping.end;
            if let Some(mapping) = own.iter().rev().find(holds) {
                return Some(mapping);
            }
            process = *self.recording.parents.get(&process)?;
        }
        None
    }

    fn compiled(&mut self, process: u32, address: u64) -> Option<Named> {
        let functions = self.compiled.entry(process).or_insert_with(|| {
            compiled(&String::from_utf8_lossy(&bytes(&format!("/tmp/perf-{process}.map"))))
        });
        let function = at(functions, address)?;
        let frame = Frame { function: function.name.clone(), module: "[jit]".into(), ..Frame::default() };
        Some((frame, Some(address - function.start)))
    }
}

/// What is in a file; nothing where it is not read.
fn bytes(path: &str) -> Vec<u8> {
    let is_readable = fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= LARGEST);
    if is_readable { fs::read(path).unwrap_or_default() } else { Vec::new() }
}

fn at(functions: &[Function], address: u64) -> Option<&Function> {
    let after = functions.partition_point(|function| function.start <= address);
    functions[..after].last().filter(|function| address < function.end)
}

/// The functions of a `perf-PROCESS.map`; of several at an address the last one.
fn compiled(text: &str) -> Vec<Function> {
    let mut functions: BTreeMap<u64, Function> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.splitn(3, ' ');
        let hexadecimal = |word: Option<&str>| {
            u64::from_str_radix(word.unwrap_or_default().trim_start_matches("0x"), 16).ok()
        };
        let (start, size) = (hexadecimal(words.next()), hexadecimal(words.next()));
        if let (Some(start), Some(size), Some(name)) = (start, size, words.next()) {
            let end = start.saturating_add(size);
            functions.insert(start, Function { start, end, name: name.to_owned() });
        }
    }
    functions.into_values().collect()
}

impl Code {
    fn of(bytes: &[u8]) -> Self {
        let Ok(elf) = Elf::parse(bytes) else { return Self::default() };
        let parts = elf.loaded().map(|part| (part.offset, part.length, part.address)).collect();
        let mut symbols = elf.symbols().unwrap_or_default();
        if let Ok(Some(dynamic)) = elf.dynamic() {
            symbols.extend(dynamic.symbols);
        }
        symbols.retain(|symbol| {
            let is_function = [numbers::STT_FUNC, numbers::STT_GNU_IFUNC].contains(&symbol.kind);
            is_function && !symbol.is_undefined() && !symbol.name.is_empty()
        });
        // Of several at an address the global one with fewer underscores is what people know.
        let underscores = |name: &str| name.bytes().take_while(|&letter| letter == b'_').count();
        symbols.order_by(|one, other| {
            let key = |symbol: &tenbin_model::elf::Symbol<'_>| {
                (symbol.address, symbol.local, underscores(&symbol.name))
            };
            key(one).cmp(&key(other)).then_with(|| one.name.cmp(&other.name))
        });
        symbols.dedup_by_key(|symbol| symbol.address);
        let ends = symbols.iter().skip(1).map(|symbol| symbol.address).chain([u64::MAX]);
        let functions = symbols.iter().zip(ends).map(|(symbol, next)| Function {
            start: symbol.address,
            end: if symbol.size == 0 { next } else { symbol.address.saturating_add(symbol.size) },
            name: format!("{:#}", rustc_demangle::demangle(&symbol.name)),
        });
        Self { functions: functions.collect(), parts, lines: Lines::read(bytes) }
    }

    /// What is at a place in the file.
    fn frame(&self, path: &str, place: u64) -> Named {
        let unnamed = || {
            let file = path.rsplit('/').next().unwrap_or_default();
            format!("{file}+{place:#x}")
        };
        let holds = |&&(offset, length, _): &&(u64, u64, u64)| offset <= place && place - offset < length;
        let address = self.parts.iter().find(holds).map(|(offset, _, address)| place - offset + address);
        let function = address.and_then(|address| at(&self.functions, address));
        let line = address.and_then(|address| self.lines.of(address));
        let frame = Frame {
            function: function.map_or_else(unnamed, |function| function.name.clone()),
            module: path.to_owned(),
            source: line.map(|(file, _)| file.to_owned()),
            line: line.map(|(_, line)| line),
        };
        (frame, address.zip(function).map(|(address, function)| address - function.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_compiler_wrote_gives_names() {
        let functions =
            compiled("7f00 10 add\nnot a line\n0x7f10 20 LazyCompile:~main a.js:1\n7f00 8 again\n");
        let name = |address| at(&functions, address).map(|function| function.name.as_str());
        assert_eq!(name(0x7f04), Some("again"));
        assert_eq!(name(0x7f08), None);
        assert_eq!(name(0x7f2f), Some("LazyCompile:~main a.js:1"));
        assert_eq!(name(0x7f30), None);
    }

    #[test]
    fn an_address_is_named_by_the_last_mapping_before_it() {
        let mapping = |at, process, start, path: &str| Mapping {
            at,
            process,
            start,
            end: start + 0x1000,
            offset: 0,
            path: path.into(),
        };
        let recording = Recording {
            mappings: vec![
                mapping(1, 7, 0x1000, "/nonexistent/first"),
                mapping(5, 7, 0x1000, "/nonexistent/second"),
                mapping(6, 8, 0x4000, "//anon"),
            ],
            parents: BTreeMap::from([(8, 7), (7, 8)]),
            ..Recording::default()
        };
        let mut names = Names::of(&recording);
        let mut name = |process, at, address| names.user(process, at, address, false).0.function;
        assert_eq!(name(7, 2, 0x1010), "first+0x10");
        assert_eq!(name(7, 9, 0x1010), "second+0x10");
        // A copy has what it is a copy of, and a circle has an end.
        assert_eq!(name(8, 9, 0x1010), "second+0x10");
        assert_eq!(name(8, 9, 0x4010), "//anon+0x10");
        assert_eq!(name(8, 9, 0x9000), "0x9000");
    }

    #[test]
    fn functions_of_this_very_program_have_names() {
        let bytes = fs::read("/proc/self/exe").unwrap();
        let code = Code::of(&bytes);
        let elf = Elf::parse(&bytes).unwrap();
        let symbols = elf.symbols().unwrap();
        let this = symbols.iter().find(|symbol| {
            symbol.name.contains("functions_of_this_very_program") && symbol.kind == numbers::STT_FUNC
        });
        let this = this.expect("tests are not stripped");
        let (frame, offset) = code.frame("/proc/self/exe", elf.offset(this.address).unwrap() + 1);
        assert_eq!(offset, Some(1));
        assert!(frame.function.contains("::tests::functions_of_this_very_program"), "{frame:?}");
        assert_eq!(code.frame("/a/b.so", 1 << 50).0.function, format!("b.so+{:#x}", 1_u64 << 50));
    }
}
