//! What CPUID says of caches: leaf 4 of Intel's processors, 0x8000001D of AMD's, with the same fields.

use tenbin_model::Cpu;
use tenbin_model::machine::{Cache, Witness};

use super::super::formats::by_processor;
use super::super::root::Root;
use super::amount;

/// The caches that `leaves` describe, as `cpu` has them. For all CPUs alike but for the sharing.
pub(super) fn caches(root: &Root, leaves: &[[u32; 4]], cpu: Cpu, online: &[Cpu]) -> Vec<Cache> {
    let text = root.text("/proc/cpuinfo").unwrap_or_default();
    let numbers = by_processor(&text, "apicid");
    let described = leaves.iter().filter_map(decoded);
    described
        .map(|cache| Cache {
            level: cache.level,
            kind: cache.kind.into(),
            size: amount(cache.size, Witness::Cpuid, "size"),
            line: amount(Some(cache.line), Witness::Cpuid, "line"),
            shared_by: sharers(&numbers, cpu, cache.threads, online),
            witness: Witness::Cpuid,
        })
        .collect()
}

#[derive(Debug, PartialEq, Eq)]
struct Leaf {
    level: u8,
    kind: &'static str,
    /// In bytes; none where the product of ways, sets, partitions and line is absurd.
    size: Option<u64>,
    /// In bytes.
    line: u64,
    /// Interrupt numbers that lead to this cache, used or not.
    threads: u32,
}

/// The registers of one subleaf; nothing where they describe no cache.
fn decoded(&[eax, ebx, ecx, _]: &[u32; 4]) -> Option<Leaf> {
    let bits = |word: u32, from: u32, count: u32| (word >> from) & ((1 << count) - 1);
    let kind = match bits(eax, 0, 5) {
        1 => "Data",
        2 => "Instruction",
        3 => "Unified",
        _ => return None,
    };
    let level = u8::try_from(bits(eax, 5, 3)).ok().filter(|&level| level > 0)?;
    let line = u64::from(bits(ebx, 0, 12)) + 1;
    let factors = [u64::from(bits(ebx, 12, 10)) + 1, u64::from(bits(ebx, 22, 10)) + 1, u64::from(ecx) + 1];
    let size = factors.into_iter().try_fold(line, u64::checked_mul);
    Some(Leaf { level, kind, size, line, threads: bits(eax, 14, 12) + 1 })
}

/// The online CPUs whose interrupt numbers differ from that of `cpu` in the lowest bits only: as
/// many bits as it takes to count `threads` (both manuals; Linux, `arch/x86/kernel/cpu/cacheinfo.c`).
/// Empty where the number of any online CPU is unknown.
fn sharers(numbers: &[(Cpu, u32)], cpu: Cpu, threads: u32, online: &[Cpu]) -> Vec<Cpu> {
    if threads == 1 {
        return vec![cpu];
    }
    let number = |cpu: Cpu| numbers.iter().find(|(known, _)| *known == cpu).map(|&(_, number)| number);
    let shift = threads.next_power_of_two().trailing_zeros();
    let place = |cpu: Cpu| number(cpu).map(|number| number >> shift);
    let Some(home) = place(cpu) else { return Vec::new() };
    let places: Option<Vec<(Cpu, u32)>> = online.iter().map(|&cpu| Some((cpu, place(cpu)?))).collect();
    let near = places.unwrap_or_default().into_iter().filter(|&(_, place)| place == home);
    near.map(|(cpu, _)| cpu).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn registers(
        kind: u32,
        level: u32,
        threads: u32,
        line: u32,
        partitions: u32,
        ways: u32,
        sets: u32,
    ) -> [u32; 4] {
        let eax = kind | level << 5 | (threads - 1) << 14;
        [eax, (line - 1) | (partitions - 1) << 12 | (ways - 1) << 22, sets - 1, 0]
    }

    #[test]
    fn registers_of_known_processors_are_read_as_their_makers_say() {
        let leaf =
            |level, kind, size, line, threads| Some(Leaf { level, kind, size: Some(size), line, threads });
        // Skylake's first data cache, as every dump of one shows it: 32 KiB, 8 ways, two threads.
        assert_eq!(decoded(&[0x1c00_4121, 0x01c0_003f, 0x3f, 0]), leaf(1, "Data", 32 << 10, 64, 2));
        // Zen's first cache for instructions is 64 KiB in 4 ways, its third 8 MiB in 16 for 8 threads.
        assert_eq!(decoded(&registers(2, 1, 2, 64, 1, 4, 256)), leaf(1, "Instruction", 64 << 10, 64, 2));
        assert_eq!(decoded(&registers(3, 3, 8, 64, 1, 16, 8192)), leaf(3, "Unified", 8 << 20, 64, 8));
        assert_eq!(decoded(&[0; 4]), None);
        assert_eq!(decoded(&[0x01, 0, 0, 0]), None);
        assert_eq!(decoded(&[u32::MAX; 4]), None);
    }

    #[test]
    fn sharing_follows_the_interrupt_numbers() {
        let online: Vec<Cpu> = (0..4).map(Cpu).collect();
        let sharing = |numbers: [u32; 4], cpu, threads| {
            let numbers: Vec<(Cpu, u32)> = online.iter().copied().zip(numbers).collect();
            sharers(&numbers, Cpu(cpu), threads, &online).iter().map(|cpu| cpu.0).collect::<Vec<_>>()
        };
        assert_eq!(sharing([0, 1, 2, 3], 2, 2), [2, 3]);
        assert_eq!(sharing([0, 2, 1, 3], 0, 2), [0, 2]);
        // Three threads count as four: numbers have gaps where cores are switched off.
        assert_eq!(sharing([0, 1, 2, 4], 0, 3), [0, 1, 2]);
        assert_eq!(sharing([0, 1, 2, 3], 3, 1), [3]);
        let numbers = by_processor("processor : 0\napicid : 0\n\nprocessor : 1\ncore id : 1\n", "apicid");
        assert_eq!(numbers, [(Cpu(0), 0)]);
        assert!(sharers(&numbers, Cpu(0), 2, &online).is_empty());
    }

    proptest! {
        #[test]
        fn what_is_written_into_the_registers_is_read_from_them(
            (kind, level, threads) in (1u32..4, 1u32..8, 1u32..4097),
            (line, partitions, ways, sets) in (1u32..4097, 1u32..1025, 1u32..1025, 1u32..1 << 20),
        ) {
            let leaf = decoded(&registers(kind, level, threads, line, partitions, ways, sets)).unwrap();
            let read = (u32::from(leaf.level), leaf.threads, leaf.line);
            prop_assert_eq!(read, (level, threads, u64::from(line)));
            let size = [line, partitions, ways, sets].into_iter().map(u64::from).product::<u64>();
            prop_assert_eq!(leaf.size, Some(size));
        }

        #[test]
        fn odd_registers_and_odd_text_never_panic(
            registers: [u32; 4],
            text in "(processor|apicid|[ :0-9\n\\PC]){0,40}",
            threads in 1u32..5000,
        ) {
            let _ = decoded(&registers);
            let _ = sharers(&by_processor(&text, "apicid"), Cpu(0), threads, &[Cpu(0), Cpu(1)]);
        }
    }
}
