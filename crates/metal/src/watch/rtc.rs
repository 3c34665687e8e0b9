//! The machine's clock that runs on a battery, or is kept by a hypervisor (rtc(4)): it goes on where all
//! others are stopped with a virtual machine.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::ClockId;

use super::nanoseconds;

/// Its device.
const DEVICE: &str = "/dev/rtc0";

/// `RTC_UIE_ON`, `RTC_UIE_OFF` and `RTC_RD_TIME` of `include/uapi/linux/rtc.h`.
const UPDATE_ON: libc::c_ulong = 0x7003;
const UPDATE_OFF: libc::c_ulong = 0x7004;
const READ_TIME: libc::c_ulong = 0x8024_7009;

/// The clock, which interrupts when a second of it begins.
#[derive(Debug)]
pub struct Rtc(File);

/// When a second of it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Which one it was, counted within a day.
    pub second: u64,
    /// Nanoseconds of the monotonic clock.
    pub monotonic: u64,
}

impl Rtc {
    /// Opens it.
    ///
    /// # Errors
    /// Why not: there is none, only root may, or somebody else has it.
    pub fn open() -> Result<Self, String> {
        let failed = |error: io::Error| format!("{DEVICE}: {error}");
        let clock = Self(File::open(DEVICE).map_err(failed)?);
        // SAFETY: this request has no argument (rtc(4)).
        if unsafe { libc::ioctl(clock.0.as_raw_fd(), UPDATE_ON as _, 0) } != 0 {
            return Err(failed(io::Error::last_os_error()));
        }
        Ok(clock)
    }

    /// The next second, if it begins within 200 ms.
    pub fn edge(&mut self) -> Option<Edge> {
        let patience = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
        let mut waits = [PollFd::new(&self.0, PollFlags::IN)];
        if poll(&mut waits, Some(&patience)).ok()? == 0 {
            return None;
        }
        let monotonic = nanoseconds(ClockId::Monotonic);
        let mut interrupts = [0; size_of::<libc::c_ulong>()];
        rustix::io::read(&self.0, &mut interrupts).ok()?;
        let mut time = [0_i32; 9];
        // SAFETY: `struct rtc_time` is nine integers, and `time` is live and writable.
        if unsafe { libc::ioctl(self.0.as_raw_fd(), READ_TIME as _, time.as_mut_ptr()) } != 0 {
            return None;
        }
        let [seconds, minutes, hours, ..] = time;
        let second = u64::try_from(hours * 3600 + minutes * 60 + seconds).ok()?;
        Some(Edge { second, monotonic })
    }
}

impl Drop for Rtc {
    fn drop(&mut self) {
        // SAFETY: see above.
        let _ = unsafe { libc::ioctl(self.0.as_raw_fd(), UPDATE_OFF as _, 0) };
    }
}
