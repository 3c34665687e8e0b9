//! Where a thread spends its time, kernel included: addresses sampled while it works, with privilege.

use std::collections::BTreeMap;
use std::fmt;
use std::io;

use perf_event::events::{Event, Hardware, Software};
use perf_event::{Builder, SampleFlag, Sampler};

/// One sample for so many nanoseconds of the kernel's clock, or so many cycles: some thousands a second.
/// Prime, so that they fall in step with nothing. A period and no frequency: the kernel comes to a frequency
/// by way of very short periods, and short work would be sampled at its beginning only.
const NANOSECONDS: u64 = 250_007;
const CYCLES: u64 = 1_000_003;

/// Bytes of the ring that the kernel writes to: at 16 bytes a sample four seconds' worth. Half of what an
/// unprivileged user may lock (`perf_event_mlock_kb`, `Documentation/admin-guide/sysctl/kernel.rst`).
const RING: usize = 256 << 10;

/// The numbers of `perf_event_header` in `include/uapi/linux/perf_event.h`: of a record that says how many
/// were dropped, and of one that holds an event.
pub(crate) const RECORD_LOST: u32 = 2;
pub(crate) const RECORD_SAMPLE: u32 = 9;
const MODE_MASK: u16 = 7;
const MODE_KERNEL: u16 = 1;

/// The number of eight bytes that a record has there.
pub(crate) fn long(bytes: &[u8], place: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(place..place + 8)?.try_into().ok()?))
}

/// What was sampled around some work of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// Samples by address, those in the kernel.
    pub kernel: BTreeMap<u64, u64>,
    /// How many samples were in the kernel.
    pub in_kernel: u64,
    /// How many were elsewhere: in user mode, and in a hypervisor where that is told apart.
    pub elsewhere: u64,
    /// How many the kernel dropped for want of room.
    pub lost: u64,
    /// What triggered the samples: "cycles" or "cpu-clock". The clock is a timer's interrupt: code that keeps
    /// interrupts off is charged to the place that lets them on again.
    pub event: &'static str,
}

impl Sampled {
    /// Adds another thread's samples.
    pub fn add(&mut self, other: &Self) {
        for (&address, &count) in &other.kernel {
            *self.kernel.entry(address).or_default() += count;
        }
        self.in_kernel += other.in_kernel;
        self.elsewhere += other.elsewhere;
        self.lost += other.lost;
        self.event = other.event;
    }

    /// Takes in one record of the ring: its type, its flags, and what follows its header.
    fn take(&mut self, kind: u32, flags: u16, body: &[u8]) {
        match kind {
            RECORD_SAMPLE if flags & MODE_MASK == MODE_KERNEL => {
                let Some(address) = long(body, 0) else { return };
                self.in_kernel += 1;
                *self.kernel.entry(address).or_default() += 1;
            }
            RECORD_SAMPLE => self.elsewhere += 1,
            // An identifier, then how many.
            RECORD_LOST => self.lost += long(body, 8).unwrap_or(0),
            _ => {}
        }
    }
}

/// Why nothing could be sampled.
#[derive(Debug)]
pub enum Unsampled {
    /// This user may not look into the kernel; the setting that says so, where it can be read.
    NotPermitted {
        /// `kernel.perf_event_paranoid`.
        paranoid: Option<i32>,
    },
    /// This kernel or this sandbox has no such system call or no such event.
    NotThere(io::Error),
    /// Something else.
    Failed(io::Error),
}

impl Unsampled {
    fn of(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => {
                let text = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok();
                Self::NotPermitted { paranoid: text.and_then(|text| text.trim().parse().ok()) }
            }
            Some(libc::ENOSYS | libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => Self::NotThere(error),
            _ => Self::Failed(error),
        }
    }
}

impl fmt::Display for Unsampled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPermitted { paranoid } => {
                f.write_str("this user may not sample the kernel: it takes CAP_PERFMON")?;
                match paranoid {
                    // Documentation/admin-guide/sysctl/kernel.rst: from 2 on the kernel is closed to others.
                    Some(level) if *level >= 2 => {
                        write!(f, ", or kernel.perf_event_paranoid of 1 or less, and that is {level} here")
                    }
                    Some(level) => write!(
                        f,
                        " or a security policy that allows it (kernel.perf_event_paranoid is {level} here)"
                    ),
                    None => f.write_str(" or kernel.perf_event_paranoid of 1 or less"),
                }
            }
            Self::NotThere(error) => write!(f, "this kernel does not offer perf events: {error}"),
            Self::Failed(error) => write!(f, "perf_event_open: {error}"),
        }
    }
}

