//! What a hypervisor says of a virtual machine's clock (`/dev/vmclock0`): numbers that change when it was
//! migrated, or restored from a snapshot, and not when it was paused.
//!
//! The format is `struct vmclock_abi` of `include/uapi/linux/vmclock-abi.h` (UAPI.13).

use tenbin_metal::machine::Root;
use tenbin_model::GapCause;

const DEVICE: &str = "/dev/vmclock0";

/// `VMCLOCK_MAGIC`, and where the fields are.
const MAGIC: u64 = 0x4b4c_4356;
const DISRUPTION: usize = 16;
const FLAGS: usize = 24;
const GENERATION: usize = 104;

/// `VMCLOCK_FLAG_VM_GEN_COUNTER_PRESENT`.
const HAS_GENERATION: u64 = 1 << 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    /// Another one whenever the CPU's counter may have jumped.
    disruption: u64,
    /// Another one whenever the machine was loaded from a saved state; none where the hypervisor has none.
    generation: Option<u64>,
}

impl Marks {
    /// None where there is no such device.
    pub(super) fn read(root: &Root<'_>) -> Option<Self> {
        let page = root.bytes(DEVICE).ok()?;
        let long = |place: usize| Some(u64::from_le_bytes(*page.get(place..)?.first_chunk()?));
        if long(0)? & u64::from(u32::MAX) != MAGIC {
            return None;
        }
        let generation = long(FLAGS)? & HAS_GENERATION != 0;
        Some(Self {
            disruption: long(DISRUPTION)?,
            generation: generation.then(|| long(GENERATION)).flatten(),
        })
    }
}

/// What became of a virtual machine whose clocks stood still, by what its hypervisor said before and after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Disruption {
    /// It says nothing.
    #[default]
    Unknown,
    /// Neither migrated nor restored.
    None,
    /// Migrated or restored, and it does not say which.
    Some,
    /// Migrated to another host.
    Migrated,
    Restored,
}

impl Disruption {
    pub(super) fn between(before: Option<Marks>, after: Option<Marks>) -> Self {
        let (Some(before), Some(after)) = (before, after) else { return Self::Unknown };
        match (before.generation, after.generation) {
            (Some(before), Some(after)) if before != after => Self::Restored,
            _ if before.disruption == after.disruption => Self::None,
            (Some(_), Some(_)) => Self::Migrated,
            _ => Self::Some,
        }
    }

    pub(super) fn causes(self) -> Vec<GapCause> {
        match self {
            Self::Unknown => vec![GapCause::Paused, GapCause::Migrated, GapCause::Restored],
            Self::None => vec![GapCause::Paused],
            Self::Some => vec![GapCause::Migrated, GapCause::Restored],
            Self::Migrated => vec![GapCause::Migrated],
            Self::Restored => vec![GapCause::Restored],
        }
    }

    pub(super) fn is_certain(self) -> bool {
        !matches!(self, Self::Unknown | Self::None)
    }

    /// What was seen of it, after what else was.
    pub(super) fn evidence(self, other: &str) -> String {
        match self {
            Self::Unknown => other.to_owned(),
            Self::None => format!("{other}; {DEVICE}: no disruption"),
            _ => format!("{other}; {DEVICE}: the counter was disrupted"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_a_migration_and_a_restoration_are_told_apart() {
        let marks = |disruption: u64, generation: Option<u64>| {
            let mut page = vec![0; 4096];
            page[..4].copy_from_slice(b"VCLK");
            page[DISRUPTION..][..8].copy_from_slice(&disruption.to_le_bytes());
            page[FLAGS..][..8].copy_from_slice(&(u64::from(generation.is_some()) << 8).to_le_bytes());
            page[GENERATION..][..8].copy_from_slice(&generation.unwrap_or(9).to_le_bytes());
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join("dev")).unwrap();
            std::fs::write(folder.path().join("dev/vmclock0"), page).unwrap();
            Marks::read(&Root::new(folder.path()))
        };
        assert_eq!(marks(3, Some(4)), Some(Marks { disruption: 3, generation: Some(4) }));
        assert_eq!(Marks::read(&Root::new(std::path::Path::new("/nowhere"))), None);
        for (before, after, expected) in [
            (marks(1, None), marks(1, None), Disruption::None),
            (marks(1, None), marks(2, None), Disruption::Some),
            (marks(1, Some(1)), marks(2, Some(1)), Disruption::Migrated),
            (marks(1, Some(1)), marks(2, Some(2)), Disruption::Restored),
            (None, marks(2, Some(2)), Disruption::Unknown),
        ] {
            assert_eq!(Disruption::between(before, after), expected, "{before:?} {after:?}");
        }
    }
}
