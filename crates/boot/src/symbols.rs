//! From the words of the command line and the symbols of a file to what is asked about it.

use sha2::{Digest, Sha256};

use crate::answer::{BootMachine, Planted};
use crate::check::{Expectation, Landmarks};
use crate::image::{Image, SymbolKind};
use crate::isa::Register;
use crate::names::{Names, label, planted, shown};
use crate::request::{BootHarts, Expected, Place, Request, Setting, Span, Value};
use tenbin_model::lines::Lines;
use tenbin_model::words::comma;

/// How many harts there are where nobody says it, and the file can be told.
const USUAL_COUNTS: &[u32] = &[2, 3];

/// Symbols that a message names at most.
const NAMED: usize = 12;

/// A file, and what its places mean.
#[derive(Debug)]
pub struct Firmware {
    /// As it was named.
    pub(crate) file: String,
    pub(crate) image: Image,
    pub(crate) lines: Lines,
    pub(crate) landmarks: Landmarks,
    pub(crate) expected: Vec<Expectation>,
    /// SHA-256 of the file in hexadecimal; none where it was not read from one.
    pub(crate) sha256: Option<String>,
}

/// A file on a machine.
#[derive(Debug)]
pub struct Job<'a> {
    pub(crate) firmware: &'a Firmware,
    pub(crate) machine: BootMachine,
}

impl Firmware {
    /// Finds the places in what the bytes of an ELF file of this name put into memory.
    ///
    /// # Errors
    /// The file, and what is wrong with it.
    pub fn read(file: &str, bytes: &[u8], request: &Request) -> Result<Self, String> {
        let image = Image::read(bytes).map_err(|error| error.to_string());
        let firmware = image.and_then(|image| Self::of(file, image, Lines::read(bytes), request));
        let firmware = firmware.map_err(|wrong| format!("{file}: {wrong}"))?;
        Ok(Self { sha256: Some(sha256(bytes)), ..firmware })
    }

    /// Finds the places in what was read.
    ///
    /// # Errors
    /// What is not found, without the file.
    pub(crate) fn of(file: &str, mut image: Image, lines: Lines, request: &Request) -> Result<Self, String> {
        if !image.segment(image.entry).is_some_and(|segment| segment.executable) {
            return Err(format!("no code is at its entry, {:#x}", image.entry));
        }
        for span in &request.ram {
            let (begin, end) = Symbols(&image).span("ram", span)?;
            image.add_memory(begin, end);
        }
        let symbols = Symbols(&image);
        let (landmarks, expected) = (symbols.landmarks(request)?, symbols.expected(request)?);
        Ok(Self { file: file.to_owned(), image, lines, landmarks, expected, sha256: None })
    }