/// Runs `work` on this thread and returns what it returned, and where this thread was meanwhile.
///
/// Cycles trigger the samples where the processor counts them, else the kernel's clock
/// (`perf_event_open(2)`, `PERF_COUNT_SW_CPU_CLOCK`).
///
/// # Errors
/// What keeps this thread from being sampled; then `work` has not run.
pub fn around<T>(work: impl FnOnce() -> T) -> Result<(T, Sampled), Unsampled> {
    let (mut sampler, event) = match open(Hardware::CPU_CYCLES, CYCLES) {
        Ok(sampler) => (sampler, "cycles"),
        // A counter that cannot interrupt is refused in more ways than one; RISC-V's says that it is invalid.
        Err(Unsampled::NotThere(_) | Unsampled::Failed(_)) => {
            (open(Software::CPU_CLOCK, NANOSECONDS)?, "cpu-clock")
        }
        Err(other) => return Err(other),
    };
    sampler.enable().map_err(Unsampled::of)?;
    let result = work();
    sampler.disable().map_err(Unsampled::of)?;
    let mut sampled = Sampled { event, ..Sampled::default() };
    while let Some(record) = sampler.next_record() {
        sampled.take(record.ty(), record.misc(), &record.to_contiguous());
    }
    Ok((result, sampled))
}

fn open(event: impl Event, period: u64) -> Result<Sampler, Unsampled> {
    let mut builder = Builder::new(event);
    builder.include_kernel().sample(SampleFlag::IP).sample_period(period);
    builder.build().and_then(|counter| counter.sampled(RING)).map_err(Unsampled::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn samples_are_counted_by_address_and_by_where_they_were() {
        let mut sampled = Sampled::default();
        let records: &[(u32, u16, &[u64])] = &[
            (RECORD_SAMPLE, MODE_KERNEL, &[0xffff_ffff_8100_0010]),
            (RECORD_SAMPLE, MODE_KERNEL | 1 << 14, &[0xffff_ffff_8100_0010]),
            (RECORD_SAMPLE, 2, &[0x40_1000]),
            (RECORD_SAMPLE, 3, &[0x40_1000]),
            (RECORD_LOST, 0, &[77, 5]),
            (RECORD_LOST, 0, &[77]),
            (RECORD_SAMPLE, MODE_KERNEL, &[0xffff_ffff_8100_0020]),
            (RECORD_SAMPLE, MODE_KERNEL, &[]),
            (5, MODE_KERNEL, &[1, 2, 3]),
        ];
        for (kind, flags, words) in records {
            sampled.take(*kind, *flags, &body(words));
        }
        assert_eq!((sampled.in_kernel, sampled.elsewhere, sampled.lost), (3, 2, 5));
        let addresses: Vec<_> = sampled.kernel.clone().into_iter().collect();
        assert_eq!(addresses, [(0xffff_ffff_8100_0010, 2), (0xffff_ffff_8100_0020, 1)]);
        let mut sum = Sampled { event: "cpu-clock", ..Sampled::default() };
        sum.add(&sampled);
        sum.add(&sampled);
        assert_eq!((sum.in_kernel, sum.kernel[&0xffff_ffff_8100_0010]), (6, 4));
    }

    #[test]
    fn each_refusal_says_what_it_is() {
        let reason = |code| Unsampled::of(io::Error::from_raw_os_error(code)).to_string();
        assert!(reason(libc::EACCES).contains("CAP_PERFMON"));
        assert!(reason(libc::ENOENT).contains("does not offer"));
        assert!(reason(libc::EMFILE).starts_with("perf_event_open"));
        let closed = Unsampled::NotPermitted { paranoid: Some(4) }.to_string();
        assert!(closed.contains("that is 4 here"), "{closed}");
        let open = Unsampled::NotPermitted { paranoid: Some(-1) }.to_string();
        assert!(open.contains("security policy"), "{open}");
    }

    #[test]
    fn the_work_is_done_and_its_result_returned() {
        let work = || (0..1_000_u64).fold(0, |sum: u64, number| std::hint::black_box(sum ^ number));
        match around(work) {
            Ok((result, sampled)) => {
                assert_eq!(result, (0..1_000).fold(0, |sum, number| sum ^ number));
                assert_eq!(sampled.in_kernel, sampled.kernel.values().sum::<u64>());
            }
            Err(why) => eprintln!("skipped: {why}"),
        }
    }
}
