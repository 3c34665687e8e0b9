//! A kernel that follows a script stands in for the real one: it refuses what it is told to, and shapes
//! buffers as it likes. Whatever it does, what is written is the text, in order, from its first byte on.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

/// The calls that a script may refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Open,
    Load,
    Look,
    Tee,
    Turn,
    Give,
    Write,
}

/// From its `after`th call on, it fails.
#[derive(Clone, Debug)]
struct Refusal {
    call: Call,
    after: usize,
    kind: ErrorKind,
}

struct Script {
    kind: Kind,
    refusals: Vec<Refusal>,
    /// Lengths of buffers that come through a socket, in turn.
    shapes: Vec<usize>,
    /// How many buffers a `tee` hands out, in turn.
    handed: Vec<usize>,
    /// Places in a source's pipe, whatever was asked for.
    places: usize,
    /// A byte that a load gets wrong.
    damaged: Option<usize>,
    /// After this many bytes the reader leaves.
    most: usize,
    written: Vec<u8>,
    front: VecDeque<Vec<u8>>,
    spare: VecDeque<Vec<u8>>,
    calls: Vec<Call>,
    /// Calls that carried bytes out, without repetition.
    ways: Vec<(Call, Option<Load>)>,
    load: Option<Load>,
}

impl Script {
    fn new(most: usize) -> Self {
        Self {
            kind: Kind::Pipe,
            refusals: Vec::new(),
            shapes: vec![32 << 10],
            handed: vec![3, 1, 2],
            places: 256,
            damaged: None,
            most,
            written: Vec::new(),
            front: VecDeque::new(),
            spare: VecDeque::new(),
            calls: Vec::new(),
            ways: Vec::new(),
            load: None,
        }
    }

    fn refusing(mut self, call: Call, after: usize, kind: ErrorKind) -> Self {
        self.refusals.push(Refusal { call, after, kind });
        self
    }

    fn count(&self, call: Call) -> usize {
        self.calls.iter().filter(|&&made| made == call).count()
    }

    fn ask(&mut self, call: Call) -> io::Result<usize> {
        self.calls.push(call);
        let number = self.count(call);
        match self.refusals.iter().find(|refusal| refusal.call == call && number > refusal.after) {
            Some(refusal) => Err(refusal.kind.into()),
            None => Ok(number),
        }
    }

    fn out(&mut self, call: Call, bytes: &[u8]) -> io::Result<usize> {
        if self.written.len() >= self.most {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let load = self.load.filter(|_| call == Call::Tee);
        if self.ways.last() != Some(&(call, load)) {
            self.ways.push((call, load));
        }
        self.written.extend_from_slice(bytes);
        Ok(bytes.len())
    }
}

impl Kernel for Script {
    fn kind(&self) -> Kind {
        self.kind
    }
    fn lengthen(&self, _: usize) {}

    fn open(&mut self, load: Load, _: usize) -> io::Result<()> {
        self.ask(Call::Open)?;
        (self.front, self.spare, self.load) = (VecDeque::new(), VecDeque::new(), Some(load));
        Ok(())
    }

    fn load(&mut self, piece: &[u8]) -> io::Result<usize> {
        let number = self.ask(Call::Load)?;
        let mut taken = 0;
        while taken < piece.len() && self.front.len() < self.places {
            let shape = match self.load {
                Some(Load::Socket) => self.shapes[(number + self.front.len()) % self.shapes.len()],
                _ => 4096,
            };
            let mut buffer = piece[taken..][..shape.min(piece.len() - taken)].to_vec();
            taken += buffer.len();
            if let Some(place) = self.damaged.take() {
                let length = buffer.len();
                buffer[place % length] ^= 1;
            }
            self.front.push_back(buffer);
        }
        if taken == 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(taken) }
    }

    fn look(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.ask(Call::Look)?;
        let mut seen = 0;
        for buffer in &self.front {
            let length = buffer.len().min(into.len() - seen);
            into[seen..seen + length].copy_from_slice(&buffer[..length]);
            seen += length;
        }
        Ok(seen)
    }