    pub(crate) fn names(&self) -> Names<'_> {
        Names { image: &self.image, lines: &self.lines }
    }

    /// The machines to examine it on.
    ///
    /// # Errors
    /// The file, and which word cannot be set.
    pub fn jobs(&self, request: &Request) -> Result<Vec<Job<'_>>, String> {
        self.machines(request).map_err(|what| format!("{}: {what}", self.file))
    }

    fn machines(&self, request: &Request) -> Result<Vec<Job<'_>>, String> {
        let has = |name| Symbols(&self.image).word(name).is_some();
        let counts = match &request.harts {
            Some(counts) => &*counts.0,
            None if has("harts") => USUAL_COUNTS,
            None => {
                let why = "it has no word `harts` that says how many harts there are; say it with --harts N";
                return Err(why.to_owned());
            }
        };
        let boot_harts = match &request.boot_hart {
            Some(BootHarts::Any) => &BootHarts::Any,
            // Of all harts any may be the one, where no word says which.
            None | Some(BootHarts::All) if !has("boot_hart") => &BootHarts::Any,
            None => &BootHarts::All,
            Some(_) if !has("boot_hart") => {
                let why =
                    "it has no word `boot_hart` to set; say --boot-hart any, and --set what it has instead";
                return Err(why.to_owned());
            }
            Some(some) => some,
        };
        let mut jobs = Vec::new();
        for &harts in counts {
            for boot_hart in numbers(boot_harts, harts) {
                let set = self.set(request, harts, boot_hart)?;
                for &memory in &request.memory.0 {
                    let machine = BootMachine {
                        harts,
                        boot_hart,
                        memory,
                        window: request.window,
                        set: set.clone(),
                        controls: request.csr.clone(),
                    };
                    jobs.push(Job { firmware: self, machine });
                }
            }
        }
        if jobs.is_empty() {
            let why = "no machine that is asked about has a hart with that number (--harts, --boot-hart)";
            return Err(why.to_owned());
        }
        Ok(jobs)
    }

    /// The words that make the machine what it is, and those that the user sets. How many harts the file is
    /// told that there are may be set otherwise, and who boots may not: the answer names the boot hart.
    fn set(&self, request: &Request, harts: u32, boot_hart: Option<u32>) -> Result<Vec<Planted>, String> {
        let symbols = Symbols(&self.image);
        let mut scratch = self.image.clone();
        let mut set = Vec::<Planted>::new();
        let numbers = [("harts", Some(harts)), ("boot_hart", boot_hart)];
        let mut boots = None;
        for (name, number) in numbers {
            if let Some(((address, bytes), number)) = symbols.word(name).zip(number) {
                let setting = Setting {
                    place: Place { from: Value::Number(address), distance: 0 },
                    bytes: Some(bytes),
                    value: Value::Number(number.into()),
                };
                set.push(symbols.planted(&setting, &mut scratch)?);
                if name == "boot_hart" {
                    boots = Some(address..address.saturating_add(bytes.into()));
                }
            }
        }
        for setting in &request.set {
            let word = symbols.planted(setting, &mut scratch)?;
            let end = word.address.0.saturating_add(word.bytes.into());
            if boots.as_ref().is_some_and(|boots| word.address.0 < boots.end && boots.start < end) {
                return Err(format!(
                    "--set {}: --boot-hart already sets that word, to every hart in turn by default; say \
                     --boot-hart any to leave it to --set",
                    word.name
                ));
            }
            set.retain(|earlier| (earlier.address, earlier.bytes) != (word.address, word.bytes));
            set.push(word);
        }
        Ok(set)
    }
}

impl Job<'_> {
    /// What is in memory on this machine.
    pub(crate) fn image(&self) -> Image {
        let mut image = self.firmware.image.clone();
        for word in &self.machine.set {
            // It was tried when the machine was made.
            let _ = image.set(word.address.0, &word.value.0.to_le_bytes()[..word.bytes as usize]);
        }
        image
    }
}

/// SHA-256 of a file (FIPS 180-4) in hexadecimal, as sha256sum(1) prints it.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// How many bytes a word has whose symbol has this size.
fn bytes(size: u64) -> u32 {
    if [1, 2, 4].contains(&size) { size as u32 } else { 8 }
}

/// Who boots, one at a time, where there are so many harts.
fn numbers(boot_harts: &BootHarts, harts: u32) -> Vec<Option<u32>> {
    match boot_harts {
        BootHarts::Any => vec![None],
        BootHarts::All => (0..harts).map(Some).collect(),
        BootHarts::Some(some) => some.iter().copied().filter(|&hart| hart < harts).map(Some).collect(),
    }
}

/// The symbols of a file, and what is found by them. Errors are what is wrong, without the file.
struct Symbols<'a>(&'a Image);

