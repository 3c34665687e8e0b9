//! How large the buffers were, beside the caches: what a cache holds is no memory.

use tenbin_model::{Bytes, Refusal, Sizes};

use super::{Outcome, Why};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Buffers {
    /// What each holds. None if that was not kept.
    pub each: Option<Bytes>,
    /// The size from which on no cache helps: four times the last one. None if the last cache's size was not
    /// known.
    pub beyond: Option<Bytes>,
}

impl Buffers {
    /// Whether what was read came from memory, as far as is known.
    pub(crate) fn reach_memory(self) -> bool {
        self.each.zip(self.beyond).is_some_and(|(each, beyond)| each >= beyond)
    }

    /// `outcome` as these buffers allow it: "alike" only where they reach memory. A gap that shows in a cache
    /// is a gap; see [`caveat`](Self::caveat).
    pub(crate) fn allow(self, outcome: Outcome) -> Outcome {
        if outcome == Outcome::Alike && !self.reach_memory() {
            return Outcome::Undecided(Why::Cached(self));
        }
        outcome
    }

    /// Their size as a sentence. None if it is not known.
    pub(crate) fn in_words(self) -> Option<String> {
        let each = self.each?;
        Some(match self.beyond {
            Some(beyond) if each >= beyond => {
                format!("A buffer holds {each}; from {beyond} on no cache helps.")
            }
            Some(beyond) => format!("A buffer holds {each}; caches help up to {beyond}."),
            None => format!("A buffer holds {each}; how much the last cache holds is not known."),
        })
    }

    /// What is to be kept in mind of a gap that was found in them.
    pub(crate) fn caveat(self) -> Option<String> {
        let caveat =
            "Part of what was read may have lain in caches: the gap may be the distance between those.";
        (!self.reach_memory()).then(|| caveat.into())
    }

    /// Why no gap in them says nothing.
    pub(super) fn refusal(self) -> Refusal {
        let each =
            self.each.map_or_else(|| "buffers of unknown size".into(), |each| format!("buffers of {each}"));
        match self.beyond {
            Some(beyond) => Refusal {
                reached: format!("no gap was seen in {each}, and caches help up to {beyond}"),
                needs: format!("buffers of at least {beyond}: {} times the last cache", Sizes::BEYOND),
                remedy: "leave --set buffer out, or give it more".into(),
            },
            None => Refusal {
                reached: format!("no gap was seen in {each}, and the size of the last cache is not known"),
                needs: format!("buffers of at least {} times the last cache", Sizes::BEYOND),
                remedy: "measure the caches for longer in the same run (tenbin run caches numa --thorough)"
                    .into(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alike_is_said_only_of_buffers_that_no_cache_holds() {
        let mib = |mib: u64| Some(Bytes(mib << 20));
        for (each, beyond, reach, needed) in [
            (mib(128), mib(128), true, ""),
            (mib(127), mib(128), false, "128 MiB"),
            (mib(1), mib(16), false, "16 MiB"),
            (mib(1024), None, false, "4 times the last cache"),
            (None, mib(16), false, "16 MiB"),
            (None, None, false, "4 times the last cache"),
        ] {
            let buffers = Buffers { each, beyond };
            assert_eq!(buffers.reach_memory(), reach, "{buffers:?}");
            assert_eq!(buffers.allow(Outcome::Alike) == Outcome::Alike, reach, "{buffers:?}");
            assert_eq!(buffers.caveat().is_none(), reach);
            assert_eq!(buffers.in_words().is_some(), each.is_some());
            for kept in [Outcome::Distant, Outcome::Undecided(Why::TooCoarse)] {
                assert_eq!(buffers.allow(kept), kept);
            }
            let refusal = buffers.refusal();
            assert!(refusal.needs.contains(needed) && !refusal.remedy.is_empty(), "{refusal:?}");
            assert!(each.is_none_or(|each| refusal.reached.contains(&each.to_string())), "{refusal:?}");
        }
    }
}
