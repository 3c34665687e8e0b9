//! Pages: which the kernel moves, merges, collects or writes while something is timed.

use tenbin_metal::machine::{Reading, integer, meminfo};
use tenbin_model::Bytes;
use tenbin_model::words::{counted, memory};

use super::{Sight, Source, Symptom, known};
use crate::experiment::Aspect;

pub(super) const SOURCES: &[Source] = &[
    Source::new(
        "transparent huge pages",
        "the kernel gives huge pages where it has some, and collects small ones to huge ones meanwhile",
        transparent,
    )
    .that_disturbs(&[Aspect::Memory]),
    Source::new(
        "NUMA balancing",
        "the kernel takes pages away to see who uses them, and moves them",
        balancing,
    )
    .that_disturbs(&[Aspect::Memory]),
    Source::new(
        "same-page merging",
        "a thread of the kernel reads all memory and makes pages shared that are then copied",
        merging,
    )
    .that_disturbs(&[Aspect::Memory]),
    Source::new(
        "address randomisation",
        "every run has one and the same layout, whose luck no interval shows",
        randomisation,
    ),
    Source::new("swap", "pages that were written out have to be read again", swap)
        .that_disturbs(&[Aspect::Memory, Aspect::Storage]),
    Source::new("free memory", "the kernel looks for pages to free while they are asked for", free)
        .that_disturbs(&[Aspect::Memory, Aspect::Storage]),
    Source::new("reserved huge pages", "memory that is set aside is not there for anything else", reserved)
        .that_disturbs(&[Aspect::Memory, Aspect::Storage]),
    Source::new(
        "dirty pages",
        "the kernel writes them to disk meanwhile, and whoever writes may have to wait",
        dirty,
    )
    .that_disturbs(&[Aspect::Storage, Aspect::Calls]),
];

/// How often something came while watched, by `/proc/vmstat`.
fn while_watched(sight: &Sight<'_>, name: &str) -> Reading<u64> {
    Ok(sight.after.counted(name)?.saturating_sub(sight.before.counted(name)?))
}

/// `Documentation/admin-guide/mm/transhuge.rst`.
fn transparent(sight: &Sight<'_>) -> Reading<Symptom> {
    let setting = known(&sight.machine.transparent_huge_pages)?;
    let collected = while_watched(sight, "thp_collapse_alloc")?;
    let remedy = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled";
    Ok(match setting.as_str() {
        "always" if collected > 0 => Symptom::active(
            format!("always, {} collected while watched", counted(collected as usize, "huge page")),
            remedy,
        ),
        "always" => Symptom::possible("always", remedy),
        _ => Symptom::quiet(setting.as_str()),
    })
}

/// `Documentation/admin-guide/sysctl/kernel.rst`.
fn balancing(sight: &Sight<'_>) -> Reading<Symptom> {
    let is_on = *known(&sight.machine.numa_balancing)?;
    let nodes = known(&sight.machine.nodes)?.len();
    let updates = while_watched(sight, "numa_pte_updates")?;
    let remedy = "sysctl kernel.numa_balancing=0";
    Ok(match is_on {
        true if updates > 0 => Symptom::active(format!("{updates} pages taken away while watched"), remedy),
        true if nodes > 1 => Symptom::possible(format!("on, with {}", counted(nodes, "memory node")), remedy),
        true => Symptom::quiet("on, and there is one memory node"),
        false => Symptom::quiet("off"),
    })
}

/// `Documentation/admin-guide/mm/ksm.rst`.
fn merging(sight: &Sight<'_>) -> Reading<Symptom> {
    let run = sight.root.parsed("/sys/kernel/mm/ksm/run", integer::<u32>)?;
    Ok(match run {
        1 => Symptom::active("on", "echo 0 > /sys/kernel/mm/ksm/run"),
        _ => Symptom::quiet("off"),
    })
}

/// The bit of `personality(2)` by which a process asks for no randomisation.
const NOT_RANDOMISED: u64 = 0x0004_0000;

