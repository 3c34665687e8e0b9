//! Gaps as a trace of Perfetto: a track a CPU, a slice a gap.
//!
//! Format: `protos/perfetto/trace/` of <https://github.com/google/perfetto>, TrackDescriptor and TrackEvent.

use std::collections::BTreeSet;

use tenbin_model::{Cpu, Gap};

use crate::stacks::protobuf::{Message, message};

/// The one sequence of packets, and where it begins.
const SEQUENCE: u64 = 1;
const FIRST: u64 = 1;

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;

/// The trace in bytes, on the kernel's monotonic clock.
pub fn trace(gaps: &[Gap]) -> Vec<u8> {
    let mut trace = Message::default();
    let mut packet = |fill: &dyn Fn(&mut Message)| {
        let packet = message(|packet| {
            // BUILTIN_CLOCK_MONOTONIC.
            fill(packet.number(58, 3));
            packet.number(10, SEQUENCE).number(13, FIRST);
        });
        trace.message(1, &packet);
    };
    let track = |cpu: Cpu| u64::from(cpu.0) + 1;
    let cpus: BTreeSet<Cpu> = gaps.iter().flat_map(|gap| gap.cpus.iter().copied()).collect();
    for cpu in cpus {
        let descriptor = message(|it| {
            it.number(1, track(cpu)).bytes(2, format!("CPU {}", cpu.0).as_bytes());
        });
        packet(&|packet| {
            packet.message(60, &descriptor);
        });
    }
    for gap in gaps {
        for &cpu in &gap.cpus {
            let evidence = message(|note| {
                note.bytes(10, b"evidence").bytes(6, gap.evidence.as_bytes());
            });
            let begin = message(|event| {
                event.message(4, &evidence).number(9, SLICE_BEGIN).number(11, track(cpu));
                event.bytes(22, b"gap").bytes(23, gap.cause().as_bytes());
            });
            let end = message(|event| {
                event.number(9, SLICE_END).number(11, track(cpu));
            });
            for (at, event) in [(gap.began_ns, begin), (gap.ended_ns(), end)] {
                packet(&|packet| {
                    packet.number(8, at).message(11, &event);
                });
            }
        }
    }
    trace.bytes
}
