//! The works of tenbin's calibration, for other people's benchmark tools: the very same kernels, as a
//! shared library with one function, and as a crate.

pub mod environment;

use std::sync::{Arc, OnceLock};

use tenbin_lab::ladder::{Labour, WORKS};

/// Decides what is random in a work: the same in every process, so that both sides get the same.
const SEED: u64 = 1;

/// Do `operations` operations of the work with this number. 0 if all went well and all were done.
///
/// The first call for a work prepares it, which takes longer. A tool that times calls makes one with
/// no operations before.
#[no_mangle]
pub extern "C" fn tenbin_work(index: u32, operations: u64) -> u64 {
    match labour(index) {
        Ok(labour) => u64::from(labour.work(operations) != operations),
        Err(_) => 1,
    }
}

/// As [`tenbin_work`], with the reason if it does not go well.
pub fn attempt(index: u32, operations: u64) -> Result<(), String> {
    match labour(index)?.work(operations) {
        done if done == operations => Ok(()),
        done => Err(format!("{done} operations of {operations} were done")),
    }
}

/// The names of the works, in the order of their numbers.
pub fn names() -> impl Iterator<Item = &'static str> {
    WORKS.iter().map(|work| work.name)
}

/// The number of the work called `name`.
pub fn index(name: &str) -> Option<u32> {
    names().zip(0..).find(|(other, _)| *other == name).map(|(_, index)| index)
}

/// The work with this number, prepared once in a process.
fn labour(index: u32) -> Result<&'static dyn Labour, String> {
    type Prepared = OnceLock<Result<Arc<dyn Labour>, String>>;
    static PREPARED: OnceLock<Vec<Prepared>> = OnceLock::new();
    let prepared = PREPARED.get_or_init(|| WORKS.iter().map(|_| OnceLock::new()).collect());
    let place = index as usize;
    let (slot, work) = prepared
        .get(place)
        .zip(WORKS.get(place))
        .ok_or_else(|| format!("there is no work number {index}; the last is {}", WORKS.len() - 1))?;
    let labour = slot.get_or_init(|| (work.prepare)(SEED).map_err(|fault| fault.to_string()));
    labour.as_deref().map_err(Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_work_runs_and_another_number_is_refused() {
        for name in names() {
            let index = index(name).expect("it is listed");
            assert_eq!(attempt(index, 10), Ok(()), "{name}");
            assert_eq!(tenbin_work(index, 10), 0, "{name}");
        }
        assert_eq!(tenbin_work(u32::MAX, 1), 1);
        assert!(attempt(u32::MAX, 1).is_err_and(|reason| reason.contains("no work number")));
    }
}