/// `Documentation/admin-guide/sysctl/kernel.rst`, `randomize_va_space`.
fn randomisation(sight: &Sight<'_>) -> Reading<Symptom> {
    let setting = *known(&sight.machine.address_randomisation)?;
    let personality = sight.root.word("/proc/self/personality");
    let own = personality.ok().and_then(|text| u64::from_str_radix(&text, 16).ok()).unwrap_or(0);
    Ok(match setting {
        _ if own & NOT_RANDOMISED != 0 => {
            Symptom::active("off for this process", "start it without setarch -R")
        }
        2 => Symptom::quiet("on, so that intervals over processes contain it"),
        1 => Symptom::possible("on, but for the heap", "sysctl kernel.randomize_va_space=2"),
        _ => Symptom::active("off", "sysctl kernel.randomize_va_space=2"),
    })
}

/// `proc_meminfo(5)`.
fn bytes(sight: &Sight<'_>, key: &str) -> Reading<Bytes> {
    sight.root.parsed("/proc/meminfo", |text| meminfo(text, key))
}

fn swap(sight: &Sight<'_>) -> Reading<Symptom> {
    let moved = while_watched(sight, "pswpin")? + while_watched(sight, "pswpout")?;
    let used = bytes(sight, "SwapTotal")?.0.saturating_sub(bytes(sight, "SwapFree")?.0);
    let remedy = "swapoff -a, where memory is enough for what is swapped";
    Ok(match (moved, used) {
        (0, 0) => Symptom::quiet("nothing is swapped"),
        (0, used) => {
            Symptom::possible(format!("{} are swapped, nothing moved while watched", memory(used)), remedy)
        }
        (moved, _) => Symptom::active(format!("{moved} pages moved while watched"), remedy),
    })
}

/// Below this part of all memory the kernel begins to look for pages.
const SCARCE: f64 = 0.1;

fn free(sight: &Sight<'_>) -> Reading<Symptom> {
    let (available, all) = (known(&sight.machine.memory_available)?.0, known(&sight.machine.memory)?.0);
    let limit = sight.machine.memory_limit.known().copied().flatten().map_or(all, |limit| limit.0.min(all));
    let stalls = while_watched(sight, "allocstall_normal")? + while_watched(sight, "allocstall_movable")?;
    let seen = format!("{} of {}", memory(available), memory(limit));
    let remedy = "end what uses it, or raise the limit of the control group";
    Ok(if stalls > 0 {
        Symptom::active(
            format!("{seen}; {} for memory while watched", counted(stalls as usize, "wait")),
            remedy,
        )
    } else if (available as f64) < limit as f64 * SCARCE {
        Symptom::possible(seen, remedy)
    } else {
        Symptom::quiet(seen)
    })
}

/// More than this part of all memory is more than what runs needs of huge pages by chance.
const MUCH: f64 = 0.25;

/// `Documentation/admin-guide/mm/hugetlbpage.rst`.
fn reserved(sight: &Sight<'_>) -> Reading<Symptom> {
    let (huge, all) = (bytes(sight, "Hugetlb")?.0, known(&sight.machine.memory)?.0);
    let seen = format!("{} of {}", memory(huge), memory(all));
    Ok(if huge as f64 > all as f64 * MUCH {
        Symptom::possible(seen, "sysctl vm.nr_hugepages=0, where nobody uses them")
    } else {
        Symptom::quiet(seen)
    })
}

/// What has gathered where nobody writes for a while.
const LITTLE: u64 = 32 << 20;

/// `Documentation/admin-guide/sysctl/vm.rst`, `dirty_expire_centisecs`.
fn dirty(sight: &Sight<'_>) -> Reading<Symptom> {
    let dirty = bytes(sight, "Dirty")?.0 + bytes(sight, "Writeback")?.0;
    let seen = format!("{} wait to be written", memory(dirty));
    Ok(if dirty > LITTLE { Symptom::active(seen, "sync") } else { Symptom::quiet(seen) })
}