    fn tee(&mut self) -> io::Result<usize> {
        let number = self.ask(Call::Tee)?;
        let handed = self.handed[number % self.handed.len()];
        let bytes: Vec<u8> = self.front.iter().take(handed).flatten().copied().collect();
        self.out(Call::Tee, &bytes)
    }

    fn turn(&mut self, bytes: usize) -> io::Result<usize> {
        self.ask(Call::Turn)?;
        let mut turned = 0;
        while turned < bytes && self.spare.len() < self.places {
            let Some(mut buffer) = self.front.pop_front() else { break };
            let left = buffer.split_off(buffer.len().min(bytes - turned));
            turned += buffer.len();
            self.spare.push_back(buffer);
            if !left.is_empty() {
                self.front.push_front(left);
            }
        }
        Ok(turned)
    }

    fn drop_front(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut buffer = self.front.pop_front().expect("an empty front would be waited for");
        let left = buffer.split_off(buffer.len().min(into.len()));
        if !left.is_empty() {
            self.front.push_front(left);
        }
        Ok(buffer.len())
    }

    fn swap(&mut self) {
        assert!(self.front.is_empty(), "what is left in front would come out of turn");
        std::mem::swap(&mut self.front, &mut self.spare);
    }

    fn give(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let number = self.ask(Call::Give)?;
        self.out(Call::Give, &bytes[..bytes.len().div_ceil(number % 3 + 1)])
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let number = self.ask(Call::Write)?;
        self.out(Call::Write, &bytes[..bytes.len().div_ceil(number % 3 + 1)])
    }
}

fn line(length: usize) -> Vec<u8> {
    (0..length - 1).map(|byte| b'!' + (byte % 89) as u8).chain([b'\n']).collect()
}

/// Pours a line of `length` bytes, holds what was written against the text, and returns the script and the
/// end.
fn poured(mut script: Script, length: usize) -> (Script, io::Error) {
    let line = line(length);
    let error = pour(&mut script, &Text::new(&line).unwrap());
    let wrong = script.written.chunks(length).position(|piece| piece != &line[..piece.len()]);
    assert_eq!(wrong, None, "line of {length} bytes; {:?} {:?}", script.refusals, script.ways);
    (script, error)
}

const LENGTHS: [usize; 13] =
    [1, 2, 3, 4095, 4096, 4097, 20_000, 32_767, 32_768, 32_769, 70_000, 300_000, 2_000_000];

#[test]
fn a_line_of_any_length_goes_out_by_large_buffers() {
    for length in LENGTHS {
        let (script, error) = poured(Script::new(5 << 20), length);
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        assert!(script.written.len() >= 5 << 20);
        assert_eq!(script.ways, [(Call::Tee, Some(Load::Socket))], "{length}");
    }
}

#[test]
fn short_lines_never_turn_and_long_ones_do() {
    for (length, turns) in [(2, false), (3, false), (4096, false), (20_000, true), (70_000, true)] {
        let (script, _) = poured(Script::new(5 << 20), length);
        assert_eq!(script.count(Call::Turn) > 0, turns, "{length}");
    }
}

#[test]
fn every_call_that_is_refused_is_gone_round_in_silence() {
    use Call::{Give, Load as Loads, Look, Open, Tee, Turn, Write};
    let (socket, pages) = ((Tee, Some(Load::Socket)), (Tee, Some(Load::Write)));
    let refused = ErrorKind::PermissionDenied;
    type Case<'a> = (&'a [(Call, usize)], usize, &'a [(Call, Option<Load>)]);
    let cases: &[Case<'_>] = &[
        (&[(Open, 0)], 2, &[(Give, None)]),
        (&[(Open, 1), (Tee, 5)], 2, &[socket, (Give, None)]),
        (&[(Loads, 0)], 2, &[(Give, None)]),
        (&[(Look, 0)], 2, &[(Give, None)]),
        (&[(Tee, 0)], 2, &[(Give, None)]),
        (&[(Turn, 0)], 2, &[socket]),
        (&[(Turn, 0)], 20_000, &[socket, pages, (Give, None)]),
        (&[(Turn, 40)], 20_000, &[socket, pages, (Give, None)]),
        (&[(Tee, 7)], 70_000, &[socket, (Give, None)]),
        (&[(Tee, 7), (Give, 3)], 70_000, &[socket, (Give, None), (Write, None)]),
        (&[(Open, 0), (Give, 0)], 4097, &[(Write, None)]),
    ];
    for (refusals, length, ways) in cases {
        let mut script = Script::new(3 << 20);
        for (call, after) in *refusals {
            script = script.refusing(*call, *after, refused);
        }
        let (script, error) = poured(script, *length);
        assert_eq!(error.kind(), ErrorKind::BrokenPipe, "{refusals:?}");
        assert_eq!(script.ways, *ways, "{refusals:?} {length}");
    }
}