impl Symbols<'_> {
    /// Every place in the code of a name that has a meaning by itself. A variable may have that name too, and
    /// constants may stand among the code.
    fn usual(&self, name: &str) -> Vec<u64> {
        let named = self.0.symbols.iter().filter(|symbol| symbol.name == name);
        let places = named.filter(|symbol| symbol.kind != SymbolKind::Object);
        let addresses = places.map(|symbol| symbol.address);
        let mut code = addresses.filter(|&address| self.is_code(address)).collect::<Vec<_>>();
        code.dedup();
        code
    }

    /// Where the word of such a name is, and how many bytes it has, if there is one that can be set: a
    /// function may have that name too, and so may a word that the file has no bytes for.
    fn word(&self, name: &str) -> Option<(u64, u32)> {
        let named = self.0.symbols.iter().filter(|symbol| symbol.name == name);
        let words = named.filter(|symbol| match symbol.kind {
            SymbolKind::Function => false,
            SymbolKind::Label => !self.is_code(symbol.address),
            SymbolKind::Object | SymbolKind::Absolute => true,
        });
        let mut words = words.map(|symbol| (symbol.address, bytes(symbol.size)));
        words.find(|&(address, bytes)| {
            (0..bytes.into()).all(|at| address.checked_add(at).and_then(|at| self.0.byte(at)).is_some())
        })
    }

    fn is_code(&self, address: u64) -> bool {
        self.0.segment(address).is_some_and(|segment| segment.executable)
    }

    fn number(&self, value: &Value) -> Result<u64, String> {
        match value {
            Value::Number(number) => Ok(*number),
            Value::Symbol(name) => match self.0.symbol(name) {
                Some(symbol) => Ok(symbol.address),
                None if self.0.symbols.is_empty() => Err(format!(
                    "it has no symbols (was it stripped?), and so no `{name}`; addresses may be given"
                )),
                None => Err(format!("it has no symbol `{name}`")),
            },
        }
    }

    fn address(&self, place: &Place) -> Result<u64, String> {
        Ok(self.number(&place.from)?.wrapping_add(place.distance))
    }

    /// A stretch of memory that an option names.
    fn span(&self, option: &str, span: &Span) -> Result<(u64, u64), String> {
        let (begin, end) = (self.address(&span.begin)?, self.address(&span.end)?);
        if begin <= end {
            Ok((begin, end))
        } else {
            Err(format!("--{option}: the memory begins at {begin:#x} and ends before it, at {end:#x}"))
        }
    }

    /// Places in the code: those that an option names, else those of the usual name.
    fn code(&self, option: &str, named: &[Place], usual: &str) -> Result<Vec<u64>, String> {
        if named.is_empty() {
            return Ok(self.usual(usual));
        }
        let address = |place| {
            let address = self.address(place)?;
            if self.is_code(address) {
                Ok(address)
            } else {
                Err(format!("--{option}: no code is at {address:#x}"))
            }
        };
        named.iter().map(address).collect()
    }

    fn landmarks(&self, request: &Request) -> Result<Landmarks, String> {
        let one = |option, named: &Option<Place>, usual| {
            Ok::<_, String>(self.code(option, named.as_slice(), usual)?.first().copied())
        };
        let arrived = self.code("arrived", &request.arrived, "arrived")?;
        if arrived.is_empty() {
            return Err(self.nowhere());
        }
        let mut all_arrived = self.code("all-arrived", &request.all_arrived, "all_arrived")?;
        if all_arrived.is_empty() {
            all_arrived.clone_from(&arrived);
        }
        let tell = self.code("tell", &request.tell, "tell")?;
        let tell_all = self.code("tell-all", &request.tell_all, "tell_all")?;
        let mut started = one("started", &request.started, "started")?;
        // Where nobody is ever told, every start would be too early.
        if tell.is_empty() && tell_all.is_empty() {
            if request.started.is_some() {
                let why = "--started needs to know where a hart is told: --tell or --tell-all";
                return Err(why.to_owned());
            }
            started = None;
        }
        let primary = one("primary", &request.primary, "primary")?;
        let cleared = one("cleared", &request.cleared, "cleared")?;
        let bound = |name| self.0.symbol(name).map(|symbol| symbol.address);
        // Without who clears memory, and when it is clear, every store there would seem to be lost.
        let to_clear = match &request.bss {
            Some(_) if primary.is_none() || cleared.is_none() => {
                let why =
                    "--bss needs to know who clears memory, and where it is clear: --primary and --cleared";
                return Err(why.to_owned());
            }
            Some(span) => Some(self.span("bss", span)?),
            None => {
                bound("bss_start").zip(bound("bss_end")).filter(|_| primary.is_some() && cleared.is_some())
            }
        };
        Ok(Landmarks { arrived, all_arrived, primary, started, tell, tell_all, cleared, to_clear })
    }

    /// That no goal is known, and what might be one.
    fn nowhere(&self) -> String {
        let labels = self.0.symbols.iter().filter(|symbol| self.is_code(symbol.address));
        let mut names = labels.map(|symbol| shown(&symbol.name)).collect::<Vec<_>>();
        let more = if names.len() > NAMED { ", ..." } else { "" };
        names.truncate(NAMED);
        let known = match names.as_slice() {
            [] => "it has no symbols in its code; an address may be given".to_owned(),
            names => format!("its code has {}{more}", comma(names)),
        };
        format!(
            "it has no symbol `arrived` in its code: say where a hart has arrived with --arrived PLACE, and with --all-arrived PLACE \
             where the boot hart has, if that is elsewhere; {known}"
        )
    }

    /// What registers hold on arrival: as asked, and as the symbols of the stacks and of the arguments say.
    fn expected(&self, request: &Request) -> Result<Vec<Expectation>, String> {
        let mut expected = Vec::<Expectation>::new();
        for each in &request.expect {
            if let Expected::Register { register, base, step } = each {
                let sum = |terms: &[Value]| {
                    terms
                        .iter()
                        .try_fold(0, |sum: u64, term| Ok::<_, String>(sum.wrapping_add(self.number(term)?)))
                };
                let expectation = Expectation { register: *register, base: sum(base)?, step: sum(step)? };
                expected.retain(|earlier| earlier.register != *register);
                expected.push(expectation);
            }
        }
        if request.expect.contains(&Expected::None) {
            return Ok(expected);
        }
        let constant = |name| self.0.symbol(name).filter(|symbol| symbol.kind == SymbolKind::Absolute);
        let stacks = self.0.symbol("stacks").zip(constant("stack_size")).map(|(stacks, size)| Expectation {
            register: Register::SP,
            base: stacks.address.wrapping_add(size.address),
            step: size.address,
        });
        let argument = Register::named("a1").zip(constant("argument"));
        let argument =
            argument.map(|(register, argument)| Expectation { register, base: argument.address, step: 1 });
        for usual in [stacks, argument].into_iter().flatten() {
            if expected.iter().all(|each| each.register != usual.register) {
                expected.push(usual);
            }
        }
        Ok(expected)
    }

    /// The word that a setting is about. `scratch` holds it afterwards.
    fn planted(&self, setting: &Setting, scratch: &mut Image) -> Result<Planted, String> {
        let address = self.address(&setting.place)?;
        let value = self.number(&setting.value)?;
        let size = match &setting.place {
            Place { from: Value::Symbol(name), distance: 0 } => self.0.symbol(name).map(|symbol| symbol.size),
            _ => None,
        };
        let bytes = setting.bytes.unwrap_or_else(|| bytes(size.unwrap_or_default()));
        let word = label(self.0, address);
        // What is cut off may be zeros, or the sign of a negative number.
        let bits = 8 * bytes;
        if bits < 64 && value >> bits != 0 && (value as i64) >> (bits - 1) != -1 {
            return Err(format!("{value:#x} does not fit into the {bytes} bytes of `{word}`"));
        }
        let value = if bits < 64 { value & ((1 << bits) - 1) } else { value };
        scratch.set(address, &value.to_le_bytes()[..bytes as usize]).map_err(|not_held| {
            format!(
                "`{word}` cannot be set: {not_held}. Memory that the file does not hold is garbage at first, and every value that \
                 matters is tried there"
            )
        })?;
        Ok(planted(self.0, address, bytes, value))
    }
}
