//! What `pipe` says about itself: its variants, its parameters, its sources and the published figures.

use tenbin_model::unit::three_digits;
use tenbin_model::{Bytes, Descriptor, Parameter, Picoseconds, Published, Quantity, Row, Source, Variant};

use super::published::TABLES;
use super::{PUBLISHED_CELL, WAYS, WRITES};
use tenbin_metal::pipe::How;

/// The published figures: seconds for the same 24 GiB, so their ratio is a ratio of throughput.
pub(super) fn published() -> Vec<Published> {
    let rows = TABLES[0].rows();
    let (puts, write, two, large) =
        ("puts", "write", "vmsplice of two buffers", "vmsplice of two buffers of 1 MiB");
    let pairs = [
        (("write 8 KiB", write), ("printf", puts)),
        (("vmsplice 256 KiB x2", two), ("printf", puts)),
        (("write 8 KiB", write), ("vmsplice 256 KiB x2", two)),
        (("vmsplice 1 MiB x2", large), ("vmsplice 256 KiB x2", two)),
        (("vmsplice 1 MiB x2", large), ("printf", puts)),
    ];
    let mut published = Vec::new();
    for machine in ["Intel Pentium J4205", "AMD Ryzen 7 5700X"] {
        let row = |variant: &str| {
            rows.iter().find(|row| {
                row.text("machine").starts_with(machine) && row.text("variant").starts_with(variant)
            })
        };
        let seconds = |row: &Row| row.number("seconds");
        let figure = |what: String, (left, right): (&str, &str), ratio| Published {
            machine: machine.into(),
            date: "2023-11-06".into(),
            what,
            measure: "elapsed time".into(),
            cell: PUBLISHED_CELL.into(),
            left: left.into(),
            right: right.into(),
            ratio,
        };
        for ((left_there, left), (right_there, right)) in pairs {
            let (Some(fast), Some(slow)) =
                (row(left_there).and_then(seconds), row(right_there).and_then(seconds))
            else {
                continue;
            };
            let what = format!("24 GiB into pv: {left_there} {fast} s, {right_there} {slow} s");
            published.push(figure(what, (left, right), Some(slow / fast)));
        }
        let all = ["GNU yes", "write 8 KiB", "printf"].map(|variant| row(variant).and_then(seconds));
        if let [Some(gnu), Some(own), Some(puts)] = all {
            let what = format!(
                "24.2 GiB in {gnu} s; the published table has these seconds, and x44.0 with them, for its own writes of 8 KiB, which \
                 took {own} s ({}x)",
                three_digits(puts / own)
            );
            let cell = "GNU yes 9.1 into pv on another CPU".into();
            published.push(Published { cell, ..figure(what, ("GNU yes", "puts"), None) });
        }
    }
    published
}

pub(super) fn describe() -> Descriptor {
    let measured = [
        ("puts", "one puts(3) a line: what gcc -O3 makes of the published printf(\"%s\\n\", line)"),
        ("write", "write(2) of as many whole lines as the published 8 KiB hold (8190 bytes)"),
        (
            "vmsplice of two buffers",
            "as published: copy lines into one of two buffers of the pipe's size, give its pages",
        ),
        ("vmsplice of constant pages", "give the same pages again and again, no copy"),
        ("tee", "fill a pipe once, duplicate its pages by tee(2)"),
        ("splice", "splice(2) from a file in memory that is written once"),
        ("constant huge page", "vmsplice of constant pages that lie in a huge page"),
        (
            "tee of large buffers",
            "the same with buffers of 32 KiB, made by splicing from a socket: eight pages in one place of the pipe",
        ),
        ("vmsplice of two buffers of 1 MiB", "as published, with buffers and a pipe four times as large"),
    ];
    let mut variants = Variant::list(&measured, &[]);
    variants.extend(WAYS[WRITES].iter().filter_map(|how| match how {
        How::Write { room } => {
            let size = Bytes(*room as u64);
            Some(Variant::measured(
                &format!("write of {size}"),
                &format!("write(2) of the whole lines that {size} hold"),
            ))
        }
        _ => None,
    }));
    variants.push(Variant::sabotage("one wrong byte", "write with one byte of line 1000 changed"));
    Descriptor {
        name: "pipe".into(),
        question: "How should lines be put into a pipe: printf, write or vmsplice?".into(),
        requirement: "`yes` was made 160 times faster by vmsplice; what of that is safe, \
                      and does it hold on this machine"
            .into(),
        specification: "the reader receives every line, whole and in order".into(),
        subject: "Through a pipe".into(),
        quantity: Quantity::BytesPerSecond,
        variants,
        parameters: Parameter::list(&[
            (
                "cells",
                "all,seed,writes (all,seed with --quick, all with a size)",
                "all: every way by size, reader and placement; seed: its programs as it ran them, through the default pipe of \
                 64 KiB and one of the size of the buffers; writes: write(2) of 4 KiB to 1 MiB",
            ),
            ("size", "256,64,1024 (256 with --quick)", "sizes of the pipe in KiB, powers of two"),
            ("reader", "splice,read", "splice to /dev/null, or read into 128 KiB"),
            ("placement", "same,two", "writer and reader on the same CPU or on two"),
            ("line", "y", "the line that every way sends: 1 to 254 bytes without a newline"),
        ]),
        margin: 0.02,
        // Calls that copy beside calls that do not, in caches that another guest uses.
        sway: 0.1,
        epoch: Picoseconds::from_millis(2),
        sources: Source::list(&[
            (
                "Kognosuke, \"Making yes faster (pipes only)\", 2023-11-06 (in Japanese)",
                "the first three variants and the tester",
            ),
            ("vmsplice(2), tee(2), splice(2), pipe(7)", "what the calls promise, and pipe-max-size"),
            ("GNU coreutils, yes.c", "8 KiB of whole lines in one write"),
            ("pv, src/pv/transfer.c", "the reader of the published figures: it splices where it can"),
            ("uutils coreutils, pull request 11458", "write once, then tee"),
            (
                "Linux, net/unix/af_unix.c and net/core/skbuff.c (skb_splice_bits)",
                "what went through a socket lies in pieces of 32 KiB, and each becomes one buffer of a pipe",
            ),
        ]),
        published: published(),
        ..Descriptor::default()
    }
}
