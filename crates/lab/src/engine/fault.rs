//! Faults of the machine as refusals.

use tenbin_metal::Fault;
use tenbin_model::Refusal;

use crate::shortage;

/// A fault of the machine as a refusal: what it needs and what helps follow from its kind.
pub(super) fn refusal_of(fault: &Fault) -> Refusal {
    if let Some(refusal) = shortage::refusal(fault) {
        return refusal;
    }
    let (needs, remedy) = match fault {
        Fault::System { .. } => {
            ("a kernel that does what was tried", "look that error up in the manual page of the call")
        }
        Fault::PinNotHeld { .. } | Fault::Unpinned { .. } => {
            ("every worker on its CPU, before and after each epoch", "name other CPUs with --cpus")
        }
        Fault::PageMoved { moved, .. } => (
            "every page where it was, in every block",
            match moved.is {
                Some(_) => {
                    "let nothing move pages: switch NUMA balancing off (kernel.numa_balancing), and run again"
                }
                None => {
                    "leave the kernel no reason to take pages back: free memory, or raise the control group's \
                     memory.high and memory.max, or ask for less; see whether swap is in use"
                }
            },
        ),
        Fault::Unanswered { .. } => {
            ("an answer to every round", "run again on a quieter machine, or name other CPUs with --cpus")
        }
        Fault::NoHugePages { .. } => (
            "nine tenths in huge pages",
            "free memory, which is fragmented, or have root compact it (vm.compact_memory), or ask for less",
        ),
        Fault::Overdue { .. } => {
            ("commands that end in the time given", "give it more time (--within), or less work")
        }
        Fault::Late { .. } => ("every epoch whole and in time", "run again on a quieter machine"),
        Fault::Died { .. } => ("workers that live to the end", "see what ended it, and run again"),
        Fault::Panicked => ("work that ends without a panic", "report this fault of tenbin"),
    };
    Refusal { reached: fault.to_string(), needs: needs.into(), remedy: remedy.into() }
}