#[test]
fn what_the_last_way_says_is_what_is_said() {
    let kinds = [ErrorKind::StorageFull, ErrorKind::PermissionDenied];
    for kind in kinds {
        let script = Script::new(1 << 20).refusing(Call::Open, 0, ErrorKind::Unsupported);
        let script = script.refusing(Call::Give, 2, ErrorKind::InvalidInput).refusing(Call::Write, 4, kind);
        assert_eq!(poured(script, 3).1.kind(), kind);
    }
    // An output that must not be waited for ends it at once, as the reader's leaving does.
    let script = Script::new(1 << 20).refusing(Call::Tee, 9, ErrorKind::WouldBlock);
    let (script, error) = poured(script, 3);
    assert_eq!((error.kind(), script.count(Call::Write)), (ErrorKind::WouldBlock, 0));
}

#[test]
fn what_is_no_pipe_is_written_to_and_messages_are_whole_lines() {
    for (kind, length, most) in [
        (Kind::Other, 3, 65_535),
        (Kind::Other, 70_000, 70_000),
        (Kind::Socket, 3, 8190),
        (Kind::Socket, 8193, 8193),
    ] {
        let (script, _) = poured(Script { kind, ..Script::new(1 << 20) }, length);
        assert_eq!(script.ways, [(Call::Write, None)]);
        let text = Text::new(&line(length)).unwrap();
        let room = if kind == Kind::Socket { MESSAGE } else { WRITE };
        assert_eq!(text.lines(room).len(), most, "{kind:?} {length}");
    }
}

/// The planted fault: a kernel that puts another byte into the source than it was given.
#[test]
fn a_source_that_is_not_the_text_is_not_used() {
    for length in LENGTHS {
        let (script, _) = poured(Script { damaged: Some(1_000), ..Script::new(1 << 20) }, length);
        assert!(!script.ways.contains(&(Call::Tee, Some(Load::Socket))), "{length}");
        assert!(!script.ways.is_empty(), "{length}");
    }
}

#[test]
fn a_source_with_few_places_holds_the_lines_that_fit() {
    for (places, length, ways) in [
        (2, 3, &[(Call::Tee, Some(Load::Socket))][..]),
        (3, 40_000, &[(Call::Tee, Some(Load::Socket))]),
        (2, 70_000, &[(Call::Give, None)]),
    ] {
        let (script, _) = poured(Script { places, ..Script::new(1 << 20) }, length);
        assert_eq!(script.ways, ways, "{places} {length}");
    }
}

/// All but the last one, which has to go on.
const CALLS: [Call; 6] = [Call::Open, Call::Load, Call::Look, Call::Tee, Call::Turn, Call::Give];

const REFUSED: [ErrorKind; 3] =
    [ErrorKind::PermissionDenied, ErrorKind::Unsupported, ErrorKind::InvalidInput];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_the_kernel_does_the_text_goes_on(
        length in prop_oneof![1_usize..100, 1_usize..100_000],
        shapes in prop::collection::vec(1_usize..40_000, 1..6),
        handed in prop::collection::vec(1_usize..20, 1..6),
        places in 1_usize..80,
        refusals in prop::collection::vec(
            (prop::sample::select(&CALLS[..]), 0_usize..12, prop::sample::select(&REFUSED[..])),
            0..4,
        ),
    ) {
        let mut script = Script { shapes, handed, places, ..Script::new(1 << 20) };
        for (call, after, kind) in refusals {
            script = script.refusing(call, after, kind);
        }
        let (script, error) = poured(script, length);
        prop_assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        prop_assert!(script.written.len() >= 1 << 20);
    }
}
