//! What the kernel counts about memory, by name: `/proc/vmstat`.
//!
//! The counters are the machine's and not this process's: whatever else runs is in them. `proc_pid_vmstat(5)`
//! is not there; the names are those of `vmstat_text` in the kernel's `mm/vmstat.c`, and
//! `Documentation/admin-guide/mm/transhuge.rst` says what the `thp_` ones mean.

use std::collections::BTreeMap;

use tenbin_model::order;

use crate::fault::Fault;

const PATH: &str = "/proc/vmstat";

/// All counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vmstat {
    counters: BTreeMap<String, u64>,
}

impl Vmstat {
    /// The counters now.
    ///
    /// # Errors
    /// [`Fault::System`] when the file cannot be read.
    pub fn read() -> Result<Self, Fault> {
        let text =
            std::fs::read_to_string(PATH).map_err(|error| Fault::system(format!("read {PATH}"), error))?;
        Ok(Self::parse(&text))
    }

    /// The counters in `text`: a line each, its name and its number. Other lines are passed over.
    pub fn parse(text: &str) -> Self {
        let counter = |line: &str| {
            let (name, number) = line.split_once(' ')?;
            Some((name.to_owned(), number.trim().parse().ok()?))
        };
        Self { counters: order::map(text.lines().filter_map(counter)) }
    }

    /// The counter `name`; none where this kernel has no such counter, which is not the same as 0.
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters.get(name).copied()
    }

    /// By how much the counter `name` grew since `earlier`; none where one of the two lacks it.
    pub fn grown_since(&self, earlier: &Self, name: &str) -> Option<u64> {
        Some(self.counter(name)?.saturating_sub(earlier.counter(name)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_by_name_and_what_is_absent_is_not_zero() {
        let earlier = Vmstat::parse("numa_hint_faults 0\npgfault 1000\nthp_fault_alloc 7\n");
        let later =
            Vmstat::parse("pgfault 1600\nthp_fault_alloc 7\nnuma_hint_faults 42\npgmigrate_success 3\n");
        let cases = [
            ("pgfault", Some(600)),
            ("thp_fault_alloc", Some(0)),
            ("numa_hint_faults", Some(42)),
            ("pgmigrate_success", None),
            ("thp_split_pmd", None),
        ];
        for (name, grown) in cases {
            assert_eq!(later.grown_since(&earlier, name), grown, "{name}");
        }
        assert_eq!(
            (earlier.counter("numa_hint_faults"), earlier.counter("pgmigrate_success")),
            (Some(0), None)
        );
        assert_eq!(
            earlier.grown_since(&later, "pgfault"),
            Some(0),
            "a counter that wrapped grew by nothing known"
        );
    }

    #[test]
    fn lines_that_are_no_counter_are_passed_over() {
        let read = Vmstat::parse("pgfault\n\npgfault x\npgmajfault -3\nnr_free_pages 12\n");
        assert_eq!(read, Vmstat::parse("nr_free_pages 12\n"));
    }

    /// Every kernel counts faults, and this process has had some.
    #[test]
    fn this_kernel_counts_faults() {
        assert!(Vmstat::read().unwrap().counter("pgfault").unwrap() > 0);
    }
}
