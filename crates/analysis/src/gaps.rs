//! Gaps as a trace of Perfetto: a track a CPU, a slice a gap.
//!
//! Format: `protos/perfetto/trace/` of <https://github.com/google/perfetto>, TrackDescriptor and TrackEvent.

use std::collections::BTreeSet;

use tenbin_model::{Cpu, Gap};

use crate::stacks::protobuf::Message;

/// The one sequence of packets, and where it begins.
const SEQUENCE: u64 = 1;
const FIRST: u64 = 1;

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;

/// The trace in bytes, on the kernel's monotonic clock.
pub fn trace(gaps: &[Gap]) -> Vec<u8> {
    let mut trace = Message::new();
    // BUILTIN_CLOCK_MONOTONIC.
    let packet = || Message::new().number(58, 3_u64);
    let mut add = |packet: Message| trace.add(1, &packet.number(10, SEQUENCE).number(13, FIRST));
    let track = |cpu: Cpu| u64::from(cpu.0) + 1;
    let cpus: BTreeSet<Cpu> = gaps.iter().flat_map(|gap| gap.cpus.iter().copied()).collect();
    for cpu in cpus {
        let descriptor = Message::new().number(1, track(cpu)).bytes(2, format!("CPU {}", cpu.0));
        add(packet().message(60, &descriptor));
    }
    for gap in gaps {
        for &cpu in &gap.cpus {
            let evidence = Message::new().bytes(10, "evidence").bytes(6, &gap.evidence);
            let begin = Message::new().message(4, &evidence).number(9, SLICE_BEGIN).number(11, track(cpu));
            let begin = begin.bytes(22, "gap").bytes(23, gap.cause());
            let end = Message::new().number(9, SLICE_END).number(11, track(cpu));
            add(packet().number(8, gap.began_ns).message(11, &begin));
            add(packet().number(8, gap.ended_ns()).message(11, &end));
        }
    }
    trace.bytes
}
